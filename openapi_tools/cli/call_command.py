"""`openapi-tools call` runs or previews one tool; `openapi-tools run` runs a program of calls."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import CREDENTIALS, as_json, clean, for_shell, remark, say
from openapi_tools.cli import command_options as shared
from openapi_tools.code.limits import CodeLimits
from openapi_tools.errors import CallError, OpenAPIToolsError
from openapi_tools.options import close_names
from openapi_tools.redaction import redacted
from openapi_tools.requests.request_parts import preview_of
from openapi_tools.result import ToolResult
from openapi_tools.tools.guardrails import question_of, require_approval
from openapi_tools.tools.tool_call import Context, ToolCall
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

_TYPES = {"string", "array", "integer", "number", "boolean", "object", "null"}
_UNSET = "is not set; calls go without it."
_NOWHERE = "http://mock.invalid"
_LIMITS = CodeLimits()
_OUTPUT = 1_000_000  # characters of a program's result


@click.command("call")
@click.argument("spec")
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--json", "json_input", help="Arguments as a JSON object, @FILE, or - for stdin.")
@click.option("--base-url", help="Call this server instead of the document's.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds at most.")
@click.option("--dry-run", is_flag=True, help="Print the request and send nothing.")
@click.option("--mock", is_flag=True, help="Answer from the document itself, without a network.")
@shared.identifying
@shared.configuring
@shared.reading
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
        raise click.UsageError(
            "--dry-run sends nothing, so --mock has nothing to answer; choose one."
        )
    if spec == "-" and json_input == "-":
        raise click.UsageError("SPEC and --json cannot both be read from standard input.")
    problems: list[str] = []
    loaded: list[Toolset] = []
    settings: dict[str, Any] = {"base_url": base_url, "timeout": timeout}
    if mock:
        settings |= _mocked(base_url, loaded, problems)
    toolset = shared.load(shared.source_of(spec), **settings)
    loaded.append(toolset)
    for warning in toolset.warnings:
        if warning.endswith(_UNSET):
            remark(f"warning: {for_shell(warning)}")
    found = shared.tool_of(toolset, tool)
    given = read_json_argument(json_input) if json_input is not None else {}
    given |= read_arguments(arguments, found.input_schema)
    if dry_run:
        return asyncio.run(_preview(toolset, found, given))
    return asyncio.run(_execute(toolset, found, given, problems))


def _mocked(base_url: str | None, loaded: list[Toolset], problems: list[str]) -> dict[str, Any]:
    """Return settings and a client, for calls that the document itself answers.

    The first of `loaded` is the toolset that the calls are of, when one is made; `problems` gets
    the errors of requests. The calls are for the server `base_url`, if one is given.
    """
    from openapi_tools.testing.mock import mock_client

    path = (base_url or "").partition("://")[2].partition("/")[2]
    base_path = f"/{path}" if path else ""
    client = mock_client(lambda: loaded[0].document, problems=problems, base_path=base_path)
    return {"base_url": base_url or _NOWHERE, "anonymous": True, "client": client}


async def _execute(
    toolset: Toolset, tool: OperationTool, given: dict[str, Any], problems: list[str]
) -> int:
    async with toolset:
        result = await tool.execute(given)
    code = _told(result, problems)
    if (result.error or {}).get("type") == "auth" and not tool.operation.security:
        remark(f"The document does not say which credentials are needed; give {CREDENTIALS}.")
    return code


def _told(result: ToolResult, problems: list[str]) -> int:
    """Write a result, and the errors of mocked requests; return the exit code."""
    for problem in problems:
        kind = "note" if problem.startswith("not judged") else "openapi-core"
        remark(redacted(f"{kind}: {problem}"))
    if result.is_error:
        click.echo(clean(redacted(f"{_kind(result)}: {for_shell(result)}")), err=True)
        return 1
    if isinstance(result.output, str):
        say(redacted(clean(result.output) if sys.stdout.isatty() else result.output))
    elif result.output is not None:
        say(redacted(as_json(result.output, pretty=sys.stdout.isatty())))
    if result.header_note:
        remark(redacted(result.header_note))
    return 0


async def _preview(toolset: Toolset, tool: OperationTool, given: dict[str, Any]) -> int:
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
    error = result.error or {}
    status = error.get("status")
    return f"{error.get('type', 'error')} {status}" if status else str(error.get("type", "error"))


@click.command("run")
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
@click.option("--base-url", help="Call this server instead of the document's.")
@click.option("--mock", is_flag=True, help="Answer from the document itself, without a network.")
@shared.selecting
@shared.identifying
@shared.configuring
@shared.reading
def run(  # noqa: PLR0913 -- one for each option
    spec: str,
    file: str,
    *,
    timeout: float,
    calls: int,
    yes: bool,
    base_url: str | None,
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
    settings = _mocked(base_url, loaded, problems) if mock else {"base_url": base_url}
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
    return _told(result, problems)


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


def read_arguments(pairs: tuple[str, ...], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that `name=value` pairs stand for, read by the input schema.

    Text where the schema wants text; JSON where it wants a number, a boolean, an object or an
    array; an array also from several pairs of one name. Where it allows several types, JSON unless
    the text alone fits.

    Raises:
        click.UsageError: No `=`, an unknown name, a name given twice, or no JSON.
    """
    properties = schema.get("properties", {})
    given: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.UsageError(f"{pair!r:.100} is not of the form name=value.")
        if name not in properties:
            raise click.UsageError(_unknown(name, list(properties)))
        given.setdefault(name, []).append(text)
    return {name: _read(name, texts, properties[name], schema) for name, texts in given.items()}


def read_json_argument(text: str) -> dict[str, Any]:
    """Return the object of `--json`: itself, `@file`, or `-` for standard input.

    Raises:
        click.UsageError: It cannot be read, or is not a JSON object.
    """
    try:
        if text == "-":
            text = shared.read_stdin().decode()
        elif text.startswith("@"):
            with open(text[1:], encoding="utf-8") as file:  # noqa: PTH123 -- as the user wrote it
                text = file.read()
        value = json.loads(text)
    except OSError as error:
        raise click.UsageError(f"--json: {text[1:]!r}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--json is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"--json must be an object, not {type(value).__name__}.")
    return value


def _unknown(name: str, known: list[str]) -> str:
    close = close_names(name, known)
    hint = f"; there are {', '.join(known) or 'none'}." if close == "." else close
    return f"no argument is called {name!r:.100}{hint}"


def _read(name: str, texts: list[str], schema: Any, root: dict[str, Any]) -> Any:
    types = _types(schema, root)
    if types in ({"array"}, {"array", "null"}):
        return _read_array(name, texts, shared.resolved(schema, root), root)
    if len(texts) > 1:
        if types is None or "array" in types:
            return [_loose(text, {}, root) for text in texts]
        raise click.UsageError(f"{name} is given {len(texts)} times, but is not an array.")
    text = texts[0]
    if types is None or len(types) > 1:
        return _loose(text, schema, root)
    if types == {"string"}:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise click.UsageError(
            f"{name}: {text!r:.100} is not valid JSON, but {next(iter(types))} is expected."
        ) from None


def _read_array(name: str, texts: list[str], schema: Any, root: dict[str, Any]) -> Any:
    """Return an array: one text of JSON, or an item for each text."""
    if len(texts) == 1:
        value = _loose(texts[0], schema, root)
        if isinstance(value, list) or value is None:
            return value
    items = schema.get("items", {})
    return [_read(name, [text], items, root) for text in texts]


def _loose(text: str, schema: Any, root: dict[str, Any]) -> Any:
    """Return a text of several allowed types as JSON, or unchanged if only that fits."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    checker = Checker({"properties": {"value": schema}, "$defs": root.get("$defs", {})})
    only_text = checker.fits({"value": text}) and not checker.fits({"value": value})
    return text if only_text else value


def _types(schema: Any, root: dict[str, Any]) -> set[str] | None:
    """Return the types that a schema allows, None when it does not say."""
    schema = shared.resolved(schema, root)
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind} if kind in _TYPES else None
    if isinstance(kind, list):
        return set(kind)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return {"string"}
    return None
