"""What credentials add: no argument takes its place, and no error shows it."""

import pytest

from openapi_tools.errors import CallError, InputError
from openapi_tools.model import Operation, Parameter
from openapi_tools.requests.builder import build_request
from openapi_tools.requests.request_auth import RequestAuth
from openapi_tools.settings import Settings


def build(operation, arguments, auth):
    settings = Settings(base_url="https://api.example/base")
    return build_request(operation, arguments, settings=settings, auth=auth)


KEYED = (
    ("header", RequestAuth(headers=(("X-Key", "secret"),)), "x-key"),
    ("query", RequestAuth(query=(("key", "secret"),)), "key"),
    ("cookie", RequestAuth(cookies=(("key", "secret"),)), "key"),
)


@pytest.mark.parametrize(("location", "auth", "name"), KEYED, ids=[k[0] for k in KEYED])
def test_an_argument_cannot_take_the_place_of_a_credential(location, auth, name):
    parameters = (Parameter(name, location), Parameter("o", "query", explode=True))

    with pytest.raises(InputError, match="set by the credentials") as caught:
        build(Operation("GET", "/", parameters=parameters), {name: "evil"}, auth)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("location", ["query", "cookie"])
@pytest.mark.parametrize("style", ["form", "cookie"])
def test_nor_can_a_member_of_an_exploded_object(location, style):
    added = {"query": "query", "cookie": "cookies"}[location]
    auth = RequestAuth(**{added: (("api_key", "secret"),)})
    shape = Parameter("o", location, style=style if location == "cookie" else "form")

    with pytest.raises(InputError, match="set by the credentials"):
        build(Operation("GET", "/", parameters=(shape,)), {"o": {"a": 1, "api_key": "evil"}}, auth)


def test_credentials_come_last_and_are_encoded_where_that_is_needed():
    auth = RequestAuth(
        headers=(("Authorization", "Bearer a b"),),
        query=(("api key", "a&b"),),
        cookies=(("session", "a%20b"),),
    )
    parameters = (Parameter("x", "query"), Parameter("c", "cookie"))

    request = build(Operation("GET", "/p", parameters=parameters), {"x": 1, "c": 2}, auth=auth)

    assert request.url.raw_path == b"/base/p?x=1&api%20key=a%26b"
    assert request.headers["cookie"] == "c=2; session=a%20b"
    assert request.headers["authorization"] == "Bearer a b"


@pytest.mark.parametrize(
    "auth",
    [
        RequestAuth(headers=(("X-Key", "s3cret\r\nX: 1"),)),
        RequestAuth(headers=(("X-Key", "s3cret中"),)),
        RequestAuth(headers=(("Host", "s3cret"),)),
        RequestAuth(headers=(("X Key", "s3cret"),)),
        RequestAuth(cookies=(("k", "s3cret; a=1"),)),
        RequestAuth(cookies=(("k;", "s3cret"),)),
    ],
    ids=["line break", "alphabet", "Host", "header name", "cookie value", "cookie name"],
)
def test_a_credential_that_cannot_be_sent_is_an_error_that_hides_it(auth):
    with pytest.raises(CallError) as caught:
        build(Operation("GET", "/"), {}, auth)

    assert caught.value.kind == "credentials"
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(auth)
