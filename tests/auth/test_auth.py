"""Credentials: how they travel, which are missing or wrong, and what takes their place."""

import base64
import ssl

import pytest
from documents import document, operation
from pydantic import SecretStr
from servers.recorder import CannedResponse

from openapi_tools import CredentialsError, Settings, load_tools

SCHEMES = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "api key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "Basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "oauth": {"type": "oauth2", "flows": {}},
    "digest": {"type": "http", "scheme": "digest"},
    "nowhere": {"type": "apiKey", "in": "path", "name": "k"},
    "cert": {"type": "mutualTLS"},
}
SECRET = "s3cr3t-value"
BASIC = "Basic " + base64.b64encode(b"me:s3cr3t-value").decode()


def load_operation(security, credentials, url="", *, parameters=(), **options):
    """Return the tools of a document with one operation."""
    get = operation(security=security, parameters=[*parameters])
    root = document({"/x": {"get": get}}, openapi="3.2.0", components={"securitySchemes": SCHEMES})
    settings = Settings(base_url=url or "http://127.0.0.1:1", **options)
    return load_tools(root, credentials=credentials, settings=settings)


async def call_operation(server, security, credentials, arguments=None, **options):
    """Return the result of a call."""
    async with load_operation(security, credentials, server.url, **options) as toolset:
        return await toolset["get_x"].execute(arguments or {})


def parameter(name, location, **fields):
    return {"name": name, "in": location, "schema": {"type": ["string", "object"]}, **fields}


FILLED = [
    ({"in": "header", "name": "X-Own", "value": SECRET}, ("X-Own", SECRET)),
    ({"scheme": "bearer", "value": SECRET}, ("Authorization", f"Bearer {SECRET}")),
    ({"scheme": "basic", "value": ("me", SECRET)}, ("Authorization", BASIC)),
    ({"type": "http", "scheme": "token", "value": SECRET}, ("Authorization", f"Token {SECRET}")),
]
TRAVELS = [
    ([{"header": []}], {"header": SECRET}, ("X-Key", SECRET)),
    ([{"basic": []}], {"basic": ("me", SECRET)}, ("Authorization", BASIC)),
    ([{"basic": []}], {"basic": f"me:{SECRET}"}, ("Authorization", BASIC)),
    ([{"bearer": []}], {"bearer": SecretStr(SECRET)}, ("Authorization", f"Bearer {SECRET}")),
    ([{"oauth": []}], {"oauth": SECRET}, ("Authorization", f"Bearer {SECRET}")),
    ([{"cookie": []}], {"cookie": SECRET}, ("Cookie", f"sid={SECRET}")),
    ([{}, {"header": []}], {"header": SECRET}, ("X-Key", SECRET)),
    ([{"header": []}, {}], {"header": SECRET}, ("X-Key", SECRET)),
    *(([], {"mine": value}, header) for value, header in FILLED),
    *(([{"lost": []}], {"lost": value}, header) for value, header in FILLED),
]


@pytest.mark.parametrize(("security", "credentials", "header"), TRAVELS)
async def test_a_credential_travels_in_its_header(security, credentials, header, recorder):
    result = await call_operation(recorder, security, credentials)

    assert result.success
    assert recorder.last.headers.count(header) == 1


async def test_all_schemes_of_the_first_requirement_that_can_be_met_are_used(recorder):
    security = [{"basic": []}, {"header": [], "query": [], "cookie": []}, {"bearer": []}]
    credentials = {"header": "h", "query": "a&b=c", "cookie": "c%20key", "bearer": "b"}
    parameters = [parameter("x", "query"), parameter("c", "cookie")]
    await call_operation(
        recorder, security, credentials, {"x": "1", "c": "2"}, parameters=parameters
    )

    request = recorder.last
    assert request.target == "/x?x=1&api%20key=a%26b%3Dc"
    assert request.header("X-Key") == "h"
    assert request.header("Cookie") == "c=2; sid=c%20key"
    assert request.header("Authorization") is None


TAKEN = [
    ("header", {"key": "evil"}, {}),
    ("query", {"key": "evil"}, {}),
    ("cookie", {"key": "evil"}, {}),
    ("query", {"o": {"a": 1, "key": "evil"}}, {"style": "form"}),
    ("cookie", {"o": {"a": 1, "key": "evil"}}, {"style": "form", "explode": True}),
    ("cookie", {"o": {"a": 1, "key": "evil"}}, {"style": "cookie", "explode": True}),
]


@pytest.mark.parametrize(
    ("location", "arguments", "style"), TAKEN, ids=[repr(row) for row in TAKEN]
)
async def test_an_argument_cannot_take_the_place_of_a_credential(
    location, arguments, style, recorder
):
    credentials = {"mine": {"in": location, "name": "key", "value": SECRET}}
    (name,) = arguments

    result = await call_operation(
        recorder, [], credentials, arguments, parameters=[parameter(name, location, **style)]
    )

    assert result.error["type"] == "invalid_input"
    reason = "unknown argument" if name == "key" else "set by the credentials"
    assert reason in str(result)
    assert SECRET not in str(result)
    assert recorder.requests == []


UNSENDABLE = [
    {"in": "header", "name": "X-Key", "value": f"{SECRET}中"},
    {"in": "header", "name": "X Key", "value": SECRET},
    {"in": "header", "name": "Host", "value": SECRET},
    {"in": "cookie", "name": "k", "value": f"{SECRET}; a=1"},
    {"in": "cookie", "name": "k;", "value": SECRET},
]
NOT_SENT = [
    ([{"header": []}], {}, "credential for 'header' (API key, header 'X-Key'); the request"),
    ([{"header": []}, {"basic": []}], {},
     "for 'header' (API key, header 'X-Key') or 'basic' (HTTP basic, user and password);"),
    ([{"header": [], "query": []}], {"header": SECRET}, "'query' (API key, query 'api key');"),
    ([{"basic": [], "query": []}, {"oauth": []}], {}, "for 'oauth' (OAuth2, a token) or 'basic' ("),
    ([{"lost": []}], {}, "for 'lost' (which the document does not define);"),
    ({"header": []}, {}, "Missing credential for 'header'"),  # which is no list
    ([{"basic": [], "bearer": []}], {"basic": ("me", SECRET), "bearer": SECRET},
     "'basic', 'bearer' are required together"),
    ([{"cert": []}], {"cert": ssl.create_default_context()}, "needs https"),
    *(([], {"mine": value}, "sent") for value in UNSENDABLE),
]  # fmt: skip


@pytest.mark.parametrize(("security", "credentials", "message"), NOT_SENT)
async def test_a_credential_that_is_missing_or_cannot_be_sent_is_an_error_that_says_so(
    security, credentials, message, recorder
):
    result = await call_operation(recorder, security, credentials)

    assert result.error["type"] == "credentials"
    assert message in str(result)
    assert ("credentials={'" in str(result)) is ("Missing credential" in str(result))
    assert SECRET not in str(result)
    assert recorder.requests == []


@pytest.mark.parametrize("security", [[{}, {"header": []}], [{"header": []}, {}]], ids=repr)
async def test_a_call_may_go_without_a_credential_that_is_optional(security, recorder):
    assert (await call_operation(recorder, security, {})).success

    assert recorder.last.header("X-Key") is None


REFUSED = [
    ([{"header": []}], {}, "Missing credential for 'header'"),
    ([{"header": [], "query": []}], {"header": SECRET}, "Missing credential for 'query'"),
    ([{}, {"header": []}], {}, "Missing credential for 'header'"),
    ([{"header": []}, {"basic": []}], {"basic": f"me:{SECRET}"}, ""),
    ([{}], {}, ""),
    ([], {}, ""),
]


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(("security", "credentials", "message"), REFUSED, ids=repr)
async def test_a_refusal_names_the_schemes_without_a_credential(
    security, credentials, message, status, recorder
):
    headers = [("Content-Type", "application/json"), ("Retry-After", "3")]
    recorder.response = CannedResponse(status, headers, b'{"detail": "who are you?"}')

    result = await call_operation(recorder, security, credentials, anonymous=True)

    assert result.error["type"] == "auth"
    assert result.error["status"] == result.metadata["status"] == status
    assert result.error["retry_after"] == 3
    assert result.error["message"] == str(result)
    assert "who are you?" in str(result)
    assert message in str(result) if message else "credential" not in str(result)
    assert SECRET not in str(result)


@pytest.mark.parametrize("security", [[], [{}], [{"basic": []}]], ids=["none", "optional", "other"])
async def test_a_credential_is_not_sent_where_nothing_asks_for_it(security, recorder):
    assert (await call_operation(recorder, security, {"header": SECRET}, anonymous=True)).success

    assert SECRET not in recorder.last.raw.decode("latin-1")


WRONG = [
    *(("header", value) for value in ("a\r\nX-Evil: 1", "", 3, None)),
    *(("basic", value) for value in ("no colon", ("a", "b", "c"))),
    *(("bearer", ["x"]), ("digest", SECRET), ("nowhere", SECRET), ("unknown", SECRET)),
]


@pytest.mark.parametrize(("scheme", "value"), WRONG, ids=repr)
def test_a_credential_of_the_wrong_kind_is_refused_without_showing_it(scheme, value):
    with pytest.raises(CredentialsError) as caught:
        load_operation([], {scheme: value})

    assert caught.value.scheme == scheme
    assert repr(scheme) in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "Evil" not in str(caught.value)


def test_a_line_end_behind_a_key_is_stripped():
    (tool,) = load_operation([{"header": []}], {"header": f"{SECRET}\n"})

    assert tool.preview({}).headers["X-Key"] == "***"


@pytest.mark.parametrize("scheme", ["header", "query", "cookie", "basic", "bearer"])
def test_a_preview_and_every_repr_mask_the_credential(scheme):
    (tool,) = load_operation([{scheme: []}], {scheme: f"me:{SECRET}"})

    request = tool.preview({})
    visible = [request, str(request.url), request.headers.raw, tool, tool._session]
    text = " ".join(map(repr, [*visible, tool._session.credentials]))
    assert "***" in text or "%2A%2A%2A" in text
    assert SECRET not in text
    assert base64.b64encode(f"me:{SECRET}".encode()).decode() not in text


async def test_a_function_is_asked_for_each_call_and_once_more_after_a_401(recorder):
    asked = []

    async def token():
        asked.append(f"token-{len(asked)}")
        return asked[-1]

    recorder.responses.extend(
        [
            CannedResponse(),
            CannedResponse(401),
            CannedResponse(),
            CannedResponse(401),
            CannedResponse(401),
        ]
    )
    async with load_operation([{"bearer": []}], {"bearer": token}, recorder.url) as toolset:
        results = [await toolset["get_x"].execute({}) for _ in range(3)]

    assert [result.success for result in results] == [True, True, False]
    assert [result.metadata["attempts"] for result in results] == [1, 2, 2]
    assert [r.header("Authorization") for r in recorder.requests] == [
        f"Bearer token-{number}" for number in range(5)
    ]


async def test_an_equal_credential_is_not_sent_again_after_a_401(recorder):
    recorder.response.status = 401
    result = await call_operation(recorder, [{"bearer": []}], {"bearer": lambda: SECRET})

    assert result.error["type"] == "auth"
    assert len(recorder.requests) == 1


CHALLENGES = [
    *('Digest realm="r", nonce="n", qop="auth"', "Digest realm"),
    *('Digest realm="r", nonce="n", algorithm=FOO', 'Digest realm="r", nonce="n", qop="auth-int"'),
    *('Digest realm="\u00e9", nonce="n"', "Bearer"),
]


@pytest.mark.parametrize("challenge", CHALLENGES)
async def test_a_challenge_that_cannot_be_answered_is_a_refusal(challenge, recorder, caplog):
    recorder.response.status = 401
    recorder.response.headers = [("WWW-Authenticate", challenge)]
    result = await call_operation(recorder, [{"digest": []}], {"digest": ("me", SECRET)})

    assert (result.error["type"], result.error["status"]) == ("auth", 401)
    assert "Traceback" not in caplog.text


DESCRIBED = {
    "Enter the key with the `Bearer ` prefix.": "Bearer",
    "`Authorization: Bearer <token>`": "Bearer",
    "Bearer Token authentication": "Bearer",
    "This format:\n\n    Token xxxxxx.yyyyyyy.zzzzzz": "Token",
    "Prefix your key with 'Token '.": "Token",
    "`ApiKey {key}`": "ApiKey",
    "Discord bot token": "",
    "Your API key. The token is in your settings.": "",
    "": "",
}


@pytest.mark.parametrize(("description", "word"), DESCRIBED.items())
@pytest.mark.parametrize("openapi", ["3.1.0", "2.0"])
def test_a_key_without_the_word_that_its_description_names_is_a_warning(description, word, openapi):
    scheme = {"type": "apiKey", "in": "header", "name": "Authorization", "description": description}
    declared = {"3.1.0": {"components": {"securitySchemes": {"key": scheme}}},
                "2.0": {"securityDefinitions": {"key": scheme}}}  # fmt: skip
    root = document({"/x": {"get": operation()}}, openapi=openapi, **declared[openapi])

    def warnings(**credentials):
        settings = Settings(base_url="http://127.0.0.1:1")
        messages = load_tools(root, credentials=credentials, settings=settings).warnings
        return [warning for warning in messages if "key" in warning]

    messages = warnings(key=SECRET)

    assert [f"'{word} …'" in warning for warning in messages] == ([True] if word else [])
    assert SECRET not in str(messages)
    assert warnings(key=f"{word} {SECRET}" if word else SECRET) == []
    assert warnings(key=lambda: SECRET) == warnings() == []


async def test_what_stands_behind_a_word_in_a_key_is_a_secret_too(recorder):
    recorder.response = CannedResponse(body=b'{"seen": "s3cr3t-value"}')
    result = await call_operation(recorder, [{"header": []}], {"header": f"Token {SECRET}"})

    assert result.output == {"seen": "***"}


@pytest.mark.parametrize(
    ("server", "base", "meant"),
    [
        ("https://api.example/v3", "", "/v3"),
        ("/api/v3", "", "/api/v3"),
        ("https://{host}/v3/", "/proxy", "/proxy/v3"),
        ("https://api.example/v3", "/v3", ""),
        ("https://api.example/v3", "/proxy/v3/", ""),
        ("https://api.example", "", ""),
        ("https://{unknown}/v3", "", ""),
    ],
)
async def test_a_404_says_that_base_url_is_missing_the_path_of_the_documents_server(
    server, base, meant, recorder
):
    recorder.response = CannedResponse(status=404)
    servers = [{"url": server, "variables": {"host": {"default": "api.example"}}}]
    root = document({"/x": {"get": operation()}}, servers=servers)
    settings = Settings(base_url=recorder.url + base)
    async with load_tools(root, settings=settings) as toolset:
        result = await toolset["get_x"].execute({})
        recorder.responses.append(CannedResponse())
        await toolset["get_x"].execute({})
        later = await toolset["get_x"].execute({})

    assert later.is_error
    assert "base_url" not in str(later), "the address is right, as it has answered"
    assert (result.error["type"], result.error["status"]) == ("http", 404)
    assert (f"(base_url='{recorder.url}{meant}')" in str(result)) is bool(meant)
    assert ("base_url" in str(result)) is bool(meant)
