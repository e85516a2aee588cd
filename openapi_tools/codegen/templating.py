"""Find, compile and fill the templates of generated files.

A value that a template prints is written as a literal of the file's language, unless it is `Code`:
made by the literal writer or taken from the allow-list of names. In Python and TOML the literal
must be a whole value of the file. So no template, a user's own included, turns text of a document
into code.
"""

from __future__ import annotations

import io
import json
import re
import secrets
import tokenize
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2 import nodes
from jinja2.sandbox import SandboxedEnvironment

from openapi_tools.codegen.literals import Code, literal
from openapi_tools.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent / "templates"
# At the start of a line more characters are markup, and so is a number before a dot or bracket.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#!|~&$@]|^[-+:={])")
_NUMBERED = re.compile(r"^([0-9]+)(?=[.)](?: |$))")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_NO_ASCII = re.compile(r"[^ -~]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError),
    *(TypeError, ValueError, jinja2.TemplateError),
)


class Templates:
    """The templates of generated files.

    Args:
        folder: A folder with templates that replace built-in ones of the same name.
        writers: The writer of values for each kind of file; Python, Markdown and TOML by default.

    Raises:
        TemplateError: It is not a folder, or has no template of a known name.
    """

    def __init__(self, folder: Path | None = None, *, writers: Writers | None = None) -> None:
        if folder is not None:
            _check_folder(folder)
        self._writers = writers or _WRITERS
        self._literals: list[str] = []
        # A name that no document can guess stands for each literal until the file is checked.
        self._name = f"literal_{secrets.token_hex(16)}"
        self._mark = re.compile(f"{self._name}_([0-9]+)_")
        self._environments = {
            kind: SandboxedEnvironment(
                loader=_Loader([FOLDER] if folder is None else [folder, FOLDER]),
                autoescape=False,
                finalize=partial(self._printed, kind),
                trim_blocks=True,
                lstrip_blocks=True,
                keep_trailing_newline=True,
                undefined=jinja2.StrictUndefined,
            )
            for kind in self._writers
        }

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Return the text of a file, for instance of `"tools.py"`."""
        file, kind = f"{name}.jinja", name.rpartition(".")[2]
        try:
            text = self._environments[kind].get_template(file).render(values)
        except _FAULTS as error:
            raise TemplateError(_reason(error), template=_place(error, file)) from None
        if kind in _VALUES:
            self._check(kind, text, file)
        return self._filled(text)

    def _check(self, kind: str, text: str, file: str) -> None:
        """Refuse a file in which a literal would be part of a string, a name or a comment."""
        try:
            values = _VALUES[kind](text, self._mark)
            whole = sum(self._mark.fullmatch(value) is not None for value in values)
        except (SyntaxError, tokenize.TokenError, tomllib.TOMLDecodeError) as error:
            language = "TOML" if kind == "toml" else "Python"
            reason = f"the file is not valid {language} ({_reason(error)[:-1]})"
            raise TemplateError(f"{reason}; print values without quotes.", template=file) from None
        if whole != len(self._mark.findall(text)):
            reason = "a value is printed inside a string, a name or a comment; print it by itself."
            raise TemplateError(reason, template=file)

    def _printed(self, kind: str, value: Any) -> str:
        """Return Code unchanged; for any other value its literal, or the mark of that."""
        if isinstance(value, Code):
            return value
        if isinstance(value, jinja2.Undefined):
            return str(value)  # raises, and names the undefined value
        # A macro or a block gives text with marks.
        text = self._writers[kind](self._filled(value) if type(value) is str else value)
        if kind not in _VALUES:
            return text
        self._literals.append(text)
        return f"{self._name}_{len(self._literals) - 1}_"

    def _filled(self, text: str) -> str:
        """Replace the marks in a text by their literals."""
        return self._mark.sub(lambda mark: self._literals[int(mark[1])], text)


class _Loader(jinja2.FileSystemLoader):
    """Loads templates without the blocks that print text past `_printed`."""

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, Any]:
        source, path, is_current = super().get_source(environment, template)
        tree = environment.parse(source, template, path)
        for node in tree.find_all((nodes.CallBlock, nodes.FilterBlock)):
            reason = "call and filter blocks are not supported; print values, or include templates"
            raise jinja2.TemplateSyntaxError(reason, node.lineno, template, path)
        return source, path, is_current


def markdown(value: Any) -> str:
    """Return a value as one line of Markdown, free of Markdown and HTML markup."""
    text = _BLANK.sub(" ", str(value)).strip()
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return _NUMBERED.sub(r"\1\\", _MARKDOWN.sub(r"\\\1", text))


def _toml(value: Any) -> str:
    """Return a value as TOML; basic strings take JSON's escapes, but no surrogates."""
    text = json.dumps(value, ensure_ascii=False)
    text = _SURROGATE.sub("\ufffd", text)
    return _NO_ASCII.sub(lambda found: f"\\U{ord(found.group()):08x}", text)


Writers = Mapping[str, Callable[[Any], str]]
_WRITERS: Writers = {"py": literal, "md": markdown, "toml": _toml}


def _python_tokens(text: str, mark: re.Pattern[str]) -> Iterator[str]:
    """Yield the tokens of a Python file that has marks."""
    lines = io.StringIO(text if mark.search(text) else "")
    for token in tokenize.generate_tokens(lines.readline):
        if token.type == tokenize.ERRORTOKEN:
            raise SyntaxError(f"{token.string!r} in line {token.start[0]}")
        yield token.string


def _toml_values(text: str, mark: re.Pattern[str]) -> Iterator[str]:
    """Yield the keys and strings of a TOML file, with each mark as a string."""
    waiting: list[Any] = [tomllib.loads(mark.sub(r'"\g<0>"', text))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting += [*node, *node.values()]
        elif isinstance(node, list):
            waiting += node
        elif isinstance(node, str):
            yield node


_VALUES = {"py": _python_tokens, "toml": _toml_values}


def _check_folder(folder: Path) -> None:
    known = {path.name for path in FOLDER.glob("*.jinja")}
    try:
        found = {path.name for path in folder.iterdir() if path.is_file()}
        if known & found:
            return
        reason = f"the folder holds no template; their names are {', '.join(sorted(known))}."
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        reason = f"the folder of templates cannot be read ({said})."
    raise TemplateError(reason, template=str(folder))


def _reason(error: Exception) -> str:
    """Return the fault of a template in one line."""
    match error:
        case jinja2.TemplateSyntaxError(message=str(text)):
            pass
        case jinja2.TemplateNotFound(name=name):
            text = f"template {str(name)!r} not found"
        case _:
            text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith(".") else f"{text}."


def _place(error: Exception, file: str) -> str:
    """Return the template and, where it is known, the line of an error."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{Path(error.filename or error.name or file).name}:{error.lineno}"
    place, trace = file, error.__traceback__
    while trace is not None:
        name = Path(trace.tb_frame.f_code.co_filename).name
        if name.endswith(".jinja"):
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
