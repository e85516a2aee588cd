"""Security schemes in other words than the standard's, by URI, and prefixes of keys."""

import json

import pytest
import yaml
from documents import document, operation

from openapi_tools import load_tools

SECRET = "s3cr3t-0815"
BASIC = "Basic bWU6czNjcjN0LTA4MTU="
FLOW = {"tokenUrl": "https://api.example.com/token", "scopes": {}}


def api(scheme, *, openapi="3.1.1", requirement="k", **fields):
    get = operation(operationId="do", security=[{requirement: []}])
    holder = {"securityDefinitions": {"k": scheme}}
    if openapi != "2.0":
        holder = {"components": {"securitySchemes": {"k": scheme}}}
    return document({"/x": {"get": get}}, openapi=openapi, **{**holder, **fields})


async def call_tool(root, recorder, secret=SECRET, name="k"):
    """Return the request of a call with a credential, and the warnings of the document."""
    async with load_tools(root, credentials={name: secret}, base_url=recorder.url) as toolset:
        result = await toolset.call("do", {})
        assert result.success, result
        return recorder.last, toolset.warnings


KEY = {"in": "header", "name": "X-K"}
BEARER = ("Authorization", f"Bearer {SECRET}")
FORMS = {
    "apikey": ({"type": "apikey", **KEY}, ("X-K", SECRET), "/type"),
    "API_KEY": ({"type": "API_KEY", **KEY}, ("X-K", SECRET), "/type"),
    "in Header": ({"type": "apiKey", "in": "Header", "name": "X-K"}, ("X-K", SECRET), "/in"),
    "in headers": ({"type": "apiKey", "in": "headers", "name": "X-K"}, ("X-K", SECRET), "/in"),
    "a key without type": (KEY, ("X-K", SECRET), ": 'type' is missing"),
    "HTTP": ({"type": "HTTP", "scheme": "BEARER"}, BEARER, "/type"),
    "bearer": ({"type": "bearer"}, BEARER, "/type"),
    "Bearer Auth": ({"type": "bearerAuth"}, BEARER, "/type"),
    "http with a format alone": ({"type": "http", "bearerFormat": "JWT"}, BEARER, "'scheme'"),
    "a scheme without type": ({"scheme": "bearer"}, BEARER, ": 'type' is missing"),
    "OAuth2": ({"type": "OAuth2", "flows": {"clientCredentials": FLOW}}, BEARER, "/type"),
    "flows of another name": (
        {"type": "oauth2", "flows": {"client_credentials": FLOW}},
        BEARER,
        "/flows/client_credentials",
    ),
    "a flow of 2.0": ({"type": "oauth2", "flow": "application", **FLOW}, BEARER, "/flow"),
    "OpenIDConnect": (
        {"type": "OpenIDConnect", "openIdConnectUrl": "https://api.example.com/o"},
        BEARER,
        "/type",
    ),
}


@pytest.mark.parametrize("openapi", ["3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("form", FORMS)
async def test_a_scheme_is_read_as_it_is_meant_with_a_warning(form, openapi, recorder):
    scheme, (name, value), place = FORMS[form]

    request, warnings = await call_tool(api(scheme, openapi=openapi), recorder)

    assert request.header_values(name) == [value]
    (warning,) = [w for w in warnings if w.startswith("/components/securitySchemes/k")]
    assert place in warning


@pytest.mark.parametrize(
    ("scheme", "secret", "expected"),
    [
        ({"type": "apiKey", "in": "Header", "name": "X-K"}, SECRET, ("X-K", SECRET)),
        ({"type": "bearer"}, SECRET, BEARER),
        ({"type": "Basic"}, ("me", SECRET), ("Authorization", BASIC)),
    ],
)
async def test_a_scheme_of_swagger_2_is_read_alike(scheme, secret, expected, recorder):
    request, warnings = await call_tool(api(scheme, openapi="2.0"), recorder, secret)

    assert request.header_values(expected[0]) == [expected[1]]
    assert [w for w in warnings if w.startswith("/securityDefinitions/k/")]


async def test_basic_of_3_is_the_scheme_of_http(recorder):
    request, _ = await call_tool(api({"type": "basic"}), recorder, ("me", SECRET))

    assert request.header("Authorization") == BASIC


def test_the_standards_words_are_no_warning():
    usual = {"type": "apiKey", **KEY}
    flows = {"type": "oauth2", "flows": {"clientCredentials": FLOW, "x-note": {}}}

    for scheme in (usual, flows, {"type": "http", "scheme": "Bearer"}, {"type": "mutualTLS"}):
        assert load_tools(api(scheme)).warnings == ()
    assert load_tools(api({"type": "basic"}, openapi="2.0")).warnings == ()


@pytest.mark.parametrize("scheme", [None, "bearer", {}, {"type": 7}, {"$ref": "#/nowhere"}])
def test_what_is_no_scheme_is_left_out_with_a_warning(scheme):
    toolset = load_tools(api(scheme))

    assert toolset.security_schemes == {}
    assert [w for w in toolset.warnings if w.startswith("/components/securitySchemes/k: ")]


SCHEME = {"type": "apiKey", **KEY}
REFERRED = {"k": SCHEME, "r": {"$ref": "#/components/securitySchemes/k"}}


@pytest.mark.parametrize(
    ("requirement", "fields"),
    [
        ("#/components/securitySchemes/k", {}),
        ("https://api.example.com/d#/components/securitySchemes/k", {"$self": "https://api.example.com/d"}),
        ("#/x-schemes/k", {"x-schemes": {"k": SCHEME}, "components": {}}),
        ("#/components/securitySchemes/r", {"components": {"securitySchemes": REFERRED}}),
    ],
    ids=["a component", "by $self", "elsewhere", "a reference"],
)  # fmt: skip
async def test_a_requirement_may_name_a_scheme_by_uri(requirement, fields, recorder):
    root = api(SCHEME, openapi="3.2.0", requirement=requirement, **fields)
    name = "r" if requirement.endswith("/r") else "k"

    request, warnings = await call_tool(root, recorder, name=name)

    assert request.header("X-K") == SECRET
    assert warnings == ()


async def test_a_scheme_in_another_file_is_named_by_the_end_of_its_uri(recorder, tmp_path):
    (tmp_path / "schemes.yaml").write_text(yaml.safe_dump({"schemes": {"company": SCHEME}}))
    root = api(SCHEME, openapi="3.2.0", requirement="schemes.yaml#/schemes/company", components={})
    (tmp_path / "api.json").write_text(json.dumps(root))

    request, _ = await call_tool(tmp_path / "api.json", recorder, name="company")

    assert request.header("X-K") == SECRET


@pytest.mark.parametrize("openapi", ["3.0.3", "3.1.1"])
@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_uri_before_3_2_is_read_with_a_warning(openapi, everywhere, recorder):
    uri = "#/components/securitySchemes/k"
    root = api(SCHEME, openapi=openapi, requirement=uri)
    if everywhere:
        root["security"] = root["paths"]["/x"]["get"].pop("security")

    request, warnings = await call_tool(root, recorder)

    assert request.header("X-K") == SECRET
    place = "/security" if everywhere else "/paths/~1x/get/security"
    assert [w for w in warnings if w.startswith(f"{place}: '{uri}' is a URI")]


def test_a_component_of_the_same_name_counts_first():
    root = api(SCHEME, openapi="3.2.0", requirement="./k")
    root["components"]["securitySchemes"]["./k"] = {"type": "http", "scheme": "bearer"}

    (tool,) = load_tools(root)

    assert tool.operation.security == ({"./k": ()},)


async def test_a_uri_that_leads_nowhere_is_named_by_the_call(recorder):
    root = api(SCHEME, openapi="3.2.0", requirement="#/nowhere")

    async with load_tools(root, base_url=recorder.url) as toolset:
        result = await toolset.call("do", {})

    assert result.error["type"] == "credentials"
    assert "'#/nowhere' (which the document does not define)" in result.error["message"]


PREFIXES = {
    'Token-based authentication with required prefix "Token"': "Token",
    "API key, prefix: SSWS": "SSWS",
    "Prefix the value with `ApiKey `": "ApiKey",
    "The key, prefixed with the word “Token”": "Token",
    "The key must be prefixed with Bot": "Bot",
    "Starts with Token": "Token",
    "The value begins with 'Bearer'": "Bearer",
    "Authorization: GenieKey <key>": "GenieKey",
    "Authorization: Klaviyo-API-Key your_key": "Klaviyo-API-Key",
    "Enter: Bearer {token}": "Bearer",
    "Use `Token <key>`": "Token",
    "prefix = JWT": "JWT",
}
SILENT = [
    "",
    "Your API key, without prefix `Token`",
    "No prefix is required",
    "Prefix of your account: see the docs",
    "The key of your account",
    "Prefix it with your name",
]
HEADER = {"type": "apiKey", "in": "header", "name": "Authorization"}


@pytest.mark.parametrize("described", PREFIXES)
def test_a_missing_prefix_of_a_key_is_reported_at_load(described):
    root = api({**HEADER, "description": described})
    word = PREFIXES[described]

    without_word = load_tools(root, credentials={"k": "abcd1234"})
    having = load_tools(root, credentials={"k": f"{word} abcd1234"})

    assert [w for w in without_word.warnings if f"'{word} …'" in w], without_word.warnings
    assert having.warnings == ()


@pytest.mark.parametrize("described", SILENT)
def test_other_words_tell_of_no_prefix(described):
    root = api({**HEADER, "description": described})

    assert load_tools(root, credentials={"k": "abcd1234"}).warnings == ()


@pytest.mark.parametrize(
    ("challenge", "key", "is_suggested"),
    [
        ("Token", "abcd1234", True),
        ('Token realm="api"', "abcd1234", True),
        ("Token", "Token abcd1234", False),
        ("", "abcd1234", False),
        ('"; odd', "abcd1234", False),
    ],
)
async def test_a_refusal_of_a_key_without_a_word_names_the_servers_own(
    challenge, key, is_suggested, recorder
):
    recorder.response.status = 401
    recorder.response.headers.append(("WWW-Authenticate", challenge))

    async with load_tools(api(HEADER), credentials={"k": key}, base_url=recorder.url) as toolset:
        result = await toolset.call("do", {})

    assert result.error["type"] == "auth"
    assert ("write it as 'Token …'" in result.error["message"]) is is_suggested
    assert "abcd1234" not in str(result)
