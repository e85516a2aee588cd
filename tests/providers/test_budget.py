"""Definitions within a budget: what is shown is shorter, and takes all that the tool takes."""

import json
from types import SimpleNamespace

import pytest
from documents import document
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from makers import ImpossibleError
from profile_rules import faults, schema_of
from profile_values import array, make_tool, object_of, text, values
from providers.expressing import InexpressibleError, expression_of
from schema_pairs import pairs

from openapi_tools import Settings, SettingsError, load_tools
from openapi_tools.common.json_values import json_size
from openapi_tools.providers.budget import Shortener
from openapi_tools.providers.cuts import cut_levels
from openapi_tools.providers.definitions import (
    PROFILES,
    CannotExpress,
    DefinitionLimits,
    define_tool,
)
from openapi_tools.validation.checker import Checker

SHUT = {"additionalProperties": False}
WORDS = "Words of a member that say a good deal. " * 40
TEXT = text(description=WORDS)
NESTED = object_of({"deep": array(object_of({"leaf": TEXT, "other": TEXT}))}, required=["deep"])
ADDRESS = object_of({"street": text(), "town": text(), "country": text()}, required=["town"])
TREE = object_of({"name": text(), "children": array({"$ref": "#/$defs/Tree"})}, required=["name"])
NAMES = [f"argument_number_{index}" for index in range(800)]
VALUES = [f"value-{index}" for index in range(400)]


def tool_of(properties, *, required=(), description="A tool.", name="t", **definitions):
    schema = object_of(properties, required=list(required), **SHUT)
    tool = make_tool({**schema, "$defs": definitions} if definitions else schema, name=name)
    tool.description = description
    return tool


def define_shortened(tool, profile="openai", most=16_384, words="short"):
    definition = define_tool(tool, profile, loosely=True, limits=DefinitionLimits(words, most))
    assert json_size(definition.value) <= most
    assert faults(profile, definition.value) == []
    return definition


LARGE = {
    "long words": tool_of({f"a{n}": TEXT for n in range(20)}, required=["a1"]),
    "many values": tool_of({"x": {"type": "string", "enum": VALUES * 9}}),
    "many arguments": tool_of(dict.fromkeys(NAMES, text()), required=NAMES[600:610]),
    "many required arguments": tool_of(dict.fromkeys(NAMES, text()), required=NAMES),
    "long names": tool_of({f"{'n' * 60}{n:04}": text() for n in range(500)}),
    "depth": tool_of({f"a{n}": NESTED for n in range(30)}),
    "equal parts": tool_of({f"a{n}": ADDRESS for n in range(200)}),
    "many alternatives": tool_of({"x": {"oneOf": [
        object_of({f"m{n}": text(), "kind": {"const": n}}, required=["kind"]) for n in range(300)
    ]}}, required=["x"]),
    "a large default": tool_of({"x": text(default="d" * 50_000), "y": NESTED}),
    "a tree": tool_of({"x": {"$ref": "#/$defs/Tree"}, **{f"a{n}": NESTED for n in range(30)}},
                      Tree=TREE),
    "a long description": tool_of({"x": text()}, description="Words. " * 9_000),
    "letters beyond ASCII": tool_of({f"a{n}": text(description="ж" * 200) for n in range(40)}),
    "maps": tool_of({f"a{n}": {"type": "object", "additionalProperties": NESTED}
                     for n in range(60)}),
}  # fmt: skip


@pytest.mark.untraced
@pytest.mark.parametrize(
    "words",
    ["full", *(pytest.param(words, marks=pytest.mark.long) for words in ("short", "tight"))],
)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("tool", LARGE.values(), ids=LARGE)
def test_every_definition_fits_and_takes_what_the_tool_takes(tool, profile, words):
    inputs = values(tool.input_schema, 3)
    for most in (16_384, 4_000, 2_048):
        definition = define_shortened(tool, profile, most, words)

        assert find_losses(tool, definition, profile, inputs) == []


def find_losses(tool, definition, profile, inputs):
    """Return inputs that a tool takes, but not as its definition has them written."""
    fits = Checker(tool.input_schema).fits
    expression, losses = expression_of(definition, profile), []
    for value in filter(fits, inputs):
        try:
            restored = definition.restore(expression.express(value))
        except InexpressibleError:
            losses.append(value)
        else:
            losses += [] if fits(restored) else [(value, restored)]
    return losses


@pytest.mark.parametrize("profile", ["openai", "gemini", "anthropic", "mcp", "openai_strict"])
def test_arguments_that_do_not_fit_are_named_and_may_be_passed(profile):
    tool = LARGE["many arguments"]

    definition = define_shortened(tool, profile)

    schema = schema_of(profile, definition.value)
    assert 50 < len(schema["properties"]) < len(NAMES)
    assert "more arguments are accepted" in schema["description"]
    assert {*NAMES[600:610]} <= schema["properties"].keys()
    arguments = dict.fromkeys([*NAMES[600:610], NAMES[799]], "a")
    assert find_losses(tool, definition, profile, [arguments]) == []


def test_titles_and_examples_go_before_words():
    tool = tool_of({"x": text(title="X of a tool", examples=["e" * 2_000], description=WORDS)})

    definition = define_shortened(tool, most=2_048, words="full")

    part = schema_of("openai", definition.value)["properties"]["x"]
    assert part == {"type": "string", "description": WORDS}


def test_equal_parts_are_shared_before_words_go():
    properties = {
        f"a{n}": {**ADDRESS, "description": "Where it is, with `town`."} for n in range(60)
    }
    schema = object_of(properties)

    result = Shortener().fit(schema, json_size(schema) // 2)

    (name,) = result["$defs"]
    assert set(map(json.dumps, result["properties"].values())) == {f'{{"$ref": "#/$defs/{name}"}}'}
    assert result["$defs"][name] == properties["a1"]
    assert "$ref" not in json.dumps(Shortener().fit(schema, json_size(schema) // 2, sharing=False))


def test_the_largest_parts_at_a_depth_become_words_and_lost_definitions_go():
    leaves = {f"m{n}": text() for n in range(30)}
    large, small = object_of({"r": {"$ref": "#/$defs/Leaf"}, **leaves}), object_of({"q": text()})
    schema = {**object_of({"large": large, "small": small}), "$defs": {"Leaf": object_of(leaves)}}
    left = cut_levels(schema, [1], 1)

    result = cut_levels(schema, [1], json_size(schema) // 2)

    assert "$defs" not in result
    assert result["properties"]["small"] == small
    assert result["properties"]["large"] == left["properties"]["large"]
    assert set(left["properties"]["large"]) == {"type", "description"}
    same = json.loads(json.dumps(result))
    assert cut_levels(schema, [1], json_size(result)) == same
    assert cut_levels(schema, [1], json_size(result) - 1) == left


def test_a_reference_into_a_part_makes_words_of_the_part_and_of_what_is_in_it():
    inner = object_of({f"m{n}": text() for n in range(30)})
    outer = object_of({"inner": inner, "more": inner})
    below = {"$ref": "#/$defs/Holder/properties/outer"}
    holder = {**object_of({"outer": outer}), "allOf": [below]}
    schema = {**object_of({}), "allOf": [{"$ref": "#/$defs/Holder"}], "$defs": {"Holder": holder}}

    for limit in range(0, json_size(schema), 50):
        result = cut_levels(schema, [1], limit)
        least = cut_levels(schema, [1], 0)
        assert json_size(result) <= max(limit, json_size(least))
    assert set(least["$defs"]["Holder"]["properties"]["outer"]) == {"type", "description"}


def test_an_array_of_itself_can_become_words():
    cycle = {"$ref": "#/$defs/List"}
    properties = {f"a{n}": object_of({"deep": array(cycle), "x": TEXT}) for n in range(120)}
    tool = tool_of({**properties, "list": array(cycle)}, List=array(cycle))

    definition = define_shortened(tool, most=4_096)

    assert schema_of("openai", definition.value)["properties"]


def test_a_schema_is_shortened_where_only_its_shared_parts_fit():
    properties = {f"a{n}": {**ADDRESS, "title": f"Title {n}"} for n in range(60)}
    schema = object_of(properties)
    least = json_size(Shortener().shorten_words(schema, json_size(schema) // 2))

    assert json_size(Shortener().shorten_words(schema, least)) == least
    assert Shortener().shorten_words(schema, least // 20) is schema


def test_an_enumeration_that_does_not_fit_is_described_in_words():
    result = Shortener().fit(object_of({"x": text(enum=VALUES, description="Which")}), 700)

    part = result["properties"]["x"]
    assert part["type"] == "string"
    assert part["description"].startswith('Which. One of 400 values: "value-0", "value-1", ')
    assert "enum" not in part


def test_what_a_cut_takes_away_is_named():
    part = {**NESTED, "properties": {**NESTED["properties"], "note": TEXT}}
    result = Shortener().fit(object_of({f"a{n}": part for n in range(40)}), 3_600, sharing=False)

    description = "Properties: deep (required), note."
    assert result["properties"]["a39"] == {"type": "object", "description": description}


def test_what_a_union_loses_is_named():
    branches = [{"title": f"Kind {n}", **object_of({f"m{n}": TEXT})} for n in range(3)]

    result = Shortener().fit(object_of({"x": {"oneOf": branches}}), 200)

    description = "One of: object, object, object."
    assert result["properties"]["x"] == {"type": "object", "description": description}


def test_a_cut_leaves_no_part_stricter():
    refused = {"not": object_of({"deep": NESTED}, required=["deep"])}
    tool = tool_of({f"a{n}": {**NESTED, **refused} for n in range(40)})

    definition = define_shortened(tool, most=3_000)

    assert "not" not in json.dumps(schema_of("openai", definition.value)["properties"])


def test_the_strict_mode_gives_way_to_the_budget_and_says_so():
    tool = tool_of({f"a{n}": object_of({f"m{n}{k}": text() for k in range(9)}) for n in range(20)})

    definition = define_shortened(tool, "openai_strict", 4_000)

    assert definition.value["function"]["strict"] is False
    assert "bytes; 4000 are allowed" in definition.notes[0]


async def test_a_call_with_the_profile_of_a_definition_that_gave_way_keeps_null():
    maybe = {"type": ["string", "null"]}
    properties = {f"a{n}": object_of({f"m{n}{k}": maybe for k in range(20)}) for n in range(40)}
    schema = object_of(properties)
    paths = {"/x": {"post": {"requestBody": {"content": {"application/json": {"schema": schema}}}}}}
    toolset = load_tools(document(paths), base_url="http://a.example", dry_run=True)
    (tool,) = toolset
    (defined,) = toolset.definitions("openai_strict")
    assert defined["function"]["strict"] is False

    result = await toolset.call(tool.name, {"a1": {"m11": None}})

    assert "null" in str(result)


def test_calls_are_checked_against_the_full_schema():
    paths = {"/x": {"get": {"parameters": [
        {"name": "q", "in": "query", "schema": {"type": "string", "enum": VALUES}}
    ]}}}  # fmt: skip
    toolset = load_tools(document(paths), settings=Settings(definition_bytes=2_048))
    (defined,), (tool,) = toolset.definitions("openai"), toolset

    assert "enum" not in defined["function"]["parameters"]["properties"]["q"]
    assert tool.input_schema["properties"]["q"]["enum"] == VALUES


@pytest.mark.parametrize("count", [-1, 1, 2_047])
def test_a_budget_is_none_or_large_enough(count):
    with pytest.raises(SettingsError, match="0 for no limit, or at least 2048"):
        Settings(definition_bytes=count)


def test_without_a_budget_and_with_full_words_the_schema_is_the_tools_own():
    tool = LARGE["depth"]
    tool.settings = SimpleNamespace(definitions="full", definition_bytes=0)

    definition = define_tool(tool, "openai", loosely=True)

    del tool.settings
    assert schema_of("openai", definition.value) is tool.input_schema


def test_definitions_are_made_once_and_their_dicts_are_the_callers():
    toolset = load_tools(document({"/x": {"get": {"summary": "Get x."}}}))
    (one,) = toolset.definitions("openai")
    one["function"]["name"] = one["type"] = "changed"

    (two,) = toolset.definitions("openai")

    assert (two["type"], two["function"]["name"]) == ("function", "get_x")


@pytest.mark.long
@pytest.mark.untraced
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(pairs(), st.integers(2_048, 4_000), st.sampled_from(PROFILES), st.integers(1, 30))
def test_any_schema_fits_any_budget_and_takes_what_it_took(pair, most, profile, times):
    inner = {key: value for key, value in pair[0].items() if key != "$defs"}
    properties = {f"x{n}": {**inner, "description": WORDS} for n in range(times)}
    tool = tool_of(properties, **pair[0]["$defs"])
    checker = Checker(tool.input_schema)
    assume(not checker.notes)
    try:
        whole = define_tool(tool, profile, loosely=True, limits=DefinitionLimits("full", 0))
        definition = define_tool(
            tool, profile, loosely=True, limits=DefinitionLimits("short", most)
        )
        inputs = values(tool.input_schema, 2)
    except (CannotExpress, ImpossibleError):
        assume(False)
    assert json_size(definition.value) <= most
    kept = [value for value in inputs if find_losses(tool, whole, profile, [value]) == []]
    assert find_losses(tool, definition, profile, kept) == []
