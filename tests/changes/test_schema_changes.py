"""Two versions of a schema: what differs, and whether it may refuse what was valid."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from schema_pairs import VALUES, close_schema, pairs

from openapi_tools.changes.schema_changes import compare_schemas
from openapi_tools.changes.tool_changes import describe_difference

UNKNOWN = "changed; input that was valid may now be refused"
TEXT, COUNT, OBJECT = {"type": "string"}, {"type": "integer"}, {"type": "object"}
CLOSED = {"type": "object", "additionalProperties": False}


def describe_changes(old, new):
    """The differences between two schemas as texts, each with whether it is breaking."""
    return [
        (f"{d.pointer} {describe_difference(d._replace(pointer=''))}".strip(), d.breaking)
        for d in compare_schemas(old, new)
    ]


def object_of(**properties):
    return {"type": "object", "properties": properties}


def closed(**properties):
    return {**CLOSED, "properties": properties}


def any_of(*schemas):
    return {"anyOf": [*schemas]}


def one_of(*schemas):
    return {"oneOf": [*schemas]}


PLAIN = [
    # old, new, how it reads, whether old -> new breaks, whether new -> old breaks
    (*(TEXT, {"type": ["string", "null"]}, "type was 'string', is ['string', 'null'] now"),
     *(False, True)),
    (COUNT, {"type": "number"}, "type was 'integer', is 'number' now", False, True),
    (TEXT, {}, "type 'string' is gone", False, True),
    ({"type": ["string", "null"]}, {"type": ["null", "string"]}, "type was", False, False),
    ({"enum": ["a"]}, {"enum": ["b", "a"]}, "also allowed now: 'b'", False, True),
    ({"enum": ["a", 1]}, {"enum": ["a"]}, "no longer allowed: 1", True, False),
    ({"enum": [1]}, {"enum": [True]}, "no longer allowed: 1", True, True),
    ({"enum": ["a"]}, {"const": "a"}, "const is 'a' now", False, False),
    ({"const": "a"}, {"enum": ["a", "b"]}, "enum is ['a', 'b'] now", False, True),
    ({"type": "boolean"}, {"enum": [True, False]}, "enum is [True, False] now", True, True),
    ({"type": "string", "enum": ["a", 5]}, {"enum": ["a"]}, "no longer allowed: 5", True, True),
    ({"minLength": 1}, {"minLength": "a"}, "minLength was 1, is 'a' now", True, True),
    ({"minimum": 1}, {"minimum": 2}, "minimum was 1, is 2 now", True, False),
    ({"minimum": 1}, {"exclusiveMinimum": 0}, "exclusiveMinimum is 0 now", False, True),
    ({"exclusiveMinimum": 1}, {"minimum": 1}, "minimum is 1 now", False, True),
    ({"multipleOf": 6}, {"multipleOf": 3}, "multipleOf was 6, is 3 now", True, True),
    ({"maximum": 1}, {"maximum": 10**5_000}, "maximum was 1, is a very large", False, True),
    (TEXT, {**TEXT, "minimum": 1}, "minimum is 1 now", False, False),
    ({"exclusiveMaximum": 1}, {"maximum": 1}, "maximum is 1 now", False, True),
    ({"minLength": 1}, {"minLength": 2}, "minLength was 1, is 2 now", True, False),
    ({}, {"minLength": 0}, "minLength is 0 now", False, False),
    ({"maxLength": 2}, {"maxLength": 1}, "maxLength was 2, is 1 now", True, False),
    ({"pattern": "a"}, {"pattern": "a|b"}, "pattern was 'a', is 'a|b' now", True, True),
    ({"format": "int32"}, {"format": "int64"}, "format was 'int32', is 'int64' now", False, True),
    ({"contentEncoding": "base64"}, {}, "contentEncoding 'base64' is gone", False, True),
    ({"minItems": 1}, {"minItems": 2}, "minItems was 1, is 2 now", True, False),
    ({"maxItems": 1}, {"maxItems": 2}, "maxItems was 1, is 2 now", False, True),
    ({"uniqueItems": True}, {"uniqueItems": False}, "uniqueItems was True", False, True),
    ({"minProperties": 1}, {"minProperties": 2}, "minProperties was 1, is 2", True, False),
    ({"maxProperties": 1}, {}, "maxProperties 1 is gone", False, True),
    ({}, {"dependentRequired": {"a": ["b"]}}, f"dependentRequired {UNKNOWN}", True, False),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "text", "breaks", "breaks_back"), PLAIN)
def test_a_keyword_breaks_when_it_lets_less_through(old, new, text, breaks, breaks_back):
    there, back = (
        describe_changes(closed(a=old), closed(a=new)),
        describe_changes(closed(a=new), closed(a=old)),
    )

    assert any(line.startswith(f"/a {text}") for line, _ in there)
    assert (there[0][1], back[0][1]) == (breaks, breaks_back)


FILTER = object_of(x=TEXT)


def variant(kind, *also_required):
    return {**object_of(kind={"const": kind}), "required": ["kind", *also_required]}


STRUCTURES = [
    (closed(), closed(a=TEXT), "/a is new", False),
    (closed(a=TEXT), closed(), "/a is gone", True),
    (closed(a=False), closed(), "/a is gone", False),
    (closed(a={}), closed(a=False), "/a is no longer allowed", True),
    (closed(a={"not": {}}), closed(a=TEXT), "/a is allowed now", False),
    (closed(a=TEXT), {**closed(a=TEXT), "required": ["a"]}, "/a is required now", True),
    ({**closed(a=TEXT), "required": ["a"]}, closed(a=TEXT), "/a is optional now", False),
    (closed(a=FILTER), closed(a=object_of(x=TEXT, y=TEXT)), "/a/y is new", False),
    (closed(a=object_of(x=TEXT, y=TEXT)), closed(a=FILTER), "/a/y is no longer described", False),
    (closed(a=OBJECT), closed(a=FILTER), "/a/x type is 'string' now", True),
    (closed(a={**FILTER, "additionalProperties": TEXT}), closed(a=object_of(x=TEXT, y=TEXT)),
     "/a/* type 'string' is gone", False),
    (closed(a=FILTER), closed(a={**FILTER, **CLOSED}), "/a/* is no longer allowed", False),
    (closed(a=OBJECT), closed(a=CLOSED), "/a/* is no longer allowed", True),
    ({"patternProperties": {"^a": TEXT}}, {"patternProperties": {"^a": {}}}, UNKNOWN, True),
    ({"items": TEXT}, {"items": COUNT}, "/* type was 'string', is 'integer' now", True),
    ({**TEXT, "items": TEXT}, {**TEXT, "items": COUNT}, None, False),
    ({"prefixItems": [TEXT], "items": COUNT}, {"prefixItems": [TEXT, TEXT], "items": COUNT},
     UNKNOWN, True),
    ({"prefixItems": [TEXT]}, {"prefixItems": [dict(TEXT)]}, None, False),
    (any_of(TEXT), any_of(TEXT, COUNT), "anyOf has 1 more alternative", False),
    (any_of(TEXT, COUNT), any_of(COUNT), "an alternative was removed or is stricter", True),
    (any_of(TEXT, COUNT), any_of(COUNT, TEXT), "the order", False),
    (any_of(FILTER, TEXT), any_of(object_of(x=COUNT), TEXT),
     "/x type was 'string', is 'integer' now", True),
    (TEXT, any_of(COUNT, TEXT), "type 'string' is gone", False),
    (any_of(TEXT, {"type": "null"}), {"type": ["null", "string"]}, "anyOf is gone", False),
    (any_of(TEXT, COUNT), TEXT, "type is 'string' now", True),
    (one_of(TEXT), one_of(TEXT, COUNT), f"oneOf {UNKNOWN}", True),
    (one_of(TEXT, COUNT), {"oneOf": [TEXT, COUNT], "title": "x"}, "title is 'x' now", False),
    (any_of(TEXT), one_of(TEXT), f"oneOf {UNKNOWN}", True),
    (one_of(TEXT, COUNT), any_of(TEXT, COUNT), "oneOf is anyOf now", False),
    (one_of(TEXT, COUNT), {"type": ["string", "integer"]}, "oneOf is gone", False),
    (any_of(variant("a"), variant("b")), any_of(variant("a"), variant("b"), variant("c")),
     "anyOf has 1 more alternative", False),
    (any_of(variant("a"), variant("b")), any_of(variant("a"), variant("b", "x")),
     "/x is required now", True),
    (any_of({"const": "a", "title": "A"}), any_of({"const": "a", "title": "B"}, {"const": "b"}),
     "title was 'A', is 'B' now", False),
    ({**object_of(a=TEXT), "anyOf": [object_of(b=TEXT)]},
     {**object_of(a=TEXT), "anyOf": [object_of(b=TEXT, a=COUNT)]},
     "/a type is 'integer' now", True),
    ({**object_of(a=TEXT), "anyOf": [object_of(b=TEXT)]}, object_of(a=COUNT, b=TEXT),
     "/a type was 'string', is 'integer' now", True),
    (TEXT, {"allOf": [TEXT]}, f"allOf {UNKNOWN}", True),
    ({"allOf": [TEXT, COUNT]}, {"allOf": [TEXT]}, f"allOf {UNKNOWN}", True),
    ({"not": TEXT}, {"not": COUNT}, f"not {UNKNOWN}", True),
    ({"if": TEXT, "then": {}}, {"if": TEXT, "then": {"maxLength": 1}}, f"then {UNKNOWN}", True),
    ({"if": TEXT, "then": {}}, {"then": {}}, "if is gone", False),
    ({"contains": TEXT}, {"contains": TEXT, "minContains": 2}, f"minContains {UNKNOWN}", True),
    ({"propertyNames": TEXT}, {}, "propertyNames is gone", False),
    ({}, {"dependentSchemas": {"a": TEXT}}, f"dependentSchemas {UNKNOWN}", True),
    ({**object_of(a=TEXT), "unevaluatedProperties": False},
     {**object_of(a=TEXT), "unevaluatedProperties": False, "allOf": [{"title": "x"}]},
     UNKNOWN, True),
    ({"nullable": True}, {}, f"nullable {UNKNOWN}", True),
    ({"x-a": 1}, {"x-a": 2}, "x-a was 1, is 2 now", False),
    ({}, {"deprecated": True}, "deprecated is True now", False),
    ({"properties": 5}, {"properties": 6}, UNKNOWN, True),
    ({"type": "banana"}, {"type": "apple"}, "type was 'banana', is 'apple' now", True),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "text", "breaks"), STRUCTURES)
def test_schemas_inside_schemas_are_compared_where_they_stand(old, new, text, breaks):
    differences = describe_changes(old, new)

    assert any(breaking for _, breaking in differences) is breaks
    # Breaking ones come first.
    assert differences == sorted(differences, key=lambda line: not line[1])
    if text in (None, "the order"):
        assert all(not breaking for _, breaking in differences)
    else:
        assert any(text in line for line, _ in differences)


def test_long_texts_are_shown_from_where_they_differ():
    text = "A text that begins in the same way as the other and goes on for long. "

    (difference,) = describe_changes({"description": f"{text}One."}, {"description": f"{text}Two."})

    assert difference[0] == (
        "description was '…d goes on for long. One.', is '…d goes on for long. Two.' now"
    )


def refer(name="A", **beside):
    return {"$ref": f"#/$defs/{name}", **beside}


def with_definitions(schema, **definitions):
    return {**schema, "$defs": definitions}


NODE = object_of(value=TEXT, next=refer("Node"))
REFERENCES = [
    (closed(a=refer()), closed(a=refer()), {"A": TEXT}, {"A": COUNT}, "/a type was", True),
    (closed(a=refer()), closed(a=refer("B")), {"A": TEXT}, {"B": TEXT}, None, False),
    (closed(a=refer()), closed(a=TEXT), {"A": TEXT}, {}, None, False),
    (closed(a=TEXT), closed(a=refer()), {}, {"A": COUNT}, "/a type was", True),
    (closed(a=refer(description="Old.")), closed(a={**TEXT, "description": "New."}),
     {"A": {**TEXT, "description": "Hidden."}}, {}, "/a description was 'Old.', is 'New.' now",
     False),
    (closed(a=refer()), closed(a=refer(maxLength=5)), {"A": TEXT}, {"A": TEXT}, "maxLength", True),
    (closed(a=refer(maxLength=5)), closed(a=refer(maxLength=5)), {"A": TEXT}, {"A": COUNT},
     f"/a $ref {UNKNOWN}", True),
    (closed(a=refer("Node")), closed(a=refer("Node")), {"Node": NODE}, {"Node": NODE}, None, False),
    (closed(a=refer("Node")), closed(a=refer("Node")), {"Node": NODE},
     {"Node": {**NODE, "required": ["value"]}}, "/a/value is required now", True),
    (closed(a=refer("Node")),
     closed(a=object_of(value=TEXT, next=object_of(value=TEXT, next=refer("Node")))),
     {"Node": NODE},
     {"Node": object_of(value=COUNT, next=refer("Node"))},
     "/a/next/next/value type was 'string', is 'integer' now", True),
    (closed(a=refer()), closed(a=refer()), {"A": {"not": refer("B")}, "B": TEXT},
     {"A": {"not": refer("B")}, "B": COUNT}, f"/a not {UNKNOWN}", True),
    (closed(a=refer()), closed(a=refer()), {}, {}, None, False),
    (closed(a=refer()), closed(a=refer("B")), {}, {}, f"/a {UNKNOWN}", True),
    (closed(a=refer()), closed(a=refer()), {"A": refer()}, {"A": refer()}, None, False),
    (closed(a={"$ref": "http://x/#/$defs/A"}), closed(a={"$ref": "http://y/#/$defs/A"}), {}, {},
     f"/a {UNKNOWN}", True),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "before", "after", "text", "breaks"), REFERENCES)
def test_references_are_followed(old, new, before, after, text, breaks):
    differences = describe_changes(with_definitions(old, **before), with_definitions(new, **after))

    assert any(breaking for _, breaking in differences) is breaks
    assert any(text in line for line, _ in differences) if text else differences == []


def test_what_was_assumed_in_a_cycle_is_forgotten_when_it_fails():
    """P fits the third alternative only, so S, which holds a P, no longer fits."""
    p, s = refer("P"), refer("S")
    cycle = {"S": object_of(p=p), "P": {**object_of(s=s), "required": ["k"]}}
    old = with_definitions({"anyOf": [p, s]}, **cycle)
    cycle["P"] = {**cycle["P"], "required": ["k", "q"]}
    new = with_definitions({"anyOf": [p, s, {**OBJECT, "required": ["k"]}]}, **cycle)

    assert jsonschema_rs.is_valid(old, {"p": {"k": 1}})
    assert not jsonschema_rs.is_valid(new, {"p": {"k": 1}})
    assert describe_changes(old, new)[0][1]


def nest(inner):
    for _ in range(200):
        inner = {"items": inner}
    return inner


def test_deep_schemas_are_compared_as_wholes():
    assert describe_changes(nest(TEXT), nest(TEXT)) == []
    assert describe_changes(nest(TEXT), nest({})) == [("/*" * 50 + f" {UNKNOWN}", True)]


def test_definitions_that_double_are_compared_once():
    def doubling(title: str) -> dict[str, Any]:
        definitions = {
            f"D{n}": object_of(a=refer(f"D{n + 1}"), b=refer(f"D{n + 1}")) for n in range(45)
        }
        return with_definitions(closed(d=refer("D0")), **definitions, D45={"title": title})

    differences = describe_changes(doubling("x"), doubling("y"))

    assert len(differences) == 100
    assert differences[0] == ("/d" + "/a" * 45 + " title was 'x', is 'y' now", False)


KEYWORDS = [
    *("type", "enum", "const", "required", "properties", "items", "anyOf", "oneOf", "allOf"),
    *("$ref", "not", "minimum", "maxLength", "multipleOf", "dependentRequired", "prefixItems"),
    *("patternProperties", "a"),
]
JUNK = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.long
@given(JUNK, st.data())
def test_schemas_that_are_none_never_crash_a_comparison(junk, data):
    other = data.draw(st.sampled_from([{}, junk, {"anyOf": [junk]}, {"properties": junk}]))
    old, new = {"properties": {"a": junk}}, {"properties": {"a": other}}

    compare_schemas(old, new)
    compare_schemas(new, old)

    assert not any(detail.breaking for detail in compare_schemas(old, copy.deepcopy(old)))


@pytest.mark.long
@settings(max_examples=400)
@given(pairs())
def test_what_is_not_breaking_refuses_nothing_that_was_valid(pair):
    old, new = pair
    try:
        was = jsonschema_rs.Draft202012Validator(old)
        is_now = jsonschema_rs.Draft202012Validator(new)
        sent = jsonschema_rs.Draft202012Validator(close_schema(old))
    except jsonschema_rs.ValidationError:
        assume(condition=False)
    details = compare_schemas(old, new)
    assume(not any(detail.breaking for detail in details))

    refused = [
        value
        for value in VALUES
        if was.is_valid(value) and sent.is_valid(value) and not is_now.is_valid(value)
    ]

    assert refused == []


@pytest.mark.untraced
@given(pairs())
def test_a_schema_that_did_not_change_has_no_differences(pair):
    for schema in pair:
        assert compare_schemas(schema, copy.deepcopy(schema)) == []
