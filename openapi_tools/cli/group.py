"""The group of all commands, and what every one of them does with errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from openapi_tools._version import __version__
from openapi_tools.cli.call import call
from openapi_tools.cli.lint import lint
from openapi_tools.cli.listing import list_tools
from openapi_tools.cli.output import clean
from openapi_tools.cli.show import show
from openapi_tools.errors import OpenAPIToolsError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "openapi-tools"
_INTERRUPTED = 130


class Commands(click.Group):
    """A group that says in one line what went wrong and never shows a traceback for it."""

    def main(self, args: Sequence[str] | None = None, *_more: Any, **_extra: Any) -> NoReturn:
        """Run a command and exit."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # What the terminal's encoding lacks is shown as an escape.
                stream.reconfigure(errors="backslashreplace")
        sys.exit(_run(self, list(sys.argv[1:] if args is None else args)))


def _run(group: click.Group, args: list[str]) -> int:
    """Return the exit code of a command, after telling what went wrong."""
    try:
        with group.make_context(PROGRAM, args) as context:
            code = group.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        return _tell(error)
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:
        _close_quietly()
        return 0
    except OpenAPIToolsError as error:
        click.echo(f"{PROGRAM}: error: {clean(str(error), lines=False)}", err=True)
        return 2
    return code if isinstance(code, int) else 0


def _tell(error: click.ClickException) -> int:
    """Say what was wrong with the usage, and how it is meant."""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(error.ctx.get_usage(), err=True)
    message = clean(error.format_message(), lines=False)
    click.echo(f"{PROGRAM}: error: {message}", err=True)
    return error.exit_code


def _close_quietly() -> None:
    """Let nobody write to a pipe that nobody reads, the interpreter at its end included."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    name=PROGRAM,
    cls=Commands,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name=PROGRAM)
def commands() -> None:
    """Look at an OpenAPI document as tools, and call them.

    SPEC is a file, an http(s) URL, or - for standard input.
    """


for command in (list_tools, show, call, lint):
    commands.add_command(command)
