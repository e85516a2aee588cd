"""YAML becomes plain data as YAML 1.2 says, and no bomb goes off."""

import tracemalloc

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from parsing import refusal, root

from openapi_tools.loading.parse_yaml import resolve_scalar
from openapi_tools.loading.source import DUPLICATES_BYTES, parse_document

# Bombs


def bomb(first, level, use="", *, levels=12, width=9):
    """Return values that each hold the one before several times."""
    lines = [f"x-0: &a0 {first}"]
    for number in range(1, levels):
        aliases = ", ".join([f"*a{number - 1}"] * width)
        lines.append(f"x-{number}: &a{number} {level.format(f'[{aliases}]')}")
    return "\n".join([*lines, use, ""])


LISTS, MERGED = ("[lol, lol]", "{}"), ("{k: v}", "{{<<: {}}}")
BOMBS = {
    "ignored extension": bomb(*LISTS),
    "binary": bomb(*LISTS, levels=64, width=2),
    "used schema": bomb(*LISTS, "components: {schemas: {A: {enum: *a11}}}"),
    "merge": bomb(*MERGED),
    "binary merge": bomb(*MERGED, levels=64, width=2),
    "large document": f"x: {'x' * DUPLICATES_BYTES}\n{bomb(*LISTS, levels=40)}",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_an_alias_bomb_is_refused_before_it_grows(text):
    tracemalloc.start()

    message = refusal(text)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "aliases expand to far more than the document contains" in message
    assert "line " in message
    assert peak < 64 * 1024 * 1024


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
def test_merge_keys_are_expanded(text, value):
    anchors = "- &a {x: 1, y: 2}\n- &b {x: 8, z: 9}"
    result = root(f"s:\n{anchors}\nm: {text}\n")["m"]

    assert result == value


# Types


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, word) for word in ("NO", "no", "yes", "on", "Off", "y", "nULL", "tRUE")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        *((word, word) for word in ("22:22", "1:30", "2020-01-01", "2020-01-01T10:00:00Z")),
        ("012", 12),
        ("08", 8),
        ("0o14", 12),
        ("0o9", "0o9"),
        ("0x1F", 31),
        *((word, word) for word in ("0X1F", "0O17", "-0X1F", "+0o17")),
        ("+5", 5),
        ("-0", 0),
        ("1e3", 1000.0),
        ("1E+2", 100.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        *((word, word) for word in ("0b11", "1_000", "1,000", "1.5.2", "3.1.0", "1e", ".", ".e3")),
        *((word, word) for word in ("+-1", "++1", "0x-1", "-0x1", "infinity", "nan")),
        ("-9223372036854775809", -(2**63) - 1),
        ("0xFFFFFFFFFFFFFFFFFF", 0xFFFFFFFFFFFFFFFFFF),
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
    ids=ascii,
)
def test_plain_scalars_are_read_as_yaml_1_2(text, value):
    result = root(f"a: {text}\n")["a"]

    assert result == value
    assert type(result) is type(value)


def test_a_surrogate_pair_is_an_escape_in_double_quotes_only():
    pair = "\\ud83d\\ude00"
    text = f"a: \"{pair}\"\nb: '{pair}'\nc: {pair}\nd: |\n  {pair}\u2028\n"

    assert root(text) == {"a": "😀", "b": pair, "c": pair, "d": f"{pair}\u2028\n"}


@pytest.mark.parametrize("text", ["9" * 5000, "-" + "9" * 5000, "0x" + "f" * 5000])
def test_an_integer_of_thousands_of_digits_is_refused(text):
    reason = refusal(f"a: {text}\n")

    assert reason.startswith("api: line 1, column 4: an integer of more than 4,300 digits")


@pytest.mark.parametrize(
    "key",
    [*("200", "1.10", "null", "~", "yes", "0x10", "+1", "2XX", "'200'", "? a b", "2020-01-01")],
)
def test_keys_are_text_as_they_are_written(key):
    text = key.strip("'? ")
    separator = "\n" if key.startswith("?") else ""

    assert root(f"a: 1\n{key}{separator}: 2\n") == {"a": 1, text: 2}
    assert root(f"a: {{b: 1, {key} : 2}}\n") == {"a": {"b": 1, text: 2}}


@pytest.mark.parametrize(
    "text",
    [
        "a: {200: 1, '200': 2}\n",
        "a: [{b: 1, b: 1}]\n",
        "a: 'x'\n'a': x\n",
        "a: {b, b: 1}\n",
        "a:\n- ? b\n  b: 1\n",
        'a: 1\n"\\x61": 2\n',
        "a: &x b\n*x : 1\nb: 2\n",
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_no_spelling_hides_a_duplicate_in_yaml(text):
    assert "is a duplicate key" in refusal(text, strict=True)
    assert "is a duplicate key" in parse_document(text.encode(), name="").warnings[0]


def test_mappings_that_are_merged_twice_are_all_merged():
    parsed = parse_document(b"a: {<<: {b: 1}, <<: {c: 1}}", name="")

    assert parsed.root == {"a": {"b": 1, "c": 1}}
    assert parsed.warnings == (
        "/a/<<: '<<' is a duplicate key (again in line 1); both are merged.",
    )


@pytest.mark.parametrize("key", ["[a, b]", "{a: b}", "? - a\n", "? {a: b}\n", "&a [b]", "*b"])
def test_a_key_that_is_a_collection_is_refused(key):
    assert "a key is a list or a mapping" in refusal(f"a: &b []\n{key} : 1\n")


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['touch marker']",
        "!!python/object/new:os.system {args: ['touch marker']}",
        *("!!python/name:os.system", "!ruby/object:Gem::Installer {}", "!foo bar", "!!binary aGk="),
        *("!!timestamp 2020-01-01", "!!set {a, b}", "!!omap [a: 1]", "!!str [1]", "!!int x"),
        *("!!bool 1", "!!map [1]", "{!foo a: 1}"),
    ],
)
def test_other_tags_are_refused_and_construct_nothing(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)

    message = refusal(f"a: {text}\n")

    assert message.startswith("api: line 1, column ")
    assert "tag" in message
    assert not list(tmp_path.iterdir())


# Grammar


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a:\n\tb: 1\n", "not valid YAML: line 2, column 1: a tab where YAML requires spaces."),
        ("a:\n  - b\n \t- c\n", "a tab where YAML requires spaces."),
        ("a: b: c\n", "line 1, column 5: mapping values are not allowed"),
        ("a: [1, 2\n", "not valid YAML: line 2, column 1"),
        ('a: "b\n', "not valid YAML: line"),
        ("a: 'b' c\n", "not valid YAML: line 1, column 8"),
        ("a: 1\nb: \x07\n", "line 2, column 4: the character U+0007, which YAML does not allow"),
        ("a: \x92\n", "line 1, column 4: the character U+0092"),
        ("a: \ufffe\n", "line 1, column 4: the character U+FFFE"),
        ('a: "\\ud83d"\n', "not valid YAML: line 1, column 7"),
        ('a: "\\ud83d\\ude00 \\ud83d"\n', "not valid YAML: line 1"),
        ("%YAML 2.0\n---\na: 1\n", "not valid YAML: line 1, column 1: found incompatible"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: a second YAML document begins"),
        ('{"a": 1}\nb: 2\n', "not valid JSON: line 2, column 1: trailing characters"),
        ("a: {<<: 1}", "line 1, column 9: '<<' takes a mapping"),
        ("a: {<<: [1]}", "'<<' takes a mapping"),
        ("a: *b", "line 1, column 4: the alias 'b' is used before its anchor"),
        ("a: &a [*a]", "line 1, column 8: 'a' contains itself"),
        ("a: &a {b: {c: *a}}", "'a' contains itself"),
        ("a: &a {<<: *a}", "'a' contains itself"),
        *((f"a:\n  - {text}\n", "api: line 2, column 5: a number that JSON does not have")
          for text in (".inf", "-.INF", "+.Inf", ".nan", ".NaN", "1e400", "-1e400", f"{10**400}.")),
    ],
    ids=lambda value: ascii(value)[:24],
)  # fmt: skip
def test_broken_yaml_is_refused_with_line_and_column(text, reason):
    assert reason in refusal(text)


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
        ("a:\n- b\n-\n  c: d\n", {"a": ["b", {"c": "d"}]}),
        ("{a: [1, {b: c}, ], d: }\n", {"a": [1, {"b": "c"}], "d": None}),
        ("a: {x, y: 1}\n", {"a": {"x": None, "y": 1}}),
        ("a: [x: 1]\n", {"a": [{"x": 1}]}),
        ("a: http://h/{id}?q=1&r=2\n", {"a": "http://h/{id}?q=1&r=2"}),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_yaml_is_read(text, value):
    assert root(text) == value


# Together


class Dumper(yaml.CSafeDumper):
    """Quotes texts that are other values in YAML 1.2."""


def write_text(dumper, text):
    try:
        style = None if resolve_scalar(text) == text else '"'
    except ValueError:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


Dumper.add_representer(str, write_text)
BREAKS = "\x85\u2028\u2029"
"""Line breaks for the writer, which follows YAML 1.1."""

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters=BREAKS), max_size=12),
    st.text(alphabet="ab:#-?&*!|>'\"%@`{}[], \n\t012.+eEx_~<é", max_size=12),
    st.sampled_from(["NO", "22:22", "2020-01-01", "012", "0o14", "1_000", "null", "<<", "=", "~"]),
)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
DATA = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none() | st.booleans() | NUMBERS | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)
OPTIONS = st.fixed_dictionaries(
    {
        "default_flow_style": st.sampled_from([True, False, None]),
        "width": st.sampled_from([10, 80, 100_000]),
        "allow_unicode": st.booleans(),
        "line_break": st.sampled_from(["\n", "\r\n"]),
    }
)


@pytest.mark.untraced
@given(DATA, OPTIONS)
def test_what_was_written_is_read_back(data, options):
    text = yaml.dump(data, Dumper=Dumper, sort_keys=False, **options)

    parsed = parse_document(f"# YAML\n{text}".encode(), name="")

    assert repr(parsed.root) == repr(data)
    assert parsed.warnings == ()
