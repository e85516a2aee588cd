"""An issuer of JWTs for many users: an authorization server with keys, exchange, introspection."""

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field
from http.cookies import SimpleCookie

from authlib.oauth2.rfc6749 import InvalidGrantError
from authlib.oauth2.rfc6749.grants import BaseGrant, TokenEndpointMixin
from joserfc import jws
from joserfc.jwk import ECKey, RSAKey
from servers.authorization import SECRET, App, Client, Server, State, authorization_server

AUDIENCE = "https://tools.example.com/mcp"
API = "https://shop.example.com"
KEY = RSAKey.generate_key(2048, {"kid": "k1", "use": "sig"})
OTHER = RSAKey.generate_key(2048, {"kid": "k1", "use": "sig"})
CURVE = ECKey.generate_key("P-256", {"kid": "e1"})
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


@dataclass
class Issuer(State):
    keys: list = field(default_factory=lambda: [KEY])
    key_status: int = 200
    holds: set = field(default_factory=set)  # paths and opaque tokens that get no response yet
    introspection: dict | None = None  # instead of the right response
    exchanges: list = field(default_factory=list)  # forms of token exchanges
    clients: dict = field(
        default_factory=lambda: {
            "app": Client("app", SECRET, ("read", "write", "tools")),
            "agent": Client("agent", scopes=("tools",)),
        }
    )

    def claims(self, user="ada", **claims):
        now = int(time.time())
        usual = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": user,
            "client_id": "agent",
            "iat": now,
            "exp": now + 600,
            "scope": "tools",
        }
        return {name: v for name, v in {**usual, **claims}.items() if v is not None}

    def token(self, user="ada", *, header=None, key=KEY, **claims):
        """Return a signed token; a claim that is None is left out."""
        return sign_token(self.claims(user, **claims), header, key)


def sign_token(claims, header=None, key=KEY):
    fields = {"alg": "RS256", "typ": "at+jwt", "kid": "k1", **(header or {})}
    whole = {name: value for name, value in fields.items() if value is not None}
    payload = claims if isinstance(claims, str | bytes) else json.dumps(claims)
    registry = jws.JWSRegistry(algorithms=[whole["alg"]], strict_check_header=False)
    registry.max_header_length = 100_000
    return jws.serialize_compact(whole, payload, key, registry=registry)


class IssuerServer(Server):
    """Its access tokens are JWTs, for the resource that the client asks for."""

    request = None

    def __init__(self, state):
        super().__init__(state)
        self.register_grant(Exchange)

    def access_token(self, client, grant_type, user, scope):
        form = self.request.form
        place = form.get("resource") or form.get("audience") or AUDIENCE
        claims = {"aud": place, "scope": scope or "", "client_id": client.client_id}
        return self.state.token(user or client.client_id, **claims, jti=str(time.time_ns()))

    def create_token_response(self, request):
        self.request = request
        return super().create_token_response(request)


class Exchange(BaseGrant, TokenEndpointMixin):
    """Token exchange (RFC 8693): a token of a user for another audience."""

    GRANT_TYPE = _EXCHANGE
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post")

    def validate_token_request(self):
        self.request.client = self.authenticate_token_endpoint_client()
        form = self.request.form
        claims = read(form["subject_token"])
        if form["subject_token_type"] != "urn:ietf:params:oauth:token-type:access_token":
            raise InvalidGrantError
        if claims["aud"] != AUDIENCE or claims["exp"] < time.time():
            raise InvalidGrantError
        self.request.user = claims["sub"]

    def create_token_response(self):
        form = self.request.form
        self.server.state.exchanges.append(form)
        token = self.generate_token(
            user=self.request.user, scope=form.get("scope", ""), include_refresh_token=False
        )
        self.save_token(token)
        token["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
        return 200, token, self.TOKEN_RESPONSE_HEADER


class IssuerApp(App):
    def __init__(self, state):
        super().__init__(state, IssuerServer)

    async def respond(self, path, request):
        await self.hold(path, request.form.get("token"))
        match path:
            case "/jwks":
                keys = [key.as_dict(private=False) for key in self.state.keys]
                return self.state.key_status, {"keys": keys}, {}
            case "/introspect":
                return self.introspect(request)
        return await super().respond(path, request)

    async def hold(self, *names):
        while not self.state.holds.isdisjoint(names):  # noqa: ASYNC110 -- of another thread
            await asyncio.sleep(0.01)

    def introspect(self, request):
        self.state.forms.append(request.form)
        self.state.proofs.append(request.headers.get("Authorization", ""))
        if self.state.introspection is not None:
            return 200, self.state.introspection, {}
        user = {"opaque-of-ada": "ada", "opaque-of-bob": "bob"}.get(request.form.get("token"))
        if user is None:
            return 200, {"active": False}, {}
        return 200, {"active": True, **self.state.claims(user, iss=None)}, {}

    def metadata(self):
        return {"jwks_uri": f"{self.state.url}/jwks", **super().metadata()}

    def person(self, request):
        cookie = SimpleCookie(request.headers.get("Cookie", ""))
        return cookie["person"].value if "person" in cookie else "ada"


def read(token):
    """Return the claims of a token that this issuer has signed."""
    return json.loads(jws.deserialize_compact(token, KEY, algorithms=["RS256"]).payload)


@contextlib.contextmanager
def issuing():
    """Run an issuer on loopback, as a context manager."""
    with authorization_server(Issuer, IssuerApp) as state:
        try:
            yield state
        finally:
            state.holds = set()
