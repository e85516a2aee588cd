"""Previews of requests, for approval and dry runs."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

_LONGEST = 20_000
_MASKED = "%2A%2A%2A"


@dataclass(frozen=True, slots=True)
class Preview:
    """A request that is not sent, or not yet; `***` replaces secrets.

    `str(preview)` is the request in the form of HTTP/1.1.

    Attributes:
        tool: Name of the tool.
        arguments: The model's, as they fit the tool.
        method: For instance `"DELETE"`.
        url: Whole.
        headers: Name and value pairs, in the order in which they are sent.
        body: As text, cut after 20,000 characters; a size in words for binary data; None for none.
        note: A remark, for instance that a credential is missing; may be empty.
        call_id: Of the call; empty when it has none.
    """

    tool: str
    arguments: dict[str, Any]
    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    note: str = ""
    call_id: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.method} {self.url}"
        for name, value in self.headers:
            yield f"{name}: {value}"
        if self.body is not None:
            yield ""
            yield self.body

    def as_data(self) -> dict[str, Any]:
        """Return the request as JSON-native data: method, url, headers, body, and a note."""
        members: dict[str, Any] = {
            "method": self.method,
            "url": self.url,
            "headers": [list(pair) for pair in self.headers],
            "body": self.body,
        }
        return {**members, "note": self.note} if self.note else members


def preview_of(
    request: httpx.Request,
    tool: str,
    arguments: dict[str, Any],
    *,
    redactor: Redactor | None = None,
) -> Preview:
    """Return the preview of a request that was built with masked credentials."""
    redactor = Redactor() if redactor is None else redactor
    return Preview(
        tool,
        copy.deepcopy(redactor.data(arguments)),  # an approver may not change the call
        request.method,
        redactor.text(str(request.url).replace(_MASKED, "***")),
        tuple((name, redactor.text(value)) for name, value in request.headers.multi_items()),
        _body(request.content, redactor),
    )


def _body(content: bytes, redactor: Redactor) -> str | None:
    if not content:
        return None
    try:
        text = redactor.text(content.decode())
    except UnicodeDecodeError:
        return f"({len(content)} bytes that are not text)"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters in all)"
