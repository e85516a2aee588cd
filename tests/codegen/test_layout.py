"""Ruff leaves what the literal writer writes as it is, and finds nothing in it."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest
from literal_values import MODEL, PROSE, TRICKY, VALUES
from ruff import find_ruff_bin

from openapi_tools.codegen.literals import Code, TooDeep, json_text, lint_codes, literal
from openapi_tools.model import Operation, Parameter, Server

pytestmark = pytest.mark.untraced

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


def ruff(*command, source):
    """Return what ruff prints about a module."""
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
        return literal(value, indent=indent, lead=lead)
    except TooDeep:
        return json_text(value, indent=indent, lead=lead)


def assert_ruff_agrees(values):
    source = module(values)

    assert ruff("format", "--diff", source=source) == ""
    assert ruff("check", "--output-format=concise", source=source) == ""
    assert max(len(line) for line in source.split("\n")) <= 100


def nested(value, levels, wrap):
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
            yield nested(leaf, levels, lambda value: [value])
            yield nested(leaf, levels, lambda value: {"type": "object", "k": value})
            yield nested(leaf, min(levels, 15), lambda value: (value,))


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
