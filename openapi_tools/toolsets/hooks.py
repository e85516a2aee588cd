"""Functions of the user that take part in the calls of every tool of a toolset."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from openapi_tools.common.options import list_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openapi_tools.observability.events import Event
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.tool import OperationTool


class ToolHooks:
    """Adds guardrails and subscriptions to the tools of a toolset."""

    @property
    def called(self) -> Iterable[OperationTool]:
        """The tools that call an API."""
        raise NotImplementedError

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions of their documents."""
        raise NotImplementedError

    def add_input_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions that pass, change or refuse calls; approval to the tools it is for.

        Raises:
            SettingsError: They are not functions.
        """
        functions = list_functions(guardrails, "guardrails")
        for tool in self.called:
            tool.add_input_guardrails(functions)

    def add_output_guardrails(self, guardrails: Iterable[Callable[..., Any]]) -> None:
        """Add functions that pass, change or withhold results, as input guardrails are added."""
        functions = list_functions(guardrails, "guardrails")
        for tool in self.called:
            tool.add_output_guardrails(functions)

    def add_on_error_func(self, on_error_func: Callable[..., Any]) -> None:
        """Add a function for failures to each tool."""
        for tool in self.called:
            tool.add_on_error_func(on_error_func)

    def subscribe(self, function: Callable[[Event], object]) -> Callable[[], None]:
        """Have a function called with the events of each call: started, retry, completed, error.

        It is called in the task of the call, so it must be quick; its exceptions are logged once.

        Returns:
            A function that unsubscribes.

        Raises:
            SettingsError: It is a coroutine function.
        """
        subscriptions = ExitStack()
        for session in self.sessions:
            subscriptions.callback(session.observers.subscribe(function))
        return subscriptions.close
