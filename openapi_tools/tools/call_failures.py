"""Failures of calls as error results, with the reason where the tool knows more of it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from openapi_tools import errors
from openapi_tools.common.options import context_value
from openapi_tools.redaction import redact_error
from openapi_tools.requests import base_url_with_server_path
from openapi_tools.result import ToolResult

if TYPE_CHECKING:
    from openapi_tools.tools.call import Call
    from openapi_tools.tools.session import Session

_CHANGED = "after it was read for approval, so nothing was written now; read it again"


class ResponseError(errors.CallError):
    """An error response of the API; `result` holds it."""

    def __init__(self, result: ToolResult) -> None:
        facts = dict(result.error or {})
        kind, reason = facts.pop("type", "protocol"), facts.pop("message", str(result))
        super().__init__(kind, reason, **facts)
        self.result = result


def error_result(error: Exception, tool_name: str) -> ToolResult:
    """Return an exception as an error result."""
    match error:
        case ResponseError():
            return error.result
        case errors.CallError():
            attempts = {"attempts": error.attempts} if error.attempts else None
            return ToolResult.failed(error.kind, error.reason, metadata=attempts, facts=error.facts)
        case errors.InputError():
            return ToolResult.failed("invalid_input", str(error))
        case errors.CredentialsError():
            return ToolResult.failed("credentials", str(error))
        case errors.OpenAPIToolsError():
            # Without the source of a document, which may be a path of this machine.
            pointer = getattr(error, "pointer", "")
            reason = f"{pointer}: {error.reason}" if pointer else error.reason
            message = f"{tool_name} cannot be called: {reason}"
            return ToolResult.failed("invalid_input", message)
    message = f"{tool_name} failed unexpectedly ({type(error).__name__}); see the log."
    return ToolResult.failed("protocol", message)


def hide_secrets(error: errors.OpenAPIToolsError, call: Call) -> None:
    """Mask the secrets of a call in an error, and leave out local folders for a remote client."""
    if isinstance(error, errors.CallError) and context_value(call.context, "remote") is True:
        error.leave_out_folder()
    redact_error(error, call.redactor)


def explain_failure(result: ToolResult, call: Call, session: Session) -> ToolResult:
    """Return an error result with the likely reason, where there is one."""
    # The server's message says what it refused, not what the caller can change.
    status, error = call.response.status, result.error
    if error is not None and error["type"] == "auth":
        result = _add_reason(result, call.credentials.note or _missing_credential(call))
    # RFC 9110, section 15.5.13, for the `If-Match` that was sent with a write.
    if status == HTTPStatus.PRECONDITION_FAILED and call.changes is not None:
        again = " or by an earlier attempt of this call" if call.response.attempts > 1 else ""
        result = _add_reason(result, f"it was changed by another{again} {_CHANGED}")
    if status == HTTPStatus.NOT_FOUND and not session.has_responded:
        result = _add_reason(result, call.redactor.text(_missing_base_path(call, session)))
    return result


def _missing_credential(call: Call) -> str:
    if not call.credentials.auth:
        return call.user_credentials.describe_missing(call.tool.operation)
    challenge = call.response.headers.get("www-authenticate")
    return call.user_credentials.describe_missing_prefix(call.credentials, challenge)


def _missing_base_path(call: Call, session: Session) -> str:
    url = base_url_with_server_path(call.tool.operation, session.settings)
    reason = "base_url does not have the path of the document's own server"
    return f"{reason}; if it should have it, set Settings(base_url={url!r})" if url else ""


def _add_reason(result: ToolResult, reason: str) -> ToolResult:
    if not reason or result.error is None:
        return result
    facts = dict(result.error)
    kind, message = facts.pop("type"), facts.pop("message")
    return ToolResult.failed(kind, f"{message} ({reason})", metadata=result.metadata, facts=facts)
