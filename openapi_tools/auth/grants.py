"""Requests to token endpoints, and their answers.

authlib writes the forms; its HTTP clients take no transport of this package and trust answers more
than a hostile server deserves.

Spec: RFC 6749, sections 2.3, 4 and 5.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from authlib.common.urls import add_params_to_qs  # type: ignore[import-untyped] # has none
from authlib.oauth2.auth import ClientAuth  # type: ignore[import-untyped] # has none
from authlib.oauth2.rfc6749.parameters import (  # type: ignore[import-untyped] # has none
    prepare_token_request,
)

from openapi_tools.auth import token_channel as channels
from openapi_tools.auth.token_store import Token, read_token
from openapi_tools.errors import CallError
from openapi_tools.redaction import Secret, excerpt
from openapi_tools.requests.server_urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.auth.token_channel import Channel, Reply
    from openapi_tools.redaction import Redactor

_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LONGEST = 200
_SUCCESS = range(200, 300)


class RefusedError(CallError):
    """An authorization server refused.

    Attributes:
        code: The server's error code, for instance `"invalid_grant"`; may be empty.
        wait: Seconds until the next request, if the server said so.
    """

    def __init__(self, reason: str, code: str, wait: float | None = None) -> None:
        super().__init__("credentials", reason)
        self.code = code
        self.wait = wait


class Grants:
    """Asks for tokens on behalf of one client."""

    def __init__(self, config: OAuth2, redactor: Redactor) -> None:
        self._config = config
        self._redactor = redactor

    async def ask(
        self,
        channel: Channel,
        url: str,
        grant: str,
        *,
        secrets: Mapping[str, Secret] | None = None,
        scopes: frozenset[str] | None = None,
        keep: Secret | None = None,
        **parameters: str,
    ) -> Token:
        """Return a new token.

        Args:
            channel: Carries the request.
            url: The token endpoint.
            grant: The `grant_type`.
            secrets: Secret parameters of the grant.
            scopes: Requested scopes; None leaves them to the server.
            keep: The refresh token to keep if the answer has no new one.
            parameters: Other parameters of the grant.

        Raises:
            RefusedError: The server refused.
            CallError: The answer is missing or not usable.
        """
        if scopes:
            parameters["scope"] = " ".join(sorted(scopes))
        hidden = {name: value.reveal() for name, value in (secrets or {}).items()}
        form = token_form(self._config, grant, {**parameters, **hidden})
        del hidden  # a traceback shows this frame
        reply = await channels.post(channel, url, form)
        self.check(reply, url)
        token = read_token(reply.members, asked=scopes, before=keep)
        if isinstance(token, str):
            at = origin_of(url)
            reason = f"the answer of the token endpoint at {at} {token}."
            raise CallError("protocol", reason, retryable=False)
        self._redactor.know(*token.secrets(), passing=True)
        channel.learn(*token.secrets())
        return token

    def check(self, reply: Reply, url: str) -> None:
        """Refuse an answer that is an error.

        Spec: RFC 6749, section 5.2. GitHub answers 200 to what it refuses.
        """
        if reply.status in _SUCCESS and "error" not in reply.members:
            return
        code = self._word(reply.members.get("error"))
        said = self._sentence(reply.members.get("error_description"))
        why = code or f"status {reply.status}"
        at = origin_of(url)
        reason = f"the authorization server {at} refuses: {why}{f' ({said})' if said else ''}."
        raise RefusedError(reason, code, reply.wait)

    def _word(self, value: Any) -> str:
        """Return an error code as it may be shown."""
        if not isinstance(value, str) or not _CODE.fullmatch(value):
            return ""
        return value if self._redactor.text(value) == value else ""

    def _sentence(self, value: Any) -> str:
        """Return a description as it may be shown: one short line without secrets."""
        if not isinstance(value, str):
            return ""
        line = " ".join(excerpt(value, _LONGEST * 50).split())
        line = "".join(character for character in line if character.isprintable())
        return excerpt(line.rstrip("."), _LONGEST)


class Form:
    """The body of a request to a token endpoint, with the header that proves the client.

    Attributes:
        body: The form.
        authorization: The header's value; None when the client is named in the form.
    """

    __slots__ = ("authorization", "body")

    def __init__(self, body: Secret, authorization: Secret | None) -> None:
        self.body = body
        self.authorization = authorization


def token_form(config: OAuth2, grant: str, parameters: Mapping[str, str]) -> Form:
    """Return a token request."""
    wanted = {name: value for name, value in parameters.items() if value}
    return _proven(config, prepare_token_request(grant, "", **wanted))


def plain_form(config: OAuth2, parameters: Mapping[str, str]) -> Form:
    """Return the form of another request, for instance of a device."""
    return _proven(config, add_params_to_qs("", [pair for pair in parameters.items() if pair[1]]))


def _proven(config: OAuth2, body: str) -> Form:
    """Add the user's parameters and the client's proof of identity."""
    body = add_params_to_qs(body, list(config.parameters().items()))
    if not config.client_id:
        return Form(Secret(body), None)
    in_header = config.client_auth == "client_secret_basic"
    parts = [config.client_id, config.revealed("client_secret")]
    if in_header:
        # RFC 6749, section 2.3.1, with %20 for a space: not every server knows the plus sign.
        parts = [quote(part, safe="") for part in parts]
    client = ClientAuth(*parts, config.client_auth)
    _, headers, body = client.prepare("POST", "", {}, body)
    header = headers.get("Authorization")
    return Form(Secret(body), Secret(header) if header else None)
