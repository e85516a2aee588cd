"""One request to a token endpoint, and what its answer means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openapi_tools.auth import token_channel as channels
from openapi_tools.auth.oauth_protocol import token_form
from openapi_tools.auth.token import Token, read_token
from openapi_tools.errors import CallError
from openapi_tools.redaction import excerpt
from openapi_tools.requests.server_urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.auth.token_channel import Channel, Reply
    from openapi_tools.redaction import Redactor, Secret

_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LONGEST = 200
_SUCCESS = range(200, 300)


class RefusedError(CallError):
    """An authorization server says no.

    Attributes:
        code: The server's word for why, for instance `"invalid_grant"`; `""` when it has none.
        wait: Seconds until it may be asked again; None when it does not say.
    """

    def __init__(self, reason: str, code: str, wait: float | None = None) -> None:
        super().__init__("credentials", reason)
        self.code = code
        self.wait = wait


class Grants:
    """Asks for tokens on behalf of one client.

    Args:
        config: The client.
        redactor: Takes what is known out of a server's words; learns new tokens.
    """

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
            channel: How.
            url: The token endpoint.
            grant: The `grant_type`.
            secrets: Parameters of the grant that nobody may see.
            scopes: Those that the token is for; None leaves it to the server.
            keep: The refresh token that stays good when the answer has no new one.
            parameters: Further ones of the grant.

        Raises:
            RefusedError: The server says no.
            CallError: There is no answer, or none that can be used.
        """
        if scopes:
            parameters["scope"] = " ".join(sorted(scopes))
        hidden = {name: value.reveal() for name, value in (secrets or {}).items()}
        form = token_form(self._config, grant, {**parameters, **hidden})
        # What a traceback shows of this frame holds no secret from here on.
        del hidden
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

        Args:
            reply: The answer.
            url: Who gave it.

        Raises:
            RefusedError: It is one.
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
