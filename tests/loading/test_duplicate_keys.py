"""Keys that stand twice: the last one counts, a warning has the place, strict loading refuses."""

import json

import pytest
from documents import document, operation

from openapi_tools import DocumentError, load_tools

OK = '"responses": {"200": {"description": "ok"}}'
HEAD = '{"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, '
PARAMETER = '{"name": "q", "in": "query", "schema": {"type": "string"}}'
PLACES = {
    "an example": (
        (
            '"paths": {"/x": {"get": {"operationId": "do", "responses": {"200": {'
            '"description": "a", "content": '
            '{"application/json": {"example": {"a": 1, "a": 2}}}}}}}}}'
        ),
        "/paths/~1x/get/responses/200/content/application~1json/example/a",
    ),
    "a response": (
        (
            '"paths": {"/x": {"get": {"operationId": "do", "responses": {'
            '"200": {"description": "a"}, "200": {"description": "b"}}}}}}'
        ),
        "/paths/~1x/get/responses/200",
    ),
    "a component": (
        (
            f'"components": {{"parameters": {{"p": {PARAMETER}, "p": {PARAMETER}}}}},'
            f' "paths": {{"/x": {{"get": {{"operationId": "do", {OK}}}}}}}}}'
        ),
        "/components/parameters/p",
    ),
    "an operation": (
        (
            f'"paths": {{"/x": {{"get": {{"operationId": "old", {OK}}},'
            f' "get": {{"operationId": "do", {OK}}}}}}}}}'
        ),
        "/paths/~1x/get",
    ),
    "a path": (
        f'"paths": {{"/x": {{}}, "/x": {{"get": {{"operationId": "do", {OK}}}}}}}}}',
        "/paths/~1x",
    ),
}


@pytest.mark.parametrize("comment", ["", "# YAML\n"], ids=["JSON", "YAML"])
@pytest.mark.parametrize("place", PLACES)
def test_the_document_loads_and_names_the_place(place, comment):
    text, pointer = PLACES[place]
    text = f"{comment}{HEAD}{text}"

    toolset = load_tools(text)

    assert [tool.name for tool in toolset] == ["do"]
    (warning,) = [w for w in toolset.warnings if "is a duplicate key" in w]
    assert warning.startswith(f"{pointer}: ")
    with pytest.raises(DocumentError, match="is a duplicate key"):
        load_tools(text, strict=True)


def test_a_copy_in_the_cache_keeps_the_warning(eager, tmp_path):
    file = tmp_path / "api.json"
    file.write_text(HEAD + PLACES["a response"][0])

    first, second = load_tools(file), load_tools(file)

    assert list(eager.iterdir())
    assert first.warnings == second.warnings != ()


def test_a_document_that_is_referred_to_is_read_alike(tmp_path):
    item = f'{{"get": {{"operationId": "old", {OK}}}, "get": {{"operationId": "do", {OK}}}}}'
    (tmp_path / "item.json").write_text(item)
    (tmp_path / "api.json").write_text(json.dumps(document({"/x": {"$ref": "item.json"}})))

    toolset = load_tools(tmp_path / "api.json")

    assert [tool.name for tool in toolset] == ["do"]
    assert any("item.json#/get: 'get' is a duplicate key" in w for w in toolset.warnings)
    with pytest.raises(DocumentError, match="is a duplicate key"):
        load_tools(tmp_path / "api.json", strict=True)


def test_a_document_without_repeated_keys_has_no_warning():
    assert load_tools(json.dumps(document({"/x": {"get": operation()}}))).warnings == ()
