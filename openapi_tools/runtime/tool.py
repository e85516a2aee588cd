"""A tool: one operation that a model can call.

From the model's input to the result in one screen: accept, validate, build, send, read.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.errors import CallError, InputError, OpenAPIToolsError
from openapi_tools.runtime.arguments import Checker, accept, call_id_of
from openapi_tools.runtime.request import build_request
from openapi_tools.runtime.response import read_answer
from openapi_tools.runtime.result import ToolResult
from openapi_tools.runtime.sending.faults import is_idempotent, is_safe

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.runtime.auth import Credentials
    from openapi_tools.runtime.send import Answer, Sender
    from openapi_tools.runtime.settings import Settings

logger = logging.getLogger("openapi_tools")


class Definition(Protocol):
    """What a tool is made of; built when it is first looked at."""

    name: str

    @property
    def method(self) -> str:
        """Upper case."""
        ...

    @property
    def path(self) -> str:
        """As in the document."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's grouping."""
        ...

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        ...

    @property
    def description(self) -> str:
        """For the model."""
        ...

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12."""
        ...

    @property
    def operation(self) -> Operation:
        """How it is called."""
        ...


@dataclass(slots=True, eq=False)
class Session:
    """What the tools of one toolset share when they are called.

    Attributes:
        settings: As given by the user.
        credentials: As given by the user.
        sender: Holds the connections.
        check_answer: Compares an answer with the document; gives what does not fit.
    """

    settings: Settings
    credentials: Credentials
    sender: Sender
    check_answer: Callable[[httpx.Request, Answer], list[str]] | None = None


class OperationTool:
    """One operation of a document as a tool.

    Attributes:
        name: Unique in its toolset, `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`.
        description: For the model; plain text, never empty.
        input_schema: JSON Schema 2020-12 of the input: a closed object at the root. It is shared;
            `get_schema()` gives a copy.
        operation: How the API is called, as plain data.
    """

    __slots__ = ("_checker", "_definition", "_session")

    def __init__(self, definition: Definition, session: Session) -> None:
        self._definition = definition
        self._session = session
        self._checker: Checker | None = None

    @property
    def name(self) -> str:
        """Unique in its toolset."""
        return self._definition.name

    @property
    def description(self) -> str:
        """For the model; plain text, never empty."""
        return self._definition.description

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the input; shared, so do not change it."""
        return self._definition.input_schema

    @property
    def operation(self) -> Operation:
        """How the API is called, as plain data."""
        return self._definition.operation

    @property
    def method(self) -> str:
        """The HTTP method, upper case."""
        return self._definition.method

    @property
    def path(self) -> str:
        """The path as in the document."""
        return self._definition.path

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's grouping."""
        return self._definition.tags

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        return self._definition.deprecated

    @property
    def read_only(self) -> bool:
        """Whether a call changes nothing (RFC 9110, section 9.2.1)."""
        return is_safe(self.method)

    @property
    def idempotent(self) -> bool:
        """Whether two equal calls do no more than one (RFC 9110, section 9.2.2)."""
        return is_idempotent(self.method)

    @property
    def destructive(self) -> bool:
        """Whether a call may change or delete things: the careful guess for all but reads."""
        return not self.read_only

    @property
    def parallel_safe(self) -> bool:
        """Whether it may run beside other calls: true for reads."""
        return self.read_only

    @property
    def strict(self) -> bool:
        """Whether every argument is required and none is optional."""
        schema = self.input_schema
        return len(schema.get("required", ())) == len(schema["properties"])

    def get_schema(self) -> dict[str, Any]:
        """Return a copy of the input schema."""
        import copy

        return copy.deepcopy(self.input_schema)

    def __repr__(self) -> str:
        return f"<tool {self.name}: {self.method} {self.path}>"

    async def execute(
        self,
        input: dict[str, Any],  # noqa: A002 -- the contract's name
        *,
        context: Any = None,  # noqa: ARG002 -- the contract's; guards and approval will read it
    ) -> ToolResult:
        """Call the API.

        Args:
            input: The arguments as JSON-native data, as the input schema describes them; a
                `_tool_call_id` is taken out and given back in the result. It is not changed.
            context: Whatever belongs to this one call.

        Returns:
            The answer, or an error result; nothing is raised but cancellation.
        """
        result = await self._outcome(input)
        return result.for_call(call_id_in(input))

    async def _outcome(self, given: object) -> ToolResult:
        try:
            return await self._call(given)
        except CallError as error:
            return ToolResult.failed(error.kind, error.reason, facts=error.facts)
        except InputError as error:
            return ToolResult.failed("invalid_input", str(error))
        except OpenAPIToolsError as error:
            return ToolResult.failed("invalid_input", f"{self.name} cannot be called: {error}")
        except Exception as error:
            logger.exception("%s failed unexpectedly", self.name)
            message = f"{self.name} failed unexpectedly ({type(error).__name__}); see the log."
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
            self._checker = Checker(self.input_schema)
        self._checker.check(arguments)
        return self.operation, arguments

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request that a call would send, with `***` in place of credentials.

        Args:
            arguments: As for `execute`.

        Raises:
            InputError: The arguments do not fit.
            CallError: There is no server to send it to.
        """
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
