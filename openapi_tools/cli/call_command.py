"""`openapi-tools call`: run one tool, or see what it would send."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.argument_values import read_arguments, read_json_argument
from openapi_tools.cli.credential_options import OPTIONS, identifying
from openapi_tools.cli.output import as_json, clean, for_shell, remark, say
from openapi_tools.cli.spec_argument import load, reading, source_of, tool_of
from openapi_tools.errors import CallError, OpenAPIToolsError
from openapi_tools.redaction import redacted
from openapi_tools.requests.preview import preview_of

if TYPE_CHECKING:
    import httpx

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

_NOWHERE = "http://mock.invalid"


@click.command("call")
@click.argument("spec")
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--json", "json_input", help="Arguments as a JSON object, @FILE, or - for stdin.")
@click.option("--base-url", help="Call this server instead of the document's.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds at most.")
@click.option("--dry-run", is_flag=True, help="Print the request and send nothing.")
@click.option("--mock", is_flag=True, help="Answer from the document itself, without a network.")
@identifying
@reading
def call(
    spec: str,
    tool: str,
    arguments: tuple[str, ...],
    *,
    json_input: str | None,
    base_url: str | None,
    timeout: float | None,
    dry_run: bool,
    mock: bool,
) -> int:
    """Call TOOL of SPEC and print its result; a failure goes to standard error."""
    if dry_run and mock:
        message = "--dry-run sends nothing, so --mock has nothing to answer; choose one."
        raise click.UsageError(message)
    if spec == "-" and json_input == "-":
        message = "SPEC and --json cannot both be read from standard input."
        raise click.UsageError(message)
    import asyncio

    run = _Run(base_url or (_NOWHERE if mock else None))
    toolset = run.load(spec, timeout=timeout, mock=mock)
    found = tool_of(toolset, tool)
    given = read_json_argument(json_input) if json_input is not None else {}
    given |= read_arguments(arguments, found.input_schema)
    if dry_run:
        return asyncio.run(run.preview(toolset, found, given))
    return asyncio.run(run.execute(toolset, found, given))


class _Run:
    """One call."""

    def __init__(self, base_url: str | None) -> None:
        self.base_url = base_url
        self.problems: list[str] = []

    def load(self, spec: str, *, timeout: float | None, mock: bool) -> Toolset:
        """Return the tools, with a client that answers from the document where that is wanted."""
        loaded: list[Toolset] = []
        client = self._mock_client(loaded) if mock else None
        settings = {"base_url": self.base_url, "timeout": timeout, "anonymous": mock or None}
        toolset = load(source_of(spec), client=client, **settings)
        loaded.append(toolset)
        return toolset

    def _mock_client(self, loaded: list[Toolset]) -> httpx.AsyncClient:
        """Return a client for a document that is not loaded yet."""
        from openapi_tools.testing.mock import mock_client

        path = (self.base_url or "").partition("://")[2].partition("/")[2]
        return mock_client(
            lambda: loaded[0].document,
            problems=self.problems,
            base_path=f"/{path}" if path else "",
        )

    async def execute(self, toolset: Toolset, tool: OperationTool, given: dict[str, Any]) -> int:
        """Call the tool, print what came of it and return the exit code."""
        async with toolset:
            result = await tool.execute(given)
        for problem in self.problems:
            kind = "note" if problem.startswith("not judged") else "openapi-core"
            remark(redacted(f"{kind}: {problem}"))
        if result.is_error:
            click.echo(clean(redacted(f"{_kind(result)}: {for_shell(result)}")), err=True)
            if (result.error or {}).get("type") == "auth" and not tool.operation.security:
                remark(f"The document does not say which credentials are needed; {OPTIONS}.")
            return 1
        if result.output is not None:
            say(redacted(_text(result)))
        if result.header_note:
            remark(redacted(result.header_note))
        return 0

    async def preview(self, toolset: Toolset, tool: OperationTool, given: dict[str, Any]) -> int:
        """Print what would be sent and return the exit code."""
        async with toolset:
            try:
                request = tool.preview(given)
            except OpenAPIToolsError as error:
                kind = error.kind if isinstance(error, CallError) else "invalid_input"
                click.echo(clean(redacted(f"{kind}: {for_shell(error)}")), err=True)
                return 1
            say(clean(redacted(str(preview_of(request, tool.name, given)))))
        return 0


def _kind(result: ToolResult) -> str:
    """Return the kind of an error, with the status where there is one."""
    error = result.error or {}
    status = error.get("status")
    return f"{error.get('type', 'error')} {status}" if status else str(error.get("type", "error"))


def _text(result: ToolResult) -> str:
    """Return a result as text: easy to read on a terminal, unchanged for a program."""
    terminal = sys.stdout.isatty()
    if isinstance(result.output, str):
        return clean(result.output) if terminal else result.output
    return as_json(result.output, pretty=terminal)
