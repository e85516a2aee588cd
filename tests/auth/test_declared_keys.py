"""Keys and tokens that a document declares as plain parameters, given as credentials."""

import httpx
import pytest
import yaml
from documents import document, operation
from packages import import_package

from openapi_tools import Settings, load_tools
from openapi_tools.generate import generate_package

SECRET = "sk-secret-12345"
STRING = {"type": "string"}


def key(location="header", name="X-Api-Key", value=SECRET):
    return {"mine": {"in": location, "name": name, "value": value}}


def make_parameter(name="X-Api-Key", location="header", *, required=True, **fields):
    return {"name": name, "in": location, "required": required, "schema": STRING, **fields}


def api(parameter, *, openapi="3.1.1", security=None, **fields):
    requirements = {} if security is None else {"security": security}
    query = {"name": "q", "in": "query", **({"type": "string"} if openapi == "2.0" else {})}
    get = operation(operationId="do", parameters=[parameter, query], **requirements)
    return document({"/x": {"get": get}}, openapi=openapi, **fields)


def find_values(request, location, name):
    """Return the values of a parameter in a recorded request."""
    if location == "header":
        return request.header_values(name)
    if location == "cookie":
        return [v for v in request.header_values("cookie") if v.startswith(f"{name}=")]
    return [pair for pair in request.target.partition("?")[2].split("&") if pair.startswith(name)]


OLD = {"name": "X-Api-Key", "in": "header", "required": True, "type": "string"}
UNION = {"anyOf": [STRING, {"type": "null"}]}
FORMS = {
    "required header": (api(make_parameter()), "header", "X-Api-Key"),
    "optional header": (api(make_parameter(required=False)), "header", "X-Api-Key"),
    "a header in another case": (api(make_parameter("x_api_key")), "header", "X-Api-Key"),
    "query": (api(make_parameter("token", "query")), "query", "token"),
    "cookie": (api(make_parameter("session", "cookie")), "cookie", "session"),
    "a union with null": (api(make_parameter(schema=UNION)), "header", "X-Api-Key"),
    "content": (
        api(make_parameter(content={"text/plain": {"schema": STRING}}, schema=None)),
        "header",
        "X-Api-Key",
    ),
    "3.0": (api(make_parameter(), openapi="3.0.3"), "header", "X-Api-Key"),
    "3.2": (api(make_parameter(), openapi="3.2.0"), "header", "X-Api-Key"),
    "2.0": (api(OLD, openapi="2.0"), "header", "X-Api-Key"),
    "a component": (
        api(
            {"$ref": "#/components/parameters/key"},
            components={"parameters": {"key": make_parameter()}},
        ),
        "header",
        "X-Api-Key",
    ),
    "of the path": (
        document({"/x": {"parameters": [make_parameter()], "get": operation(operationId="do")}}),
        "header",
        "X-Api-Key",
    ),
    "YAML": (yaml.safe_dump(api(make_parameter())), "header", "X-Api-Key"),
}


@pytest.mark.parametrize("form", FORMS)
async def test_a_parameter_that_a_credential_fills_is_no_argument(form, recorder):
    root, location, name = FORMS[form]

    async with load_tools(
        root, credentials=key(location, name), base_url=recorder.url, cache=False
    ) as toolset:
        tool = toolset["do"]
        result = await tool.execute({})

    assert result.success, result
    assert tool.input_schema["properties"].keys() <= {"q"}
    assert "required" not in tool.input_schema
    assert SECRET in "".join(find_values(recorder.last, location, name))


async def test_a_header_of_the_users_own_client_fills_its_parameter(recorder):
    async with httpx.AsyncClient(headers={"X-API-KEY": SECRET, "Accept-Language": "de"}) as client:
        root = document(
            {
                "/x": {
                    "get": operation(
                        parameters=[make_parameter(), make_parameter("Accept-Language")]
                    )
                }
            }
        )
        toolset = load_tools(root, client=client, base_url=recorder.url)
        result = await toolset["get_x"].execute({"Accept_Language": "fr"})

    assert [*toolset["get_x"].input_schema["properties"]] == ["Accept_Language"]
    assert result.success
    assert recorder.last.header("X-Api-Key") == SECRET
    assert recorder.last.header("Accept-Language") == "fr"


SCHEMES = {"securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "x-api-key"}}}
BOTH = {**SCHEMES["securitySchemes"], "b": {"type": "http", "scheme": "bearer"}}


@pytest.mark.parametrize("security", [None, [], [{}], [{"k": []}]], ids=repr)
@pytest.mark.parametrize("required", [True, False])
async def test_a_key_of_a_scheme_that_no_requirement_names_is_sent(security, required, recorder):
    root = api(make_parameter(required=required), security=security, components=SCHEMES)
    settings = Settings(base_url=recorder.url)

    async with load_tools(root, credentials={"k": SECRET}, settings=settings) as toolset:
        result = await toolset["do"].execute({})

    assert result.success
    assert [*toolset["do"].input_schema["properties"]] == ["q"]
    assert recorder.last.header("X-Api-Key") == SECRET


@pytest.mark.parametrize(("required", "kind"), [(True, "credentials"), (False, "")])
async def test_without_the_key_only_an_optional_one_is_left_out(required, kind, recorder):
    root = api(make_parameter(required=required), components=SCHEMES)

    async with load_tools(root, base_url=recorder.url) as toolset:
        result = await toolset["do"].execute({})

    assert (result.error or {"type": ""})["type"] == kind
    assert len(recorder.requests) == (not kind)


async def test_a_declared_key_is_sent_beside_the_scheme_that_is_required(recorder):
    root = api(make_parameter(), security=[{"b": []}], components={"securitySchemes": BOTH})

    for credentials in ({"b": "token-1"}, {"b": "token-1", "k": SECRET}):
        async with load_tools(root, credentials=credentials, base_url=recorder.url) as toolset:
            assert (await toolset["do"].execute({})).success

    first, second = recorder.requests
    assert first.header("Authorization") == second.header("Authorization") == "Bearer token-1"
    assert (first.header("X-Api-Key"), second.header("X-Api-Key")) == (None, SECRET)


async def test_a_generated_package_hides_the_parameter_too(recorder, tmp_path):
    root = {**api(make_parameter()), "servers": [{"url": "https://shop.example.com"}]}
    (tmp_path / "api.yaml").write_text(yaml.safe_dump(root))
    generate_package(tmp_path / "api.yaml", tmp_path / "out", name="keyed", credentials=key())

    with import_package(tmp_path / "out", "keyed_tools") as package:
        without = package.load(base_url=recorder.url)
        assert [*without["do"].input_schema["properties"]] == ["X_Api_Key", "q"]
        async with package.load(credentials=key(), base_url=recorder.url) as toolset:
            assert [*toolset["do"].input_schema["properties"]] == ["q"]
            assert (await toolset["do"].execute({})).success

    assert recorder.last.header("X-Api-Key") == SECRET


def test_a_configuration_may_name_the_argument_that_a_credential_fills(monkeypatch):
    monkeypatch.setenv("SHOP_KEY", SECRET)
    config = {
        "credentials": key(value="${SHOP_KEY}"),
        "tools": {"do": {"hide": ["X_Api_Key"], "arguments": {"q": {"name": "query"}}}},
    }

    (tool,) = load_tools(api(make_parameter()), config=config, base_url="https://shop.example.com")

    assert [*tool.input_schema["properties"]] == ["query"]
    assert tool.preview({}).headers["x-api-key"] == "***"
