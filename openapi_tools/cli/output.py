"""Output: text that is safe for a terminal, and JSON."""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.json_values import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.generate import Report
    from openapi_tools.tools.toolset import Toolset

CREDENTIALS = "--bearer '$VAR', --basic '$USER:$PASSWORD' or --header 'NAME: $VAR'"
"""The hint on credentials that the document does not declare."""

# Control characters, which steer a terminal or the direction of writing; surrogates, which no
# encoding can write.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_WORDS = (
    (
        r"a credential with a scheme of its own, credentials=\{.*?\}\}, or a client [^.]*",
        CREDENTIALS,
    ),
    (r"credentials=\{'([^']*)': …\}", r"--credential '\1=$NAME'"),
    (r"Settings\(base_url=…\)", "--base-url"),
    (r"Settings\(base_url='([^']*)'\)", r"--base-url \1"),
    (
        r"Settings\(credential_origins=\(([^)]*)\)\)",
        lambda match: " ".join(
            f"--credential-origin {origin}" for origin in re.findall(r"'([^']*)'", match[1])
        ),
    ),
)


def for_shell(message: object) -> str:
    """Return a message with command-line options in place of Python arguments."""
    text = str(message)
    for pattern, option in _WORDS:
        text = re.sub(pattern, option, text)
    return text


def clean(text: str, *, lines: bool = True) -> str:
    r"""Return text with characters that control a terminal escaped, as in `\u001b`."""
    if not lines:
        text = " ".join(text.split())
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text.replace("\r\n", "\n"))


def as_json(value: Any, *, pretty: bool = True) -> str:
    """Return a value as JSON that a terminal may show."""
    # The same escapes are valid inside JSON strings, and such characters stand nowhere else in it.
    return clean(json.dumps(value, ensure_ascii=False, indent=2) if pretty else text_of(value))


def say(text: str = "") -> None:
    """Write to standard output; the text has been cleaned."""
    click.echo(text)


def remark(text: str) -> None:
    """Write one line to standard error."""
    click.echo(clean(text, lines=False), err=True)


def tell_skipped(found: Toolset | Report) -> None:
    """Write the skipped operations and the warnings to standard error."""
    for entry in found.skipped:
        remark(f"skipped {entry.method} {entry.path} at {entry.pointer}: {entry.reason}")
    for warning in found.warnings:
        remark(f"warning: {for_shell(warning)}")


def skipped_data(found: Toolset | Report) -> dict[str, Any]:
    """Return the skipped operations and the warnings as JSON data."""
    skipped = [members(entry, ("method", "path", "pointer", "reason")) for entry in found.skipped]
    return {"skipped": skipped, "warnings": list(found.warnings)}


def members(item: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some attributes as JSON data."""
    return {name: getattr(item, name) for name in names}


@contextmanager
def busy(message: str) -> Iterator[None]:
    """Show progress on a terminal; nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich import console, text

    with console.Console(stderr=True).status(text.Text(clean(message, lines=False))):
        yield
