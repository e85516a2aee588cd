"""Generated Python source as values: what its names and expressions stand for, without running it.

What is understood is what the templates write: literals, upper-case constants of the same file or
of a module beside it (`from . import schemas`), `json.loads("…")` and the classes of
`openapi_tools.model`. A constant may not refer to another one. People edit generated files, so
everything else is an error that names the line, never a crash.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NoReturn, get_args, get_origin, get_type_hints

from openapi_tools import model
from openapi_tools.errors import OpenAPIToolsError

if TYPE_CHECKING:
    from collections.abc import Iterator

MODELS: dict[str, type] = {
    name: kind
    for name, kind in vars(model).items()
    if isinstance(kind, type) and is_dataclass(kind)
}
"""The classes that an operation is made of, by name."""

_HOMES = frozenset({"openapi_tools", "openapi_tools.model", "openapi_tools.runtime"})
_SCALARS = frozenset({str, int, float, bool, NoneType})
_FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError)
_REASON = 200


class Unreadable(OpenAPIToolsError):  # noqa: N818 -- reads as a fact, like the package's others
    """A file, or a tool in it, says something that only running it could tell.

    Attributes:
        reason: What is written there.
        path: The file.
        line: In the file, from 1; 0 when it is unknown.
        tool: The tool's name, where that can be read.
    """

    def __init__(self, reason: str, *, path: str, line: int = 0, tool: str = "") -> None:
        super().__init__(reason)
        self.path = path
        self.line = line
        self.tool = tool

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.reason}"


def parse(source: str, *, path: str) -> ast.Module:
    """Return the syntax tree of a file.

    Raises:
        Unreadable: It is no Python source, or nested deeper than the parser goes.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an old file's "\d" is no business of its reader
            return ast.parse(source)
    except _FAULTS as error:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        line = (error.lineno or 0) if isinstance(error, SyntaxError) else 0
        reason = f"this is no Python source that can be read ({one_line(said)})."
        raise Unreadable(reason, path=path, line=line) from None


def assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement binds, each with its expression."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value


def one_line(text: str) -> str:
    """Return a text in printable ASCII on one line, cut short."""
    return " ".join(text.encode("ascii", "backslashreplace").decode().split())[:_REASON]


@dataclass(frozen=True, slots=True)
class Sibling:
    """What `from . import schemas` binds.

    Attributes:
        stem: The module's name.
    """

    stem: str


@dataclass(slots=True)
class Module:
    """A parsed file.

    Attributes:
        path: Where it is.
        tree: What it says.
        sibling: Gives a module beside this one by its name; None when there is none.
        names: What each name is bound to at the file's end: an expression, a class of the model,
            the module `json`, a module beside this one, or None when it is anything else.
    """

    path: str
    tree: ast.Module
    sibling: Callable[[str], Module | None]
    names: dict[str, Any] = field(init=False)
    _constants: dict[tuple[str, bool], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = {}
        for statement in self.tree.body:
            match statement:
                case ast.Assign() | ast.AnnAssign():
                    self.names.update(assigned(statement))
                case ast.ImportFrom() | ast.Import():
                    for alias in statement.names:
                        name = alias.asname or alias.name.partition(".")[0]
                        self.names[name] = _imported(statement, alias.name)
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.names[statement.name] = None

    def constant(self, name: str, *, plain: bool) -> Any:
        """Return the value of a constant, the same object each time; `plain` as in Reader."""
        key = (name, plain)
        if key not in self._constants:
            reader = Reader(self, plain=plain, follow=False)
            self._constants[key] = reader.value(self.names[name])
        return self._constants[key]


def _imported(statement: ast.Import | ast.ImportFrom, name: str) -> Any:
    """Return what an import binds."""
    match statement:
        case ast.ImportFrom(level=0, module=home):
            return MODELS.get(name) if home in _HOMES else None
        case ast.ImportFrom(level=1, module=None):
            return Sibling(name)
        case ast.Import():
            return json if name == "json" else None
    return None


@dataclass(frozen=True, slots=True)
class Reader:
    """Evaluates expressions of one file.

    Attributes:
        module: The file.
        plain: Only JSON values are taken, no tuples and no classes of the model.
        follow: Names of constants are looked up.
    """

    module: Module
    plain: bool
    follow: bool = True

    def fault(self, node: ast.expr | ast.stmt | ast.keyword, reason: str) -> Unreadable:
        """Return that something cannot be read."""
        text = f"{one_line(reason)}; it was edited by hand."
        return Unreadable(text, path=self.module.path, line=node.lineno)

    def value(self, node: ast.expr) -> Any:
        """Return what an expression stands for.

        Raises:
            Unreadable: It is none that is understood.
            RecursionError: It is nested deeper than the interpreter goes.
        """
        if isinstance(node, ast.Constant) and type(node.value) in _SCALARS:
            return node.value
        if isinstance(node, ast.Dict):
            return self._dict(node)
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Tuple) and not self.plain:
            return tuple([self.value(item) for item in node.elts])
        return self._other(node)

    def _dict(self, node: ast.Dict) -> dict[str, Any]:
        made = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or type(key.value) is not str:
                raise self.fault(node, "a key is no string")
            made[key.value] = self.value(value)
        return made

    def _other(self, node: ast.expr) -> Any:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.Name(id=name) if self.follow:
                return self._constant(self.module, name, node)
            case ast.Attribute(value=ast.Name(id=stem), attr=name) if self.follow:
                return self._constant(self._sibling(stem, node), name, node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="loads")):
                if self.module.names.get(name) is json:
                    return self._json(node)
            case ast.Call(func=ast.Name(id=name)) if not self.plain:
                if isinstance(kind := self.module.names.get(name), type):
                    return self._model(node, kind)
        raise self.fault(node, f"a value is no literal ({type(node).__name__})")

    def _constant(self, module: Module, name: str, node: ast.expr) -> Any:
        if not isinstance(module.names.get(name), ast.expr):
            raise self.fault(node, f"{name} is no constant of {module.path}")
        return module.constant(name, plain=self.plain)

    def _sibling(self, name: str, node: ast.expr) -> Module:
        bound = self.module.names.get(name)
        found = self.module.sibling(bound.stem) if isinstance(bound, Sibling) else None
        if found is None:
            raise self.fault(node, f"{name} is no module of the package")
        return found

    def _json(self, node: ast.Call) -> Any:
        match node:
            case ast.Call(args=[ast.Constant(value=str() as text)], keywords=[]):
                try:
                    return json.loads(text, parse_constant=_no_number)
                except ValueError as error:
                    raise self.fault(node, f"JSON text cannot be read ({error})") from None
        raise self.fault(node, "json.loads is given something else than one text")

    def _model(self, node: ast.Call, kind: type) -> Any:
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fault(keyword, f"{kind.__name__} is given `**`")
            named[keyword.arg] = self.value(keyword.value)
        try:
            made = kind(*(self.value(item) for item in node.args), **named)
        except TypeError as error:
            raise self.fault(node, str(error)) from None
        for name, hint in _hints(kind):
            if not _fits(getattr(made, name), hint):
                raise self.fault(node, f"{name} of {kind.__name__} has a value of another type")
        return made


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


@cache
def _hints(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a class of the model and their types."""
    return tuple(get_type_hints(kind, localns={"Mapping": Mapping}).items())


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a field's type."""
    inner = get_args(hint)
    if hint is Any:
        return True
    if isinstance(hint, UnionType):
        return any(_fits(value, choice) for choice in inner)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_fits(item, inner[0]) for item in value)
    if get_origin(hint) is Mapping:
        return isinstance(value, dict) and all(_fits(item, inner[1]) for item in value.values())
    return isinstance(value, hint)
