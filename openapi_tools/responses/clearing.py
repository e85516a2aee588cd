"""An answer without its secrets, before any of it is read, cut or written to a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic_core import to_json

from openapi_tools.media_types import essence, is_json, parameter
from openapi_tools.responses.charsets import as_utf8
from openapi_tools.responses.server_json import PARTLY, read_json

if TYPE_CHECKING:
    from openapi_tools.redaction import Redactor
    from openapi_tools.transport.exchange import Answer

_MARK = b"\xef\xbb\xbf"


def cleared(answer: Answer, redactor: Redactor) -> Answer:
    """Return an answer with `***` in place of secrets; itself when it holds none."""
    lines = answer.headers.raw
    values = b"\n".join(value for _, value in lines)
    named = redactor.content(values) is not values
    content = _content(answer.content, answer.headers.get("content-type", ""), redactor)
    if content is answer.content and not named:
        return answer
    lines = [(name, redactor.content(value)) for name, value in lines]
    return replace(answer, content=content, headers=type(answer.headers)(lines))


def _content(content: bytes, media_type: str, redactor: Redactor) -> bytes:
    plain = as_utf8(content, parameter(media_type, "charset"))
    masked = redactor.content(plain)
    if masked is plain:
        return content
    if is_json(essence(media_type)):
        try:
            value, notes = read_json(plain)
            if PARTLY not in notes:
                # A mask in place of a number, or of two names, leaves it JSON.
                return to_json(redactor.data(value), inf_nan_mode="constants")
        except ValueError:
            pass  # text under a wrong name
    return masked if plain is content else _MARK + masked
