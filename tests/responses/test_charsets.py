"""Texts in the charset that a response names, and no codec that is not one of texts."""

import codecs
import json

import pytest
from one_call import call_once, response

from openapi_tools.responses import text_content as charsets

JSON, CSV, TEXT, XML, PAGE = (
    *("application/json", "text/csv", "text/plain"),
    *("application/xml", "text/html"),
)


@pytest.mark.parametrize(
    ("text", "codec", "media_type"),
    [
        ("姓名,年龄\n李雷,30", "gbk", f"{CSV}; charset=GBK"),
        ("姓名", "gb18030", f'{TEXT};charset="GB18030"'),
        ("北京", "gb2312", f"{TEXT}; Charset=GB2312"),
        ("日本語の文", "cp932", f"{TEXT}; charset=Shift_JIS"),
        ("①髙橋", "cp932", f"{TEXT}; charset=windows-31j"),
        ("日本語", "euc-jp", f"{TEXT}; charset=EUC-JP"),
        ("日本語", "iso2022-jp", f"{TEXT}; charset=iso-2022-jp"),
        ("한국어", "euc-kr", f"{TEXT}; charset=EUC-KR"),
        ("똠방각하", "cp949", f"{TEXT}; charset=ks_c_5601-1987"),
        ("繁體中文", "big5", f"{TEXT}; charset=Big5"),
        ("naïve “price” €", "cp1252", f"{CSV}; charset=windows-1252"),
        ("naïve “price” €", "cp1252", f"{CSV}; charset=ISO-8859-1"),
        ("café", "latin-1", f"{TEXT}; charset=latin1"),
        ("10 €", "iso-8859-15", f"{TEXT}; charset=ISO-8859-15"),
        ("Łódź", "iso-8859-2", f"{TEXT}; charset=Latin2"),
        ("Łódź", "cp1250", f"{TEXT}; charset=cp1250"),
        ("İstanbul", "iso-8859-9", f"{TEXT}; charset=iso-8859-9"),
        ("Ελλάδα", "iso-8859-7", f"{TEXT}; charset=greek"),
        ("שלום", "cp1255", f"{TEXT}; charset=windows-1255"),
        ("مرحبا", "cp1256", f"{TEXT}; charset=windows-1256"),
        ("Привет", "cp1251", f"{TEXT}; charset=windows-1251"),
        ("Привет", "koi8-r", f"{TEXT}; charset=KOI8-R"),
        ("Привіт", "koi8-u", f"{TEXT}; charset=koi8-u"),
        ("Привет", "cp866", f"{TEXT}; charset=ibm866"),
        ("ไทย", "cp874", f"{TEXT}; charset=TIS-620"),
        ("é", "utf-8", f"{TEXT}; charset=utf8"),
        ("é", "utf-8", f"{TEXT}; charset=us-ascii"),
        ("é", "utf-8-sig", f"{TEXT}; charset=GBK"),  # a byte order mark counts first
        ("é", "utf-16", f"{TEXT}; charset=utf-16"),
        ("中文", "gbk", "application/x-report; charset=gbk"),
    ],
)
async def test_text_is_decoded_from_the_charset_it_names(text, codec, media_type):
    result, _ = await call_once(response(text.encode(codec), media_type))

    assert result.output == text
    assert "notes" not in result.metadata


@pytest.mark.parametrize(
    ("kind", "template", "expected"),
    [
        (JSON, '{{"a":"{}"}}', {"a": "北京"}),
        ("application/problem+json", '["{}"]', ["北京"]),
        ("application/x-ndjson", '{{"a":"{}"}}\n2\n', [{"a": "北京"}, 2]),
        ("text/event-stream", "data: {}\n\n", [{"data": "北京"}]),
        (JSON, '"{}"\n1\n', ["北京", 1]),
        (JSON, "{}", "北京"),
    ],
)
async def test_json_lines_and_events_are_decoded_too(kind, template, expected):
    body = template.format("北京").encode("gb2312")

    result, _ = await call_once(response(body, f"{kind}; charset=gb2312"))

    assert result.output == expected


@pytest.mark.parametrize(
    ("kind", "page"),
    [
        (XML, "<?xml version='1.0' encoding='GBK'?><a>北京</a>"),
        ("image/svg+xml", '<?xml version="1.0" encoding="gb2312" ?><a>北京</a>'),
        (PAGE, '<html><meta charset="gbk"><p>北京</p></html>'),
        (PAGE, '<META http-equiv="Content-Type" content="text/html; charset=GB2312"><p>北京</p>'),
    ],
)
async def test_xml_and_html_may_name_their_charset_themselves(kind, page):
    result, _ = await call_once(response(page.encode("gbk"), kind))

    assert "北京" in result.output
    assert "notes" not in result.metadata


@pytest.mark.parametrize("kind", [TEXT, JSON, PAGE])
async def test_the_text_of_an_error_is_decoded_too(kind):
    body = "Ошибка" if kind != JSON else json.dumps({"message": "Ошибка"}, ensure_ascii=False)
    reply = response(body.encode("koi8-r"), f"{kind}; charset=koi8-r", status=400)

    result, _ = await call_once(reply)

    assert not result.success
    assert "Ошибка" in result.error["message"]


@pytest.mark.parametrize("label", ["GBK", "iso-2022-jp", "windows-1252"])
async def test_a_secret_is_masked_in_every_charset(label):
    body = "key s3cr3t-value-7, 北京" if label != "windows-1252" else "key s3cr3t-value-7, é"
    body = body.encode(charsets.find_codec(label))

    result, _ = await call_once(response(body, f"{TEXT}; charset={label}"), key="s3cr3t-value-7")

    assert result.output in ("key ***, 北京", "key ***, é")


@pytest.mark.parametrize(
    "label",
    ["x-unheard-of", "utf-7", "rot13", "zlib", "idna", "unicode_escape", "hz-gb-2312", "undefined"],
)
async def test_no_other_codec_is_used(label):
    result, _ = await call_once(response("é+AD4-".encode(), f"{TEXT}; charset={label}"))

    assert result.output == "é+AD4-"
    assert f"the charset '{label}' is not supported" in result.metadata["notes"][0]


def test_each_label_leads_to_an_incremental_codec_of_texts():
    labels = [label for labels in charsets._LABELS.values() for label in labels.split()]

    assert len(labels) == len(set(labels))
    for label in labels:
        decoder = codecs.getincrementaldecoder(charsets.find_codec(label.upper()))("replace")
        assert isinstance(decoder.decode(b"a\xff\x81\x1b", final=True), str)


async def test_bytes_that_a_charset_does_not_have_are_marked():
    result, _ = await call_once(response(b"a\x80b", f"{TEXT}; charset=EUC-KR"))

    assert result.output == "a\ufffdb"
    assert result.metadata["notes"] == ["bytes that are not valid cp949 were replaced by U+FFFD"]
