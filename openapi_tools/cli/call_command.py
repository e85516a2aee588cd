"""`openapi-tools call`: one call of one tool, or a preview of its request."""

from __future__ import annotations

import asyncio
import os
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.argument_values import read_arguments, read_json_option
from openapi_tools.cli.command_options import read_setting_options
from openapi_tools.cli.credential_options import read_credential_options
from openapi_tools.cli.mock_tools import add_user_credentials, load_for_calls, user_credentials
from openapi_tools.cli.option_names import CREDENTIAL_OPTIONS, use_option_names
from openapi_tools.cli.output import clean, print_failure, print_note, print_text
from openapi_tools.cli.progress import show_progress
from openapi_tools.cli.result_output import INCOMPLETE, print_headers, print_result
from openapi_tools.cli.tool_loading import connection_hint, find_tool
from openapi_tools.common.setting_fields import SettingFields
from openapi_tools.errors import CallError, OpenAPIToolsError, OutputError
from openapi_tools.redaction import redact_text
from openapi_tools.requests import preview_request
from openapi_tools.responses.json_queries import apply_expression, parse_expression
from openapi_tools.result import Context, ToolResult
from openapi_tools.tools.argument_names import find_api_names

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset
    from openapi_tools.transport import APIResponse

# The end of a warning about a variable of a configuration.
_UNSET = "is not set; calls go without it."


def call_tool(
    spec: str,
    tool: str,
    arguments: tuple[str, ...],
    *,
    json_input: str | None,
    **options: Any,
) -> int:
    """Call TOOL of SPEC and print its result, or preview the request."""
    if options["dry_run"] and options["mock"]:
        raise click.UsageError(
            "--dry-run sends nothing, so --mock has nothing to respond to; choose one."
        )
    if [spec, json_input, *(pair.partition("=@")[2] for pair in arguments)].count("-") > 1:
        raise click.UsageError("SPEC and --json cannot both be read from standard input.")
    output: Path | None = options["output"]
    # Before the call: a write that was made must not fail at its output.
    if output is not None and not options["force"] and os.path.lexists(output):  # or a link
        raise OutputError("the file exists; --force overwrites it.", path=str(output))
    problems: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        settings = _limit_settings(output, folder, arguments)
        toolset = load_for_calls(spec, problems if options["mock"] else None, settings)
        for warning in toolset.warnings:
            if warning.endswith(_UNSET):
                print_note(f"warning: {use_option_names(warning)}")
        target = find_tool(toolset, tool)
        values = read_json_option(json_input) if json_input is not None else {}
        schema = target.input_schema
        names = find_api_names(target.operation, schema["properties"])
        values = read_arguments(arguments, schema, names, values)
        if options["dry_run"]:
            return asyncio.run(_preview_call(toolset, target, values))
        return asyncio.run(_execute_call(toolset, target, values, problems, options))


def _limit_settings(output: Path | None, folder: str, arguments: tuple[str, ...]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if output is not None:  # the complete response, binary content in a file
        most = read_setting_options().get("max_file_bytes", SettingFields.max_file_bytes)
        settings = {"max_response_bytes": most, "max_output_chars": most, "download_dir": folder}
    # A file is base64 in the arguments, a third longer than itself.
    if any("=@" in pair for pair in arguments):
        settings["max_input_chars"] = 2 * SettingFields.max_file_bytes
    return settings


async def _execute_call(
    toolset: Toolset,
    tool: OperationTool,
    arguments: dict[str, Any],
    problems: list[str],
    options: dict[str, Any],
) -> int:
    bodies: list[bytes] = []
    (session,) = toolset.sessions
    waits = options["wait"] or tool.operation.wait or session.settings.wait
    if options["output"] is not None and not waits:
        session.check_exchange = partial(_capture_body, bodies)
    async with toolset:
        with show_progress(f"Calling {tool.name}"):
            result, is_complete = await _get_result(toolset, tool, arguments, options)
    if options["include"]:
        print_headers(result)
    body = session.redactor.content(bodies[-1]) if bodies else None
    hint = _failure_hint(result, tool, session.settings)
    code = print_result(result, problems, output=options["output"], body=body, hint=hint)
    return code or (0 if is_complete else INCOMPLETE)


def _capture_body(bodies: list[bytes], _: httpx.Request, response: APIResponse) -> list[str]:
    bodies.append(response.content)
    return []


def _failure_hint(result: ToolResult, tool: OperationTool, settings: Settings) -> str:
    error = result.error or {}
    if error.get("type") == "auth" and not (tool.operation.security or read_credential_options()):
        return f"The document does not say which credentials are needed; pass {CREDENTIAL_OPTIONS}."
    return connection_hint(
        str(error.get("message", "")),
        uses_proxy=settings.trust_env,
        alternative=", or set --base-url",
    )


async def _get_result(
    toolset: Toolset, tool: OperationTool, arguments: dict[str, Any], options: dict[str, Any]
) -> tuple[ToolResult, bool]:
    credentials = user_credentials(toolset)
    if not options["all_pages"] and options["limit"] is None:
        context = Context(fields=options["fields"], wait=options["wait"], credentials=credentials)
        return await tool.execute(arguments, context=context), True
    if options["fields"]:
        parse_expression(options["fields"])  # raises before anything is sent
    context = Context(wait=options["wait"], credentials=credentials)
    pages = toolset.pages(tool.name, arguments, max_items=options["limit"], context=context)
    result = await pages.collect()
    if pages.reason == "no_items":
        reason = "the response contains no list; call without --all-pages and --limit."
        return ToolResult.failed("invalid_input", reason), True
    if tool.operation.paging is None and pages.pages == 1:
        print_note(
            f"note: the document has no paging for {tool.name}; this is the list of one response."
        )
    if options["fields"] and result.success:
        try:
            items = apply_expression(options["fields"], result.output)
        except ValueError as error:
            raise click.UsageError(f"--fields: {error}.") from None
        result = ToolResult.ok(items, result.metadata, header_note=result.header_note)
    return result, pages.reason in ("complete", "max_items")


async def _preview_call(toolset: Toolset, tool: OperationTool, arguments: dict[str, Any]) -> int:
    (session,) = toolset.sessions
    async with toolset:
        add_user_credentials(toolset, tool)
        try:
            request = tool.preview(arguments)
        except OpenAPIToolsError as error:
            kind = error.kind if isinstance(error, CallError) else "invalid_input"
            print_failure(redact_text(f"{kind}: {use_option_names(error)}"))
            return 1
        print_text(clean(redact_text(str(preview_request(request, tool.name, arguments)))))
        operation = tool.operation
        if note := session.credentials.mask(operation, session.origin_policy(operation)).note:
            print_note(f"note: {use_option_names(note)}")
    return 0
