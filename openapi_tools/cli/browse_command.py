"""`openapi-tools browse` shows the tools of a document as a page, on this machine or in a file."""

from __future__ import annotations

import webbrowser
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli import busy, command, remark, say
from openapi_tools.cli import command_options as shared

if TYPE_CHECKING:
    from openapi_tools.tools.toolset import Toolset

_HOST = "127.0.0.1"


@command("browse")
@click.argument("spec", required=False)
@click.option(
    *("--port",), type=click.IntRange(0, 65535), default=0,
    help="Listen on this port of 127.0.0.1; a free one by default.",
)  # fmt: skip
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option("--against", metavar="OLD", help="Show what changes since this older document.")
@click.option(
    *("--html", "html"), type=click.Path(path_type=Path), metavar="FILE",
    help="Write the page to a file that needs no server, and end.",
)  # fmt: skip
@click.option("--mock", is_flag=True, help="Answer calls from the document, without a network.")
@shared.selecting
@shared.identifying
@shared.configuring
@shared.reading
def browse(
    spec: str | None,
    *,
    port: int,
    opens: bool,
    against: str | None,
    html: Path | None,
    mock: bool,
    **filters: tuple[str, ...],
) -> None:
    """Show the tools of SPEC as a page in the browser, until interrupted.

    The page lists, searches, previews and calls the tools. Only this machine reaches it, and only
    by the address that is printed.
    """
    if html is not None and (port or opens or mock):
        raise click.UsageError("--html writes a file; --port, --open and --mock are for a server.")
    problems: list[str] | None = [] if mock else None
    loaded: list[Toolset] = []
    given: dict[str, Any] = {}
    if problems is not None:
        given = import_module("openapi_tools.cli.call_command").mocked(loaded, problems)
    toolset = shared.load(shared.source_of(spec), **given)
    loaded.append(toolset)
    toolset = shared.selected(toolset, **filters)
    changes: list[dict[str, Any]] | None = None
    if against is not None:
        older = shared.load(shared.source_of(against), **given).select(shared.selection(**filters))
        changes = import_module("openapi_tools.differences").differences_of(older, toolset)
    if html is not None:
        write_page(toolset, html, changes)
        return
    # Here, as --help and --html need no extra.
    web_server = import_module("openapi_tools.serving.web_server")
    page_server = import_module("openapi_tools.browse.page_server")
    with web_server.listening(_HOST, port) as place:
        hosts = [f"{name}:{place.getsockname()[1]}" for name in web_server.LOOPBACK]
        app = page_server.PageServer(toolset, hosts, problems=problems, changes=changes)
        address = f"http://{hosts[0]}/?key={app.key}"
        say(address)
        remark(f"{len(toolset)} tools; Ctrl-C ends the server.")
        if opens and not webbrowser.open(address):
            remark("no browser can be opened here; open the address above.")
        web_server.run_app(app, place, toolset)


def write_page(
    toolset: Toolset,
    file: Path,
    changes: list[dict[str, Any]] | None = None,
    *,
    check: bool = False,
) -> bool:
    """Write the page as one file unless it is only checked, and tell whether that changes it.

    Raises:
        click.ClickException: The file cannot be read or written.
    """
    with busy("Writing the page"):
        one_file = import_module("openapi_tools.browse.one_file")
        content: bytes = one_file.page(toolset, changes).encode()
    try:
        stale = not file.is_file() or file.read_bytes() != content
        if stale and not check:
            file.write_bytes(content)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}.") from None
    state = ("would change" if check else "written") if stale else "up to date"
    remark(f"page: {state}, {len(toolset)} tools in {file}")
    return stale
