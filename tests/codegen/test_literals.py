"""What the literal writer writes reads back equal, and ruff leaves it; what is refused."""

from __future__ import annotations

import ast
import itertools
import json
import subprocess
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from literal_values import MODEL, PROSE, TRICKY, VALUES
from ruff import find_ruff_bin
from source_characters import loose_marks_in, unseen_in

from openapi_tools import model
from openapi_tools.codegen import (
    Code,
    TooDeep,
    lint_codes,
    write_assignment,
    write_json_text,
    write_literal,
)
from openapi_tools.codegen.source_text import source_width
from openapi_tools.errors import OpenAPIToolsError
from openapi_tools.model import Operation, Parameter, Server

ROOT = Path(__file__).parents[2]
FILE = ROOT / "openapi_tools" / "values.py"
HEAD = """\
\"""Values.\"""

import json
from typing import Any, ClassVar

from openapi_tools.model import (
    Encoding,
    Operation,
    Parameter,
    Property,
    RequestBody,
    SecurityScheme,
    Server,
    ServerVariable,
)

USED = (json, Encoding, Operation, Parameter, Property, RequestBody, SecurityScheme, Server)
MORE = (ServerVariable,)
"""
ANY = Code("ClassVar[Any]")
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**80), 10**80),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
        st.text(st.sampled_from("ab\"'\\ \n\r{}é\ud800\udc00🚀"), max_size=200),
    ),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def read(code):
    return eval(f"({code})", {**vars(model), "json": json})


def same(left, right):
    return bool(left == right) and repr(left) == repr(right)


def longest_line(code):
    return max(source_width(line) for line in code.split("\n"))


def nest(levels, *, key=""):
    value: Any = 1
    for _ in range(levels):
        value = {key: value} if key else [value]
    return value


def places(text):
    return (text, [text], {text: text}, (text,), Server(text), {"a": [text, {text: 1}]})


@pytest.mark.parametrize("indent", [0, 8, 60])
def test_a_text_reads_back_wherever_it_stands(indent):
    for value in (value for text in TRICKY.values() for value in places(text)):
        code = write_literal(value, indent=indent)

        assert same(read(code), value)
        assert unseen_in(code) == loose_marks_in(code) == []
        assert longest_line(" " * indent + code) <= 100


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_reads_back_with_its_types(value):
    code = write_literal(value, indent=4)

    assert same(read(code), value)
    assert longest_line("    " + code) <= 100


@pytest.mark.long
@given(JSON, st.sampled_from([0, 4, 8]))
def test_any_json_value_reads_back_from_its_assignment(value, indent):
    head = f"{' ' * indent}name: ClassVar[Any] = "
    try:
        statement = write_assignment(Code("name"), value, indent=indent, annotation=ANY)
    except TooDeep:
        reject()

    assert statement.startswith(head)
    assert same(ast.literal_eval(f"({statement.removeprefix(head)})"), value)
    assert unseen_in(statement) == loose_marks_in(statement) == []
    assert longest_line(statement) <= 100


@given(JSON)
def test_any_json_value_reads_back_from_json_text(value):
    assume(json.loads(json.dumps(value)) == value)

    code = write_json_text(value, indent=4, lead=12)

    assert same(read(code), value)
    assert unseen_in(code) == loose_marks_in(code) == []
    assert longest_line(" " * 12 + code) <= 100


@pytest.mark.parametrize("value", MODEL, ids=lambda value: type(value).__name__)
def test_a_value_of_the_model_is_the_call_that_its_repr_shows(value):
    code = write_literal(value, indent=4)

    assert read(code) == value
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(repr(value)))


def test_a_mapping_is_written_as_a_dict_and_code_as_it_is():
    assert write_literal(MappingProxyType({"a": Code("schemas.A")})) == '{"a": schemas.A}'
    assert write_literal([Code("f(\n    1\n)")]) == "[\n    f(\n    1\n),\n]"


@pytest.mark.parametrize(
    "value",
    [b"x", {1, 2}, {1: 2}, {None: 1}, 1j, ..., len, float("nan"), float("inf"), Path(), StrEnum],
    ids=repr,
)
def test_anything_else_is_refused(value):
    for wrapped in (value, [value], {"a": value}):
        with pytest.raises(TypeError):
            write_literal(wrapped)


@pytest.mark.parametrize("levels", [60, 900, 3_000])
def test_a_value_nested_too_deep_is_refused(levels):
    for key in ("", "a", "k" * 95):
        with pytest.raises(TooDeep, match="nested too deeply"):
            write_literal(nest(levels, key=key))


def test_a_value_that_contains_itself_is_refused():
    value: list[Any] = []
    value += [value, value]

    with pytest.raises(TooDeep):
        write_literal(value)
    with pytest.raises(OpenAPIToolsError, match="JSON text: Circular"):
        write_json_text(value, indent=0, lead=0)


@pytest.mark.parametrize("number", [10**100, -(10**4299), 10**5000], ids=["100", "4299", "5000"])
def test_an_integer_longer_than_a_line_is_refused(number):
    with pytest.raises(TooDeep, match="number too long"):
        write_literal({"maximum": number})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (nest(401), "deeper than 400 levels"),
        (nest(10_000), "recursion"),
        (10**5000, "4300 digits"),
        (float("nan"), "float"),
        ({1: 2}, "not the same"),
        ((1, 2), "not the same"),
    ],
    ids=["401", "10000", "digits", "nan", "key", "tuple"],
)
def test_what_json_text_cannot_hold_is_refused(value, reason):
    with pytest.raises(OpenAPIToolsError, match=reason):
        write_json_text(value, indent=0, lead=0)


def ruff(*command, source):
    done = subprocess.run(
        [find_ruff_bin(), *command, "--no-cache", "--stdin-filename", str(FILE), "-"],
        cwd=ROOT,
        input=source,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return (done.stdout + done.stderr) if done.returncode else ""


def module(values):
    """Return a module that assigns each value on one of three levels of indentation."""
    blocks = [
        [HEAD.rstrip()],
        ['\n\nclass Outer:\n    """Values."""\n', "    FIRST: ClassVar[Any] = None"],
        ['\n    class Inner:\n        """Values."""\n', "        FIRST: ClassVar[Any] = None"],
    ]
    for number, value in enumerate(values):
        level = number % 3
        annotation = ": ClassVar[Any]" if level else ""
        head = f"{'    ' * level}VALUE_{number}{annotation} = "
        blocks[level].append(head + code_of(value, indent=4 * level, lead=len(head)))
    source = "\n".join(itertools.chain(*blocks)) + "\n"
    codes = ", ".join(lint_codes(source))
    return f"# ruff: noqa: {codes} -- words of the API, not ours\n{source}" if codes else source


def code_of(value, *, indent, lead):
    try:
        return write_literal(value, indent=indent, lead=lead)
    except TooDeep:
        return write_json_text(value, indent=indent, lead=lead)


def assert_ruff_agrees(values):
    source = module(values)

    assert ruff("format", "--diff", source=source) == ""
    assert ruff("check", "--output-format=concise", source=source) == ""
    assert longest_line(source) <= 100


def wrap_often(value, levels, wrap):
    for _ in range(levels):
        value = wrap(value)
    return value


def edges():
    """Yield values whose texts, keys and brackets end near the last column."""
    for width in range(80, 101):
        for text in (PROSE[:width], "z" * width, ("a\"b'" * 25)[:width], ("it's " * 20)[:width]):
            yield from (text, [text], (text,), [[text]], {"a": (text,)}, Server(text))
            yield from (Operation("GET", text), Parameter("a", "query", argument=text[20:]))
            yield from ({text: value} for value in (True, -1.5, "", {}, [1], {"a": 1}, Server("x")))
            yield from (
                {text[:40]: Code("json." + "X" * (width - 40))},
                Code("json." + "X" * width),
            )
            yield from ({text[:size]: text[size:], "b": 1} for size in range(5, 80, 15))


def depths():
    """Yield values nested up to where JSON text takes over, and beyond."""
    for levels in range(1, 30):
        for leaf in (1, "a", PROSE, PROSE * 3, [1, 2], {"aaa": "word " * 8}):
            yield wrap_often(leaf, levels, lambda value: [value])
            yield wrap_often(leaf, levels, lambda value: {"type": "object", "k": value})
            yield wrap_often(leaf, min(levels, 15), lambda value: (value,))


def test_ruff_agrees_with_the_tables():
    assert_ruff_agrees([*TRICKY.values(), *({text: text} for text in TRICKY.values())])
    assert_ruff_agrees([*VALUES.values(), *MODEL, *VALUES.values(), *MODEL])


@pytest.mark.parametrize("values", [edges, depths])
def test_ruff_agrees_at_the_last_column_and_at_every_depth(values):
    assert_ruff_agrees(values())


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        ("0.0.0.0", ("S104",)),
        ('say "0.0.0.0" "now"', ()),
        ("/tmp", ("S108",)),
        (["/tmpfile " * 20], ("S108",)),
        ({"/var/tmp/a": "x"}, ("S108",)),
        (Server("/dev/shm/'\""), ("S108",)),
        (["in /tmp", '"/tmp" "a"', "/var"], ()),
        (["/dev/shm", "0.0.0.0"], ("S104", "S108")),
        (["hunter2", "SELECT * FROM a WHERE b = %s", "{name}", "import os", "0123456789"], ()),
    ],
)
def test_the_rules_that_flag_data_are_those_that_ruff_names(value, codes):
    source = module([value])

    assert lint_codes(source) == codes
    assert ruff("check", "--output-format=concise", source=source) == ""
