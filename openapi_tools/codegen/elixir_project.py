"""Write an API as a Mix project for ExAthena, with an Elixir module for each tool.

A document's text gets into Elixir files by `write_elixir_literal`
only.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen import Code, shorten_sentence
from openapi_tools.codegen.elixir_literals import (
    WIDTH,
    AtomMap,
    UnwritableInElixir,
    write_elixir_literal,
)
from openapi_tools.codegen.package_plan import ModuleNames
from openapi_tools.codegen.render import LiteralWriters, Templates, escape_markdown, template_values
from openapi_tools.common import http_rules
from openapi_tools.common.http_rules import header_key, is_read
from openapi_tools.common.json_values import pointer_token
from openapi_tools.errors import CallError, SettingsError
from openapi_tools.model import Encoding, Operation, Parameter, RequestBody, SecurityScheme, Skipped
from openapi_tools.requests import server_url
from openapi_tools.requests.builder import RequestPlan
from openapi_tools.requests.encoding import OWN_HEADERS, is_cookie_name, is_token
from openapi_tools.requests.path_templates import split_template
from openapi_tools.settings import Settings
from openapi_tools.toolsets.packages import class_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openapi_tools.codegen.package_data import PackageData, ToolRecord

_FOLDER = Path(__file__).parent / "elixir_templates"
_HELPERS = ("arguments", "request", "secrets", "text")  # parts of the HTTP helper
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,5})(?:\.(?:0|[1-9][0-9]{0,5})){2}")  # as Mix takes it
_INDENT = 4
_MODULEDOC = WIDTH - len('  @moduledoc ""')
_METHODS = {"GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "POST", "PUT", "PATCH", "DELETE"}
_STYLES = {
    **{style: style for style in ("simple", "label", "matrix", "form", "cookie")},
    "spaceDelimited": "space",
    "pipeDelimited": "pipe",
    "tabDelimited": "tab",
    "deepObject": "deep",
}
_FRAMING = OWN_HEADERS - {"authorization", "proxy-authorization"}
_IS_USABLE_NAME: dict[str, Callable[[str], bool]] = {
    "query": bool,
    "cookie": is_cookie_name,
    "header": lambda name: is_token(name) and header_key(name) not in _FRAMING,
}
_BODIES = (
    (http_rules.is_json, "json"),
    (http_rules.is_form, "form"),
    (http_rules.is_json_lines, "lines"),
    (http_rules.is_json_sequence, "sequence"),
)


def build_project(data: PackageData) -> tuple[PackageData, dict[str, str]]:
    """Return the data that a project can hold, and its files; the rest goes to `skipped`."""
    servers = Counter(repr(record.operation.servers[:1]) for record in data.records)
    home = max(servers, key=lambda server: servers[server], default="")
    names, tools = ModuleNames(), dict[str, dict[str, Any]]()
    left_out: list[Skipped] = []
    for record in data.records:
        operation = record.operation
        try:
            tools[record.name] = _tool_values(record, data.schemes, home)
        except UnwritableInElixir as error:
            place = f"/paths{pointer_token(operation.path)}/{operation.method.lower()}"
            skipped = Skipped(place, str(error), method=operation.method, path=operation.path)
            left_out.append(skipped)
        else:
            tools[record.name]["module"], tools[record.name]["stem"] = names.claim(record.name)
    if left_out and not tools:
        reason = left_out[0].reason
        raise SettingsError(f"target: no tool can be written for ExAthena; the first: {reason}")
    records = tuple(record for record in data.records if record.name in tools)
    written_data = replace(data, records=records, skipped=(*data.skipped, *left_out))
    return written_data, _render_files(written_data, list(tools.values()))


def _tool_values(
    record: ToolRecord, schemes: Mapping[str, SecurityScheme], home: str
) -> dict[str, Any]:
    operation = record.operation
    if repr(operation.servers[:1]) != home:
        url = operation.servers[0].url if operation.servers else ""
        reason = f"it is served at {url!r:.100}, most others elsewhere, and `base_url` is one;"
        raise UnwritableInElixir(f"{reason} select these operations into a project of their own.")
    operation_map = operation_data(record.name, operation, schemes)
    description = record.description.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return {
        "name": record.name,
        "summary": write_elixir_literal(shorten_sentence(record.summary, _MODULEDOC)),
        "description": write_elixir_literal(description, indent=_INDENT),
        "schema": write_elixir_literal(record.input_schema, indent=_INDENT),
        "operation": write_elixir_literal(operation_map, indent=2, lead=len("  @operation ")),
        "reads": write_elixir_literal(is_read(operation)),
    }


def _render_files(data: PackageData, tools: list[dict[str, Any]]) -> dict[str, str]:
    common, server = template_values(data), None
    with suppress(CallError, IndexError):
        server = server_url(data.records[0].operation, Settings())
    app, root = common["package"], Code(class_name(common["package"]))
    modules = [Code(f"{root}.Tools.{tool['module']}") for tool in tools]
    rows = zip(common["records"], tools, strict=True)
    values = common | {
        "app": app,
        "root": root,
        "server": write_elixir_literal(server),
        "modules": write_elixir_literal(modules, indent=_INDENT),
        "project_version": data.version if _VERSION.fullmatch(data.version) else "0.1.0",
        "rows": [row | {"module": tool["module"]} for row, tool in rows],
    }
    writers: LiteralWriters = {
        "ex": write_elixir_literal,
        "exs": write_elixir_literal,
        "md": escape_markdown,
    }
    templates = Templates(_FOLDER, writers=writers)
    names = {"mix.exs": "mix.exs", "README.md": "README.md", f"lib/{app}.ex": "tools.ex"}
    names |= {f"lib/{app}/http.ex": "http.ex"}
    names |= {f"lib/{app}/http/{part}.ex": f"{part}.ex" for part in _HELPERS}
    return {path: templates.render(name, values) for path, name in names.items()} | {
        f"lib/{app}/tools/{tool['stem']}.ex": templates.render("tool.ex", values | {"tool": tool})
        for tool in tools
    }


def operation_data(
    name: str, operation: Operation, schemes: Mapping[str, SecurityScheme]
) -> AtomMap:
    """Return a tool's operation as data for the helper, or raise `Unwritable`."""
    if operation.method not in _METHODS:
        raise UnwritableInElixir(
            f"the method {operation.method!r:.40} is not supported by Elixir's client."
        )
    if operation.fixed or operation.defaults or operation.answer:
        raise UnwritableInElixir(
            "it has fixed or default values, or shaped responses; use a Python package."
        )
    try:
        path, query = map(list, split_template(operation.path))
    except UnicodeEncodeError:
        raise UnwritableInElixir("the path contains a lone surrogate.") from None
    if any("|" in piece for piece in query):
        raise UnwritableInElixir("the path has a '|' in its query, which Elixir's client refuses.")
    data = AtomMap(name=name, method=Code(f":{operation.method.lower()}"), path=path)
    if query != [""]:
        data["query"] = query
    # The runtime decides which Accept header is sent.
    bare = Operation("GET", "/", accept=operation.accept)
    request = RequestPlan(bare, Settings(base_url="http://localhost")).build({})
    data["accept"] = str(request.headers["accept"])
    data["parameters"] = [
        AtomMap(_parameter_fields(parameter))
        for parameter in operation.parameters
        if parameter.location != "header" or header_key(parameter.name) not in OWN_HEADERS
    ]
    if operation.body is not None:
        data["body"] = _body_data(operation.body)
    data["security"] = [
        [_requirement_data(scheme, schemes) for scheme in alternative]
        # The first that can be met counts; an empty one always can, so it comes last.
        for alternative in sorted(operation.security, key=lambda needed: not needed)
    ]
    return data


def _parameter_fields(parameter: Parameter) -> Iterator[tuple[str, Any]]:
    name, location, style = parameter.name, parameter.location, parameter.style
    if location not in ("path", "query", "header", "cookie"):
        raise UnwritableInElixir(f"its input is the whole query string ({name!r:.60}).")
    content = http_rules.is_json(parameter.media_type) and location in ("path", "query")
    printed = parameter.printed and style == "pipeDelimited" and not parameter.explode
    obstacles = (
        (parameter.slashes, "is a path of several segments."),
        (bool(parameter.inner), "has lists in lists, each with a delimiter of its own."),
        (bool(parameter.media_type) and not content, "has content of its own."),
        (printed, "has '|' between its values, which Elixir's client refuses."),
        (location == "header" and not is_token(name), "its name is not valid for a header."),
        (location == "cookie" and not is_cookie_name(name), "its name is not valid for a cookie."),
        (style not in _STYLES, f"has the style {style!r:.40}."),
    )
    for stands, reason in obstacles:
        if stands:
            raise UnwritableInElixir(f"the {location} parameter {name!r:.60} {reason}")
    yield "location", Code(f":{location}")
    yield "name", name
    if parameter.argument != name:
        yield "argument", parameter.argument
    yield "style", Code(f":{_STYLES[style]}")
    flags = (
        ("explode", parameter.explode),
        ("reserved", parameter.allow_reserved),
        ("printed", parameter.printed and style in ("deepObject", "label")),
        ("json", bool(parameter.media_type)),
    )
    yield from ((flag, True) for flag, is_set in flags if is_set)


def _body_data(body: RequestBody) -> AtomMap:
    if not http_rules.is_media_type(body.media_type):
        raise UnwritableInElixir(
            f"its body has the media type {body.media_type!r:.60}, which is none."
        )
    kind = _body_kind(body)
    data = AtomMap(kind=Code(f":{kind}"), media_type=_content_type(body, kind))
    if body.argument:
        data["argument"] = body.argument
    else:
        data["properties"] = [(p.name, p.argument) for p in body.properties]
    if body.required:
        data["required"] = True
    if kind == "file" and body.alternatives:
        data["alternatives"] = list(body.alternatives)
    if kind == "file" and http_rules.is_text(body.media_type):
        byte_types = filter(http_rules.is_bytes, body.alternatives)
        data["bytes"] = next(byte_types, "application/octet-stream")
    if kind == "form" and body.encodings:
        data["encodings"] = {encoding.name: _encoding_data(encoding) for encoding in body.encodings}
    return data


def _body_kind(body: RequestBody) -> str:
    if body.choices:
        raise UnwritableInElixir("the model chooses the media type of its body.")
    if body.file and not http_rules.is_text(body.media_type):
        return "file"
    if http_rules.is_multipart(body.media_type):
        raise UnwritableInElixir("its body is multipart, which the Elixir helper does not write.")
    if http_rules.is_wildcard(body.media_type):
        raise UnwritableInElixir(f"its body may be anything ({body.media_type!r:.60}).")
    charset = http_rules.parameter(body.media_type, "charset").lower() or "utf-8"
    kind = next((kind for is_kind, kind in _BODIES if is_kind(body.media_type)), "text")
    if kind == "text" and charset != "utf-8":
        raise UnwritableInElixir(f"its body is text in the charset {charset!r:.40}.")
    return "file" if body.file else kind


def _content_type(body: RequestBody, kind: str) -> str:
    is_text = kind in ("text", "file") and http_rules.is_text(body.media_type)
    is_plain = is_text and http_rules.essence(body.media_type).startswith("text/")
    if is_plain and not http_rules.parameter(body.media_type, "charset"):
        return f"{body.media_type}; charset=utf-8"
    return body.media_type


def _encoding_data(encoding: Encoding) -> AtomMap:
    kind, style = encoding.content_type, encoding.style
    if encoding.file or encoding.inner or not (style or not kind or http_rules.is_json(kind)):
        what = "a file" if encoding.file else kind or "lists in lists"
        raise UnwritableInElixir(f"the property {encoding.name!r:.60} of its form is {what!r:.60}.")
    if not style:
        return AtomMap(json=True) if kind else AtomMap()
    if style not in _STYLES:
        raise UnwritableInElixir(f"the property {encoding.name!r:.60} has the style {style!r:.40}.")
    flags = {"explode": encoding.explode, "reserved": encoding.allow_reserved}
    data = AtomMap(style=Code(f":{_STYLES[style]}"))
    return AtomMap(data | {flag: True for flag, is_set in flags.items() if is_set})


def _requirement_data(name: str, schemes: Mapping[str, SecurityScheme]) -> tuple[str, Code, str]:
    scheme = schemes.get(name)
    is_usable = _IS_USABLE_NAME.get(scheme.location) if scheme else None
    match scheme and (scheme.type, scheme.scheme):
        case ("apiKey", _) if scheme and is_usable and is_usable(scheme.name):
            return name, Code(f":{scheme.location}"), scheme.name
        case ("http", "basic"):
            return name, Code(":basic"), "authorization"
        case ("http", "bearer") | ("oauth2" | "openIdConnect", _):
            return name, Code(":bearer"), "authorization"
    return name, Code(":unsupported"), ""
