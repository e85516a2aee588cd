"""`serve` offers tools over MCP, `install` tells a client of it; `browse` shows them as a page."""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
import webbrowser
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from openapi_tools.cli import PROGRAM, clean, command, for_shell, imported, remark, say
from openapi_tools.cli import command_options as shared
from openapi_tools.cli.client_files import read_client_file
from openapi_tools.cli.generate_command import write_page
from openapi_tools.errors import counted, requiring
from openapi_tools.options import Select
from openapi_tools.serving.serving_tables import read_serving
from openapi_tools.shaping.configuration import has_apis, named_variables
from openapi_tools.tools.guardrails import require_approval

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.tools.toolset import Toolset

_HERE = "127.0.0.1"
_OPEN = "warning: everyone who reaches this address can call the tools; it asks for no login."
_KEYS = (
    *("mode", "host", "port", "allow_hosts", "ask", "max_sessions", "workers", "stateless"),
    *("log", "insecure", "strict", "grace"),
)
"""The options that set keys of `[serve]`."""
_HTTP_ONLY = set(_KEYS) - {"mode", "ask", "strict", "log"}
_APIS_ONLY = ("workers", "strict")
_CLIENTS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("clients.toml").read_text(encoding="utf-8")
)
_FILES = ("--config", "--overlay", "--ca-file", "--download-dir")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_NOT_WRITTEN = 1


@shared.command("serve")
def serve(spec: str | None, *, transport: str | None, **options: Any) -> None:
    """Serve the tools of SPEC over MCP until the client leaves, or until interrupted.

    A configuration with tables [apis.NAME] serves several APIs. With stdio, SPEC cannot come from
    standard input: the client speaks there.
    """
    given = {key: options[key] for key in filter(_is_given, _KEYS)}
    config = str(shared.given_config() if spec is None else spec)
    if config.endswith(".toml") and has_apis(config):
        _check_for_apis()
        with requiring("serve"):  # here, as --help needs no extra
            import_module("mcp")
        team_server = import_module("openapi_tools.serving.team_server")
        started = team_server.started(config, given, logs=True)
    else:
        for name in filter(_is_given, _APIS_ONLY):
            raise click.UsageError(f"--{name} is for a configuration with tables [apis.NAME].")
        _check_transport(transport or "stdio", spec)
        team_server = import_module("openapi_tools.serving.team_server")
        started = team_server.started_with(_loaded(spec, **options), given)
    transport = transport or ("http" if started.over_http else "stdio")
    _check_transport(transport, spec)
    told = import_module("openapi_tools.serving.server_records").logger.info
    tell = told if started.serve.log == "json" else remark
    if transport == "stdio":
        started.apis.serve()
        tell(f"{started.summary} over stdio.")
        _say_why(started.apis.why, tell)
        import_module("openapi_tools.serving.served_apis").run_stdio(started.apis)
        return
    _serve_http(team_server, started, tell)


def _serve_http(team_server: Any, started: Any, tell: Callable[[str], object]) -> None:
    web_server = import_module("openapi_tools.serving.web_server")
    host, access = started.serve.host, started.access
    team_server.check_place(host, access, insecure=started.serve.insecure)
    is_parent = started.serve.workers > 1
    with web_server.listening(host, started.serve.port) as place, ExitStack() as stack:
        if is_parent:
            workers = import_module("openapi_tools.serving.workers")
            stack.enter_context(workers.shared_metrics())
        port = place.getsockname()[1]
        server = team_server.WebServer(started, port)
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"

        def announce() -> None:
            tell(f"{started.summary} at {address}{started.serve.path}")
            for name in filter(None, started.apis.servers):
                tell(f"{name} alone at {address}/{name}/mcp")
            _say_why(started.apis.why, tell)
            if started.serve.insecure and not team_server.is_loopback(host):
                tell(_OPEN)

        if is_parent:
            workers.run_workers(
                started, place, announce=announce, count_restart=server.count_restart
            )
        else:
            server.run(place, announce)


def _loaded(spec: str | None, *, ask: bool, **others: Any) -> Toolset:
    filters = {name: others[name] for name in ("tags", "methods", "patterns")}
    toolset = shared.load(shared.source_of(spec)).select(shared.selection(**filters))
    if not len(toolset):
        raise click.UsageError("no tools to serve; `openapi-tools list` shows which exist.")
    for warning in toolset.warnings:
        remark(f"warning: {for_shell(warning)}")
    if ask:
        toolset.add_input_guardrails([require_approval()])
    return toolset


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT)


def _say_why(why: str, tell: Callable[[str], object]) -> None:
    if why:
        tell(f"{why}; --mode tools offers each tool.")


def _check_for_apis() -> None:
    known = {*_KEYS, "spec", "transport", "config"}
    for option in click.get_current_context().command.params:
        if option.name and option.name not in known and _is_given(option.name):
            reason = "is for one document; write it into a table [apis.NAME]"
            raise click.UsageError(f"{option.opts[0]} {reason}.")


def _check_transport(transport: str, spec: str | None) -> None:
    """Refuse HTTP options with stdio, and a standard input that the client cannot use."""
    if transport == "http":
        return
    for option in click.get_current_context().command.params:
        if option.name in _HTTP_ONLY and _is_given(option.name):
            raise click.UsageError(f"{option.opts[0]} is for http only; add --transport http.")
    if sys.stdin is None:
        raise click.UsageError("standard input is closed, so no client can connect; use http.")
    if spec == "-":
        raise click.UsageError(
            "SPEC and the client cannot both be read from standard input; use http."
        )


@command("install", context_settings={"ignore_unknown_options": True})
@click.argument("client", type=click.Choice(list(_CLIENTS)))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[SPEC] [SERVE-OPTIONS]...")
@click.option("--url", metavar="URL", help="Connect to this server instead of starting one.")
@click.option("--name", metavar="NAME", help="The server's name; by default the document's title.")
@click.option(
    *("--file", "path"), type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write this file instead of the client's usual one.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Write without asking.")
def install(client: str, *, arguments: tuple[str, ...], url: str | None, **options: Any) -> int:
    """Have an MCP client start `openapi-tools serve` with SPEC and these options.

    Shows how the client's configuration changes, and asks before it is written. Credentials stay
    in environment variables.
    """
    facts, name = _CLIENTS[client], options["name"]
    if url is None:
        name, entry = _started(facts, name, arguments)
    elif arguments or "url" not in facts:
        raise click.UsageError(
            "--url is for a server that runs: leave out SPEC." if arguments
            else f"{client} starts its servers itself; give SPEC instead of --url."
        )  # fmt: skip
    else:
        kind = {"type": facts["type"]} if "type" in facts else {}
        name, entry = name or PROGRAM, {**kind, facts["url"]: url}
    place = options["path"] or Path(facts.get(sys.platform, facts["file"])).expanduser()
    return _written(place, facts["key"], name, entry, yes=options["yes"])


def _started(
    facts: dict[str, str], name: str | None, arguments: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    """Return a server's name and entry; a document is loaded, so that mistakes show now."""
    with imported("serve").make_context(f"{PROGRAM} serve", list(arguments)) as context:
        if context.params["transport"] == "http":
            raise click.UsageError("a client starts a server over stdio; for http give --url.")
        spec, title = context.params["spec"], PROGRAM
        configuration = spec if spec and spec.endswith(".toml") else shared.given_config()
        if spec == "-":
            raise click.UsageError("SPEC cannot come from standard input: the client speaks there.")
        if spec and spec.endswith(".toml") and has_apis(spec):
            read_serving(spec)
            arguments = (*arguments, "--transport", "stdio")
        else:
            document = shared.load(shared.source_of(spec)).document
            title = str(document["info"].get("title", ""))
    words = re.findall(r"[a-z0-9]+", title.lower())
    variables = dict.fromkeys(_VARIABLE.findall(" ".join(arguments)))
    if configuration:
        variables |= dict.fromkeys(named_variables(configuration))
    form = facts.get("env")
    if variables and form is None:
        listed = " and ".join(variables)
        remark(f"note: this client must get {listed} from the environment that it is started in.")
    program = Path(sys.argv[0]).resolve()
    is_script = program.stem == PROGRAM
    start = [str(program)] if is_script else [sys.executable, "-m", "openapi_tools"]
    entry: dict[str, Any] = {"command": start[0]}
    entry["args"] = [*start[1:], "serve", *_absolute(arguments, spec)]
    if variables and form is not None:
        entry["env"] = {variable: form % variable for variable in variables}
    return name or "-".join(words)[:40] or PROGRAM, entry


def _absolute(arguments: tuple[str, ...], spec: str | None) -> list[str]:
    """Return arguments whose files are found from any folder."""

    def found(text: str) -> str:
        return str(Path(text).resolve()) if Path(text).exists() else text

    made = []
    for before, argument in zip(("", *arguments), arguments, strict=False):
        option, equals, value = argument.partition("=")
        if before in _FILES or argument == spec:
            made.append(found(argument))
        else:
            made.append(f"{option}={found(value)}" if equals and option in _FILES else argument)
    return made


def _written(place: Path, key: str, name: str, entry: dict[str, Any], *, yes: bool) -> int:
    """Show what changes in a client's configuration, and write it when that is wanted."""
    file = read_client_file(place)
    after = file.with_server(key, name, entry)
    if file.text == after:
        say(f"{place}: {name} is there already; nothing changes.")
        return 0
    lines = difflib.unified_diff(file.text.splitlines(), after.splitlines(), str(place), n=1)
    say(clean("\n".join(line.rstrip("\n") for line in lines)))
    if not yes and not (sys.stdin and sys.stdin.isatty() and click.confirm("Write it?", err=True)):
        remark("not written; --yes writes it without asking.")
        return _NOT_WRITTEN
    file.write(after)
    remark(f"written; restart the client, or have it read {place} again.")
    return 0


@shared.command("browse")
def browse(spec: str | None, *, against: str | None, html: Path | None, **options: Any) -> None:
    """Show the tools of SPEC as a page in the browser, until interrupted.

    The page lists, searches, previews and calls the tools. Only this machine reaches it, and only
    by the address that is printed.
    """
    filters = {name: options[name] for name in ("tags", "methods", "patterns")}
    port, opens, mock = (options[name] for name in ("port", "opens", "mock"))
    if html is not None and (port or opens or mock):
        raise click.UsageError("--html writes a file; --port, --open and --mock are for a server.")
    problems: list[str] | None = [] if mock else None
    loaded = import_module("openapi_tools.cli.call_command").loaded
    toolset = shared.selected(loaded(spec, problems), **filters)
    changes: list[dict[str, Any]] | None = None
    if against is not None:
        # An older document may lack a tag that the newer one has.
        selection = Select(where=shared.selection(**filters).takes)
        older = loaded(against, [] if mock else None).select(selection)
        changes = import_module("openapi_tools.differences").differences_of(older, toolset)
    if html is not None:
        write_page(toolset, html, changes)
        return
    # Here, as --help and --html need no extra.
    web_server = import_module("openapi_tools.serving.web_server")
    http_server = import_module("openapi_tools.http_server")
    page_server = import_module("openapi_tools.browse.page_server")
    with web_server.listening(_HERE, port) as place:
        hosts = [f"{name}:{place.getsockname()[1]}" for name in http_server.LOOPBACK]
        app = page_server.PageServer(toolset, hosts, problems=problems, changes=changes)
        address = f"http://{hosts[0]}/?key={app.key}"
        say(address)
        remark(f"{counted(len(toolset), 'tool')}; Ctrl-C ends the server.")
        if opens and not webbrowser.open(address):
            remark("no browser can be opened here; open the address above.")
        web_server.run_app(app, place, toolset)
