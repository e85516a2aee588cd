"""A tool is found by name, operationId, or method and path; wrong names get the nearest ones."""

import asyncio

import pytest
from documents import document

from openapi_tools import Toolset, load_tools
from openapi_tools.common.options import close_names, similar_names
from openapi_tools.errors import SettingsError

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
    message = f"no tool is called {typed!r}: GET /bad/{{petId}} {WHY}"

    with pytest.raises(KeyError) as raised:
        toolset[typed]
    result = asyncio.run(toolset.call(typed, {}))
    pages = asyncio.run(toolset.pages(typed).collect())

    assert raised.value.args[0].startswith(message)
    assert result.output.startswith(message)
    assert pages.output.startswith(message)


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


NAMES = [
    "issues_create",
    "issues_create_comment",
    "issues_get",
    "issues_list_for_repo",
    "list_core_v1_namespaced_pod",
    "perPage",
    "startDate",
    "pulls_update",
    "searchRepositories",
    "repos_list_branches",
]


@pytest.mark.parametrize(
    ("wrong", "best"),
    [
        ("create_issue", "issues_create"),
        ("crete_issue", "issues_create"),
        ("get_issue", "issues_get"),
        ("createIssueComment", "issues_create_comment"),
        ("list_repo_issues", "issues_list_for_repo"),
        ("list_pods", "list_core_v1_namespaced_pod"),
        ("per_page", "perPage"),
        ("PERPAGE", "perPage"),
        ("date", "startDate"),
        ("update-pull", "pulls_update"),
        ("search_repository", "searchRepositories"),
        ("issue_craete", "issues_create"),
        ("list_branch_repo", "repos_list_branches"),
    ],
)
def test_the_nearest_name_comes_first(wrong, best):
    assert similar_names(wrong, NAMES)[0] == best
    assert similar_names(wrong, NAMES) == similar_names(wrong, iter(NAMES))


def test_at_most_three_are_named_and_none_that_is_not_like_it():
    assert close_names("issue", NAMES).count(" or ") == 2
    assert close_names("zzz", NAMES) == close_names("", NAMES) == close_names("x", []) == "."
    assert similar_names(5, [4, 50, "x"]) == ["50"]


def test_the_beginnings_of_long_names_are_compared():
    names = ["ab" * 20_000 + str(number) for number in range(300)]

    assert len(similar_names("ba" * 100_000, names * 100)) == 3
    assert similar_names("issues_get" + "\ud800" * 100_000, ["issues_get" + "\ud800" * 70]) != []


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
