"""Completion of a command line in bash, zsh and fish.

`openapi-tools completion SHELL` prints a script, which runs the program with the line up to the
cursor and gets a line for each completion: its kind (`plain` or `file`), its value and its
description. The program never writes to standard error then, and the network is not used:
documents at URLs come from the cache.
"""

from __future__ import annotations

import contextlib
import io
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from openapi_tools.cli.argument_values import allowed_values
from openapi_tools.cli.command_options import config_option
from openapi_tools.cli.explain_command import read_error_texts
from openapi_tools.cli.nested_names import find_location, list_properties
from openapi_tools.cli.output import COMPLETION_VARIABLE, PROGRAM, clean, print_text, tool_summary
from openapi_tools.cli.tool_loading import find_tool, load_spec, read_server_configuration
from openapi_tools.common.json_values import follow_references
from openapi_tools.common.setting_fields import setting_names
from openapi_tools.loading import cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import click

    from openapi_tools.serving.serving_tables import Serving
    from openapi_tools.toolsets.toolset import Toolset

_SHELLS = ("bash", "zsh", "fish")
_LONGEST_DESCRIPTION = 60


def print_script(shell: str) -> None:
    """Print the completion script of SHELL."""
    print_text(_read_script(shell))


def _read_script(shell: str) -> str:
    return Path(__file__).with_name(f"completion.{shell}").read_text(encoding="utf-8").rstrip()


def complete(group: Any, instruction: str) -> int:
    """Answer a shell: `SHELL_complete` gets completions, `SHELL_source` a script."""
    group.prepare_command = attach_completions
    shell, _, action = instruction.partition("_")
    if shell not in _SHELLS or action not in ("complete", "source"):
        return 1
    output = _read_script(shell)
    if action == "complete":
        # Tab must not wait for a server, nor show that the user is there.
        output, cache.offline = "", True
        # Anything on standard error would land in the middle of the line that is typed.
        with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(Exception):
            output = _CommandLine(group, {}, PROGRAM, COMPLETION_VARIABLE).complete()
    if output:
        print_text(output.rstrip("\n"))
    return 0


class _CommandLine(ShellComplete):
    """A line up to the cursor, from any shell.

    The variable BREAKS has the characters at which bash ends a word, but for those in QUOTED, the
    end of the last word in quotes.
    """

    name = source_template = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words after the program's name, and the incomplete one."""
        words, last = _split_line()
        option, equals, _ = last.partition("=")
        self.option_prefix = option + equals if equals and option[:2] == "--" else ""
        marks = [mark for mark in "=:" if mark in os.environ.get("BREAKS", "")]
        unquoted = last.removesuffix(os.environ.get("QUOTED", ""))
        breaks = [unquoted.rfind(mark) for mark in marks]
        self.typed_prefix = last[: max(breaks, default=-1) + 1]
        return words, last

    def format_completion(self, item: CompletionItem) -> str:
        """Return a line for the shell; bash already has what precedes its last break."""
        prefix = self.option_prefix if item.type == "plain" else ""
        value = clean(f"{prefix}{item.value}", lines=False).removeprefix(self.typed_prefix)
        description = clean(str(item.help or ""), lines=False)[:_LONGEST_DESCRIPTION]
        return f"{item.type}\t{value}\t{description}"


def _split_line() -> tuple[list[str], str]:
    line = os.environ.get("COMP_LINE", "")
    words = split_arg_string(line)
    last = "" if not words or line[-1:].isspace() else words.pop()
    return words[1:], last


def attach_completions(command: click.Command) -> None:
    """Have the parameters of a command complete what a document or the settings have."""
    for parameter in command.params:
        if list_values := COMPLETIONS.get(str(parameter.name)):
            complete_value = partial(_complete_value, list_values)
            parameter.shell_complete = complete_value  # type: ignore[method-assign]


def _complete_value(
    list_values: Callable[[click.Context, str], Iterable[Any]],
    context: click.Context,
    incomplete: str,
) -> list[CompletionItem]:
    words, _ = _split_line()
    if context.params.get("spec") is None and words[-1][:1] == "-":
        # An option without its value kept click from reading the words before it.
        options: dict[str, Any] = {"parent": context.parent, "resilient_parsing": True}
        context = context.command.make_context(context.info_name, words[1:-1], **options)
    with context.scope(cleanup=False):
        items = [
            value if isinstance(value, CompletionItem) else CompletionItem(value)
            for value in list_values(context, incomplete)
        ]
    return [item for item in items if item.value.startswith(incomplete)]


def _load_tools(context: click.Context) -> Toolset:
    spec = context.params.get("spec")
    return load_spec(None if spec == "-" else spec, {"stale": True})


def _list_arguments(context: click.Context, incomplete: str) -> Iterator[Any]:
    tool = find_tool(_load_tools(context), str(context.params["tool"]))
    schema = tool.input_schema
    used = {pair.partition("=")[0].rstrip(":") for pair in context.params["arguments"] or ()}
    name, equals, _ = incomplete.partition("=")
    parent, dot, _ = name.rpartition(".")
    if equals:
        entry = find_location(name, schema, {}).schema
        is_flag = follow_references(schema, entry).get("type") == "boolean"
        values = ["true", "false"] if is_flag else allowed_values(entry, schema)
        yield from (f"{name}={value}" for value in values)
        return
    properties, required = schema.get("properties", {}), schema.get("required", ())
    if dot:
        properties = list_properties(find_location(parent, schema, {}), schema)
        required = ()
    for key, entry in properties.items():
        if f"{parent}{dot}{key}" not in used:
            prefix = "required. " if key in required else ""
            description = follow_references(schema, entry).get("description", "")
            yield CompletionItem(f"{parent}{dot}{key}=", help=f"{prefix}{description}")


def _list_tools(context: click.Context, _: str) -> Iterator[CompletionItem]:
    for tool in _load_tools(context):
        yield CompletionItem(tool.name, help=tool_summary(tool))


def _list_tags(context: click.Context, _: str) -> Iterable[str]:
    return dict.fromkeys(tag for tool in _load_tools(context) for tag in tool.tags)


def _list_methods(context: click.Context, incomplete: str) -> Iterator[str]:
    for method in sorted({tool.method for tool in _load_tools(context)}):
        yield method.lower() if incomplete.islower() else method


def _list_apis(context: click.Context, _: str) -> Iterator[str]:
    serving = _read_server(context)
    yield from (*serving.files, *serving.faults)


def _list_users(context: click.Context, _: str) -> Iterator[str]:
    auth = _read_server(context).serve.auth
    yield from () if auth is None else auth.tokens


def _read_server(context: click.Context) -> Serving:
    return read_server_configuration(context.params.get("spec") or config_option() or "")


def _list_schemes(context: click.Context, _: str) -> Iterator[str]:
    return (f"{name}=" for name in _load_tools(context).security_schemes)


COMPLETIONS: dict[str, Callable[[click.Context, str], Iterable[Any]]] = {
    **dict.fromkeys(
        ("spec", "old", "new"), lambda _, incomplete: [CompletionItem(incomplete, type="file")]
    ),
    **dict.fromkeys(("tool", "names"), _list_tools),
    "arguments": _list_arguments,
    "error_type": lambda *_: read_error_texts(),
    "tags": _list_tags,
    "methods": _list_methods,
    "api": _list_apis,
    "as_user": _list_users,
    "credentials": _list_schemes,
    "others": lambda *_: (f"{name}=" for name in sorted(setting_names())),
}
"""How a parameter is completed, by its name in every command."""
