"""A tool is found by its name, its operationId, or its method and path."""

import asyncio

import pytest
from documents import document

from openapi_tools import Toolset, load_tools
from openapi_tools.errors import SettingsError
from openapi_tools.options import nearest

ID = {"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}}
PATHS = {
    "/pets/{petId}": {"get": {"operationId": "pets/get-one", "parameters": [ID], "responses": {}}},
    "/pets": {"post": {"responses": {}}},
    "/bad/{petId}": {
        "get": {"operationId": "badThing", "parameters": [{"$ref": "#/nowhere"}], "responses": {}}
    },
    "/odd": 17,
}
WHY = "was skipped at /paths/~1bad~1{petId}/get/parameters/0: '$ref': '#/nowhere' leads nowhere"


@pytest.fixture
def toolset():
    """Two tools and two skipped operations."""
    return load_tools(document(PATHS))


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("pets_get_one", "pets_get_one"),
        ("pets/get-one", "pets_get_one"),
        ("GET /pets/{petId}", "pets_get_one"),
        ("get  /pets/{id}", "pets_get_one"),
        ("POST /pets", "post_pets"),
    ],
)
def test_a_tool_is_found_by_what_a_user_knows_of_it(toolset, typed, name):
    assert toolset[typed].name == name
    assert asyncio.run(toolset.call(typed, {"nope": 1})).error["type"] == "invalid_input"
    assert "no tool" not in asyncio.run(toolset.call(typed, {"nope": 1})).output


@pytest.mark.parametrize("typed", ["badThing", "bad_thing", "GET /bad/{petId}", "get /bad/{x}"])
def test_a_skipped_operation_is_explained_where_its_name_is_used(toolset, typed):
    said = f"no tool is called {typed!r}: GET /bad/{{petId}} {WHY}"

    with pytest.raises(KeyError) as raised:
        toolset[typed]
    result = asyncio.run(toolset.call(typed, {}))
    pages = asyncio.run(toolset.pages(typed).collect())

    assert raised.value.args[0].startswith(said)
    assert result.output.startswith(said)
    assert pages.output.startswith(said)


def test_a_path_item_that_cannot_be_read_is_explained(toolset):
    with pytest.raises(KeyError, match="/odd was skipped at /paths/~1odd: a path item must be an"):
        toolset["GET /odd"]


@pytest.mark.parametrize("typed", ["", " ", "DELETE /pets", "PETS_GET_ONE /", None, 7])
def test_other_texts_name_no_tool(toolset, typed):
    with pytest.raises(KeyError, match="no tool is called"):
        toolset[typed]


def test_an_id_of_two_documents_is_not_guessed():
    both = Toolset.union(load_tools(document(PATHS)), load_tools(document(PATHS)))

    with pytest.raises(KeyError, match="is the operationId of t_pets_get_one and t_pets_get_one_2"):
        both["pets/get-one"]


def test_a_function_is_not_an_operation(toolset):
    assert toolset.meta_tools()["search_tools"].operation_id == ""
    with pytest.raises(KeyError):
        toolset.meta_tools()["pets/get-one"]


KNOWN = ["issues_create", "issues_list_for_repo", "pulls_get", "repos_list_branches", "users_get"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("create_issue", "issues_create"),
        ("createIssues", "issues_create"),
        ("issue_craete", "issues_create"),
        ("get_pull", "pulls_get"),
        ("list_branch_repo", "repos_list_branches"),
    ],
)
def test_close_names_are_found_in_any_order_plural_or_spelling(typed, meant):
    assert nearest(typed, KNOWN)[0] == meant


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"tools": {"bad_thing": {"name": "x"}}}, "the document has no such tool"),
        ({"tools": {"badThing": {"name": "x"}}}, "the document has no such tool"),
        ({"tools": {"GET /bad/{petId}": {"name": "x"}}}, "the document has no such tool"),
        ({"select": {"names": ["bad_thing"]}}, "no tool has the name 'bad_thing'"),
        ({"select": {"exclude": {"names": ["bad_thing"]}}}, "no tool has the name 'bad_thing'"),
    ],
)
def test_a_configuration_that_names_a_skipped_operation_says_why(config, place):
    with pytest.raises(SettingsError) as raised:
        load_tools(document(PATHS), config=config)

    assert f"{place}: GET /bad/{{petId}} {WHY}" in str(raised.value)
