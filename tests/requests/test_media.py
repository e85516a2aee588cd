"""Media types."""

import pytest

from openapi_tools import media_types

KINDS = {
    "json": [*("application/json", "Application/JSON; charset=utf-8", "text/json"),
             *("application/merge-patch+json", "application/vnd.github.v3+json; q=1")],
    "form": ["application/x-www-form-urlencoded"],
    "multipart": ["multipart/form-data", "multipart/related; type=text/html"],
    "sequential": [*("application/jsonl", "application/x-ndjson"),
                   *("application/json-seq", "application/geo+json-seq")],
    "text": [*("text/plain", "text/csv", "text/html; charset=utf-8", "application/xml"),
             *("image/svg+xml", "application/yaml", "application/vnd.oai.openapi+yaml"),
             "application/graphql"],
    "none": [
        *("application/octet-stream", "image/png", "application/zip", "application/vnd.unknown"),
        "*/*",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("media_type", "kind"), [(found, kind) for kind, listed in KINDS.items() for found in listed]
)
def test_each_media_type_is_of_one_kind_or_of_none(media_type, kind):
    predicates = {
        "json": media_types.is_json,
        "form": media_types.is_form,
        "multipart": media_types.is_multipart,
        "sequential": media_types.is_sequential,
        "text": media_types.is_text,
    }

    found = [name for name, holds in predicates.items() if holds(media_type)]

    assert found == ([] if kind == "none" else [kind])


@pytest.mark.parametrize(
    "text", ["a/b", "text/plain; charset=utf-8", 'a/b;c="d \\"e"', "image/*", "*/*", "a/b;type=c/d"]
)
def test_what_is_a_media_type(text):
    assert media_types.is_media_type(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "json", "a/b/c", "a /b", "a/b;", "a/b; c", "a/b\r\nX: 1", "a/b, c/d", "é/b"),
        "a/b;c=\u00e9",
    ],
)
def test_what_is_none(text):
    assert not media_types.is_media_type(text)


def test_parameters_are_read_and_left_out():
    media_type = 'Multipart/Form-Data; Boundary="a b"; charset=utf-8'

    assert media_types.essence(media_type) == "multipart/form-data"
    assert media_types.parameter(media_type, "boundary") == "a b"
    assert media_types.parameter(media_type, "missing") == ""
    assert (
        media_types.without_parameter(media_type, "boundary")
        == "Multipart/Form-Data; charset=utf-8"
    )


@pytest.mark.parametrize(
    ("media_type", "pattern", "expected"),
    [
        ("image/png", "image/png", True),
        ("Image/PNG; a=b", "image/png", True),
        ("image/png", "image/*", True),
        ("image/png", "*/*", True),
        ("image/png", "text/*", False),
        ("image/png", "image/jpeg", False),
        ("image/[a]", "image/[a]", True),
        ("image/a", "image/[a]", False),
        ("", "image/*", False),
    ],
)
def test_a_range_matches_what_it_stands_for(media_type, pattern, expected):
    assert media_types.matches(media_type, pattern) is expected


def test_xml_is_told_apart():
    assert media_types.is_xml("application/soap+xml; charset=utf-8")
    assert not media_types.is_xml("text/plain")
