"""Definitions of all published documents: their size, their rules, and that nothing is lost."""

import json
from contextlib import suppress

import pytest
from corpus import entries, parameters, tools_by_place
from document_examples import as_arguments, json_bodies, shown_values
from makers import ImpossibleError, Turns
from profile_rules import faults, schema_of
from providers.expressing import Expression, InexpressibleError

from openapi_tools import load_tools
from openapi_tools.providers.definitions import PROFILES, Memory, Shape, define
from openapi_tools.testing import sample
from openapi_tools.validation.checker import Checker

pytestmark = [pytest.mark.long, pytest.mark.untraced]

MOST = 16_384
WHOLE = Shape("full", 0)
TEXTS = ("", "a", "1", "A1", "a" * 20, "0" * 40, "1.0", "a/b", "https://example.com/", "#aabbcc")


@pytest.mark.parametrize("entry", parameters(entries()))
def test_every_tool_has_a_definition_in_the_budget_that_takes_what_the_tool_takes(entry):
    toolset = load_tools(entry.file)
    inputs = inputs_of(toolset, entry)
    for profile in PROFILES:
        defined = toolset.definitions(profile)

        named = [one.get("function", one)["name"] for one in defined]
        assert named == [tool.name for tool in toolset]
        assert [len(json.dumps(one)) for one in defined if len(json.dumps(one)) > MOST] == []
        assert [fault for one in defined for fault in faults(profile, one)] == []
        memory, whole = Memory(), Memory()
        lost = [
            (tool.name, value)
            for tool in toolset
            for value in lost_inputs(tool, profile, inputs[tool.name], memory, whole)
        ]
        assert lost == []


class Quick(Turns):
    """Values whose texts of a pattern are looked up, not searched for."""

    def text(self, pattern, least, most, form=None):
        if pattern is None:
            return super().text(pattern, least, most, form)
        for text in TEXTS:
            if least <= len(text) <= most and Checker({"pattern": pattern}).fits(text):
                return text
        raise ImpossibleError(pattern)


def inputs_of(toolset, entry):
    """Return inputs of each tool that its schema accepts."""
    found = {tool.name: list(made_inputs(tool)) for tool in toolset}
    tools = tools_by_place(toolset)
    for method, path, _, holder, schema, _ in json_bodies(toolset.document, entry.version):
        tool = tools.get((method, path))
        if tool is None or tool.operation.body is None:
            continue
        base = found[tool.name][0] if found[tool.name] else {}
        fed = {tool.operation.body.argument, *(i.argument for i in tool.operation.body.properties)}
        others = {name: value for name, value in base.items() if name not in fed}
        for value in shown_values(toolset.document, holder, schema):
            arguments = as_arguments(value, tool.operation.body)
            if isinstance(arguments, dict):
                found[tool.name].append({**others, **arguments})
    return {
        tool.name: list(filter(Checker(tool.input_schema).fits, found[tool.name]))
        for tool in toolset
    }


def made_inputs(tool):
    schema = tool.input_schema
    yield sample(schema, schema)
    if len(json.dumps(schema)) > MOST // 2:
        for maker in (Quick(schema, full=True), Quick(schema, 1, full=True, deepest=3)):
            with suppress(ImpossibleError):
                yield maker.value([schema], 0)


def lost_inputs(tool, profile, inputs, memory, whole):
    """Yield inputs of a tool that no model could give by its definition."""
    definition = define(tool, profile, memory, loosely=True)
    fits = Checker(tool.input_schema).fits
    expression = expression_of(definition, profile)
    for value in inputs:
        try:
            restored = definition.restore(expression.of(value))
        except InexpressibleError:
            if is_expressible(
                define(tool, profile, whole, loosely=True, shape=WHOLE), profile, value
            ):
                yield value
        else:
            if not fits(restored):
                yield (value, restored)


def expression_of(definition, profile):
    named = definition.value.get("function", definition.value)
    strict = named.get("strict") is True
    subset = strict or profile == "gemini"
    schema = schema_of(profile, definition.value)
    return Expression(schema, subset=subset, null_for_absent=strict)


def is_expressible(definition, profile, value):
    try:
        definition.restore(expression_of(definition, profile).of(value))
    except InexpressibleError:
        return False
    return True
