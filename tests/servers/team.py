"""An issuer, an API that keeps what it got, and a server of tools for many users."""

import asyncio
import contextlib
import json
import re
import socket
from dataclasses import dataclass, field

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

import httpx
import httpx2
import uvicorn
from documents import document, operation
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_api import texts
from servers.issuer import AUDIENCE, issuing
from servers.recorder import Recorder

from openapi_tools import Settings, load_tools
from openapi_tools.contracts.mcp import create_server
from openapi_tools.serving.inbound_auth import Guard, Inbound
from openapi_tools.serving.serving_tables import AuthTable, RoleTable, UsersTable
from openapi_tools.serving.team_server import security
from openapi_tools.serving.user_credentials import UserCredentials
from openapi_tools.serving.user_login import BACK, START, Logins
from openapi_tools.shaping.configuration import checked_table
from openapi_tools.shared_state import MemoryState

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


def inbound_of(auth, roles=None, **more):
    """Return the authentication of tables, given as dicts."""
    made = {
        name: read_table(RoleTable, r, "serve", "roles", name) for name, r in (roles or {}).items()
    }
    return Inbound(read_table(AuthTable, auth, "serve", "auth"), made, **more)


def users_of(given, toolset, state):
    """Return the credentials of a table `[apis.shop.users]`, given as a dict."""
    users = read_table(UsersTable, given, "apis", "shop", "users")
    return UserCredentials(users, toolset, state, name="shop")


def read_table(kind, given, *above):
    return checked_table(kind, given, "serve.toml", {}, above)


def table(issuer, **members):
    """Return a table `[serve.auth]`."""
    usual = {"issuer": issuer.url, "audience": AUDIENCE, "scopes": ["tools"]}
    return {**usual, **members}


@dataclass
class Site:
    """A server of tools for many users, on loopback."""

    inbound: Inbound
    url: str = ""
    logins: Logins | None = None
    credentials: UserCredentials | None = None
    state: MemoryState = field(default_factory=MemoryState)

    @property
    def origin(self):
        return self.url.removesuffix("/mcp")

    @contextlib.asynccontextmanager
    async def client(self, token, mode="auto", **options):
        """Give a client that sends a token."""
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(timeout=60, headers=headers) as web:
            place = streamable_http_client(self.url, http_client=web)
            async with Client(place, mode=mode, **options) as client:
                yield client


@contextlib.asynccontextmanager
async def serving(toolset, auth, *, roles=None, users=None, mode="tools", state=None, public=""):
    """Serve tools to the users that a table `[serve.auth]` lets in."""
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
        url = f"http://127.0.0.1:{port}/mcp"
        known = inbound_of(auth(url) if callable(auth) else auth, roles)
        site = Site(known, url, state=state or MemoryState())
        site.logins = Logins(site.inbound, site.state, public or site.origin)
        if users is not None:
            site.credentials = users_of(users, toolset, site.state)
            site.logins.add(site.credentials)

        def context(request):
            user, at = Inbound.user_of(request), site.credentials
            own = {} if at is None else {"credentials": lambda tool: at.for_user(user, tool)}
            return {"user": user.name, "logged_in": site.logins.logged_in, **own}

        offered = {"search": toolset.meta_tools, "code": toolset.code_tools}.get(mode)
        server = create_server(
            offered() if offered else toolset,
            context=context,
            visible=lambda tool, request: known.sees(tool, "shop", request),
        )
        app = server.streamable_http_app(
            auth=site.inbound.settings,
            transport_security=security("127.0.0.1", (), port),
            custom_starlette_routes=site.logins.routes(),
        )
        guarded = Guard(app, known, (START, BACK))
        web = uvicorn.Server(uvicorn.Config(guarded, log_config=None, access_log=False))
        task = asyncio.create_task(web.serve(sockets=[place]))
        try:
            yield site
        finally:
            web.should_exit = True
            await task
            await site.inbound.aclose()


@contextlib.asynccontextmanager
async def shop_served(api, auth, schemes=None, **options):
    """Serve the tools of `shop`."""
    given = shop(api, **(schemes or {}))
    own = options.pop("credentials", None)
    loaded = load_tools(given, settings=Settings(cache=False), credentials=own)
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
    """Return the answer to a message with these headers, and with a token unless it is None."""
    usual = [("Content-Type", "application/json")]
    usual.append(("Accept", "application/json, text/event-stream"))
    named = {name.lower() for name, _ in headers}
    given = [pair for pair in usual if pair[0].lower() not in named]
    if token is not None:
        given.append(("Authorization", f"Bearer {token}"))
    async with httpx.AsyncClient(timeout=10) as web:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        url = f"{site.origin}{path}{query}"
        return await web.post(url, content=body, headers=[*given, *headers])


def sent(api):
    """Return method, path and credential of each request at the API."""
    return [
        (request.method, request.target, request.header("Authorization"))
        for request in api.requests
    ]


def client_of(issuer, **members):
    usual = {"client_id": "app", "client_secret": "${SECRET}", "token_url": f"{issuer.url}/token"}
    return {**usual, **members}


async def called(site, token, name="list_orders", *, mode="auto", times=1, **options):
    async with site.client(token, mode, **options) as client:
        return [await client.call_tool(name, {}) for _ in range(times)][-1]


# The person at the browser has cookies of both servers.


def login_table(issuer, **members):
    usual = {"mode": "login", "authorization_url": f"{issuer.url}/authorize", "scopes": ["read"]}
    return client_of(issuer, **{**usual, **members})


class Browser(httpx.AsyncClient):
    def __init__(self, person):
        super().__init__(timeout=10, cookies={"person": person}, follow_redirects=False)

    async def go(self, url):
        """Open a page and follow its redirects; return the last answer."""
        answer = await self.get(url)
        while answer.is_redirect:
            answer = await self.get(answer.headers["location"])
        return answer


def link(result):
    return re.search(r"http://\S+", texts(result)[0])[0]
