"""`openapi-tools show` prints one tool; `openapi-tools stats` the sizes of all definitions."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from openapi_tools.cli import as_json, busy, clean, command, members, say
from openapi_tools.cli import command_options as shared
from openapi_tools.cli.argument_values import resolved
from openapi_tools.json_values import resolve, text_of
from openapi_tools.options import LEAST_BUDGET
from openapi_tools.providers.definitions import PROFILES, Shape, define, shape_of
from openapi_tools.providers.simple_forms import CannotExpress, Memory
from openapi_tools.search.costs import cost, counter, summed
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.model import Operation
    from openapi_tools.search.costs import Count
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

_DEEPEST = 3
_LISTED = 20
_MEMBERS = ("description", "example", "examples", "deprecated")
_NOT_SCHEMA = frozenset({"in", "name", "required", "collectionFormat", "allowEmptyValue"})
_MOST_STEPS = 16
_WAYS = ("naive", "full", "shown", "tight")
_MEANINGS = {
    "naive": "each operation converted one to one",
    "full": "definitions with all words and no limit",
    "shown": "definitions as toolset.definitions returns them",
    "tight": 'the same with Settings(definitions="tight")',
}


@command("show")
@click.argument("spec")
@click.argument("tool")
@click.option("--json", "wants_json", is_flag=True, help="Write JSON.")
@shared.identifying
@shared.configuring
@shared.reading
def show(spec: str, tool: str, *, wants_json: bool) -> None:
    """Show TOOL of SPEC: description, arguments and their places, servers, security, schema."""
    toolset = shared.load(shared.source_of(spec))
    found = shared.tool_of(toolset, tool)
    if wants_json:
        say(as_json(_as_data(found, toolset)))
    else:
        say(clean("\n".join(_lines(found, toolset))))


def _as_data(tool: OperationTool, toolset: Toolset) -> dict[str, Any]:
    operation = tool.operation
    return {
        **members(tool, ("name", "description", "method", "path")),
        "operation_id": operation.operation_id,
        "tags": list(tool.tags),
        **members(tool, ("deprecated", "read_only", "idempotent", "destructive", "input_schema")),
        "not_checked": list(_unchecked(tool)),
        "arguments": _places(operation),
        "servers": [server.url for server in operation.servers],
        "security": [
            {name: list(scopes) for name, scopes in alternative.items()}
            for alternative in operation.security
        ],
        "shape": _shape(operation),
        "security_schemes": {
            name: _scheme(toolset, name)
            for alternative in operation.security
            for name in alternative
        },
    }


def _lines(tool: OperationTool, toolset: Toolset) -> Iterator[str]:
    yield tool.name
    yield f"{tool.method} {tool.path}"
    yield ""
    yield tool.description
    yield ""
    yield "Arguments" if tool.input_schema.get("properties") else "Arguments: none"
    yield from _arguments(tool)
    yield ""
    yield f"Servers: {', '.join(server.url for server in tool.operation.servers) or 'none'}"
    yield f"Security: {_security(tool, toolset)}"
    for title, facts in _shape(tool.operation).items():
        if facts:
            told = (f"{name} {text_of(value)}" for name, value in facts.items())
            yield f"{title.capitalize()}: {', '.join(told)}"
    yield from (f"Not checked here: {note}" for note in _unchecked(tool))
    yield ""
    yield "Input schema"
    yield as_json(tool.input_schema)


def _shape(operation: Operation) -> dict[str, dict[str, Any]]:
    """Return the facts of a tool's shape that its schema does not have."""
    answer, pages = (asdict(part) if part else {} for part in (operation.answer, operation.paging))
    limits = members(operation, ("timeout", "wait"))
    parts = {"fixed": operation.fixed, "limits": limits, "answers": answer, "pages": pages}
    return {
        name: {key: value for key, value in part.items() if name == "fixed" or value or value == 0}
        for name, part in parts.items()
    }


def _arguments(tool: OperationTool) -> Iterator[str]:
    """Yield one line per argument: name, type, required or not, place in the request."""
    schema = tool.input_schema
    properties: Mapping[str, Any] = schema.get("properties", {})
    ways = {place["argument"]: _in_words(place) for place in _places(tool.operation)}
    width = max(map(len, properties), default=0)
    for name, entry in properties.items():
        need = ", required" if name in schema.get("required", ()) else ""
        kind = " or ".join(_types(entry, schema, 0)) or "any"
        yield f"  {name:{width}}  {kind}{need} -> {ways.get(name, 'nowhere')}"


def _unchecked(tool: OperationTool) -> tuple[str, ...]:
    return tuple(note.removesuffix("; not checked") for note in Checker(tool.input_schema).notes)


def _types(schema: Any, root: dict[str, Any], depth: int) -> list[str]:
    """Return the kinds of value that a schema takes; none where it does not say."""
    schema = resolved(schema, root)
    named = schema.get("type")
    if named:
        kinds = named if isinstance(named, list) else [named]
        return [_array(schema, root, depth) if kind == "array" else str(kind) for kind in kinds]
    if "enum" in schema or "const" in schema:
        return ["enum"]
    if depth >= _DEEPEST:
        return []
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(keyword)
        if not isinstance(branches, list):
            continue
        found = [_types(branch, root, depth + 1) for branch in branches[:_LISTED]]
        if keyword == "allOf":
            return next(filter(None, found), [])
        if found and all(found):
            more = ["…"] if len(branches) > _LISTED else []
            return [*dict.fromkeys(kind for kinds in found for kind in kinds), *more]
    return []


def _array(schema: dict[str, Any], root: dict[str, Any], depth: int) -> str:
    items = _types(schema.get("items", {}), root, depth + 1) if depth < _DEEPEST else []
    if len(items) > 1:
        return f"array of ({' or '.join(items)})"
    return f"array of {items[0]}" if items else "array"


def _security(tool: OperationTool, toolset: Toolset) -> str:
    """Return the security requirements as words: alternatives, and what each needs together."""
    alternatives = [
        " and ".join(f"{name} ({_scheme(toolset, name)})" for name in alternative) or "none"
        for alternative in tool.operation.security
    ]
    return ", or ".join(alternatives) or "none"


def _scheme(toolset: Toolset, name: str) -> str:
    scheme = toolset.security_schemes.get(name)
    if scheme is None:
        return "not defined in the document"
    detail = f"{scheme.location} {scheme.name}" if scheme.type == "apiKey" else scheme.scheme
    return f"{scheme.type} {detail}".strip()


def _places(operation: Operation) -> list[dict[str, Any]]:
    """Return the place of each argument in the request; the name `""` is the whole body."""
    found = [
        {"argument": parameter.argument, "in": parameter.location, "name": parameter.name}
        | {"style": parameter.style, "explode": bool(parameter.explode)}
        | members(parameter, ("allow_reserved", "media_type"))
        for parameter in operation.parameters
    ]
    body = operation.body
    if body is None:
        return found
    common = {"in": "body", "media_type": body.media_type}
    if body.argument:
        found.append({"argument": body.argument, "name": "", **common})
    found += ({"argument": m.argument, "name": m.name, **common} for m in body.properties)
    for encoding in body.encodings:
        found += (
            {"argument": h.argument, "name": encoding.name, "header": h.name, **common}
            for h in encoding.headers
        )
    return found


def _in_words(place: dict[str, Any]) -> str:
    if place["in"] != "body":
        how = place["media_type"] or place["style"] + (", explode" if place["explode"] else "")
        return f"{place['in']} {place['name']} ({how})"
    whole = f"member {place['name']} of the body" if place["name"] else "the body"
    part = f", header {place['header']} of its part" if place.get("header") else ""
    return f"{whole}{part} ({place['media_type']})"


class _Costs(NamedTuple):
    """Bytes and tokens of one tool's definition, by the way that it is made."""

    name: str
    by_way: dict[str, tuple[int, int]]


@command("stats")
@click.argument("spec", required=False)
@click.option(
    *("--profile", "profile"),
    type=click.Choice(PROFILES),
    default="openai",
    show_default=True,
    help="The API that the definitions are for.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=LEAST_BUDGET),
    metavar="BYTES",
    help="Largest definition; by default that of the settings, 16384.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Show at most this many tools.",
)
@shared.selecting
@click.option("--json", "wants_json", is_flag=True, help="Write JSON: every tool.")
@shared.identifying
@shared.configuring
@shared.reading
def stats(
    spec: str | None,
    *,
    profile: str,
    budget: int | None,
    limit: int,
    tags: tuple[str, ...],
    methods: tuple[str, ...],
    patterns: tuple[str, ...],
    wants_json: bool,
) -> None:
    """Show the bytes and tokens of the definitions of SPEC's tools, the largest first."""
    toolset = shared.load(shared.source_of(spec))
    tools = list(shared.selected(toolset, tags, methods, patterns))
    how, count = counter()
    with busy("Counting"):
        costs = _costs(tools, profile, budget, toolset.document, count)
    totals = {way: summed(one.by_way[way] for one in costs) for way in _WAYS}
    if wants_json:
        ways = ({way: summed([pair]) for way, pair in one.by_way.items()} for one in costs)
        rows = [{"name": one.name, **by_way} for one, by_way in zip(costs, ways, strict=True)]
        say(as_json({"profile": profile, "tokens": how, "totals": totals, "tools": rows}))
        return
    for line in _table(costs[:limit], totals, how):
        say(clean(line))
    if len(costs) > limit:
        say(f"… and {len(costs) - limit} more tools; --limit shows more, --json all.")


def _costs(
    tools: list[OperationTool], profile: str, budget: int | None, document: Any, count: Count
) -> list[_Costs]:
    """Return the costs of each tool, the largest definition first."""
    usual = shape_of(tools[0]) if tools else Shape()
    usual = usual if budget is None else usual._replace(most=budget)
    shapes = {"full": Shape("full", 0), "shown": usual, "tight": usual._replace(words="tight")}
    found = {way: _of_shape(tools, profile, shape, count) for way, shape in shapes.items()}
    rows = []
    for index, tool in enumerate(tools):
        by_way = {way: listed[index] for way, listed in found.items()}
        whole = naive(document, tool)
        by_way["naive"] = by_way["full"] if whole is None else cost(whole, count)
        rows.append(_Costs(tool.name, {way: by_way[way] for way in _WAYS}))
    return sorted(rows, key=lambda row: row.by_way["shown"], reverse=True)


def _of_shape(
    tools: list[OperationTool], profile: str, shape: Shape, count: Count
) -> list[tuple[int, int]]:
    """Return bytes and tokens of each tool's definition; nothing for one that has none."""
    memory, found = Memory(), []
    for tool in tools:
        try:
            value = define(tool, profile, memory, loosely=True, shape=shape).value
        except CannotExpress:
            found.append((0, 0))
        else:
            found.append(cost(value, count))
    return found


def _table(costs: list[_Costs], totals: dict[str, dict[str, int]], how: str) -> Iterator[str]:
    """Yield the largest tools and the totals, each with bytes and tokens."""
    width = max([len(one.name) for one in costs], default=4)
    yield f"{'Name':{width}}" + "".join(f"{way:>22}" for way in _WAYS)
    for one in costs:
        cells = (f"{size:,} B {tokens:,} t" for size, tokens in one.by_way.values())
        yield f"{one.name:{width}}" + "".join(f"{cell:>22}" for cell in cells)
    yield ""
    base = totals["naive"]
    for way, total in totals.items():
        shares = [f"{total[key] / base[key]:.0%}" if base[key] else "-" for key in base]
        size, tokens = f"{total['bytes']:>12,} bytes", f"{total['tokens']:>10,} tokens"
        yield f"{way:6}{size} {shares[0]:>4} {tokens} {shares[1]:>4}  {_MEANINGS[way]}"
    yield f"Tokens are {how}, in JSON without blanks; bytes are those of json.dumps."


def naive(document: Any, tool: OperationTool) -> Any:
    """Return an operation converted one to one, in the form of OpenAI's API; None if broken.

    Texts are whole, schemas keep all keywords, examples and titles, and what they refer to stands
    in `$defs`. References to other files stay empty.
    """
    try:
        item = _followed(document, document["paths"][tool.path])
        operation = item[tool.method.lower()]
        arguments = list(_converted(document, item, operation))
        members = {key: schema for key, schema, _ in arguments}
        root: dict[str, Any] = {"type": "object", "properties": members}
        if required := [key for key, _, is_required in arguments if is_required]:
            root["required"] = required
        said = [text for key in ("summary", "description") if (text := operation.get(key))]
        function = {
            "name": tool.name,
            "description": "\n\n".join(said) or f"{tool.method} {tool.path}",
            "parameters": _with_definitions(document, root),
        }
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None
    return {"type": "function", "function": function}


def _followed(document: Any, node: Any) -> dict[str, Any]:
    """Return a node, or the one that its reference leads to; empty where that is elsewhere."""
    for _ in range(_MOST_STEPS):
        if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
            break
        node = resolve(document, node["$ref"].removeprefix("#")) if _is_own(node["$ref"]) else {}
    return node if isinstance(node, dict) else {}


def _is_own(reference: str) -> bool:
    return reference.startswith("#/")


def _converted(document: Any, item: Any, operation: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield the name and the schema of each argument, and whether it is required."""
    for node in (*item.get("parameters", ()), *operation.get("parameters", ())):
        parameter = _followed(document, node)
        kinds: dict[str, Any] = parameter.get("content") or {}
        media: dict[str, Any] = next(iter(kinds.values()), {})
        own = {key: part for key, part in parameter.items() if key not in _NOT_SCHEMA}
        schema = parameter.get("schema", media.get("schema"))
        told = {key: parameter[key] for key in _MEMBERS if key in parameter}
        shown = own if schema is None else {**schema, **told}
        yield str(parameter.get("name")), shown, parameter.get("required") is True
    body = _followed(document, operation.get("requestBody"))
    contents: dict[str, Any] = body.get("content") or {}
    for content in list(contents.values())[:1]:
        told = {key: body[key] for key in _MEMBERS if key in body}
        yield "body", {**(content.get("schema") or {}), **told}, body.get("required") is True


def _with_definitions(document: Any, root: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with all that it refers to in `$defs`."""
    names: dict[str, str] = {}
    definitions: dict[str, Any] = {}

    def moved(node: Any) -> Any:
        if isinstance(node, list):
            return [moved(part) for part in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return {key: moved(part) for key, part in node.items()}
        if reference not in names:
            last = reference.rpartition("/")[2]
            names[reference] = last if last not in definitions else f"{last}_{len(names)}"
            definitions[names[reference]] = {}
            found = resolve(document, reference.removeprefix("#")) if _is_own(reference) else {}
            definitions[names[reference]] = moved(found)
        return {**node, "$ref": f"#/$defs/{names[reference]}"}

    whole: dict[str, Any] = moved(root)
    return {**whole, "$defs": definitions} if definitions else whole
