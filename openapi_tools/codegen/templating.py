"""The templates: found, compiled and filled, each kind of file with its own way to take text.

What a template prints is written as a literal of its file's kind, unless it is `Code`: made by the
literal writer or taken from the allow-list of names. So no template, a user's own included, can let
text of a document become code, and none is made from such text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2.sandbox import SandboxedEnvironment

from openapi_tools.codegen.literals import Code, literal
from openapi_tools.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FOLDER = Path(__file__).parent / "templates"
# At the start of a line more signs mean something, and so does a number before a dot or bracket.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#!|~&$@]|^[-+:={])")
_NUMBERED = re.compile(r"^([0-9]+)(?=[.)](?: |$))")
_UNSEEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_NO_ASCII = re.compile(r"[^ -~]")
_HALF = re.compile(r"[\ud800-\udfff]")
_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    jinja2.TemplateError,
)


class Templates:
    """The templates of generated files.

    Args:
        folder: A folder of the user's with templates that stand in for ours of the same name.

    Raises:
        TemplateError: It is no folder, or has no template of any name that is asked for.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        if folder is not None:
            _check_folder(folder)
        folders = [FOLDER] if folder is None else [folder, FOLDER]
        self._environments = {
            kind: SandboxedEnvironment(
                loader=jinja2.FileSystemLoader(folders),
                autoescape=False,
                finalize=finalize,
                trim_blocks=True,
                lstrip_blocks=True,
                keep_trailing_newline=True,
                undefined=jinja2.StrictUndefined,
            )
            for kind, finalize in _KINDS.items()
        }

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Return a file's text.

        Args:
            name: Of the template, for instance `"tools.py"`.
            values: What it may use.

        Raises:
            TemplateError: The template is wrong.
        """
        file = f"{name}.jinja"
        environment = self._environments[name.rpartition(".")[2]]
        try:
            return environment.get_template(file).render(values)
        except _FAULTS as error:
            raise TemplateError(_reason(error), template=_place(error, file)) from None


def markdown(value: Any) -> str:
    """Return a value as a line of Markdown text that means nothing to Markdown or HTML."""
    text = _UNSEEN.sub(" ", str(value)).strip()
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return _NUMBERED.sub(r"\1\\", _MARKDOWN.sub(r"\\\1", text))


def _toml(value: Any) -> str:
    """Return a value as TOML; its basic strings take JSON's escapes, but no halves of characters.

    Spec: TOML 1.0.0, String.
    """
    text = json.dumps(value, ensure_ascii=False)
    return _NO_ASCII.sub(lambda found: f"\\U{ord(found.group()):08x}", _HALF.sub("\ufffd", text))


def _elixir(value: Any) -> str:
    from openapi_tools.codegen.exathena.literals import literal as elixir_literal

    return elixir_literal(value)


def _finalize(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return what a template's values go through: Code stays, anything else is written."""

    def finalize(value: Any) -> str:
        if isinstance(value, Code):
            return value
        if isinstance(value, jinja2.Undefined):
            return str(value)  # which raises, and says what is undefined
        return write(value)

    return finalize


_KINDS = {
    "py": _finalize(literal),
    "md": _finalize(markdown),
    "toml": _finalize(_toml),
    "ex": _finalize(_elixir),
    "exs": _finalize(_elixir),
}


def _check_folder(folder: Path) -> None:
    known = {path.name for path in FOLDER.glob("*.jinja")}
    try:
        found = {path.name for path in folder.iterdir() if path.is_file()}
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        reason = f"the folder of templates cannot be read ({said})."
        raise TemplateError(reason, template=str(folder)) from None
    if not known & found:
        reason = f"the folder holds no template; their names are {', '.join(sorted(known))}."
        raise TemplateError(reason, template=str(folder))


def _reason(error: Exception) -> str:
    """Return what is wrong with a template, in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, jinja2.TemplateNotFound):
        text = f"there is no template {str(error.name)!r}"
    return text if text.endswith(".") else f"{text}."


def _place(error: Exception, file: str) -> str:
    """Return the template and, where it can be told, the line of an error."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{Path(error.filename or error.name or file).name}:{error.lineno}"
    place, trace = file, error.__traceback__
    while trace is not None:
        name = Path(trace.tb_frame.f_code.co_filename).name
        if name.endswith(".jinja"):
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
