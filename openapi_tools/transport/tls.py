"""TLS: trusted authorities, client certificates, and failures in words.

No setting turns verification off.
"""

from __future__ import annotations

import os
import ssl
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import certifi
import httpx

from openapi_tools.errors import CallError, CredentialsError
from openapi_tools.forks import ForkLock
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from openapi_tools.settings import Settings

_NO_TLS = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
_WANTS_CERTIFICATE = "CERTIFICATE_REQUIRED"
_OF_CERTIFICATES = ("UNKNOWN_CA", "CERTIFICATE", "ACCESS_DENIED")
_SHOWN = 120
_making = ForkLock()
"""OpenSSL has locks of its own that a forked process would find held."""


class TlsError(httpx.ConnectError):
    """TLS failed on an open connection; trying again changes nothing."""


def trusted(settings: Settings) -> ssl.SSLContext:
    """Return the context for connections without a certificate of our own.

    The authorities of `certifi` are trusted and those of `ca_file`; with `trust_env` those of
    `SSL_CERT_FILE` or `SSL_CERT_DIR` replace certifi's.

    Raises:
        CallError: A file of certificate authorities cannot be read.
    """
    try:
        return _shared(_usual(trust_env=settings.trust_env), _dated(settings.ca_file))
    except (OSError, ValueError) as error:
        reason = f"the certificate authorities cannot be read ({_reason(error)})"
        where = "look at Settings(ca_file=…)"
        if settings.trust_env:
            where += " and at SSL_CERT_FILE and SSL_CERT_DIR of the environment"
        raise CallError("connection", f"{reason}; {where}.", retryable=False) from None


def client_context(
    cert: str | Path,
    key: str | Path | None = None,
    *,
    password: str | None = None,
    ca_file: str | Path | None = None,
    trust_env: bool = False,
) -> ssl.SSLContext:
    """Return the context for connections that present a certificate (mutual TLS).

    Spec: RFC 8446, section 4.4.2.

    Args:
        cert: PEM file with the certificate, its chain after it, and the key unless given apart.
        key: PEM file with the private key.
        password: Of the key.
        ca_file: As `Settings.ca_file`.
        trust_env: As `Settings.trust_env`.

    Raises:
        CredentialsError: A file cannot be read, or they do not belong together.
    """
    try:
        context = _context(_usual(trust_env=trust_env), _dated(ca_file))
    except (OSError, ValueError) as error:
        reason = f"the certificate authorities cannot be read ({_reason(error)})"
        raise CredentialsError(f"{reason}; look at Settings(ca_file=…).") from None
    try:
        # Without any password OpenSSL asks for one at the terminal, and waits.
        context.load_cert_chain(cert, key, password or "")
    except (OSError, ValueError) as error:
        reason = f"the client certificate cannot be used ({_reason(error)})"
        raise CredentialsError(
            f"{reason}; give PEM files of a certificate and its key, and the key's password."
        ) from None
    return context


def in_words(error: ssl.SSLError) -> str:
    """Return why TLS failed, for an error of a handshake or of an alert that followed it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        text = excerpt(" ".join(str(error.verify_message).split()), _SHOWN).rstrip(".")
        return f"the server's certificate is not accepted: {text}"
    reason = str(error.reason or "")
    if any(word in reason for word in _NO_TLS):
        return "the server does not speak TLS; is its address one of http?"
    if _WANTS_CERTIFICATE in reason:
        return "the server asks for a client certificate"
    if "ALERT" in reason and any(word in reason for word in _OF_CERTIFICATES):
        return "the server does not accept the client certificate"
    return f"the TLS handshake failed: {reason.replace('_', ' ').lower()[:_SHOWN] or 'broken off'}"


def _usual(*, trust_env: bool) -> tuple[str, str]:
    """Return a file or a folder of certificate authorities."""
    if trust_env:
        found = os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", "")
        if found[0] or found[1]:
            return (found[0], "") if found[0] else found
    return certifi.where(), ""


def _dated(path: str | Path | None) -> tuple[str, int]:
    """Return a file and its time of change, so that a changed one is read again."""
    return ("", 0) if path is None else (os.fspath(path), Path(path).stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _shared(usual: tuple[str, str], further: tuple[str, int]) -> ssl.SSLContext:
    """Return the one context of its kind: making it takes 20 ms."""
    return _context(usual, further)


def _context(usual: tuple[str, str], further: tuple[str, int]) -> ssl.SSLContext:
    with _making:
        # Not `create_default_context`: it writes the keys to the file that SSLKEYLOGFILE names.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.hostname_checks_common_name = False  # RFC 9525, section 2
        context.load_verify_locations(usual[0] or None, usual[1] or None)
        if further[0]:
            context.load_verify_locations(further[0])
    return context


def _reason(error: OSError | ValueError) -> str:
    """Return why a file could not be used, without its content."""
    if isinstance(error, ssl.SSLError):
        return str(error.reason or "no PEM").replace("_", " ").lower()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return type(error).__name__
