"""The layout of `--help`, and the examples and exit codes at its end."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.cli.output import PROGRAM, terminal_width
from openapi_tools.cli.styles import style_name
from openapi_tools.cli.text_layout import join_words, wrap_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_NARROWEST_DEFAULT = 52  # columns from which on click's own layout fits
# A word of a command line with its quoted parts.
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")


class HelpFormatter(click.HelpFormatter):
    """Help with bold headings that also fits a narrow terminal."""

    def __init__(
        self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None
    ) -> None:
        columns = terminal_width()
        if width is None and columns is not None and columns < _NARROWEST_DEFAULT:
            width = max(columns, 20)
        super().__init__(indent_increment, width, max_width)

    def write_heading(self, heading: str) -> None:
        """Write a heading."""
        for line in wrap_text(f"{heading}:", self.width - self.current_indent):
            self.write(f"{'':>{self.current_indent}}{style_name(line)}\n")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write how a command is called; long lists of choices are broken."""
        super().write_usage(prog, self._break_choices(args, separator=" "), prefix)

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write options and commands with their meaning."""
        separator = "\n" + " " * (self.current_indent + self.indent_increment)
        broken = [(self._break_choices(first, separator), second) for first, second in rows]
        super().write_dl(broken, min(col_max, self.width // 3), col_spacing)

    def _break_choices(self, text: str, separator: str) -> str:
        if len(text) + self.current_indent < self.width:
            return text
        return text.replace("|", f"|{separator}")

    def write_command(self, line: str) -> None:
        """Write an example, over several lines of a shell if a terminal is narrower."""
        margin, columns = " " * self.indent_increment, terminal_width()
        width = None if columns is None else max(columns, 20) - len(margin)
        for part in join_words(_WORD.findall(line), width):
            self.write(f"{margin}{part}\n")


class HelpContext(click.Context):
    """The context of a command whose help fits the terminal."""

    formatter_class = HelpFormatter


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
            for line in lines:
                if isinstance(formatter, HelpFormatter):
                    formatter.write_command(line)
                else:
                    formatter.write(f"  {line}\n")
    with formatter.section("Exit codes"):
        if name is None:
            formatter.write_dl(list(exit_codes().items()))
        else:
            formatter.write_text(f"see {PROGRAM} --help.")
