"""The fast YAML reader and the exact one say the same, or the fast one says nothing."""

from __future__ import annotations

import json
import tracemalloc

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from parsing import refusal, root

from openapi_tools.errors import InvalidDocument
from openapi_tools.loader.parse import parse
from openapi_tools.loader.parse_yaml import read_exact
from openapi_tools.loader.yaml_fast import read_fast
from openapi_tools.loader.yaml_scalars import resolve

pytestmark = pytest.mark.untraced


def same(one, other):
    """Whether two values are equal, types and the order of keys included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def documents(shared, *endings, largest):
    """The published documents up to a size."""
    paths = [path for path in (shared / "corpus").rglob("*") if path.suffix in endings]
    return [path for path in sorted(paths) if path.stat().st_size <= largest]


def test_both_readers_agree_on_the_published_documents(shared):
    taken, left, different = 0, [], []

    for path in documents(shared, ".yaml", ".yml", largest=10_000_000):
        data = path.read_bytes()
        fast, checked = read_fast(data), read_fast(data, check=True)
        exact, warnings = read_exact(data)
        if fast is None:
            left.append(path.name)
        elif not same(fast, exact) or (checked and warnings):
            different.append(path.name)
        taken += checked is not None

    assert different == []
    assert len(left) < taken / 100
    assert taken > 300


def test_json_is_read_as_the_standard_library_reads_it(shared):
    different, refused = [], []

    for path in documents(shared, ".json", largest=2_000_000):
        data = path.read_bytes()
        try:
            found = parse(data, name=path.name).root
        except InvalidDocument:
            refused.append(path.name)
            continue
        if not same(found, json.loads(data)):
            different.append(path.name)

    assert different == []
    assert set(refused) <= {"Collection.json", "ConformsTo.json"}, "two fragments, not JSON"


class Dumper(yaml.CSafeDumper):
    """Writes text in the style that it is told."""

    style = None


def write_text(dumper, text):
    style = dumper.style
    if style is None and resolve(text) != text:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


Dumper.add_representer(str, write_text)


def is_readable(text):
    try:
        resolve(text)
    except ValueError:
        return False
    return True


BREAKS = "\x85\u2028\u2029"
"""Line breaks for the writer, which follows YAML 1.1."""

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters=BREAKS), max_size=12),
    st.text(alphabet="ab:#-?&*!|>'\"%@`{}[], \n\t012.+eEx_~<é", max_size=12),
    st.sampled_from(["NO", "22:22", "2020-01-01", "012", "0o14", "1_000", "null", "<<", "=", "~"]),
).filter(is_readable)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
KEYS = TEXTS.filter(lambda text: len(text) < 100)
DATA = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)
OPTIONS = st.fixed_dictionaries(
    {
        "default_flow_style": st.sampled_from([True, False, None]),
        "width": st.sampled_from([10, 80, 100_000]),
        "indent": st.integers(2, 6),
        "allow_unicode": st.booleans(),
        "explicit_start": st.booleans(),
        "line_break": st.sampled_from(["\n", "\r\n"]),
    }
)


@given(DATA, OPTIONS, st.sampled_from([None, '"', "'", "|", ">"]))
def test_what_was_written_is_read_back_by_both(data, options, style):
    dumper = type("Styled", (Dumper,), {"style": style})
    text = yaml.dump(data, Dumper=dumper, sort_keys=False, **options).encode()

    exact, warnings = read_exact(text)
    fast = read_fast(text)

    assert same(exact, data)
    assert warnings == []
    assert fast is None or same(fast, data)


@given(st.text(alphabet="+-.01789eExoafinNI_~ ", max_size=8).map(str.strip))
def test_both_give_plain_scalars_the_same_value(text):
    data = f"a: {text}\n".encode()

    fast = read_fast(data)

    assert fast is None or same(fast["a"], resolve(text))


EDITS = ["&a ", "*a", "!t ", "!!str ", '"', "'", "|", ">", "- ", "? ", ": ", "#", "\n", "\n  "]
EDITS += ["\t", "{", "}", "[", "]", ",", "%", "---\n", "...\n", "\r", "<<: ", "~", "0x1F", "+-1"]
EDITS += ["\u2028", "\x85", "\xa0", "\ufeff", "\\", "012", ".inf", "|+\n", "{a, b}", "200: x\n"]
LINES = st.sampled_from(
    [
        "a: 1",
        "description: |\n  text\n\n  more # text",
        "- a: b\n  c: [d, e]",
        "200:\n  description: ok",
        "b: {c: d, e: [f]}",
        "c: 'it''s'\nd: \"q\\n\"",
        "e: plain\n  continued",
        "f:\n- g\n- h: i",
        "# comment",
        "get: &x {y: z}\nput: *x",
    ]
)


@given(
    st.lists(LINES, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from(EDITS)), max_size=4),
)
def test_both_agree_on_damaged_text_where_both_read_it(lines, edits):
    text = "\n".join([*lines, ""])
    for place, edit in edits:
        text = text[: place % len(text)] + edit + text[place % len(text) :]
    data = text.encode()

    fast = read_fast(data)
    try:
        exact, warnings = read_exact(data)
    except InvalidDocument:
        return

    assert fast is None or warnings or same(fast, exact)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a b\nc: *a\n",
        "- &a b\n",
        "a: [&a b]\n",
        "a: {&a b: c}\n",
        "a: !t &a b\n",
        "a:\n  &a b\n",
        'a: {"b":&a c}\n',
        "a: {b: 1,&a c: 2}\n",
        "&a b: c\n",
        "? &a b\n: c\n",
        f"a: !{'t' * 300} &a b\n",
        "a: !t{&a b: c}\n",
        "a: !!str 1\n",
        "a: !t b\n",
        "a: !\n  b\n",
        "a: [!t b]\n",
        "a: [c, ! b]\n",
        "- !t\n",
        "!t a: b\n",
        "a: !(b)\n",
        "a: !!set {b}\n",
        "a: [!t b, c]\nd: '\"!'\n",
        'a: !t b\nd: "\\x21"\n',
        "a:\n  !t b\nc: '!' # c\n",
        "!\n" * 60_000 + "a: b\n",
        "a:\n  [!t]\n",
        "a: [[!t],[b]]\n",
        "a: [!t] # b\n",
        "a: [!<b]c> d]\n",
        "a: -0x1\n",
        "a: 0x1" + "0" * 3600 + "\n",
        "a: {?b: c}\n",
        "\ta: 1\n",
        "\t# b\na: 1\n",
        "...\na: 1\n",
        "# b\n\r\n...\na: 1\n",
        "a: {b\n%c: d}\n",
        "a: 5% b\n" + "# %\n" * 3000 + "b: {c\n%d: e}\n",
        "a: !<tag:yaml.org,2002:str> 1\n",
        "%YAML 1.1\n---\na: 1\n",
        "<<: {a: 1}\n",
        "a: .inf\n",
        "a: b\rc: d\n",
        "a:\n  \tb\n",
        "a: \x07\n",
        "a: \x92\n",
        "a: \ufffe\n",
        "a: \ufeff\n",
        "a: |\n  b",
        "a: |\n",
        "a: 1\n---\nb: 2\n",
        "a: 1\n...\nb: 2\n",
        "  a: 1\n b: 2\n",
        "012: a\n",
        "a: {012}\n",
        "? 0x10\n: b\n",
        "1.0: a\n",
        "null: a\n",
        "[a]: b\n",
        "200: a\n'200': b\n",
        "a: " + "- " * 1000,
        "a:\n" + "- " * 1000 + "b\n",
        "- " * 100_000 + "b\n",
        "-\t" * 100_000 + "b\n",
        "? " * 100_000 + "b\n",
        "a: " + "&x " * 60_000 + "\n",
        "- a\n",
        "a\n",
        "",
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_the_fast_reader_leaves_to_the_exact_one_what_it_would_misread(text):
    assert read_fast(text.encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        "a: R&D & co, A&B && c\n",
        "a: http://h/?a=1&b=2\n",
        "a: 'http://h/{?a}{&b}'\n",
        f"a: http://h/?{'a' * 300}&b=c\n",
        "a: http://h{?a}{&b}\n",
        "a: |\n  * item\n  **bold** ![image](url)\n  <p>&nbsp;</p>\n",
        "a: wow!! !important\n",
        'a: "b\n\n  [!NOTE]\\n> c"\nd:\n  e\n  [!TIP]> f\n',
        "# 5%\n\n# ...\n---\na: 5%\n",
        "a: " + "<b> 5% c? " * 3000 + "\n",
        "a: C++11, 10+-1\n",
        "a: '0xFFFFFFFFFFFFFFFFFFFF'\n",
        "a: 3.1.0 # 50%\n",
        "a: b\tc\n",
        "a: 9223372036854775807\n",
        "a: 9223372036854775808\nb: -12345678901234567890123\nc: 0xFFFFFFFFFFFFFFFFF\n",
        "a: +-1\nb: 0x-1\nc: ++1\nd: 1_000\n",
        "a: \xa0\nb: \u3000\nc: \u2028x\n",
        "a: '> [!NOTE]\n\n  > text'\n",
        "a: |\n  ![image](x)\n  !important\n",
        "a: see x{?b} and [!c]\n",
        "a: é\xa0ü “x” \u2003y\n",
        "# c\n---\na: 1\n...\n",
        "responses:\n  200: {description: 10:30}\n  404: {}\n",
        "a:\r\n  b: 1\r\n",
    ],
    ids=ascii,
)
def test_the_fast_reader_takes_what_real_documents_have(text):
    found = read_fast(text.encode())

    assert found is not None
    assert same(found, read_exact(text.encode())[0])


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n",
        "a: {b: 1, b: 2}\n",
        "a: [{b: 1, b: 1}]\n",
        "a: 'x'\n'a': x\n",
        "200: a\n200: b\n",
        "a: 1 # b: c\na: 2\n",
        "a: {b, b: 1}\n",
        "a: {b: 1, b}\n",
        "a: {? b, b: 1}\n",
        "a: {b: {c, c: 1}}\n",
        "a: [{b, b: 1}]\n",
        "a: {'b'\n, b: 1}\n",
        "a: {b:c, b:c: 1}\n",
        "? a\na: 1\n",
        "a:\n  ? b\n  b: 1\n",
        "a:\n- ? b\n  b: 1\n",
        'a: 1\na: "\\x3a"\n',
        'a: 1\na: "\\u003A"\n',
        'a: 1\na: "\\U0000003a"\n',
        'a: {b, b: 1}\nc: "\\x7b"\n',
        "a: x # 'b: c'\na: y # b\n",
        "a: |\n  # b: c\na: |\n  # d: e\n",
        "a: x\na: |\n  # b: c\td\n",
        "a: 1\n'b # c': 2\na: 3\n",
        'a: "x\n  # b: c"\na: y\n',
        "x\xa0# y: 1\na: 2\na: 3\n",
        "a: {b: {c: {d, d: 1}}}\n",
        "a: 1\n" + "# b: c\n" * 1000,
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_what_may_hide_a_repeated_key_is_left_to_the_exact_reader(text):
    assert read_fast(text.encode(), check=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "a: http://h:80/x\n'b:c': d:e\n22:22: x\n",
        "a: 1 # see http://h\n# b: c\nd: 2\n",
        "a: |\n  # b: c\nd: 'e: f'\n",
        "a: {b: 1, 'c' : [d, e], \"f\":{g: http://h}, h: }\ni: {}\n",
        "a: {\n  b: -1,\n  c: 'd',\n}\n",
        "/a/{b}:\n  c: x{d}\n",
        "a: why? b\n",
        'a: "b\\n\\"c\\": d"\n',
        "200: a\n404: b\n",
    ],
    ids=ascii,
)
def test_repeated_keys_are_ruled_out_without_the_exact_reader(text):
    found = read_fast(text.encode(), check=True)

    assert found is not None
    assert same(found, read_exact(text.encode())[0])


@pytest.mark.parametrize(
    "text",
    [
        "a: [|b]\n",
        "a: [c, >b]\n",
        "a: {b: |c}\n",
        "a: {b: >}\n",
        "a: {'b':|c}\n",
        "a: {|b: c}\n",
        "a: [\n  |b]\n",
        "a: {b: |\n  c}\n",
        "a: {b: >-\n  }\n",
        "a: {b: |\n  c, d: e}\n",
        "a: [" + " " * 300 + "|b]\n",
        "a: '" + "|" * 60_000 + "'\n",
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_no_block_scalar_begins_in_a_flow_collection(text):
    assert read_fast(text.encode(), check=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "a: '|b'\nc: |\n  d\ne: [f, 'g>h']\n",
        "a: |\n  > [!NOTE]\n  > b\nc: >-\n  | d |\ne: |+ # f\n\n  g\n",
        'a: "> b"\nc: |\n  <d>e</d>, f->g >>\n',
        "a: |\n  |b|c|\nd: >\n  'e'\n",
    ],
    ids=ascii,
)
def test_texts_may_begin_like_block_scalars(text):
    found = read_fast(text.encode(), check=True)

    assert found is not None
    assert same(found, read_exact(text.encode())[0])


SNIPPETS = [
    *("a: 1", "b: c", "200: x", "'a': y", '"a": z', "a: http://h:1/{x}?y=1&z", "'a # b': 1"),
    *("c: {a: 1}", "c: {a, b: 1}", "c: {'a':1, \"b\" : 2}", "c: [a: 1, {b: 2}]", "c: {b:a, b: 1}"),
    *("d: |\n  # a: b\n  !x {y}", "d: >-\n  e:\n   f\n  g", "d: 'x\n  # a: b'", 'd: "\\x3a"'),
    *("e: f\n  g", "e:\n- a: 1\n- a: 2", "e:\n  a: 1", "e: # x: y", "# a: b", "  # c", ""),
    *("f: &x 1", "f: *x", "f: !t 1", "f: [!t 1]", "f: [x!, '!y']", "? a", "? g\n: h", "<<: {a: 1}"),
    *("h: 0x1F", "h: 012", "h: -0x1", "h: 1e3", "h: ~", "h: NO", "h: 99999999999999999999", "0: 1"),
    *("i:\tb", "i: \xa0", "i: b\u2003", "i\u2028: \x85", "j: >2\n    k\n   l", 'k: "\'"', "l: # o"),
]


@given(st.lists(st.sampled_from(SNIPPETS), max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_both_agree_and_the_fast_reader_sees_every_repeated_key(snippets, line_break):
    text = "".join(f"{snippet}\n" for snippet in snippets)
    data = text.replace("\n", line_break).encode()

    fast, checked = read_fast(data), read_fast(data, check=True)
    exact, warnings, complaint = None, [], ""
    try:
        exact, warnings = read_exact(data)
    except InvalidDocument as error:
        complaint = str(error)

    assert fast is None or warnings or complaint or same(fast, exact)
    assert checked is None or not (warnings or "stands twice" in complaint)


@pytest.mark.parametrize("duplicates", [None, False])
def test_the_environment_can_ask_for_the_exact_reader(monkeypatch, duplicates):
    text = "a: [:b]\n"
    monkeypatch.delenv("OPENAPI_TOOLS_YAML", raising=False)

    assert root(text, duplicates=duplicates) == {"a": [":b"]}

    monkeypatch.setenv("OPENAPI_TOOLS_YAML", "exact")
    assert "did not find expected node content" in refusal(text, duplicates=duplicates)


def test_a_bomb_never_reaches_the_fast_parser():
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    tracemalloc.start()

    found = read_fast("\n".join([*lines, ""]).encode())

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is None
    assert peak < 1_000_000
