"""`openapi-tools run` runs a program of calls."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openapi_tools.cli import as_json, clean, command
from openapi_tools.cli import command_options as shared
from openapi_tools.cli.call_command import mocked, told
from openapi_tools.options import CodeLimits
from openapi_tools.redaction import redacted
from openapi_tools.result import Context, ToolCall, ToolResult
from openapi_tools.tools.guardrails import question_of, require_approval

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.tools.toolset import Toolset

_LIMITS = CodeLimits()
_OUTPUT = 1_000_000  # characters of a program's result


@command("run")
@click.argument("spec")
@click.argument("file")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=_LIMITS.seconds,
    show_default=True,
    help="Seconds for the whole program.",
)
@click.option(
    "--calls",
    type=click.IntRange(min=1),
    default=_LIMITS.calls,
    show_default=True,
    help="Calls at most.",
)
@click.option("--yes", is_flag=True, help="Do not ask before calls that may change something.")
@click.option("--mock", is_flag=True, help="Answer from the document itself, without a network.")
@shared.selecting
@shared.identifying
@shared.configuring_but("timeout")
@shared.reading
def run(  # noqa: PLR0913 -- one for each option
    spec: str,
    file: str,
    *,
    timeout: float,
    calls: int,
    yes: bool,
    mock: bool,
    tags: tuple[str, ...],
    methods: tuple[str, ...],
    patterns: tuple[str, ...],
) -> int:
    """Run the program in FILE, in a sandbox, and print its result; - is standard input.

    The program is Python. Each tool of SPEC is an async function of it, and nothing else of this
    machine can be reached.
    """
    if spec == file == "-":
        raise click.UsageError("SPEC and FILE cannot both be read from standard input.")
    problems: list[str] = []
    loaded: list[Toolset] = []
    settings = mocked(loaded, problems) if mock else {}
    toolset = shared.load(shared.source_of(spec), **settings)
    loaded.append(toolset)
    toolset = shared.selected(toolset, tags, methods, patterns)
    limits = CodeLimits(seconds=timeout, calls=calls, output_chars=_OUTPUT)
    programs = toolset.code_tools(limits)
    if not (yes or mock):
        toolset.add_input_guardrails([require_approval()])
    approve = _asking(toolset, can_ask=file != "-" and sys.stdin.isatty())
    result = asyncio.run(_run(programs, _text_of(file), Context(approve=approve)))
    return _tell(result, problems)


async def _run(programs: Toolset, program: str, context: Context) -> ToolResult:
    async with programs:
        return await programs["run_code"].execute({"code": program}, context=context)


def _tell(result: ToolResult, problems: list[str]) -> int:
    """Write the value of a program as JSON, and what it printed to standard error."""
    printed, value = result.metadata.get("printed"), result.output
    if printed:
        click.echo(clean(redacted(printed)), err=True, nl=not printed.endswith("\n"))
        value = value.get("result") if isinstance(value, dict) else None
    if result.success:
        text = None if value is None else redacted(as_json(value, pretty=sys.stdout.isatty()))
        result = ToolResult.ok(text, header_note=result.header_note)
    return told(result, problems)


def _text_of(file: str) -> str:
    try:
        content = shared.read_stdin() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"{file!r:.100}: {error.strerror}.") from None
    except ValueError:
        raise click.UsageError(f"{file!r:.100} is not text in UTF-8.") from None


def _asking(toolset: Toolset, *, can_ask: bool) -> Callable[[ToolCall], bool]:
    """Return a function that asks on the terminal whether a call may be made."""

    def approve(call: ToolCall) -> bool:
        if not can_ask:
            raise PermissionError(
                f"{call.name} may change something; without a terminal to ask on, --yes allows "
                "such calls."
            )
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return click.confirm(question_of(toolset[call.name], call), err=True)
        except click.Abort:
            raise KeyboardInterrupt from None
        finally:
            signal.signal(signal.SIGINT, before)

    return approve
