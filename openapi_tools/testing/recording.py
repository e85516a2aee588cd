"""Exchanges with an API, recorded to a file and replayed without a network."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from openapi_tools.http_rules import essence, is_form, is_json, names_credential
from openapi_tools.redaction import MASK, redacted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from openapi_tools.openapi_core import Route
    from openapi_tools.tools.tool import OperationTool

_SECRET = re.compile(
    r"(?:access|refresh|id|auth|bearer|session|csrf|api)?[-_]?token|password|passwd|pwd"
    r"|(?:.*[-_])?(?:secret|api[-_]?key|credentials?|jwt|private[-_]?key|signature)|authorization",
    re.IGNORECASE,
)
"""Names of members and query parameters that hold credentials; paging has tokens of its own."""


def hidden(value: Any) -> Any:
    """Return data for a file or a record: credentials are masked, by name and where known."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {
            name: MASK if isinstance(member, str) and _is_secret(name) else hidden(member)
            for name, member in value.items()
        }
    return [hidden(item) for item in value] if isinstance(value, list | tuple) else value


def _is_secret(name: object) -> bool:
    return isinstance(name, str) and _SECRET.fullmatch(name) is not None


def hidden_url(url: httpx.URL) -> str:
    """Return a URL without the credentials in its query."""
    for name in filter(_is_secret, url.params):
        url = url.copy_set_param(name, MASK)
    return redacted(str(url))


def hidden_headers(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return headers without credentials."""
    return [
        (name.lower(), MASK if names_credential(name) else redacted(value)) for name, value in pairs
    ]


@dataclass(slots=True)
class RecordedCall:
    """A request that a mock received, without credentials.

    Attributes:
        tool: The tool's name; the operation's method and path where the document makes no tool
            of it, and empty where it has no such operation.
        arguments: As they were given to the tool, so far as the request tells: texts, numbers and
            booleans, arrays of these, and the body.
        method: Upper case.
        url: With the query.
        headers: By name in lower case; credentials are `***`.
        body: JSON as data, a form as a dict, other content as text or bytes; None without any.
        problems: How the request breaks the document, one line each.
        status: Of the answer; 0 for none.
    """

    tool: str
    arguments: dict[str, Any]
    method: str
    url: str
    headers: dict[str, str]
    body: Any = None
    problems: list[str] = field(default_factory=list)
    status: int = 0

    @classmethod
    def of(cls, request: httpx.Request) -> RecordedCall:
        """Return the record of a request whose body has been read."""
        headers = dict(hidden_headers(request.headers.multi_items()))
        url, body = hidden_url(request.url), hidden(body_of(request))
        return cls("", {}, request.method, url, headers, body)


def body_of(request: httpx.Request) -> Any:
    """Return the body of a request that has been read, as data where it is JSON or a form."""
    content, kind = request.content, request.headers.get("content-type", "")
    if not content:
        return None
    try:
        text = content.decode()
        if is_form(kind):
            return {name: v[0] if len(v) == 1 else v for name, v in parse_qs(text, True).items()}
        return json.loads(text) if is_json(kind) else text
    except ValueError:
        return content if not essence(kind).startswith("text/") else content.decode("latin-1")


def arguments_of(tool: OperationTool, request: httpx.Request, route: Route) -> dict[str, Any]:
    """Return the arguments that a request was made of, so far as they can be read back."""
    operation, schemas, body = tool.operation, tool.input_schema["properties"], body_of(request)
    path = {name.strip(".;?*"): text for name, text in route.variables.items()}
    made: dict[str, Any] = {}
    for parameter in operation.parameters:
        name = parameter.name
        found = {
            "path": [path[name]] if name in path else [],
            "query": request.url.params.get_list(name),
            "header": request.headers.get_list(name),
        }.get(parameter.location, [])
        if found:
            made[parameter.argument] = _read(found, schemas.get(parameter.argument, {}))
    if operation.body is not None and body is not None:
        if operation.body.argument:
            made[operation.body.argument] = body
        elif isinstance(body, dict):
            known = [each for each in operation.body.properties if each.name in body]
            made |= {each.argument: body[each.name] for each in known}
    return made


def _read(texts: list[str], schema: Mapping[str, Any]) -> Any:
    """Return an argument from its texts on the wire."""
    kind = schema.get("type")
    if kind == "array":
        texts = texts[0].split(",") if len(texts) == 1 else texts
        items = schema.get("items")
        return [_read([text], items if isinstance(items, dict) else {}) for text in texts]
    if kind != "string":
        with suppress(ValueError):
            return json.loads(texts[0])
    return texts[0]
