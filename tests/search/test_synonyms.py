"""People's words: synonyms, abbreviations, pronouns, verbs, and the resource of a path."""

import tomllib
from pathlib import Path

import documents
import everyday
import pytest
from corpus import ABSENT, FOLDER

import openapi_tools
from openapi_tools import Toolset, load_tools
from openapi_tools.search.index import terms

TABLE = Path(openapi_tools.__file__).parent / "search" / "synonyms.toml"
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}


def toolset_of(*operations, **settings):
    paths = {}
    for method, path, summary in operations:
        paths.setdefault(path, {})[method] = documents.operation(summary=summary)
    return load_tools(documents.document(paths), settings=settings)


def names(toolset, query):
    return [hit.tool.name for hit in toolset.search(query)]


HUB = (
    ("get", "/repositories/{owner}/{name}", "Show one"),
    ("delete", "/repositories/{owner}/{name}", "Remove one"),
    ("get", "/pull-requests", "All of them"),
    ("get", "/user", "Get the authenticated user"),
    ("get", "/user/keys", "Keys of the authenticated user"),
    ("get", "/users/{name}/keys", "Keys of a user"),
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("repos", "get_repositories_owner_name"),
        ("drop a repo", "delete_repositories_owner_name"),
        ("PRs", "get_pull_requests"),
        ("who am I", "get_user"),
        ("my keys", "get_user_keys"),
    ],
)
def test_people_find_tools_by_their_own_words(query, first):
    assert names(toolset_of(*HUB), query)[0] == first


@pytest.mark.parametrize("query", ["repos", "PRs", "who am I"])
def test_synonyms_can_be_switched_off(query):
    assert names(toolset_of(*HUB, synonyms=False), query) == []


def test_ones_own_synonyms_replace_the_common_ones():
    toolset = toolset_of(*HUB, synonyms={"repo": ["key"], "mine": "pull request"})

    assert set(names(toolset, "repo")) == {"get_user_keys", "get_users_name_keys"}
    assert names(toolset, "mine") == ["get_pull_requests"]
    assert names(toolset, "PR") == names(toolset, "my") == []


def test_a_union_has_the_synonyms_of_each_part():
    shop = toolset_of(("get", "/pins", "Pins"), synonyms={"sticky": ["pin"]})
    both = Toolset.union(toolset_of(*HUB), shop)

    assert names(both, "sticky") == ["get_pins"]
    assert names(both, "repos")[0] == "get_repositories_owner_name"


def test_a_word_itself_counts_more_than_its_synonyms():
    files = toolset_of(
        ("get", "/b", "Get a file"), ("get", "/a", "List files"), ("get", "/c", "List disks")
    )

    assert names(files, "list files")[0] == "get_a"
    assert names(files, "list")[:2] == ["get_a", "get_c"]


def test_a_synonym_of_several_words_needs_them_all():
    chat = toolset_of(("get", "/direct", "Direct flights"), ("get", "/m", "Direct messages"))

    assert names(chat, "dm") == ["get_m"]


def test_pronouns_say_nothing_in_a_long_task():
    toolset = toolset_of(*HUB)
    task = "I want my colleagues to find pull requests of customers that I visited"

    assert names(toolset, "my pull request") != names(toolset, task)
    assert "get_user" not in names(toolset, task)[:1]


def test_the_resource_of_a_path_is_its_last_fixed_segment():
    toolset = toolset_of(
        ("get", "/orders/{id}/shops", "Read"), ("get", "/shops/{id}/orders/{order}", "Read")
    )

    assert names(toolset, "order")[0] == "get_shops_id_orders_order"
    assert names(toolset, "shops")[0] == "get_orders_id_shops"


def test_a_variable_of_a_path_is_no_resource():
    toolset = toolset_of(("get", "/boards/{card}", "Read"), ("get", "/cards", "Read"))

    assert names(toolset, "card")[0] == "get_cards"


@pytest.mark.parametrize("path", ["/", "/{id}", "", "/{a}{b}", "/{", "/}{/x"])
def test_any_path_can_be_searched(path):
    toolset = toolset_of(("get", f"/{path}".replace("//", "/"), "Weather"))

    assert len(names(toolset, "weather")) == len(toolset)


@pytest.mark.parametrize(
    ("query", "method"),
    [
        ("remove book", "DELETE"),
        ("edit book", "PATCH"),
        ("new book", "POST"),
        ("what book", "GET"),
        ("which book to remove", "DELETE"),
    ],
)
def test_a_short_query_prefers_the_method_of_its_verb(query, method):
    summary = "Of a book"
    toolset = toolset_of(
        ("patch", "/book", summary),
        ("get", "/book", summary),
        ("delete", "/book", summary),
        ("post", "/book", summary),
    )

    assert toolset.search(query)[0].tool.method == method


def test_words_that_paths_join_are_found():
    toolset = toolset_of(("get", "/cronjobs", "Read"), ("get", "/jobs", "Read"))

    assert names(toolset, "cron jobs")[0] == "get_cronjobs"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("open PRs", ("open", "pr")),
        ("listIDsOfUser", ("list", "id", "user")),
        ("svcs and VMs", ("svc", "vm")),
        ("CSS, DNS", ("css", "dn")),
    ],
)
def test_abbreviations_have_a_plural(text, expected):
    assert terms(text) == expected


def test_many_different_words_are_searched_in_bounded_memory():
    toolset = toolset_of(*HUB, synonyms={f"w{number}": ["key"] for number in range(500)})

    hits = {tuple(names(toolset, f"w{number}")) for number in range(500)}
    assert len(hits) == 1
    assert names(toolset, "w7") == names(toolset, "w499")


def test_the_table_is_well_formed():
    tables = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    words = [word for table in tables.values() for word in table]

    assert len(words) == len(set(words))
    assert set(tables["methods"]) == METHODS
    for name, table in tables.items():
        for word, synonyms in table.items():
            assert name == "methods" or word == word.lower()
            assert word not in synonyms or word == "me"
            assert synonyms
            assert len(synonyms) == len(set(synonyms))


@pytest.mark.long
@pytest.mark.skipif(not FOLDER.is_dir(), reason=ABSENT)
def test_everyday_phrases_find_a_right_tool():
    rankings = everyday.rank_phrases()
    count = sum(ranking.is_found for ranking in rankings)

    assert len(rankings) == 60
    missing = [ranking.phrase for ranking in rankings if not ranking.is_found]
    assert count / len(rankings) >= 0.85, missing
