"""Bytes become plain data, or one typed error that says where and what."""

import codecs
import gc
import gzip
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsing import refusal, root

from openapi_tools.errors import InvalidDocument
from openapi_tools.loading import plain_data
from openapi_tools.loading.plain_data import MAX_DEPTH
from openapi_tools.loading.source import DUPLICATES_BYTES, parse_document

# What is a document at all


EMPTY = ["", " ", "\n\t\r\n", "\ufeff", "\ufeff \n", "# only\n# comments\n", "---\n", "---\n...\n"]


@pytest.mark.parametrize("text", [*EMPTY, "null"], ids=ascii)
def test_an_empty_document_is_reported_as_empty(text):
    assert refusal(text) == "api: the document is empty."


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[]", "a list at the top level"),
        ('"openapi"', "plain text at the top level"),
        ("openapi is what this is about", "plain text at the top level"),
        ("4.2", "a number at the top level"),
        ("true", "a boolean at the top level"),
        ("<!DOCTYPE html><html>", "looks like an HTML page"),
        ("<!-- served by x --><html><body>Log in", "looks like an HTML page"),
        ("<?xml version='1.0'?><swagger/>", "looks like XML"),
        ("%PDF-1.7", "looks like a PDF file"),
        (gzip.compress(b"{}", mtime=0), "looks like a gzip archive"),
        (b"PK\x03\x04\x14\x00", "looks like a zip archive"),
        (b"\x89PNG\r\n\x1a\n", "looks like an image"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x02\x03", "looks like binary data"),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_something_else_is_named_for_what_it_is(text, kind):
    assert refusal(text).startswith(f"api: {kind}")


MARKS = {
    **dict.fromkeys(("utf-8", "utf-8-sig", "utf-16", "utf-32"), b""),  # Python writes it, or none
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("text", ['{"a": "é€😀"}', 'a: "é€😀"\n'], ids=["json", "yaml"])
@pytest.mark.parametrize(("encoding", "mark"), MARKS.items(), ids=MARKS)
def test_unicode_with_a_byte_order_mark_is_read(text, encoding, mark):
    assert root(mark + text.encode(encoding)) == {"a": "é€😀"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('{\n"a": "é"}'.encode("latin-1"), "not valid UTF-8: byte 0xe9 at offset 8 (line 2)"),
        ('a: b\nc: "“"\n'.encode("cp1252"), "not valid UTF-8: byte 0x93 at offset 9 (line 2)"),
        (b'{"a": "\xed\xa0\x80"}', "not valid UTF-8: byte 0xed"),
        ('{"a": 1}'.encode("utf-16-le"), "looks like UTF-16 without a byte order mark"),
        ("a: 1\n".encode("utf-16-be"), "looks like UTF-16 without a byte order mark"),
        ('{"a": 1}'.encode("utf-16")[:-1], "not valid UTF-16: byte 0x7d"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8{\x00", "not valid UTF-16"),
        (codecs.BOM_UTF32_LE + b"\x00\x00\x11\x00", "not valid UTF-32"),
    ],
    ids=["latin-1", "cp1252", "surrogate", "utf-16", "utf-16-be", "odd", "half a pair", "utf-32"],
)
def test_another_encoding_is_refused_by_name_and_never_misread(data, reason):
    assert refusal(data).startswith(f"api: {reason}")


def test_the_error_carries_the_name_and_the_pointer():
    with pytest.raises(InvalidDocument) as raised:
        parse_document(b'{"a": {"b": 1, "b": 2}}', name="specs/api.json", strict=True)

    assert (raised.value.source, raised.value.pointer) == ("specs/api.json", "/a")


# JSON


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": {"b": [1, 2', "not valid JSON: line 1, column 17: unexpected end of the document."),
        ('{"a": "b', "not valid JSON: line 1, column 8: unexpected end of the document."),
        ('{\n "a": 1\n "b": 2}', "not valid JSON: line 3, column 2: expected `,` or `}`."),
        ('{\n "é": "ü" x}', "not valid JSON: line 2, column 11: expected `,` or `}`."),
        ('{"a": 1} {"b": 2}', "not valid JSON: line 1, column 10: trailing characters."),
        ('{"a" "b"}', "not valid JSON: line 1, column 6: expected `:`."),
        ('{"a": "\\ud83d"}', "not valid JSON: line 1, column 14: a lone surrogate."),
        ('{"a": "\\ude00 \\ud83d"}',
         "not valid JSON: line 1, column 13: a lone surrogate."),
        ('{"a": NaN}', "line 1, column 7: a number that JSON does not have"),
        ('{"a": [1, -Infinity]}', "line 1, column 12: a number that JSON does not have"),
        ('{"a": 1%s}' % ("0" * 5000),
         "not valid JSON: line 1, column 4308: an integer of more than"),
    ],
    ids=lambda value: ascii(value)[:24],
)  # fmt: skip
def test_broken_json_is_refused_with_line_and_column(text, reason):
    assert refusal(text).startswith(f"api: {reason}")


@pytest.mark.parametrize(
    "text",
    ['{"a": "b\\', '{"a": "', '{"a": tr', '{"a"', '{"a":', '{"a": 1,', "{", "[", '[{"a": 1}'],
)
def test_truncated_json_is_refused_wherever_it_ends(text):
    assert "not valid JSON: line 1, column" in refusal(text)


@pytest.mark.parametrize("number", ["1e400", "-1e999", "1" * 400 + ".5"], ids=lambda text: text[:6])
def test_a_json_number_out_of_range_is_refused_with_its_place(number):
    text = f'{{"a": [{{"maximum": {number}}}]}}'

    assert refusal(text).startswith("api#/a/0/maximum: a number that JSON does not have")


@pytest.mark.parametrize(
    ("text", "value", "warned"),
    [
        ("{openapi: 3.1.0, paths: {}}", {"openapi": "3.1.0", "paths": {}}, False),
        ("{'a': 1, 'b': [x]}", {"a": 1, "b": ["x"]}, False),
        ("{ # flow\n a: 1}", {"a": 1}, False),
        ('{"a": [1, 2,],}', {"a": [1, 2]}, True),
        ('{"a": 1} # done', {"a": 1}, True),
        ('{"a": 1, # one\n "b": "\\ud83d\\ude00",}', {"a": 1, "b": "😀"}, True),
    ],
)
def test_what_begins_like_json_may_be_yaml_in_flow_style(text, value, warned):
    parsed = parse_document(text.encode(), name="")

    assert parsed.root == value
    assert [w.endswith("It was read as YAML.") for w in parsed.warnings] == [True] * warned


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("text", ['{"a": 1}', '{"a"', "a: 1", "a: ["])
def test_the_collector_is_left_as_it_was(text, running):
    try:
        if not running:
            gc.disable()
        outcome(text)
        left = gc.isenabled()
    finally:
        gc.enable()

    assert left is running


# Duplicate keys


def in_both_formats(document):
    """Rows for the JSON and the YAML form of a document written as JSON."""
    return [pytest.param(document, id="json"), pytest.param(f"# YAML\n{document}", id="yaml")]


@pytest.mark.parametrize(
    "text", in_both_formats('{"paths": {"/pets/~me": {"get": {"x": 1}, "put": {}, "get": {}}}}')
)
def test_of_a_duplicate_key_the_last_one_counts_unless_strict(text):
    line = " (again in line 2)" if text.startswith("#") else ""
    place = "/paths/~1pets~1~0me"

    parsed = parse_document(text.encode(), name="api")

    assert parsed.root == {"paths": {"/pets/~me": {"get": {}, "put": {}}}}
    warning = f"{place}/get: 'get' is a duplicate key{line}; the last one counts."
    assert parsed.warnings == (warning,)
    message = f"api#{place}: 'get' is a duplicate key in one object{line} and replaces the first"
    assert refusal(text, strict=True).startswith(message)


@pytest.mark.parametrize("key", ["description", "summary", "title", "example", "x-internal"])
@pytest.mark.parametrize("comment", ["", "# YAML\n"], ids=["json", "yaml"])
def test_a_duplicate_documentation_property_is_a_warning(comment, key):
    text = comment + f'{{"info": {{"{key}": "a", "b": 1, "{key}": "c"}}}}'

    parsed = parse_document(text.encode(), name="", strict=True)

    assert parsed.root == {"info": {key: "c", "b": 1}}
    place = " (again in line 2)" if comment else ""
    assert parsed.warnings == (
        f"/info/{key}: '{key}' is a duplicate key{place}; the last one counts.",
    )


@pytest.mark.parametrize("text", in_both_formats('{"a": {"title": {"b": 1, "b": 2}, "title": 1}}'))
def test_what_a_duplicate_hides_is_looked_at_in_yaml_and_gone_in_json(text):
    if text.startswith("#"):
        assert refusal(text, strict=True).startswith("api#/a/title: 'b' is a duplicate key")
    else:
        assert root(text) == {"a": {"title": 1}}


@pytest.mark.parametrize("holder", ["properties", "paths", "schemas", "examples", "x/properties"])
@pytest.mark.parametrize("comment", ["", "# YAML\n"], ids=["json", "yaml"])
def test_a_duplicate_name_is_refused_although_it_reads_like_documentation(comment, holder):
    outer, _, inner = holder.rpartition("/")
    text = f'{{"{inner}": {{"description": {{}}, "description": {{}}}}}}'
    text = f'{{"{outer}": {text}}}' if outer else text

    error = refusal(comment + text, strict=True)
    assert f"api#/{holder}: 'description' is a duplicate key" in error


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1, "\\u0061":2}',
        '{"b":"\\u003a", "a":1, "a":2}',
        '{"b":"\\u003A", "a\\u003a":1, "a:":2, "c\\u003a":3}',
        '{"a":1, "b":{"a":1}, "a":1}',
    ],
)
def test_no_spelling_hides_a_duplicate(text):
    assert "is a duplicate key" in refusal(text, strict=True)
    assert "is a duplicate key" in parse_document(text.encode(), name="").warnings[0]


def test_duplicates_are_looked_for_in_large_documents_only_when_asked():
    padding = "x" * DUPLICATES_BYTES

    for text, value, message in (
        (f'{{"a": 1, "a": 2, "x": "{padding}"}}', 2, "'a' is a duplicate key"),
        (f"a: 1\na: 2\nx: {padding}\n", 2, "'a' is a duplicate key"),
        (f'{{"a": 1e999, "x": "{padding}"}}', math.inf, "api#/a: a number that JSON does not have"),
    ):
        assert root(text)["a"] == root(text, find_duplicates=False)["a"] == value
        assert message in refusal(text, strict=True)
        if value == 2:
            assert parse_document(text.encode(), name="").warnings == ()
            assert (
                message in parse_document(text.encode(), name="", find_duplicates=True).warnings[0]
            )


@given(st.data())
def test_json_duplicates_are_found_exactly(data):
    names = st.text(alphabet='ab":\\ ', max_size=3)
    pairs = data.draw(st.lists(st.tuples(names, names), max_size=6))
    space = data.draw(st.sampled_from(["", " ", "\n"]))
    properties = [f"{json.dumps(key)}{space}:{json.dumps(value)}" for key, value in pairs]
    text = f"{{{','.join(properties)}}}"

    if len(dict(pairs)) == len(pairs):
        assert root(text) == dict(pairs)
    else:
        assert "is a duplicate key" in refusal(text, strict=True)
        assert root(text) == dict(pairs)


@pytest.mark.parametrize("comment", ["", "# YAML\n"], ids=["json", "yaml"])
def test_many_duplicates_are_counted(comment):
    text = "".join(f'"{n}": 1, "{n}": 2, ' for n in range(250))

    parsed = parse_document(f'{comment}{{{text}"x": 1}}'.encode(), name="")

    assert len(parsed.warnings) == 101
    assert parsed.warnings[-1] == "150 more duplicate keys."


# Depth and size


ENDLESS = {
    "JSON arrays": "[" * 10_000,
    "closed JSON arrays": "[" * 10_000 + "]" * 10_000,
    "JSON objects": '{"a":' * 10_000,
    "flow lists": "a: " + "[" * 10_000,
    "flow maps": "a: " + "{a: " * 10_000,
    "YAML lists in a line": "- " * 5_000 + "a",
    "YAML lists": "".join(" " * depth + "-\n" for depth in range(1_500)),
    "YAML maps": "".join(" " * depth + "a:\n" for depth in range(1_500)),
    "YAML keys": "? " * 5_000,
    "aliases": "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 1_000)),
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_nesting_without_end_is_refused(text):
    message = refusal(text)

    assert "nested deeper than" in message or "a key is a list or a mapping" in message
    assert "line " in message


@pytest.mark.parametrize("form", ['{{"a": {flow}}}', "{{a: {flow}}}\n", "a:\n{block}b\n"])
def test_all_formats_have_the_same_depth(form):
    def text(depth):
        inner = depth - 1
        return form.format(flow="[" * inner + "]" * inner, block="- " * inner)

    assert root(text(MAX_DEPTH))
    assert "nested deeper" in refusal(text(MAX_DEPTH + 1))


def test_a_document_of_millions_of_values_is_refused():
    text = f'{{"a": [{",".join(["[]"] * 6_000_000)}]}}'

    assert "more than 5,000,000 values" in refusal(text)


def test_yaml_of_millions_of_values_is_refused_while_it_is_read(monkeypatch):
    monkeypatch.setattr(plain_data, "MAX_NODES", 100)

    message = refusal(f"a:\n  b: [{'x, ' * 200}]")

    assert message.startswith("api#/a/b: more than 5,000,000 values")


# Everything together


def outcome(data):
    """Plain data, or None for a typed refusal; anything else fails the test."""
    try:
        return root(data)
    except InvalidDocument:
        return None


MARKUP = st.lists(
    st.sampled_from(["a", "b: ", "- ", "&a ", "*a", "!!str ", "!x ", "<<: ", "? ", ": ", ", "])
    | st.sampled_from(["\n", "\n  ", "\t", "\r", "\u2028", "\ufeff", "---\n", "\\ud83d\\ude00"])
    | st.sampled_from(["1", ".5", "~", "0x1F", "+-1", "x" * 20, *"\"'{}[]|>#%&é"]),
    max_size=20,
).map("".join)


@given(st.binary(max_size=200) | MARKUP)
def test_anything_ends_in_plain_data_or_a_typed_error(text):
    result = outcome(text)

    assert result is None or json.loads(json.dumps(result, allow_nan=False)) == result
