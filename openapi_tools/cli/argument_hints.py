"""Options of `call` that were meant as arguments: `--product_id 5` instead of `product_id=5`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from openapi_tools.cli.tool_loading import find_tool, load_spec
from openapi_tools.common.options import similar_names
from openapi_tools.errors import OpenAPIToolsError
from openapi_tools.redaction import redact_data
from openapi_tools.tools.argument_names import find_api_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi_tools.tools.tool import OperationTool

_LONGEST_VALUE = 60


def suggest_argument(
    error: click.NoSuchOption, context: click.Context, words: Sequence[str]
) -> None:
    """Raise an error with the argument that an unknown option was meant as, if there is one.

    Args:
        error: It names the option.
        context: The context of the command `call`, whose words could not be parsed.
        words: The words of the command line after `call`.

    Raises:
        click.UsageError: The option is not a typo of another one.
    """
    position, value, rest = _find_option(error.option_name, words)
    typed = words[position].partition("=")[0] if position is not None else error.option_name
    name, is_typo, tool = typed.lstrip("-"), bool(error.possibilities), _load_tool(context, rest)
    if tool is not None:
        name = _find_argument(tool, name, is_typo=is_typo)
    elif is_typo:
        return
    if not name:
        return
    pair = f"{name}=VALUE"
    if tool is not None and value and _is_displayable(name, value):
        pair = shlex.quote(f"{name}={value}")
    reason = f"no such option {typed!r:.100}; an argument of the tool is written {pair}."
    raise click.UsageError(reason, context) from None


def _find_argument(tool: OperationTool, name: str, *, is_typo: bool) -> str:
    properties = tool.input_schema["properties"]
    api_names = find_api_names(tool.operation, properties)
    arguments: dict[str, str] = {
        _fold(key): api_names.get(key, key) for key in (*api_names, *properties)
    }
    if argument := arguments.get(_fold(name)):
        return argument
    # A typo of an option is more likely than one of an argument in an option's form.
    return "" if is_typo else next(iter(similar_names(name, properties, most=1)), "")


def _fold(name: str) -> str:
    return name.replace("-", "_").casefold()


def _find_option(option: str, words: Sequence[str]) -> tuple[int | None, str, list[str]]:
    # Where the option stands, its value, and the other words. `-product_id` is reported as `-p`.
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option or (len(option) == 2 and word.startswith(option)):  # noqa: PLR2004 -- -p
            rest = list(words[position + 1 :])
            if not equals and rest and not rest[0].startswith("-"):
                value = rest.pop(0)
            return position, value, [*words[:position], *rest]
    return None, "", list(words)


def _load_tool(context: click.Context, words: list[str]) -> OperationTool | None:
    try:
        parsed = _parse_known(context, words)
        with parsed.scope(cleanup=False):
            return find_tool(load_spec(parsed.params["spec"]), parsed.params["tool"])
    except (click.ClickException, OpenAPIToolsError, KeyError):
        return None  # the message is about the option


def _parse_known(context: click.Context, words: list[str]) -> click.Context:
    options = {
        option
        for parameter in context.command.get_params(context)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    typed = [word.partition("=")[0] for word in words if word[:1] == "-" and word != "-"]
    for option in typed:
        if option not in options:
            words = _find_option(option, words)[2]
    return context.command.make_context(context.info_name, list(words), parent=context.parent)


def _is_displayable(name: str, value: str) -> bool:
    # What may be a secret is not repeated, as a log of the terminal would keep it.
    return len(value) <= _LONGEST_VALUE and redact_data({name: value}) == {name: value}
