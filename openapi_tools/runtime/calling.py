"""A call, from the model's input to the result: accept, validate, build, send, read."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, InputError, OpenAPIToolsError
from openapi_tools.runtime.arguments import Checker, accept, call_id_of
from openapi_tools.runtime.request import build_request
from openapi_tools.runtime.response import read_answer
from openapi_tools.runtime.result import ToolResult
from openapi_tools.runtime.session import open_session

if TYPE_CHECKING:
    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.runtime.session import Session
    from openapi_tools.runtime.tool import OperationTool

logger = logging.getLogger("openapi_tools")


class Caller:
    """Calls one tool.

    Args:
        tool: What is called.
        session: What it shares with other tools; one of its own by default.
    """

    __slots__ = ("_checker", "_session", "_tool")

    def __init__(self, tool: OperationTool, session: Session | None = None) -> None:
        self._tool = tool
        self._session = session or open_session()
        self._checker: Checker | None = None

    async def result(self, given: object) -> ToolResult:
        """Return the answer, or an error result; nothing is raised but cancellation."""
        result = await self._outcome(given)
        return result.for_call(call_id_in(given))

    async def _outcome(self, given: object) -> ToolResult:
        try:
            return await self._call(given)
        except CallError as error:
            return ToolResult.failed(error.kind, error.reason, facts=error.facts)
        except InputError as error:
            return ToolResult.failed("invalid_input", str(error))
        except OpenAPIToolsError as error:
            message = f"{self._tool.name} cannot be called: {error}"
            return ToolResult.failed("invalid_input", message)
        except Exception as error:
            logger.exception("%s failed unexpectedly", self._tool.name)
            kind = type(error).__name__
            message = f"{self._tool.name} failed unexpectedly ({kind}); see the log."
            return ToolResult.failed("protocol", message)

    async def _call(self, given: object) -> ToolResult:
        session = self._session
        operation, arguments = self._accepted(given)
        request = build_request(
            operation,
            arguments,
            settings=session.settings,
            additions=session.credentials.additions(operation),
        )
        answer = await session.sender.send(request)
        result = read_answer(answer, operation, session.settings)
        if result.error is not None and result.error["type"] == "auth":
            result = _with_missing(result, session.credentials.missing(operation))
        if session.check_answer is not None:
            result.metadata["answer_problems"] = session.check_answer(request, answer)
        return result

    def _accepted(self, given: object) -> tuple[Operation, dict[str, Any]]:
        """Return the operation and the arguments, once they fit the input schema."""
        arguments = accept(given, self._session.settings)
        if self._checker is None:
            self._checker = Checker(self._tool.input_schema)
        self._checker.check(arguments)
        return self._tool.operation, arguments

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Do what `OperationTool.preview` says."""
        operation, accepted = self._accepted(arguments)
        additions = self._session.credentials.additions(operation, masked=True)
        return build_request(
            operation, accepted, settings=self._session.settings, additions=additions
        )


def call_id_in(given: object) -> str:
    """Return the id of the call that an input carries; empty when it has none or does not say.

    Args:
        given: What the coordinator handed over; code of its own may run, and fail.
    """
    try:
        return call_id_of(given)
    except Exception:
        logger.exception("the input's call id cannot be read")
        return ""


def _with_missing(result: ToolResult, schemes: tuple[str, ...]) -> ToolResult:
    """Return a refusal that also names the schemes for which no credential was given."""
    if not schemes or result.error is None:
        return result
    facts = dict(result.error)
    kind, message = facts.pop("type"), facts.pop("message")
    names = " or ".join(f"{name!r:.100}" for name in schemes)
    message = f"{message} (no credential was given for {names})"
    return ToolResult.failed(kind, message, metadata=result.metadata, facts=facts)
