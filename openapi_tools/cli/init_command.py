"""`openapi-tools init`: write a commented configuration file with a document's own names."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import as_json, say
from openapi_tools.cli import command_options as shared
from openapi_tools.errors import OutputError
from openapi_tools.visible_text import cut, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openapi_tools.tools.toolset import Toolset

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


@click.command("init")
@click.argument("spec", required=False)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("openapi-tools.toml"),
    show_default=True,
    help="Write here; - for standard output.",
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.option("--schema", "wants_schema", is_flag=True, help="Write the JSON Schema of such files.")
@shared.identifying
@shared.reading
def init(spec: str | None, *, output: Path, force: bool, wants_schema: bool) -> None:
    """Write a commented configuration file for SPEC, with its own names and schemes."""
    if wants_schema:
        from openapi_tools.shaping.config_tables import configuration_schema

        say(as_json(configuration_schema()))
        return
    if spec is None or spec == "-":
        raise click.UsageError("give SPEC, a file or a URL, which the configuration then names.")
    toolset = shared.load(shared.source_of(spec))
    address = spec if "://" in spec or str(output) == "-" else _relative(spec, output)
    text = configuration_text(address, toolset, toolset.security_schemes, _server(toolset))
    if str(output) == "-":
        say(text.rstrip())
        return
    try:
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError("it exists; --force overwrites it.", path=str(output)) from None
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(output)) from None
    way = output if output.suffix == ".toml" else f"--config {output}"
    say(f"{output} written: {len(toolset)} tools. Next: openapi-tools list {way}")


def _relative(spec: str, output: Path) -> str:
    """Return a document's path relative to the folder of a file."""
    return os.path.relpath(spec, output.parent)


def _server(toolset: Toolset) -> str:
    """Return the URL of the document's first server; empty without an absolute one."""
    servers = next((tool.operation.servers for tool in toolset), ())
    url = servers[0].url if servers else ""
    return url if url.startswith(("http://", "https://")) else ""


def configuration_text(
    source: str, tools: Iterable[Any], schemes: Mapping[str, Any], server: str
) -> str:
    """Return a commented configuration file.

    Args:
        source: The document, as the file is to name it.
        tools: The document's tools.
        schemes: Its security schemes.
        server: The URL of its first server; empty without one.
    """
    listed = list(tools)
    parts = [
        [f"source = {_text(source)}"],
        _root(listed, server),
        _select(listed),
        _credentials(schemes),
        ["# [settings]", "# timeout = 30.0              # seconds for a whole call"],
        _ANSWERS.splitlines(),
        *map(_tool, listed[:1]),
    ]
    return _HEAD + "".join("\n" + "\n".join(part) + "\n" for part in parts if part)


def _text(value: str) -> str:
    """Return a text as a basic string of TOML (TOML 1.0, section String)."""
    clean = visible(value).encode("utf-8", "replace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _root(tools: list[Any], server: str) -> list[str]:
    reads = sum(tool.method in ("GET", "HEAD", "OPTIONS") for tool in tools)
    return [
        '# prefix = "api_"              # before every name',
        f"# base_url = {_text(server or 'https://localhost')}",
        f"# read_only = true             # {reads} of {len(tools)} tools use GET, HEAD or OPTIONS",
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
    """Return a list on one line, as far as it fits."""
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
    """Return a table that shows what can be said about one tool."""
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
    lines += _argument_lines(properties)
    return [*lines, "# timeout = 60.0", '# answer = { drop = ["*_url"], max_items = 20 }']


def _argument_lines(properties: Mapping[str, Any]) -> Iterator[str]:
    for name, part in list(properties.items())[:1]:
        said = part.get("description", "") if isinstance(part, dict) else ""
        words = _text(_comment(said or name))
        yield f"# arguments.{_key(name)} = {{ name = {_text(name)}, description = {words} }}"


def _comment(text: str) -> str:
    """Return the beginning of a text on one line, for a comment or a value."""
    line = " ".join("".join(c if c.isprintable() else " " for c in visible(text)).split())
    return cut(line, _WIDTH)
