"""Schemas that were pasted whole, with definitions of their own that `#/$defs/X` means."""

import json

import pytest
import yaml
from documents import component, document, operation, with_body

from openapi_tools import load_tools
from openapi_tools.testing import mock_api

STRING = {"type": "string"}
ADDRESS = {"type": "object", "properties": {"city": STRING}, "required": ["city"]}
HOME = {"home": {"city": "Bonn"}}


def paste_definition(key="$defs", definition=ADDRESS, name="Address"):
    reference = {"$ref": f"#/{key}/{name}"}
    return {"type": "object", "properties": {"home": reference}, key: {name: definition}}


def of_2(schema):
    body = {"name": "b", "in": "body", "required": True, "schema": schema}
    return {"/x": {"post": operation(parameters=[body])}}


CHAIN = {
    "type": "object",
    "properties": {"home": {"$ref": "#/$defs/A"}},
    "$defs": {"A": {"type": "object", "properties": {"city": {"$ref": "#/$defs/C"}}}, "C": STRING},
}
DOCUMENTS = {
    "$defs in a body": document(with_body(paste_definition())),
    "definitions in a body": document(with_body(paste_definition("definitions")), openapi="3.0.3"),
    "3.2": document(with_body(paste_definition()), openapi="3.2.0"),
    "a component": document(
        with_body(component("P")), components={"schemas": {"P": paste_definition()}}
    ),
    "a definition that names another": document(with_body(CHAIN)),
    "an outer schema has it": document(
        with_body(
            {
                "type": "object",
                "properties": {
                    "home": {"allOf": [{"$ref": "#/$defs/Address"}], "$defs": {"B": {}}}
                },
                "$defs": {"Address": ADDRESS},
            }
        )
    ),
    "$defs in Swagger 2.0": document(of_2(paste_definition()), openapi="2.0"),
    "definitions in Swagger 2.0": document(
        of_2(paste_definition("definitions")), openapi="2.0", definitions={"Other": STRING}
    ),
    "a name that is escaped": document(
        with_body(
            {
                "type": "object",
                "properties": {"home": {"$ref": "#/$defs/a~1b%20c"}},
                "$defs": {"a/b c": ADDRESS},
            }
        )
    ),
}


@pytest.mark.parametrize("form", ["dict", "JSON", "YAML"])
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_the_definition_is_found_in_the_nearest_schema(name, form, recorder):
    root = DOCUMENTS[name]
    source = {"dict": root, "JSON": json.dumps(root), "YAML": yaml.safe_dump(root)}[form]

    async with load_tools(source, base_url=recorder.url) as toolset:
        sent = await toolset["post_x"].execute(HOME)
        refused = await toolset["post_x"].execute({"home": {"city": 7}})

    assert sent.success, sent
    assert json.loads(recorder.last.body) == HOME
    assert refused.error["type"] == "invalid_input"
    assert len(recorder.requests) == 1
    assert any(
        "is read as this schema, because it does not exist in the document" in w
        for w in toolset.warnings
    )


def test_the_warning_has_the_place_of_the_definition():
    (warning,) = load_tools(DOCUMENTS["$defs in a body"]).warnings

    place = "/paths/~1x/post/requestBody/content/application~1json/schema/$defs/Address"
    assert warning.startswith(f"{place}: '#/$defs/Address' is read as this schema")


def test_equal_references_mean_the_definitions_around_them():
    one, two = paste_definition(definition={"type": "integer"}), paste_definition(definition=STRING)
    paths = {
        path: {"post": operation(requestBody={"content": {"application/json": {"schema": schema}}})}
        for path, schema in (("/one", one), ("/two", two))
    }
    toolset = load_tools(document(paths))

    kinds = {}
    for tool in toolset:
        (definition,) = tool.input_schema["$defs"].values()
        kinds[tool.name] = definition["type"]

    assert kinds == {"post_one": "integer", "post_two": "string"}


def test_two_schemas_side_by_side_in_one_body_keep_their_own():
    one, two = paste_definition(definition={"type": "integer"}), paste_definition(definition=STRING)
    (tool,) = load_tools(
        document(with_body({"type": "object", "properties": {"a": one, "b": two}}))
    )

    assert tool.check({"a": {"home": 1}, "b": {"home": "x"}})
    for wrong in ({"a": {"home": "x"}}, {"b": {"home": 1}}):
        with pytest.raises(Exception, match="home"):
            tool.check(wrong)


def test_a_recursive_definition_stays_finite():
    tree = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
        "$defs": {
            "T": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "kids": {"type": "array", "items": {"$ref": "#/$defs/T"}},
                },
            }
        },
    }
    (tool,) = load_tools(document(with_body(tree)))

    assert tool.check({"kids": [{"n": 1, "kids": [{"n": 2}]}]})
    with pytest.raises(Exception, match="/kids/0/kids/0/n"):
        tool.check({"kids": [{"n": 1, "kids": [{"n": "x"}]}]})


def test_a_parameter_may_have_definitions():
    schema = {"type": "array", "items": {"$ref": "#/$defs/E"}, "$defs": {"E": {"enum": ["a"]}}}
    parameter = {"name": "v", "in": "query", "schema": schema}
    (tool,) = load_tools(document({"/x": {"parameters": [parameter], "get": operation()}}))

    assert tool.check({"v": ["a"]})
    with pytest.raises(Exception, match="/v/0"):
        tool.check({"v": ["b"]})


def test_the_document_itself_counts_first():
    root = document(
        of_2(paste_definition("definitions")), openapi="2.0", definitions={"Address": STRING}
    )

    toolset = load_tools(root)

    assert toolset["post_x"].input_schema["$defs"] == {"Address": STRING}
    assert toolset.warnings == ()


def test_a_name_that_is_nowhere_still_skips_the_operation():
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/No"}}, "$defs": {"B": {}}}

    toolset = load_tools(document(with_body(schema)))

    assert len(toolset) == 0
    assert "leads nowhere" in toolset.skipped[0].reason


def test_a_definition_in_another_file_is_found_there(tmp_path):
    (tmp_path / "schemas.json").write_text(json.dumps({"Person": paste_definition()}))
    root = document(with_body({"$ref": "schemas.json#/Person"}))
    (tmp_path / "api.json").write_text(json.dumps(root))

    toolset = load_tools(tmp_path / "api.json")

    assert toolset["post_x"].check(HOME)
    assert any("schemas.json#/Person/$defs/Address: " in w for w in toolset.warnings)


def test_a_cached_document_finds_it_too(eager, tmp_path):
    file = tmp_path / "api.json"
    file.write_text(json.dumps(DOCUMENTS["a component"]))

    first, second = load_tools(file), load_tools(file)

    assert list(eager.iterdir())
    assert second["post_x"].input_schema == first["post_x"].input_schema
    assert second.warnings == first.warnings != ()


async def test_the_mock_reads_such_a_document_and_finds_nothing_wrong():
    success = {"description": "ok", "content": {"application/json": {"schema": paste_definition()}}}
    root = document(with_body(paste_definition()), servers=[{"url": "https://api.example.com"}])
    root["paths"]["/x"]["post"]["responses"] = {"200": success}
    mock = mock_api(root)

    async with mock.client() as client, load_tools(root, client=client) as toolset:
        result = await toolset["post_x"].execute(HOME)

    assert result.success, result
    assert mock.problems == []
    assert isinstance(result.output["home"]["city"], str)
