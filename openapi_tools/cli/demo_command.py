"""`openapi-tools demo`: a museum's mock, the page of its tools and an MCP server on loopback."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from openapi_tools.cli.output import print_note, print_text
from openapi_tools.errors import require_extra
from openapi_tools.loading.load import load_tools
from openapi_tools.testing.mock import mock_api

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openapi_tools.toolsets.toolset import Toolset

with require_extra("mcp"):  # it brings uvicorn, which the page needs, too
    import uvicorn

    from openapi_tools.cli.page_process import serve_page
    from openapi_tools.http_server import serve_in_thread
    from openapi_tools.serving import team_server, web_server

_HOST = "127.0.0.1"
_CREDENTIALS = {"MuseumPlaceholderAuth": ("visitor", "any password")}  # the mock takes any
_TEXT = """\
API (a mock of a museum)  {api}
Tools as a page           {page}
MCP server                {mcp}

Try in another terminal:
  openapi-tools search {api}/openapi.json buy a ticket
  openapi-tools call {api}/openapi.json get_museum_hours --anonymous
  openapi-tools install vscode --url {mcp} --name museum"""


def show_demo(*, opens: bool) -> None:
    """Serve the mock and the MCP server in threads, and the page in this one, until interrupted."""
    document = files("openapi_tools.cli").joinpath("demo", "museum.yaml")
    with (
        as_file(document) as path,
        mock_api(path, judge=None).serve() as api,
        _serve_mcp(_load_museum(path, api)) as mcp,
    ):
        announce = partial(_announce, api, mcp)
        # Another toolset: this one is closed with the page, in its own event loop.
        museum = _load_museum(path, api)
        serve_page(museum, 0, opens=opens, problems=None, changes=None, announce=announce)


def _load_museum(path: Path, api: str) -> Toolset:
    return load_tools(path, base_url=api, credentials=_CREDENTIALS)


@contextmanager
def _serve_mcp(toolset: Toolset) -> Iterator[str]:
    started = team_server.start_toolset_server(toolset, {})
    with web_server.open_socket(_HOST, 0) as listener:
        app = team_server.WebServer(started, listener.getsockname()[1]).app
        options = web_server.uvicorn_limits(started.serve)
        server = uvicorn.Server(web_server.make_config(app, options))
        with serve_in_thread(server, listener) as url:
            yield f"{url}{started.serve.path}"


def _announce(api: str, mcp: str, page: str) -> None:
    print_text(_TEXT.format(api=api, page=page, mcp=mcp))
    print_note("press Ctrl-C to stop all three.")
