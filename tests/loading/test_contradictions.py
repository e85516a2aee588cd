"""Keywords that a document's own values contradict: not enforced, reported, never shown."""

from __future__ import annotations

import json

import pytest
from documents import component, document, operation, with_body

from openapi_tools import InputError, load_tools
from openapi_tools.validation.checker import Checker

STRING, WHOLE = {"type": "string"}, {"type": "integer"}
GUID = "^[0-9A-F]{8}-([0-9A-F]{4}-){3}[0-9A-F]{12}$"
SMALL = "b14acd0d-75d7-4fc8-8b22-4a3924585cab"


def array(items=None, **keywords):
    """Return the schema of an array, without `items` if there are none."""
    return {"type": "array", **({} if items is None else {"items": items}), **keywords}


def closed(**properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}


def in_query(schema, **parameter):
    declared = {"name": "v", "in": "query", "schema": schema, **parameter}
    return {"/x": {"get": operation(parameters=[declared])}}


def in_body(schema):
    return with_body({"type": "object", "properties": {"v": schema}})


def in_items(schema):
    """A property of the items of a component, as alternatives refer to it."""
    return with_body({"type": "object", "properties": {"list": array(component("Holder"))}})


def load_tool(schema, place="query", **fields):
    """Return the one tool of a document that has the schema in a place, and its toolset."""
    if place == "component":
        holder = {"type": "object", "properties": {"v": schema}}
        components = {"schemas": {"Holder": holder, **fields.pop("schemas", {})}}
        toolset = load_tools(document(in_items(schema), components=components, **fields))
    else:
        fields = {"components": {"schemas": fields.pop("schemas", {})}, **fields}
        paths = in_body(schema) if place == "body" else in_query(schema)
        toolset = load_tools(document(paths, **fields))
    (tool,) = toolset
    return tool, toolset


def fits(tool, value, place="query"):
    """Return whether the tool takes the value in the place of its schema."""
    arguments = {"list": [{"v": value}]} if place == "component" else {"v": value}
    try:
        Checker(tool.input_schema).check(arguments)
    except InputError:
        return False
    return True


def schema_of_value(tool, place="query"):
    if place == "component":
        return tool.input_schema["$defs"]["Holder"]["properties"]["v"]
    return tool.input_schema["properties"]["v"]


CONTRADICTED = [
    # what a published document has, values that fit, values that do not, the keyword reported
    ("a number in an enum of strings",
     {"type": "string", "enum": [1, 2]}, ["1", 1], ["9", 3], "enum"),
    ("a truth in an enum of strings", {"type": "string", "enum": [True, False]},
     ["true", True], ["yes"], "enum"),
    ("some numbers in an enum of strings", {"type": "string", "enum": ["a", 7]},
     ["a", "7", 7], ["b"], "enum"),
    ("null in an enum of strings", {"type": "string", "enum": ["a", None]}, ["a", None], ["b"],
     "enum"),
    ("strings in an enum of integers", {"type": "integer", "enum": ["10", "20"]},
     [10, "20"], [30, "x"], "enum"),
    ("strings in an enum of numbers",
     {"type": "number", "enum": ["0.5", "1"]}, [0.5, 1], [2], "enum"),
    ("strings in an enum of booleans", {"type": "boolean", "enum": ["true", "false"]},
     [True, "false"], ["x"], "enum"),
    ("words in an enum of integers", {"type": "integer", "enum": ["a", "b"]}, ["a"], [1], "type"),
    ("one word in an enum of integers", {"type": "integer", "enum": [1, "all"]},
     [1, "all"], [2, "some"], "enum"),
    ("words in an enum of objects", {"type": "object", "enum": ["a"]}, ["a"], ["b", {}], "type"),
    ("a number as the constant of a string",
     {"type": "string", "const": 5}, ["5", 5], ["6"], "const"),
    ("items of another type", array({"type": "string", "enum": [5, 7]}), [["5"], [7]], [["9"]], ""),
    ("an enum beside the items", array(STRING, enum=["a", "b"]), [["a", "b"], []], [["c"]], "enum"),
    ("an enum and no items", array(enum=["a", "b"]), [["a"]], [["c"], "a"], "enum"),
    ("an enum on both",
     array({**STRING, "enum": ["a"]}, enum=["a", "b"]), [["a"]], [["b"]], "enum"),
    ("an enum on items of items", array(array(STRING), enum=["a"]), [[["a"]]], [[["b"]]], "enum"),
    ("an enum of numbers on strings", array(STRING, enum=[1]), [["1"], [1]], [["2"]], "enum"),
    ("a constant beside the items", array(STRING, const="a"), [["a"]], [["b"]], "const"),
    ("an enum beside a reference", array(component("Text"), enum=["a"]), [["a"]], [["b"]], "enum"),
    ("a pattern beside the items", array(STRING, pattern="^[a-z]$"), [["a"]], [["1"]], "pattern"),
    ("a pattern and no items", array(pattern="/^[a-z]$/"), [["a"]], [["1"]], "pattern"),
    ("minimum over maximum",
     {"type": "integer", "minimum": 10, "maximum": 1}, [5, 0], ["a"], "minimum"),
    ("equal exclusive bounds", {"type": "number", "exclusiveMinimum": 1, "maximum": 1}, [1], [],
     "exclusiveMinimum"),
    ("no integer between", {"type": "integer", "minimum": 0.2, "maximum": 0.8}, [1], [], "minimum"),
    ("no multiple between", {"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 10},
     [5], [], "minimum"),
    ("minLength over maxLength",
     {**STRING, "minLength": 5, "maxLength": 2}, ["abc"], [1], "minLength"),
    ("no length", {**STRING, "maxLength": 0}, ["abc"], [1], "maxLength"),
    ("no items", array(STRING, maxItems=0), [["a"]], [[1]], "maxItems"),
    ("minItems over maxItems",
     array(STRING, minItems=3, maxItems=1), [["a", "b"]], [[1]], "minItems"),
    ("minProperties over maxProperties", {"type": "object", "minProperties": 2, "maxProperties": 1},
     [{"a": 1}], [1], "minProperties"),
    ("a closed object with too few names", {**closed(a=STRING), "minProperties": 2},
     [{"a": "x"}], [{"b": 1}], "minProperties"),
    ("a closed object without a required name", {**closed(a=STRING), "required": ["b"]},
     [{"b": 1}], [{"a": "x"}, {"b": 1, "c": 1}], "required"),
    ("an object closed by a string",
     {**closed(a=STRING), "additionalProperties": "false", "required": ["b"]},
     [{"b": 1}], [{"a": "x"}, {"b": 1, "c": 1}], "required"),
    ("an enum longer than maxLength", {**STRING, "maxLength": 2, "enum": ["abc", "d"]},
     ["abc", "d"], ["e"], "maxLength"),
    ("an enum against its pattern", {**STRING, "pattern": "^[A-Z]+$", "enum": ["open", "OPEN"]},
     ["open", "OPEN"], ["shut"], "pattern"),
    ("a pattern with slashes", {**STRING, "pattern": "/^[a-z0-9_]+$/"}, ["a_1"], ["A"], "pattern"),
    ("a pattern with a flag", {**STRING, "pattern": "/^[a-f]x{2}[^b-d]$/i"}, ["AXXz", "axX1"],
     ["AXXB", "axxb", "gxxz"], "pattern"),
    ("a pattern with hashes", {**STRING, "pattern": "#^[a-z]+$#"}, ["a"], ["#a#"], "pattern"),
    ("a flag in the pattern", {**STRING, "pattern": "(?i)^(all|none)$"}, ["ALL"], ["x"], "pattern"),
    ("other ends of a pattern",
     {**STRING, "pattern": r"\A[a-z]+\Z"}, ["a"], ["1", "Aa"], "pattern"),
    ("flags that change the syntax", {**STRING, "pattern": "/^a b$/x"}, ["ab"], [1], "pattern"),
    ("the name of a format",
     {**STRING, "pattern": "date", "format": "date"}, ["2024-01-02"], [1], "pattern"),
    ("a mask of a date", {**STRING, "pattern": "YYYY-MM-DD"}, ["2024-01-02"], [1], "pattern"),
    ("a mask of a time",
     {**STRING, "pattern": "yyyy-MM-dd'T'HH:mm:ss"}, ["2024-01-02"], [1], "pattern"),
    ("a mask of digits", {**STRING, "pattern": "###-##-####"}, ["123-45-6789"], [1], "pattern"),
    ("a mask of letters", {**STRING, "pattern": "AAA-999"}, ["abc-123"], [1], "pattern"),
    ("letters in words", {**STRING, "pattern": "a-z, A-Z, 0-9"}, ["x1"], [1], "pattern"),
    ("prose", {**STRING, "pattern": "letters and digits"}, ["x1"], [1], "pattern"),
    ("a POSIX class", {**STRING, "pattern": "^[[:alpha:]]+$"}, ["abc"], [1], "pattern"),
    ("a class of Java", {**STRING, "pattern": r"^\p{javaLowerCase}+$"}, ["abc"], [1], "pattern"),
    ("a wildcard of files", {**STRING, "pattern": "*.txt"}, ["a.txt"], [1], "pattern"),
    ("an example in small letters",
     {**STRING, "pattern": GUID, "example": SMALL}, [SMALL], [1], "pattern"),
    ("a default that does not match",
     {**STRING, "pattern": "^[a-z]+$", "default": "A1"}, ["A1"], [1],
     "pattern"),
]  # fmt: skip
IDS = [row[0] for row in CONTRADICTED]


@pytest.mark.parametrize("place", ["query", "body", "component"])
@pytest.mark.parametrize(
    ("schema", "good", "bad", "keyword"), [r[1:] for r in CONTRADICTED], ids=IDS
)
def test_a_keyword_that_no_value_keeps_is_not_enforced_and_reported(
    schema, good, bad, keyword, place
):
    tool, toolset = load_tool(schema, place, schemas={"Text": STRING})

    assert [value for value in good if not fits(tool, value, place)] == []
    assert [value for value in bad if fits(tool, value, place)] == []
    (warning,) = toolset.warnings
    pointer, _, message = warning.partition(": ")
    assert pointer.startswith(("/paths/~1x/", "/components/schemas/Holder/properties/v"))
    assert pointer.endswith(f"/{keyword}" if keyword else "/v/items/enum") or not keyword
    assert message.endswith(".")


ENFORCED = [
    ("an enum of its type", {**STRING, "enum": ["1", "2"]}, ["1"], ["3", 1]),
    ("an enum of arrays", array(STRING, enum=[["a"], ["a", "b"]]), [["a", "b"]], [["b"]]),
    ("a nullable enum", {"type": ["string", "null"], "enum": ["a", None]}, ["a"], ["b"]),
    ("integers in an enum of numbers", {"type": "number", "enum": [1, 2.5]}, [1, 2.5], [2]),
    ("equal bounds", {"type": "integer", "minimum": 3, "maximum": 3}, [3], [2, 4]),
    ("a multiple at a bound", {"type": "integer", "minimum": 1, "maximum": 10, "multipleOf": 10},
     [10], [5]),
    ("slashes of a path", {**STRING, "pattern": "^/api/"}, ["/api/x"], ["api"]),
    ("slashes at both ends", {**STRING, "pattern": "/api/"}, ["/api/x"], ["api"]),
    ("a path that ends like flags", {**STRING, "pattern": "/users/i"}, ["/users/i"], ["users"]),
    ("slashes between anchors", {**STRING, "pattern": "^/.*/$"}, ["/a/"], ["a"]),
    ("slashes that the example has",
     {**STRING, "pattern": "/[a-z]+/", "example": "/a/"}, ["/b/"], ["b"]),
    ("a plain pattern", {**STRING, "pattern": "^[a-z]+$"}, ["a"], ["1"]),
    ("a pattern and a matching example",
     {**STRING, "pattern": "^[a-z]+$", "example": "a"}, ["b"], ["1"]),
    ("a pattern and a shortened example",
     {**STRING, "pattern": "^[a-f0-9]{8}$", "example": "0abc..."},
     ["01234567"], ["x"]),
    ("a word", {**STRING, "pattern": "github"}, ["github"], ["gitlab"]),
    ("a prefix", {**STRING, "pattern": "arn:aws:"}, ["arn:aws:s3"], ["x"]),
]  # fmt: skip


@pytest.mark.parametrize("place", ["query", "body", "component"])
@pytest.mark.parametrize(
    ("schema", "good", "bad"), [r[1:] for r in ENFORCED], ids=[r[0] for r in ENFORCED]
)
def test_a_keyword_that_values_keep_stays_enforced(schema, good, bad, place):
    tool, toolset = load_tool(schema, place)

    assert [value for value in good if not fits(tool, value, place)] == []
    assert [value for value in bad if fits(tool, value, place)] == []
    assert [text for text in toolset.warnings if "does not match its own schema" not in text] == []


def test_a_pattern_that_is_not_enforced_stays_in_the_description():
    tool, toolset = load_tool({**STRING, "pattern": "YYYY-MM-DD", "description": "The day."})

    assert schema_of_value(tool) == {
        "type": "string",
        "description": "The day. Pattern in the document: `YYYY-MM-DD`.",
    }
    (warning,) = toolset.warnings
    assert warning == (
        '/paths/~1x/get/parameters/0/schema/pattern: "YYYY-MM-DD" is a character mask, not a '
        "regular expression; it is not enforced."
    )


def test_an_alternative_may_stand_for_the_empty_string():
    union = {"anyOf": [{"type": "string", "minLength": 3}, {"type": "string", "maxLength": 0}]}
    tool, toolset = load_tool(union)

    assert [fits(tool, text) for text in ("", "a", "abc")] == [True, False, True]
    assert toolset.warnings == ()


def test_a_parameter_may_stand_for_the_empty_string():
    flag = {"type": "string", "maxLength": 0}
    toolset = load_tools(document(in_query(flag, allowEmptyValue=True)))
    (tool,) = toolset

    assert [fits(tool, text) for text in ("", "a")] == [True, False]
    assert toolset.warnings == ()


def test_one_right_of_several_examples_proves_a_pattern():
    tool, toolset = load_tool({**STRING, "pattern": "^[a-z]+$", "examples": ["A", "b"]})

    assert schema_of_value(tool) == {"type": "string", "pattern": "^[a-z]+$", "examples": ["b"]}
    assert len(toolset.warnings) == 1


@pytest.mark.parametrize("openapi", ["3.0.3", "3.1.1"])
def test_the_example_of_a_parameter_contradicts_the_pattern_of_a_component(openapi):
    schemas = {"Guid": {**STRING, "pattern": GUID}}
    paths = in_query(component("Guid"), example=SMALL)
    toolset = load_tools(document(paths, openapi=openapi, components={"schemas": schemas}))
    (tool,) = toolset

    assert fits(tool, SMALL)
    assert schema_of_value(tool)["examples"] == [SMALL]
    assert len(toolset.warnings) == 1
    assert "/parameters/0/" in toolset.warnings[0]


def test_a_component_keeps_the_pattern_that_the_example_beside_a_reference_breaks():
    schemas = {"Guid": {**STRING, "pattern": GUID}}
    both = {"a": {**component("Guid"), "example": SMALL}, "b": component("Guid")}
    paths = with_body({"type": "object", "properties": both})
    toolset = load_tools(document(paths, components={"schemas": schemas}))
    checker = Checker(next(iter(toolset)).input_schema)

    checker.check({"a": SMALL, "b": SMALL.upper()})
    with pytest.raises(InputError, match="does not match the pattern"):
        checker.check({"b": SMALL})
    assert len(toolset.warnings) == 1


DISPLAYED = [
    # the keywords of a schema, what is shown in the end
    ("a number as a string", {**WHOLE, "example": "30"}, [30]),
    ("a float as a string", {**WHOLE, "example": "30.0"}, [30]),
    ("a string as a number", {**STRING, "example": 93}, ["93"]),
    ("a string as a boolean", {**STRING, "example": True}, ["true"]),
    ("a boolean as a string", {"type": "boolean", "default": "False"}, [False]),
    ("commas", array(STRING, example="a,b"), [["a", "b"]]),
    ("commas between numbers", array(WHOLE, example="1, 2"), [[1, 2]]),
    ("one item", array(WHOLE, example=5), [[5]]),
    ("an array as a string", array(WHOLE, example="[1, 2]"), [[1, 2]]),
    ("numbers as strings in an array", array(WHOLE, example=["1", 2]), [[1, 2]]),
    ("an object as a string",
     {"type": "object", "properties": {"a": WHOLE}, "example": '{"a": "1"}'},
     [{"a": 1}]),
    ("another case", {**STRING, "enum": ["ASC", "DESC"], "default": "asc"}, ["ASC"]),
    ("quotes in quotes", {**STRING, "enum": ["git", "svn"], "example": '"git"'}, ["git"]),
    ("several examples as one", {**STRING, "example": ["a", "b"]}, ["a", "b"]),
    ("through a reference", {"anyOf": [component("Whole"), {"type": "null"}], "default": "7"}, [7]),
    ("a time for a number", {**WHOLE, "example": "2025-10-15T13:51:40Z"}, []),
    ("null", {**STRING, "default": None}, []),
    ("an empty string for an array", array(STRING, default=""), []),
    ("out of range", {**WHOLE, "minimum": 10, "example": 0}, []),
    ("two meanings", {**STRING, "enum": ["Asc", "ASC"], "default": "asc"}, []),
    ("an object without a required property",
     {"type": "object", "required": ["a"], "example": {"b": 1}}, []),
    ("beside a reference", {**component("Whole"), "default": "x"}, []),
    ("inside what refers to itself",
     {"allOf": [component("Node")], "example": {"next": {"next": {"size": "x"}}}}, []),
    ("agreeing", {**WHOLE, "example": 30, "default": 5}, [30, 5]),
    ("an agreeing object", {"allOf": [component("Node")], "example": {"next": {"size": 1}}},
     [{"next": {"size": 1}}]),
    ("a pattern with lookahead", {**STRING, "pattern": "^(?=a).$", "example": "b"}, ["b"]),
]  # fmt: skip
COMPONENTS = {
    "Whole": WHOLE,
    "Node": {
        "type": "object",
        "properties": {"next": component("Node"), "size": WHOLE},
        "example": {"next": {"size": "2"}},
    },
}


@pytest.mark.parametrize("place", ["query", "body", "component"])
@pytest.mark.parametrize(
    ("schema", "expected"), [r[1:] for r in DISPLAYED], ids=[r[0] for r in DISPLAYED]
)
def test_values_that_are_shown_fit(schema, expected, place):
    tool, toolset = load_tool(schema, place, schemas=COMPONENTS)
    node = schema_of_value(tool, place)

    values = [*node.get("examples", ()), *([node["default"]] if "default" in node else [])]
    assert json.dumps(values) == json.dumps(expected)
    assert all(fits(tool, value, place) for value in values)
    warnings = [text for text in toolset.warnings if "/Node/" not in text]
    is_changed = json.dumps(schema.get("example", schema.get("default"))) not in map(
        json.dumps, expected
    )
    assert len(warnings) == is_changed


def test_the_example_of_a_component_that_refers_to_itself_is_read():
    tool, toolset = load_tool(component("Node"), "body", schemas=COMPONENTS)

    assert tool.input_schema["$defs"]["Node"]["examples"] == [{"next": {"size": 2}}]
    (warning,) = toolset.warnings
    assert warning == (
        '/components/schemas/Node/example: {"next": {"size": "2"}} does not match its own schema; '
        'it is read as {"next": {"size": 2}}.'
    )


def test_the_example_of_an_error_fits():
    paths = in_query({**WHOLE, "example": "30"}, required=True)
    (tool,) = load_tools(document(paths))

    with pytest.raises(InputError, match=r'Example: \{"v": 30\}'):
        Checker(tool.input_schema).check({}, example=True)


EXCLUDING = [
    ("types", [STRING, WHOLE], ["a", 1], [{}]),
    ("values", [{**STRING, "enum": ["a"]}, {**STRING, "enum": ["b"]}], ["a", "b"], ["c"]),
    ("by way of a component", [component("Text"), {**WHOLE, "description": "d"}], ["a", 1], [{}]),
    ("constants of a property",
     [{"type": "object", "properties": {"kind": {"const": "pet"}}, "required": ["kind"]},
      {"properties": {"kind": {"const": "dog"}}}],
     [{"kind": "dog"}, {"kind": "pet"}], [{"kind": 1}]),
]  # fmt: skip


@pytest.mark.parametrize("place", ["query", "body", "component"])
@pytest.mark.parametrize(
    ("parts", "good", "bad"), [row[1:] for row in EXCLUDING], ids=[row[0] for row in EXCLUDING]
)
def test_of_branches_that_exclude_each_other_one_is_enough(parts, good, bad, place):
    tool, toolset = load_tool({"allOf": parts}, place, schemas={"Text": STRING})

    assert [value for value in good if not fits(tool, value, place)] == []
    assert [value for value in bad if fits(tool, value, place)] == []
    (warning,) = toolset.warnings
    assert "/allOf: " in warning


ANIMAL, BARK = closed(name=STRING), closed(bark=STRING)
CLOSED = [
    ("two closed branches", {"allOf": [ANIMAL, BARK]}),
    ("a closed base by reference", {"allOf": [component("Animal"), BARK]}),
    ("beside properties", {**BARK, "allOf": [component("Animal")]}),
    ("an open base", {**BARK, "allOf": [{"type": "object", "properties": {"name": STRING}}]}),
    ("closed around references", {"type": "object", "additionalProperties": False,
                                  "allOf": [component("Animal"), component("Bark")]}),
    ("closed by unevaluatedProperties", {"unevaluatedProperties": False,
                                         "allOf": [component("Animal"), component("Bark")]}),
    ("beside a reference", {**component("Animal"), **BARK}),
    ("with alternatives that stay apart",
     {"allOf": [{**ANIMAL, "anyOf": [{"required": ["name"]}]},
                {**BARK, "anyOf": [{"required": ["bark"]}]}]}),
    ("in a union", {"anyOf": [{"allOf": [component("Animal"), BARK]}, {"type": "null"}]}),
    ("by way of another component", component("Dog")),
]  # fmt: skip


@pytest.mark.parametrize("place", ["query", "body", "component"])
@pytest.mark.parametrize("schema", [row[1] for row in CLOSED], ids=[row[0] for row in CLOSED])
def test_closed_objects_are_closed_over_the_properties_of_all(schema, place):
    dog = {"allOf": [component("Animal"), component("Bark")]}
    schemas = {"Animal": ANIMAL, "Bark": BARK, "Dog": dog}
    tool, toolset = load_tool(schema, place, schemas=schemas)

    assert fits(tool, {"name": "Rex", "bark": "loud"}, place)
    assert not fits(tool, {"name": "Rex", "bark": "loud", "zzz": 1}, place)
    assert not fits(tool, {"name": 1, "bark": "loud"}, place)
    (warning,) = toolset.warnings
    assert "closed objects" in warning


ITEMS = [
    array(),
    array(array()),
    array(prefixItems=[STRING, WHOLE]),
    {"type": ["array", "null"]},
    {"anyOf": [array(), STRING]},
    {"allOf": [array(), {"minItems": 1}]},
    array(component("Bare")),
    {"type": "object", "additionalProperties": array()},
]


def bare_arrays(node):
    """Yield the arrays without `items` in a schema."""
    if isinstance(node, dict):
        if "array" in node.get("type", ()) and "items" not in node:
            yield node
        node = [value for key, value in node.items() if key not in ("enum", "default", "examples")]
    for part in node if isinstance(node, list) else ():
        yield from bare_arrays(part)


@pytest.mark.parametrize("place", ["query", "body", "component"])
@pytest.mark.parametrize("schema", ITEMS, ids=json.dumps)
def test_every_array_has_items(schema, place):
    tool, toolset = load_tool(schema, place, schemas={"Bare": array()})

    assert [*bare_arrays(tool.input_schema)] == []
    assert toolset.warnings == ()


def test_items_of_a_branch_are_not_lost_to_an_array_without():
    tool, _ = load_tool({"allOf": [array(), array(WHOLE)]})

    assert schema_of_value(tool) == array(WHOLE)


def test_repeated_values_of_an_enumeration_are_one():
    values = ["a", "a", "b", 1, 1.0, True, {"x": 1}, {"x": 1.0}]
    tool, toolset = load_tool({"enum": values})

    assert schema_of_value(tool) == {"enum": ["a", "b", 1, True, {"x": 1}]}
    assert toolset.warnings == ()


SWAGGER = {"name": "v", "in": "query", "collectionFormat": "multi"}


@pytest.mark.parametrize(
    ("parameter", "good"),
    [
        ({**array(STRING), "enum": ["a", "b"]}, ["a"]),
        ({"type": "string", "enum": [1, 2]}, "1"),
        ({"type": "string", "pattern": "/^[a-z]+$/"}, "a"),
        ({"type": "integer", "minimum": 2, "maximum": 1}, 5),
        ({"type": "integer", "default": "5"}, 5),
    ],
    ids=json.dumps,
)
def test_parameters_of_swagger_2_are_read_alike(parameter, good):
    declared = {**SWAGGER, **parameter}
    paths = {"/x": {"get": operation(parameters=[declared])}}
    toolset = load_tools(document(paths, openapi="2.0"))
    (tool,) = toolset

    assert fits(tool, good)
    (warning,) = toolset.warnings
    assert warning.startswith("/paths/~1x/get/parameters/0/")


def test_each_kind_of_contradiction_is_reported_ten_times_and_counted():
    listed = [
        {"name": f"{kind}{n}", "in": "query", "schema": schema}
        for n in range(12)
        for kind, schema in (
            ("a", {"type": "string", "enum": [n]}),
            ("b", {**WHOLE, "default": "x"}),
        )
    ]
    warnings = load_tools(document({"/x": {"get": operation(parameters=listed)}})).warnings

    assert len(warnings) == 22
    assert warnings[10] == "2 more keywords are contradicted by their schema's own values."
    assert warnings[21] == "2 more examples and defaults do not match their own schema."
