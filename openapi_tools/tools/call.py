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
    """How this package itself makes a call; users set its arguments and its context.

    Attributes:
        wait: Seconds to wait for the end of a long-running operation.
        address: The URL of a page or a long-running operation; empty for the operation's own URL.
        is_page: The response is one page of several.
        is_linked: The previous page named the address.
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
    """One call of a tool; each step of `Caller` fills in what the next ones need.

    Attributes:
        tool: The tool that is called.
        input: The model's arguments, unchecked.
        context: The context, as `OperationTool.execute` takes it.
        profile: The profile of the definition that the model saw; None for the tool's own schema.
        options: How this package itself makes the call.
        id: The id of the call, which its result repeats.
        arguments: The checked arguments; later also those that the configuration adds.
        user: The user that the context names; empty for none.
        wait: Seconds to wait for the end of a long-running operation.
        shaper: Makes the response smaller.
        returns_all: The result has all items, as it is for a program or is one page of several.
        most_bytes: The largest response; 0 for the limit in the settings.
        idempotency_key: The value of the API's idempotency header.
        changes: What the call changes, if that was read before approval.
        request: The last request that was sent.
        follow_up: The reader that found the next page or a long-running operation.
        redactor: Masks the secrets of the session and of this call.
        user_credentials: The session's credentials, overridden by those of the context.
        credentials: The ones among them that the operation needs.
        response: The response to `request`.
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


# A user's class may override `run` and pass `super().run` a tool call of its own. This variable
# carries the options of the call past such code.
guarded_call: ContextVar[Call | None] = ContextVar("openapi_tools_guarded_call", default=None)
