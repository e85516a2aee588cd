"""Endpoints of an authorization server, and whether a secret may go there.

A missing or forbidden endpoint is a `CallError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from authlib.oauth2.rfc8414 import (  # type: ignore[import-untyped] # has none
    get_well_known_url,
)
from authlib.oidc.discovery import (  # type: ignore[import-untyped] # has none
    get_well_known_url as get_openid_url,
)

from openapi_tools.auth import oauth2 as configs
from openapi_tools.auth import token_channel as channels
from openapi_tools.errors import CallError
from openapi_tools.redaction import excerpt
from openapi_tools.requests.server_urls import origin_of

if TYPE_CHECKING:
    from openapi_tools.auth.oauth2 import OAuth2
    from openapi_tools.auth.token_channel import Channel, Reply
    from openapi_tools.model import SecurityScheme

_WELL_KNOWN = "/.well-known/"
_SHOWN = 100
_USERS = (configs.AUTHORIZATION_CODE, configs.DEVICE, configs.PASSWORD)
USER_FLOWS = (*_USERS, "implicit")
"""Flows whose tokens represent a user."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of an authorization server.

    Spec: RFC 8414, section 2; RFC 8628, section 4; RFC 9207, section 3.

    Attributes:
        issuer: Its name, a URL.
        token_url: The token endpoint; empty if there is none, like the others.
        authorization_url: The authorization endpoint.
        device_authorization_url: The device authorization endpoint.
        names_itself: Its authorization answers hold `iss`.
    """

    issuer: str
    token_url: str
    authorization_url: str
    device_authorization_url: str
    names_itself: bool


class Endpoints:
    """The endpoints for one scheme."""

    def __init__(self, config: OAuth2, scheme: SecurityScheme, name: str) -> None:
        self._config = config
        self._scheme = scheme
        self._name = name
        self._metadata: Metadata | None = None

    async def token(self, channel: Channel, flow: str | None, *, refresh: bool = False) -> str:
        """Return the token endpoint; a secret may be sent there.

        Args:
            channel: Of the toolset.
            flow: The flow; None for a refresh token of the user.
            refresh: For a refresh token.
        """
        declared = _declared(self._scheme, flow, refresh=refresh)
        return await self._secret_endpoint(channel, "token_url", "token endpoint", declared)

    async def authorization(self, channel: Channel) -> str:
        """Return the authorization endpoint; no secret goes there."""
        url = self._config.authorization_url
        if not url and self.discovery_url:
            url = (await self.metadata(channel)).authorization_url
        if not url:
            flow = self._scheme.flows.get(configs.AUTHORIZATION_CODE, {})
            url = _text(flow.get("authorizationUrl"))
        if not url:
            hint = "give OAuth2(authorization_url=…)"
            raise self._fault(f"the document names no authorization endpoint; {hint}.")
        return self._protected(absolute(channel, url), "authorization endpoint")

    async def device(self, channel: Channel) -> str:
        """Return the device authorization endpoint; a client secret may go there."""
        declared = _text(self._scheme.flows.get(configs.DEVICE, {}).get("deviceAuthorizationUrl"))
        member, name = "device_authorization_url", "device authorization endpoint"
        return await self._secret_endpoint(channel, member, name, declared)

    async def _secret_endpoint(
        self, channel: Channel, member: str, name: str, declared: str
    ) -> str:
        """Return the user's URL, else the metadata's or the document's if a secret may go there."""
        if url := getattr(self._config, member):
            return self._protected(url, name)
        url = getattr(await self.metadata(channel), member) if self.discovery_url else declared
        if not url:
            raise self._fault(f"the document names no {name}; give OAuth2({member}=…).")
        url = self._protected(absolute(channel, url), name)
        if not self._config.openid_connect_url and not channel.may_go(url):
            raise self._elsewhere(channel, url)
        return url

    @property
    def discovery_url(self) -> str:
        """The URL of the server's metadata; may be empty."""
        return self._config.openid_connect_url or self._scheme.openid_connect_url

    async def metadata(self, channel: Channel) -> Metadata:
        """Return the server's metadata, fetched once."""
        if self._metadata is None:
            url = self._protected(absolute(channel, self.discovery_url), "OpenID Connect address")
            if _WELL_KNOWN not in url:
                url = metadata_urls(url)[0]
            self._metadata = self._read(url, await channels.get(channel, url))
        return self._metadata

    def _read(self, url: str, reply: Reply) -> Metadata:
        """Return the metadata of an answer."""
        at = origin_of(url)
        if not 200 <= reply.status < 300:  # noqa: PLR2004 -- success
            raise self._fault(f"{at} answered {reply.status} instead of describing itself.")
        issuer = _text(reply.members.get("issuer"))
        if url not in _described_at(issuer):
            shown = repr(excerpt(issuer, _SHOWN)) if issuer else "none"
            raise self._fault(
                f"{at} describes the issuer {shown}, which does not belong to the address that was "
                "asked (OpenID Connect Discovery, section 4.3); give OAuth2(token_url=…)."
            )
        places = ("token_endpoint", "authorization_endpoint", "device_authorization_endpoint")
        token, authorization, device = (_text(reply.members.get(place)) for place in places)
        iss = reply.members.get("authorization_response_iss_parameter_supported") is True
        return Metadata(issuer, token, authorization, device, iss)

    def _protected(self, url: str, what: str) -> str:
        if channels.is_protected(url):
            return url
        raise self._fault(
            f"its {what} is not an https address of the form https://host/path; secrets go nowhere "
            "else but to this machine."
        )

    def _elsewhere(self, channel: Channel, url: str) -> CallError:
        there = origin_of(url)
        return self._fault(
            f"the document names a token endpoint at {there}, but its credentials are for "
            f"{channel.api_origin}; nothing was sent. To allow it give OAuth2(token_url=…) or "
            f"Settings(credential_origins=({channel.api_origin!r}, {there!r}))."
        )

    def _fault(self, reason: str) -> CallError:
        return CallError("credentials", f"security scheme {self._name!r}: {reason}")


def absolute(channel: Channel, url: str) -> str:
    """Return a document's URL as an absolute one.

    Spec: OpenAPI 3.1.2, section 4.6.1: it relates to the server's address.
    """
    try:
        return urljoin(channel.base_url or f"{channel.api_origin}/", url)
    except ValueError:
        return ""


def _declared(scheme: SecurityScheme, flow: str | None, *, refresh: bool) -> str:
    """Return a document's token endpoint."""
    order = (flow,) if flow is not None else (*USER_FLOWS, configs.CLIENT_CREDENTIALS)
    flows = [scheme.flows[name] for name in order if name in scheme.flows]
    if refresh:
        found = next((url for each in flows if (url := _text(each.get("refreshUrl")))), "")
        if found:
            return found
    return next((url for each in flows if (url := _text(each.get("tokenUrl")))), "")


def _described_at(issuer: str) -> tuple[str, ...]:
    return metadata_urls(issuer) if issuer and channels.is_protected(issuer) else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def metadata_urls(issuer: str) -> tuple[str, ...]:
    """Return the URLs of an issuer's metadata.

    Spec: OpenID Connect Discovery 1.0, section 4.1; RFC 8414, section 3.1.
    """
    bare = issuer.rstrip("/")
    return (
        get_openid_url(issuer, external=True),
        get_well_known_url(issuer, external=True),
        get_well_known_url(bare, external=True),
        get_well_known_url(bare, external=True, suffix="openid-configuration"),
    )
