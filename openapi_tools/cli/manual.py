"""Examples and exit codes of the commands, for `--help` and for the manual page."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openapi_tools._version import __version__
from openapi_tools.cli import PROGRAM, command, commands, imported, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TEXTS = tomllib.loads(Path(__file__).with_name("manual.toml").read_text(encoding="utf-8"))
EXIT_CODES: dict[str, str] = _TEXTS["exit_codes"]


def lines_of(name: str | None) -> list[str]:
    """Return the examples of a command as whole command lines."""
    lines = _TEXTS["examples"].get(name, ())
    return [line if f"{PROGRAM} " in line else f"{PROGRAM} {line}" for line in lines]


def write_end(name: str | None, formatter: click.HelpFormatter) -> None:
    """Write the end of a command's `--help`; the program itself has no name here."""
    if lines := lines_of(name):
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in lines))
    with formatter.section("Exit codes"):
        if name is None:
            formatter.write_dl(list(EXIT_CODES.items()))
        else:
            formatter.write_text(f"as in {PROGRAM} --help.")


@command("man")
def man() -> None:
    """Print the manual page, in roff.

    Keep it with: openapi-tools man > ~/.local/share/man/man1/openapi-tools.1
    """
    say("\n".join(_page()))


def _page() -> Iterator[str]:
    yield f'.TH OPENAPI\\-TOOLS 1 "" "{PROGRAM} {__version__}" "User Commands"'
    yield from (".SH NAME", rf"openapi\-tools \- {_roff('OpenAPI documents as tools')}")
    yield from (".SH SYNOPSIS", r".B openapi\-tools", "COMMAND [OPTIONS] [SPEC] ...")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(commands.help)
    yield ".SH COMMANDS"
    shared: dict[str, dict[str, str]] = {}
    for name in commands.commands:
        yield from _command(name, shared)
    for heading, records in shared.items():
        yield f'.SH "OPTIONS: {_roff(heading).upper()}"'
        yield from _terms(records.items())
    yield ".SH EXIT STATUS"
    yield from _terms(EXIT_CODES.items())
    yield ".SH ENVIRONMENT"
    yield from _terms(_TEXTS["environment"].items())


def _command(name: str, shared: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield the section of a command; options under a heading of their own go to `shared`."""
    found = imported(name)
    with click.Context(found, info_name=name) as context:
        yield f'.SS "{_roff(" ".join([name, *found.collect_usage_pieces(context)]))}"'
        yield from _paragraphs(found.help)
        own: list[tuple[str, str]] = []
        headings: dict[str, None] = {}
        for option in found.params:
            record = option.get_help_record(context)
            if record is None or not isinstance(option, click.Option):
                continue
            if heading := getattr(option, "heading", ""):
                headings[heading] = None
                shared.setdefault(heading, {}).update([record])
            else:
                own.append(record)
    yield from _terms(own)
    if headings:
        yield from (".PP", _roff(f"Further options, below: {'; '.join(headings)}."))
    if lines := lines_of(name):
        yield from (".PP", "Examples:", ".PP", ".RS", ".nf", *map(_roff, lines), ".fi", ".RE")


def _terms(records: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, words in records:
        yield from (".TP", f'.B "{_roff(term)}"', _roff(words) or r"\&")


def _paragraphs(text: str | None) -> Iterator[str]:
    r"""Yield the paragraphs of a help text; click keeps the lines behind a `\b`."""
    for part in re.split(r"\n{2,}", inspect.cleandoc(text or "")):
        yield ".PP"
        if part.startswith("\b"):
            yield from (".nf", *map(_roff, part.splitlines()[1:]), ".fi")
        else:
            yield _roff(" ".join(part.split()))


def _roff(text: str) -> str:
    """Return a text with what roff reads as its own escaped."""
    safe = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return re.sub(r"^(?=[.'])", r"\\&", safe)
