"""Examples and exit codes of the commands, for `--help` and for the manual page."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click

from openapi_tools._version import __version__
from openapi_tools.cli import PROGRAM, VARIABLE, command, commands, imported, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EXIT_CODES = {
    0: "done",
    1: "the answer is no: a failed call or program, findings, changes, breaking differences; or "
    "output that cannot be written",
    2: "wrong usage, a document that does not load or has no usable operation, a package that "
    "cannot be written",
    3: "a part of the result was printed only; standard error says how much is missing",
    130: "interrupted",
}
EXAMPLES = {
    "list": ("list openapi.yaml", "list openapi.yaml --match '*user*' --method get --cost"),
    "show": ("show openapi.yaml get_user", "show openapi.yaml 'GET /users/{id}' --schema"),
    "stats": ("stats openapi.yaml --profile anthropic --limit 5",),
    "call": (
        "call openapi.yaml get_user id=7",
        "call openapi.yaml create_user name=Ada 'tags:=[1, 2]' photo=@ada.png --dry-run",
        "call openapi.yaml list_users --bearer '$TOKEN' --all-pages --limit 500",
        "call openapi.yaml get_user id=7 --mock",
    ),
    "search": ("search openapi.yaml invite a user to a team",),
    "stubs": ("stubs openapi.yaml get_user create_user",),
    "run": ("run openapi.yaml program.py --mock",),
    "login": ("login openapi.yaml --client-id my-app --token-file token.json",),
    "serve": ("serve openapi.yaml --mode search", "serve openapi.yaml --transport http --ask"),
    "browse": ("browse openapi.yaml",),
    "lint": ("lint openapi.yaml", "lint openapi.yaml --fix overlay.yaml"),
    "diff": ("diff old.yaml new.yaml --fail-on breaking",),
    "prove": ("prove openapi.yaml",),
    "init": ("init openapi.yaml", "init --schema > openapi-tools.schema.json"),
    "generate": (
        "generate openapi.yaml --output build/users",
        "generate openapi.yaml --output build/users --check --diff",
    ),
    "cache": ("cache", "cache --clear"),
    "completion": ('eval "$(openapi-tools completion bash)"',),
    "man": ("man | man -l -",),
}
"""Command lines by command, without the program's name unless something stands before it."""
_ENVIRONMENT = {
    "NO_COLOR": "no colours",
    "PAGER": "the program for what is longer than the screen; empty for none",
    "OPENAPI_TOOLS_CACHE": "off turns the document cache off",
    "OPENAPI_TOOLS_CACHE_DIR": "the folder of the document cache",
    VARIABLE: "set by completion scripts",
}


def lines_of(name: str | None) -> list[str]:
    """Return the examples of a command as whole command lines."""
    lines = EXAMPLES.get(str(name), ())
    return [line if f"{PROGRAM} " in line else f"{PROGRAM} {line}" for line in lines]


def write_end(name: str | None, formatter: click.HelpFormatter) -> None:
    """Write the end of a command's `--help`; the program itself has no name here."""
    if lines := lines_of(name):
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in lines))
    codes = [(str(code), words) for code, words in EXIT_CODES.items()]
    with formatter.section("Exit codes"):
        if name is None:
            formatter.write_dl(codes)
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
    yield from _terms((str(code), words) for code, words in EXIT_CODES.items())
    yield ".SH ENVIRONMENT"
    yield from _terms(_ENVIRONMENT.items())


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
