"""Tools for commands that call them: over the network, or against the document as a mock."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from openapi_tools.cli.command_options import read_setting_options
from openapi_tools.cli.credential_options import read_credential_options
from openapi_tools.cli.option_names import use_option_names
from openapi_tools.cli.output import print_note
from openapi_tools.cli.tool_loading import load_spec
from openapi_tools.errors import CallError, missing_extra_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.testing.mock import MockApi
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset


def load_for_calls(
    spec: str | None, problems: list[str] | None, settings: Mapping[str, Any] | None = None
) -> Toolset:
    """Load the tools of SPEC.

    Args:
        spec: The argument SPEC.
        problems: A list, which gets the faults of requests, to have the document itself respond to
            calls; None to send them.
        settings: Settings that override those of the command line.
    """
    if problems is None:
        return load_spec(spec, settings)
    toolset, api = load_mock(spec, settings, judge=None)
    api.problems = problems
    if find_spec("openapi_core") is None:
        problems.append(f"not judged: {missing_extra_error('openapi_core', 'testing')}")
    toolset.session.has_responded = True  # a 404 of the mock is the document's
    return toolset


def load_mock(
    spec: str | None, settings: Mapping[str, Any] | None = None, *, judge: bool | None
) -> tuple[Toolset, MockApi]:
    """Load the tools of SPEC, and the mock of their API at --base-url if that is set."""
    from openapi_tools.testing.mock import ADDRESS, mock_api  # most calls go to the API itself

    # The document is fetched before calls go to the mock: its credentials belong to its origin.
    toolset = load_spec(spec, settings)
    base_url = read_setting_options().get("base_url") or ADDRESS
    base_path = f"/{base_url.partition('://')[2].partition('/')[2]}"
    api = mock_api(toolset, judge=judge, refuse=False, state=False, base_path=base_path)
    toolset.session.replace_api(api.client(), base_url)
    toolset.session.served = None  # its users' credentials are not needed either
    return toolset, api


def user_credentials(toolset: Toolset) -> Any:
    """Return `credentials` of a `Context`: those of `--as`, unless the command line has some."""
    view: Any = toolset.session.served  # the `ServerView`, if SPEC is a server configuration
    if view is None or read_credential_options():
        return None
    return view.context_credentials(toolset)


def add_user_credentials(toolset: Toolset, tool: OperationTool) -> None:
    """Have previews show the header of the user's own credential; report why there is none."""
    credentials, session = user_credentials(toolset), toolset.session
    if credentials is not None:
        try:
            session.credentials = session.credentials.with_overlay(
                credentials(tool), session.redactor
            )
        except CallError as error:
            print_note(f"note: {use_option_names(error)}")
