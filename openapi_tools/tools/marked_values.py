"""The values of a tool's calls that its schemas mark as secret."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from openapi_tools.common.http_rules import is_json
from openapi_tools.common.json_values import dump_json_bytes
from openapi_tools.redaction import redact_data
from openapi_tools.redaction.marked_schemas import MarkedSchema
from openapi_tools.redaction.named_values import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from openapi_tools.model import Operation

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_FIRST_SEGMENT = 3  # of the path: the scheme, an empty segment and the host come before


class _Described(Protocol):
    @property
    def input_schema(self) -> dict[str, Any]: ...

    @property
    def answer_schema(self) -> dict[str, Any] | None: ...

    @property
    def operation(self) -> Operation: ...

    @property
    def path(self) -> str: ...


class MarkedValues:
    """The marked values of one tool; each schema is None where it has no mark."""

    def __init__(self, tool: _Described) -> None:
        self._tool = tool

    @cached_property
    def arguments(self) -> MarkedSchema | None:
        """The schema of the arguments."""
        return MarkedSchema.from_schema(self._tool.input_schema)

    @cached_property
    def body(self) -> MarkedSchema | None:
        """The schema of a JSON body."""
        body = self._tool.operation.body
        if self.arguments is None or body is None:
            return None
        if body.argument:
            return self.arguments.property_schema(body.argument)
        schema = self._tool.input_schema
        properties = {p.name: schema["properties"].get(p.argument) for p in body.properties}
        return MarkedSchema.from_schema({**schema, "properties": properties})

    @cached_property
    def response(self) -> MarkedSchema | None:
        """The schema of a documented response."""
        return MarkedSchema.from_schema(self._tool.answer_schema)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of marked values in requests, in lower case."""
        if self.arguments is None:
            return frozenset()
        operation, schema = self._tool.operation, self.arguments
        bodies = () if operation.body is None else (operation.body, *operation.body.choices)
        parts: list[tuple[str, str]] = [(p.name, p.argument) for p in operation.parameters]
        parts += [(p.name, p.argument) for body in bodies for p in body.properties]
        names = {wire for wire, name in parts if schema.property_schema(name).holds_unnamed()}
        return frozenset(map(str.lower, names | schema.secret_names()))

    @cached_property
    def public_strings(self) -> frozenset[str]:
        """The names and strings of the schemas, which are no secrets wherever they occur."""
        return frozenset(_iter_strings([self._tool.input_schema, self._tool.answer_schema]))

    def hide_arguments(self, arguments: Any) -> Any:
        """Return arguments without secrets that are known, named or marked."""
        return redact_data(arguments, self.arguments)

    def hide_url(self, url: str) -> str:
        """Return the URL of a request without secrets, also in segments of its path."""
        start = url.partition("?")[0]
        segments, query = start.split("/"), url[len(start) :]
        path = self._tool.path.partition("#")[0].partition("?")[0]
        template = path.split("/")[1:]
        marked = [self._is_marked(segment) for segment in template]
        if any(marked):
            first = len(segments) - len(template)
            fits = first >= _FIRST_SEGMENT and all(
                "{" in expected or unquote(expected) == unquote(segment)
                for expected, segment in zip(template, segments[first:], strict=True)
            )
            # A value with slashes takes several segments; which ones is unknown.
            masked = zip(segments[first:], marked, strict=True) if fits else ()
            base = segments[: first if fits else _FIRST_SEGMENT]
            segments = [*base, *(MASK if is_secret else segment for segment, is_secret in masked)]
            segments += [] if fits else [MASK]
        return str(redact_data("/".join(segments) + query, names=self.names))

    def _hide_header(self, name: str, value: str) -> str:
        # In a preview the credentials are masked already, with the scheme before them.
        if name in ("authorization", "cookie"):
            return str(redact_data(value, names=self.names))
        return str(redact_data({name: value}, names=self.names)[name])

    def hide_content(self, content: bytes, media_type: str) -> bytes:
        """Return the content of a request without secrets; the same where it has none."""
        if content and self.body is not None and self.body.is_secret:
            return MASK.encode()
        if is_json(media_type):
            with suppress(ValueError, RecursionError):
                value = json.loads(content)
                masked = redact_data(value, self.body, self.names if self.body is None else ())
                return content if masked == value else dump_json_bytes(masked)
        return bytes(redact_data(content, names=self.names))

    def hide_request(self, request: httpx.Request) -> httpx.Request:
        """Return a request as a person may see it, without secrets."""
        content = self.hide_content(request.content, request.headers.get("content-type", ""))
        masked = type(request)(request.method, self.hide_url(str(request.url)), content=content)
        items = request.headers.multi_items()
        masked.headers = type(request.headers)(
            [(n, self._hide_header(n, value)) for n, value in items]
        )
        return masked

    def _is_marked(self, segment: str) -> bool:
        variables = _VARIABLE.findall(segment)
        return any(name.strip(".;?*+").lower() in self.names for name in variables)


def _iter_strings(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield from part
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, str):
            yield part
