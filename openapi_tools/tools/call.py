"""The state of a call: its input, what the steps found out, and the response."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

    from openapi_tools.auth import CallCredentials, Credentials
    from openapi_tools.redaction import Redactor
    from openapi_tools.responses.response_shape import ResponseShaper
    from openapi_tools.result import Changes
    from openapi_tools.tools.tool_protocol import Tool
    from openapi_tools.transport import APIResponse


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What only this package asks of a call, beside its arguments and its context.

    Attributes:
        wait: Seconds to wait for the end of a long-running operation.
        address: Of a page or of a long-running operation, in place of the operation's own.
        is_page: The response is one page of several.
        is_linked: The page before it named its address.
        is_poll: The request asks for the state of a long-running operation.
    """

    wait: float | None = None
    address: str = ""
    is_page: bool = False
    is_linked: bool = False
    is_poll: bool = False


DEFAULT_OPTIONS = CallOptions()


# No repr shows its fields: frames of tracebacks hold calls, and those hold credentials.
@dataclass(slots=True, eq=False, repr=False)
class Call:
    """One call of a tool; each step of `Caller` fills what the next ones need.

    Attributes:
        tool: The tool that is called.
        input: The model's arguments as they came.
        context: As for `OperationTool.execute`.
        profile: Of the definition that the model saw; None for the tool's own schema.
        options: Beside arguments and context.
        id: Of the call, repeated in its result.
        arguments: They fit the tool's schema; then with those that the configuration adds.
        redactor: Knows the session's secrets and those of this call.
        user_credentials: The session's, or the context's over them.
        user: Whom the context names; empty for nobody.
        wait: Seconds to wait for the end of a long-running operation.
        shaper: Makes the response smaller.
        returns_all: The result has all items: it is for a program, or one page.
        most_bytes: Of the response; 0 for what the settings say.
        idempotency_key: For the header in which the API takes one.
        changes: What the call changes, where that was read before.
        credentials: Those of them that the operation needs.
        request: The last one that was sent.
        response: To that request.
        follow_up: The reader that found the next page or a long-running operation.
    """

    tool: Tool
    input: object
    context: Any = None
    profile: str | None = None
    options: CallOptions = DEFAULT_OPTIONS
    id: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    user: str = ""
    wait: float | None = None
    shaper: ResponseShaper | None = None
    returns_all: bool = False
    most_bytes: int = 0
    idempotency_key: str = ""
    changes: Changes | None = None
    request: httpx.Request | None = None
    follow_up: Any = None
    redactor: Redactor = field(init=False)
    user_credentials: Credentials = field(init=False)
    credentials: CallCredentials = field(init=False)
    response: APIResponse = field(init=False)


# The class of a user's tool may override `run`, and give `super().run` a tool call of its own: the
# options of the call pass such code by.
guarded_call: ContextVar[Call | None] = ContextVar("openapi_tools_guarded_call", default=None)
