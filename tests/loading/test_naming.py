import re

import pytest

from openapi_tools.visible_text import argument_names, tool_names

TOOL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def named(*candidates, prefix=""):
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
    assert named((operation_id, "GET", "/users/{id}/posts")) == [name]


@pytest.mark.parametrize(
    "operation_id",
    ["größe", "日本", "🚀", "\u202ex", "a\u200bb", "ﬁle", "\U0001d420\U0001d41e\U0001d42d"],
)
def test_an_id_that_loses_characters_gets_a_hash(operation_id):
    (name,) = named((operation_id, "GET", "/x"))

    assert TOOL.fullmatch(name)
    assert re.search(r"_[0-9a-f]{6}$", name)


def test_long_ids_are_cut_to_different_names_within_64_characters():
    long = "a_very_long_operation_id_that_goes_on_and_on_" * 3

    names = named((long + "one", "GET", "/one"), (long + "two", "GET", "/two"), prefix="github_")

    assert len(set(names)) == 2
    assert all(TOOL.fullmatch(name) and name.startswith("github_a_very") for name in names)


def test_ids_that_differ_by_case_only_get_different_names_in_lower_case():
    names = named(("getPet", "GET", "/a"), ("GetPet", "GET", "/b"), ("get_pet", "GET", "/c"))

    assert names[0] == "get_pet", "the first one gets the name"
    assert len({name.lower() for name in names}) == 3


def test_appending_an_operation_does_not_rename_another_one():
    before = [("list", "GET", "/a"), ("listAll", "GET", "/b"), ("", "GET", "/c")]

    after = named(*before, ("list", "GET", "/d"), ("list_all", "GET", "/e"), ("", "GET", "/c/"))

    assert after[0] == "list"
    assert after[2] == named(*before)[2]
    assert len(set(after)) == len(after)


def test_names_depend_on_method_and_path_only_where_they_collide():
    first = named(("x", "GET", "/a"), ("x", "GET", "/b"), ("x", "GET", "/c"))
    second = named(("x", "GET", "/a"), ("x", "GET", "/c"))

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
