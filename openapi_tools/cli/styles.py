"""Colours and weights on a terminal: what means what, in one place.

Names are bold, headings and hints dim, methods have the colour of their safety and labels that of
their severity. Every style repeats what the text itself says, so that it reads without colours.
"""

from __future__ import annotations

import os
import re

import click

METHOD_COLOURS = {"read-only": "green", "additive": "yellow", "destructive": "red"}
"""The colour of a method, by what a call may do to the API's data."""

_LABEL = re.compile(r"(?:[a-z-]{1,20}: )?(error|failed|warning|skipped|note|hint|breaking)\b:?")
_LABEL_COLOURS = {"error": "red", "failed": "red", "breaking": "red", "warning": "yellow"}
_LABEL_COLOURS |= {"skipped": "yellow"}
# Possessive, so that no response makes the expression backtrack.
_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]++|\\.)*+")(?P<key>\s*+:)?+'
    r"|(?P<number>-?+\d++(?:\.\d++)?+(?:[eE][-+]?+\d++)?+)"
    r"|(?P<word>true|false|null)"
    r"|(?P<mark>[\[\]{},]++)"
)
_COLOURS = {"string": "green", "number": "cyan", "word": "yellow"}


def colour_choice() -> bool | None:
    """Return whether text gets colours; None if it depends on being a terminal.

    NO_COLOR (no-color.org) overrides FORCE_COLOR, and both override TERM.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def style_label(text: str) -> str:
    """Return a text whose first word, such as `warning:`, has the colour of its severity."""
    match = _LABEL.match(text)
    if match is None:
        return text
    colour = _LABEL_COLOURS.get(match[1])
    label = click.style(match[0], fg=colour, bold=True) if colour else style_secondary(match[0])
    return label + text[match.end() :]


def style_error(text: str) -> str:
    """Return the kind of an error as a terminal displays it."""
    return click.style(text, fg="red", bold=True)


def style_name(text: str) -> str:
    """Return the name of a tool, an argument or a section as a terminal displays it."""
    return click.style(text, bold=True)


def style_secondary(text: str) -> str:
    """Return headings, counts and hints as a terminal displays them."""
    return click.style(text, dim=True)


def colour_json(text: str) -> str:
    """Return JSON text with keys in bold, and a colour for each kind of value."""
    return _TOKEN.sub(_colour_token, text)


def _colour_token(match: re.Match[str]) -> str:
    if match["key"]:
        return click.style(match["string"], fg="blue", bold=True) + match["key"]
    if match["mark"]:
        return click.style(match["mark"], dim=True)
    return click.style(match[0], fg=_COLOURS[match.lastgroup or "word"])
