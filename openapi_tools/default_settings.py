"""Default settings, without importing pydantic.

Importing pydantic takes longer than listing a large document, and more memory.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEBIBYTE = 1024 * 1024


class DefaultSettings:
    """The defaults of `Settings`, by the same names; what they mean stands there."""

    __slots__ = ()

    base_url = None
    server_variables: Mapping[str, str] = MappingProxyType({})
    timeout = 30.0
    concurrency = 20
    max_response_bytes = 10 * _MEBIBYTE
    max_output_chars = 256_000
    max_input_chars = 4 * _MEBIBYTE
    max_base64_bytes = 8192
    download_dir = None
    check_answers = False
    file_roots = ()
    prefix = ""
    body: Final = "flat"
    media_types = ()
    description_chars = 1024
    max_document_bytes = 64 * _MEBIBYTE
    ref_root = None
    ref_urls = ()
    allow_private = None
    trust_env = False
    ca_file = None
    credential_origins = ()
    anonymous = False
    retries = 0
    idempotency_header = None
    approve = None
    approve_for = "destructive"
    dry_run = False
    trace_context = False
    cache = True
    stale = False
    transport: Final = "auto"


DEFAULT_SETTINGS: Any = DefaultSettings()
"""Stands where settings stand; nothing that reads them asks for more than their members."""
