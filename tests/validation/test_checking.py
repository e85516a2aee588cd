"""The walk through schema and input agrees with the standard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from openapi_tools.errors import InputError
from openapi_tools.validation.check_limits import is_cheap
from openapi_tools.validation.explain import Explainer
from openapi_tools.validation.input_schema import prepare
from openapi_tools.validation.tool_input import Checker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BEYOND = ('"$anchor"', '"$dynamicAnchor"', '"$id"', '"$vocabulary"')
"""What an input schema never has: names that only a document of several schemas needs."""


def cases(shared: Path) -> Iterator[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    folder = shared / "vectors" / "JSON-Schema-Test-Suite" / "tests" / "draft2020-12"
    for path in sorted(folder.glob("*.json")):
        for case in json.loads(path.read_text()):
            schema = case["schema"]
            is_beyond = any(word in json.dumps(schema) for word in _BEYOND)
            if isinstance(schema, dict) and not is_beyond and not prepare(schema).notes:
                yield f"{path.name}: {case['description']}", schema, case["tests"]


def fits(checker: Checker, value: Any) -> bool:
    try:
        checker.check(value)
    except InputError:
        return False
    return True


def test_the_official_suite_is_judged_right_by_both_ways_of_checking(shared: Path):
    wrong = []
    count = 0
    for name, schema, tests in cases(shared):
        checker, explainer = Checker(schema), Explainer(prepare(schema).schema)
        for test in tests:
            count += 1
            verdicts = {
                "validator": fits(checker, test["data"]),
                "walk": explainer.holds(test["data"]),
                "explanation": not explainer.flaws(test["data"], 5),
            }
            wrong += [
                f"{name}: {test['description']} ({way})"
                for way, verdict in verdicts.items()
                if verdict != test["valid"]
            ]

    assert wrong == []
    assert count > 1000


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"properties": {"a": {"type": "string"}}}, True),
        ({"anyOf": [{"type": "string"}] * 1000}, True),
        ({"anyOf": [{"type": "string"}] * 3000}, False),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/T"}},
                "$defs": {
                    "T": {
                        "anyOf": [{"type": "null"}, {"items": {"$ref": "#/$defs/T"}}],
                    }
                },
            },
            True,
        ),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/T"}},
                "$defs": {
                    "T": {
                        "properties": {
                            "left": {"$ref": "#/$defs/T"},
                            "right": {"$ref": "#/$defs/T"},
                        },
                    }
                },
            },
            True,
        ),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/T"}},
                "$defs": {
                    "T": {
                        "anyOf": [
                            {"properties": {"x": {"$ref": "#/$defs/T"}}},
                            {"items": {"$ref": "#/$defs/T"}},
                        ],
                    }
                },
            },
            False,
        ),
        (
            {
                "$ref": "#/$defs/n0",
                "$defs": {f"n{i}": {"allOf": [{"$ref": f"#/$defs/n{i + 1}"}]} for i in range(3000)}
                | {"n3000": {"type": "string"}},
            },
            False,
        ),
    ],
    ids=["plain", "wide", "too wide", "one way round", "a tree", "two ways round", "a long chain"],
)
def test_what_multiplies_is_told_from_what_does_not(schema: dict[str, Any], expected: bool):
    assert is_cheap(prepare(schema).schema) is expected


@pytest.mark.long
def test_a_chain_of_references_too_long_for_the_walk_is_left_to_the_api():
    definitions = {f"n{i}": {"allOf": [{"$ref": f"#/$defs/n{i + 1}"}]} for i in range(5000)}
    checker = Checker(
        {"$ref": "#/$defs/n0", "$defs": {**definitions, "n5000": {"required": ["a"]}}}
    )

    checker.check({})
