"""The process of `openapi-tools browse`: a page on loopback, until interrupted."""

from __future__ import annotations

import threading
import webbrowser
from functools import partial
from typing import TYPE_CHECKING, Any

from openapi_tools.browse.page_server import PageServer
from openapi_tools.cli.output import print_note, print_text
from openapi_tools.errors import format_count
from openapi_tools.http_server import LOOPBACK
from openapi_tools.serving import web_server
from openapi_tools.serving.server_records import escape_last_resort

if TYPE_CHECKING:
    from openapi_tools.toolsets.toolset import Toolset

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
    escape_last_resort()  # log records may quote a document or an API
    with web_server.open_socket(_HOST, port) as listener:
        hosts = [f"{name}:{listener.getsockname()[1]}" for name in LOOPBACK]
        app = PageServer(toolset, hosts, problems=problems, changes=changes)
        url = f"http://{hosts[0]}/?key={app.key}"
        announce = partial(_announce_page, url, format_count(len(toolset), "tool"), opens=opens)
        web_server.run_app(app, listener, toolset, announce=announce)


def _announce_page(url: str, tools: str, *, opens: bool) -> None:
    print_text(url)
    print_note(f"{tools}; press Ctrl-C to stop the server.")
    if opens:  # in a thread: a browser in the terminal blocks until it is closed
        threading.Thread(target=_open_browser, args=(url,), daemon=True).start()


def _open_browser(url: str) -> None:
    if not webbrowser.open(url):
        print_note("no browser could be opened; open the URL above.")
