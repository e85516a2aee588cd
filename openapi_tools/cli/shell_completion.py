"""Completion in bash, zsh and fish: `openapi-tools completion SHELL` prints a shell's script.

A script runs the program with the line up to the cursor, and gets a line for each completion: its
kind (`plain` or `file`), its value and words about it. It never writes to standard error, and the
network is not used: documents at URLs come from the cache.
"""

from __future__ import annotations

import contextlib
import io
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from openapi_tools.cli import PROGRAM, VARIABLE, clean, say, summary_of
from openapi_tools.cli import command_options as shared
from openapi_tools.cli.argument_values import values_of
from openapi_tools.json_values import follow
from openapi_tools.loading import cache
from openapi_tools.options import DefaultSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import click

    from openapi_tools.tools.toolset import Toolset

_SHELLS = ("bash", "zsh", "fish")
_LONGEST_WORDS = 60


@shared.command("completion")
def completion(shell: str) -> None:
    r"""Print the script that completes commands, options, tools and arguments in SHELL.

    \b
    bash: put into ~/.bashrc:     eval "$(openapi-tools completion bash)"
    zsh:  put into ~/.zshrc, behind compinit:
                                  eval "$(openapi-tools completion zsh)"
    fish: run once:               openapi-tools completion fish
                                  > ~/.config/fish/completions/openapi-tools.fish
    """
    say(_script(shell))


def _script(shell: str) -> str:
    return Path(__file__).with_name(f"completion.{shell}").read_text(encoding="utf-8").rstrip()


def answered(group: click.Group, instruction: str) -> int:
    """Answer a shell: `SHELL_complete` gets completions, `SHELL_source` a script."""
    shell, _, action = instruction.partition("_")
    if shell not in _SHELLS or action not in ("complete", "source"):
        return 1
    found = _script(shell)
    if action == "complete":
        found, cache.offline = "", True
        with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(Exception):
            found = _Line(group, {}, PROGRAM, VARIABLE).complete()
    if found:
        say(found.rstrip("\n"))
    return 0


class _Line(ShellComplete):
    """A line up to the cursor, from any shell.

    BREAKS are bash's ends of words; it has none in QUOTED, the end of the last word in quotes.
    """

    name = source_template = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words behind the program's name, and the incomplete one."""
        words, last = _line()
        option, equals, _ = last.partition("=")
        self.lead = option + equals if equals and option[:2] == "--" else ""
        marks = [mark for mark in "=:" if mark in os.environ.get("BREAKS", "")]
        before = last.removesuffix(os.environ.get("QUOTED", ""))
        breaks = [before.rfind(mark) for mark in marks]
        self.known = last[: max(breaks, default=-1) + 1]
        return words, last

    def format_completion(self, item: CompletionItem) -> str:
        """Return a line for the shell: what bash has already before its last break is left out."""
        value = clean(f"{self.lead if item.type == 'plain' else ''}{item.value}", lines=False)
        words = clean(str(item.help or ""), lines=False)[:_LONGEST_WORDS]
        return "\t".join((item.type, value.removeprefix(self.known), words))


def _line() -> tuple[list[str], str]:
    line = os.environ.get("COMP_LINE", "")
    words = split_arg_string(line)
    last = "" if not words or line[-1:].isspace() else words.pop()
    return words[1:], last


def attach(found: click.Command) -> None:
    """Have the parameters of a command complete what a document or the settings have."""
    for parameter in found.params:
        if values := _VALUES.get(str(parameter.name)):
            parameter.shell_complete = partial(_completed, values)  # type: ignore[method-assign]


def _completed(
    values: Callable[[click.Context, str], Iterable[Any]], context: click.Context, incomplete: str
) -> list[CompletionItem]:
    words, _ = _line()
    if context.params.get("spec") is None and words[-1][:1] == "-":
        # An option without its value kept click from reading the words before it.
        facts: dict[str, Any] = {"parent": context.parent, "resilient_parsing": True}
        context = context.command.make_context(context.info_name, words[1:-1], **facts)
    with context.scope(cleanup=False):
        found = values(context, incomplete)
        items = [v if isinstance(v, CompletionItem) else CompletionItem(v) for v in found]
    return [item for item in items if item.value.startswith(incomplete)]


def _toolset(context: click.Context) -> Toolset:
    """Return the tools of SPEC, from the cache if it is a URL."""
    spec = context.params.get("spec")
    return shared.load(shared.source_of(None if spec == "-" else spec), stale=True)


def _arguments(context: click.Context, incomplete: str) -> Iterator[Any]:
    schema = shared.tool_of(_toolset(context), str(context.params["tool"])).input_schema
    given = {pair.partition("=")[0].rstrip(":") for pair in context.params["arguments"] or ()}
    name, equals, _ = incomplete.partition("=")
    for argument, entry in schema.get("properties", {}).items():
        if not equals and argument not in given:
            need = "required. " if argument in schema.get("required", ()) else ""
            words = follow(schema, entry).get("description", "")
            yield CompletionItem(f"{argument}=", help=f"{need}{words}")
        elif equals and argument == name:
            is_flag = follow(schema, entry).get("type") == "boolean"
            values = ["true", "false"] if is_flag else values_of(entry, schema)
            yield from (f"{argument}={value}" for value in values)


_VALUES: dict[str, Callable[[click.Context, str], Iterable[Any]]] = {
    **dict.fromkeys(
        ("spec", "old", "new"), lambda _, incomplete: [CompletionItem(incomplete, type="file")]
    ),
    **dict.fromkeys(
        ("tool", "names"),
        lambda context, _: (CompletionItem(t.name, help=summary_of(t)) for t in _toolset(context)),
    ),
    "arguments": _arguments,
    "tags": lambda context, _: dict.fromkeys(t for tool in _toolset(context) for t in tool.tags),
    "methods": lambda context, incomplete: (
        method.lower() if incomplete.islower() else method
        for method in sorted({tool.method for tool in _toolset(context)})
    ),
    "credentials": lambda context, _: (f"{name}=" for name in _toolset(context).security_schemes),
    "others": lambda *_: (f"{name}=" for name in dir(DefaultSettings) if name[0] != "_"),
}
"""How a parameter is completed, by its name in every command."""
