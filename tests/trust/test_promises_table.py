"""docs/security.md keeps its word: every promise has a proof, and no threat is left out."""

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
    *(f"tests/servers/fault_{part}.py" for part in ("framing", "bodies", "statuses")),
]
"""Where tables stand that several tests share."""
BEYOND = {
    "Documents at load": 4,
    "Names, collisions, file names": 1,
    "Input from a model": 5,
    "HTTP peers": 7,
    "Credentials": 6,
}
"""How many threats of a table are not in the list of threats."""
NEWER = (
    "Proxies",
    "The page",
    "Users of a server",
    "Requests to a server",
    "Questions, locks and files",
)
"""Tables about parts that the list of threats does not know."""

_TEST = re.compile(r"`(tests/[\w/.]+\.py)::(test_\w+)`(?: \(((?:`[^`]+`(?:, )?)+)\))?")
_CELL = re.compile(r"(?<!\\)\|")


class Promise(NamedTuple):
    """A line of a table; a proof is a file, a test and a case, or an empty one for all of them."""

    threats: str
    text: str

    @property
    def proofs(self):
        return [
            (file, test, case)
            for file, test, cases in _TEST.findall(self.text)
            for case in re.findall("`([^`]+)`", cases) or [""]
        ]


def tables(page, level):
    """Return the lines of the tables of a page, by the heading above each."""
    by_heading: dict[str, list[list[str]]] = {}
    heading = ""
    for line in page.splitlines():
        if line.startswith("#"):
            heading = line.removeprefix(level) if line.startswith(f"{level} ") else ""
        elif line.startswith("|") and heading:
            by_heading.setdefault(heading, []).append(
                [cell.strip() for cell in _CELL.split(line)[1:-1]]
            )
    return {heading: rows[2:] for heading, rows in by_heading.items()}


OURS = tables(PAGE, "###")
PROMISES = [Promise(threats, proof) for rows in OURS.values() for threats, _, proof in rows]


@cache
def names_in(file):
    """Return the names of the functions in a file, and its texts; none without such a file."""
    path = ROOT / file
    tree = ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.name for node in tree.body if isinstance(node, functions)}, set(texts)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.threats)
def test_a_promise_names_tests_and_cases_that_exist(promise):
    absent = [
        (file, test, case)
        for file, test, case in promise.proofs
        if test not in names_in(file)[0]
        or (case and not any(case in names_in(place)[1] for place in (file, *CASES)))
    ]

    assert promise.proofs
    assert absent == []
    assert re.fullmatch(r"[,; ]*", _TEST.sub("", promise.text)), "a proof is misspelled"


def test_no_test_stands_for_two_promises_unless_it_names_other_cases():
    proofs = [proof for promise in PROMISES for proof in promise.proofs]

    assert sorted({proof for proof in proofs if proofs.count(proof) > 1}) == []


def threats_in(rows):
    """Return the threats of a table's rows, of which semicolons separate several."""
    return [threat for threats, *_ in rows for threat in threats.split("; ")]


def test_no_threat_stands_twice_in_a_table_and_each_says_what_happens():
    for rows in OURS.values():
        named = threats_in(rows)
        assert len(set(named)) == len(named)
        assert all(all(row) for row in rows)


def test_no_threat_is_left_out():
    if not THREATS.is_file():
        pytest.skip(f"{THREATS} is absent: the list of threats is not at hand")
    threats = tables(THREATS.read_text(encoding="utf-8"), "##")
    asked = [
        len(threats_in(rows)) - BEYOND.get(heading.strip(), 0)
        for heading, rows in OURS.items()
        if heading.strip() not in NEWER
    ]

    assert asked == [len(rows) for rows in threats.values()]
