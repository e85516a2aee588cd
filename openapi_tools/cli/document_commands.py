"""`openapi-tools init`, `lock` and `cache`, `search` and `stubs`: files, and tools to find."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import as_json, clean, remark, say, write_new
from openapi_tools.cli import command_options as shared
from openapi_tools.errors import counted
from openapi_tools.json_values import select_attributes
from openapi_tools.loading import cache as cached
from openapi_tools.options import why_skipped
from openapi_tools.search.index import terms
from openapi_tools.search.stubs import stub
from openapi_tools.search.stubs import stubs as stubs_of
from openapi_tools.visible_text import cut, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi_tools.model import Skipped
    from openapi_tools.search.finder import Hit
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

_MEGA = 1_000_000


@shared.command("cache")
def cache(*, wants_clear: bool, wants_json: bool) -> None:
    """List the documents of the cache: size, age, tools, source."""
    data: dict[str, Any] = {"folder": str(cached.folder())}
    if wants_clear:
        count, size = cached.clear()
        data |= {"removed": count, "bytes": size}
        lines = [f"{counted(count, 'document')} removed, {_size(size)} free."]
    else:
        data["documents"] = documents = list(_documents())
        lines = [_line(**document) for document in documents]
    for line in [as_json(data)] if wants_json else lines:
        say(line)
    if not wants_clear and not wants_json:
        remark(f"{len(lines)} in {data['folder']}; --clear removes them.")


def _documents() -> Iterator[dict[str, Any]]:
    for entry, label in cached.labelled_entries():
        if label is None:
            yield {"source": None, "size": entry.size, "age": None, "tools": None}
        else:
            seconds = max(int(time.time()) - label.kept, 0)
            source = label.source or "(text)"
            yield {"source": source, "size": entry.size, "age": seconds, "tools": label.tools}


def _line(source: str | None, size: int, age: int, tools: int) -> str:
    """Return a document as a line; a damaged one, or one of another version, has no source."""
    if source is None:
        return f"{_size(size)}\t-\t-\t(of no use: another version, damaged or unfinished)"
    return "\t".join(
        (_size(size), cached.describe_age(age), counted(tools, "tool"), clean(source, lines=False))
    )


def _size(count: int) -> str:
    return f"{count / 1000:.1f} kB" if count < _MEGA else f"{count / _MEGA:.1f} MB"


@shared.command("lock")
def lock(spec: str | None, tools: tuple[str, ...], *, path: Path | None, **wishes: bool) -> int:
    """Write what the tools of SPEC are into a lock, or say what has changed since.

    Exit 1 for a change that is not accepted. FILE may be the manifest of a generated package, which
    is compared and not written.
    """
    tool_lock = import_module("openapi_tools.codegen.tool_lock")  # slow to import, as the next one
    toolset, own = _unlocked(spec)
    now = tool_lock.make_lock(toolset, path or own or Path(tool_lock.LOCK_NAME))
    if tools and not wishes["accept"]:
        raise click.UsageError("name tools together with --accept.")
    if not now.path.exists():
        tool_lock.write_lock(now)
        remark(f"{now.path} written: {counted(len(now.entries), 'tool')}.")
        return 0
    known = tool_lock.read_lock(now.path)
    found = tool_lock.find_lock_changes(known, now)
    if wishes["wants_json"]:
        say(as_json({"changes": [change._asdict() for change in found]}))
    else:
        for change in found:
            say(clean(f"{change.tool} {change.verdict}", lines=False))
            for line in change.lines:
                say(f"    {clean(line, lines=False)}")
    if wishes["accept"] and known.is_package:
        raise click.UsageError("a package is written by `openapi-tools generate`.")
    if wishes["accept"]:
        tool_lock.write_lock(tool_lock.accept_changes(known, now, tools))
        remark(f"{now.path} written.")
        return 0
    breaking = sum(change.breaking for change in found)
    remark(f"{len(found)} of {len(now.entries)} tools changed, {breaking} breaking.")
    return int(bool(found))


def _unlocked(spec: str | None) -> tuple[Toolset, Path | None]:
    source, config, view = shared.resolve_source(
        shared.source_of(spec), prefers=lambda file: bool(file.data.lock)
    )
    if isinstance(source, Path) and source.suffix == ".toml":
        source, config = None, source
    if config is None:
        return shared.load(source), None
    file: Any = config
    if view is None:
        file = import_module("openapi_tools.shaping.configuration").read_configuration(config)
    path = file.folder / file.data.lock if file.data.lock else None
    plain = replace(file, data=file.data.model_copy(update={"lock": ""}))
    return shared.load(source, config=plain), path


_LISTED = 12
_WIDTH = 90
_HEAD = """\
# How the tools of an API are chosen and shaped. Take the # away where you want a line to count.
# See them with `openapi-tools list FILE`, and what they cost with `openapi-tools stats FILE`.
# `openapi-tools init --schema` writes a JSON Schema for editors; docs/shaping.md has every key.
"""
_ANSWERS = """\
# [answers]                     # smaller answers, for every tool
# drop = ["*_url", "_links"]    # members left out at any depth
# nulls = false                 # members that are null are left out
# max_items = 50                # items of each list
"""


@shared.command("init")
def init(spec: str | None, *, output: Path, force: bool, wants_schema: bool) -> None:
    """Write a commented configuration file for SPEC, with its own names and schemes."""
    if wants_schema:
        from openapi_tools.serving.serving_tables import configuration_schema

        say(as_json(configuration_schema()))
        return
    if spec is None or spec == "-":
        raise click.UsageError("give SPEC, a file or a URL, which the configuration then names.")
    toolset = shared.load(shared.source_of(spec))
    address = spec if "://" in spec or str(output) == "-" else os.path.relpath(spec, output.parent)
    text = _configuration(address, toolset)
    if str(output) == "-":
        say(text.rstrip())
        return
    write_new(output, text, force=force)
    way = output if output.suffix == ".toml" else f"--config {output}"
    say(f"{output} written: {counted(len(toolset), 'tool')}. Next: openapi-tools list {way}")


def _configuration(source: str, toolset: Toolset) -> str:
    """Return a commented configuration file that names the source."""
    tools = list(toolset)
    parts = [
        [f"source = {_text(source)}"],
        _root(tools),
        _select(tools),
        _credentials(toolset.security_schemes),
        ["# [settings]", "# timeout = 30.0              # seconds for a whole call"],
        _ANSWERS.splitlines(),
        *map(_tool, tools[:1]),
    ]
    return _HEAD + "".join("\n" + "\n".join(part) + "\n" for part in parts if part)


def _text(value: str) -> str:
    """Return a text as a basic string of TOML (TOML 1.0, section String)."""
    clean = visible(value).encode("utf-8", "replace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _root(tools: list[Any]) -> list[str]:
    reads = sum(tool.method in ("GET", "HEAD", "OPTIONS") for tool in tools)
    servers = tools[0].operation.servers if tools else ()
    known = servers[0].url if servers else ""
    url = known if known.startswith(("http://", "https://")) else "https://localhost"
    return [
        '# prefix = "api_"              # before every name',
        f"# base_url = {_text(url)}",
        f"# read_only = true             # with GET, HEAD or OPTIONS: {reads} of {len(tools)}",
    ]


def _select(tools: list[Any]) -> list[str]:
    tags = Counter(tag for tool in tools for tag in tool.tags)
    names = [tool.name for tool in tools]
    lines = ["# [select]                      # all operations, if nothing is selected"]
    if tags:
        lines.append(f"# tags = {_list(tags)}")
    lines.append(f"# names = {_list(names[:3])}")
    return [*lines, f"# exclude = {{ names = {_list(names[-1:])} }}"]


def _list(names: Iterable[str]) -> str:
    found: list[str] = []
    for name in list(names)[:_LISTED]:
        if found and sum(map(len, found)) + len(name) > _WIDTH:
            break
        found.append(_text(name))
    return f"[{', '.join(found)}]"


def _credentials(schemes: Mapping[str, Any]) -> list[str]:
    if not schemes:
        return []
    lines = ["# [credentials]                 # from the environment; never written out here"]
    for name, scheme in list(schemes.items())[:_LISTED]:
        variable = re.sub(r"[^A-Z0-9]+", "_", f"API_{name}".upper()).strip("_")
        kind = " ".join(filter(None, (scheme.type, scheme.scheme or scheme.location)))
        is_basic = scheme.scheme == "basic"
        value = f'["${{{variable}_USER}}", "${{{variable}}}"]' if is_basic else f'"${{{variable}}}"'
        lines.append(f"# {_key(name)} = {value}    # {_comment(kind)}")
    return lines


def _tool(tool: Any) -> list[str]:
    properties = tool.input_schema.get("properties", {})
    required = tool.input_schema.get("required", ())
    optional = [name for name in properties if name not in required]
    lines = [
        f"# [tools.{_key(tool.name)}]",
        f"# name = {_text(tool.name[:20].rstrip('_'))}",
        f"# description = {_text(_comment(tool.description))}",
    ]
    if optional:
        lines.append(f"# hide = {_list(optional[:1])}")
    for name, part in list(properties.items())[:1]:
        said = part.get("description", "") if isinstance(part, dict) else ""
        words = f"{{ name = {_text(name)}, description = {_text(_comment(said or name))} }}"
        lines.append(f"# arguments.{_key(name)} = {words}")
    return [*lines, "# timeout = 60.0", '# answer = { drop = ["*_url"], max_items = 20 }']


def _comment(text: str) -> str:
    """Return the beginning of a text on one line, for a comment or a value."""
    line = " ".join("".join(c if c.isprintable() else " " for c in visible(text)).split())
    return cut(line, _WIDTH)


@shared.command("search")
def search(
    spec: str, words: tuple[str, ...], *, limit: int, wants_json: bool, **filters: Any
) -> None:
    """Find the tools of SPEC for a task in WORDS, the best first, as typed signatures.

    Lines below a tool name the tools that yield its required arguments.
    """
    query, toolset = " ".join(words), shared.load(shared.source_of(spec))
    found = shared.selected(toolset, **filters)
    hits = found.search(query, limit)
    if wants_json:
        data = [_stub_data(hit.tool, hit.needs) | {"score": hit.score} for hit in hits]
        say(as_json({"tools": data}))
    elif hits:
        say(clean(stubs_of(hits)))
    elif len(found):
        remark(f"no tool fits these words, of {len(found)}; try others.")
    if why := _skipped(query, hits, toolset.skipped):
        remark(f"note: {why}")


def _skipped(query: str, hits: Sequence[Hit], skipped: Sequence[Skipped]) -> str:
    """Return why an operation that fits better than each hit is not a tool; empty for none."""
    wanted = frozenset(terms(query))

    def fit(item: OperationTool | Skipped, words: str = "") -> tuple[int, float]:
        own = frozenset(terms(f"{item.name} {item.path}"))
        return len(wanted & own.union(terms(words))), len(wanted & own) / (len(own) or 1)

    best = max(skipped, key=fit, default=None)
    others = (fit(hit.tool, hit.tool.description) for hit in hits)
    if best is None or fit(best) <= max(others, default=(0, 1.0)):
        return ""
    return why_skipped(best.name or f"GET {best.path}", [best])


@shared.command("stubs")
def stubs(spec: str, names: tuple[str, ...], *, wants_json: bool) -> None:
    """Show tools of SPEC as typed signatures, with the tools that yield what each requires."""
    if not names:
        raise click.UsageError("name at least one tool; `openapi-tools list` shows which exist.")
    toolset = shared.load(shared.source_of(spec))
    tools = {name: shared.tool_of(toolset, name) for name in names}
    data = [_stub_data(tool, toolset.producers(name)) for name, tool in tools.items()]
    say(as_json({"tools": data}) if wants_json else clean("\n".join(one["stub"] for one in data)))


def _stub_data(tool: OperationTool, needs: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return a tool as JSON data, with its stub and the producers of its arguments."""
    listed = {argument: list(names) for argument, names in needs.items()}
    return {
        **select_attributes(tool, ("name", "method", "path")),
        "needs": listed,
        "stub": stub(tool, needs),
    }
