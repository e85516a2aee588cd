"""openapi-core's checks of requests, answers and documents, and the operation of a request.

The mock uses them for requests, `Settings(check_answers=True)` for answers, `lint` for documents.
Loading and calling do not need them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from openapi_tools.errors import missing_extra
from openapi_tools.json_values import follow, keys_of
from openapi_tools.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from openapi_tools.openapi_core.exchange_check import Judge
    from openapi_tools.transport import Answer

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_LONGEST = 240
_ORIGIN = re.compile(r"^(?:[A-Za-z{][^/?#]*:)?//[^/?#]*")


def make_checker(
    document: Mapping[str, Any] | Callable[[], Mapping[str, Any]], *, base_url: str | None = None
) -> Callable[[httpx.Request, Answer], list[str]]:
    """Return a function that checks answers against a document, one line for each difference.

    It never raises and opens no file or connection. Its first call imports openapi-core; each call
    costs 1 to 20 ms. A function may return the document at the first answer; `base_url` replaces
    its servers. A Swagger 2.0 document is reported as not judged.

    Raises:
        MissingExtraError: The extra `testing` is not installed.
    """
    if find_spec("openapi_core") is None:
        raise missing_extra("openapi_core", "testing")
    judges: list[Judge] = []

    def check(request: httpx.Request, answer: Answer) -> list[str]:
        if not judges:
            base_path = None if base_url is None else urlsplit(base_url).path
            judges.append(make_judge(document() if callable(document) else document, base_path))
        return judges[0].answer(request, answer.status, answer.headers, answer.content)

    return check


def make_judge(document: Mapping[str, Any], base_path: str | None) -> Judge:
    """Return a judge of exchanges; this imports openapi-core, for 300 ms."""
    from openapi_tools.openapi_core.exchange_check import Judge

    return Judge(document, base_path)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about a document, by JSON Pointer (`""` for the whole document; RFC 6901).

    `severity` is `"error"`, `"warning"`, `"hint"`, or `"note"` where something could not be
    checked; `rule` names the check.
    """

    pointer: str
    message: str
    severity: str = "error"
    rule: str = "openapi"


def shorten(text: str, limit: int = _LONGEST) -> str:
    """Return text on one line, without its middle where it is too long."""
    line = " ".join(redacted(text).split())
    if len(line) <= limit:
        return line
    half = (limit - 3) // 2
    return f"{line[:half]} … {line[-half:]}"


def operation_at(
    document: Mapping[str, Any], place: str
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the path item and the operation at a JSON Pointer; `{}` for those of other files."""
    _, path, *member = keys_of(place)
    item = node = follow(document, follow(document, document.get("paths")).get(path))
    for key in member:
        node = follow(document, node.get(key))
    return item, node


@dataclass(frozen=True, slots=True)
class Route:
    """An operation and its path item, the keys that lead there, and the decoded path variables."""

    pointer: tuple[str, ...]
    operation: Mapping[str, Any]
    item: Mapping[str, Any]
    variables: Mapping[str, str]

    @property
    def path(self) -> str:
        """The path template."""
        return self.pointer[1]


def find_route(
    document: Mapping[str, Any], method: str, target: str, *, base_path: str | None = None
) -> Route | None:
    """Return the operation of a request, None without one.

    The path with the fewest variables wins: concrete paths come before templated ones.

    Spec: OpenAPI 3.1.2, section 4.8.8.2 (Path Templating Matching).
    """
    path, _, query = target.partition("?")
    found = []
    for key, entry in follow(document, document.get("paths")).items():
        is_path = isinstance(key, str) and not key.startswith("x-")
        item = follow(document, entry) if is_path else {}
        for name, operation in _operations(item, method):
            bases = [base_path] if base_path is not None else _bases(document, item, operation)
            variables = _match(key, path, query, bases)
            if variables is not None:
                found.append(Route(("paths", key, *name), operation, item, variables))
    return min(
        found, key=lambda route: (len(route.variables), _fragment_rank(route, query)), default=None
    )


def _fragment_rank(route: Route, query: str) -> int:
    """Rank a path template by its fragment; a fitting one is below 0."""
    # AWS documents distinguish operations of one path by `#Action=X` or `#uploads`.
    fragment = parse_qsl(route.path.partition("#")[2], keep_blank_values=True)
    given = parse_qsl(query, keep_blank_values=True)
    names = {name for name, _ in given}
    if all((name, value) in given if value else name in names for name, value in fragment):
        return -len(fragment)
    return 1


def _operations(
    item: Mapping[str, Any], method: str
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    lower = method.lower()
    if lower in METHODS and isinstance(item.get(lower), Mapping):
        yield (lower,), item[lower]
    more = item.get("additionalOperations")
    for name, operation in more.items() if isinstance(more, Mapping) else ():
        if str(name).lower() == lower and isinstance(operation, Mapping):
            yield ("additionalOperations", name), operation


def _bases(
    document: Mapping[str, Any], item: Mapping[str, Any], operation: Mapping[str, Any]
) -> list[str]:
    if "swagger" in document:
        base = document.get("basePath")
        return ["", base if isinstance(base, str) else ""]
    levels = (operation.get("servers"), item.get("servers"), document.get("servers"))
    servers = next((level for level in levels if isinstance(level, list) and level), [])
    urls = [server.get("url") for server in servers if isinstance(server, Mapping)]
    return ["", *(_ORIGIN.sub("", url) for url in urls if isinstance(url, str))]


def _match(template: str, path: str, query: str, bases: list[str]) -> dict[str, str] | None:
    slash = "" if template.startswith("/") else "/"  # which loading adds, too
    shape, _, fixed = (slash + template).partition("#")[0].partition("?")
    if fixed and not set(parse_qsl(fixed)) <= set(parse_qsl(query)):
        return None
    for base in bases:
        expression, names = _expression(base.rstrip("/"), shape)
        match = expression.fullmatch(path)
        if match:
            return dict(zip(names, map(unquote, match.groups()), strict=True))
    return None


def _literal(text: str) -> str:
    """Return text of a path template as a pattern: plain, or percent-encoded."""
    encoded = quote(text, safe="!$&'()*+,/:;=@~%")
    return f"(?:{re.escape(text)}|{re.escape(encoded)})" if encoded != text else re.escape(text)


@lru_cache(maxsize=8192)
def _expression(base: str, shape: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return a path template as a regular expression, and the names of its groups."""
    names = re.findall(r"\{([^{}]*)\}", shape)
    # A relative server is relative to the document's own address, which is not known here.
    before = "" if not base or base.startswith(("/", "{")) else ".*/"
    head = before + re.sub(r"\\\{.*?\\\}", "[^?]*", re.escape(base.removeprefix("./")))
    tail = "([^/]*)".join(map(_literal, re.split(r"\{[^{}]*\}", shape)))
    return re.compile(head + tail), tuple(names)
