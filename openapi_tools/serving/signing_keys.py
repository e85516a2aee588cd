"""An issuer's keys, fetched when needed, and the claims of the tokens that they sign.

Spec: RFC 7515, 7517 and 7519; RFC 8725 (best practices); RFC 9068, section 4.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import TYPE_CHECKING, Any

from openapi_tools.auth.authorization_server import SUCCESS, Channel, metadata_urls, request_json
from openapi_tools.auth.origin_policy import is_protected
from openapi_tools.auth.token_source import SingleFlight
from openapi_tools.errors import CallError, require_extra
from openapi_tools.requests import origin_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from openapi_tools.auth.authorization_server import Reply, TokenForm
    from openapi_tools.serving.refusals import Reason
    from openapi_tools.transport import Sender

with require_extra("serve"):
    from joserfc import jws
    from joserfc.errors import JoseError
    from joserfc.jwk import import_key

logger = logging.getLogger("openapi_tools.serving")

# Keys are rotated in hours to months, with an overlap. An issuer that is away for a night
# should not lock everybody out.
_FRESH, _STALE = 600.0, 86_400.0  # seconds
# Anyone can send tokens with unknown key ids: the issuer gets one request for all of them.
_PAUSE, _AFTER_FAILURE = 30.0, 5.0  # seconds from the end of one attempt to the next
PATIENCE = 10.0  # seconds for a request to an issuer while users wait
_MOST = 100
_LONGEST_HEADER = 4096  # some issuers send a chain of certificates
# RFC 9068, section 4: `typ` tells an access token from an ID token, which must not open
# anything.
_TYPES = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
# Extended, nested and encrypted tokens. RFC 7515, section 4.1.11: a critical extension that is not
# understood makes the token invalid.
_FORBIDDEN_HEADERS = frozenset({"crit", "b64", "cty", "enc", "zip"})
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
# RFC 7518, section 3.3: 2,048 bits or more.
_LEAST_RSA = 2048 // 8 * 4 // 3  # characters of a modulus in base64


class BadTokenError(Exception):
    """A token that is not valid here; the message contains no part of it."""

    def __init__(self, message: str, reason: Reason = "token_malformed") -> None:
        super().__init__(message)
        self.reason = reason


async def fetch_json(sender: Sender, url: str, form: TokenForm | None = None) -> Reply:
    """Return the JSON response of an authorization server; CallError."""
    origin = origin_of(url)
    server = f"the authorization server {origin}"
    try:
        async with asyncio.timeout(PATIENCE), sender.attempts(server) as attempts:
            channel = Channel(
                attempts.transport, lambda _: True, lambda *_: None, api_origin=origin
            )
            reply = await request_json(channel, url, form)
    except TimeoutError:
        reason = f"{server} did not respond within {PATIENCE:g} s."
        raise CallError("timeout", reason, retryable=True) from None
    return reply


class SigningKeys:
    """The public keys of an issuer: fresh for ten minutes, used for a day while it is unreachable.

    A request whose key is known does not wait: stale keys are renewed in the background. A request
    with an unknown key joins the fetch in progress. A key is rejected as unknown only if the keys
    have just been fetched.
    """

    def __init__(self, issuer: str, url: str, sender: Sender) -> None:
        self._issuer, self._url, self._sender = issuer, url, sender
        self._keys: list[Any] = []
        self._fetch: SingleFlight[None] = SingleFlight(PATIENCE * 2)
        self._fetched_at = self._ended_at = -_STALE
        self._failure: CallError | None = None

    async def find_keys(self, kid: object, algorithm: str) -> list[Any]:
        """Return the keys that may have signed; CallError while the issuer is unreachable."""
        keys, age = self._matching_keys(kid, algorithm), time.monotonic() - self._fetched_at
        if keys and age < _STALE:
            if age > _FRESH and not self._is_pausing:
                self._fetch.start(self._renew_keys)
            return keys
        if not self._is_pausing:
            await self._fetch.run(self._renew_keys)
        if self._failure is not None:
            raise CallError(self._failure.kind, self._failure.reason, retryable=True)
        return self._matching_keys(kid, algorithm)

    async def aclose(self) -> None:
        """Cancel the fetch in progress."""
        await self._fetch.aclose()

    @property
    def _is_pausing(self) -> bool:
        # Counted from the end of an attempt, so that nobody waits for a hanging issuer twice.
        pause = _PAUSE if self._failure is None else _AFTER_FAILURE
        return time.monotonic() - self._ended_at < pause

    def _matching_keys(self, kid: object, algorithm: str) -> list[Any]:
        # By key id, and of the type that the algorithm needs (RFC 7518, section 3.1).
        named = (key for key in self._keys if kid in (None, key.get("kid")))
        fitting = (key for key in named if key.key_type == _KINDS[algorithm[:2]])
        return [key for key in fitting if key.get("alg") in (None, algorithm)]

    async def _renew_keys(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                self._keys = await self._request_keys()
            self._fetched_at, self._failure = time.monotonic(), None
        except CallError as error:
            self._failure = error
        except TimeoutError:
            reason = f"{origin_of(self._issuer)} did not return its keys within {PATIENCE:g} s."
            self._failure = CallError("timeout", reason)
        finally:
            self._ended_at = time.monotonic()
        if self._failure is not None:
            logger.warning("the keys of the issuer cannot be fetched: %s", self._failure.reason)

    async def _request_keys(self) -> list[Any]:
        self._url = (
            self._url or (await fetch_issuer_metadata(self._issuer, self._sender))["jwks_uri"]
        )
        reply = await fetch_json(self._sender, self._url)
        listed = reply.properties.get("keys") if reply.status in SUCCESS else None
        keys = list(_usable_keys(listed[:_MOST])) if isinstance(listed, list) else []
        if not keys:  # an issuer always has keys, and an empty set would end all sessions
            raise CallError("protocol", f"{origin_of(self._url)} returned no usable keys.")
        return keys


async def fetch_issuer_metadata(issuer: str, sender: Sender) -> dict[str, Any]:
    """Return the metadata of an issuer, with the `url` where it is (RFC 8414, section 3.3)."""
    error = CallError("protocol", f"{issuer} has no usable metadata; set jwks_url.")
    for url in dict.fromkeys(metadata_urls(issuer)):
        try:
            metadata = (await fetch_json(sender, url)).properties
        except CallError as failure:
            if failure.kind != "protocol":
                raise
            continue
        keys = metadata.get("jwks_uri")
        if metadata.get("issuer") == issuer and isinstance(keys, str) and is_protected(keys):
            return {**metadata, "url": url}
    raise error


def _usable_keys(listed: list[Any]) -> Iterator[Any]:
    # Keys that cannot check signatures are skipped, as RFC 7517, section 5, recommends.
    for data in listed:
        if not isinstance(data, dict) or data.get("kty") not in _KINDS.values():
            continue
        if data.get("use", "sig") != "sig" or "verify" not in data.get("key_ops", ["verify"]):
            continue
        if data["kty"] == "RSA" and len(str(data.get("n", ""))) < _LEAST_RSA:
            continue
        try:
            yield import_key(data)
        except (JoseError, ValueError, TypeError, KeyError):
            continue


async def verify_signature(
    token: str, keys: SigningKeys, algorithms: Collection[str]
) -> dict[str, Any]:
    """Return the claims of a token whose signature is valid; BadTokenError, CallError."""
    registry = jws.JWSRegistry(algorithms=algorithms, strict_check_header=False)
    registry.max_header_length = _LONGEST_HEADER
    try:
        signed = jws.extract_compact(token.encode(), registry=registry)
        header = signed.headers()
    except (JoseError, ValueError, RecursionError):
        raise BadTokenError("the token is not a readable JWT") from None
    # A key in the header, or its address, is whatever the sender claims: both are ignored.
    if header.get("alg") not in [*algorithms] or not _FORBIDDEN_HEADERS.isdisjoint(header):
        raise BadTokenError("the token has an algorithm or header that is not allowed")
    if str(header.get("typ", "")).lower() not in _TYPES:
        raise BadTokenError("the token is not an access token (typ)")
    candidates = await keys.find_keys(header.get("kid"), header["alg"])
    # To try each key would make a check as expensive as an attacker wants.
    if len(candidates) != 1:
        raise BadTokenError("the token names no key of the issuer (kid)", "token_key")
    try:
        is_good = jws.validate_compact(signed, candidates[0], registry=registry)
        claims = json.loads(signed.payload) if is_good else None
    except (JoseError, ValueError, RecursionError):
        reason = "the signature of the token cannot be checked"
        raise BadTokenError(reason, "token_signature") from None
    if not isinstance(claims, dict):
        raise BadTokenError("the signature of the token is wrong", "token_signature")
    return claims
