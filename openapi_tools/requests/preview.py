"""What a call would send, for whoever approves it or only wants to look."""

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
    """A request that is not sent, or not yet; `***` stands in place of secrets.

    `str(preview)` is the request as it would stand on the wire.

    Attributes:
        tool: Name of the tool.
        arguments: The model's, as they fit the tool.
        method: For instance `"DELETE"`.
        url: Whole.
        headers: Name and value pairs, in the order in which they are sent.
        body: As text, cut after 20,000 characters; a count in words for what is no text; None for
            none.
        note: What else to know, for instance that a credential is missing; may be empty.
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
    """Return a request as a preview.

    Args:
        request: Built with masked credentials.
        tool: Name of the tool.
        arguments: As they fit the tool.
        redactor: Knows secrets that may stand in the arguments.
    """
    redactor = Redactor() if redactor is None else redactor
    return Preview(
        tool,
        copy.deepcopy(redactor.data(arguments)),  # whoever approves may not change the call
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
        return f"({len(content)} bytes that are no text)"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters in all)"
