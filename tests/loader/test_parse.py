"""Bytes become plain data, or one typed error that says where and what."""

from __future__ import annotations

import codecs
import gc
import gzip
import json
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.errors import InvalidDocument
from openapi_tools.loader.limits import DUPLICATES_BYTES, MAX_DEPTH
from openapi_tools.loader.parse import parse


def root(text, **options):
    data = text.encode() if isinstance(text, str) else text
    return parse(data, name="", **options).root


def refusal(text, **options):
    """The error for a text, in full."""
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(InvalidDocument) as raised:
        parse(data, name="api", **options)
    return str(raised.value)


# What is a document at all


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\t\r\n",
        "\ufeff",
        "\ufeff \n",
        "# only\n# comments\n",
        "---\n",
        "---\n...\n",
        "null",
    ],
    ids=ascii,
)
def test_an_empty_document_is_said_to_be_empty(text):
    assert refusal(text) == "api#: the document is empty."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[]", "a list at the top level"),
        ("- a\n- b", "a list at the top level"),
        ('"openapi"', "plain text at the top level"),
        ("openapi is what this is about", "plain text at the top level"),
        ("42", "a number at the top level"),
        ("4.2", "a number at the top level"),
        ("true", "a boolean at the top level"),
        ("<!DOCTYPE html><html>", "looks like an HTML page"),
        ("\n <HTML lang='en'>", "looks like an HTML page"),
        ("<!-- served by x --><html><body>Log in", "looks like an HTML page"),
        ("<?xml version='1.0'?><swagger/>", "looks like XML"),
        ("%PDF-1.7", "looks like a PDF file"),
        (gzip.compress(b"{}"), "looks like a gzip archive"),
        (b"PK\x03\x04\x14\x00", "looks like a zip archive"),
        (b"\x89PNG\r\n\x1a\n", "looks like an image"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x02\x03", "looks like binary data"),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_something_else_is_named_for_what_it_is(text, found):
    assert refusal(text).startswith(f"api#: {found}")


@pytest.mark.parametrize("text", ['{"a": "é€😀"}', 'a: "é€😀"\n'], ids=["json", "yaml"])
@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"],
)
def test_unicode_with_a_byte_order_mark_is_read(text, encoding):
    marks = {
        "utf-16-le": codecs.BOM_UTF16_LE,
        "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-le": codecs.BOM_UTF32_LE,
        "utf-32-be": codecs.BOM_UTF32_BE,
    }

    assert root(marks.get(encoding, b"") + text.encode(encoding)) == {"a": "é€😀"}


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
    assert refusal(data).startswith(f"api#: {reason}")


def test_the_error_carries_the_name_and_the_pointer():
    with pytest.raises(InvalidDocument) as raised:
        parse(b'{"a": {"b": 1, "b": 2}}', name="specs/api.json")

    assert (raised.value.source, raised.value.pointer) == ("specs/api.json", "/a")


# JSON


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": {"b": [1, 2', "not valid JSON: line 1, column 17: the text ends too early."),
        ('{"a": "b', "not valid JSON: line 1, column 8: the text ends too early."),
        ('{\n "a": 1\n "b": 2}', "not valid JSON: line 3, column 2: expected `,` or `}`."),
        ('{\n "é": "ü" x}', "not valid JSON: line 2, column 11: expected `,` or `}`."),
        ('{"a": 1} {"b": 2}', "not valid JSON: line 1, column 10: trailing characters."),
        ('{"a" "b"}', "not valid JSON: line 1, column 6: expected `:`."),
        ('{"a": "\\ud83d"}', "not valid JSON: line 1, column 14: half of a surrogate pair."),
        (
            '{"a": "\\ude00 \\ud83d"}',
            "not valid JSON: line 1, column 13: half of a surrogate pair.",
        ),
        ('{"a": NaN}', "line 1, column 7: a number that JSON does not have"),
        ('{"a": [1, -Infinity]}', "line 1, column 12: a number that JSON does not have"),
        (
            '{"a": 1%s}' % ("0" * 5000),
            "not valid JSON: line 1, column 4308: an integer of more than",
        ),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_broken_json_is_refused_with_line_and_column(text, reason):
    assert refusal(text).startswith(f"api#: {reason}")


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
    ("text", "value"),
    [
        ("12345678901234567890123", 12345678901234567890123),
        ("-0", 0),
        ("1E2", 100.0),
        ('"\\u0000\\u001b\\ud83d\\ude00"', "\0\x1b😀"),
        ('"\\/"', "/"),
        ("null", None),
    ],
)
def test_json_values_are_exact(text, value):
    found = root(f'{{"a": {text}}}')["a"]

    assert found == value
    assert type(found) is type(value)


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
    parsed = parse(text.encode(), name="")

    assert parsed.root == value
    assert [w.endswith("It was read as YAML.") for w in parsed.warnings] == [True] * warned


def test_the_collector_is_running_again_after_a_parse():
    for text in ('{"a": 1}', '{"a"', "a: 1", "a: ["):
        with pytest.raises(InvalidDocument) if text[-1] in '"[' else gc_left_alone():
            root(text)
        assert gc.isenabled()


def gc_left_alone():
    return pytest.MonkeyPatch.context()


def test_the_collector_stays_off_where_the_user_turned_it_off():
    gc.disable()
    try:
        root('{"a": 1}')
        running = gc.isenabled()
    finally:
        gc.enable()

    assert not running


# Duplicate keys


HIDDEN_OPERATION = """
paths:
  /pets:
    get: {operationId: listPets}
    get: {operationId: listCats}
"""


def in_both_formats(document):
    """Rows for the JSON and the YAML form of a document written as JSON."""
    return [pytest.param(document, id="json"), pytest.param(f"# YAML\n{document}", id="yaml")]


@pytest.mark.parametrize(
    "text", in_both_formats('{"paths": {"/pets/~me": {"get": {"x": 1}, "put": {}, "get": {}}}}')
)
def test_a_duplicate_key_that_hides_an_operation_is_refused(text):
    message = refusal(text)

    assert message.startswith("api#/paths/~1pets~1~0me: 'get' stands twice in one object")


def test_a_duplicate_key_in_block_style_names_its_line():
    assert "'get' stands twice in one object (again in line 5)" in refusal(HIDDEN_OPERATION)


@pytest.mark.parametrize("key", ["description", "summary", "title", "example", "x-internal"])
@pytest.mark.parametrize("comment", ["", "# YAML\n"], ids=["json", "yaml"])
def test_a_duplicate_documentation_member_is_a_warning(comment, key):
    text = comment + f'{{"info": {{"{key}": "a", "b": 1, "{key}": "c"}}}}'

    parsed = parse(text.encode(), name="")

    assert parsed.root == {"info": {key: "c", "b": 1}}
    place = " (again in line 2)" if comment else ""
    assert parsed.warnings == (f"/info/{key}: '{key}' stands twice{place}; the last one counts.",)


@pytest.mark.parametrize("text", in_both_formats('{"a": {"title": {"b": 1, "b": 2}, "title": 1}}'))
def test_what_a_duplicate_hides_is_looked_at_in_yaml_and_gone_in_json(text):
    if text.startswith("#"):
        assert refusal(text).startswith("api#/a/title: 'b' stands twice")
    else:
        assert root(text) == {"a": {"title": 1}}


@pytest.mark.parametrize("holder", ["properties", "paths", "schemas", "examples", "x/properties"])
@pytest.mark.parametrize("comment", ["", "# YAML\n"], ids=["json", "yaml"])
def test_a_duplicate_name_is_refused_although_it_reads_like_documentation(comment, holder):
    outer, _, inner = holder.rpartition("/")
    text = f'{{"{inner}": {{"description": {{}}, "description": {{}}}}}}'
    text = f'{{"{outer}": {text}}}' if outer else text

    assert f"api#/{holder}: 'description' stands twice" in refusal(comment + text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a" : 1, "b" : 2}',
        '{"a"\n:\t1}',
        '{"a": "\\":", "b": "\\" :"}',
        '{"a\\\\": 1, "b\\"": 2}',
        '{"a": ":b", "c": ["\\\\\\":"]}',
        '{"": {"": ""}}',
        '{"a": "{\\"b\\": 1, \\"b\\": 2}"}',
    ],
)
def test_text_that_looks_like_keys_is_no_duplicate(text):
    assert root(text) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a" :1, "a":2}',
        '{"a\\\\":1, "a\\\\":2}',
        '{"a":1, "\\u0061":2}',
        '{"b":"\\":", "a":1, "a":2}',
        '{"c\\\\":1, "a":1, "a":2}',
        '{"a":1, "b":{"a":1}, "a":1}',
    ],
)
def test_no_spelling_hides_a_duplicate(text):
    assert "stands twice" in refusal(text)


def test_duplicates_are_looked_for_in_large_documents_only_when_asked():
    padding = "x" * DUPLICATES_BYTES
    text = f'{{"a": 1, "a": 2, "x": "{padding}"}}'

    assert root(text)["a"] == 2
    assert "'a' stands twice" in refusal(text, duplicates=True)


def test_duplicates_are_not_looked_for_when_told_so():
    assert root('{"a": 1, "a": 2}', duplicates=False) == {"a": 2}
    assert root("a: 1\na: 2\n", duplicates=False) == {"a": 2}


@given(st.data())
def test_json_duplicates_are_found_exactly(data):
    names = st.text(alphabet='ab":\\ ', max_size=3)
    pairs = data.draw(st.lists(st.tuples(names, names), max_size=6))
    space = data.draw(st.sampled_from(["", " ", "\n"]))
    members = [f"{json.dumps(key)}{space}:{json.dumps(value)}" for key, value in pairs]
    text = f"{{{','.join(members)}}}"

    if len(dict(pairs)) == len(pairs):
        assert root(text) == dict(pairs)
    else:
        assert "stands twice" in refusal(text)


# Depth and size


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000,
        "[" * 10_000 + "]" * 10_000,
        '{"a":' * 10_000,
        "a: " + "[" * 10_000,
        "a: " + "{a: " * 10_000,
        "- " * 5_000 + "a",
        "".join(" " * depth + "-\n" for depth in range(1_500)),
        "".join(" " * depth + "a:\n" for depth in range(1_500)),
        "? " * 5_000,
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 1_000)),
    ],
    ids=[
        "JSON arrays",
        "closed JSON arrays",
        "JSON objects",
        "flow lists",
        "flow maps",
        "YAML lists in a line",
        "YAML lists",
        "YAML maps",
        "YAML keys",
        "aliases",
    ],
)
@pytest.mark.parametrize("duplicates", [None, False], ids=["checked", "unchecked"])
def test_nesting_without_end_is_refused(text, duplicates):
    message = refusal(text, duplicates=duplicates)

    assert "nested deeper than" in message or "a key is a list or a mapping" in message


@pytest.mark.parametrize("form", ["json", "flow", "block"])
@pytest.mark.parametrize("duplicates", [True, False], ids=["checked", "unchecked"])
def test_all_formats_have_the_same_depth(form, duplicates):
    def text(depth):
        inner = "[" * (depth - 1) + "]" * (depth - 1)
        block = "a:\n" + "- " * (depth - 1) + "b\n"
        texts = {"json": f'{{"a": {inner}}}', "flow": f"{{a: {inner}}}\n", "block": block}
        return texts[form]

    assert root(text(MAX_DEPTH), duplicates=duplicates)
    assert "nested deeper" in refusal(text(MAX_DEPTH + 1), duplicates=duplicates)


def test_a_document_of_millions_of_values_is_refused():
    text = f'{{"a": [{",".join(["[]"] * 6_000_000)}]}}'

    assert "more than 5,000,000 values" in refusal(text)


# YAML bombs


def alias_bomb(levels=12, width=9, use=""):
    lines = ["x-0: &a0 [lol, lol]"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"x-{level}: &a{level} [{aliases}]")
    return "\n".join([*lines, use, ""])


def merge_bomb(levels=12, width=9):
    lines = ["a0: &a0 {k: v}"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} {{<<: [{aliases}]}}")
    return "\n".join([*lines, ""])


@pytest.mark.parametrize(
    "text",
    [
        alias_bomb(),
        alias_bomb(levels=64, width=2),
        alias_bomb(use="components: {schemas: {A: {enum: *a11}}}"),
        merge_bomb(),
        merge_bomb(levels=64, width=2),
    ],
    ids=["ignored extension", "binary", "used schema", "merge", "binary merge"],
)
@pytest.mark.parametrize("duplicates", [None, False], ids=["checked", "unchecked"])
def test_an_alias_bomb_is_refused_before_it_grows(text, duplicates):
    tracemalloc.start()

    message = refusal(text, duplicates=duplicates)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "aliases write out to far more than the document holds" in message
    assert peak < 64 * 1024 * 1024


def test_an_alias_bomb_in_a_large_document_is_refused():
    text = f"x: {'x' * DUPLICATES_BYTES}\n" + alias_bomb(levels=40)

    assert "aliases write out" in refusal(text)


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: {c: *a}}", "a: &a {<<: *a}"])
@pytest.mark.parametrize("duplicates", [None, False], ids=["checked", "unchecked"])
def test_an_alias_inside_its_own_anchor_is_refused(text, duplicates):
    assert "'a' contains itself" in refusal(text, duplicates=duplicates)


def test_an_alias_without_an_anchor_is_refused():
    assert "line 1, column 4: the alias 'b' has no anchor" in refusal("a: *b")


def test_ordinary_aliases_are_read():
    text = "a: &a [1, &b two]\nc: *a\n*b : {d: *b}\n&k e: *k\na2: &a 3\na3: *a\n"

    expected = {"a": [1, "two"], "c": [1, "two"], "two": {"d": "two"}, "e": "e", "a2": 3, "a3": 3}
    assert root(text) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{<<: *a, y: 3}", {"x": 1, "y": 3}),
        ("{y: 3, <<: *a}", {"x": 1, "y": 3}),
        ("{<<: [*a, *b]}", {"x": 1, "y": 2, "z": 9}),
        ("{<<: [*b, *a]}", {"x": 8, "y": 2, "z": 9}),
        ("{<<: {q: 1}, r: 2}", {"q": 1, "r": 2}),
        ("{<<: []}", {}),
        ('{"<<": 1}', {"<<": 1}),
        ("{a: <<}", {"a": "<<"}),
    ],
)
@pytest.mark.parametrize("duplicates", [None, False], ids=["checked", "unchecked"])
def test_merge_keys_are_expanded(text, value, duplicates):
    anchors = "- &a {x: 1, y: 2}\n- &b {x: 8, z: 9}"
    found = root(f"s:\n{anchors}\nm: {text}\n", duplicates=duplicates)["m"]

    assert found == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: {<<: 1}", "line 1, column 9: '<<' takes a mapping"),
        ("a: {<<: [1]}", "'<<' takes a mapping"),
        ("a: {<<: {b: 1}, <<: {c: 1}}", "api#/a: '<<' stands twice"),
    ],
)
def test_an_impossible_merge_is_refused(text, reason):
    assert reason in refusal(text)


# YAML's types


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, word) for word in ("NO", "no", "yes", "on", "Off", "y", "nULL", "tRUE")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        ("22:22", "22:22"),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z"),
        ("012", 12),
        ("08", 8),
        ("0o14", 12),
        ("0o9", "0o9"),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("+5", 5),
        ("-0", 0),
        ("1_000", "1_000"),
        ("1,000", "1,000"),
        ("1e3", 1000.0),
        ("1E+2", 100.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1.5.2", "1.5.2"),
        ("3.1.0", "3.1.0"),
        ("1e", "1e"),
        (".", "."),
        (".e3", ".e3"),
        ("+-1", "+-1"),
        ("++1", "++1"),
        ("0x-1", "0x-1"),
        ("-0x1", "-0x1"),
        ("infinity", "infinity"),
        ("nan", "nan"),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", 2**63),
        ("-9223372036854775809", -(2**63) - 1),
        ("12345678901234567890123456789", 12345678901234567890123456789),
        ("0xFFFFFFFFFFFFFFFFFF", 0xFFFFFFFFFFFFFFFFFF),
        ("9.3e18", 9.3e18),
        ("'200'", "200"),
        ('"NO"', "NO"),
        ('"\\x41\\u00e9\\U0001f600\\e\\/"', "Aé😀\x1b/"),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\\\ud83d\\\\ude00"', "\\ud83d\\ude00"),
        ("'it''s'", "it's"),
        ("a\u2028b", "a\u2028b"),
        ('"a\u2029b\x85c"', "a\u2029b\x85c"),
        ("\xa0", "\xa0"),
        ("a\ufeffb", "a\ufeffb"),
    ],
    ids=ascii,
)
def test_plain_scalars_are_read_as_yaml_1_2(text, value, duplicates):
    found = root(f"a: {text}\n", duplicates=duplicates)["a"]

    assert found == value
    assert type(found) is type(value)


def test_a_surrogate_pair_is_an_escape_in_double_quotes_only():
    pair = "\\ud83d\\ude00"
    text = f"a: \"{pair}\"\nb: '{pair}'\nc: {pair}\nd: |\n  {pair}\u2028\n"

    assert root(text) == {"a": "😀", "b": pair, "c": pair, "d": f"{pair}\u2028\n"}


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
@pytest.mark.parametrize(
    "text",
    [".inf", "-.INF", "+.Inf", ".nan", ".NaN", "1e400", "-1e400", "9" * 400 + ".0"],
    ids=lambda text: text[:6],
)
def test_yaml_numbers_that_json_does_not_have_are_refused(text, duplicates):
    reason = refusal(f"a:\n  - {text}\n", duplicates=duplicates)

    assert reason.startswith("api#: line 2, column 5: a number that JSON does not have")


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
@pytest.mark.parametrize("text", ["9" * 5000, "-" + "9" * 5000, "0x" + "f" * 5000])
def test_an_integer_of_thousands_of_digits_is_refused(text, duplicates):
    reason = refusal(f"a: {text}\n", duplicates=duplicates)

    assert reason.startswith("api#: line 1, column 4: an integer of more than 4,300 digits")


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("200", "200"),
        ("1.0", "1.0"),
        ("1.10", "1.10"),
        ("null", "null"),
        ("~", "~"),
        ("yes", "yes"),
        ("True", "True"),
        ("012", "012"),
        ("0x10", "0x10"),
        ("-0", "-0"),
        ("+1", "+1"),
        ("'200'", "200"),
        ("2XX", "2XX"),
        ("? a b", "a b"),
        ("2020-01-01", "2020-01-01"),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_keys_are_text_as_they_are_written(key, text, duplicates):
    separator = "\n" if key.startswith("?") else ""

    assert root(f"a: 1\n{key}{separator}: 2\n", duplicates=duplicates) == {"a": 1, text: 2}
    assert root(f"a: {{b: 1, {key} : 2}}\n", duplicates=duplicates) == {"a": {"b": 1, text: 2}}


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
def test_keys_that_become_equal_are_duplicates(duplicates):
    assert "'200' stands twice" in refusal("a: {200: 1, '200': 2}\n", duplicates=duplicates)


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
@pytest.mark.parametrize("key", ["[a, b]", "{a: b}", "? - a\n", "? {a: b}\n", "&a [b]"])
def test_a_key_that_is_a_collection_is_refused(key, duplicates):
    assert "a key is a list or a mapping" in refusal(f"a: 1\n{key} : 1\n", duplicates=duplicates)


def test_an_alias_to_a_collection_is_no_key():
    assert "a key is a list or a mapping" in refusal("a: &a [b]\n*a : 1\n")


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 123", "123"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("!!float 1.5", 1.5),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("! 12", "12"),
        ("!<tag:yaml.org,2002:str> 1", "1"),
        ("!!map {a: 1}", {"a": 1}),
        ("!!seq [1]", [1]),
        ("! [1]", [1]),
    ],
)
def test_tags_of_the_core_schema_are_read(text, value, duplicates):
    found = root(f"a: {text}\n", duplicates=duplicates)["a"]

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['touch marker']",
        "!!python/name:os.system",
        "!!python/object/new:os.system {args: ['touch marker']}",
        "!ruby/object:Gem::Installer {}",
        "!foo bar",
        "!!binary aGk=",
        "!!timestamp 2020-01-01",
        "!!set {a, b}",
        "!!omap [a: 1]",
        "!!str [1]",
        "!!int x",
        "!!bool 1",
        "!!map [1]",
        "{!foo a: 1}",
    ],
)
def test_other_tags_are_refused_and_construct_nothing(tmp_path, monkeypatch, text, duplicates):
    monkeypatch.chdir(tmp_path)

    message = refusal(f"a: {text}\n", duplicates=duplicates)

    assert message.startswith("api#: line 1, column ")
    assert "tag" in message
    assert not list(tmp_path.iterdir())


# YAML's grammar


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a:\n\tb: 1\n", "not valid YAML: line 2, column 1: a tab where YAML wants spaces."),
        ("a:\n  - b\n \t- c\n", "a tab where YAML wants spaces."),
        ("a: b: c\n", "line 1, column 5: mapping values are not allowed"),
        ("a: [1, 2\n", "not valid YAML: line 2, column 1"),
        ('a: "b\n', "not valid YAML: line"),
        ("a: 'b' c\n", "not valid YAML: line 1, column 8"),
        ("  a: 1\n b: 2\n", "not valid YAML: line 2, column 2"),
        ("a: b\n- c\n", "not valid YAML: line 2, column 1"),
        ("a: @b\n", "not valid YAML: line 1, column 4"),
        ("a: 1\nb: \x07\n", "line 2, column 4: the character U+0007, which YAML does not allow"),
        ("a: \x92\n", "line 1, column 4: the character U+0092"),
        ("a: \ufffe\n", "line 1, column 4: the character U+FFFE"),
        ('a: "\\ud83d"\n', "not valid YAML: line 1, column 7"),
        ('a: "\\ud83d\\ude00 \\ud83d"\n', "not valid YAML: line 1"),
        ("%YAML 2.0\n---\na: 1\n", "not valid YAML: line 1, column 1: found incompatible"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: a second YAML document begins"),
        ("a: 1\n...\nb: 2\n", "not valid YAML: line 3, column 1"),
        ("---\na: 1\n---\n", "line 3, column 1: a second YAML document begins"),
        ("{a: 1}\nb: 2\n", "not valid YAML: line 2, column 1"),
        ('{"a": 1}\nb: 2\n', "not valid JSON: line 2, column 1: trailing characters"),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_broken_yaml_is_refused_with_line_and_column(text, reason, duplicates):
    assert reason in refusal(text, duplicates=duplicates)


@pytest.mark.parametrize("duplicates", [None, False], ids=["exact", "fast"])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("%YAML 1.2\n---\na: NO\n...\n", {"a": "NO"}),
        ("# c\n\n---\n# d\na: 1\n", {"a": 1}),
        ("--- {a: 1}\n", {"a": 1}),
        ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("a: 1\rb: 2\r", {"a": 1, "b": 2}),
        ("a:\tb\n", {"a": "b"}),
        ("a: |\n  b\n   c\n\nd: >-\n  e\n  f\n", {"a": "b\n c\n", "d": "e f"}),
        ("a: |+\n  b\n\n", {"a": "b\n\n"}),
        ("a: |\n  b", {"a": "b"}),
        ("a: |\n", {"a": ""}),
        ("a: |\n  b # c\n  # d\n", {"a": "b # c\n# d\n"}),
        ("a: b\n  c\n\n  d\n", {"a": "b c\nd"}),
        ('a: "b\n  c\\\n  d"\n', {"a": "b cd"}),
        ("a: b#c # d\n", {"a": "b#c"}),
        ("a:\n- b\n-\n  c: d\n", {"a": ["b", {"c": "d"}]}),
        ("{a: [1, {b: c}, ], d: }\n", {"a": [1, {"b": "c"}], "d": None}),
        ('{"a":1}\n', {"a": 1}),
        ("a: {x, y: 1}\n", {"a": {"x": None, "y": 1}}),
        ("a: [x: 1]\n", {"a": [{"x": 1}]}),
        ("a: http://h/{id}?q=1&r=2\n", {"a": "http://h/{id}?q=1&r=2"}),
        ("a: b &c *d !e\n", {"a": "b &c *d !e"}),
        ("example: {\n  b: 1\n}\n", {"example": {"b": 1}}),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_yaml_is_read(text, value, duplicates):
    assert root(text, duplicates=duplicates) == value


# Everything together


def outcome(data, **options):
    """Plain data, or None for a typed refusal; anything else fails the test."""
    try:
        return root(data, **options)
    except InvalidDocument:
        return None


@given(st.binary(max_size=200))
@pytest.mark.parametrize("duplicates", [True, False], ids=["checked", "unchecked"])
def test_any_bytes_end_in_plain_data_or_a_typed_error(duplicates, data):
    found = outcome(data, duplicates=duplicates)

    assert found is None or isinstance(found, dict)


MARKUP = st.lists(
    st.sampled_from(["a", "b: ", "- ", "&a ", "*a", "!!str ", "!x ", "<<: ", "? ", ": ", ", "])
    | st.sampled_from(["\n", "\n  ", "\t", "\r", "\u2028", "\ufeff", "---\n", "\\ud83d\\ude00"])
    | st.sampled_from(["1", ".5", "~", "0x1F", "+-1", "x" * 20, *"\"'{}[]|>#%&é"]),
    max_size=20,
).map("".join)


@given(MARKUP)
def test_any_markup_ends_in_plain_data_or_a_typed_error(text):
    found = outcome(text)

    assert found is None or json.loads(json.dumps(found, allow_nan=False)) == found


def test_infinity_is_found_in_large_json_when_asked():
    text = f'{{"a": 1e999, "x": "{"x" * DUPLICATES_BYTES}"}}'

    assert math.isinf(root(text)["a"])
    assert refusal(text, duplicates=True).startswith("api#/a: a number that JSON does not have")
