"""Schemas that say much: what becomes of them, and that nothing else is accepted."""

import math
import os
import re
from contextlib import suppress
from itertools import product

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from makers import ImpossibleError
from profile_values import (
    NULL,
    SHUT,
    TEXT,
    UNFIT,
    WHOLE,
    find_problems,
    lenient_checker,
    make_tool,
    object_of,
    text,
)
from profile_values import lawful as lawful_with
from schema_pairs import pairs

from openapi_tools.providers.containers import bound_length
from openapi_tools.providers.definitions import CannotExpress, define_tool

AB = object_of({"a": TEXT, "b": WHOLE})


def lawful(part, profile):
    return lawful_with(part, profile, Text=TEXT, Free={"description": "d"}, AB=AB)


def names_in(schema):
    required = schema.get("required", [])
    return " ".join(sorted(required)), " ".join(sorted(schema["properties"].keys() - {*required}))


NO_A, NO_B = {"required": ["a"]}, {"required": ["b"]}
NOT_BOTH = {"type": "object", "required": ["a", "b"]}
AB_NAMES = "a additional_properties b"
LONG_A_OR_C = {"properties": {"a": {"minLength": 1}, "c": TEXT}}
PARTS = {"allOf": [AB, {"properties": {"c": TEXT}}]}
SHORT_A = {"patternProperties": {"^a": {"maxLength": 3}, "^c": WHOLE}}
OBJECTS = {
    "dependent": ({**AB, "dependentRequired": {"a": ["b"]}}, "", "b"),
    "needed": ({**AB, **NO_A, "dependentRequired": {"a": ["b"], "b": ["c"]}}, "a b c", ""),
    "names of a pattern": ({**AB, "propertyNames": {"pattern": "^b"}}, "", "b"),
    "refused": (object_of({"a": TEXT, "b": False}, additionalProperties=True), "", "a"),
    "not to be there": ({**AB, "not": NO_B}, "", "a"),
    "not to be there together": ({**AB, **NO_A, "not": NOT_BOTH}, "a", ""),
    "none of several": ({**AB, "not": {"anyOf": [NO_A, NO_B]}}, "", ""),
    "of a pattern": ({**AB, **SHORT_A, **SHUT}, "", "a b"),
    "without a schema": ({**AB, "required": ["c"], "additionalProperties": WHOLE}, "c", AB_NAMES),
    "others of one pattern": ({**AB, "patternProperties": {"^c": WHOLE}, **SHUT}, "", AB_NAMES),
    "no room for others": ({**AB, "additionalProperties": True, "maxProperties": 2}, "", "a b"),
    "objects that close each other": ({"allOf": [{**AB, **SHUT}, LONG_A_OR_C]}, "", "a b"),
    "of no part": ({**PARTS, "unevaluatedProperties": False}, "", "a b c"),
    "of nothing": (object_of({"a": TEXT}, unevaluatedProperties=False), "", "a"),
}


@pytest.mark.parametrize(("part", "required", "optional"), OBJECTS.values(), ids=OBJECTS)
def test_objects(part, required, optional):
    every = " ".join(sorted(f"{required} {optional}".split()))

    assert names_in(lawful(part, "gemini")) == (required, optional)
    assert names_in(lawful(part, "openai_strict")) == (every, "")


MAPS = {
    "names of a pattern": ({"patternProperties": {"^a": WHOLE}, **SHUT},
                           {"key": text(pattern="^a"), "value": WHOLE}),
    "short names": ({"additionalProperties": TEXT, "propertyNames": {"maxLength": 3}},
                    {"key": text(maxLength=3), "value": TEXT}),
    "values that may be null": (
        {"additionalProperties": {"type": ["string", "null"]}, "minProperties": 1},
        {"key": TEXT, "value": text(nullable=True)},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("part", "expected"), MAPS.values(), ids=MAPS)
def test_maps(part, expected):
    lawful({"type": "object", **part}, "openai_strict")

    result = lawful({"type": "object", **part}, "gemini")

    assert result["items"]["properties"] == expected
    assert result.get("minItems") == part.get("minProperties")


def object_with(part):
    return object_of({"k": part}, required=["k"])


A = object_of({"a": TEXT})
FEW, MANY_OF = {**WHOLE, "maximum": 3}, {"minimum": 5}
ONE_OF = {
    "types": [TEXT, WHOLE],
    "ranges": [FEW, {**WHOLE, **MANY_OF}],
    "values": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}],
    "values of another alternative": [{"enum": ["a", 1]}, TEXT],
    "a constant member": [object_with({"const": "a"}), object_with({"enum": ["b", "c"]})],
    "a member of another type": [A, object_of({"a": {"anyOf": [TEXT, WHOLE]}})],
    "references": [{"$ref": "#/$defs/AB"}, {"$ref": "#/$defs/Text"}],
    "whole and other numbers": [WHOLE, {"type": "number"}, TEXT],
    "without a type": [{"minimum": 3}, {"type": "boolean"}],
    "null twice": [{"type": ["string", "null"]}, NULL],
}


@pytest.mark.parametrize("profile", ["openai_strict", "gemini"])
@pytest.mark.parametrize("branches", ONE_OF.values(), ids=ONE_OF)
def test_one_of_is_read_as_any_of(branches, profile):
    assert lawful({"oneOf": branches}, profile) == lawful({"anyOf": branches}, profile)


UNIONS = {
    "a union beside members": {**AB, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "two unions": {"anyOf": [TEXT, WHOLE], "oneOf": [TEXT, {**WHOLE, "minimum": 3}]},
    "a value that no label can stand for": {"anyOf": [TEXT, {"const": {"a": 1}}]},
    "a union in allOf": {"allOf": [{"anyOf": [TEXT, WHOLE]}, {"type": ["integer", "null"]}]},
    "a reference with keywords": {"$ref": "#/$defs/Text", "minLength": 2, "description": "d"},
    "a reference to anything": {"$ref": "#/$defs/Free"},
    "references in a union": {"anyOf": [{"$ref": "#/$defs/AB"}, {"$ref": "#/$defs/Text"}, NULL]},
    "equal alternatives": {"anyOf": [TEXT, {"type": "string", "title": "T"}]},
    "values beside anything": {"anyOf": [{"const": {"a": 1}}, {"type": "array"}]},
    "values that a length narrows": {"type": "string", "enum": ["a", "abcd"], "maxLength": 2},
    "a reference to nowhere": {"$ref": "#/$defs/Nowhere"},
    "steps of steps": {"allOf": [{"type": "integer", "multipleOf": 1}, {"multipleOf": 1}]},
    "nothing but words": {"type": "array", "items": {"title": "T", "default": 1}},
}


@pytest.mark.parametrize("profile", ["openai_strict", "gemini"])
@pytest.mark.parametrize("part", UNIONS.values(), ids=UNIONS)
def test_unions(part, profile):
    lawful(part, profile)


LENGTHS = {
    "no pattern": (None, 1, 100, r"^[\s\S]{1,100}$"),
    "no end": (None, 2, math.inf, r"^[\s\S]{2,}$"),
    "a pattern that says it": ("^sha256:[a-f0-9]{64}$", 71, 71, "^sha256:[a-f0-9]{64}$"),
    "one count": (r"^[A-Za-z0-9.\-_]+$", 1, 100, r"^[A-Za-z0-9.\-_]{1,100}$"),
    "an open end": ("^https://", 0, 20, r"^https://[\s\S]{0,12}$"),
    "a group": ("^(ab|c)(?:[0-9]{2})?$", 1, 4, "^(ab|c)(?:[0-9]{2})?$"),
    "a group that may be longer": ("^[a-z]([-a-z]*[a-z])?$", 0, 63, "^[a-z]([-a-z]{0,61}[a-z])?$"),
    "several counts": ("^a*b+$", 0, 10, "^a{0,5}b{1,5}$"),
    "a longer one": ("^[a-z]*$", 3, math.inf, "^[a-z]{3,}$"),
    "exactly": ("^.{0,3}$", 2, 2, "^.{2}$"),
    "an escaped end": (r"^\$$", 1, 1, r"^\$$"),
    "a finite count that is too great": ("^a{2,9}$", 0, 3, "^a{2,3}$"),
    "too long whatever happens": ("^a{5}$", 0, 3, None),
    "too short whatever happens": ("^a?$", 2, math.inf, None),
    "counts to choose from": ("^a*b*$", 1, math.inf, None),
    "a choice at the root": ("^a|b$", 1, 2, None),
    "a lazy count": ("^a+?$", 1, 2, None),
    "an unknown escape": (r"^\x41$", 1, 2, None),
    "a stray bracket": ("^a)$", 1, 2, None),
    "an open group": ("^(a", 0, 2, None),
    "an end inside": ("^(a$)$", 0, 2, None),
    "a lookahead": ("^(?=a)a$", 0, 2, None),
}


@pytest.mark.parametrize(("pattern", "least", "most", "expected"), LENGTHS.values(), ids=LENGTHS)
def test_a_length_as_a_pattern(pattern, least, most, expected):
    assert bound_length(pattern, least, most) == expected


ATOMS = st.sampled_from(["a", "[ab]", r"\d", "(a|bc)", "(?:ab*)", "."])
COUNTS = st.sampled_from(["", "*", "+", "?", "{2}", "{1,3}", "{2,}"])
PATTERNS = st.lists(st.tuples(ATOMS, COUNTS).map("".join), max_size=3).map("".join)


def matches(pattern, text):
    """Whether a text has a pattern, by Python's engine; its `$` also matches before a line end."""
    return re.search(pattern.replace("$", r"\Z"), text) is not None


@given(
    PATTERNS, st.booleans(), st.booleans(), st.integers(0, 3), st.just(math.inf) | st.integers(0, 6)
)
def test_no_text_gets_longer_or_of_another_pattern(inner, start, end, least, most):
    pattern = f"{'^' if start else ''}{inner}{'$' if end else ''}"

    def is_right(word):
        return least <= len(word) <= most and matches(pattern, word)

    result = bound_length(pattern, least, most)

    if result is not None:
        texts = [*("", "a", "b", "c", "ab", "aa", "abc", "a1b", "aab", "bcbc", "aaaa", "1234")]
        texts += [*("abab1a", "abcabcabc", "a" * 7, "ab" * 6, "\n", "1" * 12)]
        for word in texts:
            assert is_right(word) or not matches(result, word)


CYCLE = {
    "$ref": "#/$defs/B",
    "$defs": {
        "A": {},
        "B": {
            "$ref": "#/$defs/A",
            "properties": {"a": {}},
            "patternProperties": {"a": {"$ref": "#/$defs/B"}},
        },
    },
}
"""Each turn of it is merged anew from two schemas, so no node comes twice."""


@pytest.mark.long
@pytest.mark.untraced
@settings(
    max_examples=int(os.environ.get("PROFILE_EXAMPLES", "150")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@example((CYCLE, CYCLE))
@given(pairs())
def test_what_fits_a_definition_fits_the_tool(pair):
    for part, required in product(pair, (["x"], [])):
        inner = {key: value for key, value in part.items() if key != "$defs"}
        schema = object_of({"x": inner, "y": WHOLE}, required=required, **SHUT)
        tool = make_tool({**schema, "$defs": part["$defs"]})
        checker = lenient_checker(tool.input_schema)
        assume(not checker.notes)
        for profile in ("openai_strict", "gemini"):
            with suppress(ImpossibleError):
                failures = faults_by_law(tool, profile, checker)
                assert [fault for fault in failures if fault[0] != UNFIT] == []


def faults_by_law(tool, profile, checker):
    """Return what is wrong with a definition and its values; nothing where there is none."""
    try:
        definition = define_tool(tool, profile)
    except CannotExpress as error:
        return ["malformed"] if "malformed" in error.reason else []
    return find_problems(tool, definition, profile, 3, checker)
