"""`openapi-tools serve --config` for many users."""

import json

import httpx
import pytest
from doc_pages import DOCS, blocks
from documents import document, operation
from mcp import MCPError
from mcp_api import texts
from servers.issuer import API, read
from servers.recorder import CannedResponse, Recorder
from servers.team import ALICE, Site, post_modern, sent_requests, shop
from team_servers import host_team

from openapi_tools import SettingsError
from openapi_tools.contracts.mcp_tasks import EXTENSION
from openapi_tools.serving.serving_tables import read_serving
from openapi_tools.serving.team_server import start_server

FILE = """
[serve]
audit = "audit.jsonl"

[serve.auth]
issuer = "{issuer}"
audience = "https://tools.example.com/mcp"
scopes = ["tools"]
tokens = {{ alice = "${{ALICE}}" }}

[serve.roles.all]
claims = {{ team = "sales" }}

[serve.roles.crm]
users = ["alice"]
apis = ["crm"]
tools = ["*list_orders"]

[apis.shop]
source = "shop.json"
[apis.shop.users]
mode = "exchange"
token_url = "{issuer}/token"
client_id = "app"
client_secret = "${{SECRET}}"
audience = "https://shop.example.com"
[apis.shop.users.write]
scopes = ["write"]

[apis.crm]
source = "crm.json"
[apis.crm.credentials]
shop = "${{CRM_KEY}}"
"""


@pytest.fixture
async def crm():
    async with Recorder() as server:
        yield server


@pytest.fixture
async def site(issuer, api, crm, tmp_path, monkeypatch):
    (tmp_path / "shop.json").write_text(json.dumps(shop(api)))
    (tmp_path / "crm.json").write_text(json.dumps(shop(crm)))
    file = tmp_path / "openapi-tools.toml"
    file.write_text(FILE.format(issuer=issuer.url).replace("audit.jsonl", str(tmp_path / "audit")))
    monkeypatch.setenv("CRM_KEY", "key-of-the-crm")
    async with host_team(file) as server:
        yield Site(server.url)


async def test_users_call_several_apis_each_with_the_right_credential(
    site, issuer, api, crm, tmp_path
):
    names = {}
    for user, token in {
        "ada": issuer.token("ada", team="sales"),
        "bob": issuer.token("bob", team="sales"),
        "alice": ALICE,
        "eve": issuer.token("eve"),
    }.items():
        async with site.client(token) as client:
            names[user] = [tool.name for tool in (await client.list_tools()).tools]
            for name in ("shop_list_orders", "shop_add_order", "crm_list_orders"):
                if name in names[user]:
                    result = await client.call_tool(name, {})
                    assert not result.is_error, texts(result)
                else:
                    with pytest.raises(MCPError, match=f"no tool is called '{name}'"):
                        await client.call_tool(name, {})
    async with httpx.AsyncClient() as web:
        pages = {
            page: (await web.get(f"{site.origin}/{page}")).status_code
            for page in ("healthz", "readyz", "metrics", "mcp")
        }

    assert [len(names[user]) for user in ("ada", "bob", "alice", "eve")] == [6, 6, 1, 0]
    users = [
        (method, (claims := read(header.removeprefix("Bearer ")))["sub"], claims["scope"])
        for method, _, header in sent_requests(api)
    ]
    assert users == [
        *(("GET", "ada", ""), ("POST", "ada", "write")),
        *(("GET", "bob", ""), ("POST", "bob", "write")),
    ]
    assert {read(h.removeprefix("Bearer "))["aud"] for _, _, h in sent_requests(api)} == {API}
    assert {header for _, _, header in sent_requests(crm)} == {"Bearer key-of-the-crm"}
    assert pages == {"healthz": 200, "readyz": 200, "metrics": 401, "mcp": 401}
    audit = (tmp_path / "audit").read_text()
    lines = [json.loads(line) for line in audit.splitlines()]
    calls = {(line["user"], line["api"], line["tool"], line.get("error")) for line in lines}
    assert (f"{issuer.url}|ada", "shop", "shop_list_orders", None) in calls
    assert ("alice", "crm", "crm_list_orders", None) in calls
    assert (f"{issuer.url}|eve", "", "shop_list_orders", "refused") in calls
    assert "eyJ" not in audit
    assert ALICE not in audit


AUTH = '[serve.auth]\nissuer = "https://a.example.com"\naudience = "https://b.example.com/mcp"\n'
TOKENS = '[serve.auth]\ntokens = {{ a = "${{{}}}" }}\n'
LOGIN = '[apis.shop.users]\nmode = "login"\nclient_id = "x"\n'
PASSED = f'{AUTH}[apis.shop.users]\nmode = "pass_through"\naudience = "{API}"\n'
WRONG = {
    "users without a login": (
        '[apis.shop.users]\nmode = "static"\ntokens = { a = "${PATH}" }',
        "apis.shop.users: this needs users; add the table [serve.auth].",
    ),
    "roles without a login": (
        "[serve.roles.all]\nread_only = true",
        "serve.roles: this needs users; add the table [serve.auth].",
    ),
    "a login in several workers": (
        f'[serve]\nworkers = 2\n{AUTH}client_id = "x"\n{LOGIN}',
        "mode login with several workers needs redis in [serve].",
    ),
    "a login of a user who cannot be told": (
        f"{AUTH}{LOGIN}",
        "mode login needs client_id in [serve.auth], to find out who logs in.",
    ),
    "a login with static tokens, without an address": (
        TOKENS.format("ALICE") + LOGIN,
        "mode login needs resource in [serve.auth], this server's URL.",
    ),
    "no issuer": ("[serve.auth]", ": serve.auth: set issuer and audience, or tokens."),
    "no audience": ('[serve.auth]\nissuer = "https://a.example.com"', "audience is missing"),
    "no resource": (
        '[serve.auth]\nissuer = "https://a.example.com"\naudience = "x"',
        "to this server's own URL, too",
    ),
    "a plain issuer": (
        '[serve.auth]\nissuer = "http://a.example.com"',
        "serve.auth.issuer: use an https URL",
    ),
    "no algorithm": (
        f"{AUTH}algorithms = []",
        "serve.auth.algorithms: tuple should have at least 1",
    ),
    "a shared key": (
        f'{AUTH}algorithms = ["HS256"]',
        "serve.auth.algorithms.0: this is not a public-key algorithm",
    ),
    "none": (f'{AUTH}algorithms = ["none"]', "this is not a public-key algorithm"),
    "an unknown key": (f'{AUTH}isuer = "x"', "serve.auth.isuer: unknown key; did you mean issuer"),
    "a plain token": (
        '[serve.auth.tokens]\na = "abc"',
        "serve.auth.tokens.a: write a reference to an environment variable",
    ),
    "a name": ('[serve.auth.tokens]\n"a|b" = "${PATH}"', "use a name without spaces"),
    "unset": (TOKENS.format("NOT_SET_AT_ALL"), "NOT_SET_AT_ALL is not set, or empty"),
    "short": (TOKENS.format("SHORT"), "serve.auth.tokens.a: use at least 16 letters and digits"),
    "twice": (
        '[serve.auth.tokens]\na = "${ALICE}"\nb = "${ALICE}"',
        "another user has the same token",
    ),
    "no mode": ("[apis.shop.users]", "apis.shop.users.read.mode: field required"),
    "no endpoint": (
        '[apis.shop.users]\nmode = "exchange"',
        "mode exchange needs token_url or openid_connect_url",
    ),
    "no audience of an API": (
        '[apis.shop.users]\nmode = "pass_through"',
        "mode pass_through needs audience",
    ),
    "no tokens": ('[apis.shop.users]\nmode = "static"', "mode static needs tokens"),
    "no client": ('[apis.shop.users]\nmode = "login"', "mode login needs client_id"),
    "a scheme": (f'{PASSED}scheme = "x"', "apis.shop.users: scheme 'x' is not one of ['shop']"),
    "a plain secret": (
        f'{LOGIN}client_secret = "abc"',
        "apis.shop.users.read.client_secret: write a reference to an environment variable",
    ),
    "a write that lacks": (
        f'{PASSED}write = {{ mode = "exchange" }}',
        "mode exchange needs token_url",
    ),
    "a wrong key": (f"{AUTH}[serve.roles.x]\nuser = []", ":7: serve.roles.x.user: unknown key"),
    "a wrong mode": (
        '[apis.shop.users]\nmode = "x"',
        "apis.shop.users.read.mode: input should be 'exchange', ",
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_configuration_says_where_and_what(text, message, tmp_path, monkeypatch):
    monkeypatch.setenv("SHORT", "abc")
    schemes = {"shop": {"type": "http", "scheme": "bearer"}}
    root = document({"/x": {"get": operation()}}, components={"securitySchemes": schemes})
    (tmp_path / "shop.json").write_text(json.dumps(root))
    file = tmp_path / "openapi-tools.toml"
    file.write_text(f'[apis.shop]\nsource = "{tmp_path}/shop.json"\n{text}\n')

    with pytest.raises(SettingsError) as caught:
        start_server(str(file), {"strict": True})

    assert message in str(caught.value)
    assert ALICE not in str(caught.value)


def test_the_tables_in_the_docs_are_right(tmp_path):
    tables = blocks(DOCS / "users.md", "toml")
    for number, text in enumerate(tables):
        file = tmp_path / f"{number}.toml"
        file.write_text(text)

        assert read_serving(file).faults == {}
    assert len(tables) == 4


async def test_a_task_is_of_the_user_who_began_it(site, issuer, api):
    ada, eve = (issuer.token(user, team="sales") for user in ("ada", "eve"))
    headers = [("Content-Type", "application/json"), ("Location", "/orders")]
    api.responses.extend([CannedResponse(202, headers), CannedResponse(202, headers)])
    begun = await ask_server(site, ada, "tools/call", name="shop_add_order", arguments={})
    task = begun["result"]["taskId"]
    stolen = [
        await ask_server(site, eve, f"tasks/{method}", taskId=task)
        for method in ("get", "update", "cancel")
    ]
    before = len(api.requests)
    response = await ask_server(site, ada, "tasks/get", taskId=task)

    assert [reply["error"]["code"] for reply in stolen] == [-32602] * 3
    assert before == 1
    assert response["result"]["status"] in ("working", "completed")


async def ask_server(site, token, method, **params):
    """Return the response to a request of a client that knows tasks."""
    able = {"extensions": {EXTENSION: {}}}
    return (await post_modern(site, token, method, able, **params)).json()
