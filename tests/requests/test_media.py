"""Media types."""

import pytest

from openapi_tools import http_rules

PREDICATES = {
    "json": http_rules.is_json,
    "form": http_rules.is_form,
    "multipart": http_rules.is_multipart,
    "sequential": http_rules.is_sequential,
    "text": http_rules.is_text,
    "xml": http_rules.is_xml,
}


KINDS = {
    "json": ["application/json", "Application/JSON; charset=utf-8", "text/json",
             "application/merge-patch+json", "application/vnd.github.v3+json; q=1"],
    "form": ["application/x-www-form-urlencoded"],
    "multipart": ["multipart/form-data", "multipart/related; type=text/html"],
    "sequential": ["application/jsonl", "application/x-ndjson", "application/json-seq",
                   "application/geo+json-seq"],
    "text": ["text/plain", "text/csv", "text/html; charset=utf-8", "application/yaml",
             "application/vnd.oai.openapi+yaml", "application/graphql"],
    "text xml": ["application/xml", "image/svg+xml", "application/soap+xml; charset=utf-8"],
    "": ["application/octet-stream", "image/png", "application/vnd.unknown", "*/*"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("media_type", "kinds"), [(found, kinds) for kinds, listed in KINDS.items() for found in listed]
)
def test_each_media_type_is_of_one_kind_or_of_none(media_type, kinds):
    assert [name for name, holds in PREDICATES.items() if holds(media_type)] == kinds.split()


VALID = ["a/b", "text/plain; charset=utf-8", 'a/b;c="d \\"e"', "image/*", "*/*", "a/b;type=c/d"]
INVALID = [
    *("", "json", "a/b/c", "a /b", "a/b;", "a/b; c", "a/b\r\nX: 1", "a/b, c/d", "é/b", "a/b;c=é"),
]


@pytest.mark.parametrize("text", VALID + INVALID)
def test_a_media_type_is_told_from_what_is_none(text):
    assert http_rules.is_media_type(text) is (text in VALID)


def test_parameters_are_read_and_left_out():
    media_type = 'Multipart/Form-Data; Boundary="a b"; charset=utf-8'

    assert http_rules.essence(media_type) == "multipart/form-data"
    assert http_rules.parameter(media_type, "boundary") == "a b"
    assert http_rules.parameter(media_type, "missing") == ""
    without = http_rules.without_parameter(media_type, "boundary")
    assert without == "Multipart/Form-Data; charset=utf-8"


@pytest.mark.parametrize(
    ("media_type", "matched", "unmatched"),
    [
        ("image/png", ["image/png", "image/*", "*/*"], ["text/*", "image/jpeg"]),
        ("Image/PNG; a=b", ["image/png"], []),
        ("image/[a]", ["image/[a]"], []),
        ("image/a", [], ["image/[a]"]),
        ("", [], ["image/*"]),
    ],
)
def test_a_range_matches_what_it_stands_for(media_type, matched, unmatched):
    assert all(http_rules.matches(media_type, pattern) for pattern in matched)
    assert not any(http_rules.matches(media_type, pattern) for pattern in unmatched)
