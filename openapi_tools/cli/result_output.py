"""The result of a call on standard output or in a file, with notes about it."""

from __future__ import annotations

import io
import shutil
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from openapi_tools.cli.option_names import use_option_names
from openapi_tools.cli.output import (
    clean,
    format_json,
    print_failure,
    print_json,
    print_note,
    print_text,
)
from openapi_tools.common.json_values import dump_json
from openapi_tools.errors import OutputError, format_count
from openapi_tools.redaction import redact_text

if TYPE_CHECKING:
    from openapi_tools.result import ToolResult

INCOMPLETE = 3
"""The exit code of a result of which a part is missing."""


def print_result(
    result: ToolResult,
    problems: list[str],
    *,
    output: Path | None = None,
    body: bytes | None = None,
    hint: str = "",
) -> int:
    """Write a result, or a failure to standard error, and return the exit code.

    Args:
        result: The result.
        problems: The faults of requests that a mock has found.
        output: A file for the body.
        body: The body of the response as it came, if it was captured.
        hint: What a user may do about a failure.
    """
    for problem in problems:
        reason = problem.removeprefix("not judged: ")
        kind = "openapi-core" if reason == problem else "note: request not checked"
        print_note(redact_text(f"{kind}: {reason}"))
    if result.is_error:
        _print_failure(result, hint)
        return 1
    if output is not None:
        _write_body(result, output, body)
    elif isinstance(result.output, str):
        print_text(redact_text(clean(result.output) if sys.stdout.isatty() else result.output))
    elif result.output is not None:
        print_json(redact_text(format_json(result.output, pretty=sys.stdout.isatty())))
    if result.header_note:
        print_note(redact_text(result.header_note))
    return _report_truncation(result)


def _print_failure(result: ToolResult, hint: str) -> None:
    if "paging" in result.metadata:  # the items before the failure
        print_json(redact_text(format_json(result.output, pretty=sys.stdout.isatty())))
    error = result.error or {}
    kind = f"{error.get('type', 'error')} {error.get('status') or ''}".rstrip()
    text = f"{kind}: {use_option_names(error.get('message', result))} {hint}".rstrip()
    print_failure(redact_text(text))


def _report_truncation(result: ToolResult) -> int:
    cut = result.metadata.get("truncated")
    if cut is None:
        return 0
    print_note(
        f"cut: {cut['kept']:,} of {cut['chars']:,} characters; --max-output-chars {cut['chars']} "
        "prints all of them, --output FILE writes them, --fields JMESPATH selects parts."
    )
    return INCOMPLETE


def _write_body(result: ToolResult, output: Path, body: bytes | None) -> None:
    stored, text = result.metadata.get("file"), result.output
    if stored is None and (body is None or result.metadata.keys() & {"shaped", "paging"}):
        body = (text if isinstance(text, str) else dump_json(text)).encode(errors="replace")
    to_stdout = str(output) == "-"
    is_new = not to_stdout and not output.exists()
    try:
        with (
            io.BytesIO(body or b"") if stored is None else Path(text["file"]).open("rb") as content,
            nullcontext(sys.stdout.buffer) if to_stdout else output.open("wb") as file,
        ):
            shutil.copyfileobj(content, file)
            file.flush()
            size = content.tell()
    except OSError as error:
        if is_new:  # the disk may be full
            with suppress(OSError):
                output.unlink()
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(output)) from None
    if not to_stdout:
        print_note(f"{output}: {size:,} bytes, {result.metadata.get('media_type') or 'JSON'}")


def print_headers(result: ToolResult) -> None:
    """Write the status, the number of pages and the headers to standard error."""
    metadata = result.metadata
    if "status" in metadata:
        print_note(f"{metadata['status']} {metadata['media_type']}".rstrip())
    if paging := metadata.get("paging"):
        items, pages = format_count(paging["items"], "item"), format_count(paging["pages"], "page")
        print_note(f"{items} in {pages}")
    for name, value in metadata.get("headers", {}).items():
        print_note(redact_text(f"{name}: {value}"))
