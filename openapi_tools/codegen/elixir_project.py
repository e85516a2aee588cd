"""Write an API as a Mix project for ExAthena, with an Elixir module for each tool.

Text of a document gets into Elixir files by `literal` only: ASCII, laid out as `mix format` does,
without interpolation and calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_tools import http_rules
from openapi_tools.codegen import (
    PARAGRAPHS,
    BracketedParts,
    Code,
    find_piece_end,
    write_on_one_line,
)
from openapi_tools.codegen.package_plan import ModuleNames
from openapi_tools.codegen.render import LiteralWriters, Templates, escape_markdown, template_values
from openapi_tools.errors import CallError, OpenAPIToolsError, SettingsError
from openapi_tools.http_rules import header_key, is_read
from openapi_tools.json_values import pointer_token
from openapi_tools.model import Encoding, Operation, Parameter, RequestBody, SecurityScheme, Skipped
from openapi_tools.requests import server_url
from openapi_tools.requests.builder import RequestPlan, split_template
from openapi_tools.requests.encoding import OWN_HEADERS, is_cookie_name, is_token
from openapi_tools.settings import Settings
from openapi_tools.tools.packages import class_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.codegen.package_data import PackageData, ToolRecord

WIDTH = 98  # columns of a line, as `mix format` has them
DEEPEST = 100  # levels of maps and lists inside one another

_NARROWEST = 30
_OPENING = 2  # columns of what opens a map
_GROUPED = 6  # from as many digits on `mix format` sets underscores
_ATOM = re.compile(r"[a-z][a-z_]*")
_SPECIAL = re.compile(r'["\\]|#(?=\{)|[^ -~]')
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_FOLDER = Path(__file__).parent / "elixir_templates"
_HELPERS = ("arguments", "request", "secrets", "text")  # parts of the HTTP helper
_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,5})(?:\.(?:0|[1-9][0-9]{0,5})){2}")  # as Mix takes it
_INDENT = 4
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


class UnwritableInElixir(OpenAPIToolsError):  # noqa: N818 -- reads as a fact, like the others
    """A value has no Elixir literal."""


class AtomMap(dict[str, Any]):
    """A map whose keys are words of ours, written as atoms: `%{method: :get}`."""


def write_elixir_literal(value: Any, *, indent: int = 0, lead: int | None = None) -> Code:
    """Return a value as Elixir code; arguments as in `openapi_tools.codegen`."""
    before = indent if lead is None else lead
    return Code(_write_value(value, indent, WIDTH - before, 0))


def escape_text(text: str) -> str:
    """Return text in ASCII as it stands between the quotes of an Elixir string."""
    return _SPECIAL.sub(_escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    if character in '"\\#':
        return f"\\{character}"
    if "\ud800" <= character <= "\udfff":
        raise UnwritableInElixir("a text holds half of a surrogate pair, which Elixir cannot hold.")
    return _SHORT.get(character) or f"\\u{{{ord(character):X}}}"


def _write_value(value: Any, indent: int, width: int, depth: int) -> str:
    """Return a value in `room` columns on its first line, on one line where it fits."""
    if depth > DEEPEST:
        raise UnwritableInElixir(f"a schema nests deeper than {DEEPEST} levels.")
    if (line := _write_inline(value, width)) is not None:
        return line
    if (parts := _split_value(value)) is None:
        is_text = isinstance(value, str) and not isinstance(value, Code)
        return _write_heredoc(value, indent) if is_text else _write_scalar(value)
    opening, entries, closing = parts
    members = list(entries)
    lines = [
        _write_entry(key, member, indent + 2, (depth + 1, int(number < len(members))))
        for number, (key, member) in enumerate(members, start=1)
    ]
    inside = "\n" + ",\n".join(lines) + f"\n{' ' * indent}" if lines else ""
    return f"{opening}{inside}{closing}"


def _write_entry(key: str, value: Any, indent: int, place: tuple[int, int]) -> str:
    """Return one member on lines of its own; its place is a depth and the columns after it."""
    depth, trail = place
    start = f"{' ' * indent}{key}"
    width = WIDTH - len(start) - trail
    if key and _write_inline(value, width) is None:
        fits_here = len(start) + _OPENING <= WIDTH
        below = WIDTH - indent - 2 - trail
        is_plain = _split_value(value) is None
        if not fits_here or (is_plain and _write_inline(value, below) is not None):
            value_lines = _write_value(value, indent + 2, below, depth)
            return f"{start.rstrip()}\n{' ' * (indent + 2)}{value_lines}"
    return start + _write_value(value, indent, width, depth)


def _split_value(value: Any) -> BracketedParts | None:
    if isinstance(value, AtomMap):
        return "%{", ((f"{_write_atom(key)}: ", member) for key, member in value.items()), "}"
    if isinstance(value, Mapping):
        return "%{", ((f"{_write_scalar(key)} => ", member) for key, member in value.items()), "}"
    if isinstance(value, list | tuple):
        opening, closing = "[]" if isinstance(value, list) else "{}"
        return opening, (("", item) for item in value), closing
    return None


def _write_atom(key: str) -> str:
    if not _ATOM.fullmatch(key):
        raise TypeError(key)
    return key


def _write_scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if isinstance(value, Code) else f'"{escape_text(value)}"'
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return _write_number(value)
    raise TypeError(type(value).__name__)


_write_inline = partial(write_on_one_line, split_value=_split_value, write_scalar=_write_scalar)


def _write_number(value: float) -> str:
    if not isinstance(value, int) and not isfinite(value):
        raise UnwritableInElixir(f"{value!r} is not a number in Elixir.")
    try:
        mantissa, mark, exponent = repr(value).partition("e")
    except ValueError:  # Python writes no integer of that many digits
        raise UnwritableInElixir("a number has thousands of digits.") from None
    whole, point, rest = mantissa.partition(".")
    if mark and not point:
        point, rest = ".", "0"
    if len(whole.removeprefix("-")) >= _GROUPED:
        whole = f"{int(whole):_}"
    power = f"e{int(exponent)}" if mark else ""
    return f"{whole}{point}{rest}{power}"


def _write_heredoc(text: str, indent: int) -> str:
    r"""Return a text on several lines; each ends in `\`, so that no line break is part of it."""
    before, width = " " * indent, max(WIDTH - indent - 1, _NARROWEST)
    lines = []
    for paragraph in PARAGRAPHS.findall(text):  # starts a line, so words never move other ones
        raw = escape_text(paragraph)
        while raw:
            end = find_piece_end(raw, 0, min(width, len(raw)))
            lines.append(f"{before}{raw[:end]}\\\n")
            raw = raw[end:]
    return f'"""\n{"".join(lines)}{before}"""'


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
            f"the method {operation.method!r:.40} is none that Elixir's client knows."
        )
    if operation.fixed or operation.defaults or operation.answer:
        raise UnwritableInElixir(
            "it has fixed or default values, or shaped answers; use a Python package."
        )
    try:
        path, query = map(list, split_template(operation.path))
    except UnicodeEncodeError:
        raise UnwritableInElixir("the path holds half of a surrogate pair.") from None
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
        (location == "header" and not is_token(name), "has a name that no header has."),
        (location == "cookie" and not is_cookie_name(name), "has a name that no cookie has."),
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
        raise UnwritableInElixir(f"the member {encoding.name!r:.60} of its form is {what!r:.60}.")
    if not style:
        return AtomMap(json=True) if kind else AtomMap()
    if style not in _STYLES:
        raise UnwritableInElixir(f"the member {encoding.name!r:.60} has the style {style!r:.40}.")
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
