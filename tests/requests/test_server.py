"""Where an operation is served."""

import pytest

from openapi_tools.errors import CallError
from openapi_tools.model import Operation, Server, ServerVariable
from openapi_tools.requests.builder import build_request
from openapi_tools.requests.server_urls import server_url
from openapi_tools.settings import Settings


def served(url, **variables):
    return Operation("GET", "/p", servers=(Server(url, variables),))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.example", "https://api.example"),
        ("https://api.example/", "https://api.example"),
        ("https://api.example/v1/", "https://api.example/v1"),
        ("HTTP://API.example:8080/v1", "HTTP://API.example:8080/v1"),
        ("http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("https://bücher.example", "https://bücher.example"),
        ("https://api.example/a b/é", "https://api.example/a%20b/%C3%A9"),
        ("https://api.example/a%20b", "https://api.example/a%20b"),
    ],
)
def test_an_address_is_taken_without_its_last_slash(url, expected):
    assert server_url(served(url), Settings()) == expected
    assert server_url(Operation("GET", "/"), Settings(base_url=url)) == expected


@pytest.mark.parametrize(
    "url",
    [
        *("", "/v1", "api.example/v1", "//api.example", "ftp://api.example", "file:///etc/passwd"),
        *("javascript:alert(1)", "unix:/run/x", "https://", "https://user:s3cret@api.example"),
        *("https://trusted.example@evil.example", "https://trusted.example\\@evil.example"),
        *("https://api.example:99999", "https://api.example:80x", "https://api.example#x"),
        *("https://api.example?x=1", "https://api.example/v1?x=1", "https://api.example/v1#x"),
        *("https://api.example/../x", "https://api.example/%2e%2e/x"),
        *("https://api.example/a\r\nX: 1", "https://api.example\r\nX: 1", "https://api .example"),
        *("https://[::1", "https://api.example/a\\b"),
    ],
)
def test_anything_else_is_an_error_that_says_to_give_one(url):
    with pytest.raises(CallError, match="base_url") as caught:
        server_url(served(url), Settings())

    assert caught.value.kind == "connection"
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["https://999.1.1.1", "https://[::g]", "https://xn--\u0660.example"]
)
def test_a_host_that_is_none_is_an_error(url):
    with pytest.raises(CallError) as caught:
        build_request(served(url), {}, settings=Settings())

    assert caught.value.kind == "connection"


def test_no_server_at_all_is_an_error():
    with pytest.raises(CallError, match="names no server"):
        server_url(Operation("GET", "/"), Settings())


@pytest.mark.parametrize("url", ["/", "/v1", "v1", "", "//api.example/v1", "../x"])
def test_a_relative_server_is_an_error_that_says_why(url):
    with pytest.raises(CallError) as caught:
        server_url(served(url), Settings())

    assert caught.value.kind == "connection"
    assert str(caught.value) == (
        f"its server {url!r} is relative and the document was not loaded from a URL; "
        "give the API's address with Settings(base_url=…)."
    )


def test_the_first_server_is_used_and_the_users_own_address_before_it():
    operation = Operation(
        "GET", "/p", servers=(Server("https://one.example"), Server("https://two"))
    )

    assert server_url(operation, Settings()) == "https://one.example"
    assert server_url(operation, Settings(base_url="http://mine/x")) == "http://mine/x"


REGION = ServerVariable("eu", ("eu", "us"))


@pytest.mark.parametrize(
    ("url", "variables", "given", "expected"),
    [
        ("https://{r}.example/{v}", {"r": REGION, "v": ServerVariable("v1")}, {},
         "https://eu.example/v1"),
        ("https://{r}.example", {"r": REGION}, {"r": "us"}, "https://us.example"),
        ("{s}://api.example", {"s": ServerVariable("https")}, {}, "https://api.example"),
        ("https://api.example:{p}", {"p": ServerVariable("8443")}, {}, "https://api.example:8443"),
        ("https://{h}/x", {"h": ServerVariable("localhost:8089")}, {}, "https://localhost:8089/x"),
        ("{base}/x", {"base": ServerVariable("https://api.example")}, {}, "https://api.example/x"),
        ("https://api.example/{v}", {}, {"v": "v2/beta"}, "https://api.example/v2/beta"),
        ("https://api.example/{v}", {"v": ServerVariable("")}, {}, "https://api.example"),
        ("https://{r}.example", {"r": REGION}, {"other": "x"}, "https://eu.example"),
    ],
)  # fmt: skip
def test_variables_are_filled_in(url, variables, given, expected):
    assert server_url(served(url, **variables), Settings(server_variables=given)) == expected


@pytest.mark.parametrize(
    ("url", "value"),
    [
        ("https://{x}.trusted.example", "evil.example/"),
        ("https://{x}.trusted.example", "evil.example?"),
        ("https://{x}.trusted.example", "evil.example#"),
        ("https://{x}.trusted.example", "evil.example\\"),
        ("https://{x}trusted.example", "user@"),
        ("https://trusted.example{x}", "@evil.example"),
        ("https://{x}.trusted.example", "evil.example:80"),
        ("https://{x}.trusted.example", "evil.example%2f"),
        ("{x}://trusted.example", "https://evil.example/"),
        ("https://trusted.example/{x}", "../admin"),
        ("https://trusted.example/{x}", "?a=b"),
    ],
)
def test_no_variable_moves_the_server(url, value):
    operation = served(url, x=ServerVariable(value))

    with pytest.raises(CallError) as caught:
        server_url(operation, Settings())

    assert caught.value.kind == "connection"


def test_a_value_outside_the_variables_enum_is_an_error():
    with pytest.raises(CallError, match="'eu', 'us'"):
        server_url(
            served("https://{r}.example", r=REGION), Settings(server_variables={"r": "mars"})
        )


def test_a_variable_without_value_is_an_error():
    with pytest.raises(CallError, match="server_variables"):
        server_url(served("https://{r}.example"), Settings())
