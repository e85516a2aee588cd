"""The data that a generated package is written from: collected from tools, or read from its files.

Files are not run. Only what the templates write is understood: literals, constants here or in a
module beside that refer to no others, `json.loads("…")` and the classes of `openapi_tools.model`.
People edit generated files, so anything else is an error that names the line.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from posixpath import dirname, join
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from openapi_tools.codegen import MODELS
from openapi_tools.common.json_values import as_string
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.common.visible_text import strip_hidden
from openapi_tools.errors import InvalidDocument, OpenAPIToolsError
from openapi_tools.model import Operation, SecurityScheme, Server

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.model import Skipped
    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

    Files = Mapping[str, str | ast.Module]

_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# Generated packages import from `runtime`, older ones from the others.
_MODEL_MODULES = frozenset({"openapi_tools", "openapi_tools.model", "openapi_tools.runtime"})
_BASE = "OperationTool"
_SCHEMES = "SECURITY_SCHEMES"
_SCALARS = frozenset({str, int, float, bool, NoneType})
_LONGEST_LINE = 200


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """One tool as data: what the model reads, and how the API is called."""

    name: str
    description: str
    input_schema: dict[str, Any]
    operation: Operation

    @property
    def summary(self) -> str:
        """The operation and the first line of the description: `GET /pets: List the pets`."""
        operation = f"{self.operation.method} {self.operation.path}"
        line = self.description.strip().partition("\n")[0]
        return operation if line in ("", operation) else f"{operation}: {line}"


@dataclass(frozen=True, slots=True)
class PackageData:
    """The data of one package; `settings` are those that shape tools and are not default."""

    api: str
    records: tuple[ToolRecord, ...]
    title: str = ""
    version: str = ""
    document_hash: str = ""
    schemes: Mapping[str, SecurityScheme] = field(default_factory=dict)
    servers: tuple[Server, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def collect_package_data(
    toolset: Toolset, *, api: str, settings: Settings, servers: tuple[Server, ...] = ()
) -> PackageData:
    """Collect the package data of a loaded document's selected tools."""
    # Definitions are identified by their JSON text, which joins a surrogate pair to one character.
    root = toolset.document if isinstance(toolset.document, dict) else {}
    for key in ("components", "definitions"):
        if _SURROGATE_PAIR.search(json.dumps(root.get(key), ensure_ascii=False)):
            reason = (
                "a string contains the two surrogates of one character separately, "
                "which JSON cannot express."
            )
            raise InvalidDocument(reason, pointer=f"/{key}")
    title, version = document_info(root)
    servers = _base_url_server(settings) or servers
    return PackageData(
        api,
        tuple(_make_record(tool, _base_url_server(settings)) for tool in toolset),
        title=title,
        version=version,
        document_hash=hash_document(toolset.document),
        schemes=toolset.security_schemes,
        servers=servers,
        skipped=toolset.skipped,
        counts=toolset.counts,
        settings={
            name: getattr(settings, name)
            for name in sorted(settings.SHAPING & settings.model_fields_set)
            if getattr(settings, name) != getattr(DEFAULT_SETTINGS, name)
        },
    )


def _make_record(tool: OperationTool, servers: tuple[Server, ...]) -> ToolRecord:
    operation = replace(tool.operation, servers=servers) if servers else tool.operation
    return ToolRecord(tool.name, tool.description, tool.input_schema, operation)


def _base_url_server(settings: Settings) -> tuple[Server, ...]:
    if settings.base_url is None:
        return ()
    # In a server's URL braces would name a variable (OpenAPI 3.2.0, section 4.6).
    return (Server(settings.base_url.replace("{", "%7B").replace("}", "%7D")),)


def document_info(document: Any) -> tuple[str, str]:
    """Return title and version of a parsed document; empty where they are missing."""
    info = document.get("info") if isinstance(document, dict) else None
    fields = info if isinstance(info, dict) else {}
    version = fields.get("version", "")
    is_scalar = isinstance(version, str | int | float)
    return strip_hidden(as_string(fields.get("title"))), str(version) if is_scalar else ""


def hash_document(document: Any) -> str:
    """Return the SHA-256 of a parsed document: the same for JSON and YAML of the same data."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class UnreadableTool(OpenAPIToolsError):  # noqa: N818 -- reads as a fact, like the package's others
    """A file, or a tool in it, cannot be read without running it."""

    def __init__(self, reason: str, *, path: str, line: int = 0, tool: str = "") -> None:
        super().__init__(reason)
        self.path, self.line, self.tool = path, line, tool

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.reason}"


def read_records(
    files: Files, *, unreadable: list[UnreadableTool] | None = None
) -> dict[str, ToolRecord]:
    """Return the tools of a package's `.py` files by name; `unreadable` collects faults."""
    module_of = _module_reader(files)
    records: dict[str, ToolRecord] = {}
    for path, source in files.items():
        if isinstance(source, str) and _BASE not in source:
            continue
        for record in _read_tools(path, module_of):
            if isinstance(record, UnreadableTool):
                fault = record
            elif records.setdefault(record.name, record) is record:
                continue
            else:
                reason = "a second tool has this name; it was edited by hand."
                fault = UnreadableTool(reason, path=path, tool=record.name)
            if unreadable is None:
                raise fault
            unreadable.append(fault)
    return records


def read_schemes(files: Mapping[str, str]) -> dict[str, SecurityScheme]:
    """Return the security schemes of one generated package; none where they cannot be read."""
    schemes: dict[str, SecurityScheme] = {}
    module_of = _module_reader(files)
    for path in (path for path, source in files.items() if _SCHEMES in source):
        with suppress(UnreadableTool, RecursionError):
            module = module_of(path)
            if isinstance(module.names.get(_SCHEMES), ast.expr) and not schemes:
                schemes = module.read_constant(_SCHEMES, json_only=False)
    return schemes


def parse_python(source: str, *, path: str) -> ast.Module:
    """Return the syntax tree of a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an invalid escape in an old file
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        line = (error.lineno or 0) if isinstance(error, SyntaxError) else 0
        reason = f"this is not Python source that can be read ({to_one_line(message)})."
        raise UnreadableTool(reason, path=path, line=line) from None


def to_one_line(text: str) -> str:
    """Return a text in printable ASCII on one line, cut short."""
    return " ".join(text.encode("ascii", "backslashreplace").decode().split())[:_LONGEST_LINE]


def _module_reader(files: Files) -> Callable[[str], _GeneratedModule]:
    @cache
    def module_of(path: str) -> _GeneratedModule:
        source = files[path]
        tree = parse_python(source, path=path) if isinstance(source, str) else source
        return _GeneratedModule(path, tree, module_of)

    return module_of


def _read_tools(
    path: str, module_of: Callable[[str], _GeneratedModule]
) -> Iterator[ToolRecord | UnreadableTool]:
    try:
        module = module_of(path)
    except UnreadableTool as error:
        yield error
        return
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and any(
            isinstance(base, ast.Name) and base.id == _BASE for base in node.bases
        ):
            yield _read_tool(module, node)


def _read_tool(module: _GeneratedModule, node: ast.ClassDef) -> ToolRecord | UnreadableTool:
    values = dict(pair for statement in node.body for pair in _assignments(statement))
    name = ""

    def read_attribute(key: str, kind: type) -> Any:
        if key not in values:
            raise module.make_error(node, f"the class {node.name} has no {key}")
        value = module.read_value(values[key], json_only=key != "operation")
        if isinstance(value, kind):
            return value
        reason = f"{key} of the class {node.name} is not of type {kind.__name__}"
        raise module.make_error(values[key], reason)

    try:
        name = read_attribute("name", str)
        description = read_attribute("description", str)
        schema = read_attribute("input_schema", dict)
        return ToolRecord(name, description, schema, read_attribute("operation", Operation))
    except UnreadableTool as error:
        error.tool = name
        return error
    except RecursionError:
        reason = f"the class {node.name} is nested too deeply to be read."
        return UnreadableTool(reason, path=module.path, line=node.lineno, tool=name)


def _assignments(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value


def _resolve_import(statement: ast.Import | ast.ImportFrom, name: str) -> Any:
    match statement:
        case ast.ImportFrom(level=0, module=home) if home in _MODEL_MODULES:
            return MODELS.get(name)
        case ast.ImportFrom(level=1, module=None):
            return name
        case ast.Import() if name == "json":
            return json
    return None


class _GeneratedModule:
    """A parsed file; `names` maps names to their last values, None where no template writes one."""

    def __init__(
        self, path: str, tree: ast.Module, module_of: Callable[[str], _GeneratedModule]
    ) -> None:
        self.path, self.tree, self._module_of = path, tree, module_of
        self.names: dict[str, Any] = {}
        self._constants: dict[tuple[str, bool], Any] = {}
        self._is_in_constant = False
        for statement in tree.body:
            match statement:
                case ast.Assign() | ast.AnnAssign():
                    self.names.update(_assignments(statement))
                case ast.ImportFrom() | ast.Import():
                    for alias in statement.names:
                        name = alias.asname or alias.name.partition(".")[0]
                        self.names[name] = _resolve_import(statement, alias.name)
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.names[statement.name] = None

    def make_error(self, node: ast.expr | ast.stmt, reason: str) -> UnreadableTool:
        text = f"{to_one_line(reason)}; it was edited by hand."
        return UnreadableTool(text, path=self.path, line=node.lineno)

    def read_constant(self, name: str, *, json_only: bool) -> Any:
        key = (name, json_only)
        if key not in self._constants:
            self._is_in_constant = True  # constants of constants could be exponentially large
            try:
                self._constants[key] = self.read_value(self.names[name], json_only=json_only)
            finally:
                self._is_in_constant = False
        return self._constants[key]

    def read_value(self, node: ast.expr, *, json_only: bool) -> Any:
        match node:
            case ast.Constant(value=value) if type(value) in _SCALARS:
                return value
            case ast.Dict(keys=keys, values=values):
                texts = [getattr(key, "value", None) for key in keys]
                if not all(isinstance(text, str) for text in texts):
                    raise self.make_error(node, "a key is not a string")
                return dict(
                    zip(
                        texts,
                        [self.read_value(v, json_only=json_only) for v in values],
                        strict=True,
                    )
                )
            case ast.List(elts=items):
                return [self.read_value(item, json_only=json_only) for item in items]
            case ast.Tuple(elts=items) if not json_only:
                return tuple([self.read_value(item, json_only=json_only) for item in items])
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
        return self._read_reference(node, json_only=json_only)

    def _read_reference(self, node: ast.expr, *, json_only: bool) -> Any:
        match node:
            case ast.Name(id=name) if not self._is_in_constant:
                return self._read_constant_of(self, name, node, json_only=json_only)
            case ast.Attribute(value=ast.Name(id=stem), attr=name) if not self._is_in_constant:
                try:
                    home = self._module_of(join(dirname(self.path), f"{self.names.get(stem)}.py"))
                except KeyError:
                    raise self.make_error(node, f"{stem} is not a module of the package") from None
                return self._read_constant_of(home, name, node, json_only=json_only)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="loads"),
                args=[ast.Constant(value=str() as text)],
                keywords=[],
            ) if self.names.get(name) is json:
                try:
                    return json.loads(text)
                except ValueError as error:
                    raise self.make_error(node, f"JSON text cannot be read ({error})") from None
            case ast.Call(func=ast.Name(id=name)) if not json_only:
                if isinstance(kind := self.names.get(name), type):
                    return self._read_model(node, kind)
        raise self.make_error(node, f"a value is not a literal ({type(node).__name__})")

    def _read_constant_of(
        self, home: _GeneratedModule, name: str, node: ast.expr, *, json_only: bool
    ) -> Any:
        if not isinstance(home.names.get(name), ast.expr):
            raise self.make_error(node, f"{name} is not a constant of {home.path}")
        return home.read_constant(name, json_only=json_only)

    def _read_model(self, node: ast.Call, kind: type) -> Any:
        positional = [self.read_value(item, json_only=False) for item in node.args]
        keywords = {
            str(part.arg): self.read_value(part.value, json_only=False) for part in node.keywords
        }
        try:
            model = kind(*positional, **keywords)
        except TypeError as error:
            raise self.make_error(node, str(error)) from None
        for name, expected_type in _field_types(kind).items():
            if not _is_of_type(getattr(model, name), expected_type):
                reason = f"{name} of {kind.__name__} has a value of another type"
                raise self.make_error(node, reason)
        return model


@cache
def _field_types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, localns={"Mapping": Mapping})


def _is_of_type(value: Any, expected_type: Any) -> bool:
    arguments = get_args(expected_type)
    if expected_type is Any:
        return True
    if isinstance(expected_type, UnionType):
        return any(_is_of_type(value, choice) for choice in arguments)
    if get_origin(expected_type) is tuple:
        return isinstance(value, tuple) and all(_is_of_type(item, arguments[0]) for item in value)
    if get_origin(expected_type) is Mapping:
        return isinstance(value, dict) and all(
            _is_of_type(item, arguments[1]) for item in value.values()
        )
    return isinstance(value, expected_type)
