"""An operation as data for the Elixir helper, and the names of its module and file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openapi_tools import media_types
from openapi_tools.codegen.exathena.elixir_literals import Fields, Unwritable
from openapi_tools.codegen.identifiers import Names, slug
from openapi_tools.codegen.literals import Code
from openapi_tools.http_rules import header_key
from openapi_tools.model import Operation
from openapi_tools.requests.builder import build_request
from openapi_tools.requests.encoding import (
    OWN_HEADERS,
    PATH_LITERAL,
    is_cookie_name,
    is_token,
    keep_triples,
)
from openapi_tools.settings import Settings
from openapi_tools.tools.packages import class_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.model import Encoding, Parameter, RequestBody, SecurityScheme

_METHODS = {"GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "POST", "PUT", "PATCH", "DELETE"}
_STYLES = {
    **{style: style for style in ("simple", "label", "matrix", "form", "cookie")},
    "spaceDelimited": "space",
    "pipeDelimited": "pipe",
    "tabDelimited": "tab",
    "deepObject": "deep",
}
_DEVICE = re.compile(r"con|prn|aux|nul|(?:com|lpt)[0-9]")  # on Windows, whatever the ending
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_PATH_PART = re.compile(r"(?:\{[^{}]*\}|[^?#])*")
_BODIES = (
    (media_types.is_json, "json"),
    (media_types.is_form, "form"),
    (media_types.is_json_lines, "lines"),
    (media_types.is_json_sequence, "sequence"),
)


class ToolNames:
    """Names of modules and files, different also where case does not count."""

    def __init__(self) -> None:
        self._stems = Names()
        self._lowered: set[str] = set()

    def claim(self, tool: str) -> tuple[Code, Code]:
        """Return the last part of a module's name and the stem of its file."""
        plain = slug(tool) or "tool"
        wanted = f"{plain}_tool" if _DEVICE.fullmatch(plain) else plain
        stem = self._stems.claim(wanted, whose=tool)
        module = class_name(tool) if class_name(tool)[:1].isalpha() else f"Tool{class_name(tool)}"
        if module.lower() in self._lowered:
            # Compiled modules are files as well, named after the module.
            module = f"Tool{class_name(stem)}"
        while module.lower() in self._lowered:
            module += "X"
        self._lowered.add(module.lower())
        return Code(module), stem


def operation_data(
    name: str, operation: Operation, schemes: Mapping[str, SecurityScheme]
) -> Fields:
    """Return a tool's operation as data for the helper."""
    if operation.method not in _METHODS:
        raise Unwritable(f"the method {operation.method!r:.40} is none that Elixir's client knows.")
    path, query = _template(operation.path)
    data = Fields(name=name, method=Code(f":{operation.method.lower()}"), path=path)
    if query != [""]:
        data["query"] = query
    data["accept"] = _accept(operation)
    data["parameters"] = [_parameter(p) for p in operation.parameters if _is_sent(p)]
    if operation.body is not None:
        data["body"] = _body(operation.body)
    data["security"] = [
        [_requirement(scheme, schemes) for scheme in alternative]
        # The first that can be met counts; an empty one always can, so it comes last.
        for alternative in sorted(operation.security, key=lambda needed: not needed)
    ]
    return data


def _template(path: str) -> tuple[list[str], list[str]]:
    """Return path and query of a path key: encoded literals and variables in turn."""
    match = _PATH_PART.match(path)
    before = match[0] if match else ""
    query = path[len(before) :].partition("#")[0].removeprefix("?")
    before = before if before.startswith("/") else f"/{before}"
    if "|" in query:
        raise Unwritable("the path has a '|' in its query, which Elixir's client refuses.")
    return _pieces(before, PATH_LITERAL), _pieces(query, PATH_LITERAL + "?[]")


def _pieces(template: str, safe: str) -> list[str]:
    try:
        pieces = _VARIABLE.split(template)
        return [p if i % 2 else keep_triples(p, safe) for i, p in enumerate(pieces)]
    except UnicodeEncodeError:
        raise Unwritable("the path holds half of a surrogate pair.") from None


def _accept(operation: Operation) -> str:
    """Return the Accept header that the runtime sends."""
    bare = Operation("GET", "/", accept=operation.accept)
    request = build_request(bare, {}, settings=Settings(base_url="http://localhost"))
    return str(request.headers["accept"])


def _is_sent(parameter: Parameter) -> bool:
    return parameter.location != "header" or header_key(parameter.name) not in OWN_HEADERS


def _parameter(parameter: Parameter) -> Fields:
    if parameter.location not in ("path", "query", "header", "cookie"):
        raise Unwritable(f"its input is the whole query string ({parameter.name!r:.60}).")
    if reason := _obstacle(parameter):
        raise Unwritable(f"the {parameter.location} parameter {parameter.name!r:.60} {reason}")
    return Fields(_parameter_fields(parameter))


def _obstacle(parameter: Parameter) -> str:
    """Return why a parameter cannot be written; empty when it can."""
    content = media_types.is_json(parameter.media_type) and parameter.location in ("path", "query")
    printed = parameter.printed and parameter.style == "pipeDelimited" and not parameter.explode
    name, place = parameter.name, parameter.location
    obstacles = (
        (bool(parameter.inner), "has lists in lists, each with a delimiter of its own."),
        (bool(parameter.media_type) and not content, "has content of its own."),
        (printed, "has '|' between its values, which Elixir's client refuses."),
        (place == "header" and not is_token(name), "has a name that no header has."),
        (place == "cookie" and not is_cookie_name(name), "has a name that no cookie has."),
        (parameter.style not in _STYLES, f"has the style {parameter.style!r:.40}."),
    )
    return next((reason for stands, reason in obstacles if stands), "")


def _parameter_fields(parameter: Parameter) -> Iterator[tuple[str, Any]]:
    yield "location", Code(f":{parameter.location}")
    yield "name", parameter.name
    if parameter.argument != parameter.name:
        yield "argument", parameter.argument
    yield "style", Code(f":{_STYLES[parameter.style]}")
    flags = (
        ("explode", parameter.explode),
        ("reserved", parameter.allow_reserved),
        ("printed", parameter.printed and parameter.style in ("deepObject", "label")),
        ("json", bool(parameter.media_type)),
    )
    yield from ((name, True) for name, is_set in flags if is_set)


def _body(body: RequestBody) -> Fields:
    if not media_types.is_media_type(body.media_type):
        raise Unwritable(f"its body has the media type {body.media_type!r:.60}, which is none.")
    kind = _kind(body)
    data = Fields(kind=Code(f":{kind}"), media_type=_content_type(body, kind))
    if body.argument:
        data["argument"] = body.argument
    else:
        data["properties"] = [(p.name, p.argument) for p in body.properties]
    if body.required:
        data["required"] = True
    if kind == "file" and body.alternatives:
        data["alternatives"] = list(body.alternatives)
    if kind == "file" and media_types.is_text(body.media_type):
        data["bytes"] = next(
            filter(media_types.is_bytes, body.alternatives), "application/octet-stream"
        )
    if kind == "form" and body.encodings:
        data["encodings"] = {e.name: _encoding(e) for e in body.encodings}
    return data


def _kind(body: RequestBody) -> str:
    """Return how a body is written."""
    if body.choices:
        raise Unwritable("the model chooses the media type of its body.")
    if body.file and not media_types.is_text(body.media_type):
        return "file"
    if media_types.is_multipart(body.media_type):
        raise Unwritable("its body is multipart, which the Elixir helper does not write.")
    if media_types.is_wildcard(body.media_type):
        raise Unwritable(f"its body may be anything ({body.media_type!r:.60}).")
    charset = media_types.parameter(body.media_type, "charset").lower() or "utf-8"
    kind = next((kind for holds, kind in _BODIES if holds(body.media_type)), "text")
    if kind == "text" and charset != "utf-8":
        raise Unwritable(f"its body is text in the charset {charset!r:.40}.")
    return "file" if body.file else kind


def _content_type(body: RequestBody, kind: str) -> str:
    """Return the whole header; text says its charset."""
    is_text = kind in ("text", "file") and media_types.is_text(body.media_type)
    is_plain = is_text and media_types.essence(body.media_type).startswith("text/")
    if is_plain and not media_types.parameter(body.media_type, "charset"):
        return f"{body.media_type}; charset=utf-8"
    return body.media_type


def _encoding(encoding: Encoding) -> Fields:
    """Return how a member of a form is written."""
    kind = encoding.content_type
    if (
        encoding.file
        or encoding.inner
        or not (encoding.style or not kind or media_types.is_json(kind))
    ):
        what = "a file" if encoding.file else kind or "lists in lists"
        raise Unwritable(f"the member {encoding.name!r:.60} of its form is {what!r:.60}.")
    if not encoding.style:
        return Fields(json=True) if kind else Fields()
    if encoding.style not in _STYLES:
        raise Unwritable(f"the member {encoding.name!r:.60} has the style {encoding.style!r:.40}.")
    data = Fields(style=Code(f":{_STYLES[encoding.style]}"))
    data |= {"explode": True} if encoding.explode else {}
    return Fields(data | ({"reserved": True} if encoding.allow_reserved else {}))


def _requirement(name: str, schemes: Mapping[str, SecurityScheme]) -> tuple[str, Code, str]:
    """Return a scheme as its name, the place of its credential, and the name in that place."""
    scheme = schemes.get(name)
    match scheme and (scheme.type, scheme.scheme):
        case ("apiKey", _) if scheme and _is_place(scheme):
            return name, Code(f":{scheme.location}"), scheme.name
        case ("http", "basic"):
            return name, Code(":basic"), "authorization"
        case ("http", "bearer") | ("oauth2" | "openIdConnect", _):
            return name, Code(":bearer"), "authorization"
    return name, Code(":unsupported"), ""


def _is_place(scheme: SecurityScheme) -> bool:
    """Whether a request has the place of an API key."""
    match scheme.location:
        case "header":
            framing = OWN_HEADERS - {"authorization", "proxy-authorization"}
            return is_token(scheme.name) and header_key(scheme.name) not in framing
        case "cookie":
            return is_cookie_name(scheme.name)
        case place:
            return place == "query" and bool(scheme.name)
