"""`openapi-tools run`: a program that calls tools, in a sandbox."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openapi_tools.cli.mock_tools import load_for_calls, user_credentials
from openapi_tools.cli.output import clean, format_json, print_message
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.result_output import print_result
from openapi_tools.cli.tool_loading import read_stdin, select_tools
from openapi_tools.code.limits import CodeLimits
from openapi_tools.redaction import redact_text
from openapi_tools.result import Context, ToolCall, ToolResult
from openapi_tools.tools.guardrails import describe_question, require_approval

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.cli.progress import Progress
    from openapi_tools.toolsets.toolset import Toolset

_OUTPUT_CHARS = 1_000_000  # of a program's result


def run_program(spec: str, file: str, *, timeout: float, calls: int, yes: bool, mock: bool) -> int:
    """Run the program in FILE and print its result."""
    if spec == file == "-":
        raise click.UsageError("SPEC and FILE cannot both be read from standard input.")
    problems: list[str] = []
    toolset = select_tools(load_for_calls(spec, problems if mock else None))
    limits = CodeLimits(seconds=timeout, calls=calls, output_chars=_OUTPUT_CHARS)
    programs = toolset.code_tools(limits)
    if not (yes or mock):
        toolset.add_input_guardrails([require_approval()])
    program = {"code": _read_program(file)}

    async def execute(progress: Progress) -> ToolResult:
        can_ask = file != "-" and sys.stdin.isatty()
        approve = _create_approval(toolset, progress, can_ask=can_ask)
        context = Context(approve=approve, credentials=user_credentials(toolset))
        async with programs:
            return await programs["run_code"].execute(program, context=context)

    with show_progress("Running the program") as progress:
        result = asyncio.run(execute(progress))
    return _print_program_result(result, problems)


def _print_program_result(result: ToolResult, problems: list[str]) -> int:
    printed, value = result.metadata.get("printed"), result.output
    if printed:
        print_message(clean(redact_text(printed)), ends_line=not printed.endswith("\n"))
        value = value.get("result") if isinstance(value, dict) else None
    if result.success:
        is_terminal = sys.stdout.isatty()
        text = None if value is None else redact_text(format_json(value, pretty=is_terminal))
        result = ToolResult.ok(text, header_note=result.header_note)
    return print_result(result, problems)


def _read_program(file: str) -> str:
    try:
        content = read_stdin() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"{file!r:.100}: {error.strerror}.") from None
    except ValueError:
        raise click.UsageError(f"{file!r:.100} is not UTF-8 text.") from None


def _create_approval(
    toolset: Toolset, progress: Progress, *, can_ask: bool
) -> Callable[[ToolCall], bool]:

    def approve(call: ToolCall) -> bool:
        if not can_ask:
            raise PermissionError(
                f"{call.name} may change something, and there is no terminal to ask on; --yes "
                "allows such calls."
            )
        # asyncio's own handler would only interrupt the program after the question.
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with progress.pause():
                return click.confirm(describe_question(toolset[call.name], call), err=True)
        except click.Abort:
            raise KeyboardInterrupt from None
        finally:
            signal.signal(signal.SIGINT, handler)

    return approve
