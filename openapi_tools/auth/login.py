"""Interactive login: in a browser on this machine, or on another device.

Failures are `CallError`s; `by_browser` also raises OSError for a port that is not available.

Spec: RFC 6749, section 4.1; RFC 7636 (PKCE); RFC 8628 (devices); RFC 9207 (issuer).
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

from authlib.common.security import generate_token  # type: ignore[import-untyped] # has none
from authlib.oauth2.rfc6749.parameters import (  # type: ignore[import-untyped] # has none
    prepare_grant_uri,
)
from authlib.oauth2.rfc7636 import (  # type: ignore[import-untyped] # has none
    create_s256_code_challenge,
)

from openapi_tools.auth import token_channel as channels
from openapi_tools.auth.endpoints import Endpoints
from openapi_tools.auth.grants import Grants, RefusedError, plain_form
from openapi_tools.auth.login_callback import Callback, CodeAnswer
from openapi_tools.auth.oauth2 import AUTHORIZATION_CODE, DEVICE
from openapi_tools.auth.token_store import Stored
from openapi_tools.errors import CallError
from openapi_tools.redaction import Redactor, Secret
from openapi_tools.requests.server_urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.auth.token_channel import Channel, Reply
    from openapi_tools.auth.token_store import Token
    from openapi_tools.model import SecurityScheme

SLOWER = 5.0
"""Seconds that `slow_down` adds to the interval (RFC 8628, section 3.5)."""
_INTERVAL, _LONGEST_INTERVAL = 5.0, 60.0
_LONGEST_CODE = 64
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_OWN_FIELDS = frozenset(
    {
        *("client_id", "code_challenge", "code_challenge_method"),
        *("redirect_uri", "response_type", "scope", "state"),
    }
)
_VERIFIER_LENGTH = 64
_STATE_LENGTH = 43


@dataclass(frozen=True, slots=True)
class Plan:
    """The endpoints of a login, for the user to confirm before it begins.

    Attributes:
        config: With every endpoint filled in; confirming the plan names them.
        issuer: The expected issuer; empty when it is not known.
        names_itself: The answer has to name its issuer.
        elsewhere: Endpoints of the document where credentials may not go without consent.
    """

    config: OAuth2
    issuer: str
    names_itself: bool
    elsewhere: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """URL to open, and code to type, on another device."""

    url: str
    user_code: str


class Login:
    """One login for one scheme."""

    def __init__(
        self, config: OAuth2, scheme: SecurityScheme, *, name: str, channel: Channel
    ) -> None:
        self._config = config
        self._scheme = scheme
        self._name = name
        self._channel = channel
        self._redactor = Redactor()
        self._redactor.know(*config.secrets())

    async def plan(self, *, device: bool) -> Plan:
        """Return the endpoints of the login; no secret is sent."""
        # Nothing is sent to the endpoints before the user has seen them.
        channel = replace(self._channel, may_go=lambda _: True)
        endpoints = Endpoints(self._config, self._scheme, self._name)
        flow = DEVICE if device else AUTHORIZATION_CODE
        found: dict[str, Any] = {"token_url": await endpoints.token(channel, flow)}
        if device:
            found["device_authorization_url"] = await endpoints.device(channel)
        else:
            found["authorization_url"] = await endpoints.authorization(channel)
        issuer, names_itself = "", False
        if endpoints.discovery_url:
            metadata = await endpoints.metadata(channel)
            issuer, names_itself = metadata.issuer, metadata.names_itself
        elsewhere = tuple(
            url
            for member, url in found.items()
            if not getattr(self._config, member) and not self._channel.may_go(url)
        )
        return Plan(replace(self._config, **found), issuer, names_itself, elsewhere)

    async def by_browser(
        self, plan: Plan, *, port: int, show: Callable[[str], None], tell: Callable[[str], None]
    ) -> Stored:
        """Return the token of a user who consents in a browser of this machine.

        Args:
            plan: Confirmed by the user.
            port: For the browser's answer; 0 takes a free one.
            show: Called with the URL to open.
            tell: Called with a remark on each ignored answer.
        """
        state, verifier = (
            Secret(generate_token(_STATE_LENGTH)),
            Secret(generate_token(_VERIFIER_LENGTH)),
        )
        self._redactor.know(verifier.reveal(), passing=True)
        async with Callback(state, port=port, tell=tell) as callback:
            show(authorization_url(plan.config, callback.url, state=state, verifier=verifier))
            answer = await callback.answer()
        code = self._checked(plan, answer)
        token = await Grants(plan.config, self._redactor).ask(
            self._channel,
            plan.config.token_url,
            "authorization_code",
            secrets={"code": code, "code_verifier": verifier},
            redirect_uri=callback.url,
        )
        return self._stored(plan, token)

    def _checked(self, plan: Plan, answer: CodeAnswer) -> Secret:
        """Return the code of an answer from the right server (RFC 9207, section 2.4)."""
        self._check_issuer(plan, answer.issuer)
        if answer.code is None:
            raise self._fault(f"the authorization server refused: {answer.error}.")
        self._redactor.know(answer.code.reveal(), passing=True)
        return answer.code

    def _check_issuer(self, plan: Plan, issuer: str | None) -> None:
        if issuer is None:
            if plan.names_itself:
                raise self._fault("the answer does not say who answers, though it has to (iss).")
            return
        expected = plan.issuer or origin_of(plan.config.authorization_url)
        if (issuer if plan.issuer else origin_of(issuer)) != expected:
            raise self._fault("another authorization server answers than the one asked (iss).")

    async def by_device(self, plan: Plan, *, show: Callable[[DeviceCode], None]) -> Stored:
        """Return the token of a user who consents on another device; `show` gets the code."""
        config, url = plan.config, plan.config.device_authorization_url
        form = plain_form(config, {"scope": " ".join(config.scopes)})
        reply = await channels.post(self._channel, url, form)
        grants = Grants(config, self._redactor)
        grants.check(reply, url)
        code, shown = self._device_code(reply)
        self._redactor.know(code.reveal(), passing=True)
        show(shown)
        seconds = _seconds(reply.members.get("expires_in"), usual=1800.0, largest=86400.0)
        try:
            async with asyncio.timeout(seconds):
                return self._stored(plan, await self._polled(plan, grants, code, reply))
        except TimeoutError:
            raise self._fault("the code expired before approval; begin again.") from None

    def _device_code(self, reply: Reply) -> tuple[Secret, DeviceCode]:
        """Return the codes of an answer (RFC 8628, section 3.2)."""
        members = reply.members
        code, user_code = members.get("device_code"), members.get("user_code")
        # Google wrote `url` before there was a standard.
        url = members.get("verification_uri") or members.get("verification_url")
        texts = (code, user_code, url)
        if not all(isinstance(text, str) and text.isprintable() and text for text in texts):
            raise self._fault("the authorization server gives no usable device code.")
        if not channels.is_protected(str(url)) or len(str(user_code)) > _LONGEST_CODE:
            raise self._fault("the authorization server gives no usable device code.")
        return Secret(str(code)), DeviceCode(str(url), str(user_code))

    async def _polled(self, plan: Plan, grants: Grants, code: Secret, reply: Reply) -> Token:
        """Ask until the user has decided (RFC 8628, section 3.5)."""
        interval = _seconds(reply.members.get("interval"), usual=_INTERVAL, largest=60.0)
        while True:
            await asyncio.sleep(interval)
            try:
                return await grants.ask(
                    self._channel,
                    plan.config.token_url,
                    _DEVICE_GRANT,
                    secrets={"device_code": code},
                )
            except RefusedError as error:
                if error.code == "slow_down":
                    interval += SLOWER
                elif error.code != "authorization_pending":
                    raise
            except CallError as error:
                if error.kind not in ("connection", "timeout", "rate_limited"):
                    raise
                interval = min(interval * 2, _LONGEST_INTERVAL)

    def _stored(self, plan: Plan, token: Token) -> Stored:
        return Stored(
            origin=self._channel.api_origin,
            scheme=self._name,
            client_id=plan.config.client_id,
            token_endpoint=plan.config.token_url,
            token=token,
        )

    def _fault(self, reason: str) -> CallError:
        return CallError("credentials", f"security scheme {self._name!r}: {reason}")


def _seconds(value: Any, *, usual: float, largest: float) -> float:
    """Return a number of seconds from an answer, within reason."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return usual
    seconds = min(value, largest)
    return float(seconds) if math.isfinite(seconds) and seconds > 0 else usual


def authorization_url(config: OAuth2, back: str, *, state: Secret, verifier: Secret) -> str:
    """Return the URL at which a user consents."""
    url = config.authorization_url
    taken = _OWN_FIELDS.intersection(parse_qs(urlsplit(url).query, keep_blank_values=True))
    if taken:
        reason = f"the authorization endpoint's address already holds {', '.join(sorted(taken))}"
        raise CallError("credentials", f"{reason}; give another one.")
    made = prepare_grant_uri(
        url,
        config.client_id,
        "code",
        redirect_uri=back,
        scope=" ".join(config.scopes),
        state=state.reveal(),
        code_challenge=create_s256_code_challenge(verifier.reveal()),
        code_challenge_method="S256",
    )
    return cast("str", made)
