"""Schemas of responses: what is declared, within its budget, and never contradicted."""

import json
import time

import corpus
import pytest
from documents import component, document, operation
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from openapi_tools import Settings, load_tools
from openapi_tools.common.json_values import as_dict, resolve_reference
from openapi_tools.configuration.tool_shape import ToolShape
from openapi_tools.model import AnswerShape
from openapi_tools.providers.response_schemas import MAX_BYTES, write_response_schema
from openapi_tools.responses.response_shape import ResponseShaper
from openapi_tools.responses.shaped_schemas import shape_schema
from openapi_tools.result import ToolResult

USER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": ["string", "null"]},
        "avatar_url": {"type": "string"},
        "password": {"type": "string", "writeOnly": True},
        "created": {"type": "string", "readOnly": True},
    },
    "required": ["id", "name", "avatar_url"],
}
ANY = {"type": "object"}


def tool_returning(schema, *, components=None, kind="application/json", **options):
    """Return a tool whose documented response has this schema."""
    content = {kind: {"schema": schema}}
    get = operation(responses={"200": {"description": "ok", "content": content}})
    schemas = {"components": {"schemas": components or {}}}
    (tool,) = load_tools(document({"/x": {"get": get}}, **schemas), **options)
    return tool


def documented_branch(schema, **options):
    """Return the documented alternative of the schema that is declared."""
    tool = tool_returning(schema, **options)
    whole = write_response_schema(tool, tool.settings)
    assert whole["type"] == "object"
    assert whole["anyOf"][1] == ANY
    return whole["anyOf"][0]


def test_an_object_is_declared_as_it_is_returned():
    schema = documented_branch(USER)

    assert list(schema["properties"]) == ["id", "name", "avatar_url", "created"]
    assert schema["required"] == ["id", "name", "avatar_url"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "integer"}},
        {"type": "string"},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": ["integer", "null"]},
    ],
)
def test_what_is_no_object_is_the_result_of_one(schema):
    wrapped = documented_branch(schema)

    assert wrapped["required"] == ["result"]
    assert wrapped["properties"]["result"] == schema


def test_an_object_or_a_list_is_declared_in_both_forms():
    one, other = documented_branch({"anyOf": [USER, {"type": "array", "items": USER}]})["anyOf"]

    assert one["type"] == "object"
    assert other["required"] == ["result"]


@pytest.mark.parametrize("schema", [{}, True, {"description": "anything"}])
def test_a_vague_document_declares_an_object(schema):
    tool = tool_returning(schema)

    assert write_response_schema(tool, tool.settings) == ANY


def test_references_are_declared_with_their_definitions():
    tool = tool_returning(component("User"), components={"User": USER})

    schema = write_response_schema(tool, tool.settings)

    assert schema["anyOf"][0] == {"$ref": "#/$defs/User"}
    assert next(iter(schema["$defs"]["User"]["properties"])) == "id"


def test_dropped_properties_are_not_declared():
    schema = documented_branch(USER, settings=Settings(drop=("*_url",), nulls=False))

    assert list(schema["properties"]) == ["id", "name", "created"]
    assert schema["required"] == ["id"]  # a null name is left out


def test_the_shape_of_a_tool_counts():
    tool = tool_returning(USER).with_shape(ToolShape(answer=AnswerShape(drop=("created",))))

    schema = write_response_schema(tool, tool.settings)

    assert "created" not in schema["anyOf"][0]["properties"]


LIST = {"type": "array", "items": USER}
PAGE = {"type": "object", "properties": {"items": LIST}, "required": ["items"]}
STRING_OR_NULL = {"anyOf": [{"type": ["string", "null"]}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("expression", "schema", "selected"),
    [
        ("id", USER, {"type": "integer"}),
        ("name", USER, STRING_OR_NULL),
        ("[].id", LIST, {"type": "array", "items": {"type": "integer"}}),
        ("items[].id", PAGE, {"type": "array", "items": {"type": "integer"}}),
        ("items[*].id", PAGE, {"type": "array", "items": {"type": "integer"}}),
        ("items[?id > `1`].id", PAGE, {"type": "array", "items": {"type": "integer"}}),
        ("items[0].id", PAGE, {"type": "integer"}),
        ("items[0:2]", PAGE, LIST),
        ("items | [0]", PAGE, USER),
        ("{number: id}", USER, {"type": "object", "properties": {"number": {"type": "integer"}}}),
        ("[id, name]", USER, {"type": "array"}),
        ("length(items)", PAGE, {}),
        ("unknown", USER, {}),
        ("@", USER, USER),
    ],
)
def test_an_expression_selects_from_the_schema(expression, schema, selected):
    assert shape_schema(schema, ResponseShaper(fields=expression)) == selected


def test_a_schema_is_declared_within_its_budget():
    long = "A sentence that says something. " * 20
    parts = {f"property_{n}": {"type": "string", "description": long} for n in range(300)}

    tool = tool_returning({"type": "object", "properties": parts})
    schema = write_response_schema(tool, tool.settings)

    assert 2_000 < len(json.dumps(schema)) <= MAX_BYTES
    assert "property_0" in json.dumps(schema)


@pytest.mark.parametrize("limit", [40, 64, 300, 1_000])
def test_a_smaller_budget_declares_less(limit):
    tool = tool_returning(component("User"), components={"User": USER})

    schema = write_response_schema(tool, tool.settings, max_bytes=limit)

    assert schema == ANY or len(json.dumps(schema)) <= limit


def fields(count, *, start=0, words=""):
    """Return so many properties, too many for the budget."""
    return {
        f"field_{n}": {"type": ["string", "null"], "pattern": f"^{n}", "description": words}
        for n in range(start, start + count)
    }


REPOSITORY = {"type": "object", "properties": fields(70), "required": ["field_0"]}


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (component("Repository"), ()),
        ({"type": "array", "items": component("Repository")}, ("result", "items")),
        (
            {"type": "object", "properties": {"total": {"type": "integer"}, "data": {
                "type": "array", "items": component("Repository")}}},
            ("data", "items"),
        ),
    ],
    ids=["an object", "a list", "a page"],
)  # fmt: skip
def test_a_large_object_keeps_its_properties(schema, path):
    branch = documented_branch(schema, components={"Repository": REPOSITORY})

    for key in path:
        branch = branch["items"] if key == "items" else branch["properties"][key]
    assert 30 < len(branch["properties"]) <= 70
    assert branch["properties"]["field_0"]["type"] == ["string", "null"]
    assert ("fields are accepted" in branch["description"]) or len(branch["properties"]) == 70


def test_a_large_union_has_the_properties_of_all_its_branches():
    kinds = {"type": "object", "required": ["kind", "id"]}
    branches = [
        {**kinds, "properties": {
            "kind": {"const": f"kind_{n}"}, "id": {"type": "integer"},
            **fields(12, start=n * 12, words="Words. " * 20),
        }}
        for n in range(4)
    ]  # fmt: skip
    schema = documented_branch({"oneOf": [branches[0], {"oneOf": branches[1:]}]})

    assert schema["properties"].keys() == {"kind", "id", *fields(48)}
    assert schema["required"] == ["kind", "id"]
    assert "kind_0" not in json.dumps(schema)  # which is wrong for the others


def test_a_union_of_itself_ends():
    components = {
        "A": {"oneOf": [component("B")] * 40},
        "B": {"oneOf": [component("A"), USER] * 40},
    }
    tool = tool_returning(component("A"), components=components)

    schema = write_response_schema(tool, tool.settings, max_bytes=400)

    assert len(json.dumps(schema)) <= 400
    assert "avatar_url" in json.dumps(schema)


def test_definitions_far_from_the_root_become_types():
    components = {
        f"Level{n}": {
            "type": "object",
            "properties": {
                "next": component(f"Level{n + 1}"),
                **{f"p{n}_{m}": {"type": "string"} for m in range(40)},
            },
        }
        for n in range(30)
    } | {"Level30": {"type": "string"}}

    tool = tool_returning(component("Level0"), components=components)
    schema = write_response_schema(tool, tool.settings)

    assert len(json.dumps(schema)) <= MAX_BYTES
    Draft202012Validator.check_schema(schema)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


NUMBERED = tool_returning(
    {
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "required": ["id"],
        "additionalProperties": False,
    }
)
DECLARED = Draft202012Validator(write_response_schema(NUMBERED, NUMBERED.settings))


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(JSON, st.sampled_from(["", "Next page: 2"]))
def test_no_response_contradicts_a_declared_schema(value, note):
    result = ToolResult.ok(value, header_note=note)

    assert DECLARED.is_valid(result.as_object())


def test_an_error_and_an_image_are_objects_too():
    image = {"base64": "iVBORw0KGgo=", "media_type": "image/png", "bytes": 8}

    failed = ToolResult.failed("http", "Not found", facts={"status": 404}).as_object()

    assert failed["error"]["status"] == 404
    assert ToolResult.ok(image).as_object() == {"result": "[image: image/png, 8 bytes]"}
    assert ToolResult.ok(None).as_object() == {"result": None}


def target(root, node):
    """Return an object of the document, behind references in the same document."""
    while "$ref" in as_dict(node):
        node = resolve_reference(root, node["$ref"])
    return as_dict(node)


def examples_of(root, node):
    """Yield the examples of the successful JSON responses of an operation."""
    responses = as_dict(node.get("responses")).items()
    for response in [target(root, each) for code, each in responses if str(code).startswith("2")]:
        contents = as_dict(response.get("content")).items()
        for media in [as_dict(each) for kind, each in contents if "json" in kind]:
            named = [target(root, each) for each in as_dict(media.get("examples")).values()]
            yield from [each["value"] for each in named if "value" in each]
            yield from [media["example"]] if "example" in media else []


@pytest.mark.long
@pytest.mark.parametrize("entry", corpus.parameters(e for e in corpus.entries() if e.operations))
def test_schemas_of_published_documents_are_small_valid_and_fit_their_examples(entry):
    toolset = corpus.toolset_of(entry)
    root = toolset.document

    for tool in toolset:
        schema = write_response_schema(tool, tool.settings)
        Draft202012Validator.check_schema(schema)
        assert len(json.dumps(schema)) <= MAX_BYTES, tool.name
        node = as_dict(as_dict(as_dict(root["paths"]).get(tool.path)).get(tool.method.lower()))
        for value in examples_of(root, node):
            result = ToolResult.ok(value)
            assert Draft202012Validator(schema).is_valid(result.as_object()), tool.name


def test_text_that_a_person_does_not_see_is_in_no_name_of_a_declared_response():
    hidden = "pay\U000e0049\U000e0067\u200b"
    inner = {"type": "object", "properties": {hidden: {"type": "string"}, "b": {}}}
    schema = {
        "type": "object",
        "properties": {hidden: {"type": "string"}, "a": inner, "नमस्\u200dते": {"type": "string"}},
        "required": [hidden, "a"],
        "additionalProperties": inner,
    }
    text = json.dumps(documented_branch(schema), ensure_ascii=False)
    assert json.loads(text)["required"] == ["a"]
    assert "नमस्\u200dते" in text  # a joiner that shapes what is seen
    assert not {"\U000e0049", "\U000e0067", "\u200b"} & {*text}


@pytest.mark.parametrize("profile", ["anthropic", "gemini", "openai_strict"])
def test_the_name_in_a_description_of_a_renamed_property_is_seen(profile):
    hidden = "pay\U000e0049\u200b"
    body = {"schema": component("Box")}
    box = {"type": "object", "properties": {hidden: {"type": "string"}}}
    post = operation(requestBody={"content": {"application/json": body}})
    toolset = load_tools(document({"/x": {"post": post}}, components={"schemas": {"Box": box}}))
    (definition,) = toolset.definitions(profile)
    text = json.dumps(definition, ensure_ascii=False)
    assert r"Sent as 'pay\\U000e0049\\u200b'." in text
    assert not {"\U000e0049", "\u200b"} & {*text}


def test_unions_that_all_refer_to_each_other_are_read_soon():
    names = [f"S{number}" for number in range(60)]
    schemas = {name: {"anyOf": [component(other) for other in names]} for name in names}
    tool = tool_returning(component("S0"), components=schemas)
    begin = time.process_time()
    write_response_schema(tool, tool.settings)
    assert time.process_time() - begin < 3
