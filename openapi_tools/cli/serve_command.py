"""`openapi-tools serve`: the tools of a document, or of several APIs, over MCP."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from openapi_tools.cli import import_later
from openapi_tools.cli.command_options import config_option
from openapi_tools.cli.option_names import use_option_names
from openapi_tools.cli.output import print_note
from openapi_tools.cli.tool_loading import (
    build_selection,
    load_source,
    parse_source,
    selection_options,
)
from openapi_tools.configuration.toml_tables import has_apis
from openapi_tools.errors import SettingsError, format_count, missing_extra_error
from openapi_tools.tools.guardrails import require_approval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.cli.tool_loading import Source
    from openapi_tools.toolsets.toolset import Toolset

# The options that set keys of `[serve]`.
_KEYS = (
    *("mode", "host", "port", "allow_hosts", "ask", "max_sessions", "workers", "stateless"),
    *("log", "insecure", "strict", "grace"),
)
_HTTP_ONLY = set(_KEYS) - {"mode", "ask", "strict", "log"}
_APIS_ONLY = ("workers", "strict")


# Imported when called: they need the extra `mcp`, without which wrong options are still reported,
# and a client on standard input and output would wait for the imports of a server over HTTP.
_serve_toolset = import_later("stdio_process.serve_toolset")
_start_apis = import_later("server_process.start_apis")
_start_toolset = import_later("server_process.start_toolset")
_run_server = import_later("server_process.run_server")
_watch_source = import_later("source_watch.watch_source")

logger = logging.getLogger("openapi_tools.serving")


def serve_tools(spec: str | None, *, transport: str | None, **options: Any) -> None:
    """Serve the tools of SPEC over MCP until the client disconnects, or until interrupted."""
    keys = {key: options[key] for key in filter(_is_set, _KEYS)}
    config = str(config_option() if spec is None else spec)
    has_config = config.endswith(".toml") and has_apis(config)
    check_serve_options(has_config=has_config)
    if not has_config:
        _check_transport(transport or "stdio", spec)
    if find_spec("mcp") is None:  # a server configuration needs more than the extra `mcp`
        raise missing_extra_error("mcp", "serve" if has_config else "mcp")
    if has_config:
        started = _start_apis(config, keys)
        transport = transport or ("http" if started.over_http else "stdio")
        _check_transport(transport, spec)
        _run_server(started, transport)
        return
    source, read, watch = parse_source(spec), None, None
    if options["reload"]:
        read, watch = _make_reader(source, options), _watch_source(source)
    toolset = _load_toolset(source, options)
    if transport == "http":
        _run_server(_start_toolset(toolset, keys, read=read, watch=watch), transport)
    else:
        _serve_toolset(toolset, keys, read=read, watch=watch)


def _make_reader(source: Source, options: Mapping[str, Any]) -> Callable[[], Toolset]:
    context = click.get_current_context()
    report = logger.info if options["log"] == "json" else print_note

    def read() -> Toolset:
        # In a thread, where click does not know the options of the command.
        with context.scope(cleanup=False):
            if callable(source):
                source.reload()
            try:
                toolset = _load_toolset(source, options)
            except click.UsageError as error:
                raise SettingsError(error.message) from None
        report(f"reloaded {format_count(len(toolset), 'tool')}.")
        return toolset

    return read


def _load_toolset(source: Source, options: Mapping[str, Any]) -> Toolset:
    settings = {"response_schemas": options["response_schemas"] or None}
    toolset = load_source(source, settings).select(build_selection(*selection_options()))
    if not len(toolset):
        raise click.UsageError("there are no tools to serve; `openapi-tools list SPEC` says why.")
    for warning in toolset.warnings:
        print_note(f"warning: {use_option_names(warning)}")
    if options["ask"]:
        toolset.add_input_guardrails([require_approval()])
    return toolset


def _is_set(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT)


def check_serve_options(*, has_config: bool) -> None:
    """Raise UsageError for an option that is not for a configuration with tables [apis.NAME]."""
    if has_config:
        _refuse_document_options()
        return
    for name in filter(_is_set, _APIS_ONLY):
        raise click.UsageError(f"--{name} needs a configuration with tables [apis.NAME].")


def check_stdio_options() -> None:
    """Raise UsageError for an option that is only for HTTP."""
    for option in click.get_current_context().command.params:
        if option.name in _HTTP_ONLY and _is_set(option.name):
            raise click.UsageError(f"{option.opts[0]} is only for http; add --transport http.")


def _refuse_document_options() -> None:
    if _is_set("reload"):
        raise click.UsageError(
            "--reload is for one document; for several, set refresh in [serve], or send SIGHUP."
        )
    allowed = {*_KEYS, "spec", "transport", "config"}
    for option in click.get_current_context().command.params:
        if option.name and option.name not in allowed and _is_set(option.name):
            reason = "is for one document; set it in a table [apis.NAME]"
            raise click.UsageError(f"{option.opts[0]} {reason}.")


def _check_transport(transport: str, spec: str | None) -> None:
    if transport == "http":
        return
    check_stdio_options()
    if sys.stdin is None:
        raise click.UsageError("standard input is closed, so no client can connect; use http.")
    if spec == "-":
        raise click.UsageError(
            "SPEC and the client cannot both be read from standard input; use http."
        )
