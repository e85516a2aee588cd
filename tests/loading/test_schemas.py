from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import jsonschema_rs
import pytest
from documents import component, operation, tools, with_body, with_schema

from openapi_tools import InputError, Settings
from openapi_tools.common.json_values import dump_json_bytes, json_size, max_json_length


def schema_of(schema, *, schemas=None, **fields):
    """What the model reads about a query parameter."""
    return whole(schema, schemas=schemas, **fields)["properties"]["q"]


def whole(schema, *, schemas=None, openapi="3.1.1"):
    """The input schema of a tool that has it as a query parameter."""
    fields = {"components": {"schemas": schemas}} if schemas else {}
    return with_schema(schema, openapi=openapi, **fields)


def object_of(**properties):
    return {"type": "object", "properties": properties}


TEXT = {"type": "string"}
TRANSLATED = [
    # JSON Schema 2020-12 for what OpenAPI 3.0.4, section 4.7.24 and Swagger 2.0 say otherwise
    ("nullable", "3.0.3", {"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ("nullable enum", "3.0.3", {"type": "string", "nullable": True, "enum": ["a"]},
     {"type": ["string", "null"], "enum": ["a", None]}),
    ("nullable false", "3.0.3", {"type": "string", "nullable": False}, {"type": "string"}),
    ("nullable anyOf", "3.0.3",
     {"nullable": True, "anyOf": [{"type": "string"}, {"type": "integer"}]},
     {"anyOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}]}),
    ("x-nullable", "3.0.3", {"type": "string", "x-nullable": True}, {"type": ["string", "null"]}),
    ("exclusive minimum", "3.0.3", {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
     {"type": "integer", "exclusiveMinimum": 1}),
    ("not exclusive", "3.0.3", {"type": "integer", "maximum": 9, "exclusiveMaximum": False},
     {"type": "integer", "maximum": 9}),
    ("example", "3.0.3", {"type": "string", "example": "a"}, {"type": "string", "examples": ["a"]}),
    ("tuple items", "3.0.3", {"type": "array", "items": [{"type": "string"}]},
     {"type": "array", "prefixItems": [{"type": "string"}], "items": {}}),
    ("type array", "3.1.1", {"type": ["string", "null"]}, {"type": ["string", "null"]}),
    ("const", "3.1.1", {"const": 3}, {"const": 3}),
    ("prefixItems", "3.1.1", {"type": "array", "prefixItems": [{"type": "string"}, True]},
     {"type": "array", "prefixItems": [{"type": "string"}, {}], "items": {}}),
    ("boolean schema", "3.1.1", True, {}),
    ("never", "3.1.1", False, {"not": {}}),
    ("identifiers", "3.1.1",
     {"$id": "https://x.example/a", "$anchor": "a", "$comment": "c", "$schema": "http://x.example",
      "type": "string"}, {"type": "string"}),
    ("extensions", "3.0.3", {"type": "string", "x-a": 1, "xml": {}, "externalDocs": {"url": "u"}},
     {"type": "string"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("openapi", "declared", "expected"),
    [row[1:] for row in TRANSLATED],
    ids=[r[0] for r in TRANSLATED],
)
def test_schemas_of_every_version_become_json_schema_2020_12(openapi, declared, expected):
    assert schema_of(declared, openapi=openapi) == expected


MALFORMED = [  # beside those of test_input_warnings.py
    *({"type": kind} for kind in ("float", "any", ["string", "string"])),
    *({"required": ["a", "a"]}, {"multipleOf": 0}, {"anyOf": []}, {"items": None}),
]


@pytest.mark.parametrize("declared", MALFORMED, ids=json.dumps)
def test_a_malformed_keyword_is_left_out_and_the_rest_stays(declared):
    schema = whole({**declared, "title": "kept"})

    assert schema["properties"]["q"]["title"] == "kept"
    jsonschema_rs.meta.validate(schema)


def test_only_the_definitions_that_are_reached_are_kept_and_recursion_stays_a_reference():
    schemas = {"Node": object_of(next=component("Node")), "Unused": TEXT}

    schema = whole(component("Node"), schemas=schemas)

    assert schema["$defs"] == {"Node": object_of(next={"$ref": "#/$defs/Node"})}


def test_a_reference_is_read_anywhere_in_the_document():
    schemas = ({"type": "integer"}, {"$ref": "#/paths/~1a/get/parameters/0/schema"})
    first, second = (
        {"get": operation(parameters=[{"name": "q", "in": "query", "schema": schema}])}
        for schema in schemas
    )

    schema = tools({"/a": first, "/b~c": second})["get_b_c"].input_schema

    (name,) = schema["$defs"]
    assert schema["properties"]["q"] == {"$ref": f"#/$defs/{name}"}
    assert schema["$defs"][name] == {"type": "integer"}


@pytest.mark.parametrize(
    "ref",
    ["#/components/schemas/a~1b", "#/components/schemas/a%2Fb", "#/components/schemas/a%7E1b"],
    ids=["escape", "percent-encoded slash", "percent-encoded escape"],
)
def test_pointer_escapes_are_understood(ref):
    schemas = {"a/b": {"type": "integer"}, "a": {"b": {"type": "integer"}}}

    assert list(whole({"$ref": ref}, schemas=schemas)["$defs"].values()) == [{"type": "integer"}]


def test_a_property_named_ref_is_a_property():
    declared = object_of(**{"$ref": TEXT, "example": {"type": "integer"}})

    assert schema_of(declared) == declared


def test_keywords_beside_a_reference_count_from_3_1_on():
    schemas = {"A": TEXT}
    declared = {**component("A"), "minLength": 3, "description": "d"}

    new, old = (schema_of(declared, openapi=each, schemas=schemas) for each in ("3.1.1", "3.0.3"))

    assert new == {"$ref": "#/$defs/A", "minLength": 3, "description": "d"}
    assert old == {"$ref": "#/$defs/A", "description": "d"}


MERGED = [
    ("properties",
     [{**object_of(a={}), "required": ["a"]}, {"properties": {"b": {}}, "required": ["b", "a"]}],
     {**object_of(a={}, b={}), "required": ["a", "b"]}),
    ("limits", [{"type": "integer", "minimum": 1, "maximum": 9}, {"minimum": 3, "maximum": 20}],
     {"type": "integer", "minimum": 3, "maximum": 9}),
    ("types", [{"type": ["integer", "string"]}, {"type": ["number", "string"]}],
     {"type": ["string", "integer"]}),
    ("enum", [{"enum": [1, 2, 3]}, {"enum": [3, 2, True]}], {"enum": [2, 3]}),
    ("enum of arrays", [{"enum": [[1], 2]}, {"enum": [[True], 2]}], {"enum": [2]}),
    ("same property twice",
     [{"properties": {"a": {"minLength": 1}}}, {"properties": {"a": {"maxLength": 3}}}],
     {"properties": {"a": {"minLength": 1, "maxLength": 3}}}),
    ("closed over all",
     [{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}}],
     {"properties": {"a": {}, "b": {}}, "additionalProperties": False}),
    ("words around one", [{"type": "string"}], {"type": "string"}),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "expected"), [r[1:] for r in MERGED], ids=[r[0] for r in MERGED])
def test_all_of_is_merged_where_that_says_the_same(parts, expected):
    assert schema_of({"allOf": parts}) == expected


KEPT = [
    ("patterns", [{"pattern": "^a"}, {"pattern": "b$"}]),
    ("two unions", [{"anyOf": [{"type": "string"}]}, {"anyOf": [{"minLength": 3}]}]),
]  # fmt: skip


@pytest.mark.parametrize("parts", [row[1] for row in KEPT], ids=[row[0] for row in KEPT])
def test_all_of_is_kept_where_a_merge_would_say_something_else(parts):
    schema = {"type": "object", "properties": {"q": schema_of({"allOf": parts})}}
    original = {"type": "object", "properties": {"q": {"allOf": parts}}}

    ours = jsonschema_rs.Draft202012Validator(schema)
    theirs = jsonschema_rs.Draft202012Validator(original)
    for value in [{}, {"a": 1}, {"b": 1}, {"a": 1, "b": 1}, "a", "ab", "b", "abc", 3, None]:
        assert ours.is_valid({"q": value}) == theirs.is_valid({"q": value}), value


INNER = {"allOf": [{"type": "string", "pattern": "^x"}, {"pattern": "y$"}]}


@pytest.mark.parametrize(
    ("declared", "schemas", "fits", "does_not"),
    [
        pytest.param(
            {"allOf": [component("Part"), {"type": "integer"}]},
            {"Part": {**component("A"), "minimum": 3}, "A": {"maximum": 9}},
            [3, 9], [2, 10, "a"], id="in a branch",
        ),
        pytest.param(
            component("B"),
            {"B": component("C"), "C": {**component("A"), "minLength": 2}, "A": TEXT},
            ["ab"], ["a", 2], id="after another reference",
        ),
        pytest.param(
            {"allOf": [component("B"), {"required": ["a", "b"]}]},
            {"B": {**component("A"), **object_of(b={"readOnly": True})}, "A": object_of(a=TEXT)},
            [{"a": "x"}], [{}, {"a": 1}], id="read-only",
        ),
        pytest.param(component("B"), {"B": {**component("A"), "nullable": True}, "A": TEXT},
                     ["a", None], [1], id="nullable"),
        pytest.param({"allOf": [INNER, {"pattern": "^a"}]}, {}, [], ["a", 1],
                     id="a contradiction inside"),
        pytest.param({"allOf": [{"minimum": 0}, INNER, INNER, {"minLength": 1}]}, {}, [], ["a", 1],
                     id="two contradictions inside"),
        pytest.param({"unevaluatedItems": {"type": "string"}, "allOf": [{"unevaluatedItems": {}}]},
                     {}, [[0], ["a"]], [], id="items that a branch has looked at"),
    ],
)  # fmt: skip
def test_nothing_beside_a_reference_or_inside_a_branch_is_lost(declared, schemas, fits, does_not):
    validator = jsonschema_rs.Draft202012Validator(whole(declared, schemas=schemas))

    assert [value for value in fits if not validator.is_valid({"q": value})] == []
    assert [value for value in does_not if validator.is_valid({"q": value})] == []


def test_read_only_properties_are_not_offered_wherever_they_are_declared():
    read_only = {**TEXT, "readOnly": True}
    pet = object_of(id=component("Id"), name=TEXT, made=read_only, owner=component("Owner"))
    schemas = {
        "Id": read_only,
        "Pet": {**pet, "required": ["id", "name", "made"]},
        "Owner": object_of(age=read_only, n={}),
    }
    (tool,) = tools(with_body(component("Pet")), components={"schemas": schemas})

    schema = tool.input_schema

    assert list(schema["properties"]) == ["name", "owner"]
    assert schema["required"] == ["name"]
    assert schema["$defs"] == {"Owner": object_of(n={})}


def test_a_base_with_its_variants_in_one_of_and_variants_that_extend_the_base():
    """Taken to the letter this never ends; it is published often."""
    variants = {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat"}}
    either = {"oneOf": [component("Cat"), component("Dog")], "discriminator": variants}
    cat = object_of(kind={"const": "cat"}, lives={"type": "integer"})
    schemas = {
        "Pet": {**object_of(kind=TEXT), "required": ["kind"], **either},
        "Cat": {"allOf": [component("Pet"), cat]},
        "Dog": {"allOf": [component("Pet"), object_of(kind={"const": "dog"})]},
    }

    schema = whole(component("Pet"), schemas=schemas)

    validator = jsonschema_rs.Draft202012Validator(schema)
    assert validator.is_valid({"q": {"kind": "cat", "lives": 9}})
    assert not validator.is_valid({"q": {"kind": "cat", "lives": "nine"}})
    assert not validator.is_valid({"q": {"lives": 9}})
    assert "`kind` selects the variant: cat." in json.dumps(schema)


OVERLAPPING: list[tuple[list[Any], Any, Any]] = [
    ([{"type": kind} for kind in ("boolean", "integer", "number", "string")], [True, 1, 1.5, "a"],
     []),
    ([{"type": "string"}, {"type": "string", "format": "date"}], ["a", "2026-02-03"], 1),
    ([object_of(**{name: TEXT}) for name in "ab"],
     [{}, {"a": "x"}, {"a": "x", "b": "y"}], {"a": 1, "b": 1}),
    ([{"type": "array", "items": {"type": kind}} for kind in ("integer", "string")],
     [[], [1], ["a"]], [1, "a"]),
    ([component("Text"), {"enum": ["abc"]}], ["abc", "abcd"], 1),
]  # fmt: skip


@pytest.mark.parametrize(("branches", "accepted", "refused"), OVERLAPPING)
def test_a_value_that_fits_several_alternatives_of_one_of_is_sent(branches, accepted, refused):
    (tool,) = tools(
        with_body(object_of(value={"oneOf": branches})),
        components={"schemas": {"Text": TEXT}},
        settings=Settings(base_url="http://api.example.com"),
    )

    assert [
        json.loads(tool.preview({"value": value}).content)["value"] for value in accepted
    ] == accepted
    with pytest.raises(InputError, match="/value"):
        tool.preview({"value": refused})


@pytest.mark.parametrize(
    ("value", "fits"), [("ab", True), ("a", False), ("abcdef", False), (7, False)]
)
def test_one_of_beside_any_of_asks_for_an_alternative_of_each(value, fits):
    unions = {
        "anyOf": [{"type": "string", "minLength": 2}, {"const": 5}],
        "oneOf": [{"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 5}],
    }

    validator = jsonschema_rs.Draft202012Validator(whole(unions))

    assert validator.is_valid({"q": value}) is fits


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_a_union_that_contains_itself_is_cut_open(keyword):
    schemas = {
        "A": {keyword: [component("B"), TEXT]},
        "B": {keyword: [component("A"), {"maxLength": 3}]},
    }

    validator = jsonschema_rs.Draft202012Validator(whole(component("A"), schemas=schemas))

    assert validator.is_valid({"q": "abc"})


def chain(count, link, end):
    """Components `S0`, `S1`, … each of which refers to the next."""
    return {**{f"S{i}": link(component(f"S{i + 1}")) for i in range(count)}, f"S{count}": end}


def double(ref):
    return object_of(**{name: {"allOf": [ref, object_of(x={})]} for name in "ab"})


def test_components_that_double_when_merged_stay_references_in_the_end():
    value: Any = {"z": "end"}
    for _ in range(40):
        value = {"a": value}

    schema = whole(component("S0"), schemas=chain(40, double, object_of(z=TEXT)))

    assert len(json.dumps(schema)) < 256_000
    assert jsonschema_rs.Draft202012Validator(schema).is_valid({"q": value})


def test_words_around_one_component_need_no_all_of():
    declared = {"allOf": [component("A")], "description": "a"}

    assert schema_of(declared, schemas={"A": TEXT}) == {"$ref": "#/$defs/A", "description": "a"}


def test_huge_enums_are_shortened_with_a_mark():
    result = schema_of({**TEXT, "enum": [f"v{i}" for i in range(60_000)]})

    assert "60000 values" in result["description"]


def test_where_everything_refers_to_everything_the_nearest_definitions_stay():
    schemas = {
        f"E{i}": {
            **object_of(**{f"p{j}": component(f"E{(i * 7 + j) % 1500}") for j in range(12)}),
            "description": "An entity. " * 20,
        }
        for i in range(1500)
    }

    schema = whole(component("E0"), schemas=schemas)

    assert len(json.dumps(schema)) < 256_000
    assert "E0" in schema["$defs"]


@pytest.mark.long
def test_a_huge_inline_schema_is_pruned_and_accepts_what_it_accepted():
    nested: dict[str, Any] = {**TEXT, "description": "words " * 30}
    for _ in range(5):
        nested = object_of(**{f"p{i}": nested for i in range(7)})

    schema = whole(json.loads(json.dumps(nested)))

    assert len(json.dumps(schema)) < 256_000
    validator = jsonschema_rs.Draft202012Validator(schema)
    assert validator.is_valid({"q": {"p0": {"p1": {"p2": {"p3": {"p4": "x"}}}}}})
    assert not validator.is_valid({"q": "x"})


def test_a_shrunk_schema_accepts_what_the_whole_one_accepts():
    schemas: dict[str, Any] = {
        f"E{i}": {
            **object_of(**{f"property_{j}": component(f"E{(i + j) % 1500}") for j in range(9)}),
            "not": component(f"No{(i - 700) % 1500}"),
        }
        for i in range(1500)
    }
    schemas |= {f"No{i}": {"required": ["nothing_has_this"]} for i in range(1500)}

    schema = whole({"oneOf": [component("E0"), component("E1"), TEXT]}, schemas=schemas)

    assert len(json.dumps(schema)) < 256_000
    validator = jsonschema_rs.Draft202012Validator(schema)
    assert validator.is_valid({"q": {"property_1": {}}})
    assert validator.is_valid({"q": "text"})


def test_a_property_required_by_one_branch_and_read_only_in_another_is_not_required():
    base = object_of(id={"readOnly": True}, n={})
    declared = {"allOf": [component("Base"), {"required": ["id", "n"]}]}

    result = schema_of({"properties": {"o": declared}}, schemas={"Base": base})

    assert result["properties"]["o"] == {**object_of(n={}), "required": ["n"]}


def test_what_stands_beside_a_reference_keeps_the_documents_order():
    beside = {"title": "T", "default": None, "nullable": True, "description": "D"}

    for order in permutations(beside):
        text = {**component("A"), **{key: beside[key] for key in order}}
        result = schema_of(text, openapi="3.0.3", schemas={"A": TEXT})
        words = [key for key in result if key in ("title", "default", "description")]
        assert words == [key for key in order if key != "nullable"]


@pytest.mark.parametrize(
    "value",
    [
        *("\x7f" * 50, "\U0001f680" * 50, "\ud800"),
        *([1e15, 1e16, 1e-7, 10**60], {"a": [True, None, "\n"]}),
    ],
    ids=["DEL", "astral", "half a character", "numbers", "nested"],
)
def test_the_quick_size_of_a_schema_is_never_too_small(value):
    schema = {"type": "string", "default": value}

    assert max_json_length(dump_json_bytes(schema)) >= json_size(schema)
