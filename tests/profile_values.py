"""Tools for provider profiles, and values as a model under a provider's schema makes them."""

import copy
from types import SimpleNamespace

import jsonschema_rs
from makers import Turns
from profile_rules import faults, schema_of
from tool_rules import walk

from openapi_tools.common.json_schema import remove_keywords, transform_schemas
from openapi_tools.providers.definitions import define_tool
from openapi_tools.providers.restore import Restorer
from openapi_tools.validation.checker import Checker

TEXT, WHOLE, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}
SHUT = {"additionalProperties": False}
UNFIT = "does not fit the definition"


def text(**keywords):
    return {"type": "string", **keywords}


def array(items, **keywords):
    return {"type": "array", "items": items, **keywords}


def object_of(properties, **keywords):
    return {"type": "object", "properties": properties, **keywords}


def lawful(part, profile, *, required=True, rounds=6, **definitions):
    """Return what becomes of the schema of an argument; whatever fits that is accepted."""
    tool = tool_with(part, required=required, **definitions)
    before = copy.deepcopy(part)
    definition = define_tool(tool, profile)
    assert find_problems(tool, definition, profile, rounds) == []
    assert part == before
    return schema_of(profile, definition.value)["properties"]["x"]


def make_tool(schema, name="t"):
    """Return what a definition needs of a tool, with any schema."""
    return SimpleNamespace(name=name, description="A tool.", input_schema=schema, annotations={})


def tool_with(part, *, required=True, **definitions):
    schema = object_of({"x": part}, **SHUT, required=["x"] if required else [])
    return make_tool({**schema, "$defs": definitions} if definitions else schema)


def values(schema, rounds=4):
    """Return values of one schema: the least, those of every alternative in turn, all of null."""
    makers = [Turns(schema, bare=True), *(Turns(schema, turn, full=True) for turn in range(rounds))]
    return [maker.value([schema], 0) for maker in (*makers, Turns(schema, full=True, bare=True))]


def find_problems(tool, definition, profile, rounds, checker=None, restorer=None):
    """Return the faults of a definition, and values of it that the tool refuses.

    A tool takes them restored, and as they are, repaired where they do not fit.
    """
    restorer = restorer or Restorer(tool.input_schema)
    schema = schema_of(profile, definition.value)
    exact = jsonschema_rs.validator_for(read_literally(schema))
    fits = (checker or lenient_checker(tool.input_schema)).fits
    problems = faults(profile, definition.value)
    for value in values(schema, rounds):
        before = copy.deepcopy(value)
        if not exact.is_valid(value):
            problems.append((UNFIT, value))
        elif not fits(definition.restore(value)):
            problems.append(("restored", value))
        elif not fits(value) and not fits(restorer.restore(value)):
            problems.append(("repaired", value))
        assert value == before
    return problems


def lenient_checker(schema):
    """Return a checker that reads `oneOf` as `anyOf`, as definitions do."""
    return Checker(transform_schemas(schema, lambda node: remove_keywords(node, ())))


def read_literally(schema):
    """Return a schema in which `nullable` and closed objects are told as JSON Schema tells them."""
    schema = copy.deepcopy(schema)
    for _, node in list(walk(schema)):
        if node.get("type") == "object":
            node.setdefault("additionalProperties", False)
        if node.pop("nullable", False):
            inner = {key: node.pop(key) for key in list(node) if key != "$defs"}
            node["anyOf"] = [inner, NULL]
    return schema
