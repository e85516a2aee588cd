"""The options of `serve` that `install` writes into a client's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openapi_tools.cli import create_command
from openapi_tools.cli.output import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def parse_serve_options(arguments: Sequence[str]) -> click.Context:
    """Parse arguments of `serve` for another command; errors suggest the options of both."""
    serve, command = create_command("serve"), click.get_current_context().command
    try:
        return serve.make_context(f"{PROGRAM} serve", list(arguments))
    except click.NoSuchOption as error:
        # An option with a typo may have been meant for either command.
        options = {option for each in (*serve.params, *command.params) for option in each.opts}
        raise click.NoSuchOption(
            error.option_name, possibilities=sorted(options), ctx=click.get_current_context()
        ) from None


def list_serve_options(arguments: Sequence[str], *, without: Collection[str]) -> list[str]:
    """Return the options among the arguments of `serve`, except SPEC and those in `without`."""
    takes_value = {
        name
        for option in create_command("serve").params
        if isinstance(option, click.Option) and not option.is_flag
        for name in option.opts
    }
    options: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        parts = [word, next(words, "")] if name in takes_value and not equals else [word]
        if word.startswith("--") and word != "--" and name not in without:
            options += parts
    return options
