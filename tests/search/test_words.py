"""Terms of texts, names and paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.search.index import terms


@pytest.mark.parametrize(
    "text",
    [
        "listPullRequests",
        "list_pull_requests",
        "/list/{pullRequest}",
        "LIST pull-requests",
        "lists pull request",
    ],
)
def test_names_paths_and_words_have_the_same_terms(text):
    assert terms(text) == ("list", "pull", "request")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer", ("http", "server")),
        ("s3Bucket", ("s", "3", "bucket")),
        ("oauth2", ("oauth", "2")),
        ("the user's cities", ("user", "citi")),
        ("what is it of", ()),
        ("Größe café", ("große", "cafe")),
        ("搜索网页", ("搜索", "索网", "网页")),
        ("", ()),
    ],
)
def test_terms(text, expected):
    assert terms(text) == expected


@given(st.text())
def test_terms_of_any_text_are_short_and_not_empty(text):
    assert all(0 < len(term) <= 4 * 64 for term in terms(text))
    assert terms(text) == terms(text)
