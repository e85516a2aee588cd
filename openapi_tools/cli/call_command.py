"""`openapi-tools call` runs or previews one tool; `openapi-tools run` runs a program of calls."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import signal
import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import CREDENTIALS, as_json, busy, clean, for_shell, remark, say
from openapi_tools.cli import command_options as shared
from openapi_tools.cli.typed_arguments import read_arguments, read_json_argument
from openapi_tools.code.limits import CodeLimits
from openapi_tools.common.setting_fields import SettingFields
from openapi_tools.errors import CallError, OpenAPIToolsError, OutputError, counted, missing_extra
from openapi_tools.json_values import dump_json
from openapi_tools.redaction import redact_text
from openapi_tools.requests import preview_request
from openapi_tools.result import Context, ToolCall, ToolResult
from openapi_tools.tools.argument_names import find_api_names
from openapi_tools.tools.guardrails import describe_question, require_approval

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from openapi_tools.settings import Settings
    from openapi_tools.testing.mock import MockApi
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset
    from openapi_tools.transport import APIResponse

_UNSET = "is not set; calls go without it."
_CUT = 3
"""The exit code of a result that is not whole."""
_LIMITS = CodeLimits()
_OUTPUT = 1_000_000  # characters of a program's result


@shared.command("call")
def call(
    spec: str, tool: str, arguments: tuple[str, ...], *, json_input: str | None, **wishes: Any
) -> int:
    """Call TOOL of SPEC and print its result; a failure goes to standard error.

    NAME=VALUE is an argument, read by its schema; NAME=@FILE takes the content of a file, @- that
    of standard input, and NAME=@@TEXT is a text that begins with @. NAME:=JSON is JSON.
    """
    if wishes["dry_run"] and wishes["mock"]:
        raise click.UsageError(
            "--dry-run sends nothing, so --mock has nothing to answer; choose one."
        )
    if [spec, json_input, *(pair.partition("=@")[2] for pair in arguments)].count("-") > 1:
        raise click.UsageError("SPEC and --json cannot both be read from standard input.")
    output: Path | None = wishes["output"]
    if output is not None and not wishes["force"] and os.path.lexists(output):  # a link, too
        raise OutputError("it exists; --force overwrites it.", path=str(output))
    problems: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        settings: dict[str, Any] = {}
        if output is not None:  # the answer whole, and binary content in a file
            most = shared.given_settings().get("max_file_bytes", SettingFields.max_file_bytes)
            settings = {"max_response_bytes": most, "max_output_chars": most}
            settings["download_dir"] = folder
        if any("=@" in pair for pair in arguments):  # a limit for models
            settings["max_input_chars"] = 2 * SettingFields.max_file_bytes
        toolset = loaded(spec, problems if wishes["mock"] else None, **settings)
        for warning in toolset.warnings:
            if warning.endswith(_UNSET):
                remark(f"warning: {for_shell(warning)}")
        found = shared.tool_of(toolset, tool)
        given = read_json_argument(json_input) if json_input is not None else {}
        schema = found.input_schema
        given |= read_arguments(
            arguments, schema, find_api_names(found.operation, schema["properties"])
        )
        if wishes["dry_run"]:
            return asyncio.run(_preview(toolset, found, given))
        return asyncio.run(_execute(toolset, found, given, problems, wishes))


def loaded(spec: str | None, problems: list[str] | None, **settings: Any) -> Toolset:
    """Load the tools of SPEC; with `problems`, the document itself answers their calls.

    They get the errors of requests.
    """
    if problems is None:
        return shared.load(shared.source_of(spec), **settings)
    toolset, api = mocked(spec, judge=None, **settings)
    api.problems = problems
    if find_spec("openapi_core") is None:
        problems.append(f"not judged: {missing_extra('openapi_core', 'testing')}")
    toolset.session.is_placed = True  # its 404 is the document's
    return toolset


def mocked(spec: str | None, *, judge: bool | None, **settings: Any) -> tuple[Toolset, MockApi]:
    """Load the tools of SPEC and the API that answers them, at --base-url if that is given."""
    from openapi_tools.testing.mock import ADDRESS, mock_api

    # The document is fetched before calls go to the mock: its credentials belong to its origin.
    toolset = shared.load(shared.source_of(spec), **settings)
    base_url = shared.given_settings().get("base_url") or ADDRESS
    base_path = f"/{base_url.partition('://')[2].partition('/')[2]}"
    api = mock_api(toolset, judge=judge, refuse=False, state=False, base_path=base_path)
    toolset.session.replace_api(api.client(), base_url)
    toolset.session.served = None  # its users' credentials are not needed either
    return toolset, api


async def _execute(
    toolset: Toolset,
    tool: OperationTool,
    given: dict[str, Any],
    problems: list[str],
    wishes: dict[str, Any],
) -> int:
    bodies: list[bytes] = []
    (session,) = toolset.sessions
    waits = wishes["wait"] or tool.operation.wait or session.settings.wait
    if wishes["output"] is not None and not waits:
        session.check_answer = partial(_kept, bodies)
    async with toolset:
        with busy(f"Calling {tool.name}"):
            result, is_whole = await _result(toolset, tool, given, wishes)
    if wishes["include"]:
        _tell_headers(result)
    body = session.redactor.content(bodies[-1]) if bodies else None
    hint = _hint(result, tool, session.settings)
    code = told(result, problems, wishes["output"], body, hint)
    return code or (0 if is_whole else _CUT)


def _hint(result: ToolResult, tool: OperationTool, settings: Settings) -> str:
    """Return what a user may do about a failed call; empty if the error says it."""
    error = result.error or {}
    if error.get("type") == "auth" and not (tool.operation.security or shared.given_credentials()):
        return f"The document does not say which credentials are needed; give {CREDENTIALS}."
    reason = str(error.get("message", ""))
    return shared.connection_hint(reason, is_used=settings.trust_env, way=", or give --base-url")


def _kept(bodies: list[bytes], _: httpx.Request, answer: APIResponse) -> list[str]:
    bodies.append(answer.content)
    return []


async def _result(
    toolset: Toolset, tool: OperationTool, given: dict[str, Any], wishes: dict[str, Any]
) -> tuple[ToolResult, bool]:
    """Return the result of a call, or of all its pages, and whether no page is missing."""
    credentials = _user_credentials(toolset)
    if not wishes["all_pages"] and wishes["limit"] is None:
        context = Context(fields=wishes["fields"], wait=wishes["wait"], credentials=credentials)
        return await tool.execute(given, context=context), True
    if wishes["fields"]:
        from openapi_tools.shaping.json_queries import apply_expression, parse_expression

        parse_expression(wishes["fields"])  # raises before anything is sent
    context = Context(wait=wishes["wait"], credentials=credentials)
    pages = toolset.pages(tool.name, given, max_items=wishes["limit"], context=context)
    result = await pages.collect()
    if pages.reason == "no_items":
        reason = "the answer holds no list; call without --all-pages and --limit."
        return ToolResult.failed("invalid_input", reason), True
    if tool.operation.paging is None and pages.pages == 1:
        remark(f"note: the document shows no paging for {tool.name}; this is one answer's list.")
    if wishes["fields"] and result.success:
        try:
            items = apply_expression(wishes["fields"], result.output)
        except ValueError as error:
            raise click.UsageError(f"--fields: {error}.") from None
        result = ToolResult.ok(items, result.metadata, header_note=result.header_note)
    return result, pages.reason in ("complete", "max_items")


def _tell_headers(result: ToolResult) -> None:
    facts = result.metadata
    if "status" in facts:
        remark(f"{facts['status']} {facts['media_type']}".rstrip())
    if paging := facts.get("paging"):
        remark(f"{counted(paging['items'], 'item')} in {counted(paging['pages'], 'page')}")
    for name, value in facts.get("headers", {}).items():
        remark(redact_text(f"{name}: {value}"))


def told(
    result: ToolResult,
    problems: list[str],
    output: Path | None = None,
    body: Any = None,
    hint: str = "",
) -> int:
    """Write a result, or the body to `output`, and the errors of requests; return the exit code."""
    for problem in problems:
        kind = "note" if problem.startswith("not judged") else "openapi-core"
        remark(redact_text(f"{kind}: {problem}"))
    if result.is_error:
        if "paging" in result.metadata:  # the items before the failure
            say(redact_text(as_json(result.output, pretty=sys.stdout.isatty())))
        error = result.error or {}
        kind = f"{error.get('type', 'error')} {error.get('status') or ''}".rstrip()
        text = f"{kind}: {for_shell(error.get('message', result))} {hint}".rstrip()
        click.echo(clean(redact_text(text)), err=True)
        return 1
    if output is not None:
        _write(result, output, body)
    elif isinstance(result.output, str):
        say(redact_text(clean(result.output) if sys.stdout.isatty() else result.output))
    elif result.output is not None:
        say(redact_text(as_json(result.output, pretty=sys.stdout.isatty())))
    if result.header_note:
        remark(redact_text(result.header_note))
    return _tell_cut(result)


def _tell_cut(result: ToolResult) -> int:
    cut = result.metadata.get("truncated")
    if cut is None:
        return 0
    remark(
        f"cut: {cut['kept']:,} of {cut['chars']:,} characters; --max-output-chars {cut['chars']} "
        "prints all, --output FILE writes all, --fields JMESPATH chooses parts."
    )
    return _CUT


def _write(result: ToolResult, output: Path, body: bytes | None) -> None:
    """Write the body of an answer to a file: as it came, or the parts that were chosen."""
    stored, text = result.metadata.get("file"), result.output
    if stored is None and (body is None or result.metadata.keys() & {"shaped", "paging"}):
        body = (text if isinstance(text, str) else dump_json(text)).encode(errors="replace")
    to_stdout = str(output) == "-"
    try:
        with (
            io.BytesIO(body or b"") if stored is None else Path(text["file"]).open("rb") as content,
            nullcontext(sys.stdout.buffer) if to_stdout else output.open("wb") as file,
        ):
            shutil.copyfileobj(content, file)
            file.flush()
            size = content.tell()
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(output)) from None
    if not to_stdout:
        remark(f"{output}: {size:,} bytes, {result.metadata.get('media_type') or 'JSON'}")


async def _preview(toolset: Toolset, tool: OperationTool, given: dict[str, Any]) -> int:
    (session,) = toolset.sessions
    async with toolset:
        _add_credentials(toolset, tool)
        try:
            request = tool.preview(given)
        except OpenAPIToolsError as error:
            kind = error.kind if isinstance(error, CallError) else "invalid_input"
            click.echo(clean(redact_text(f"{kind}: {for_shell(error)}")), err=True)
            return 1
        say(clean(redact_text(str(preview_request(request, tool.name, given)))))
        operation = tool.operation
        if note := session.credentials.masked(operation, session.bounds(operation)).note:
            remark(f"note: {for_shell(note)}")
    return 0


def _user_credentials(toolset: Toolset) -> Any:
    """Return `credentials` of a `Context`: those of `--as`, unless the command line names some."""
    if toolset.session.served is None:  # no server's file
        return None
    from openapi_tools.cli.server_file import credentials_for  # pydantic

    return credentials_for(toolset, are_given=bool(shared.given_credentials()))


def _add_credentials(toolset: Toolset, tool: OperationTool) -> None:
    """Have a preview show the header of the user's own credential; say why there is none."""
    credentials, session = _user_credentials(toolset), toolset.session
    if credentials is not None:
        try:
            session.credentials = session.credentials.overlaid(credentials(tool), session.redactor)
        except CallError as error:
            remark(f"note: {for_shell(error)}")


@shared.command("run", timeout=_LIMITS.seconds, calls=_LIMITS.calls)
def run(
    spec: str, file: str, *, timeout: float, calls: int, yes: bool, mock: bool, **filters: Any
) -> int:
    """Run the program in FILE, in a sandbox, and print its result; - is standard input.

    The program is Python. Each tool of SPEC is an async function of it, and nothing else of this
    machine can be reached.
    """
    if spec == file == "-":
        raise click.UsageError("SPEC and FILE cannot both be read from standard input.")
    problems: list[str] = []
    toolset = shared.selected(loaded(spec, problems if mock else None), **filters)
    limits = CodeLimits(seconds=timeout, calls=calls, output_chars=_OUTPUT)
    programs = toolset.code_tools(limits)
    if not (yes or mock):
        toolset.add_input_guardrails([require_approval()])
    approve = _asking(toolset, can_ask=file != "-" and sys.stdin.isatty())
    context = Context(approve=approve, credentials=_user_credentials(toolset))
    program = {"code": _text_of(file)}

    async def result() -> ToolResult:
        async with programs:
            return await programs["run_code"].execute(program, context=context)

    return _tell(asyncio.run(result()), problems)


def _tell(result: ToolResult, problems: list[str]) -> int:
    """Write the value of a program as JSON, and what it printed to standard error."""
    printed, value = result.metadata.get("printed"), result.output
    if printed:
        click.echo(clean(redact_text(printed)), err=True, nl=not printed.endswith("\n"))
        value = value.get("result") if isinstance(value, dict) else None
    if result.success:
        text = None if value is None else redact_text(as_json(value, pretty=sys.stdout.isatty()))
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

    def approve(call: ToolCall) -> bool:
        if not can_ask:
            raise PermissionError(
                f"{call.name} may change something; without a terminal to ask on, --yes allows "
                "such calls."
            )
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return click.confirm(describe_question(toolset[call.name], call), err=True)
        except click.Abort:
            raise KeyboardInterrupt from None
        finally:
            signal.signal(signal.SIGINT, before)

    return approve
