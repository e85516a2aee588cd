"""Wrong names get the nearest ones, by letters or by words in any order."""

import pytest

from openapi_tools.options import close_names, nearest

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
        ("issues_creat", "issues_create"),
    ],
)
def test_the_nearest_name_comes_first(wrong, best):
    assert nearest(wrong, NAMES)[0] == best
    assert nearest(wrong, NAMES) == nearest(wrong, iter(NAMES))


def test_at_most_three_are_named_and_none_that_is_not_like_it():
    assert close_names("issue", NAMES).count(" or ") == 2
    assert close_names("zzz", NAMES) == close_names("", NAMES) == close_names("x", []) == "."
    assert nearest(5, [4, 50, "x"]) == ["50"]


def test_the_beginnings_of_long_names_are_compared():
    names = ["ab" * 20_000 + str(number) for number in range(300)]

    assert len(nearest("ba" * 100_000, names * 100)) == 3
    assert nearest("issues_get" + "\ud800" * 100_000, ["issues_get" + "\ud800" * 70]) != []
