"""The types of arguments, for clients that read `type` alone and follow no `$ref`."""

from types import SimpleNamespace

import pytest
from documents import component, tools, with_body
from profile_rules import faults, schema_of
from profile_values import array, find_problems, object_of, text, tool_with

from openapi_tools import Settings
from openapi_tools.common.json_values import json_size
from openapi_tools.providers.definitions import PROFILES, define_tool
from openapi_tools.validation.checker import Checker

OPEN = ("openai", "anthropic", "mcp")
SUBSETS = ("openai_strict", "gemini")
X = {"$ref": "#/$defs/X"}
PART = object_of({"a": text(), "b": text()}, required=["a"])
TREE = object_of({"name": text(), "children": array(X)}, required=["name"])
PAIR = {"type": "array", "prefixItems": [text(), {"type": "integer"}], "items": False}

TYPED = {
    "an object": (X, PART, "object"),
    "an object with words": ({**X, "description": "Words."}, PART, "object"),
    "a tree": (X, TREE, "object"),
    "a string": (X, text(enum=["a", "b"]), "string"),
    "several types": (X, {"type": ["string", "integer"]}, ["string", "integer"]),
    "an array": (X, array(text(enum=["a"])), "array"),
    "a tuple": (X, PAIR, "array"),
    "a tuple of any length": (X, {**PAIR, "items": {"type": "boolean"}}, "array"),
    "a chain": (X, {"$ref": "#/$defs/Y"}, "object"),
    "a union": (X, {"oneOf": [text(), array(text())]}, ["string", "array"]),
    "parts": (X, {"allOf": [{"$ref": "#/$defs/Y"}, {"required": ["a"]}]}, "object"),
    "null beside it": ({"anyOf": [X, {"type": "null"}]}, PART, ["object", "null"]),
    "values without a type": (X, {"enum": ["a", "b"]}, "string"),
    "values of several types": (
        X,
        {"enum": [None, True, 1, 0.5]},
        ["null", "boolean", "integer", "number"],
    ),
    "parts in place": ({"allOf": [X]}, PART, "object"),
}
VALUES = ({}, {"a": "x"}, {"name": "n"}, "a", 1, [], ["a"], ["a", 1], ["a", 1, True], [1], None)


def define_visible(tool, profile):
    """Return the argument `x` as `toolset.definitions` shows it, and the definition."""
    definition = define_tool(tool, profile, loosely=True)
    assert faults(profile, definition.value) == []
    return schema_of(profile, definition.value)["properties"]["x"], definition


@pytest.mark.parametrize("profile", OPEN)
@pytest.mark.parametrize(("node", "target", "types"), TYPED.values(), ids=TYPED)
def test_the_type_stands_beside_what_it_is_the_type_of(node, target, types, profile):
    tool = tool_with(node, X=target, Y=PART)

    written, definition = define_visible(tool, profile)

    assert written["type"] == types
    assert written | node == written
    assert "array" not in types or "items" in written
    fits = Checker(schema_of(profile, definition.value)).fits
    takes = Checker(tool.input_schema).fits
    assert [fits({"x": value}) for value in VALUES] == [takes({"x": value}) for value in VALUES]


@pytest.mark.parametrize("profile", SUBSETS)
@pytest.mark.parametrize("label", ["an object", "an object with words", "a tree", "a chain"])
def test_the_target_stands_in_place_of_the_reference_where_nothing_may_stand_beside_it(
    label, profile
):
    node, target, types = TYPED[label]
    tool = tool_with(node, X=target, Y=PART)

    written, definition = define_visible(tool, profile)

    assert written["type"] == types
    assert written.get("description") == node.get("description")
    assert (
        written["properties"].keys() == (TREE if label == "a tree" else PART)["properties"].keys()
    )
    assert find_problems(tool, definition, profile, 3) == []


def test_an_optional_object_of_gemini_names_its_type_and_takes_null():
    written, definition = define_visible(
        tool_with({"anyOf": [X, {"type": "null"}]}, X=PART), "gemini"
    )

    assert (written["type"], written["nullable"]) == ("object", True)
    assert "$defs" not in schema_of("gemini", definition.value)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("target", [{}, {"anyOf": [text(), {}]}])
def test_an_argument_of_any_type_names_none(target, profile):
    written, _ = define_visible(tool_with(X, X=target), profile)

    assert "type" not in written


@pytest.mark.parametrize("profile", OPEN)
def test_a_reference_to_itself_names_no_type(profile):
    assert define_visible(tool_with(X, X=X), profile)[0] == X


def test_items_that_no_schema_has_looked_at_stay_those():
    node = {**X, "unevaluatedItems": False}

    assert define_visible(tool_with(node, X={**PAIR, "items": True}), "mcp")[0] == node


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("most", [16_384, 4_000, 2_048])
def test_types_hold_the_budget(profile, most):
    part = object_of({f"key_{n}": text(description="Words. " * 9) for n in range(12)})
    body = object_of({f"part_{n}": component("Part") for n in range(30)})
    toolset = tools(
        with_body(body),
        components={"schemas": {"Part": part}},
        settings=Settings(definition_bytes=most),
    )

    (definition,) = toolset.definitions(profile)

    assert json_size(definition) <= most
    assert faults(profile, definition) == []
    if profile in OPEN and most > 2_048:
        properties = schema_of(profile, definition)["properties"].values()
        assert {node.get("type") for node in properties} == {"object"}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_large_target_of_one_argument_has_its_type_in_a_nearly_full_budget(profile):
    large = object_of({f"key_{n}": text(description="A word. " * 9) for n in range(30)})
    tool = tool_with(X, X={**large, "required": ["key_1"]})
    whole = define_tool(tool, profile, loosely=True).value
    tool.settings = SimpleNamespace(definitions="short", definition_bytes=json_size(whole))

    written, definition = define_visible(tool, profile)

    assert written["type"] == "object"
    assert json_size(definition.value) <= tool.settings.definition_bytes


def test_a_target_that_would_break_the_limits_of_the_strict_mode_twice_stays_a_reference():
    values = text(enum=[f"v{number}" for number in range(600)])
    body = object_of({"x": component("E"), "y": component("E")}, required=["x", "y"])
    settings = Settings(definition_bytes=0)
    toolset = tools(with_body(body), components={"schemas": {"E": values}}, settings=settings)

    (definition,) = toolset.definitions("openai_strict")

    assert definition["function"]["strict"]
    assert faults("openai_strict", definition) == []
    properties = schema_of("openai_strict", definition)["properties"]
    assert list(properties.values()) == [{"$ref": "#/$defs/E"}] * 2


async def test_a_client_over_mcp_reads_the_type_of_every_argument():
    mcp = pytest.importorskip("mcp", reason="mcp is not installed")
    from openapi_tools.contracts.mcp import create_server

    schemas = {"Part": PART, "Tree": object_of({"up": component("Tree")})}
    body = object_of({"part": component("Part"), "tree": component("Tree")})
    toolset = tools(with_body(body), components={"schemas": schemas})

    async with mcp.Client(create_server(toolset)) as client:
        (tool,) = (await client.list_tools()).tools

    properties = tool.input_schema["properties"]
    assert {name: node.get("type") for name, node in properties.items()} == {
        "part": "object",
        "tree": "object",
    }
