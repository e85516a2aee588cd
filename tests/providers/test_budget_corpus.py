"""Definitions of all published documents: their size, their rules, and that nothing is lost."""

import json
from contextlib import suppress

import pytest
from corpus import entries, parameters, tools_by_place
from document_examples import as_arguments, example_values, json_bodies
from makers import ImpossibleError, Turns
from profile_rules import faults
from providers.expressing import InexpressibleError, expression_of

from openapi_tools import load_tools
from openapi_tools.providers.definitions import PROFILES, DefinitionLimits, Memory, define_tool
from openapi_tools.testing import sample
from openapi_tools.validation.checker import Checker

pytestmark = [pytest.mark.long, pytest.mark.untraced]

MOST = 16_384
TRIED = 4
"""Of a large document, inputs of one of so many tools are tried."""
WHOLE = DefinitionLimits("full", 0)
TEXTS = ("", "a", "1", "A1", "a" * 20, "0" * 40, "1.0", "a/b", "https://example.com/", "#aabbcc")


@pytest.mark.parametrize("entry", parameters(entries()))
def test_every_tool_has_a_definition_in_the_budget_that_takes_what_the_tool_takes(entry):
    toolset = load_tools(entry.file)
    tried = toolset.with_tools([*toolset][:: TRIED if len(toolset) > 300 else 1])
    fits = {tool.name: Checker(tool.input_schema).fits for tool in tried}
    inputs = inputs_of(tried, entry)
    inputs = {name: list(filter(fits[name], values)) for name, values in inputs.items()}
    for profile in PROFILES:
        memory, whole = Memory(), Memory()
        defined = {tool.name: define_tool(tool, profile, memory, loosely=True) for tool in toolset}

        written = [definition.value for definition in defined.values()]
        assert [one.get("function", one)["name"] for one in written] == list(defined)
        assert [size for one in written if (size := len(json.dumps(one))) > MOST] == []
        assert [fault for one in written for fault in faults(profile, one)] == []
        if profile == "openai_strict":
            assert all(d.notes or d.value["function"]["strict"] for d in defined.values())
        assert lost_inputs(tried, profile, defined, inputs, fits, whole) == []


def lost_inputs(toolset, profile, defined, inputs, fits, memory):
    """Return inputs of tools that no model could give by their definitions."""
    lost = []
    for tool in toolset:
        definition = defined[tool.name]
        for value, restored in send_inputs(definition, profile, inputs[tool.name]):
            if restored is None:
                whole = define_tool(tool, profile, memory, loosely=True, limits=WHOLE)
                is_lost = next(send_inputs(whole, profile, [value]))[1] is not None
                lost += [(tool.name, value)] if is_lost else []
            elif not fits[tool.name](restored):
                lost.append((tool.name, value, restored))
    return lost


def send_inputs(definition, profile, inputs):
    """Yield inputs with what comes of them if a model gives them; None if it cannot."""
    expression = expression_of(definition, profile)
    for value in inputs:
        try:
            yield value, definition.restore(expression.express(value))
        except InexpressibleError:
            yield value, None


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
    """Return inputs of each tool: made ones, and those that the document shows."""
    inputs = {tool.name: list(generate_inputs(tool)) for tool in toolset}
    tools = tools_by_place(toolset)
    for method, path, _, holder, schema, _ in json_bodies(toolset.document, entry.version):
        tool = tools.get((method, path))
        if tool is None or tool.operation.body is None:
            continue
        base = inputs[tool.name][0] if inputs[tool.name] else {}
        fed = {tool.operation.body.argument, *(i.argument for i in tool.operation.body.properties)}
        rest = {name: value for name, value in base.items() if name not in fed}
        for value in example_values(toolset.document, holder, schema):
            arguments = as_arguments(value, tool.operation.body)
            if isinstance(arguments, dict):
                inputs[tool.name].append({**rest, **arguments})
    return inputs


def generate_inputs(tool):
    schema = tool.input_schema
    yield sample(schema, schema)
    if len(json.dumps(schema)) > MOST // 2:
        for maker in (Quick(schema, full=True), Quick(schema, 1, full=True, deepest=3)):
            with suppress(ImpossibleError):
                yield maker.value([schema], 0)
