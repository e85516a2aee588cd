"""docs/security.md keeps its word: every promise has a proof, and no threat is left out."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
THREATS = ROOT.parent / "shared" / "PROMISES.md"
CASES = [
    *("tests/hostile_documents.py", "tests/literal_values.py"),
    *(f"tests/servers/fault_{part}.py" for part in ("framing", "bodies", "statuses", "routes")),
]
"""Where tables stand that several tests share."""
BEYOND = (
    "instructions in characters that are not shown",
    "a read that asks the server for another method",
    "headers that route, frame or authorise, however they are spelled",
    "a secret where a text is cut, or in another charset",
)
"""Promises that the list of threats does not ask for."""
OPEN = 0
"""How many lines say that a proof is missing."""

_TEST = re.compile(r"`(tests/[\w/.]+\.py)::(test_\w+)`(?: \(((?:`[^`]+`(?:, )?)+)\))?")
_CELL = re.compile(r"(?<!\\)\|")


class Promise(NamedTuple):
    """A line of a table."""

    group: str
    threat: str
    proof: str


def tables(page, level):
    """Return the lines of the tables of a page, by the heading above each."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in page.splitlines():
        if line.startswith(f"{level} "):
            heading = line.removeprefix(level).strip()
        elif line.startswith("#"):
            heading = ""
        elif line.startswith("|") and heading:
            found.setdefault(heading, []).append([cell.strip() for cell in _CELL.split(line)[1:-1]])
    return {heading: rows[2:] for heading, rows in found.items()}


PROMISES = [
    Promise(group, row[0], row[2]) for group, rows in tables(PAGE, "###").items() for row in rows
]
NAMED = [promise.threat for promise in PROMISES]


@cache
def functions_in(file: str) -> set[str]:
    """Return the names of the functions in a file; none when there is no such file."""
    path = ROOT / file
    tree = ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")
    return {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@cache
def texts_in(file: str) -> set[str]:
    """Return the texts that stand as literals in a file; none when there is no such file."""
    path = ROOT / file
    tree = ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def proofs(promise):
    """Return file, test and case of each proof of a promise; an empty case stands for all."""
    return [
        (file, test, case)
        for file, test, cases in _TEST.findall(promise.proof)
        for case in re.findall("`([^`]+)`", cases) or [""]
    ]


@pytest.mark.parametrize("promise", PROMISES, ids=NAMED)
def test_a_promise_names_tests_that_exist_or_says_what_is_open(promise):
    found = proofs(promise)

    assert found or promise.proof.startswith("open: ")
    assert [proof for proof in found if proof[1] not in functions_in(proof[0])] == []
    left = _TEST.sub("", promise.proof.partition("open: ")[0])
    assert re.fullmatch(r"[,; ]*", left), "a proof is misspelled"


@pytest.mark.parametrize("promise", PROMISES, ids=NAMED)
def test_the_cases_that_a_proof_names_are_there(promise):
    missing = [
        case
        for file, _, case in proofs(promise)
        if case and not any(case in texts_in(place) for place in (file, *CASES))
    ]

    assert missing == []


def test_no_test_stands_for_two_promises_unless_it_names_other_cases():
    found = [proof for promise in PROMISES for proof in proofs(promise)]

    assert sorted({proof for proof in found if found.count(proof) > 1}) == []


def test_no_promise_stands_twice_and_each_says_what_happens():
    assert len(set(NAMED)) == len(NAMED)
    assert all(all(row) for rows in tables(PAGE, "###").values() for row in rows)


def test_what_is_open_is_counted():
    assert [promise.threat for promise in PROMISES if "open: " in promise.proof][OPEN:] == []
    assert sum("open: " in promise.proof for promise in PROMISES) == OPEN


def test_no_threat_is_left_out():
    if not THREATS.is_file():
        pytest.skip(f"{THREATS} is absent: the list of threats is not at hand")
    threats = tables(THREATS.read_text(encoding="utf-8"), "##")

    ours = tables(PAGE, "###")
    beyond = [sum(row[0] in BEYOND for row in rows) for rows in ours.values()]
    expected = [len(rows) + more for rows, more in zip(threats.values(), beyond, strict=True)]
    assert [len(rows) for rows in ours.values()] == expected
    assert sum(beyond) == len(BEYOND)
