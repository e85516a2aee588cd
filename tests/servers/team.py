"""An issuer, an API that keeps what it got, and a server of tools for many users."""

import contextlib
import json
import re
from typing import NamedTuple

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

import httpx
from documents import document, operation
from mcp_api import texts
from servers.issuer import AUDIENCE, issuing
from servers.recorder import Recorder
from team_servers import client_of as client_to
from team_servers import running_at

from openapi_tools import Settings, load_tools
from openapi_tools.configuration.config_file import validate_table
from openapi_tools.serving.inbound_auth import TokenAuthenticator
from openapi_tools.serving.served_apis import ServedApi, ServedApis
from openapi_tools.serving.serving_tables import ApiTable, AuthTable, ServeTable, UsersTable
from openapi_tools.serving.team_server import StartedServer
from openapi_tools.serving.user_credentials import UserAccess, UserCredentials
from openapi_tools.serving.web_server import open_socket

ALICE, BOB = "token-of-alice-0123456789", "token-of-bob-9876543210"


@pytest.fixture(scope="module")
def running():
    with issuing() as state:
        yield state


@pytest.fixture
def issuer(running):
    """The issuer, as if nobody had asked it."""
    running.reset()
    return running


@pytest.fixture
async def api():
    """The API on loopback."""
    async with Recorder() as server:
        yield server


def shop(api, **schemes):
    """Return the document of an API with a read and a write."""
    paths = {
        "/orders": {
            "get": operation(operationId="list_orders", summary="List the orders of a user."),
            "post": operation(operationId="add_order", summary="Order something."),
        },
        "/admin": {"delete": operation(operationId="delete_all", summary="Delete all orders.")},
    }
    usual = {"shop": {"type": "http", "scheme": "bearer"}}
    declared = schemes or usual
    return document(
        paths,
        servers=[{"url": api.url}],
        security=[{name: []} for name in declared],
        components={"securitySchemes": declared},
    )


def inbound_of(auth, **options):
    """Return the authentication of a table `[serve.auth]`, given as a dict."""
    return TokenAuthenticator(read_table(AuthTable, auth, "serve", "auth"), **options)


def users_of(table, toolset, state):
    """Return the credentials of a table `[apis.shop.users]`, given as a dict."""
    users = read_table(UsersTable, table, "apis", "shop", "users")
    return UserCredentials(users, toolset, state, refuse_login, name="shop")


async def refuse_login(user, identity):
    """Fail: these users have no pages for a login."""
    raise AssertionError(user, identity)


def read_table(kind, values, *above):
    return validate_table(kind, values, "serve.toml", {}, above)


def table(issuer, **fields):
    """Return a table `[serve.auth]`."""
    usual = {"issuer": issuer.url, "audience": AUDIENCE, "scopes": ["tools"]}
    return {**usual, **fields}


class Site(NamedTuple):
    """A server of tools for many users, on loopback."""

    url: str
    inbound: TokenAuthenticator | None = None

    @property
    def origin(self):
        return self.url.removesuffix("/mcp")

    def client(self, token, mode="auto", **options):
        """Return a client that sends a token, for `async with`."""
        return client_to(self.url, mode, {"Authorization": f"Bearer {token}"}, **options)


@contextlib.asynccontextmanager
async def serving(
    toolset, auth, *, roles=None, users=None, mode="tools", state=None, public="", audit="off"
):
    """Serve tools to the users that a table `[serve.auth]` lets in; with sessions."""
    with open_socket("127.0.0.1", 0) as place:
        url = f"http://127.0.0.1:{place.getsockname()[1]}/mcp"
        auth_table, api_fields = auth(url) if callable(auth) else auth, {}
        if users is not None:
            auth_table, api_fields = (
                {"resource": f"{public}/mcp" if public else url, **auth_table},
                {"users": users},
            )
        serve_fields = {"auth": auth_table, "roles": roles or {}, "mode": mode, "stateless": False}
        serve = read_table(ServeTable, {**serve_fields, "audit": audit}, "serve")
        api = read_table(ApiTable, {"source": "shop.json", **api_fields}, "apis", "shop")
        access = UserAccess(serve, serve.auth, {"shop": api}, state)
        apis = ServedApis([ServedApi("shop", toolset=access.admit("shop", toolset))], mode)
        async with running_at(place, StartedServer(serve, apis, access, state)):
            yield Site(url, access._inbound)


@contextlib.asynccontextmanager
async def shop_served(api, auth, schemes=None, **options):
    """Serve the tools of `shop`."""
    source = shop(api, **(schemes or {}))
    credentials = options.pop("credentials", None)
    settings = Settings(cache=False, download_dir=options.pop("download_dir", None))
    loaded = load_tools(source, settings=settings, credentials=credentials)
    async with loaded as toolset, serving(toolset, auth, **options) as site:
        yield site


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "list_orders", "arguments": {}},
}


async def post(site, token, message=INITIALIZE, *, headers=(), query="", path="/mcp"):
    """Return the response to a message with these headers, and with a token unless it is None."""
    usual = [("Content-Type", "application/json")]
    usual.append(("Accept", "application/json, text/event-stream"))
    named = {name.lower() for name, _ in headers}
    defaults = [pair for pair in usual if pair[0].lower() not in named]
    if token is not None:
        defaults.append(("Authorization", f"Bearer {token}"))
    async with httpx.AsyncClient(timeout=10) as web:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        url = f"{site.origin}{path}{query}"
        return await web.post(url, content=body, headers=[*defaults, *headers])


def modern_message(method, capabilities, **params):
    """Return a message of version 2026-07-28 with a client's capabilities, and its headers."""
    prefix, version = "io.modelcontextprotocol", "2026-07-28"
    meta = {
        f"{prefix}/protocolVersion": version,
        f"{prefix}/clientInfo": {"name": "test", "version": "1"},
        f"{prefix}/clientCapabilities": capabilities,
    }
    headers = [("Mcp-Protocol-Version", version), ("Mcp-Method", method)]
    if name := params.get("name") or params.get("taskId"):
        headers.append(("Mcp-Name", name))
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return message, headers


async def post_modern(site, token, method, capabilities, **params):
    """Return the response to a request of version 2026-07-28, with a client's capabilities."""
    message, headers = modern_message(method, capabilities, **params)
    return await post(site, token, message, headers=headers)


def sent_requests(api):
    """Return method, path and credential of each request at the API."""
    return [
        (request.method, request.target, request.header("Authorization"))
        for request in api.requests
    ]


def client_of(issuer, **fields):
    usual = {"client_id": "app", "client_secret": "${SECRET}", "token_url": f"{issuer.url}/token"}
    return {**usual, **fields}


async def call_tool(site, token, name="list_orders", *, mode="auto", times=1, **options):
    async with site.client(token, mode, **options) as client:
        return [await client.call_tool(name, {}) for _ in range(times)][-1]


# The person at the browser has cookies of both servers.


def login_table(issuer, **fields):
    usual = {"mode": "login", "authorization_url": f"{issuer.url}/authorize", "scopes": ["read"]}
    return client_of(issuer, **{**usual, **fields})


class Browser(httpx.AsyncClient):
    def __init__(self, person):
        super().__init__(timeout=10, cookies={"person": person}, follow_redirects=False)

    async def go(self, url):
        """Open a page and follow its redirects; return the last response."""
        response = await self.get(url)
        while response.is_redirect:
            response = await self.get(response.headers["location"])
        return response


def hidden_fields(page):
    """Return the hidden fields of a form, as a browser sends them."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', page.text))


def link(result):
    return re.search(r"http://\S+", texts(result)[0])[0]
