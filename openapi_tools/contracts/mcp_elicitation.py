"""Questions to the user of an MCP client: approvals with forms, and logins with addresses.

Spec: Model Context Protocol 2026-07-28 and 2025-11-25, client/elicitation.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import digest_of
from openapi_tools.contracts.mcp_sessions import principal_of
from openapi_tools.errors import OpenAPIToolsError, PendingApproval, require_extra
from openapi_tools.tools.guardrails import make_question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server.context import ServerRequestContext

    from openapi_tools.result import ToolCall, ToolResult

with require_extra("mcp"):
    import anyio
    from mcp import MCPError, types
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

_QUESTIONS = 16  # open ones of one user


class ElicitationChannel:
    """Asks the client's user about one call (MCP, client/elicitation)."""

    def __init__(
        self, request: Any, answers: Any, tool: Any, called: Any, questions: OpenQuestions
    ) -> None:
        self._request = request
        self.answers: dict[str, Any] = dict(answers or {})
        self.requests: dict[str, Any] = {}
        self._tool, self.called = tool, called or {}
        self.questions = questions
        self._is_stateless = request.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def is_open(self) -> bool:
        """Whether the client can ask a user with a form."""
        session = self._request.session
        capabilities = session.client_capabilities
        elicitation = capabilities.elicitation if capabilities else None
        # Spec: client/elicitation, capabilities: an empty object means forms.
        takes_forms = elicitation is not None and (
            elicitation.form is not None or elicitation.url is None
        )
        return takes_forms and (self._is_stateless or session.can_send_request)

    async def approve(self, call: ToolCall) -> bool:
        """Return whether the client's user approves; raises until a stateless client has asked."""
        form = {"type": "object", "properties": {}}
        question = await make_question(self.called.get(call.name, self._tool), call)
        answer: Any = None
        if not self._is_stateless:
            with suppress(MCPError), self.questions.open_question(question_owner(self._request)):
                session, asked_for = self._request.session, self._request.request_id
                answer = await session.elicit_form(question, form, asked_for)
        else:
            # The key makes a reply valid only for an equal call in the same state.
            identity = [call.name, call.arguments, call.changes and call.changes.etag]
            key = f"approve-{digest_of(identity)[:32]}"
            answer = self.answers.pop(key, None)
            if answer is None:
                request = {"mode": "form", "message": question, "requestedSchema": form}
                self.requests[key] = {"method": "elicitation/create", "params": request}
                raise PendingApproval(question)
        return getattr(answer, "action", None) == "accept"

    def input_required(self, result: ToolResult) -> types.InputRequiredResult | None:
        """Return the questions that a stateless client must answer first; None without any."""
        if not self.requests or "calls" in result.metadata:  # a program that has ended
            return None
        asked = {"inputRequests": self.requests, "requestState": result.metadata.get("run")}
        return types.InputRequiredResult.model_validate(asked)


async def wait_for_login(result: ToolResult, request: Any, channel: Any, wait: Any) -> bool:
    """Show the client's user where to log in for a call, and return whether `wait` confirms it."""
    login = (result.error or {}).get("login")
    elicitation = getattr(request.session.client_capabilities, "elicitation", None)
    if not login or wait is None or getattr(elicitation, "url", None) is None:
        return False  # the result names the page
    message, url = "This call needs you to log in.", login["url"]
    key, answer = f"login-{login['id']}", None
    if request.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer = channel.answers.pop(key, None)
        if answer is None:
            params = {"mode": "url", "message": message, "url": url}
            channel.requests[key] = {"method": "elicitation/create", "params": params}
    elif request.session.can_send_request:
        with suppress(MCPError), channel.questions.open_question(question_owner(request)):
            answer = await request.session.elicit_url(
                message=message,
                url=url,
                elicitation_id=login["id"],
                related_request_id=request.request_id,
            )
    if getattr(answer, "action", None) != "accept":
        return False
    try:
        return bool(await wait(login["id"]))
    except OpenAPIToolsError:  # the shared state is away: the result names the page
        return False


def question_owner(request: ServerRequestContext[Any]) -> Any:
    """Return the owner of a question: the user, or the session of an anonymous caller."""
    user = None if request.request is None else principal_of(request.request.scope)
    return id(request.session.client_params) if user is None else user


class OpenQuestions:
    """The open questions to people, a few for each user; above that, the oldest is declined."""

    def __init__(self) -> None:
        self._shares: dict[Any, OrderedDict[object, Callable[[], object]]] = {}

    @contextmanager
    def open_question(self, user: Any) -> Iterator[None]:
        """Hold a slot of a user; the body is cancelled if a newer question takes the slot."""
        with anyio.CancelScope() as scope:
            scopes = self._shares.setdefault(user, OrderedDict())
            scopes[scope] = scope.cancel
            try:
                if len(scopes) > _QUESTIONS:
                    _, cancel = scopes.popitem(last=False)
                    cancel()
                yield
            finally:
                scopes.pop(scope, None)
                if not scopes:
                    self._shares.pop(user, None)
