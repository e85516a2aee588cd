"""Exchanges as data without secrets, and the recorder that writes them to a folder."""

from __future__ import annotations

import base64
import errno
import json
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, unquote_plus

from openapi_tools.common.http_rules import (
    is_form,
    is_json,
    is_multipart,
    names_credential,
    parameter,
)
from openapi_tools.errors import SettingsError
from openapi_tools.redaction import MASK, redact_data
from openapi_tools.redaction.echoes import find_masked, mask_echoes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import httpx

    from openapi_tools.tools.marked_values import MarkedValues
    from openapi_tools.tools.tool_protocol import Tool
    from openapi_tools.transport import APIResponse

CALLS_FILE = "calls.jsonl"
"""The file of recorded calls: one line per request and its response."""
# Recorded content is decoded and complete; `date` would make each record differ.
CONNECTION_HEADERS = (
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "connection",
    "date",
)

logger = logging.getLogger("openapi_tools")


def describe_request(request: httpx.Request, marked: MarkedValues | None) -> dict[str, Any]:
    """Return method, URL and body of a request without secrets.

    Args:
        request: A request whose body has been read.
        marked: The values that the schemas of its tool mark as secret; None if no tool sent it.
    """
    secrets = _find_secrets(request, marked)
    body = hide_body(request.content, request.headers, marked)
    return {
        "method": request.method,
        "url": mask_echoes(_hide_url(request, marked), secrets),
        "body": mask_echoes(body, secrets),
    }


def _hide_url(request: httpx.Request, marked: MarkedValues | None) -> str:
    url = str(request.url.copy_with(userinfo=b""))
    return str(redact_data(url)) if marked is None else marked.hide_url(url)


def _find_secrets(request: httpx.Request, marked: MarkedValues | None) -> set[str]:
    """Return what is secret in a request by its place or name."""
    content, headers = request.content, request.headers
    values = [*find_masked(read_body(content, headers), hide_body(content, headers, marked))]
    values += _find_url_secrets(request, marked)
    names = () if marked is None else marked.names
    values += [text for name, text in headers.items() if name in names]
    return _omit_public_strings(values, marked)


def _find_url_secrets(request: httpx.Request, marked: MarkedValues | None) -> Iterator[str]:
    path, _, query = str(request.url.copy_with(userinfo=b"")).partition("?")
    hidden_path, _, hidden_query = _hide_url(request, marked).partition("?")
    segments, hidden_segments = path.split("/"), hidden_path.split("/")
    if len(segments) == len(hidden_segments):
        yield from map(unquote, find_masked(segments, hidden_segments))
    yield from map(unquote_plus, find_masked(query, hidden_query))


def _omit_public_strings(values: Iterable[str], marked: MarkedValues | None) -> set[str]:
    secrets = set(values)
    return secrets - marked.public_strings if secrets and marked is not None else secrets


def hide_headers(headers: httpx.Headers, marked: MarkedValues | None = None) -> dict[str, str]:
    """Return headers by name in lower case, without credentials and marked values."""
    names = frozenset[str]() if marked is None else marked.names
    return {
        name: MASK if names_credential(name) or name in names else redact_data(value)
        for name, value in headers.items()
    }


def hide_body(content: bytes, headers: httpx.Headers, marked: MarkedValues | None) -> Any:
    """Return a body as data, as `read_body` does, without secrets."""
    if marked is None:
        return read_body(content, headers, redact_data)
    if content and marked.body is not None and marked.body.is_secret:
        return MASK
    if is_json(headers.get("content-type", "")):
        return read_body(content, headers, lambda value: redact_data(value, marked.body))
    return read_body(content, headers, lambda value: redact_data(value, names=marked.names))


def read_body(
    content: bytes, headers: httpx.Headers, hide: Callable[[Any], Any] = lambda part: part
) -> Any:
    """Return JSON or a form as data, other content as a string or `{"base64": …}`."""
    media_type = headers.get("content-type", "")
    if is_multipart(media_type):
        # Boundaries are random: with its own, the same request would never match its record.
        content = content.replace(parameter(media_type, "boundary").encode() or b"--", b"boundary")
    try:
        text = content.decode()
    except ValueError:
        return {"base64": base64.b64encode(hide(content)).decode()}
    if is_form(media_type):
        pairs = parse_qs(text, keep_blank_values=True)
        return hide({name: v[0] if len(v) == 1 else v for name, v in pairs.items()})
    with suppress(ValueError, RecursionError):
        if is_json(media_type):
            return hide(json.loads(text))
    return hide(text) or None


def describe_response(
    request: httpx.Request, content: bytes, headers: httpx.Headers, marked: MarkedValues | None
) -> dict[str, Any]:
    """Return headers, and content as `json`, `text` or `base64`, of a response without secrets.

    Secrets of the request, and values that the response's schema marks, are masked, too.
    """
    secrets = _find_secrets(request, marked)
    schema, names = (None, frozenset[str]()) if marked is None else (marked.response, marked.names)
    described: dict[str, Any] = {}
    with suppress(ValueError, RecursionError):
        if is_json(headers.get("content-type", "")):
            # A response may repeat what only the request's schema marks.
            value = json.loads(content.decode())
            masked = redact_data(value, schema, names)
            secrets |= _omit_public_strings(find_masked(value, masked), marked)
            described = {"json": mask_echoes(masked, secrets)}
    if not described:
        described = _describe_bytes(mask_echoes(redact_data(content, names=names), secrets))
    fields = {name: mask_echoes(v, secrets) for name, v in hide_headers(headers, marked).items()}
    return {"headers": fields, **described}


def _describe_bytes(content: bytes) -> dict[str, Any]:
    try:
        return {"text": content.decode()}
    except ValueError:
        return {"base64": base64.b64encode(content).decode()}


class ExchangeRecorder:
    """Appends the exchanges of calls to a file, without credentials and marked values.

    Several processes may write to one folder. If a record cannot be written, the call goes on and
    the first such failure is logged.

    Args:
        folder: Where the file is; it is created if needed.

    Raises:
        SettingsError: The folder cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # ValueError: a NUL character
            cause = getattr(error, "strerror", None) or error
            reason = f"record: the folder {str(folder)!r} cannot be created ({cause})."
            raise SettingsError(reason) from None
        self._path = folder / CALLS_FILE
        self._has_failed = self._is_cut = False

    def record(self, tool: Tool, request: httpx.Request, response: APIResponse) -> None:
        """Append an exchange of a tool to the file."""
        marked = tool.marked_values
        content = response.content if response.file is None else b""
        described = describe_response(request, content, response.headers, marked)
        for name in CONNECTION_HEADERS:
            described["headers"].pop(name, None)
        if response.file is not None:
            described = {"headers": described["headers"], "text": ""}
        entry = {
            "tool": tool.name,
            "request": describe_request(request, marked),
            "response": {"status": response.status, **described},
        }
        self._write(json.dumps(entry).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        # A link could lead to any file, and a pipe would wait for its reader.
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            # With O_APPEND the lines of several processes come after one another (POSIX, `write`).
            descriptor = os.open(self._path, flags, 0o600)
            try:
                line = b"\n" + line if self._is_cut else line
                self._is_cut = os.write(descriptor, line) < len(line)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._log_failure(error.strerror or type(error).__name__)
        else:
            if self._is_cut:
                self._log_failure(os.strerror(errno.ENOSPC))

    def _log_failure(self, reason: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            logger.warning("calls cannot be recorded in %s: %s; logged once", self._path, reason)
