"""What providers are given, feature by feature, and what becomes of arguments on the way back."""

import copy
import json
import math

import httpx
import jsonschema
import pydantic
import pytest
from documents import document, with_body
from packages import ROOT
from profile_rules import faults, schema_of
from profile_values import (
    NULL,
    SHUT,
    TEXT,
    WHOLE,
    array,
    lawful,
    make_tool,
    object_of,
    text,
    tool_with,
)

from openapi_tools import Settings, load_tools
from openapi_tools.errors import OpenAPIToolsError, SettingsError
from openapi_tools.providers.definitions import (
    MOST_TOOLS,
    PROFILES,
    CannotExpress,
    Memory,
    check_profile,
    create_restorer,
    define_tool,
)
from openapi_tools.providers.restore import Restorer


def restore_value(part, profile, value):
    """Return what becomes of an optional argument on its way back."""
    call_arguments = {"x": copy.deepcopy(value)}
    arguments = define_tool(tool_with(part, required=False), profile).restore(call_arguments)
    assert call_arguments == {"x": value}
    return arguments.get("x", "absent")


@pytest.fixture(scope="module")
def pets():
    return load_tools(ROOT / "specs" / "petstore.yaml")


def test_there_are_six_profiles_with_limits_of_their_own():
    assert (
        *("openai", "openai_strict", "openai_responses", "anthropic", "gemini", "mcp"),
    ) == PROFILES
    openai = dict.fromkeys(["openai", "openai_strict", "openai_responses"], 128)
    assert {**openai, "gemini": 512} == MOST_TOOLS


@pytest.mark.parametrize("ask", [lambda: define_tool(make_tool({}), "gpt"),
                                 lambda: check_profile("gpt"),
                                 lambda: create_restorer({}, "gpt")])  # fmt: skip
def test_an_unknown_profile_is_named_with_those_that_exist(ask):
    with pytest.raises(SettingsError, match=f"'gpt'.*{', '.join(PROFILES)}"):
        ask()


def test_each_profile_has_the_shape_of_its_provider(pets):
    tool = pets["get_pet_by_id"]
    common = {"name": tool.name, "description": tool.description}

    values = {profile: define_tool(tool, profile).value for profile in PROFILES}

    function = {**common, "parameters": tool.input_schema, "strict": False}
    assert values["openai"] == {"type": "function", "function": function}
    assert values["openai_strict"]["type"] == "function"
    assert values["openai_strict"]["function"]["strict"] is True
    assert values["anthropic"] == {**common, "input_schema": tool.input_schema}
    assert values["gemini"].keys() == {*common, "parameters_json_schema"}
    annotations = tool.annotations
    assert values["mcp"] == {**common, "inputSchema": tool.input_schema, "annotations": annotations}


@pytest.mark.parametrize("profile", ["openai", "mcp"])
def test_a_schema_that_may_stay_is_the_tools_own(profile, pets):
    tool = pets["add_pet"]

    definition = define_tool(tool, profile)

    assert schema_of(profile, definition.value) is tool.input_schema
    arguments = {"name": "Rex"}
    assert definition.restore(arguments) is arguments
    assert create_restorer(tool, profile) is None


@pytest.mark.parametrize("profile", PROFILES)
def test_a_definition_keeps_the_providers_rules(profile, pets):
    memory = Memory()

    for tool in pets:
        value = define_tool(tool, profile, memory).value
        assert faults(profile, value) == []
        jsonschema.Draft202012Validator.check_schema(schema_of(profile, value))


OPENAI = ("openai", "openai_strict")
SDKS = [
    ("openai.types.chat", "ChatCompletionFunctionToolParam", OPENAI),
    pytest.param("anthropic.types", "ToolParam", ("anthropic",), marks=pytest.mark.long),
    pytest.param("google.genai.types", "FunctionDeclaration", ("gemini",), marks=pytest.mark.long),
    ("mcp.types", "Tool", ("mcp",)),
]


@pytest.mark.parametrize(("module", "name", "profiles"), SDKS)
def test_the_types_of_the_providers_own_package_accept_a_definition(module, name, profiles, pets):
    types = pytest.importorskip(module, reason=f"{module.partition('.')[0]} is not installed")
    adapter = pydantic.TypeAdapter(getattr(types, name))
    for profile in profiles:
        for tool in pets:
            value = define_tool(tool, profile).value
            result = adapter.validate_python(value)
            if profile == "gemini":
                schema = value["parameters_json_schema"]
                assert result.parameters_json_schema == schema
                # Its older form spells `ref` and `defs`.
                types.Schema.model_validate(json.loads(json.dumps(schema).replace('"$', '"')))
            elif profile == "mcp":
                result = result.model_dump(by_alias=True, exclude_none=True)
            assert profile == "gemini" or result == value


ANYTHING = {"$ref": "#/$defs/_anything"}
PAIR = {"type": "object", "properties": {"key": TEXT, "value": TEXT}, "required": ["key", "value"]}
WORDS = {"description": "d"}
CONSTANTS = [{"const": 1, "title": "ONE"}, {"const": 2, "description": "Two."}, {"const": 3}]
STRICT = {
    "a scalar": (TEXT, TEXT),
    "a length": (text(maxLength=9), text(pattern=r"^[\s\S]{0,9}$")),
    "a great length": (text(maxLength=65535), text(description="At most 65535 characters.")),
    "a known format": (text(format="uuid"), text(format="uuid")),
    "another format": (text(format="uri", description="Where to"),
                       text(description="Where to. Format: uri.")),
    "a default": ({**WHOLE, "default": 30, "description": "How many."},
                  {**WHOLE, "description": "How many. Default: 30."}),
    "a pattern that looks around": (text(pattern="^(?!x)"), text(description="Pattern: `^(?!x)`.")),
    "a list of types": ({"type": ["integer", "null"]}, {"type": ["integer", "null"]}),
    "several types": ({"type": ["integer", "string"], **WORDS},
                      {"anyOf": [{**WHOLE, **WORDS}, {**TEXT, **WORDS}], **WORDS}),
    "a constant": ({"const": 3}, {"type": "integer", "enum": [3]}),
    "a mixed enum": ({"enum": [1, "a", None]},
                     {"type": ["integer", "string", "null"], "enum": [1, "a", None]}),
    "an enum of objects": ({"enum": [{"a": 1}]}, text(enum=['{"a": 1}'])),
    "an enum that the type narrows": ({**WHOLE, "enum": [1, "a"]}, {**WHOLE, "enum": [1]}),
    "numbers": ({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},) * 2,
    "an array": (array(TEXT, minItems=1, maxItems=3, uniqueItems=True),
                 array(TEXT, minItems=1, maxItems=3)),
    "an array of anything": ({"type": "array"}, array(ANYTHING)),
    "an array of nothing": (array(False), array(ANYTHING, maxItems=0)),
    "a tuple of equals": (array(False, prefixItems=[TEXT, TEXT]), array(TEXT, maxItems=2)),
    "a map": ({"type": "object", "additionalProperties": TEXT, "maxProperties": 2},
              array({**PAIR, **SHUT}, maxItems=2)),
    "anything": ({}, ANYTHING),
    "anything with words": (WORDS, {"anyOf": [ANYTHING], **WORDS}),
    "a union of constants": ({"oneOf": CONSTANTS},
                             {**WHOLE, "enum": [1, 2, 3], "description": "1: ONE; 2: Two."}),
    "a union with null": ({"anyOf": [object_of({}, **SHUT), NULL]},
                          {"anyOf": [object_of({}, required=[], **SHUT), NULL]}),
    "allOf": ({"allOf": [text(minLength=1), {"maxLength": 3}, WORDS]},
              text(pattern=r"^[\s\S]{1,3}$", **WORDS)),
    "an impossible alternative": ({"anyOf": [TEXT, {"enum": []}, False]}, TEXT),
}  # fmt: skip


NULLABLE = {
    "a scalar": (TEXT, {"type": ["string", "null"]}),
    "an enum": ({"enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
    "an array": ({**array(TEXT), **WORDS}, {**WORDS, "anyOf": [array(TEXT), NULL]}),
    "a union": ({"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT, WHOLE, NULL]}),
    "null alone": (NULL, NULL),
}


def whole_within(least, most):
    return {**WHOLE, "minimum": least, "maximum": most}


BETWEEN = {**WHOLE, "exclusiveMinimum": 0, "exclusiveMaximum": 9}
EXAMPLES = {"examples": ["a", "b"], "default": "c"}
SENT = text(description="Sent as `b-c`.")
GEMINI = {
    "null": ({"type": ["string", "null"]}, text(nullable=True)),
    "null alone": (NULL, text(enum=["null"])),
    "a length": (text(minLength=1, pattern="^a"), text(minLength=1, pattern="^a")),
    "an enum of numbers": ({**WHOLE, "enum": [1, 2], "default": 1}, text(enum=["1", "2"])),
    "an enum with an empty text": ({"enum": ["", "a"]}, text(enum=["(empty)", "a"])),
    "both booleans": ({"enum": [True, False]}, {"type": "boolean"}),
    "numbers beside strings": (
        {"anyOf": [TEXT, {"const": 3}]}, {"anyOf": [whole_within(3, 3), TEXT]},
    ),
    "exclusive bounds": ({**BETWEEN, "maximum": 20}, whole_within(1, 8)),
    "a fraction": ({**BETWEEN, "type": "number"},
                   {"type": "number", "minimum": 5e-324, "maximum": math.nextafter(9, 0)}),
    "whole numbers": ({"type": "number", "multipleOf": 1}, WHOLE),
    "a format": ({**WHOLE, "format": "int64"}, {**WHOLE, "format": "int64"}),
    "an example": (text(**EXAMPLES, title="T"), text(example="a", default="c")),
    "an object": (
        object_of({"a": TEXT, "b-c": TEXT}, required=["b-c"], minProperties=2),
        object_of({"a": TEXT, "b_c": SENT}, required=["b_c"], minProperties=2),
    ),
    "a map": ({"type": "object", "additionalProperties": TEXT}, array(PAIR)),
}  # fmt: skip


SHAPES = [
    pytest.param(profile, required, *row, id=f"{profile}: {name}")
    for profile, required, rows in (
        ("openai_strict", True, STRICT),
        ("openai_strict", False, NULLABLE),
        ("gemini", True, GEMINI),
    )
    for name, row in rows.items()
]


@pytest.mark.parametrize(("profile", "required", "schema", "expected"), SHAPES)
def test_each_profile_has_its_own_form_of_a_schema(profile, required, schema, expected):
    assert lawful(schema, profile, required=required) == expected


def test_strict_mode_refers_to_a_definition_with_words_around_it():
    reference = {"$ref": "#/$defs/Node"}
    node = object_of({"next": reference, "n": TEXT})
    tool = tool_with({**reference, "description": "The first."}, Node=node, Other=TEXT)

    schema = schema_of("openai_strict", define_tool(tool, "openai_strict").value)

    assert schema["properties"]["x"] == {"anyOf": [reference], "description": "The first."}
    assert schema["$defs"].keys() == {"Node"}
    assert schema["$defs"]["Node"]["properties"]["next"] == {"anyOf": [reference, NULL]}
    assert schema["$defs"]["Node"]["required"] == ["next", "n"]


def test_strict_mode_has_an_object_for_each_property_of_which_one_is_needed():
    schema = object_of({"a": TEXT, "b": WHOLE}, minProperties=1)

    parts = lawful(schema, "openai_strict")["anyOf"]

    assert [part["properties"]["a"] for part in parts] == [TEXT, {"type": ["string", "null"]}]
    assert restore_value(schema, "openai_strict", {"a": None, "b": 1}) == {"b": 1}


def test_gemini_marks_a_reference_that_may_be_null():
    reference = {"$ref": "#/$defs/Node"}

    result = lawful({"anyOf": [reference, NULL], **WORDS}, "gemini", Node=object_of({"a": TEXT}))

    assert result == {"anyOf": [reference], "nullable": True, **WORDS}


def test_anthropic_gets_other_names_only_for_what_it_refuses():
    names = ["$ref", "filter[x]", "filter_x", "a.b-c"]
    inner = object_of(dict.fromkeys(names, TEXT), required=names[:2])

    result = lawful(array(inner), "anthropic")["items"]

    renamed = next(name for name in result["properties"] if name.startswith("filter_x_"))
    assert list(result["properties"]) == ["_ref", renamed, "filter_x", "a.b-c"]
    assert result["required"] == ["_ref", renamed]
    assert result["properties"]["_ref"]["description"] == "Sent as `$ref`."


PAIRS = [{"key": "a", "value": "b"}]
NUMBERED = object_of({"a": TEXT}, additionalProperties=WHOLE)
EXTRAS = [{"key": "c", "value": 1}, {"key": "a", "value": 2}]
OPTIONAL = object_of({"a": TEXT, "b": {"type": ["string", "null"]}}, required=["b"])
MAP_OF_TEXT = {"type": "object", "additionalProperties": TEXT}
OPEN, TYPED = object_of({"a": TEXT}, additionalProperties=True), object_of({"@type": TEXT})
NESTED = {"entries": [{"key": "a", "value": [1, {"entries": []}]}]}
BACK = {
    "openai_strict": [
        ("an absent member", TEXT, None, "absent"),
        ("an absent nullable member", {"type": ["string", "null"]}, None, "absent"),
        ("a map", MAP_OF_TEXT, PAIRS, {"a": "b"}),
        ("an empty map", {"type": "object"}, [], {}),
        ("a set", array(TEXT, uniqueItems=True), ["a", "b", "a"], ["a", "b"]),
        ("anything", {}, NESTED, {"a": [1, {}]}),
        ("an enum of objects", {"enum": [{"a": 1}]}, '{"a": 1}', {"a": 1}),
        ("members inside", OPTIONAL, {"a": None, "b": None}, {"b": None}),
        ("others", NUMBERED, {"a": "b", "additional_properties": EXTRAS}, {"a": "b", "c": 1}),
        ("no others", OPEN, {"a": "b", "additional_properties": None}, {"a": "b"}),
    ],
    "gemini": [
        ("a labelled number", {"enum": [1, 2]}, "1", 1),
        ("the label of null", NULL, "null", None),
        ("the text null", {"type": ["string", "null"]}, "null", "null"),
        ("the label of an empty text", {"enum": ["", "a"]}, "(empty)", ""),
        ("a text like a number", {"enum": ["1", 1]}, "1", "1"),
        ("a number like a text", {"enum": ["1", 1]}, "(1)", 1),
        ("another name", TYPED, {"_type": "a", "b": 1}, {"@type": "a", "b": 1}),
        ("one of several", {"anyOf": [array(TEXT), MAP_OF_TEXT]}, PAIRS, {"a": "b"}),
    ],
    "anthropic": [
        ("another name", object_of({"$ref": TEXT}), {"_ref": "a"}, {"$ref": "a"}),
        ("what looks like entries", {}, {"entries": []}, {"entries": []}),
    ],
}
WAYS_BACK = [
    pytest.param(profile, *row, id=f"{profile}: {name}")
    for profile, rows in BACK.items()
    for name, *row in rows
]


@pytest.mark.parametrize(("profile", "part", "value", "expected"), WAYS_BACK)
def test_arguments_come_back_as_the_tool_takes_them(profile, part, value, expected):
    assert restore_value(part, profile, value) == expected


TOO_MANY, NOTHING = "number of properties", "accepts nothing"
MAY_NOT, NOT_REFUSES = "a property that it forbids", "`not` refuses a required property"
BESIDE = "`patternProperties` and other properties cannot be combined"
AB = object_of({"a": TEXT, "b": WHOLE})
PATTERN, ONE_B = {"patternProperties": {"a": TEXT}}, {"properties": {"b": TEXT}}
CHOICE = {"anyOf": [{"const": number} for number in range(40)]}
RIVALS = [text(minLength=n, maxLength=n) for n in range(300)]
CLOSED = {"type": "object", **PATTERN, **SHUT}
STEPS = [{"type": "number", "multipleOf": 0.5}, {"multipleOf": 0.2}]
NO_A = {"required": ["a"], "not": {"required": ["a"]}}
CANNOT_STRICTLY = [
    ({"allOf": [CHOICE] * 2}, "too many alternatives"),
    ({"oneOf": RIVALS}, "too many alternatives to tell them apart"),
    (
        {"type": "object", "patternProperties": {"a": TEXT, "b": TEXT}},
        "several `patternProperties`",
    ),
    ({"allOf": [PATTERN, {**ONE_B, **SHUT}]}, BESIDE),
    ({"allOf": [CLOSED, ONE_B]}, BESIDE),
    ({"allOf": STEPS}, "two different `multipleOf` cannot be combined"),
    ({**AB, "dependentSchemas": {"a": {}}}, "`dependentSchemas` cannot be expressed"),
    ({**AB, **NO_A}, NOT_REFUSES),
    (array(TEXT, minItems=3, maxItems=2), NOTHING),
    (text(minLength=3, maxLength=2), NOTHING),
    ({**AB, **SHUT, "minProperties": 3}, NOTHING),
    (object_of({"a": TEXT}, **{"if": {}}), "`if`"),
    (array(TEXT, minItems=2, uniqueItems=True), "`uniqueItems` of several items"),
    (text(pattern="a|b", maxLength=3), "its length and its `pattern`"),
    (object_of({"a": TEXT, "b": TEXT}, minProperties=2), TOO_MANY),
]
CANNOT_IN_GEMINI = [
    (text(**{"not": {"pattern": "a"}}), "`not`"),
    ({"type": "array", "contains": TEXT}, "`contains`"),
    ({"type": "array", "prefixItems": [TEXT, {}]}, "`prefixItems`"),
    ({"type": "number", "multipleOf": 0.01}, "`multipleOf`"),
    ({"type": "object", "minProperties": 2}, TOO_MANY),
    ({"allOf": [TEXT, WHOLE]}, NOTHING),
    (False, MAY_NOT),
    ({"allOf": [text(pattern="a"), {"pattern": "b"}]}, "two different `pattern`"),
    ({"$ref": "#/$defs/No"}, r"#/\$defs/No: `not`"),
    ({"$ref": "#/$defs/Loop"}, "refers to itself"),
]
CANNOT = [
    *(("openai_strict", *row) for row in CANNOT_STRICTLY),
    *(("gemini", *row) for row in CANNOT_IN_GEMINI),
]


@pytest.mark.parametrize(("profile", "part", "reason"), CANNOT, ids=[row[2] for row in CANNOT])
def test_what_cannot_be_expressed_is_refused_or_left_out(profile, part, reason):
    loop = array({"$ref": "#/$defs/Loop", "minItems": 1})
    definitions = {"No": text(**{"not": {"pattern": "a"}}), "Loop": loop}

    with pytest.raises(CannotExpress, match=reason) as caught:
        define_tool(tool_with(part, **definitions), profile)
    definition = define_tool(tool_with(part, required=False, **definitions), profile)

    assert isinstance(caught.value, OpenAPIToolsError)
    assert str(caught.value).startswith("#")
    assert "x" not in schema_of(profile, definition.value)["properties"]
    assert len(definition.notes) == (0 if reason in (NOTHING, MAY_NOT, NOT_REFUSES) else 1)
    assert all(note.startswith("#/") for note in definition.notes)


def test_a_part_that_cannot_be_expressed_goes_alone():
    definition = define_tool(tool_with({"anyOf": [TEXT, array({}, contains=TEXT)]}), "gemini")

    assert schema_of("gemini", definition.value)["properties"]["x"] == TEXT
    assert definition.notes == ("#/properties/x: `contains` cannot be expressed",)


def test_alternatives_of_which_one_may_fit_are_distinguished_by_their_properties():
    file = object_of(dict.fromkeys(("base64", "text", "filename"), TEXT), **SHUT)
    one = {**file, "oneOf": [{"required": ["base64"]}, {"required": ["text"]}]}

    parts = lawful(one, "gemini")["anyOf"]

    names = [list(part["properties"]) for part in parts]
    assert names == [["base64", "filename"], ["text", "filename"]]


def in_words(schema):
    return {"description": f"JSON Schema: {json.dumps(schema)}."}


A_AND_B = {"allOf": [{"pattern": "a"}, {"pattern": "b"}]}
AB_IN_WORDS = {"anyOf": [ANYTHING], **in_words(A_AND_B)}
TUPLE = {"prefixItems": [TEXT, WHOLE], "items": False}
IMPOSSIBLE = {"allOf": [TEXT, WHOLE]}
SET, NOT_1 = {"uniqueItems": True}, {"not": {"const": 1}}
PAIR_OF_TEXTS = array(TEXT, minItems=2)
TOO_MUCH = {
    "a set of two": ({**PAIR_OF_TEXTS, **SET}, {**PAIR_OF_TEXTS, **in_words(SET)}, ["a", "b"]),
    "a tuple": ({"type": "array", **TUPLE}, {**array(ANYTHING), **in_words(TUPLE)}, ["a", 1]),
    "two patterns": (A_AND_B, AB_IN_WORDS, "ab"),
    "objects": (
        object_of({"a": A_AND_B}, required=["a"], **NOT_1),
        {**object_of({"a": AB_IN_WORDS}, required=["a"]), **in_words(NOT_1)},
        {"a": "ab"},
    ),
    "words": (
        {**WORDS, **A_AND_B},
        {**AB_IN_WORDS, "description": f"d. {AB_IN_WORDS['description']}"},
        1,
    ),
    "nothing": (IMPOSSIBLE, {"anyOf": [ANYTHING], **in_words(IMPOSSIBLE)}, None),
}


@pytest.mark.parametrize(("part", "expected", "value"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_gemini_reads_in_words_what_its_schemas_cannot_express(part, expected, value):
    definition = define_tool(tool_with(part), "gemini", loosely=True)

    assert schema_of("gemini", definition.value)["properties"]["x"] == expected
    assert faults("gemini", definition.value) == []
    assert all(note.endswith("it is described in words") for note in definition.notes)
    assert definition.notes
    assert value is None or definition.restore({"x": value}) == {"x": value}


def test_an_object_described_in_words_comes_back_from_its_entries():
    part = {"type": "object", "allOf": [{"propertyNames": {"pattern": p}} for p in "ab"]}
    tool = tool_with({"allOf": [part, {"$ref": "#/$defs/A"}]}, A={"minProperties": 2})
    pairs = [{"key": "ab", "value": 1}, {"key": "ba", "value": 2}]

    definition = define_tool(tool, "gemini", loosely=True)

    assert definition.restore({"x": {"entries": pairs}}) == {"x": {"ab": 1, "ba": 2}}


def echoing(paths):
    echo = httpx.MockTransport(lambda sent: httpx.Response(200, json=json.loads(sent.content)))
    client = httpx.AsyncClient(transport=echo)
    return load_tools(document(paths), client=client, settings=Settings(base_url="http://a.test"))


@pytest.fixture
def sets():
    """Tools of which the strict mode can say one."""
    note = {"note": {"type": ["string", "null"]}}
    ids = {"ids": array(TEXT, minItems=2, uniqueItems=True), **note}
    one, two = with_body(object_of(note)), with_body(object_of(ids, required=["ids"]))
    return echoing({"/one": one["/x"], "/two": two["/x"]})


async def test_a_tool_that_the_strict_mode_cannot_express_is_defined_without_it(sets):
    one, two = sets.definitions("openai_strict")

    assert (one["function"]["strict"], two["function"]["strict"]) == (True, False)
    assert {**two["function"]["parameters"], **SHUT} == sets["post_two"].input_schema
    assert [text for text in sets.warnings if "post_two: `strict` is false: " in text]
    result = await sets.call("post_two", {"ids": ["a", "b"], "note": None})
    absent = await sets.call("post_one", {"note": None})
    assert (result.output, absent.output) == ({"ids": ["a", "b"], "note": None}, {})


async def test_a_tool_that_gemini_cannot_express_is_defined_in_words(sets):
    _, two = sets.definitions("gemini")

    assert (
        '"uniqueItems": true' in two["parameters_json_schema"]["properties"]["ids"]["description"]
    )
    assert [text for text in sets.warnings if text.endswith("it is described in words")]
    result = await sets.call("post_two", {"ids": ["a", "a", "b"]})
    refused = await sets.call("post_two", {"ids": ["a", "a"]})
    assert result.output == {"ids": ["a", "b"]}
    assert refused.error["type"] == "invalid_input"


@pytest.mark.long
def test_no_definition_is_larger_than_the_limit():
    leaf = {"type": "string", "format": "a-format-" * 2}  # which is twice as large in words
    parts = {f"D{n}": {"properties": {f"m{m}": leaf for m in range(60)}} for n in range(60)}
    refer = {name: {"$ref": f"#/$defs/{name}"} for name in parts}
    tool = make_tool(object_of(refer, required=[*refer], **{"$defs": parts}))
    assert len(json.dumps(tool.input_schema)) < 256_000

    for profile in PROFILES:
        definition = define_tool(tool, profile, loosely=True)

        result = schema_of(profile, definition.value)
        assert len(json.dumps(result)) <= 256_000
        assert result["properties"].keys() == tool.input_schema["properties"].keys()
        assert bool(definition.notes) is (
            profile in ("openai_strict", "openai_responses", "gemini")
        )
        assert not definition.notes or "256000 are allowed" in definition.notes[0]
        assert definition.restore({"D1": {"m1": "a"}}) == {"D1": {"m1": "a"}}
    with pytest.raises(CannotExpress, match="characters; 256000 are allowed"):
        define_tool(tool, "gemini")


@pytest.mark.parametrize("profile", ["openai_strict", "gemini"])
async def test_every_alternative_of_a_documents_one_of_is_defined_and_sent(profile):
    kinds = ("boolean", "integer", "number", "string")
    value = {"oneOf": [{"type": kind} for kind in kinds]}
    items = {"oneOf": [array({"type": kind}) for kind in kinds[1:3]]}
    toolset = echoing(with_body(object_of({"value": value, "items": items}, required=["value"])))

    (one,) = toolset.definitions(profile)

    properties = schema_of(profile, one)["properties"]
    assert [part["type"] for part in properties["value"]["anyOf"]] == list(kinds)
    assert "integer" in json.dumps(properties["items"])
    assert "number" in json.dumps(properties["items"])
    for arguments in ({"value": 1, "items": []}, {"value": 1.5, "items": [1]}, {"value": "a"}):
        result = await toolset.call("post_x", arguments)
        assert result.success
        assert result.output == arguments


LIMITS_OF_STRICT = {
    "properties": ({f"p{number}": TEXT for number in range(5001)}, "5001 properties"),
    "values": ({"a": {"enum": list(range(1001))}}, "1002 values"),
    "characters": ({"a": {"enum": ["a" * 120_001]}}, "characters"),
}


@pytest.mark.parametrize(("properties", "reason"), LIMITS_OF_STRICT.values(), ids=LIMITS_OF_STRICT)
def test_the_limits_of_strict_mode(properties, reason):
    tool = make_tool(object_of(properties, **SHUT))

    with pytest.raises(CannotExpress, match=reason):
        define_tool(tool, "openai_strict")
    define_tool(tool, "gemini")


def test_strict_mode_ends_at_ten_levels():
    part = TEXT
    for _ in range(9):
        part = object_of({"a": part})

    define_tool(tool_with(part), "openai_strict")
    with pytest.raises(CannotExpress, match="11 levels; 10 are allowed"):
        define_tool(tool_with(array(part)), "openai_strict")


MALFORMED = [
    *(object_of({"x": {"anyOf": 3}}), object_of(3), object_of({"x": object_of({}, required=3)})),
    {"anyOf": [{"type": "object"}, {"type": "string"}]},
    {},
]


@pytest.mark.parametrize("schema", MALFORMED)
@pytest.mark.parametrize("profile", ["openai_strict", "gemini", "anthropic"])
def test_a_malformed_schema_is_a_reason_and_leaves_arguments_as_they_are(schema, profile):
    arguments = {"x": [1, None]}

    restorer = create_restorer(make_tool(schema), profile)

    assert restorer is None or restorer.restore(arguments) == arguments
    if profile != "anthropic":
        with pytest.raises(CannotExpress):
            define_tool(make_tool(schema), profile)


def test_a_name_that_no_provider_takes_is_a_reason():
    with pytest.raises(CannotExpress, match=r"the name 'a\.b'"):
        define_tool(make_tool({"type": "object"}, name="a.b"), "openai")


def test_schemas_that_multiply_end_in_a_reason():
    doubling = {
        f"D{level}": {"allOf": [{"$ref": f"#/$defs/D{level + 1}"}] * 2} for level in range(10, 30)
    }
    wide = {f"W{level}": {"anyOf": [{"$ref": f"#/$defs/W{level + 1}"}] * 2} for level in range(30)}
    ends = {"D30": TEXT, "W30": TEXT}

    assert lawful({"$ref": "#/$defs/D10"}, "gemini", **doubling, **ends) is not None
    with pytest.raises(CannotExpress):
        define_tool(tool_with({"allOf": [{"$ref": "#/$defs/W0"}]}, **wide, **ends), "gemini")


def test_a_definition_of_another_document_is_not_taken_for_this_one():
    memory, part = Memory(), {"allOf": [{"$ref": "#/$defs/A"}]}

    definitions = [define_tool(tool_with(part, A=one), "gemini", memory) for one in (TEXT, WHOLE)]

    kinds = [schema_of("gemini", one.value)["properties"]["x"]["type"] for one in definitions]
    assert kinds == ["string", "integer"]


REPAIRS = {
    "null for absent": ({"x": None, "y": 1}, TEXT, {"y": 1}),
    "a null that is meant": ({"x": None}, {"type": ["string", "null"]}, {"x": None}),
    "nothing to undo": ({"x": 3}, TEXT, {"x": 3}),
    "a map": ({"x": PAIRS}, {"type": "object"}, {"x": {"a": "b"}}),
    "pairs that are meant": ({"x": PAIRS}, {"type": ["array", "object"]}, {"x": PAIRS}),
    "a labelled number": ({"x": "2"}, {"enum": [1, 2]}, {"x": 2}),
    "anything": ({"x": {"entries": []}}, {}, {"x": {"entries": []}}),
}


@pytest.mark.parametrize(("value", "part", "expected"), REPAIRS.values(), ids=REPAIRS)
def test_repair_undoes_what_cannot_be_meant_otherwise(value, part, expected):
    schema = tool_with(part, required=False).input_schema

    assert Restorer(schema).restore(value) == expected


async def test_a_call_takes_arguments_of_strict_mode_at_any_depth():
    body = object_of({"inner": object_of({"a": TEXT, "m": MAP_OF_TEXT}), "n": WHOLE})
    arguments = {"inner": {"a": None, "m": [{"key": "k", "value": "v"}]}, "n": None}

    result = await echoing(with_body(body)).call("post_x", arguments)

    assert result.output == {"inner": {"m": {"k": "v"}}}


@pytest.mark.long
def test_alternatives_inside_alternatives_do_not_multiply_on_the_way_back():
    again = {"n": {"$ref": "#/$defs/A"}}
    branches = [object_of({**again, "k": {"const": k}}, required=["n"]) for k in "abc"]
    tool = tool_with({"$ref": "#/$defs/A"}, A={"anyOf": [*branches, TEXT]})
    value = 7
    for _ in range(90):
        value = {"n": value}

    for profile in ("openai_strict", "gemini", "anthropic", ""):
        assert Restorer(tool.input_schema, profile).restore({"x": value}) == {"x": value}


def test_a_chain_of_what_cannot_be_expressed_ends():
    chain = {
        f"C{level}": object_of({"n": {"$ref": f"#/$defs/C{level + 1}"}}, required=["n"])
        for level in range(80)
    }
    end = {"C80": text(**{"not": {"pattern": "a"}})}

    with pytest.raises(CannotExpress, match="too many of its definitions cannot be expressed"):
        define_tool(tool_with({"$ref": "#/$defs/C0"}, **chain, **end), "gemini")


def bare_arrays(node):
    """Yield the arrays without `items` in a schema, which clients and providers refuse."""
    if isinstance(node, dict):
        if "array" in node.get("type", ()) and "items" not in node:
            yield node
        node = list(node.values())
    for part in node if isinstance(node, list) else ():
        yield from bare_arrays(part)


def large_body(leaf, count):
    """Return a body that no budget holds: groups of settings, each with some leaves."""
    groups = {
        f"group_{group}": object_of(
            {
                f"settings_{group}_{n}": object_of(
                    {f"option_{group}_{n}_{k}": leaf for k in range(4)}
                )
                for n in range(8)
            }
        )
        for group in range(count)
    }
    return with_body(object_of(groups))


LEAVES = {
    "arrays": array({"type": "string", "enum": [f"value_{n}" for n in range(9)]}),
    "arrays or null": {"type": ["array", "null"], "items": text(description="A word. " * 20)},
    "bare arrays": {"type": "array"},
    "arrays of arrays": array(array(text(description="A word. " * 20))),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)
def test_arrays_have_items_before_and_after_the_cut_to_a_budget(leaf, count, profile):
    toolset = load_tools(document(large_body(leaf, count)))

    (definition,) = toolset.definitions(profile)

    assert [*bare_arrays(definition)] == []
    assert [*bare_arrays(next(iter(toolset)).input_schema)] == []
