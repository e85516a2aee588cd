"""The parameters of the commands, as commands.toml lists them, and the values of shared options."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from openapi_tools.cli.help_texts import HelpContext, write_epilog
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS, setting, setting_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_VALUES = __name__  # the key of shared options' values in the `meta` of click's context
_TYPES = {
    "count": click.IntRange(min=1),
    "file": click.Path(dir_okay=False, path_type=Path),
    "folder": click.Path(exists=True, file_okay=False, path_type=Path),
    "path": click.Path(path_type=Path),
    "port": click.IntRange(0, 65535),
    "rate": click.FloatRange(0, 1),
    "positive": click.FloatRange(min=0, min_open=True),
    "seconds": click.FloatRange(min=0),
    "unprocessed": click.UNPROCESSED,
}


@cache  # read for a command only, not for the help of the program
def _read_commands() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))


def option_settings() -> list[str]:
    """Return the settings that have an option of their own; `--set` takes every one."""
    return [entry["setting"] for entry in _read_commands()["groups"]["settings"]]


class HeadedOption(click.Option):
    """An option that `--help` shows under a heading of its own."""

    heading = "Options"


class _FreeChoice(click.Choice[str]):
    """A choice that takes any word if an option is passed, which has to be eager."""

    def __init__(self, choices: Sequence[str], option: str) -> None:
        super().__init__(choices)
        self._option = option

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        is_free = ctx is not None and self._is_free(ctx)
        return str(value) if is_free else super().convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the choices, or that a file is expected."""
        if self._is_free(ctx):
            return [CompletionItem(incomplete, type="file")]
        return super().shell_complete(ctx, param, incomplete)

    def _is_free(self, context: click.Context) -> bool:
        return context.get_parameter_source(self._option) is ParameterSource.COMMANDLINE


class _Command(click.Command):
    context_class = HelpContext
    suggest_argument: Callable[[click.NoSuchOption, click.Context, list[str]], object] | None = None
    """Raises a better error where an unknown option was meant as an argument of a tool."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if self.suggest_argument is not None:
                self.suggest_argument(error, ctx, words)
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by heading, the command's own first."""
        groups: dict[str, list[tuple[str, str]]] = {HeadedOption.heading: []}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                heading = getattr(option, "heading", HeadedOption.heading)
                groups.setdefault(heading, []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_epilog(self.name, formatter)


def command_of(
    name: str,
    callback: Callable[..., Any],
    suggest_argument: Callable[..., object] | None = None,
) -> click.Command:
    """Return a command of commands.toml that calls a function with its parameters.

    Args:
        name: The name of the command.
        callback: The function.
        suggest_argument: Gets an unknown option; None if the command takes no arguments of tools.
    """
    entry = _read_commands()["commands"][name]
    own_names = {_name_of(part) for part in entry["parameters"] if isinstance(part, dict)}
    command = _Command(
        name,
        callback=callback,
        help=entry["help"].strip(),
        params=list(_create_parameters(entry["parameters"], own_names)),
        context_settings=entry.get("context_settings"),
    )
    command.suggest_argument = suggest_argument
    return command


def _name_of(entry: dict[str, Any]) -> str:
    # As click names a parameter: `--dry-run` is `dry_run`.
    text = entry.get("argument") or entry.get("setting") or entry["names"].split()[-1]
    return str(text).lstrip("-").replace("-", "_")


def _create_parameters(entries: Sequence[Any], own_names: set[str]) -> Iterator[click.Parameter]:
    for entry in entries:
        if isinstance(entry, str):
            yield from _create_parameters(_read_commands()["groups"][entry], own_names)
        elif entry.get("setting") not in own_names:
            yield _create_parameter(entry)


def _create_parameter(entry: dict[str, Any]) -> click.Parameter:
    if "setting" in entry:
        return _create_setting_option(entry["setting"], entry.get("metavar"))
    attributes = dict(entry)
    if "choice" in attributes:
        choices, option = attributes.pop("choice"), attributes.pop("free_with", None)
        attributes["type"] = _FreeChoice(choices, option) if option else click.Choice(choices)
    elif "least" in attributes:
        attributes["type"] = click.IntRange(min=attributes.pop("least"))
    elif "type" in attributes:
        attributes["type"] = _TYPES[attributes["type"]]
    if "argument" in attributes:
        return click.Argument([attributes.pop("argument")], **attributes)
    names = attributes.pop("names").split()
    if "/" in names[0]:
        attributes["default"] = None  # neither of the two
    heading = attributes.pop("heading", None)
    if heading or attributes.pop("shared", False):
        attributes |= {"callback": _store_value, "expose_value": False}
    option = HeadedOption(names, **attributes)
    option.heading = _read_commands()["headings"].get(heading, option.heading)
    return option


def _create_setting_option(name: str, metavar: str | None) -> click.Option:
    meaning, default, kind = setting(name), getattr(DEFAULT_SETTINGS, name), setting_type(name)
    text = meaning.text.partition(". ")[0].removesuffix(".").replace("`", "")
    option = f"--{name.replace('_', '-')}"
    types = {float: click.FloatRange(min=meaning.gt, min_open=True), int: int}
    is_flag = kind is bool or bool in get_args(kind)
    created = HeadedOption(
        [f"{option}/--no-{option[2:]}" if is_flag else option, name],
        type=None if is_flag else types.get(kind),
        default=None,  # what is not set on the command line comes from --config
        metavar=metavar,
        help=f"{text}. Default: {default:g}." if default else f"{text}.",
        callback=_store_value,
        expose_value=False,
    )
    created.heading = _read_commands()["headings"]["settings"]
    return created


def _store_value(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta.setdefault(_VALUES, {})[parameter.name] = value


def option_values() -> dict[str, Any]:
    """Return the values of this command's shared options, by the names of their parameters."""
    values: dict[str, Any] = click.get_current_context().meta.get(_VALUES, {})
    return values


def config_option() -> Path | None:
    """Return the configuration file of `--config`."""
    path: Path | None = option_values().get("config")
    return path


def read_setting_options() -> dict[str, Any]:
    """Return the settings that the options of this command set."""
    values = option_values()
    settings = dict(map(_parse_setting, values.get("others", ())))
    settings |= {name: values[name] for name in option_settings() if values.get(name) is not None}
    rest = ("credential_origins", "anonymous")
    return settings | {name: values[name] for name in rest if values.get(name)}


def _parse_setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"{text!r:.100} is not of the form NAME=VALUE.")
    try:
        return name.strip(), json.loads(value)
    except (ValueError, RecursionError):
        return name.strip(), value
