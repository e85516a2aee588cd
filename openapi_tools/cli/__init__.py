"""The command line `openapi-tools`: its commands, imported when they run.

Exit codes are those of help_texts.toml.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from openapi_tools._version import __version__
from openapi_tools.cli.command_options import command_of
from openapi_tools.cli.encodings import ERRORS
from openapi_tools.cli.help_texts import HelpContext, write_epilog
from openapi_tools.cli.option_names import use_option_names
from openapi_tools.cli.output import COMPLETION_VARIABLE, PROGRAM, print_error, print_message
from openapi_tools.cli.styles import colour_choice
from openapi_tools.common.lazy_names import import_by_name
from openapi_tools.errors import OpenAPIToolsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_INTERRUPTED = 130
_OUTPUT_FAILED = 1
# The commands with their line of `--help` and their function, which is imported to run it.
_COMMANDS = {
    "list": ("List the tools.", "list_command.list_tools"),
    "show": ("Show everything about one tool.", "show_command.show_tool"),
    "stats": ("Show the size of the tools' definitions.", "stats_command.show_stats"),
    "call": ("Call one tool and print its result.", "call_command.call_tool"),
    "search": ("Find the tools for a task.", "search_command.search_tools"),
    "stubs": ("Show tools as typed signatures.", "search_command.show_stubs"),
    "run": ("Run a program that calls the tools.", "run_command.run_program"),
    "login": ("Log in and store the token in a file.", "login_command.log_in"),
    "demo": ("Try everything on the mock of a museum.", "demo_command.show_demo"),
    "browse": ("Show the tools as a page in the browser.", "browse_command.browse_tools"),
    "serve": ("Serve the tools over MCP.", "serve_command.serve_tools"),
    "install": ("Add the server to an MCP client.", "install_command.install_server"),
    "lint": ("Check a document, and fix it.", "lint_command.lint_document"),
    "prove": ("Call every tool against a mock and check it.", "prove_command.report_proofs"),
    "eval": ("Run a model on cases against a mock.", "eval_command.evaluate_model"),
    "diff": ("Show what changes for the tools.", "diff_command.compare_tools"),
    "learn": ("Propose an overlay from recorded calls.", "learn_command.learn_from_calls"),
    "lock": ("Accept tools, and see what has changed since.", "lock_command.lock_tools"),
    "init": ("Write a configuration file.", "init_command.write_configuration"),
    "generate": ("Write the tools as a Python package.", "generate_command.generate_packages"),
    "explain": ("Explain an error type.", "explain_command.explain_error"),
    "cache": ("List or remove cached documents.", "cache_command.manage_cache"),
    "completion": ("Print a shell's completion script.", "completion.print_script"),
}


class CommandGroup(click.Group):
    """A group that imports what a command needs when it is used, and reports errors in one line."""

    context_class = HelpContext
    prepare_command: Callable[[click.Command], None] = staticmethod(lambda _: None)
    """Changes a command before its arguments are read, as completion does."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, its name and the other arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and command.name in _COMMANDS:
            command = create_command(command.name)
            self.prepare_command(command)
        return name, command, rest

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the exit codes."""
        write_epilog(None, formatter)

    def main(self, args: Sequence[str] | None = None, *_args: Any, **_options: Any) -> NoReturn:
        """Run a command, or answer a shell that completes one, and exit."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors=ERRORS)
        # The end of a process collects garbage: it would walk over all modules for a tenth of a
        # second, to free memory that the system takes back.
        atexit.register(gc.freeze)
        if instruction := os.environ.get(COMPLETION_VARIABLE):
            sys.exit(import_later("completion.complete")(self, instruction))
        sys.exit(_run_group(self, list(sys.argv[1:] if args is None else args)))


def create_command(name: str) -> click.Command:
    """Return a command by name; the group has only its line of the help."""
    suggest = import_later("argument_hints.suggest_argument") if name == "call" else None
    return command_of(name, import_later(_COMMANDS[name][1]), suggest)


def import_later(path: str) -> Callable[..., Any]:
    """Return a function `module.function` of this package, whose module is imported to call it.

    Most commands import what loading, calling or serving needs.
    """

    def run(*arguments: Any, **values: Any) -> Any:
        module, _, function = path.partition(".")
        imported = import_by_name(f"openapi_tools.cli.{module}")
        return getattr(imported, function)(*arguments, **values)

    return run


def _run_group(group: click.Group, args: list[str]) -> int:
    if sys.stdout is None:
        print_error("standard output is closed.")
        return _OUTPUT_FAILED
    try:
        code = _run_command(group, args)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return 0
    except OSError as error:
        with contextlib.suppress(OSError):
            _discard_output()
            print_error(f"input or output failed: {error.strerror or type(error).__name__}.")
        return _OUTPUT_FAILED
    return code


def _run_command(group: click.Group, args: list[str]) -> int:
    try:
        with group.make_context(PROGRAM, args, color=colour_choice()) as context:
            code = group.invoke(context)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            print_message(error.ctx.get_usage())
        print_error(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except OpenAPIToolsError as error:
        print_error(use_option_names(error))
        return 2
    return code if isinstance(code, int) else 0


def _discard_output() -> None:
    # The interpreter flushes standard output at its end, which would fail once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    name=PROGRAM,
    cls=CommandGroup,
    no_args_is_help=False,
    commands=[click.Command(name, short_help=text) for name, (text, _) in _COMMANDS.items()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name=PROGRAM)
def commands() -> None:
    """Look at an OpenAPI document as tools, and call them.

    SPEC is a file, an http(s) URL, or - for standard input; a configuration (.toml) that names
    its document; or an ASGI application, as module:attribute.
    """


def main() -> None:
    """Run the command line on `sys.argv` and exit."""
    commands.main()
