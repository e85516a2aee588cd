"""Defaults and examples that look like secrets."""

from __future__ import annotations

from typing import Any

import pytest

from openapi_tools.codegen.package_data import Record, secret_warnings
from openapi_tools.model import Operation, Server

TOKEN = "ghp_" + "a1" * 18


def found(schema: Any) -> list[str]:
    return [*secret_warnings([Record("tool", "Text.", schema, Operation("GET", "/a"))])]


def about(name: str, **schema: Any) -> list[str]:
    return found({"type": "object", "properties": {name: schema}})


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        "gho_" + "b2" * 18,
        "sk_live_abcdefgh12345678",
        "pk-test-abcdefgh12345678",
        "sk-proj-abcdefgh12345678",
        "AKIA" + "ABCDEFGH12345678",
        "xoxb-1234567890-abc",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        "-----BEGIN PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln",
        f"Authorization: Bearer {TOKEN}",
    ],
)
@pytest.mark.parametrize("keyword", ["default", "const", "example"])
def test_a_value_that_tells_itself_is_one_under_any_name(value: str, keyword: str) -> None:
    assert about("q", **{keyword: value}) == [
        "tool: the default or example of 'q' looks like a secret."
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "hunter2hunter2"),
        ("passwd", "Tr0ub4dor&3"),
        ("client_secret", "0123456789abcdef"),
        ("X-Api-Key", "8f14e45fceea167a"),
        ("apiKey", "8f14e45fceea167a"),
        ("ACCESS_TOKEN", "8f14e45fceea167a"),
        ("privateKey", "a1b2c3d4"),
        ("credentials", "a1b2c3d4"),
    ],
)
@pytest.mark.parametrize("keyword", ["examples", "enum"])
def test_a_mixed_word_under_a_telling_name_is_one(name: str, value: str, keyword: str) -> None:
    (warning,) = about(name, **{keyword: ["", value]})

    assert repr(name) in warning
    assert value not in warning


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("q", {"default": "8f14e45fceea167a"}),
        ("password", {"default": "password"}),
        ("password", {"default": "pa55"}),
        ("password", {"description": "At least 8 characters, for instance Tr0ub4dor&3"}),
        ("token", {"default": "your token from page 1"}),
        ("token", {"default": 1234567890123}),
        ("token", {"default": None, "example": True, "examples": [{"a": "b1"}]}),
        ("token", {"default": "12345678901234567890"}),
        ("token", {"enum": ["access_token", "refresh_token"]}),
        ("token", {"pattern": "^[a-z0-9]{8,}$", "title": "abc12345"}),
        ("max_tokens_12", {"default": 100}),
        ("skill", {"default": "sk_learn_models_9"}),
    ],
)
def test_ordinary_words_are_none(name: str, schema: Any) -> None:
    assert about(name, **schema) == []


def test_a_value_is_found_at_any_depth_and_told_once() -> None:
    inner = {"properties": {"password": {"default": "abc12345"}}}
    schema = {
        "properties": {"user": {"allOf": [{"items": inner}]}, "q": {"$ref": "#/$defs/Deep"}},
        "$defs": {"Deep": {"anyOf": [{"additionalProperties": inner}]}},
    }

    assert found(schema) == ["tool: the default or example of 'password' looks like a secret."]


def test_a_definition_is_named_by_itself() -> None:
    assert found({"$defs": {"Key": {"default": TOKEN}}}) == [
        "tool: the default or example of 'Key' looks like a secret."
    ]


def test_a_server_whose_user_and_password_were_left_out_is_told_once() -> None:
    servers = (Server("https://***@a.example"), Server("https://b.example/@"))
    operation = Operation("GET", "/a", servers=servers)

    assert [*secret_warnings(Record(name, "Text.", {}, operation) for name in "ab")] == [
        "the server 'https://***@a.example' has a user and a password, which are not written."
    ]


def test_what_an_example_holds_is_no_schema() -> None:
    assert about("q", default={"properties": {"password": {"default": "abc12345"}}}) == []


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"properties": []},
        {"properties": {"a": True, "b": None}},
        {"enum": "abc"},
        {"examples": {"a": "b"}},
        {"items": [True, {"default": [[["x"]]]}]},
    ],
)
def test_no_shape_of_schema_is_too_odd(schema: Any) -> None:
    assert found(schema) == []


def test_a_very_deep_schema_is_read_to_its_end() -> None:
    schema: Any = {"default": TOKEN}
    for _ in range(5_000):
        schema = {"items": schema}

    assert len(about("q", **schema)) == 1
