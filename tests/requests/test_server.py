"""Where an operation is served: its first server, filled in, or the user's own address."""

import pytest
from servers.documents import document

from openapi_tools import CallError, Settings, load_tools


def url_of(url, variables=None, **settings):
    """Return where a GET on `/p` goes when the document has that server."""
    source = {**document(), "servers": [{"url": url, "variables": variables or {}}]}
    (tool,) = load_tools(source, settings=Settings(**settings))
    return str(tool.preview({}).url)


def refusal(url, variables=None, **settings):
    with pytest.raises(CallError) as caught:
        url_of(url, variables, **settings)
    assert caught.value.kind == "connection"
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.example", "https://api.example"),
        ("https://api.example/", "https://api.example"),
        ("https://api.example/v1/", "https://api.example/v1"),
        ("HTTP://API.example:8080/v1", "http://api.example:8080/v1"),
        ("HTTPS://api.example:443/v1", "https://api.example/v1"),
        ("http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://api.example/a b/é", "https://api.example/a%20b/%C3%A9"),
        ("https://api.example/a%20b", "https://api.example/a%20b"),
    ],
)
def test_an_address_is_taken_without_its_last_slash(url, expected):
    assert url_of(url) == f"{expected}/p"
    assert url_of("https://other.example", base_url=url) == f"{expected}/p"


@pytest.mark.parametrize(
    "url",
    [
        *("api.example/v1", "ftp://api.example", "file:///etc/passwd"),
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
    message = refusal(url)

    assert "base_url" in message
    assert "s3cret" not in message


@pytest.mark.parametrize(
    "url", ["https://999.1.1.1", "https://[::g]", "https://xn--\u0660.example"]
)
def test_a_host_that_is_none_is_an_error(url):
    assert "address" in refusal(url)


@pytest.mark.parametrize("url", ["/", "/v1", "v1", "../x"])
def test_a_relative_server_is_an_error_that_says_why(url):
    assert refusal(url) == (
        f"the document's server {url!r} is relative, and the document was not loaded from a URL; "
        "set the API's address with Settings(base_url=…)."
    )


def test_the_first_server_is_used():
    servers = [{"url": "https://one.example"}, {"url": "https://two"}]

    (tool,) = load_tools({**document(), "servers": servers})

    assert str(tool.preview({}).url) == "https://one.example/p"


REGION = {"default": "eu", "enum": ["eu", "us"]}


@pytest.mark.parametrize(
    ("url", "variables", "values", "expected"),
    [
        ("https://{r}.example/{v}", {"r": REGION, "v": "v1"}, {}, "https://eu.example/v1"),
        ("https://{r}.example", {"r": REGION}, {"r": "us"}, "https://us.example"),
        ("{s}://api.example", {"s": "https"}, {}, "https://api.example"),
        ("https://api.example:{p}", {"p": "8443"}, {}, "https://api.example:8443"),
        ("https://{h}/x", {"h": "localhost:8089"}, {}, "https://localhost:8089/x"),
        ("{base}/x", {"base": "https://api.example"}, {}, "https://api.example/x"),
        ("https://api.example/{v}", {}, {"v": "v2/beta"}, "https://api.example/v2/beta"),
        ("https://api.example/{v}", {"v": ""}, {}, "https://api.example"),
        ("https://{r}.example", {"r": REGION}, {"other": "x"}, "https://eu.example"),
    ],
)
def test_variables_are_filled_in(url, variables, values, expected):
    declared = {
        name: {"default": value} if isinstance(value, str) else value
        for name, value in variables.items()
    }

    assert url_of(url, declared, server_variables=values) == f"{expected}/p"


@pytest.mark.parametrize(
    ("url", "value"),
    [
        *(
            ("https://{x}.trusted.example", f"evil.example{end}")
            for end in ("/", "?", "#", "\\", ":80", "%2f")
        ),
        ("https://{x}trusted.example", "user@"),
        ("https://trusted.example{x}", "@evil.example"),
        ("{x}://trusted.example", "https://evil.example/"),
        ("https://trusted.example/{x}", "../admin"),
        ("https://trusted.example/{x}", "?a=b"),
    ],
)
def test_no_variable_moves_the_server(url, value):
    assert refusal(url, {"x": {"default": value}})
    assert refusal(url, server_variables={"x": value})


def test_a_value_outside_the_variables_enum_is_an_error():
    message = refusal("https://{r}.example", {"r": REGION}, server_variables={"r": "mars"})

    assert "'eu', 'us'" in message


def test_a_variable_without_value_is_an_error():
    assert "server_variables" in refusal("https://{r}.example")
