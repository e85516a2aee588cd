"""The law of profiles, for schemas that hypothesis draws: what fits a definition fits the tool."""

import os

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from profile_rules import faults, schema_of
from profile_values import (
    WHOLE,
    ImpossibleError,
    Written,
    object_of,
    read_literally,
    repair,
    values,
)
from schema_pairs import pairs

from openapi_tools.providers.definitions import CannotExpress, define
from openapi_tools.validation.checker import Checker

pytestmark = [pytest.mark.long, pytest.mark.untraced]

EXAMPLES = int(os.environ.get("PROFILE_EXAMPLES", "150"))


def tool_of(member, *, required):
    """Return a tool with one argument of a drawn schema."""
    own = {key: value for key, value in member.items() if key != "$defs"}
    schema = object_of({"x": own, "y": WHOLE}, additionalProperties=False)
    return Written({**schema, "required": ["x"] if required else [], "$defs": member["$defs"]})


CIRCLE = {
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


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@example((CIRCLE, CIRCLE))
@given(pairs())
def test_what_fits_a_definition_fits_the_tool(pair):
    for member in pair:
        for required in (True, False):
            tool = tool_of(member, required=required)
            checker = Checker(tool.input_schema)
            assume(not checker.notes)
            for profile in ("openai_strict", "gemini"):
                check(tool, checker, profile)


def check(tool, checker, profile):
    try:
        definition = define(tool, profile)
    except CannotExpress as error:
        reason, definition = error.reason, None
    if definition is None:
        assert "malformed" not in reason
        return
    assert faults(profile, definition.value) == []
    schema = schema_of(profile, definition.value)
    exact = jsonschema_rs.validator_for(read_literally(schema))
    try:
        made = values(schema, 3)
    except ImpossibleError:
        return
    for value in filter(exact.is_valid, made):
        checker.check(definition.restore(value))
        if not checker.fits(value):
            repaired = repair(value, tool.input_schema)
            checker.check(value if repaired is None else repaired)
