"""Plan a package: tools in modules by tag, shared schemas written once, all as code.

Names come from an allow-list, whatever the document says: ASCII letters, digits and `_`. Module
files begin with `tools` or `schemas`, so that none is a keyword, a device, a dunder or a module of
Python's own.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.codegen import MODELS, Code, is_json_text, write_assignment, write_docstring
from openapi_tools.common.visible_text import short_hash
from openapi_tools.toolsets.packages import class_name

if TYPE_CHECKING:
    from openapi_tools.codegen.package_data import PackageData, ToolRecord
    from openapi_tools.model import Operation

    Part = tuple[tuple[str, ...], list[Any]]

MOST_LINES = 1_400  # of a module
FEW_LINES = 200  # shorter parts share a module
MANY_PARTS = 100  # more short parts than this are grouped by their first letters
_MOST_STEPS = 80  # of a key; items that are equal so far share a module
_MOST_LETTERS = 24  # that group short parts; from here on whole steps do
_SHARED_CHARS = 100  # of a definition as JSON; shorter ones are repeated in each tool
_MOST_SEGMENTS = 16  # of a path in a sort key
_SCHEMA = Code("ClassVar[dict[str, Any]]")
_CONSTANT = Code("dict[str, Any]")
_CLASS_LINES = 6  # of a tool's class, besides its statements

_LONGEST = 60
_LONGEST_API = 40
_LONGEST_TITLE = 28
_HASH = 6
_NOT_WORD = re.compile(r"[^a-z0-9]+")
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_COMMON_WORDS = {  # of titles, which do not tell APIs apart
    *("api", "apis", "http", "interface", "of", "official", "openapi", "rest", "s"),
    *("spec", "specification", "swagger", "the", "web"),
}
_DEVICE = re.compile(r"con|prn|aux|nul|(?:com|lpt)[0-9]")  # on Windows, whatever the ending
_API = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
TAKEN_CONSTANTS = {
    *("INDEX", "SECURITY_SCHEMES", "SKIPPED", "COUNTS", "SETTINGS"),
    *("SERVERS", "SERVERS_BY_URL", "TYPE_CHECKING"),
}
_TAKEN_CLASSES = {
    *TAKEN_CONSTANTS,
    *MODELS,
    *("Any", "ClassVar", "Ellipsis", "False", "None", "NotImplemented", "True"),
    *("OperationTool", "Select", "Settings", "Toolset", "Awaitable", "Callable", "Mapping"),
    *("GeneratorExit", "KeyboardInterrupt", "StopAsyncIteration", "StopIteration", "SystemExit"),
}
_TAKEN_SUFFIXES = ("Error", "Exception", "ExceptionGroup", "Warning")  # of Python's own classes


def slug(text: str) -> str:
    """Return the words of `[a-z0-9]` in a text, joined by `_`."""
    return _NOT_WORD.sub("_", _WORD_BOUNDARY.sub("_", text).lower()).strip("_")


def api_name(title: str) -> str:
    """Return an API's name from its document's title: `museum` for `"The Museum API 1.0"`."""
    plain = unicodedata.normalize("NFKD", title[:200]).encode("ascii", "ignore").decode()
    words = _NOT_WORD.sub("_", plain.lower()).strip("_").split("_")
    distinctive = [word for word in words if word not in _COMMON_WORDS and not word.isdigit()]
    name = ""
    for word in distinctive or words:
        if len(name) + len(word) < _LONGEST_TITLE:
            name = f"{name}_{word}".strip("_")
    name = name if name[:1].isalpha() else f"api_{name}".strip("_")
    return name if is_api_name(name) else "api"


def is_api_name(name: str) -> bool:
    """Return whether a user's name can be the name of an API."""
    return bool(_API.fullmatch(name)) and len(name) <= _LONGEST_API and name != "openapi"  # ours


def constant_name(text: str) -> str:
    """Return a constant's name: `PULL_REQUEST` for `PullRequest`."""
    name = slug(text).upper()
    return name if name[:1].isalpha() else f"SCHEMA_{name}".rstrip("_")


class Names:
    """Gives each name once, except those that are taken."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = set(taken)

    def claim(self, name: str, *, whose: str) -> Code:
        """Return the name, with a hash of `whose` if it is taken or too long."""
        candidate, attempt = name, whose
        while candidate in self._taken or len(candidate) > _LONGEST + _HASH:
            candidate = f"{name[: _LONGEST - 1]}_{short_hash(attempt)}"
            attempt += "*"
        self._taken.add(candidate)
        return Code(candidate)

    def claim_class(self, tool: str) -> Code:
        """Return the name of a tool's class: `IssuesList` for `issues_list`."""
        name = class_name(tool)
        if not name[:1].isalpha() or name in _TAKEN_CLASSES or name.endswith(_TAKEN_SUFFIXES):
            name = f"Tool{name}"
        if name in self._taken:
            name += short_hash(tool).upper()
        return self.claim(name, whose=tool)


class ModuleNames:
    """Names of the modules and files of tools, which differ by more than case."""

    def __init__(self) -> None:
        self._stems = Names()
        self._lowered: set[str] = set()

    def claim(self, tool: str) -> tuple[Code, Code]:
        """Return the last part of a module's name and the stem of its file."""
        plain = slug(tool) or "tool"
        stem = self._stems.claim(f"{plain}_tool" if _DEVICE.fullmatch(plain) else plain, whose=tool)
        module = class_name(tool) if class_name(tool)[:1].isalpha() else f"Tool{class_name(tool)}"
        if module.lower() in self._lowered:
            # Compiled modules are files as well, named after the module.
            module = f"Tool{class_name(stem)}"
        while module.lower() in self._lowered:
            module += "X"
        self._lowered.add(module.lower())
        return Code(module), stem


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """A tool in a module; `model` and `schemas` name the classes and modules that it uses."""

    record: ToolRecord
    name: Code
    class_name: Code
    docstring: Code
    statements: tuple[Code, ...]
    model: frozenset[str]
    schemas: frozenset[str]


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """A module that holds tools or shared schemas; `stem` is its name without `.py`."""

    stem: Code
    tools: tuple[ToolPlan, ...] = ()
    statements: tuple[Code, ...] = ()


@dataclass(frozen=True, slots=True)
class PackagePlan:
    """A package without the contents of its files: modules with tools, modules with schemas."""

    data: PackageData
    modules: tuple[ModulePlan, ...]
    schemas: tuple[ModulePlan, ...]

    @property
    def index(self) -> dict[str, str]:
        """The place of each tool: `"module"`, or `"module:Class"` for an unusual class name."""
        places = {
            tool.record.name: str(module.stem)
            if tool.class_name == class_name(tool.record.name)
            else f"{module.stem}:{tool.class_name}"
            for module in self.modules
            for tool in module.tools
        }
        return {record.name: places[record.name] for record in self.data.records}


def plan_package(data: PackageData) -> PackagePlan:
    """Plan a package with one module per tag."""
    shared = _SharedSchemas(data.records)
    schemas = tuple(shared.modules())
    items = [
        ModuleItem(
            tool,
            sort_key(tool.record.operation),
            _CLASS_LINES + "\n".join(tool.statements).count("\n") + 1,
        )
        for tool in _plan_tools(data.records, shared)
    ]
    stems = Names()
    modules = tuple(
        ModulePlan(_claim_stem(stems, "tools", steps), tuple(tools))
        for steps, tools in split_modules(items, min_depth=1)
    )
    return PackagePlan(data, modules, schemas)


def plan_module(data: PackageData) -> PackagePlan:
    """Plan a single module that holds everything."""
    shared = _SharedSchemas(data.records)
    schemas = ModulePlan(Code(""), statements=tuple(shared.statements().values()))
    module = ModulePlan(Code(""), tuple(_plan_tools(data.records, shared)))
    return PackagePlan(data, (module,), (schemas,) if schemas.statements else ())


class _SharedSchemas:
    """Definitions, by name and JSON text, that are written once, and how tools refer to them."""

    def __init__(self, records: Iterable[ToolRecord]) -> None:
        self._texts: dict[int, str] = {}  # by identity: tools share their definitions
        self._values: dict[Code, Any] = {}
        self.codes: dict[tuple[str, str], Code] = {}
        names = Names(TAKEN_CONSTANTS)
        for record in records:
            for name, value in record.input_schema.get("$defs", {}).items():
                if (text := self._texts.get(id(value))) is None:
                    text = self._texts[id(value)] = json.dumps(value, separators=(",", ":"))
                if len(text) >= _SHARED_CHARS and (name, text) not in self.codes:
                    code = names.claim(constant_name(name), whose=text)
                    self.codes[name, text], self._values[code] = code, value

    def references(self, schema: Mapping[str, Any]) -> dict[str, Code]:
        keys = {name: (name, self._texts[id(v)]) for name, v in schema.get("$defs", {}).items()}
        return {name: self.codes[key] for name, key in keys.items() if key in self.codes}

    def statements(self) -> dict[Code, Code]:
        return {
            name: write_assignment(name, value, annotation=_CONSTANT, plain=value)
            for name, value in sorted(self._values.items())
        }

    def modules(self) -> Iterator[ModulePlan]:
        """Yield the modules of the definitions; afterwards references name their modules."""
        statements = self.statements()
        items = [
            ModuleItem(n, tuple(n.lower()), text.count("\n") + 3) for n, text in statements.items()
        ]
        stems, homes = Names(), dict[Code, Code]()
        for steps, names in split_modules(items) if items else ():
            stem = _claim_stem(stems, "schemas", ("".join(steps),))
            homes |= dict.fromkeys(names, stem)
            yield ModulePlan(stem, statements=tuple(statements[name] for name in names))
        self.codes = {key: Code(f"{homes[name]}.{name}") for key, name in self.codes.items()}


def sort_key(operation: Operation) -> tuple[str, ...]:
    """Return the parts by which operations stand together, the coarsest first."""
    tag = operation.tags[0] if operation.tags else ""
    steps = operation.path.split("/")
    fixed = [step for step in steps if not step.startswith("{")][:_MOST_SEGMENTS]
    variable = " ".join(step for step in steps if step.startswith("{"))
    return (tag, *fixed, variable, operation.method)


def _claim_stem(stems: Names, kind: str, steps: Iterable[str]) -> Code:
    words = [slug(step) or (short_hash(step) if step else "") for step in steps]
    return stems.claim("_".join([kind, *filter(None, words)]), whose="\n".join(steps))


def claim_file_stem(stems: Names, steps: Sequence[str]) -> Code:
    """Return the name of a file for a part of `split_modules`, without its ending."""
    words = filter(None, (slug(step) or (short_hash(step) if step else "") for step in steps))
    stem = "_".join(words) or "operations"
    stem = f"{stem}_operations" if _DEVICE.fullmatch(stem) else stem
    return stems.claim(stem, whose="\n".join(steps))


def _plan_tools(records: Iterable[ToolRecord], shared: _SharedSchemas) -> Iterator[ToolPlan]:
    classes = Names(shared.codes.values())
    for record in records:
        schema, references = record.input_schema, shared.references(record.input_schema)
        short_schema = schema
        if references:
            short_schema = {**schema, "$defs": {**schema["$defs"], **references}}
        statement = write_assignment(
            Code("input_schema"), short_schema, indent=4, annotation=_SCHEMA, plain=schema
        )
        codes = () if is_json_text(statement) else references.values()
        yield ToolPlan(
            record,
            Code(record.name),
            classes.claim_class(record.name),
            write_docstring(record.summary, indent=4),
            statements=(
                write_assignment(Code("name"), record.name, indent=4),
                write_assignment(Code("description"), record.description, indent=4),
                statement,
                write_assignment(Code("operation"), record.operation, indent=4),
            ),
            model=frozenset(_model_names(record.operation)),
            schemas=frozenset(code.partition(".")[0] for code in codes if "." in code),
        )


def _model_names(value: Any) -> Iterator[str]:
    if is_dataclass(value):
        yield type(value).__name__
        value = tuple(getattr(value, item.name) for item in fields(value))
    for part in value.values() if isinstance(value, Mapping) else value:
        if isinstance(part, tuple | Mapping) or is_dataclass(part):
            yield from _model_names(part)


class ModuleItem(NamedTuple):
    """A value that a module holds, its key from coarse to fine, and its number of lines."""

    value: Any
    key: tuple[str, ...]
    lines: int


def split_modules(
    items: Sequence[ModuleItem], *, min_depth: int = 0, depth: int = 0, name: tuple[str, ...] = ()
) -> Iterator[Part]:
    """Yield items in parts by their keys, as coarsely as the length of a module allows.

    A part depends on its own items only, so that additions elsewhere move none of them.

    Args:
        items: The items.
        min_depth: The number of steps of a key by which items are always divided; below that,
            short parts share a module.
        depth: The number of steps that the keys of the items share.
        name: The steps so far that distinguish the items from others; a part comes with its own.
    """
    fits = _count_lines(items) <= MOST_LINES or len(items) == 1
    if (fits and depth >= min_depth) or depth >= _MOST_STEPS:
        yield name, [item.value for item in items]
        return
    groups = _group_items(items, depth)
    short_steps = {
        step
        for step, group in groups.items()
        if depth >= min_depth and _count_lines(group) < FEW_LINES
    }
    short_items = [item for item in items if _key_step(item, depth) in short_steps]
    if _count_lines(short_items) > MOST_LINES and len(short_steps) > MANY_PARTS:
        yield from _split_by_letters(short_items, name, depth)
    elif len(short_steps) < 2 or _count_lines(short_items) > MOST_LINES:  # noqa: PLR2004 -- one is a part of its own
        short_steps = set()
    else:
        yield name, [item.value for item in short_items]
    for step, group in groups.items():
        if step not in short_steps:
            steps = (*name, step) if len(groups) > 1 or depth < min_depth else name
            yield from split_modules(group, min_depth=min_depth, depth=depth + 1, name=steps)


def _split_by_letters(
    items: Sequence[ModuleItem], name: tuple[str, ...], depth: int, letters: int = 1
) -> Iterator[Part]:
    for start, group in _group_items(items, depth, letters).items():
        if _count_lines(group) <= MOST_LINES:
            yield (*name, start), [item.value for item in group]
        else:
            yield from _split_by_letters(group, name, depth, letters + 1)


def _group_items(
    items: Sequence[ModuleItem], depth: int, letters: int = _MOST_LETTERS
) -> dict[str, list[ModuleItem]]:
    groups: dict[str, list[ModuleItem]] = {}
    for item in items:
        start = _key_step(item, depth)[: letters if letters < _MOST_LETTERS else None]
        groups.setdefault(start, []).append(item)
    return groups


def _key_step(item: ModuleItem, depth: int) -> str:
    return item.key[depth] if depth < len(item.key) else ""


def _count_lines(items: Sequence[ModuleItem]) -> int:
    return sum(item.lines for item in items)
