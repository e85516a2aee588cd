"""Which calls of a tool a coordinator asks a person about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.common.options import context_value
from openapi_tools.errors import OpenAPIToolsError
from openapi_tools.result import context_for
from openapi_tools.tools.guardrails import asks_about, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from openapi_tools.common.options import Select
    from openapi_tools.tools.tool import OperationTool


class CallApproval:
    """Says of each call whether it waits for a person.

    Args:
        tool: The tool, which may call others.
        toolset: Where it is from.
        approval: True for all tools, a `Select` or a function of the tool; in addition to tools
            with a guardrail of `require_approval`.
        context: A `Context`, or a function of the coordinator's run that returns one.

    Raises:
        SettingsError: `approval` is not a rule.
    """

    def __init__(
        self,
        tool: OperationTool,
        toolset: Iterable[OperationTool],
        approval: bool | Select | Callable[[OperationTool], bool] | None,
        context: Any,
    ) -> None:
        self._tool, self._context = tool, context
        self._rule: Callable[..., bool] = rule_of(False if approval is None else approval)
        self._is_selected = asks_about(self._rule, tool, toolset)
        called: Any = getattr(toolset, "called", ()) if tool.calls_another else (tool,)
        self.is_possible = self._is_selected or any(
            self._rule(each) or each.needs_approval for each in called
        )

    async def is_needed(self, run: Any, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call waits: not if its arguments are wrong or the context approves."""
        called, called_arguments = self._tool.target_tool(arguments)
        try:
            called.check(dict(called_arguments))
        except OpenAPIToolsError:
            return False
        if self._is_selected or self._rule(called):
            return True
        if not called.needs_approval:
            return False
        return context_value(await context_for(self._context, run), "approve") is None
