"""The argument SPEC, and options that commands share: selection, credentials, loading.

A credential comes from the environment, or from the file that `openapi-tools login` has left: no
secret stands on a command line.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from openapi_tools.cli import HeadedOption, busy, for_shell, remark, summary_of
from openapi_tools.cli import command as cli_command
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS, setting, setting_type
from openapi_tools.errors import CallError, SourceError, counted
from openapi_tools.options import Select, close_names
from openapi_tools.redaction import Secret
from openapi_tools.requests import server_url
from openapi_tools.tools.session import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from openapi_tools.cli.server_file import ServerView
    from openapi_tools.shaping.configuration import ConfigFile
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

_META = "openapi_tools.options"
_DATA = tomllib.loads(Path(__file__).with_name("options.toml").read_text(encoding="utf-8"))
SETTINGS = [facts["setting"] for facts in _DATA["groups"]["settings"]]
"""The settings that have an option of their own; `--set` takes every one."""
_TYPES = {
    "count": click.IntRange(min=1),
    "file": click.Path(dir_okay=False, path_type=Path),
    "int": int,
    "path": click.Path(path_type=Path),
    "port": click.IntRange(0, 65535),
    "positive": click.FloatRange(min=0, min_open=True),
    "seconds": click.FloatRange(min=0),
}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_NAME = re.compile(r"\$?\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_FIELD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NAMED = 20
_VIEW = {"api": "--api", "as_user": "--as", "as_scopes": "--scope", "as_claims": "--claim"}
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_UNCONNECTED = re.compile(r"no connection to (\S+)")
_LOOPBACK = re.compile(r"127\.|localhost|\[::1")
_CREDENTIAL_INSTRUCTION = "Give --credential '{name}=$NAME'."
_QUOTES = "in single quotes, so that the shell leaves it alone"
_FORMS = {"--credential": "'SCHEME=$NAME', or SCHEME=@FILE", "--header": "'NAME: $VAR'"}
_FORMS |= {"--bearer": "'$VAR'", "--basic": "'$USER:$PASSWORD'"}


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta.setdefault(_META, {})[parameter.name] = value


def _none_if_absent(_: click.Context, __: click.Parameter, value: Any) -> Any:
    # click gives an empty tuple, which would be a list that selects nothing.
    return value or None


def _given() -> dict[str, Any]:
    return dict(click.get_current_context().meta.get(_META, {}))


def _parameter(facts: dict[str, Any]) -> click.Parameter:
    if "setting" in facts:
        return _setting_option(facts["setting"], facts.get("metavar"))
    given = dict(facts)
    if "choice" in given:
        given["type"] = click.Choice(given.pop("choice"))
    elif "least" in given:
        given["type"] = click.IntRange(min=given.pop("least"))
    elif "type" in given:
        given["type"] = _TYPES[given["type"]]
    if "argument" in given:
        return click.Argument([given.pop("argument")], **given)
    names = given.pop("names").split()
    if "/" in names[0]:
        given["default"] = None  # neither of both
    if "heading" in given:
        given["heading"] = _DATA["headings"][given["heading"]]
        return HeadedOption(names, callback=_remember, expose_value=False, **given)
    if given.get("multiple"):
        given["callback"] = _none_if_absent
    return click.Option(names, **given)


def _setting_option(name: str, metavar: str | None) -> click.Option:
    meaning, default, kind = setting(name), getattr(DEFAULT_SETTINGS, name), setting_type(name)
    text = meaning.text.partition(". ")[0].removesuffix(".").replace("`", "")
    option = f"--{name.replace('_', '-')}"
    types = {float: click.FloatRange(min=meaning.gt, min_open=True), int: int}
    is_flag = kind is bool or bool in get_args(kind)
    return HeadedOption(
        [f"{option}/--no-{option[2:]}" if is_flag else option, name],
        heading=_DATA["headings"]["settings"],
        type=None if is_flag else types.get(kind),
        default=None,
        metavar=metavar,
        help=f"{text}. Default: {default:g}." if default else f"{text}.",
        callback=_remember,
        expose_value=False,
    )


def _parameters(listed: Sequence[Any], own: Collection[str]) -> Iterator[click.Parameter]:
    """Yield parameters, also of groups, without settings named in `own`."""
    for entry in listed:
        if isinstance(entry, str):
            yield from _parameters(_DATA["groups"][entry], own)
        elif entry.get("setting") not in own:
            yield _parameter(entry)


def command(name: str, **defaults: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Return the decorator for a command with its parameters of options.toml.

    `defaults` are those of options of its own, which replace settings with the same name.
    """
    parameters = list(_parameters(_DATA["commands"][name], defaults))
    for parameter in parameters:
        parameter.default = defaults.get(str(parameter.name), parameter.default)
    return cli_command(name, params=parameters)


def _pair(text: str) -> tuple[str, Any]:
    """Return a setting's name and value: JSON, or a text unchanged."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"{text!r:.100} is not of the form NAME=VALUE.")
    try:
        return name.strip(), json.loads(value)
    except (ValueError, RecursionError):
        return name.strip(), value


def selection(
    tags: Sequence[str] | None, methods: Sequence[str] | None, patterns: Sequence[str] | None
) -> Select:
    """Return the selection of lists, None for one that is not given; an empty one takes no tool."""
    wanted = [pattern.casefold() for pattern in patterns or ()]

    def matches(tool: OperationTool) -> bool:
        texts = [text.casefold() for text in (tool.name, tool.path, summary_of(tool))]
        return any(match in text or fnmatchcase(text, match) for match in wanted for text in texts)

    return Select(tags=tags, methods=methods, where=None if patterns is None else matches)


def selected(toolset: Toolset, tags: Any, methods: Any, patterns: Any) -> Toolset:
    """Return the tools that the options select; standard error says why there are none."""
    # A tag that the document does not have is no error here: the note names those that it has.
    found = toolset.select(Select(where=selection(tags, methods, patterns).takes))
    if len(found) or not len(toolset):
        return found
    there = []
    if tags:
        known = {tag for tool in toolset for tag in tool.tags}
        there.append(f"the tags {_some(known)}" if known else "no tags")
    if methods:
        there.append(f"the methods {_some({tool.method for tool in toolset})}")
    has = " and ".join(there) or f"{counted(len(toolset), 'tool')} with other names and paths"
    remark(f"no tool is selected; the document has {has}.")
    return found


def _some(names: set[str]) -> str:
    more = f", … {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"{name:.60}" for name in sorted(names)[:_NAMED]) + more


def source_of(spec: str | None) -> str | Path | bytes | None:
    """Return the source: a URL, a path, the bytes on standard input for `-`; None for --config."""
    if spec is None:
        if given_config() is None:
            raise click.UsageError("give SPEC, or --config with a file that names its source.")
        return None
    if spec.endswith(".toml") and given_config() is not None:
        raise click.UsageError(
            "SPEC is a configuration itself; leave out --config, or name a document."
        )
    return read_stdin() if spec == "-" else _place_of(spec)


def given_overlays() -> list[str | Path]:
    """Return the overlays that the options of this command name."""
    return list(map(_place_of, _given().get("overlays", ())))


def _place_of(spec: str) -> str | Path:
    if _SCHEME.match(spec):
        return spec  # the loader says which schemes it reads
    from openapi_tools.loading.source import check_host  # which commands without SPEC do not need

    check_host(spec)
    return Path(spec)


def read_stdin() -> bytes:
    """Return the bytes on standard input; SourceError where it is closed or cannot be read."""
    if sys.stdin is None:
        raise SourceError("standard input is closed.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SourceError(f"standard input cannot be read ({reason}).") from None


def load(source: str | Path | bytes | None, **members: Any) -> Toolset:
    """Load the tools with the options of this command; errors are those of `load_tools`.

    Of a server's file that is the API of `--api`, and what the user of `--as` sees.
    """
    view = None
    if "config" not in members:
        source, members["config"], view = resolve_source(source)
    toolset = _load_document(source, **members)
    if view is None:
        return toolset
    # Overlays and settings of the command line are for the API that it names.
    cache = {"cache": False} if _given().get("no_cache") else None
    return view.limit(toolset, settings_of(cache))


def resolve_source(
    source: str | Path | bytes | None, *, prefers: Callable[[ConfigFile], bool] | None = None
) -> tuple[str | Path | bytes | None, Any, ServerView | None]:
    """Return source and configuration for `load_tools`, and the view of a server's file.

    Without `--api` the API is the only one, or the only one that the command prefers.
    """
    options, config = _given(), given_config()
    path = source if isinstance(source, Path) and source.suffix == ".toml" else config
    if "api" not in options:  # the command takes no server's file
        return source, config, None
    if path is not None:
        from openapi_tools.shaping.configuration import has_apis  # imports pydantic

        if has_apis(path):
            from openapi_tools.cli.server_file import view_api  # the tables of servers

            view = view_api(path, options, prefers)
            return None if source == path else source, view.config, view
    for name, option in _VIEW.items():
        if options.get(name):
            reason = "is for a server's file, with tables [apis.NAME]"
            raise click.UsageError(f"{option} {reason}; give one as SPEC or --config.")
    return source, config, None


def _load_document(source: str | Path | bytes | None, **members: Any) -> Toolset:
    from openapi_tools.loading.load import load_tools

    more = [*given_overlays(), *members.pop("overlays", ())]
    others: dict[str, Any] = {"overlays": more, "config": members.pop("config")}
    others["client"] = members.pop("client", None)
    given = given_settings() | {n: value for n, value in members.items() if value is not None}
    if _given().get("no_cache", True):
        given["cache"] = False
    credentials, settings = given_credentials(), settings_of(given or None)
    try:
        with busy("Reading the document"):
            toolset = load_tools(source, credentials=credentials, settings=settings, **others)
    except SourceError as error:
        if not (hint := connection_hint(error.reason, is_used=settings.trust_env)):
            raise
        raise SourceError(f"{error.reason} {hint}", source=error.source) from None
    toolset.session.credentials.advice.instruction = _CREDENTIAL_INSTRUCTION
    return toolset


def connection_hint(reason: str, *, is_used: bool, way: str = "") -> str:
    """Return what to do about a connection that failed: `way`, and the environment's proxy."""
    if not (found := _UNCONNECTED.search(reason)):
        return ""
    is_secure = "TLS" in reason or "certificate" in reason
    check = f"Check the address{way}." if way and not is_secure else ""
    names = (n for n in _PROXIES if os.environ.get(n) or os.environ.get(n.lower()))
    name = "" if _LOOPBACK.match(found[1]) else next(names, "")
    used = "was used; is it right?" if is_used else "is set but not used; --trust-env uses it."
    return f"{check} {name and f'{name} {used}'}".strip()


def tool_of(toolset: Toolset, name: str) -> OperationTool:
    """Return a tool by name, operationId or `GET /path`; UsageError with close names for none."""
    try:
        return toolset[name]
    except KeyError as error:
        raise click.UsageError(for_shell(error.args[0])) from None


def tell_address(toolset: Toolset, tool: OperationTool) -> None:
    """Say on standard error why calls have no address yet."""
    try:
        server_url(tool.operation, toolset.session.settings)
    except CallError as error:
        remark(f"note: {for_shell(error)}")


def given_config() -> Path | None:
    """Return the configuration that the options name."""
    path: Path | None = _given().get("config")
    return path


def given_settings() -> dict[str, Any]:
    """Return the members of `Settings` that the options of this command give."""
    given = _given()
    found = dict(map(_pair, given.get("others", ())))
    found |= {n: given[n] for n in SETTINGS if given.get(n) is not None}
    return found | {n: given[n] for n in ("credential_origins", "anonymous") if given.get(n)}


def given_credentials() -> dict[str, Any]:
    """Return the credentials of this command's options; no message shows a wrong value."""
    given = _given()
    found = read_credentials(given.get("credentials", ()))
    for text in given.get("headers", ()):
        name, colon, value = text.partition(":")
        if not colon or not _FIELD.fullmatch(name) or not _VARIABLE.search(value):
            raise _refusal("--header")
        secret = Secret(_filled(value.strip(), "--header", f" {name!r:.100}"))
        found[f"--header {name}"] = {"in": "header", "name": name, "value": secret}
    if (text := given.get("bearer")) is not None:
        found["--bearer"] = {"scheme": "bearer", "value": Secret(_value(text, "--bearer"))}
    if (text := given.get("basic")) is not None:
        found["--basic"] = {"scheme": "basic", "value": _basic_pair(text)}
    return found


def _basic_pair(text: str) -> tuple[str, Secret]:
    """Return user and password of `--basic`; both may be in one variable, as `user:password`."""
    user, colon, password = text.partition(":")  # a user may be written out
    if colon and _VARIABLE.fullmatch(password):
        return _filled(user, "--basic"), Secret(_filled(password, "--basic"))
    if colon or not _VARIABLE.fullmatch(text):
        raise _refusal("--basic")
    user, colon, password = _filled(text, "--basic").partition(":")
    if not colon:
        reason = "--basic: the environment variable holds no 'user:password'"
        raise click.UsageError(f"{reason}; give {_FORMS['--basic']}, {_QUOTES}.")
    return user, Secret(password)


def read_credentials(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return credentials by scheme name: values of environment variables, or tokens in files."""
    found: dict[str, Any] = {}
    for pair in pairs:
        scheme, equals, reference = pair.partition("=")
        if scheme and reference.startswith("@"):
            from openapi_tools.auth.tokens import from_file

            found[scheme] = from_file(reference[1:])
        elif not scheme or not equals:
            raise _refusal("--credential")
        else:
            # A variable's value is taken literally, whatever it holds.
            found[scheme] = Secret(_value(reference, "--credential", f" {scheme!r:.100}"))
    return found


def _value(reference: str, option: str, which: str = "") -> str:
    """Return the value of the variable that a whole text names, with or without a `$`."""
    match = _NAME.fullmatch(reference)
    if match is None or not (reference.startswith("$") or match[1] in os.environ):
        raise _refusal(option, which)
    return _variable(match[1], option, which)


def _variable(name: str, option: str, which: str) -> str:
    value = os.environ.get(name)
    if not value:
        state = "empty." if value == "" else f"not set{close_names(name, os.environ, most=1)}"
        raise click.UsageError(f"{option}{which}: the environment variable {name:.100} is {state}")
    return value


def _filled(text: str, option: str, which: str = "") -> str:
    return _VARIABLE.sub(lambda match: _variable(match[1] or match[2], option, which), text)


def _refusal(option: str, which: str = "") -> click.UsageError:
    reason = f"{option}{which} names no environment variable that is set; it wants"
    return click.UsageError(f"{reason} {_FORMS[option]}, {_QUOTES}.")
