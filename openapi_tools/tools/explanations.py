"""Why a call failed, where the tool knows more than the server's response says."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from openapi_tools.requests import base_url_with_server_path
from openapi_tools.result import ToolResult

if TYPE_CHECKING:
    from openapi_tools.model import Operation
    from openapi_tools.tools.prepared_call import PreparedCall
    from openapi_tools.tools.session import Session
    from openapi_tools.transport import APIResponse

_SINCE = "after it was read for approval, so nothing was written now; read it again"


def explain_failure(
    result: ToolResult,
    prepared: PreparedCall,
    answer: APIResponse,
    operation: Operation,
    session: Session,
) -> ToolResult:
    """Return the result of a call with the likely reason of its failure, where there is one."""
    if result.error is not None and result.error["type"] == "auth":
        reason = prepared.grant.note or _missing_credential(prepared, answer, operation)
        result = _with_reason(result, reason)
    if answer.status == HTTPStatus.PRECONDITION_FAILED and prepared.changes is not None:
        again = " or by an earlier attempt of this call" if answer.attempts > 1 else ""
        result = _with_reason(result, f"it was changed by another{again} {_SINCE}")
    if answer.status == HTTPStatus.NOT_FOUND and not session.is_placed:
        reason = _missing_base_path(operation, session)
        result = _with_reason(result, prepared.redactor.text(reason))
    return result


def _missing_credential(prepared: PreparedCall, answer: APIResponse, operation: Operation) -> str:
    credentials = prepared.credentials
    if not prepared.grant.auth:
        return credentials.describe_missing(operation)
    return credentials.missing_word(prepared.grant, answer.headers.get("www-authenticate"))


def _missing_base_path(operation: Operation, session: Session) -> str:
    url = base_url_with_server_path(operation, session.settings)
    reason = "base_url lacks the path of the document's own server"
    return f"{reason}; if that is wrong, give Settings(base_url={url!r})" if url else ""


def _with_reason(result: ToolResult, reason: str) -> ToolResult:
    if not reason or result.error is None:
        return result
    facts = dict(result.error)
    kind, message = facts.pop("type"), facts.pop("message")
    return ToolResult.failed(kind, f"{message} ({reason})", metadata=result.metadata, facts=facts)
