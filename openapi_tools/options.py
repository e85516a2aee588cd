"""Default settings and checks of callers' options, without importing pydantic.

Importing pydantic takes longer than listing a large document, and more memory.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from openapi_tools.errors import CredentialsError, SettingsError

_MEBIBYTE = 1024 * 1024
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class DefaultSettings:
    """The defaults of `Settings`, by the same names; `Settings` describes them."""

    __slots__ = ()

    base_url = None
    server_variables: Mapping[str, str] = MappingProxyType({})
    timeout = 30.0
    concurrency = 20
    max_response_bytes = 10 * _MEBIBYTE
    max_output_chars = 60_000
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
"""Passed in place of settings: readers use their members only."""


def credentials_of(given: Any) -> Mapping[str, Any]:
    """Return credentials by scheme name, none for None; CredentialsError for no mapping."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    form = "{'scheme name': …}"
    raise CredentialsError(
        f"credentials: give a mapping by scheme name, {form}, not {kind_of(given)}."
    )


def members_of(given: Any, known: tuple[str, ...] | None, name: str) -> dict[str, Any]:
    """Return a mapping with known names (None for any) as a dict, {} for None; SettingsError."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise SettingsError(f"{name}: must be a mapping by name, not {kind_of(given)}.")
    for key in given:
        if known is not None and key not in known:
            raise SettingsError(f"{name}: there is no {key!r:.60}; there are {', '.join(known)}.")
    return dict(given)


def functions_of(given: Any, name: str) -> list[Any]:
    """Return functions, or one function, as a list; SettingsError for anything else."""
    listed = [given] if callable(given) else list(given) if isinstance(given, Iterable) else None
    for function in [given] if listed is None else listed:
        if not callable(function):
            raise SettingsError(f"{name}: give a list of functions, not {kind_of(function)}.")
    return listed or []


def close_names(name: object, known: Iterable[str], *, most: int = 3) -> str:
    """Return the end of a sentence: the names that were perhaps meant, or a full stop."""
    close = difflib.get_close_matches(str(name), list(known), n=most)
    return f"; did you mean {' or '.join(close)}?" if close else "."


def kind_of(given: object) -> str:
    """Return the name of a value's type for messages, as the value may be a secret."""
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__


def from_environment(value: Any, name: str, *, secret: bool = True) -> Any:
    """Return a value in which each `${NAME}` is what the environment has for it.

    Args:
        value: A text, or lists and mappings of texts; other values stay.
        name: Of the credential or setting.
        secret: Whether it is a credential.

    Raises:
        CredentialsError: A variable that a credential needs is not set, or empty.
        SettingsError: The same for a setting.
    """
    if isinstance(value, list | tuple):
        return [from_environment(part, name, secret=secret) for part in value]
    if isinstance(value, Mapping):
        return {key: from_environment(v, name, secret=secret) for key, v in value.items()}
    if not isinstance(value, str):
        return value
    return VARIABLE.sub(lambda match: _variable(match.group(1), name, secret=secret), value)


def _variable(variable: str, name: str, *, secret: bool) -> str:
    found = os.environ.get(variable)
    if found:
        return found
    reason = f"{name!r:.60}: the environment variable {variable} is not set or empty."
    if secret:
        raise CredentialsError(reason, scheme=name)
    raise SettingsError(reason)
