"""Load SPEC and select its tools, as the shared options of a command say."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.application_names import check_application_file, is_application
from openapi_tools.cli.command_options import config_option, option_values, read_setting_options
from openapi_tools.cli.credential_options import read_credential_options
from openapi_tools.cli.option_names import use_option_names
from openapi_tools.cli.output import print_note, tool_summary
from openapi_tools.cli.progress import show_progress
from openapi_tools.common.options import Select, close_names
from openapi_tools.errors import CallError, SourceError, format_count
from openapi_tools.loading.load import load_tools
from openapi_tools.loading.source import check_host
from openapi_tools.requests import server_url
from openapi_tools.tools.session import make_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from openapi_tools.cli.applications import Application
    from openapi_tools.cli.server_view import ServerView
    from openapi_tools.configuration.config_file import ConfigFile
    from openapi_tools.serving.serving_tables import Serving
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

    Source = str | Path | bytes | Application | None

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_LISTED = 20  # names in a message
_NO_FILE = "no such file."
_SUFFIXES = (".json", ".toml", ".yaml", ".yml")
_VIEW_OPTIONS = {"api": "--api", "as_user": "--as", "as_scopes": "--scope", "as_claims": "--claim"}
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_NO_CONNECTION = re.compile(r"no connection to (\S+)")
_LOOPBACK = re.compile(r"127\.|localhost|\[::1")
_CREDENTIAL_INSTRUCTION = "Set it with --credential '{name}=$NAME'."


def build_selection(
    tags: Sequence[str] | None, methods: Sequence[str] | None, patterns: Sequence[str] | None
) -> Select:
    """Return the selection of lists: None sets no limit, an empty list selects nothing."""
    globs = [pattern.casefold() for pattern in patterns or ()]

    def matches_pattern(tool: OperationTool) -> bool:
        texts = [text.casefold() for text in (tool.name, tool.path, tool_summary(tool))]
        return any(glob in text or fnmatchcase(text, glob) for glob in globs for text in texts)

    return Select(tags=tags, methods=methods, where=None if patterns is None else matches_pattern)


def selection_options() -> tuple[Any, Any, Any]:
    """Return the tags, methods and patterns that the options of this command select, or None."""
    values = option_values()
    tags, methods, patterns = (values.get(name) for name in ("tags", "methods", "patterns"))
    # click has an empty tuple where an option is absent, and an empty list selects nothing.
    return tags or None, methods or None, patterns or None


def select_tools(toolset: Toolset) -> Toolset:
    """Return the tools that the options select; standard error says why there are none."""
    tags, methods, patterns = selection_options()
    # `Select` refuses a tag that the document does not have; here a note lists its tags.
    selection = toolset.select(Select(where=build_selection(tags, methods, patterns).takes))
    if len(selection) or not len(toolset):
        return selection
    available = []
    if tags:
        all_tags = {tag for tool in toolset for tag in tool.tags}
        available.append(f"the tags {_list_names(all_tags)}" if all_tags else "no tags")
    if methods:
        available.append(f"the methods {_list_names({tool.method for tool in toolset})}")
    contents = " and ".join(available)
    contents = contents or f"{format_count(len(toolset), 'tool')} with other names and paths"
    print_note(f"no tool is selected; the document has {contents}.")
    return selection


def _list_names(names: set[str]) -> str:
    rest = f", … {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(f"{name:.60}" for name in sorted(names)[:_LISTED]) + rest


def parse_source(spec: str | None) -> Source:
    """Return the source: a URL, a path, the bytes of a stream such as `-`; None for --config.

    `module:attribute` is an application, imported from the folder of --app-dir.
    """
    folder: Path | None = option_values().get("app_dir")
    check_application_file(spec or "")
    if spec is not None and is_application(spec):
        from openapi_tools.cli.applications import Application  # start-up time: asyncio

        return Application(spec, Path() if folder is None else folder)
    if folder is not None:
        raise click.UsageError("--app-dir needs an application, module:attribute, as SPEC.")
    if spec is None:
        if config_option() is None:
            raise click.UsageError("pass SPEC, or --config with a file that names its source.")
        return None
    if spec.endswith(".toml") and config_option() is not None:
        raise click.UsageError(
            "SPEC is a configuration itself; leave out --config, or name a document."
        )
    if not is_stream(spec):
        return _parse_location(spec)
    return read_stdin() if spec == "-" else Path(spec).read_bytes()


def is_stream(spec: str | None) -> bool:
    """Return whether SPEC can be read once: standard input, or a pipe such as a shell's `<(…)`."""
    try:
        return spec == "-" or (spec is not None and Path(spec).is_fifo())
    except OSError:
        return False  # the loader says what is wrong


def overlay_options() -> list[str | Path]:
    """Return the overlays that the options of this command name."""
    locations = option_values().get("overlays", ())
    for location in locations:
        if location.endswith(".toml"):
            reason = "is a configuration, not an overlay in JSON or YAML; pass it with --config"
            raise click.UsageError(f"--overlay: {location:.200} {reason}.")
    return list(map(_parse_location, locations))


def _parse_location(spec: str) -> str | Path:
    if _SCHEME.match(spec):
        return spec  # the loader says which schemes it reads
    check_host(spec)
    return Path(spec)


def read_stdin() -> bytes:
    """Return the bytes on standard input; SourceError if it is closed or cannot be read."""
    if sys.stdin is None:
        raise SourceError("standard input is closed.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SourceError(f"standard input cannot be read ({reason}).") from None


def load_spec(spec: str | None, settings: Mapping[str, Any] | None = None) -> Toolset:
    """Load the tools of SPEC with the options of this command, as `load_source`."""
    return load_source(parse_source(spec), settings)


def load_source(
    source: Source, settings: Mapping[str, Any] | None = None, *, overlays: Sequence[Any] = ()
) -> Toolset:
    """Load tools with the options of this command; errors are those of `load_tools`.

    Of a server configuration these are the tools of the API of `--api` that the user of `--as`
    sees.

    Args:
        source: The document, or a configuration.
        settings: Settings that override those of the command line; None overrides nothing.
        overlays: Overlays after those of the command line.
    """
    source, config, view = resolve_source(source)
    toolset = load_configured(source, config, settings, overlays=overlays)
    if view is None:
        return toolset
    # Overlays and settings of the command line are for the API that it names.
    cache = {"cache": False} if option_values().get("no_cache") else None
    return view.limit(toolset, make_settings(cache))


def resolve_source(
    source: Source, *, prefers: Callable[[ConfigFile], bool] | None = None
) -> tuple[Source, Any, ServerView | None]:
    """Return source and configuration for `load_tools`, and the view of a server configuration.

    Without `--api` the API is the only one, or the only one that the command prefers.
    """
    options, config = option_values(), config_option()
    path = source if isinstance(source, Path) and source.suffix == ".toml" else config
    if "api" not in options:  # the command takes no server configuration
        return source, config, None
    if path is not None:
        view = _import_server_view().view_api(path, options, prefers)
        if view is not None:
            return None if source == path else source, view.config, view
    for name, option in _VIEW_OPTIONS.items():
        if options.get(name):
            reason = "needs a server configuration, with tables [apis.NAME]"
            raise click.UsageError(f"{option} {reason}, as SPEC or --config.")
    return source, config, None


def read_server_configuration(path: str | Path) -> Serving:
    """Return the tables of a server configuration."""
    serving: Serving = _import_server_view().read_serving(path)
    return serving


def _import_server_view() -> ModuleType:
    from openapi_tools.cli import server_view  # start-up time: it imports pydantic

    return server_view


def load_configured(
    source: Source,
    config: Any,
    settings: Mapping[str, Any] | None = None,
    *,
    overlays: Sequence[Any] = (),
) -> Toolset:
    """Load the tools of a source and a configuration with the options of this command."""
    values = read_setting_options()
    values |= {name: value for name, value in (settings or {}).items() if value is not None}
    if option_values().get("no_cache", True):
        values["cache"] = False
    chosen = make_settings(values or None)
    try:
        with show_progress("Reading the document"):
            toolset = load_tools(
                source,
                credentials=read_credential_options(),
                settings=chosen,
                overlays=[*overlay_options(), *overlays],
                config=config,
            )
    except SourceError as error:
        if callable(source) and error.source not in map(str, (*overlay_options(), *overlays)):
            reason = f"no document at {source.openapi_url}: {error.reason} Serve the application"
            raise SourceError(f"{reason}, and name its URL.", source=source.name) from None
        if isinstance(source, Path) and (error.source, error.reason) == (str(source), _NO_FILE):
            reason = f"{_NO_FILE.rstrip('.')}{_similar_files(source)}"
            raise SourceError(reason, source=error.source) from None
        if not (hint := connection_hint(error.reason, uses_proxy=chosen.trust_env)):
            raise
        raise SourceError(f"{error.reason} {hint}", source=error.source) from None
    toolset.session.credentials.advice.instruction = _CREDENTIAL_INSTRUCTION
    return toolset


def _similar_files(path: Path) -> str:
    names: list[str] = []
    with suppress(OSError):
        names += (each.name for each in path.parent.iterdir() if each.suffix in _SUFFIXES)
    return close_names(path.name, names, most=1)


def connection_hint(reason: str, *, uses_proxy: bool, alternative: str = "") -> str:
    """Return what to do about a connection that failed: `alternative`, and the proxy."""
    if not (match := _NO_CONNECTION.search(reason)):
        return ""
    is_secure = "TLS" in reason or "certificate" in reason
    check = f"Check the URL{alternative}." if alternative and not is_secure else ""
    names = (name for name in _PROXIES if os.environ.get(name) or os.environ.get(name.lower()))
    name = "" if _LOOPBACK.match(match[1]) else next(names, "")
    use = "was used; check it." if uses_proxy else "is set but not used; --trust-env uses it."
    return f"{check} {name and f'{name} {use}'}".strip()


def find_tool(toolset: Toolset, name: str) -> OperationTool:
    """Return a tool by name, operationId or `GET /path`; UsageError with similar names."""
    try:
        return toolset[name]
    except KeyError as error:
        raise click.UsageError(use_option_names(error.args[0])) from None


def report_missing_server(toolset: Toolset, tool: OperationTool) -> None:
    """Write to standard error why calls have no server yet."""
    try:
        server_url(tool.operation, toolset.session.settings)
    except CallError as error:
        print_note(f"note: {use_option_names(error)}")
