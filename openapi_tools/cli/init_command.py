"""`openapi-tools init`: a configuration with the names of a document in comments, or cases."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.application_names import is_application
from openapi_tools.cli.case_file import format_cases
from openapi_tools.cli.output import (
    format_json,
    print_json,
    print_note,
    print_text,
    print_wrapped,
    write_new_file,
)
from openapi_tools.cli.tool_loading import is_stream, load_spec, select_tools
from openapi_tools.common.visible_text import strip_hidden, truncate_text
from openapi_tools.errors import format_count
from openapi_tools.redaction import redact_data
from openapi_tools.testing.evaluation.case_tables import cases_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openapi_tools.toolsets.toolset import Toolset

_LISTED = 12  # names in a comment
_WIDTH = 90
_HEAD = """\
# How the tools of an API are selected and shaped. Uncomment the lines you need.
# See the tools with `openapi-tools list FILE`, and what they cost with `openapi-tools stats FILE`.
# `openapi-tools init --schema` writes a JSON Schema for editors; docs/shaping.md has every key.
"""
_RESPONSES = """\
# [answers]                     # smaller responses, for every tool
# drop = ["*_url", "_links"]    # properties to leave out, at any depth
# nulls = false                 # leave out properties that are null
# max_items = 50                # items to keep of each list
"""


def write_configuration(
    spec: str | None, *, output: Path | None, force: bool, wants_schema: bool, wants_cases: bool
) -> None:
    """Write a commented configuration for SPEC, or cases; or the JSON Schema of such files."""
    if wants_schema:
        print_json(format_json(_find_schema(wants_cases=wants_cases)))
    elif wants_cases:
        toolset = select_tools(load_spec(spec))
        path = Path("eval-cases.yaml") if output is None else output
        next_command = f"openapi-tools eval {spec} --cases {path} --model module:function"
        _write_file(path, format_cases(toolset), len(toolset), next_command, force=force)
    else:
        path = Path("openapi-tools.toml") if output is None else output
        _write_configuration(spec, path, force=force)


def _find_schema(*, wants_cases: bool) -> dict[str, Any]:
    if wants_cases:
        return cases_schema()
    from openapi_tools.serving.serving_tables import configuration_schema  # imports pydantic

    return configuration_schema()


def _write_configuration(spec: str | None, output: Path, *, force: bool) -> None:
    if spec is None or is_stream(spec):
        raise click.UsageError("pass SPEC, a file or a URL, for the configuration to name.")
    if is_application(spec):
        raise click.UsageError("a configuration names a file or a URL; serve the application.")
    if spec.endswith(".toml"):
        raise click.UsageError(f"{spec} is a configuration already; pass the document it names.")
    toolset = load_spec(spec)
    is_as_written = "://" in spec or str(output) == "-"
    address = spec if is_as_written else os.path.relpath(spec, output.parent)
    text = _format_configuration(address, toolset)
    if redact_data(address) != address:
        reason = "the URL has a password or a secret, and now the file has it, too"
        print_note(f"warning: {reason}; share neither.")
    option = output if output.suffix == ".toml" else f"--config {output}"
    _write_file(output, text, len(toolset), f"openapi-tools list {option}", force=force)


def _write_file(path: Path, text: str, count: int, next_command: str, *, force: bool) -> None:
    if str(path) == "-":
        print_text(text.rstrip())
        return
    write_new_file(path, text, force=force)
    print_wrapped(f"{path} written: {format_count(count, 'tool')}. Next: {next_command}")


def _format_configuration(source: str, toolset: Toolset) -> str:
    tools = list(toolset)
    parts = [
        [f"source = {_quote(source)}"],
        _format_root(tools),
        _format_select(tools),
        _format_credentials(toolset.security_schemes),
        ["# [settings]", "# timeout = 30.0              # seconds for a whole call"],
        _RESPONSES.splitlines(),
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
