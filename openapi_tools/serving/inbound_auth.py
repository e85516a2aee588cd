"""Who calls `serve` over HTTP: bearer tokens, checked as by an OAuth 2.1 resource server.

Spec: MCP 2026-07-28 and 2025-11-25, basic/authorization; RFC 6750, 7662, 8707, 9068 and 9728.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs

from openapi_tools.auth.authorization_server import SUCCESS
from openapi_tools.auth.token_requests import make_form
from openapi_tools.auth.token_source import SingleFlight
from openapi_tools.common.options import expand_variables
from openapi_tools.errors import CallError, SettingsError, require_extra
from openapi_tools.redaction import Redactor, Secret
from openapi_tools.serving.refusals import Refusals
from openapi_tools.serving.signing_keys import (
    PATIENCE,
    BadTokenError,
    SigningKeys,
    fetch_json,
    verify_signature,
)
from openapi_tools.settings import Settings
from openapi_tools.state.shared_state import MemoryState
from openapi_tools.transport import Sender

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi_tools.serving.refusals import Reason
    from openapi_tools.serving.serving_tables import AuthTable, RoleTable
    from openapi_tools.tools.tool import OperationTool

with require_extra("serve"):
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken
    from mcp.server.auth.routes import build_resource_metadata_url
    from mcp.server.auth.settings import AuthSettings
    from pydantic import Field
    from starlette.authentication import AuthCredentials
    from starlette.responses import JSONResponse

METADATA = "/.well-known/oauth-protected-resource"
_LONGEST, _SHORTEST = 16 * 1024, 16  # characters of a token, and of a static one at least
_LEEWAY = 30  # seconds that two clocks may differ
# 30 s: how long a revoked token may still be used. RFC 7662, section 4, leaves it to the
# server.
_LARGEST, _SECONDS = 2**20, 30.0  # introspection responses: bytes of all, seconds of each
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750, section 2.1
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
# A signed token may hold anything; its names go into logs, metrics and keys.
_MOST_SCOPES, _LONGEST_SUBJECT, _MOST_FIELDS = 500, 256, 100


class CallingUser(NamedTuple):
    """The caller of a request; `name` is `issuer|subject`, or that of a static token."""

    name: str
    scopes: frozenset[str]
    roles: frozenset[str]
    token: Secret
    audiences: frozenset[str] = frozenset()


class _UserToken(AccessToken):
    """A token as the package `mcp` has it, but without the token itself, and its user."""

    user: Any = Field(repr=False, exclude=True)


class TokenAuthenticator:
    """Finds the users of requests by their tokens, as `[serve.auth]` and `[serve.roles]` say.

    Raises:
        SettingsError: A static token is missing, too short, or belongs to two users.
    """

    def __init__(
        self,
        table: AuthTable,
        roles: Mapping[str, RoleTable] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.table, self._roles = table, roles or {}
        self.refusals = Refusals()
        self.sender = Sender(settings or Settings())
        self._keys = SigningKeys(table.issuer, table.jwks_url, self.sender)
        self._redactor = Redactor()
        self._static = _read_static_tokens(table.tokens, self._redactor)
        self._introspections = MemoryState(most_bytes=_LARGEST)
        self._checks: dict[bytes, SingleFlight[dict[str, Any]]] = {}  # by digest of the token

    @property
    def settings(self) -> AuthSettings:
        """The package's settings; with a known URL of this server it serves the metadata."""
        resource_url = self.table.resource_url
        fields = {
            "issuer_url": self.table.issuer or "http://localhost",  # unused without a resource
            "resource_server_url": resource_url if resource_url and self.table.issuer else None,
            "required_scopes": list(self.table.scopes),
            "validate_token_resource": False,  # `verify_token` does
        }
        return AuthSettings.model_validate(fields)

    async def verify_token(self, token: str) -> _UserToken:
        """Return a token and its user; BadTokenError, or CallError if the issuer is unreachable."""
        if len(token) > _LONGEST or not _TOKEN.fullmatch(token):
            raise BadTokenError("the token is malformed")
        digest = hashlib.sha256(token.encode()).digest()
        # All are compared, in constant time, so that the duration reveals nothing.
        names = [
            name
            for name, static_digest in self._static.items()
            if hmac.compare_digest(static_digest, digest)
        ]
        if names:
            return self._make_user_token(names[0], token, {}, self.table.scopes)
        if self.table.issuer and token.count(".") == 2:  # noqa: PLR2004 -- parts of a JWT
            claims = await verify_signature(token, self._keys, self.table.algorithms)
            _check_times(claims, needs_end=True)
        elif self.table.introspection_url:
            claims = await self._introspect_once(digest, token)
            _check_times(claims, needs_end=False)
        else:
            raise BadTokenError("the token is unknown", "token_unknown")
        name = self._user_name(claims)
        return self._make_user_token(name, token, claims, _read_scopes(claims))

    def _user_name(self, claims: Mapping[str, Any]) -> str:
        if claims.get("iss") != self.table.issuer:
            raise BadTokenError("the token is from another issuer", "token_issuer")
        # RFC 8707, section 2, and MCP: a token for another server must not be taken here.
        if self.table.audience.rstrip("/") not in _read_audiences(claims):
            raise BadTokenError("the token is for another audience", "token_audience")
        # RFC 7800, section 3.1: such a token counts only with a proof of its key (DPoP, mTLS).
        if "cnf" in claims:
            reason = "the token is bound to a key, which a bearer token does not prove"
            raise BadTokenError(reason, "token_claims")
        subject = claims.get("sub")
        is_text = isinstance(subject, str) and subject.isprintable()
        if not is_text or not 0 < len(str(subject).strip()) <= _LONGEST_SUBJECT:
            raise BadTokenError("the token has no subject (sub)", "token_claims")
        return f"{self.table.issuer}|{subject}"

    def _make_user_token(
        self, name: str, token: str, claims: Mapping[str, Any], scopes: Iterable[str]
    ) -> _UserToken:
        held = frozenset(scopes)
        roles = (role for role, table in self._roles.items() if table.fits(name, held, claims))
        client = claims.get("client_id") or claims.get("azp") or name
        user = CallingUser(name, held, frozenset(roles), Secret(token), _read_audiences(claims))
        listed = sorted(held)
        return _UserToken(token="", client_id=str(client), scopes=listed, subject=name, user=user)

    async def _introspect_once(self, digest: bytes, token: str) -> dict[str, Any]:
        # Spec: RFC 7662, section 2, for opaque tokens.
        if (stored := await self._introspections.get(digest.hex())) is not None:
            return dict(json.loads(stored))
        # One check for each token, so that one that hangs blocks no other user.
        check = self._checks.setdefault(digest, SingleFlight(PATIENCE * 2))
        return await check.run(partial(self._introspect, digest, token))

    async def _introspect(self, digest: bytes, token: str) -> dict[str, Any]:
        try:
            claims = await self._request_claims(token)
            await self._introspections.put(digest.hex(), json.dumps(claims).encode(), _SECONDS)
        finally:
            self._checks.pop(digest, None)
        return claims

    async def _request_claims(self, token: str) -> dict[str, Any]:
        form = make_form(self.table.client(), {"token": token, "token_type_hint": "access_token"})
        reply = await fetch_json(self.sender, self.table.introspection_url, form)
        claims = {"iss": self.table.issuer, **reply.properties}
        if reply.status not in SUCCESS:
            raise CallError("protocol", f"the introspection endpoint returned {reply.status}.")
        if not isinstance(claims.get("active"), bool):  # required by RFC 7662, section 2.2
            raise CallError("protocol", "the introspection response has no `active`.")
        if not claims["active"]:
            raise BadTokenError("the token is not active", "token_unknown")
        return claims

    @staticmethod
    def find_user(request: ServerRequestContext[Any, Any]) -> CallingUser | None:
        """Return the user of one MCP request; None over stdio."""
        http = request.request  # a session's own context is that of its first request
        caller = None if http is None else http.scope.get("user")
        access = getattr(caller, "access_token", None)
        return access.user if isinstance(access, _UserToken) else None

    def may_see(
        self, tool: OperationTool, api: str, request: ServerRequestContext[Any, Any]
    ) -> bool:
        """Whether the user of a request may see a tool of an API."""
        if not self._roles or not tool.method:  # a meta tool, which calls others
            return True
        user = self.find_user(request)
        return user is not None and any(self._roles[r].shows(tool, api) for r in user.roles)

    def roles_of(self, request: ServerRequestContext[Any, Any]) -> frozenset[str] | None:
        """Return the roles of the user of a request, which decide what tools they see."""
        user = self.find_user(request)
        return None if user is None else user.roles

    async def aclose(self) -> None:
        """Cancel requests to the issuer, and close the connections to it."""
        self.refusals.flush()
        await self._keys.aclose()
        for check in [*self._checks.values()]:
            await check.aclose()
        await self.sender.aclose()


class AuthMiddleware:
    """ASGI middleware that passes requests with a valid token; open paths need none.

    The package's own bearer middleware cannot do it: it responds 401 to a token that could not be
    checked (here 503), knows one message for all bad tokens, and takes the first of two tokens.
    """

    def __init__(
        self, app: ASGIApp, inbound: TokenAuthenticator, open_paths: Collection[str]
    ) -> None:
        self._app, self._inbound, self._open = app, inbound, open_paths
        resource_url = inbound.settings.resource_server_url
        metadata_url = (
            "" if resource_url is None else str(build_resource_metadata_url(resource_url))
        )
        self._challenge = {
            "scope": " ".join(inbound.table.scopes),
            "resource_metadata": metadata_url,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application if the request has a valid token."""
        app, is_open = self._app, scope["type"] == "lifespan" or scope["path"] in self._open
        if not is_open and not scope["path"].startswith(METADATA):
            outcome = await self._authenticate(scope)
            if isinstance(outcome, JSONResponse):
                app = outcome
            else:
                scope["user"] = AuthenticatedUser(outcome)
                scope["auth"] = AuthCredentials(outcome.scopes)
        await app(scope, receive, send)

    async def _authenticate(self, scope: Scope) -> _UserToken | JSONResponse:
        values = [value for name, value in scope["headers"] if name == b"authorization"]
        # RFC 6750, section 2: one method in each request. Tokens in a query end up in logs.
        if len(values) > 1 or _has_token(scope["query_string"]):
            reason = "send one token, in the header Authorization"
            self._note(scope, "two_tokens", reason)
            return self._refuse(400, "invalid_request", reason)
        word, _, token = "".join(value.decode("latin-1") for value in values).partition(" ")
        if word.lower() != "bearer":
            self._note(scope, "no_token", "a request has no token")
            return self._refuse(401)  # RFC 6750, section 3.1: without an error
        try:
            access = await self._inbound.verify_token(token.strip(" "))  # RFC 9110, section 11.4
        except BadTokenError as error:
            self._note(scope, error.reason, str(error))
            return self._refuse(401, "invalid_token", str(error))
        except CallError as error:
            self._note(scope, "token_unchecked", f"a token cannot be checked: {error.reason}")
            # Not 401, after which clients would discard a valid token and log in again.
            return JSONResponse({"error": "temporarily_unavailable"}, 503, {"Retry-After": "30"})
        if not set(self._inbound.table.scopes) <= set(access.scopes):
            self._note(scope, "token_scope", f"the token of {access.subject} has too few scopes")
            return self._refuse(403, "insufficient_scope", "the token has too few scopes")
        return access

    def _note(self, scope: Scope, reason: Reason, message: str) -> None:
        client = scope.get("client")
        self._inbound.refusals.note(
            reason, f"{message} (from {client[0] if client else 'unknown'})"
        )

    def _refuse(self, status: int, error: str = "", reason: str = "") -> JSONResponse:
        parameters = {"error": error, "error_description": reason, **self._challenge}
        listed = ", ".join(f'{name}="{text}"' for name, text in parameters.items() if text)
        body = {"error": error or "unauthorized", "error_description": reason or "send a token"}
        return JSONResponse(body, status, {"WWW-Authenticate": f"Bearer {listed}".rstrip()})


def _has_token(query: bytes) -> bool:
    # Also if a query has too many fields to parse: it is refused.
    try:
        fields = parse_qs(
            query.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        return True
    return "access_token" in fields


def _read_static_tokens(tokens: Mapping[str, str], redactor: Redactor) -> dict[str, bytes]:
    # Returns digests by the name of the user; SettingsError for short and equal tokens.
    digests: dict[str, bytes] = {}
    for name, variable in tokens.items():
        token = expand_variables(variable, f"serve.auth.tokens.{name}").strip()
        if not _SHORTEST <= len(token) <= _LONGEST or not _TOKEN.fullmatch(token):
            hint = "for instance from: openssl rand -hex 32"
            reason = f"use at least {_SHORTEST} letters and digits, {hint}"
            raise SettingsError(f"serve.auth.tokens.{name}: {reason}")
        digest = hashlib.sha256(token.encode()).digest()
        if digest in digests.values():
            raise SettingsError(f"serve.auth.tokens.{name}: another user has the same token.")
        digests[name] = digest
        redactor.learn(token)
    return digests


def _read_audiences(claims: Mapping[str, Any]) -> frozenset[str]:
    value = claims.get("aud")
    listed = value if isinstance(value, list) else [value]
    return frozenset(text.rstrip("/") for text in listed if isinstance(text, str) and text)


def _read_scopes(claims: Mapping[str, Any]) -> list[str]:
    # `scope` is of RFC 9068; Microsoft and Okta send `scp`.
    value = claims.get("scope", claims.get("scp", ""))
    listed = value.split() if isinstance(value, str) else value
    is_list = isinstance(listed, list) and len(listed) <= _MOST_SCOPES
    if not is_list or not all(isinstance(one, str) and _SCOPE.fullmatch(one) for one in listed):
        raise BadTokenError("the token has scopes that cannot be read", "token_claims")
    return list(listed)


def _check_times(claims: Mapping[str, Any], *, needs_end: bool) -> None:
    now = time.time()
    times = {name: claims[name] for name in ("exp", "nbf", "iat") if name in claims}
    if not all(type(value) in (int, float) and math.isfinite(value) for value in times.values()):
        raise BadTokenError("the token has a time that is not a number", "token_claims")
    if "exp" not in times and needs_end:
        raise BadTokenError("the token has no expiry (exp)", "token_claims")
    # RFC 9068, section 2.2: `exp` is required in a JWT. RFC 7662 makes it optional in a
    # response.
    if times.get("exp", now) <= now - _LEEWAY:
        raise BadTokenError("the token has expired", "token_expired")
    if max(times.get("nbf", now), times.get("iat", now)) > now + _LEEWAY:
        raise BadTokenError("the token is not valid yet", "token_claims")
