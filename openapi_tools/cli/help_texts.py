"""The examples and exit codes at the end of `--help`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

_PROGRAM = "openapi-tools"
_TEXTS = tomllib.loads(Path(__file__).with_name("help_texts.toml").read_text(encoding="utf-8"))
EXIT_CODES: dict[str, str] = _TEXTS["exit_codes"]


def list_examples(name: str | None) -> list[str]:
    """Return the examples of a command as whole command lines."""
    lines = _TEXTS["examples"].get(name, ())
    return [line if f"{_PROGRAM} " in line else f"{_PROGRAM} {line}" for line in lines]


def write_epilog(name: str | None, formatter: click.HelpFormatter) -> None:
    """Write the end of a command's `--help`; None is the program itself."""
    if lines := list_examples(name):
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in lines))
    with formatter.section("Exit codes"):
        if name is None:
            formatter.write_dl(list(EXIT_CODES.items()))
        else:
            formatter.write_text(f"see {_PROGRAM} --help.")
