"""A real authorization server, built on authlib's server side, and an API that wants its tokens."""

import asyncio
import contextlib
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

import pytest
from authlib.common.security import generate_token
from authlib.oauth2 import AuthorizationServer, OAuth2Error
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, OAuth2Request, TokenMixin
from authlib.oauth2.rfc6749.grants import (
    AuthorizationCodeGrant,
    ClientCredentialsGrant,
    RefreshTokenGrant,
    ResourceOwnerPasswordCredentialsGrant,
)
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import (
    DeviceAuthorizationEndpoint,
    DeviceCodeGrant,
    DeviceCredentialDict,
)
from documents import document, operation
from servers.site import running as hosted

from openapi_tools import Settings
from openapi_tools.auth.authorization_server import Channel
from openapi_tools.model import SecurityScheme
from openapi_tools.transport.connection_pool import ConnectionPool
from openapi_tools.transport.network_policy import policy_of

SECRET = "client-secret-0123456789"
PASSWORD = "password-of-ada-0123456789"
_METHODS = ["client_secret_basic", "client_secret_post", "none"]


@dataclass
class Client(ClientMixin):
    client_id: str
    client_secret: str = ""
    scopes: tuple[str, ...] = ("read", "write")

    def get_client_id(self):
        return self.client_id

    def get_allowed_scope(self, scope):
        return " ".join(name for name in (scope or "").split() if name in self.scopes)

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri.startswith("http://127.0.0.1:")  # any port (RFC 8252, section 7.3)

    def check_client_secret(self, client_secret):
        return client_secret == self.client_secret

    def check_endpoint_auth_method(self, method, endpoint):
        return method != "none" if self.client_secret else method == "none"

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return True


@dataclass
class Code(AuthorizationCodeMixin):
    client_id: str
    redirect_uri: str
    scope: str
    code_challenge: str
    code_challenge_method: str
    user: str = "ada"

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope


@dataclass
class Issued(TokenMixin):
    client_id: str
    access_token: str
    refresh_token: str | None
    scope: str
    expires_at: float
    revoked: bool = False
    user: str | None = None

    def check_client(self, client):
        return self.client_id == client.client_id

    def get_scope(self):
        return self.scope

    def is_expired(self):
        return time.time() >= self.expires_at


@dataclass
class State:
    url: str = ""
    lifetime: float = 3600
    rotates: bool = True  # a refresh token is good once
    delay: float = 0.0  # of the token endpoint
    metadata: dict = field(default_factory=dict)  # properties that differ
    sends_iss: str | None = None
    approves: bool | None = True  # the person at the browser or device; None for not yet
    slow_downs: int = 0  # how often a device is told to, before the person agrees
    device_response: dict | None = None  # instead of the right one
    interval: int = 1
    forms: list = field(default_factory=list)  # at the token endpoint
    proofs: list = field(default_factory=list)  # the `Authorization` that came with them
    asked: Counter = field(default_factory=Counter)  # how often each path was
    calls: list = field(default_factory=list)  # the bearer tokens at the API
    issued: list = field(default_factory=list)
    codes: dict = field(default_factory=dict)
    devices: dict = field(default_factory=dict)
    clients: dict = field(
        default_factory=lambda: {
            "app": Client("app", SECRET),
            "odd": Client("odd", "s%20e c+r/e=t:&ü"),
            "public": Client("public"),
        }
    )

    def reset(self):
        vars(self).update(vars(type(self)(self.url)))

    @property
    def scheme(self):
        declared = self.document["components"]["securitySchemes"]["oauth"]
        return SecurityScheme("oauth2", flows=declared["flows"])

    @property
    def openid(self):
        url = f"{self.url}/.well-known/openid-configuration"
        return SecurityScheme("openIdConnect", openid_connect_url=url)

    def grants(self, kind):
        return sum(form.get("grant_type") == kind for form in self.forms)

    def revoke(self):
        for token in self.issued:
            token.expires_at = 0.0

    def find(self, access_token):
        tokens = (token for token in self.issued if token.access_token == access_token)
        return next((t for t in tokens if not t.is_expired() and not t.revoked), None)

    @property
    def document(self):
        token = {"tokenUrl": f"{self.url}/token", "scopes": {"read": "", "write": ""}}
        authorization = {"authorizationUrl": f"{self.url}/authorize"}
        device = {"deviceAuthorizationUrl": f"{self.url}/device"}
        flows = {
            "clientCredentials": token,
            "password": token,
            "authorizationCode": {**token, **authorization},
            "deviceAuthorization": {**token, **device},
        }
        return document(
            {"/me": {"get": operation(operationId="get_me", security=[{"oauth": ["read"]}])}},
            servers=[{"url": f"{self.url}/api"}],
            components={"securitySchemes": {"oauth": {"type": "oauth2", "flows": flows}}},
        )


class Request(OAuth2Request):
    args = form = None  # set below, in place of authlib's properties

    def __init__(self, method, uri, headers, body):
        super().__init__(method, uri, headers=headers)
        self.args, self.form = dict(parse_qsl(urlsplit(uri).query)), dict(parse_qsl(body))
        self.payload = BasicOAuth2Payload({**self.args, **self.form})


class Server(AuthorizationServer):
    def __init__(self, state):
        super().__init__(scopes_supported=["read", "write", "admin", "tools"])
        self.state = state
        self.register_token_generator(
            "default",
            BearerTokenGenerator(
                self.access_token,
                lambda **_: f"refresh-{generate_token(24)}",
                lambda *_: state.lifetime,
            ),
        )
        for grant in (Credentials, Person, Refresh, Device):
            self.register_grant(grant)
        self.register_grant(Agreed, [CodeChallenge(required=True)])
        self.register_endpoint(DeviceStart)

    def access_token(self, **_):
        return f"access-{generate_token(24)}"

    def query_client(self, client_id):
        return self.state.clients.get(client_id)

    def save_token(self, token, request):
        access, refresh = token["access_token"], token.get("refresh_token")
        ends, scope = time.time() + token.get("expires_in", 3600), token.get("scope", "")
        client, user = request.client.client_id, request.user
        issued = Issued(client, access, refresh, scope, ends, user=user)
        self.state.issued.append(issued)

    def create_oauth2_request(self, request):
        return request

    def handle_response(self, status, body, headers):
        return status, body, headers

    def send_signal(self, name, *args, **kwargs):
        pass


class Credentials(ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = _METHODS[:2]


class Person(ResourceOwnerPasswordCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = _METHODS

    def authenticate_user(self, username, password):
        return "ada" if (username, password) == ("ada", PASSWORD) else None


class Refresh(RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = _METHODS

    @property
    def INCLUDE_NEW_REFRESH_TOKEN(self):  # noqa: N802 -- authlib's name
        return self.server.state.rotates

    def authenticate_refresh_token(self, refresh_token):
        issued = self.server.state.issued
        good = (t for t in issued if t.refresh_token == refresh_token and not t.revoked)
        return next(good, None)

    def authenticate_user(self, refresh_token):
        return refresh_token.user

    def revoke_old_credential(self, refresh_token):
        refresh_token.revoked = self.server.state.rotates


class Agreed(AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = _METHODS

    def save_authorization_code(self, code, request):
        names = ("redirect_uri", "scope", "code_challenge", "code_challenge_method")
        values = (request.payload.data.get(name, "") for name in names)
        self.server.state.codes[code] = Code(request.client.client_id, *values, request.user)

    def query_authorization_code(self, code, client):
        entry = self.server.state.codes.get(code)
        return entry if entry and entry.client_id == client.client_id else None

    def delete_authorization_code(self, authorization_code):
        codes = self.server.state.codes
        self.server.state.codes = {
            c: code for c, code in codes.items() if code is not authorization_code
        }

    def authenticate_user(self, authorization_code):
        return authorization_code.user


class DeviceStart(DeviceAuthorizationEndpoint):
    @property
    def INTERVAL(self):  # noqa: N802 -- authlib's name
        return self.server.state.interval

    def get_verification_uri(self):
        return f"{self.server.state.url}/activate"

    def save_device_credential(self, client_id, scope, data):
        ends, code = time.time() + data["expires_in"], data["user_code"]
        self.server.state.devices[data["device_code"]] = DeviceCredentialDict(
            client_id=client_id, scope=scope, user_code=code, expires_at=ends
        )


class Device(DeviceCodeGrant):
    def query_device_credential(self, device_code):
        return self.server.state.devices.get(device_code)

    def query_user_grant(self, user_code):
        approves = self.server.state.approves
        return None if approves is None else ("ada", approves)

    def should_slow_down(self, credential):
        state = self.server.state
        state.slow_downs -= 1
        if state.slow_downs < 0:
            state.approves = True
        return state.slow_downs >= 0


class App:
    def __init__(self, state, server=Server):
        self.state = state
        self.server = server(state)

    async def __call__(self, scope, receive, send):
        body, is_unfinished = b"", True
        while is_unfinished:
            message = await receive()
            body, is_unfinished = body + message.get("body", b""), message.get("more_body")
        headers = {
            name.decode().title(): value.decode("latin-1") for name, value in scope["headers"]
        }
        uri = f"{self.state.url}{scope['path']}?{scope['query_string'].decode()}"
        request = Request(scope["method"], uri, headers, body.decode())
        self.state.asked[scope["path"]] += 1
        status, reply, extra = await self.respond(scope["path"], request)
        lines = {"Content-Type": "application/json", **dict(extra)}
        headers = [(name.encode(), value.encode()) for name, value in lines.items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        content = reply if isinstance(reply, str) else json.dumps(reply)
        await send({"type": "http.response.body", "body": content.encode()})

    async def respond(self, path, request):
        match path:
            case "/token":
                return await self.token(request)
            case "/authorize":
                return self.authorize(request)
            case "/device":
                return self.device(request)
            case "/.well-known/openid-configuration":
                return 200, self.metadata(), {}
            case "/api/me":
                return self.me(request)
        return 404, {}, {}

    async def token(self, request):
        state, ends = self.state, time.monotonic() + self.state.delay
        state.forms.append(request.form)
        state.proofs.append(request.headers.get("Authorization", ""))
        while (left := ends - time.monotonic()) > 0:
            if not state.delay:  # the test is over
                return 503, {}, {}
            await asyncio.sleep(min(left, 0.02))
        return self.server.create_token_response(request)

    def authorize(self, request):
        person = self.person(request)
        try:
            grant = self.server.get_consent_grant(request, end_user=person)
        except OAuth2Error as error:
            return 400, dict(error.get_body()), {}
        user = person if self.state.approves else None
        status, body, headers = self.server.create_authorization_response(
            request, grant_user=user, grant=grant
        )
        iss = "" if self.state.sends_iss is None else f"&iss={self.state.sends_iss}"
        return status, body, {"Location": dict(headers)["Location"] + iss}

    def person(self, request):
        """Return who sits at the browser."""
        return "ada"

    def device(self, request):
        if self.state.device_response is not None:
            return 200, self.state.device_response, {}
        return self.server.create_endpoint_response("device_authorization", request)

    def metadata(self):
        url = self.state.url
        return {
            "issuer": url,
            "token_endpoint": f"{url}/token",
            "authorization_endpoint": f"{url}/authorize",
            "device_authorization_endpoint": f"{url}/device",
            **self.state.metadata,
        }

    def me(self, request):
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.state.calls.append(token)
        entry = self.state.find(token)
        if entry is None:
            return 401, {"error": "invalid_token"}, {"WWW-Authenticate": "Bearer"}
        return 200, {"scope": entry.scope, "client": entry.client_id}, {}


@contextlib.asynccontextmanager
async def channel_to(state):
    """Yield a channel for tokens of the API, and a list of what it learns."""
    learned, settings, url = [], Settings(), state.url
    async with ConnectionPool(settings, policy_of(settings)) as pool:
        yield (
            Channel(pool, lambda _: True, lambda *new: learned.extend(new), url, f"{url}/api"),
            learned,
        )


@contextlib.contextmanager
def authorization_server(make=State, app=App):
    state = make()
    with hosted(app(state)) as state.url:
        try:
            yield state
        finally:
            state.delay = 0


@pytest.fixture(scope="module")
def running():
    with authorization_server() as state:
        yield state


@pytest.fixture
def server(running):
    """The authorization server, as if nobody had asked it."""
    running.reset()
    return running
