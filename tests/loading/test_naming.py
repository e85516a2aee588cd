"""Names of tools and arguments, short names of FastAPI's functions, names that a package keeps."""

import json
import re

import pytest
from documents import document, operation, tools
from fastapi import APIRouter, FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from openapi_tools import Select, Settings, generate_package, load_tools
from openapi_tools.common.visible_text import (
    StableNames,
    argument_names,
    python_name,
    short_name,
    tool_names,
)

TOOL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def names_for(*candidates, prefix=""):
    return tool_names(candidates, prefix)


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("find_pets", "find_pets"),
        ("findPets", "find_pets"),
        ("repos/update-org", "repos_update_org"),
        ("listHTTPServers", "list_http_servers"),
        ("Users.List All", "users_list_all"),
        ("getV2Users", "get_v2_users"),
        ("aBCd", "a_bcd"),
        ("aBCDe", "a_bc_de"),
        ("ABc1DEF", "a_bc1_def"),
        ("__import__('os')", "import_os"),
        ("2fa", "_2fa"),
        ("../../etc/passwd", "etc_passwd"),
        ("a--b__c", "a_b_c"),
        ("_foo_bar_", "foo_bar"),
        ("", "get_users_id_posts"),
    ],
)
def test_an_operation_id_becomes_words_joined_by_underscores(operation_id, name):
    assert names_for((operation_id, "GET", "/users/{id}/posts")) == [name]


@pytest.mark.parametrize(
    "operation_id",
    ["größe", "日本", "🚀", "\u202ex", "a\u200bb", "ﬁle", "\U0001d420\U0001d41e\U0001d42d"],
)
def test_an_id_that_loses_characters_gets_a_hash(operation_id):
    (name,) = names_for((operation_id, "GET", "/x"))

    assert TOOL.fullmatch(name)
    assert re.search(r"_[0-9a-f]{6}$", name)


def test_long_ids_are_cut_to_different_names_within_64_characters():
    long = "a_very_long_operation_id_that_goes_on_and_on_" * 3

    names = names_for(
        (long + "one", "GET", "/one"), (long + "two", "GET", "/two"), prefix="github_"
    )

    assert len(set(names)) == 2
    assert all(TOOL.fullmatch(name) and name.startswith("github_a_very") for name in names)


def test_ids_that_differ_by_case_only_get_different_names_in_lower_case():
    names = names_for(("getPet", "GET", "/a"), ("GetPet", "GET", "/b"), ("get_pet", "GET", "/c"))

    assert names[0] == "get_pet", "the first one gets the name"
    assert len({name.lower() for name in names}) == 3


def test_appending_an_operation_does_not_rename_another_one():
    before = [("list", "GET", "/a"), ("listAll", "GET", "/b"), ("", "GET", "/c")]

    after = names_for(*before, ("list", "GET", "/d"), ("list_all", "GET", "/e"), ("", "GET", "/c/"))

    assert after[0] == "list"
    assert after[2] == names_for(*before)[2]
    assert len(set(after)) == len(after)


def test_names_depend_on_method_and_path_only_where_they_collide():
    first = names_for(("x", "GET", "/a"), ("x", "GET", "/b"), ("x", "GET", "/c"))
    second = names_for(("x", "GET", "/a"), ("x", "GET", "/c"))

    assert first[2] == second[1], "alike, whether or not there is a second"


@pytest.mark.parametrize(
    ("wires", "names"),
    [
        ([("query", "limit")], ["limit"]),
        ([("query", "camelCase"), ("query", "X")], ["camelCase", "X"]),
        ([("path", "id"), ("query", "id")], ["id_path", "id_query"]),
        ([("path", "id"), ("body", "id"), ("header", "x")], ["id_path", "id_body", "x"]),
        ([("query", "filter[status]")], ["filter_status"]),
        ([("header", "X-Request-ID")], ["X_Request_ID"]),
        ([("query", "$top"), ("query", "@type")], ["top", "type"]),
        ([("query", "self"), ("query", "config")], ["self_query", "config_query"]),
        ([("query", "run_manager"), ("body", "_tool_call_id")],
         ["run_manager_query", "_tool_call_id_body"]),
        ([("query", "a_b"), ("query", "a-b")], ["a_b", "a_b_query"]),
        ([("query", "x"), ("query", "x[]")], ["x", "x_query"]),
        ([("query", "1st")], ["_1st"]),
        ([("query", "class"), ("query", "__class__")], ["class", "__class__"]),
        ([("path", "id"), ("query", "id"), ("query", "id_path")],
         ["id_path_14f128", "id_query", "id_path"]),
    ],
)  # fmt: skip
def test_arguments_keep_their_names_where_every_provider_takes_them(wires, names):
    assert argument_names(wires) == names


# Names of a FastAPI application's functions

DRAWN = settings(max_examples=300, deadline=None, database=None, derandomize=True)


def _add_routes(router, *routes):
    """Add functions of these names at these paths."""
    for method, path, name in routes:

        def function():
            return {}

        function.__name__ = name
        router.add_api_route(path, function, methods=[method])
    return router


def application():
    """Return an application with routers inside one another."""
    app = FastAPI(title="Shop", version="1")
    _add_routes(
        app,
        ("GET", "/", "root"),
        ("GET", "/items/", "read_items"),
        ("PUT", "/items/{item_id}", "update_item"),
        ("GET", "/files/{file_path:path}", "read_file"),
        ("GET", "/v1.0/status-page", "status"),
    )
    users = _add_routes(
        APIRouter(prefix="/users"),
        ("GET", "", "list_users"),
        ("GET", "/{user_id}/items/{item_id}", "read_item_of_user"),
        ("GET", "/me", "read"),
        ("GET", "/search", "search"),
    )
    admin = _add_routes(
        APIRouter(prefix="/admin"),
        ("POST", "/{deployment:path}/chat/completions", "chat_completion"),
        ("GET", "/search", "search"),
        ("GET", "/me", "_private"),
        ("POST", "/a_very_long_path_that_goes_on_and_on/and_on", "reset_the_counters"),
    )
    admin.include_router(_add_routes(APIRouter(prefix="/deep"), ("GET", "/x", "deep")))
    app.include_router(users, prefix="/api/v1")
    app.include_router(admin, prefix="/api/v1")
    return app


def names_of(toolset):
    return {f"{tool.method} {tool.path}": tool.name for tool in toolset}


def test_the_tools_of_a_fastapi_application_have_the_names_of_its_functions():
    names = names_of(load_tools(application().openapi()))

    searches = {place: name for place, name in names.items() if place.endswith("/search")}
    assert searches == {
        "GET /api/v1/users/search": "search_api_v1_users_search_get",
        "GET /api/v1/admin/search": "search_api_v1_admin_search_get",
    }, "two functions of one name keep the names of their ids"
    assert [name for place, name in names.items() if place not in searches] == [
        *("root", "read_items", "update_item", "read_file", "status", "list_users"),
        *("read_item_of_user", "read", "chat_completion", "private", "reset_the_counters", "deep"),
    ]


@pytest.mark.parametrize("prefix", ["", "/gateway/v2"])
def test_an_application_below_a_prefix_of_a_gateway_has_the_same_names(prefix):
    app = FastAPI()
    _add_routes(app, ("GET", "/items/{item_id}", "read_item"), ("GET", "/items/", "read_items"))
    whole = app.openapi()
    whole["paths"] = {f"{prefix}{path}": item for path, item in whole["paths"].items()}

    assert [tool.name for tool in load_tools(whole)] == ["read_item", "read_items"]


def test_no_name_is_made_short_where_the_settings_say_so():
    toolset = load_tools(application().openapi(), settings=Settings(short_names=False))

    names = [tool.name for tool in toolset]
    assert "read_items_items_get" in names
    assert names == tool_names(
        [(tool.operation.operation_id, tool.method, tool.path) for tool in toolset]
    )


def test_a_prefix_stands_before_a_short_name_too():
    toolset = load_tools(application().openapi(), settings=Settings(prefix="shop_"))

    assert names_of(toolset)["GET /items/"] == "shop_read_items"


@pytest.mark.parametrize(
    ("operation_id", "method", "path", "name"),
    [
        ("read_items_items__get", "GET", "/items/", "read_items"),
        ("f_a__b__post", "POST", "/a/{b}", "f"),
        (
            "chat_completion_openai_deployments__model__chat_completions_post",
            "POST",
            "/openai/deployments/{model}/chat/completions",
            "chat_completion",
        ),
        ("f_a_get", "POST", "/a", ""),
        ("f_b_get", "GET", "/a", ""),
        ("f__get", "GET", "/", "f"),
        ("_a_get", "GET", "/a", ""),
        ("__a_get", "GET", "/a", ""),
        ("2f_a_get", "GET", "/a", ""),
        ("f-g_a_get", "GET", "/a", ""),
        ("get", "GET", "/get", ""),
        ("größe_a_get", "GET", "/a", "gr_e_"),
        ("f_größe_get", "GET", "/größe", "f"),
        pytest.param("read_items__item_id__get", "GET", "/v1/items/{item_id}", "read", id="mount"),
        pytest.param("f_a__get", "GET", "/api/v1/a/", "f", id="mounted twice"),
        pytest.param("users_items_get", "GET", "/v1/items", "", id="words of a person"),
        pytest.param("f__x__get", "GET", "/{version}/{x}", "", id="no variable is a mount"),
    ],
)
def test_an_id_is_one_of_fastapi_if_it_ends_in_its_path_and_method(
    operation_id, method, path, name
):
    short = short_name(operation_id, method, path)

    assert short.startswith(name)
    assert bool(short) == bool(name)


def test_a_path_of_a_thousand_parts_is_read_at_once():
    path = "/a" * 100_000

    assert short_name("f_b_get", "GET", path) == ""
    assert short_name("f" + "_a" * 100_000 + "_get", "GET", path) == "f"


def _get(operation_id, **fields):
    return {"get": operation(operationId=operation_id, **fields)}


@pytest.mark.parametrize(
    ("other", "place"),
    [
        pytest.param("f", "/b", id="an id"),
        pytest.param("F", "/b", id="an id in other case"),
        pytest.param("", "/f", id="a path"),
        pytest.param("f_b_get", "/b", id="a function"),
    ],
)
def test_a_name_that_another_operation_wants_is_not_made_short(other, place):
    paths = {"/a": _get("f_a_get"), place: _get(other)}
    if not other:  # `get_f` is the name of a path without an id
        paths = {"/a": _get("get_f_a_get"), place: {"get": operation()}}

    first, second = tools(paths)

    assert first.name.endswith("f_a_get")
    assert second.name in ("f", "get_f", "f_b_get")


def test_skipped_and_unselected_operations_count():
    broken = {"parameters": [{"name": "x", "in": "nowhere"}]}
    paths = {"/a": _get("f_a_get", tags=["A"]), "/b": _get("f_b_get", **broken)}

    toolset = tools(paths)

    assert [tool.name for tool in toolset] == ["f_a_get"]
    assert len(toolset.skipped) == 1
    paths["/b"] = _get("f_b_get", tags=["B"])
    (chosen,) = load_tools(document(paths), select=Select(tags=["A"]))
    assert chosen.name == "f_a_get"


FUNCTIONS = st.sampled_from(["f", "g", "f_a", "_f", "F", "x" * 60, "f_b_get"])
PATHS = st.sampled_from(["/a", "/b", "/a/{b}", "/", "/v1/a/{b}", "/f"])
METHODS = st.sampled_from(["GET", "POST"])


@st.composite
def _candidates(draw):
    """Draw operations, most of them of FastAPI."""
    places = st.lists(st.tuples(METHODS, PATHS), unique=True, max_size=7)
    candidates = []
    for method, path in draw(places):
        words = "".join(char if char.isalnum() else "_" for char in path)
        operation_id = f"{draw(FUNCTIONS)}{words}_{method.lower()}"
        candidates.append(
            (
                draw(st.sampled_from([operation_id, operation_id, operation_id, "f", "g", ""])),
                method,
                path,
            )
        )
    return candidates


def _renamed_pairs(before, after):
    return [(old, new) for old, new in zip(before, after, strict=True) if old != new]


@DRAWN
@given(_candidates().filter(bool), st.sampled_from(["", "api_"]))
def test_an_added_operation_renames_another_only_by_taking_its_very_name(candidates, prefix):
    *before, added = candidates
    names = tool_names(before, prefix, short=True)

    after = tool_names(candidates, prefix, short=True)

    assert len(set(after)) == len(candidates)
    added_names = {short_name(*added, prefix), *tool_names([added], prefix)}
    shorts = {short_name(*candidate, prefix) for candidate in before} - {""}
    assert {old for old, _ in _renamed_pairs(names, after[:-1])} <= added_names & (
        shorts | set(names)
    )


@pytest.mark.long
@DRAWN
@given(_candidates(), st.sampled_from(["", "api_"]))
def test_a_short_name_is_that_of_no_other_operation(candidates, prefix):
    names = tool_names(candidates, prefix, short=True)

    full = tool_names(candidates, prefix)
    for index, (old, new) in enumerate(zip(full, names, strict=True)):
        if old != new:
            assert new == short_name(*candidates[index], prefix)
            assert new not in full


@DRAWN
@given(_candidates().filter(bool), st.data())
def test_with_the_names_of_a_package_no_operation_is_renamed(candidates, data):
    index = data.draw(st.integers(0, len(candidates) - 1))
    before = [each for place, each in enumerate(candidates) if place != index]
    names = tool_names(before, short=True)
    short = {
        name: f"{each[1]} {each[2]}"
        for name, each in zip(names, before, strict=True)
        if short_name(*each) == name
    }

    after = tool_names(candidates, short=True, stable=StableNames(names, short))

    assert len(set(after)) == len(candidates)
    kept = [name for place, name in enumerate(after) if place != index]
    assert [new for old, new in zip(names, kept, strict=True) if old in short] == list(short)


SHOP = {"/a": _get("f_a_get"), "/b": _get("g_b_get")}
NEWCOMER = {"/0": _get("f_0_get"), **SHOP}


def _generate(paths, folder, **options):
    return generate_package(document(paths), folder, name="shop", **options)


@pytest.mark.parametrize("target", ["python", "exathena"])
def test_a_package_keeps_its_short_names_and_a_newcomer_gets_a_full_one(tmp_path, target):
    assert _generate(SHOP, tmp_path, target=target).tools == ("f", "g")

    report = _generate(NEWCOMER, tmp_path, target=target)

    assert report.tools == ("f_0_get", "f", "g")
    assert [change.kind for change in report.changes] == ["added"]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["short_names"] == {"f": "GET /a", "g": "GET /b"}
    assert _generate(NEWCOMER, tmp_path, target=target, check=True).drifted is False


def test_a_package_keeps_the_full_name_of_a_tool_when_its_rival_is_gone(tmp_path):
    _generate(NEWCOMER, tmp_path)

    report = _generate(SHOP, tmp_path)

    assert report.tools == ("f_a_get", "g")
    assert [change.kind for change in report.changes] == ["removed"]


def test_a_package_that_was_made_with_full_names_keeps_them(tmp_path):
    _generate(SHOP, tmp_path, settings=Settings(short_names=False))

    report = _generate({**SHOP, "/c": _get("h_c_get")}, tmp_path)

    assert report.tools == ("f_a_get", "g_b_get", "h")


def test_short_names_are_given_up_when_the_settings_say_so(tmp_path):
    _generate(SHOP, tmp_path)

    report = _generate(SHOP, tmp_path, settings=Settings(short_names=False))

    assert report.tools == ("f_a_get", "g_b_get")
    assert {change.kind for change in report.changes} == {"renamed"}
    texts = [file.read_text() for file in (tmp_path / "shop_tools").glob("*.py")]
    assert sum("short_names" in text for text in texts) == 1


@pytest.mark.parametrize("wrong", [5, [], {"f": 5}, {"f": "GET /elsewhere"}])
def test_a_manifest_with_another_record_of_short_names_is_still_read(tmp_path, wrong):
    _generate(SHOP, tmp_path)
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "short_names": wrong}))

    assert set(_generate(SHOP, tmp_path).tools) <= {"f", "g", "f_a_get"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "plain"),
        ("from", "from_"),
        ("X-Trace-Id", "X_Trace_Id"),
        ("1st", "_1st"),
        ("filter[name]", "filter_name_"),
        ("", "_"),
        ("größe", "gr_e"),
        ("None", "None_"),
    ],
)
def test_python_names(name, expected):
    assert python_name(name) == expected
    assert expected.isidentifier()
