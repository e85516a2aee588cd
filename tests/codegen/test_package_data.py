"""The data of a package, and warnings of defaults and examples that look like secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from documents import document, operation

from openapi_tools import Settings, load_tools
from openapi_tools.codegen.package_data import (
    ToolRecord,
    collect_package_data,
    document_info,
    hash_document,
)
from openapi_tools.codegen.secret_warnings import secret_warnings
from openapi_tools.model import Operation

TOKEN = "ghp_" + "a1" * 18


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"prefix": "", "body": "flat", "timeout": 1, "base_url": "http://x"}, {}),
        ({"media_types": ["text/plain"], "body": "nested", "description_chars": 99},
         {"body": "nested", "description_chars": 99, "media_types": ("text/plain",)}),
    ],
)  # fmt: skip
def test_only_settings_that_shape_tools_and_are_no_defaults_are_kept(options, kept):
    settings = Settings(**options)
    toolset = load_tools(document({"/a": {"get": operation()}}), settings=settings)

    result = collect_package_data(toolset, api="pets", settings=settings).settings

    assert result == kept
    assert [*result] == [*kept]


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"title": "Pets", "version": "1"}, ("Pets", "1")),
        ({"title": 5, "version": 1.5}, ("", "1.5")),
        ({"title": ["a"], "version": {"a": 1}}, ("", "")),
        ({"version": True}, ("", "True")),
        (None, ("", "")),
    ],
)
def test_title_and_version_are_texts_of_any_document(info, expected):
    assert document_info({"info": info}) == expected
    assert document_info(info) == ("", "")


def test_the_hash_is_that_of_the_data_not_of_its_spelling():
    data = document({"/a": {"get": operation(summary="é \ud83d 🚀")}})

    assert hash_document(data) == hash_document(json.loads(json.dumps(data, indent=3)))
    assert hash_document(data) != hash_document({**data, "x": 1})
    assert hash_document({"a": 1}) != hash_document({"a": 1.0})
    assert hash_document({"a": 1, "b": 2}) != hash_document({"b": 2, "a": 1})


def find_secrets(schema):
    return [*secret_warnings([ToolRecord("tool", "Text.", schema, Operation("GET", "/a"))])]


def find_secrets_of(name, **schema):
    return find_secrets({"type": "object", "properties": {name: schema}})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("q", TOKEN),
        ("q", "gho_" + "b2" * 18),
        ("q", "sk_live_abcdefgh12345678"),
        ("q", "sk-proj-abcdefgh12345678"),
        ("q", "AKIA" + "ABCDEFGH12345678"),
        ("q", "xoxb-1234567890-abc"),
        ("q", "-----BEGIN RSA PRIVATE KEY-----\nMIIE"),
        ("q", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln"),
        ("q", f"Authorization: Bearer {TOKEN}"),
        ("passwd", "Tr0ub4dor&3"),
        ("client_secret", "0123456789abcdef"),
        ("apiKey", "8f14e45fceea167a"),
        ("ACCESS_TOKEN", "8f14e45fceea167a"),
        ("privateKey", "a1b2c3d4"),
        ("credentials", "a1b2c3d4"),
    ],
)
def test_a_telling_value_or_a_mixed_word_under_a_telling_name_is_a_secret(name, value):
    warning = f"tool: the default or example of {name!r} looks like a secret."
    for keyword in ("default", "const", "example"):
        assert find_secrets_of(name, **{keyword: value}) == [warning]
    for keyword in ("examples", "enum"):
        assert find_secrets_of(name, **{keyword: ["", value]}) == [warning]


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("q", {"default": "8f14e45fceea167a"}),
        ("password", {"default": "pa55"}),
        ("password", {"description": "At least 8 characters, for instance Tr0ub4dor&3"}),
        ("token", {"default": "your token from page 1"}),
        ("token", {"default": 1234567890123}),
        ("token", {"default": None, "example": True, "examples": [{"a": "b1"}]}),
        ("token", {"enum": ["access_token", "refresh_token"]}),
        ("token", {"pattern": "^[a-z0-9]{8,}$", "title": "abc12345"}),
        ("max_tokens_12", {"default": 100}),
        ("token", {"default": "12345678901234567890"}),
        ("skill", {"default": "sk_learn_models_9"}),
        ("token", {"properties": [], "items": [True], "enum": "abc"}),
        ("token", {"properties": {"a": True}}),
        ("q", {"default": {"properties": {"password": {"default": "abc12345"}}}}),
    ],
)
def test_ordinary_words_are_none(name, schema):
    assert find_secrets_of(name, **schema) == []


def test_a_value_is_found_at_any_depth_and_reported_once():
    inner: Any = {"properties": {"password": {"default": "abc12345"}}}
    for _ in range(5_000):
        inner = {"items": inner}
    schema = {
        "properties": {"user": {"allOf": [{"items": inner}]}, "q": {"$ref": "#/$defs/Deep"}},
        "$defs": {"Deep": {"anyOf": [{"additionalProperties": inner}]}, "Key": {"default": TOKEN}},
    }

    assert sorted(find_secrets(schema)) == [
        f"tool: the default or example of {name!r} looks like a secret."
        for name in ("Key", "password")
    ]
