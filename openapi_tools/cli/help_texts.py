"""The examples and exit codes at the end of `--help`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_tools.cli.output import PROGRAM

if TYPE_CHECKING:
    import click


@cache  # read for `--help` only
def _read_texts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("help_texts.toml").read_text(encoding="utf-8"))


def exit_codes() -> dict[str, str]:
    """Return the exit codes of every command, with their meaning."""
    codes: dict[str, str] = _read_texts()["exit_codes"]
    return codes


def list_examples(name: str | None) -> list[str]:
    """Return the examples of a command as whole command lines."""
    lines = _read_texts()["examples"].get(name, ())
    return [line if f"{PROGRAM} " in line else f"{PROGRAM} {line}" for line in lines]


def write_epilog(name: str | None, formatter: click.HelpFormatter) -> None:
    """Write the end of a command's `--help`; None is the program itself."""
    if lines := list_examples(name):
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in lines))
    with formatter.section("Exit codes"):
        if name is None:
            formatter.write_dl(list(exit_codes().items()))
        else:
            formatter.write_text(f"see {PROGRAM} --help.")
