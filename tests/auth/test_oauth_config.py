"""What a user gives: read strictly, shown never."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.errors import CredentialsError

SECRETS = ["s3cret-text", SecretStr("s3cret-text"), " s3cret-text\n", "${THE_SECRET}"]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_a_text_or_a_wrapped_one_or_names_a_variable(monkeypatch, secret):
    monkeypatch.setenv("THE_SECRET", "s3cret-text")

    config = OAuth2.from_mapping({"client_id": "app", "client_secret": secret})

    assert config.secrets() == ("s3cret-text",)
    assert "s3cret" not in f"{config!r} {config} {config.client_secret!r}"


def test_every_secret_field_is_masked():
    config = OAuth2(
        client_id="app",
        client_secret="secret-1",
        refresh_token="secret-2",
        access_token="secret-3",
        username="ada",
        password="secret-4",
        extra={"audience": "secret-5"},
        token_url="https://auth.example.com/token?key=secret-6",
    )

    assert "secret-" not in repr(config)
    assert "app" in repr(config)
    assert "'https://auth.example.com/token'" in repr(config)
    assert config.secrets() == ("secret-1", "secret-2", "secret-3", "secret-4", "secret-5")
    with pytest.raises(TypeError):
        vars(config)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["client_id"], "the configuration must be a mapping, not list"),
        ({"client_idd": "hidden-1"}, "did you mean 'client_id'?"),
        ({"hidden-1": 1}, "1 unknown key"),
        ({"client_id": 7}, "client_id must be a string, not int"),
        ({"client_secret": ["hidden-1"]}, "client_secret must be a string, not list"),
        ({"client_secret": ""}, "client_secret is empty"),
        ({"client_secret": "hidden-1\r\nX: y"}, "control character"),
        ({"client_secret": "${NOT_SET_ANYWHERE}"}, "NOT_SET_ANYWHERE"),
        ({"scopes": 7}, "scopes must be a string"),
        ({"scopes": ["hidden-1 two"]}, "a scope must be a string without spaces"),
        ({"scopes": [7]}, "a scope must"),
        ({"scopes": {"read": ""}}, "scopes must be a string"),
        ({"token_url": 7}, "token_url must be a string"),
        ({"token_url": "https://hidden-1@host/token"}, "token_url must be an http or https URL"),
        ({"token_url": "https://host/token#hidden-1"}, "token_url must be an http or https URL"),
        (
            {"authorization_url": "javascript:hidden-1"},
            "authorization_url must be an http or https URL",
        ),
        ({"flow": "hidden-1"}, "flow must be one of clientCredentials, password"),
        ({"flow": ["hidden-1"]}, "flow must be one of"),
        ({"client_auth": "hidden-1"}, "client_auth must be one of client_secret_basic"),
        ({"client_auth": "client_secret_post"}, "needs a client_secret"),
        ({"username": "ada"}, "belong together"),
        ({"password": "hidden-1"}, "belong together"),
        ({"extra": {"client_secret": "hidden-1"}}, "extra must not contain client_secret"),
        ({"extra": ["hidden-1"]}, "extra must be a mapping"),
        ({"extra": {"audience": 7}}, "must be a string, not int"),
        ({"token_file": 7}, "token_file must be a path"),
    ],
    ids=str,
)
def test_what_is_wrong_is_reported_without_its_value(fields, message):
    with pytest.raises(CredentialsError) as caught:
        OAuth2.from_mapping(fields)

    assert message in str(caught.value)
    assert "hidden-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"scopes": "read  write"}, "scopes", ("read", "write")),
        ({"scopes": ["read", "write", "read"]}, "scopes", ("read", "write")),
        ({"flow": "client_credentials"}, "flow", "clientCredentials"),
        ({"flow": "password"}, "flow", "password"),
        ({"client_id": "app"}, "client_auth", "none"),
        ({"client_secret": "x"}, "client_auth", "client_secret_basic"),
        ({"token_file": "~/tokens"}, "token_file", Path.home() / "tokens"),
    ],
)
def test_a_field_may_be_written_in_several_ways(fields, name, value):
    assert getattr(OAuth2(**fields), name) == value


def test_equal_fields_are_equal():
    one, other = (OAuth2(client_id="app", client_secret="x") for _ in range(2))

    assert one == other
    assert hash(one) == hash(other)
    assert one != OAuth2(client_id="app", client_secret="y")
