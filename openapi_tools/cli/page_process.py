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
    from collections.abc import Callable

    from openapi_tools.toolsets.toolset import Toolset

_HOST = "127.0.0.1"


def serve_page(
    toolset: Toolset,
    port: int,
    *,
    opens: bool,
    problems: list[str] | None,
    changes: list[dict[str, Any]] | None,
    announce: Callable[[str], object] | None = None,
) -> None:
    """Serve the page of a toolset until interrupted.

    Args:
        toolset: Its tools.
        port: The port of 127.0.0.1; 0 for a free one.
        opens: Whether to open the page in the browser.
        problems: As for `PageServer`.
        changes: As for `PageServer`.
        announce: Prints the URL; by default alone on its line, with the number of tools.
    """
    escape_last_resort()  # log records may quote a document or an API
    with web_server.open_socket(_HOST, port) as listener:
        hosts = [f"{name}:{listener.getsockname()[1]}" for name in LOOPBACK]
        app = PageServer(toolset, hosts, problems=problems, changes=changes)
        url = f"http://{hosts[0]}/?key={app.key}"
        report = announce or partial(_print_page, format_count(len(toolset), "tool"))
        start = partial(_announce_page, report, url, opens=opens)
        web_server.run_app(app, listener, toolset, announce=start)


def _print_page(tools: str, url: str) -> None:
    print_text(url)
    print_note(f"{tools}; press Ctrl-C to stop the server.")


def _announce_page(report: Callable[[str], object], url: str, *, opens: bool) -> None:
    report(url)
    if opens:  # in a thread: a browser in the terminal blocks until it is closed
        threading.Thread(target=_open_browser, args=(url,), daemon=True).start()


def _open_browser(url: str) -> None:
    if not webbrowser.open(url):
        print_note("no browser could be opened; open the URL above.")
