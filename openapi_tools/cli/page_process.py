"""The process of `openapi-tools browse`: a page on loopback, until interrupted."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING, Any

from openapi_tools.browse.page_server import PageServer
from openapi_tools.cli.output import print_note, print_text
from openapi_tools.errors import counted
from openapi_tools.http_server import LOOPBACK
from openapi_tools.serving.web_server import listening, run_app

if TYPE_CHECKING:
    from openapi_tools.tools.toolset import Toolset

_HOST = "127.0.0.1"


def serve_page(
    toolset: Toolset,
    port: int,
    *,
    opens: bool,
    problems: list[str] | None,
    changes: list[dict[str, Any]] | None,
) -> None:
    """Serve the page of a toolset, and open it in the browser if that is asked for."""
    with listening(_HOST, port) as place:
        hosts = [f"{name}:{place.getsockname()[1]}" for name in LOOPBACK]
        app = PageServer(toolset, hosts, problems=problems, changes=changes)
        url = f"http://{hosts[0]}/?key={app.key}"
        print_text(url)
        print_note(f"{counted(len(toolset), 'tool')}; press Ctrl-C to stop the server.")
        if opens and not webbrowser.open(url):
            print_note("no browser could be opened; open the URL above.")
        run_app(app, place, toolset)
