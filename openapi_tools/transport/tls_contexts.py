"""TLS contexts: certificate authorities, and client certificates.

No setting turns the verification of certificates off.
"""

from __future__ import annotations

import os
import ssl
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import certifi

from openapi_tools.errors import CallError, CredentialsError

if TYPE_CHECKING:
    from openapi_tools.settings import Settings


def server_tls_context(settings: Settings) -> ssl.SSLContext:
    """Return the context that verifies servers; CallError for an unreadable file."""
    try:
        locations = _authority_locations(trust_env=settings.trust_env)
        return _shared_context(*locations, *_file_version(settings.ca_file))
    except (OSError, ValueError) as error:
        reason = f"the certificate authorities cannot be read ({_describe_file_fault(error)})"
        hint = "check Settings(ca_file=…)"
        if settings.trust_env:
            hint += ", SSL_CERT_FILE and SSL_CERT_DIR"
        raise CallError("connection", f"{reason}; {hint}.", retryable=False) from None


def client_tls_context(
    cert: str | Path,
    key: str | Path | None = None,
    *,
    password: str | None = None,
    ca_file: str | Path | None = None,
) -> ssl.SSLContext:
    """Return the context that presents a certificate (RFC 8446, 4.4.2), or CredentialsError."""
    try:
        context = _make_context(*_authority_locations(trust_env=False), *_file_version(ca_file))
    except (OSError, ValueError) as error:
        reason = f"the certificate authorities cannot be read ({_describe_file_fault(error)})"
        raise CredentialsError(f"{reason}; check Settings(ca_file=…).") from None
    try:
        # Without any password OpenSSL asks for one at the terminal, and waits.
        context.load_cert_chain(cert, key, password or "")
    except (OSError, ValueError) as error:
        reason = f"the client certificate cannot be used ({_describe_file_fault(error)})"
        raise CredentialsError(
            f"{reason}; pass PEM files of a certificate and its key, and the key's password."
        ) from None
    return context


def _authority_locations(*, trust_env: bool) -> tuple[str, str]:
    if trust_env:
        file, folder = os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", "")
        if file or folder:
            return file, "" if file else folder
    return certifi.where(), ""


def _file_version(path: str | Path | None) -> tuple[str, int]:
    return ("", 0) if path is None else (os.fspath(path), Path(path).stat().st_mtime_ns)


def _make_context(file: str, folder: str, ca_file: str, _ca_version: int) -> ssl.SSLContext:
    # Not `create_default_context`: it writes the keys to the file that SSLKEYLOGFILE names.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # RFC 8996 ends TLS 1.0 and 1.1; some systems' OpenSSL still allows them.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False  # RFC 9525, section 2
    context.load_verify_locations(file or None, folder or None)
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


_shared_context = lru_cache(maxsize=8)(_make_context)  # making one takes 20 ms


def _describe_file_fault(error: OSError | ValueError) -> str:
    # A message must show nothing of a file with a private key.
    if isinstance(error, ssl.SSLError):
        return str(error.reason or "no PEM").replace("_", " ").lower()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return type(error).__name__
