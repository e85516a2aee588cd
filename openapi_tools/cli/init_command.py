"""`openapi-tools init`: a configuration file with the names of a document in comments."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.application_names import is_application
from openapi_tools.cli.output import (
    format_json,
    print_json,
    print_text,
    print_wrapped,
    write_new_file,
)
from openapi_tools.cli.tool_loading import load_spec
from openapi_tools.common.visible_text import strip_hidden, truncate_text
from openapi_tools.errors import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from openapi_tools.toolsets.toolset import Toolset

_LISTED = 12  # names in a comment
_WIDTH = 90
_HEAD = """\
# How the tools of an API are selected and shaped. Uncomment the lines you need.
# See the tools with `openapi-tools list FILE`, and what they cost with `openapi-tools stats FILE`.
# `openapi-tools init --schema` writes a JSON Schema for editors; docs/shaping.md has every key.
"""
_ANSWERS = """\
# [answers]                     # smaller responses, for every tool
# drop = ["*_url", "_links"]    # properties to leave out, at any depth
# nulls = false                 # leave out properties that are null
# max_items = 50                # items to keep of each list
"""


def write_configuration(spec: str | None, *, output: Path, force: bool, wants_schema: bool) -> None:
    """Write a commented configuration file for SPEC, or the JSON Schema of such files."""
    if wants_schema:
        from openapi_tools.serving.serving_tables import configuration_schema  # imports pydantic

        print_json(format_json(configuration_schema()))
        return
    if spec is None or spec == "-":
        raise click.UsageError("pass SPEC, a file or a URL, for the configuration to name.")
    if is_application(spec):
        raise click.UsageError("a configuration names a file or a URL; serve the application.")
    if spec.endswith(".toml"):
        raise click.UsageError(f"{spec} is a configuration already; pass the document it names.")
    toolset = load_spec(spec)
    to_stdout = str(output) == "-"
    address = spec if "://" in spec or to_stdout else os.path.relpath(spec, output.parent)
    text = _format_configuration(address, toolset)
    if to_stdout:
        print_text(text.rstrip())
        return
    write_new_file(output, text, force=force)
    option = output if output.suffix == ".toml" else f"--config {output}"
    tools = format_count(len(toolset), "tool")
    print_wrapped(f"{output} written: {tools}. Next: openapi-tools list {option}")


def _format_configuration(source: str, toolset: Toolset) -> str:
    tools = list(toolset)
    parts = [
        [f"source = {_quote(source)}"],
        _format_root(tools),
        _format_select(tools),
        _format_credentials(toolset.security_schemes),
        ["# [settings]", "# timeout = 30.0              # seconds for a whole call"],
        _ANSWERS.splitlines(),
        *map(_format_tool, tools[:1]),
    ]
    return _HEAD + "".join("\n" + "\n".join(part) + "\n" for part in parts if part)


def _quote(value: str) -> str:
    # TOML 1.0, section "String": basic strings.
    clean = strip_hidden(value).encode("utf-8", "replace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")


def _format_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)


def _format_root(tools: list[Any]) -> list[str]:
    reads = sum(tool.method in ("GET", "HEAD", "OPTIONS") for tool in tools)
    servers = tools[0].operation.servers if tools else ()
    server = servers[0].url if servers else ""
    url = server if server.startswith(("http://", "https://")) else "https://localhost"
    return [
        '# prefix = "api_"              # before every name',
        f"# base_url = {_quote(url)}",
        f"# read_only = true             # only GET, HEAD and OPTIONS: {reads} of {len(tools)}",
    ]


def _format_select(tools: list[Any]) -> list[str]:
    tags = Counter(tag for tool in tools for tag in tool.tags)
    names = [tool.name for tool in tools]
    lines = ["# [select]                      # all operations, if nothing is selected"]
    if tags:
        lines.append(f"# tags = {_format_list(tags)}")
    lines.append(f"# names = {_format_list(names[:3])}")
    return [*lines, f"# exclude = {{ names = {_format_list(names[-1:])} }}"]


def _format_list(names: Iterable[str]) -> str:
    items: list[str] = []
    for name in list(names)[:_LISTED]:
        if items and sum(map(len, items)) + len(name) > _WIDTH:
            break
        items.append(_quote(name))
    return f"[{', '.join(items)}]"


def _format_credentials(schemes: Mapping[str, Any]) -> list[str]:
    if not schemes:
        return []
    lines = ["# [credentials]                 # from environment variables, never written out here"]
    for name, scheme in list(schemes.items())[:_LISTED]:
        variable = re.sub(r"[^A-Z0-9]+", "_", f"API_{name}".upper()).strip("_")
        kind = " ".join(filter(None, (scheme.type, scheme.scheme or scheme.location)))
        is_basic = scheme.scheme == "basic"
        value = f'["${{{variable}_USER}}", "${{{variable}}}"]' if is_basic else f'"${{{variable}}}"'
        lines.append(f"# {_format_key(name)} = {value}    # {_format_comment(kind)}")
    return lines


def _format_tool(tool: Any) -> list[str]:
    properties = tool.input_schema.get("properties", {})
    required = tool.input_schema.get("required", ())
    optional = [name for name in properties if name not in required]
    lines = [
        f"# [tools.{_format_key(tool.name)}]",
        f"# name = {_quote(tool.name[:20].rstrip('_'))}",
        f"# description = {_quote(_format_comment(tool.description))}",
    ]
    if optional:
        lines.append(f"# hide = {_format_list(optional[:1])}")
    for name, part in list(properties.items())[:1]:
        text = part.get("description", "") if isinstance(part, dict) else ""
        description = _quote(_format_comment(text or name))
        argument = f"{{ name = {_quote(name)}, description = {description} }}"
        lines.append(f"# arguments.{_format_key(name)} = {argument}")
    return [*lines, "# timeout = 60.0", '# answer = { drop = ["*_url"], max_items = 20 }']


def _format_comment(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in strip_hidden(text)).split())
    return truncate_text(line, _WIDTH)
