"""`openapi-tools explain`: what an error type means, and what to do."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

import click

from openapi_tools.cli.output import print_text, terminal_width
from openapi_tools.cli.styles import style_name
from openapi_tools.cli.text_layout import shorten_text, wrap_text
from openapi_tools.common.options import close_names

_WIDTH = 80
_LEAST_SENTENCE = 30  # columns beside the names
_KINDS = {
    "results": 'an error type of a result, `error["type"]`',
    "exceptions": "an exception of loading and generating",
}


class ErrorText(NamedTuple):
    """The explanation of an error type.

    Attributes:
        name: The name of the type or of the exception's class.
        kind: Where it occurs.
        what: What has happened.
        steps: What to do.
    """

    name: str
    kind: str
    what: str
    steps: tuple[str, ...]

    def format_markdown(self) -> str:
        """Return the section of the page about errors."""
        steps = "".join(f"- {step}\n" for step in self.steps)
        return (
            f"## `{self.name}`\n\n{self.kind[0].upper()}{self.kind[1:]}.\n\n{self.what}\n\n{steps}"
        )

    def format_lines(self, width: int) -> str:
        """Return the same text for a terminal."""
        steps = [f"- {step}" for step in self.steps]
        text = "\n".join([f"{self.name}: {self.kind}", "", self.what, "", *steps])
        return "\n".join(wrap_text(text.replace("`", ""), width))


def read_error_texts() -> dict[str, ErrorText]:
    """Return the texts by the name of the error type, those of results first."""
    path = Path(__file__).with_name("error_types.toml")
    groups = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: ErrorText(name, kind, entry["what"], tuple(entry["do"]))
        for group, kind in _KINDS.items()
        for name, entry in groups[group].items()
    }


def explain_error(error_type: str | None) -> None:
    """Print what TYPE means and what to do, or list the types."""
    texts, width = read_error_texts(), min(terminal_width() or _WIDTH, _WIDTH)
    if error_type is None:
        _list_types(texts, width)
        return
    names = {name.casefold(): name for name in texts}
    if (name := names.get(error_type.strip().casefold())) is None:
        close = close_names(error_type, texts)
        hint = "; `openapi-tools explain` lists the types." if close == "." else close
        raise click.UsageError(f"no error type is called {error_type!r:.60}{hint}")
    print_text(style_name(name) + texts[name].format_lines(width).removeprefix(name))


def _list_types(texts: dict[str, ErrorText], width: int) -> None:
    size = max(map(len, texts))
    for name, text in texts.items():
        sentence = text.what.partition(". ")[0].removesuffix(".")
        if width - size < _LEAST_SENTENCE:
            print_text(style_name(name))
            print_text("\n".join(f"  {line}" for line in wrap_text(sentence, width - 2)))
        else:
            summary = shorten_text(sentence, width - size - 2)
            print_text(f"{style_name(name.ljust(size))}  {summary}")
