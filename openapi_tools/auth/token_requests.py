"""Requests for tokens at a token endpoint (RFC 6749, sections 2.3, 4 and 5)."""

from __future__ import annotations

import base64
import math
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from openapi_tools.auth.authorization_server import SUCCESS, TokenForm, request_json
from openapi_tools.auth.tokens import LONGEST_TOKEN, Token, is_sendable
from openapi_tools.errors import CallError
from openapi_tools.redaction import Redactor, Secret, excerpt
from openapi_tools.requests import origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.auth.authorization_server import Channel, Reply
    from openapi_tools.auth.oauth2 import OAuth2

_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Ten years: "never expires" is written as all kinds of large numbers, some beyond any date.
_LONGEST_LIFE = 10 * 365 * 86400.0
_BEARER = frozenset({"", "accesstoken", "bearer", "bearertoken", "jwt", "jwtbearer"})
_NO_LETTER = re.compile(r"[\s_-]")  # apart from letters: `access_token`, `Bearer Token`
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")


class RefusedError(CallError):
    """An authorization server refused; `wait` is in seconds until the next request."""

    def __init__(self, reason: str, code: str, wait: float | None = None) -> None:
        super().__init__("credentials", reason)
        self.code = code
        self.wait = wait


class TokenEndpoint:
    """Requests tokens for one client."""

    def __init__(self, config: OAuth2, redactor: Redactor) -> None:
        self._config = config
        self._redactor = redactor

    async def request_token(
        self,
        channel: Channel,
        url: str,
        grant_type: str,
        *,
        parameters: Mapping[str, str] | None = None,
        secrets: Mapping[str, Secret] | None = None,
        scopes: frozenset[str] | None = None,
        refresh_token: Secret | None = None,
    ) -> Token:
        """Return a new token.

        Args:
            channel: Where to send the request.
            url: The URL of the token endpoint.
            grant_type: The grant (RFC 6749, section 4).
            parameters: Further parameters of the grant.
            secrets: Further parameters that are secret.
            scopes: The scopes to request.
            refresh_token: The refresh token of the new token, if the response has none.
        """
        scope = {"scope": " ".join(sorted(scopes))} if scopes else {}
        hidden = {name: value.reveal() for name, value in (secrets or {}).items()}
        form = make_form(self._config, {**(parameters or {}), **scope, **hidden}, grant_type)
        del hidden  # a traceback shows this frame
        reply = await request_json(channel, url, form)
        self.raise_for_error(reply, url)
        token = _read_token(reply.properties, scopes=scopes, refresh_token=refresh_token)
        if isinstance(token, str):
            reason = f"the response of the token endpoint at {origin_of(url)} {token}."
            raise CallError("protocol", reason, retryable=False)
        self._redactor.learn(*token.secrets(), temporary=True)
        channel.learn(*token.secrets())
        return token

    def raise_for_error(self, reply: Reply, url: str) -> None:
        """Raise a RefusedError for a response that is an error; GitHub's have the status 200."""
        if reply.status in SUCCESS and "error" not in reply.properties:
            return
        code, description = (reply.properties.get(name) for name in ("error", "error_description"))
        code = code if isinstance(code, str) and _CODE.fullmatch(code) else ""
        # The code is shown and compared, and a hostile server could return a secret as the
        # code.
        code = code if self._redactor.text(code) == code else ""
        text = description if isinstance(description, str) else ""
        text = " ".join(excerpt(text, 10_000).split())
        text = "".join(filter(str.isprintable, text)).rstrip(".")
        why = (code or f"status {reply.status}") + (text and f" ({excerpt(text, 200)})")
        reason = f"the authorization server {origin_of(url)} refused the request: {why}."
        raise RefusedError(reason, code, reply.wait)


def make_form(config: OAuth2, parameters: Mapping[str, str], grant_type: str = "") -> TokenForm:
    """Return a form with the user's parameters and the client's credentials (RFC 6749, 2.3.1)."""
    pairs = {"grant_type": grant_type, **parameters}
    fields = {name: value for name, value in pairs.items() if value} | config.parameters()
    client_id, secret = config.client_id, config.reveal("client_secret")
    if client_id and config.client_auth == "client_secret_basic":
        # %20 for a space: not every server knows the plus sign.
        pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        header = Secret(f"Basic {base64.b64encode(pair.encode()).decode()}")
        return TokenForm(Secret(urlencode(fields)), header)
    if client_id:
        fields["client_id"] = client_id
    if client_id and config.client_auth == "client_secret_post":
        fields["client_secret"] = secret
    return TokenForm(Secret(urlencode(fields)))


def _read_token(
    properties: Mapping[str, Any], *, scopes: frozenset[str] | None, refresh_token: Secret | None
) -> Token | str:
    # RFC 6749, section 5.1. A string says why the response is not usable.
    access, refresh = properties.get("access_token"), properties.get("refresh_token")
    if not is_sendable(access):
        return f"has no access_token of at most {LONGEST_TOKEN} printable characters"
    if not _is_bearer(properties.get("token_type")):
        return "has a token_type other than bearer, which is not supported"
    if refresh is not None and refresh != "" and not is_sendable(refresh):
        return f"has a refresh_token that is not a string of at most {LONGEST_TOKEN} characters"
    now, life = time.time(), properties.get("expires_in")
    # Azure AD's first version, and others, send `"3600"`.
    if isinstance(life, str) and _NUMBER.fullmatch(life.strip()):
        life = float(life)
    seconds = read_seconds(life, largest=_LONGEST_LIFE)
    return Token(
        Secret(access),
        Secret(refresh) if refresh else refresh_token,
        issued_at=now,
        expires_at=None if seconds is None else now + seconds,
        scopes=scopes,
    )


def _is_bearer(kind: object) -> bool:
    # RFC 6749, section 5.1, compares without case; the other words are those that servers use for
    # the same. A `mac` or `DPoP` token needs a proof that is not made here.
    if kind is None:
        return True
    return isinstance(kind, str) and _NO_LETTER.sub("", kind.rpartition(":")[2]).lower() in _BEARER


def read_seconds(value: Any, *, largest: float) -> float | None:
    """Return a number of seconds from a response, at most `largest`; None if it is unusable."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = min(value, largest)  # an integer in JSON may be longer than any float
    return float(seconds) if math.isfinite(seconds) and seconds > 0 else None
