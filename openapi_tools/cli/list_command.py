"""`openapi-tools list` and `stats`: all tools of a document, and what their definitions cost."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import (
    as_json,
    busy,
    clean,
    columns,
    head_of,
    pad,
    page,
    remark,
    say,
    skipped_data,
    summary_of,
    tell_skipped,
    width_of,
)
from openapi_tools.cli import command_options as shared
from openapi_tools.errors import counted
from openapi_tools.json_values import follow_references, resolve_reference, select_attributes
from openapi_tools.providers.definitions import DefinitionLimits, define, limits_of
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.providers.memory import Memory
from openapi_tools.search.costs import MOST_TOKENS, cost, counter, exceeds, summed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi_tools.search.costs import Count
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

    _Costs = dict[str, dict[str, tuple[int, int]]]  # bytes and tokens, by tool and way

_ADVICE = (
    "the definitions of these tools take more than {:,} tokens: select some (--tag, --method, "
    "--match), or let a model find them (`openapi-tools serve --mode search`, "
    "`toolset.meta_tools()`, `toolset.code_tools()`)."
)
_HEADS = ("Name", "Method", "Path", "Description", "Bytes", "Tokens")
_FACTS = ("name", "method", "path", "description")
_FLAGS = ("deprecated", "read_only", "idempotent", "destructive", "safety")
_HUES = {"read-only": "green", "additive": "yellow", "destructive": "red"}
_LEAST = 6  # columns of a description beside the longest name
_ENOUGH = 40  # columns of a description before there is room for paths
_MEMBERS = ("description", "example", "examples", "deprecated")
_NOT_SCHEMA = frozenset({"in", "name", "required", "collectionFormat", "allowEmptyValue"})
_MEANINGS = {
    "naive": "each operation converted one to one",
    "full": "definitions with all words and no limit",
    "shown": "definitions as toolset.definitions returns them",
    "tight": 'the same with Settings(definitions="tight")',
}


@shared.command("list")
def list_tools(
    spec: str | None, *, wants_cost: bool, wants_json: bool, verbose: bool, **filters: Any
) -> int:
    """List the tools of SPEC: a line each, cut to the width of a terminal; tabs in a pipe."""
    toolset = shared.load(shared.source_of(spec))
    tools = list(shared.selected(toolset, **filters))
    costs = _shown_costs(tools) if wants_cost else []
    if wants_json:
        say(as_json(_as_data(toolset, tools, costs)))
    elif tools:
        _tell(toolset, tools, costs, verbose=verbose)
    count = len(toolset.skipped)
    is_useless = bool(count) and not len(toolset)
    if verbose or not len(toolset):
        tell_skipped(toolset)
    elif count:
        remark(f"{counted(count, 'operation')} skipped; -v says why.")
    if tools:
        shared.tell_address(toolset, tools[0])
    if exceeds(tools):
        remark(_ADVICE.format(MOST_TOKENS))
    return 2 if is_useless else 0


def _as_data(
    toolset: Toolset, tools: list[OperationTool], costs: list[tuple[int, int]]
) -> dict[str, Any]:
    data = [
        select_attributes(t, _FACTS) | {"tags": list(t.tags)} | select_attributes(t, _FLAGS)
        for t in tools
    ]
    for told, pair in zip(data, costs, strict=False):
        told["cost"] = summed([pair])
    found = {"tools": data, **skipped_data(toolset), "counts": dict(toolset.counts)}
    return found | ({"cost": summed(costs)} if costs else {})


def _tell(
    toolset: Toolset, tools: list[OperationTool], costs: list[tuple[int, int]], *, verbose: bool
) -> None:
    """Write a line for each tool, and how many there are: in a pipe, only if more is asked for."""
    told = [(tool.name, tool.method, tool.path, summary_of(tool)) for tool in tools]
    rows = [[clean(text, lines=False) for text in texts] for texts in told]
    for row, pair in zip(rows, costs, strict=False):
        row.extend(map(str, pair))
    count = counted(len(tools), "tool")
    if len(tools) != len(toolset):
        count = f"{len(tools):,} of {counted(len(toolset), 'tool')}"
    if costs:
        total = summed(costs)
        count += f", {total['bytes']:,} bytes, {counted(total['tokens'], 'token')}"
        count += f" ({counter()[0]})"
    if width := columns():
        hues = [_HUES[tool.safety] for tool in tools]
        page("\n".join([*listing(rows, width, hues), "", f"{count}."]))
        return
    say("\n".join("\t".join(row) for row in rows))  # each `say` flushes
    if verbose or costs:
        remark(f"{count}.")


def listing(rows: Sequence[Sequence[str]], width: int, hues: Sequence[str] = ()) -> Iterator[str]:
    """Yield a heading and a line for each row, none wider than `width`; `hues` are of methods.

    Names are whole before all else. Paths are there if descriptions have enough room beside them.
    """
    heads = _HEADS[: len(rows[0])]
    longest = [max(map(width_of, column)) for column in zip(heads, *rows, strict=True)]
    fixed = longest[1], *longest[4:]
    names = min(longest[0], width * 9 // 20)
    room = width - names - sum(fixed) - 2 * len(fixed) - 4
    paths = min(longest[2], room - min(longest[3], _ENOUGH))
    paths = paths if paths >= min(longest[2], 2 * len(fixed) + 12) else 0
    for number, (name, method, path, first, *costs) in enumerate([heads, *rows]):
        shown = clip(name, width - sum(fixed) - 2 * len(fixed) - 2 - _LEAST)
        over = max(width_of(shown) - names, 0)
        told = [f"{cost:>{most}}" for cost, most in zip(costs, fixed[1:], strict=True)]
        cells = [*told, pad(shown, names), pad(method, fixed[0])]
        if paths:
            cells.append(pad(clip(path, max(paths - over, _LEAST)), max(paths - over, _LEAST)))
        cells.append(clip(first, width - sum(map(width_of, cells)) - 2 * len(cells)))
        if number == 0:
            yield click.style("  ".join(cells).rstrip(), bold=True)
            continue
        place = len(told)
        cells[place] = click.style(cells[place], fg="cyan")
        cells[place + 1] = click.style(cells[place + 1], fg=hues[number - 1] if hues else None)
        yield "  ".join(cells).rstrip()


def _shown_costs(tools: list[OperationTool]) -> list[tuple[int, int]]:
    with busy("Counting"):
        shape = limits_of(tools[0]) if tools else DefinitionLimits()
        return _of_shape(tools, "openai", shape, counter()[1])


@shared.command("stats")
def stats(spec: str | None, *, profile: str, limit: int, wants_json: bool, **options: Any) -> None:
    """Show the bytes and tokens of the definitions of SPEC's tools, the largest first."""
    toolset = shared.load(shared.source_of(spec))
    budget = options.pop("budget")
    tools = list(shared.selected(toolset, **options))
    how, count = counter()
    with busy("Counting"):
        costs = _costs(tools, profile, budget, toolset.document, count)
    totals = {way: summed(by_way[way] for by_way in costs.values()) for way in _MEANINGS}
    if wants_json:
        rows = [
            {"name": name, **{way: summed([pair]) for way, pair in by_way.items()}}
            for name, by_way in costs.items()
        ]
        say(as_json({"profile": profile, "tokens": how, "totals": totals, "tools": rows}))
        return
    for line in _table(dict(islice(costs.items(), limit)), totals, how):
        say(clean(line))
    if len(costs) > limit:
        say(f"… and {counted(len(costs) - limit, 'more tool')}; --limit shows more, --json all.")


def _costs(
    tools: list[OperationTool], profile: str, budget: int | None, document: Any, count: Count
) -> _Costs:
    usual = limits_of(tools[0]) if tools else DefinitionLimits()
    usual = usual if budget is None else usual._replace(max_bytes=budget)
    shapes = {
        "full": DefinitionLimits("full", 0),
        "shown": usual,
        "tight": usual._replace(wording="tight"),
    }
    found = {way: _of_shape(tools, profile, shape, count) for way, shape in shapes.items()}
    rows: _Costs = {}
    for tool, *pairs in zip(tools, *found.values(), strict=True):
        whole = naive(document, tool)
        plain = pairs[0] if whole is None else cost(whole, count)
        rows[tool.name] = dict(zip(_MEANINGS, (plain, *pairs), strict=True))
    return dict(sorted(rows.items(), key=lambda row: row[1]["shown"], reverse=True))


def _of_shape(
    tools: list[OperationTool], profile: str, shape: DefinitionLimits, count: Count
) -> list[tuple[int, int]]:
    """Return bytes and tokens of each tool's definition; nothing for one that has none."""
    memory, found = Memory(), []
    for tool in tools:
        try:
            value = define(tool, profile, memory, loosely=True, limits=shape).value
        except CannotExpress:
            found.append((0, 0))
        else:
            found.append(cost(value, count))
    return found


def _table(costs: _Costs, totals: dict[str, dict[str, int]], how: str) -> Iterator[str]:
    width = max(map(len, costs), default=4)
    yield f"{'Name':{width}}" + "".join(f"{way:>22}" for way in _MEANINGS)
    for name, by_way in costs.items():
        cells = (f"{size:,} B {tokens:,} t" for size, tokens in by_way.values())
        yield f"{name:{width}}" + "".join(f"{cell:>22}" for cell in cells)
    yield ""
    base = totals["naive"]
    for way, total in totals.items():
        shares = [f"{total[key] / base[key]:.0%}" if base[key] else "-" for key in base]
        size, tokens = f"{total['bytes']:>12,} bytes", f"{total['tokens']:>10,} tokens"
        yield f"{way:6}{size} {shares[0]:>4} {tokens} {shares[1]:>4}  {_MEANINGS[way]}"
    count = counted(len(costs), "tool")
    yield f"{count}. Tokens are {how}, in JSON without spaces; bytes are those of json.dumps."


def naive(document: Any, tool: OperationTool) -> Any:
    """Return an operation converted one to one, in the form of OpenAI's API; None if broken.

    Texts are whole, schemas keep all keywords, examples and titles, and what they refer to stands
    in `$defs`. References to other files stay empty.
    """
    try:
        item = follow_references(document, document["paths"][tool.path])
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


def _converted(document: Any, item: Any, operation: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield the name and the schema of each argument, and whether it is required."""
    for node in (*item.get("parameters", ()), *operation.get("parameters", ())):
        parameter = follow_references(document, node)
        kinds: dict[str, Any] = parameter.get("content") or {}
        media: dict[str, Any] = next(iter(kinds.values()), {})
        own = {key: part for key, part in parameter.items() if key not in _NOT_SCHEMA}
        schema = parameter.get("schema", media.get("schema"))
        told = {key: parameter[key] for key in _MEMBERS if key in parameter}
        shown = own if schema is None else {**schema, **told}
        yield str(parameter.get("name")), shown, parameter.get("required") is True
    body = follow_references(document, operation.get("requestBody"))
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
            is_own = reference.startswith("#/")
            definitions[names[reference]] = moved(
                resolve_reference(document, reference) if is_own else {}
            )
        return {**node, "$ref": f"#/$defs/{names[reference]}"}

    whole: dict[str, Any] = moved(root)
    return {**whole, "$defs": definitions} if definitions else whole


def clip(text: str, width: int) -> str:
    """Return a text cut to a width, with `…` at the end where something is missing."""
    return text if width_of(text) <= width else head_of(text, width - 1) + "…" * (width > 0)
