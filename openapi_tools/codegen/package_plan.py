"""Plan a package: tools in modules by tag, shared schemas written once, all as code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from openapi_tools.codegen.identifiers import (
    TAKEN_CONSTANTS,
    ClassNames,
    Names,
    constant_name,
    digest,
    slug,
)
from openapi_tools.codegen.literals import Code, assignment, is_json_text
from openapi_tools.tools.packages import class_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openapi_tools.codegen.package_data import PackageData, Record

T = TypeVar("T")
Part = tuple[tuple[str, ...], list[T]]
"""The steps that distinguish a part from its neighbours, and its things in order."""

MOST_LINES = 1_400
FEW_LINES = 200
MANY_PARTS = 100
_MOST_STEPS = 80
_MOST_LETTERS = 24
_SHARED_CHARS = 100
_STEPS = 16
_SCHEMA = Code("ClassVar[dict[str, Any]]")
_CONSTANT = Code("dict[str, Any]")
_CLASS_LINES = 6  # of a class besides its statements


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """A tool in a module; `model` and `schemas` name the classes and modules that it uses."""

    record: Record
    name: Code
    class_name: Code
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
class Plan:
    """A package without the text of its files: modules with tools, modules with schemas."""

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


def plan_package(data: PackageData) -> Plan:
    """Plan a package with one module per tag."""
    shared = _Shared(data.records)
    schemas = tuple(shared.modules())
    stems = Names()
    items = [
        Item(tool, _key(tool.record), _CLASS_LINES + "\n".join(tool.statements).count("\n") + 1)
        for tool in _tools(data.records, shared)
    ]
    modules = tuple(
        ModulePlan(_stem(stems, "tools", steps), tuple(found))
        for steps, found in split(items, always=1)
    )
    return Plan(data, modules, schemas)


def plan_module(data: PackageData) -> Plan:
    """Plan a single module that holds everything."""
    shared = _Shared(data.records)
    schemas = ModulePlan(Code(""), statements=tuple(shared.statements().values()))
    module = ModulePlan(Code(""), tuple(_tools(data.records, shared)))
    return Plan(data, (module,), (schemas,) if schemas.statements else ())


class _Shared:
    """Definitions that are written once, and how tools refer to them.

    A definition is known by its name and JSON text. All but short ones are shared, even those of
    one tool: what other tools do must not move a definition.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._texts: dict[int, str] = {}  # by identity: tools share their definitions
        self._values: dict[tuple[str, str], Any] = {}
        self.codes: dict[tuple[str, str], Code] = {}
        names = Names(TAKEN_CONSTANTS)
        for record in records:
            for name, value in record.input_schema.get("$defs", {}).items():
                if (text := self._texts.get(id(value))) is None:
                    text = self._texts[id(value)] = json.dumps(value, separators=(",", ":"))
                if len(text) >= _SHARED_CHARS and (name, text) not in self.codes:
                    self.codes[name, text] = names.claim(constant_name(name), whose=text)
                    self._values[name, text] = value

    def references(self, schema: Mapping[str, Any]) -> dict[str, Code]:
        """Return the shared definitions of a tool's schema by name, as code."""
        keys = {name: (name, self._texts[id(v)]) for name, v in schema.get("$defs", {}).items()}
        return {name: self.codes[key] for name, key in keys.items() if key in self.codes}

    def statements(self) -> dict[Code, Code]:
        """Return the assignments of all, sorted by the name that is assigned to."""
        keys = sorted(self.codes, key=lambda key: self.codes[key])
        values = {self.codes[key]: self._values[key] for key in keys}
        return {
            name: assignment(name, value, annotation=_CONSTANT, plain=value)
            for name, value in values.items()
        }

    def modules(self) -> Iterator[ModulePlan]:
        """Yield the modules of all; after that tools refer to them there."""
        statements = self.statements()
        items = [Item(n, tuple(n.lower()), text.count("\n") + 3) for n, text in statements.items()]
        stems, homes = Names(), dict[Code, Code]()
        for steps, names in split(items) if items else ():
            stem = _stem(stems, "schemas", ("".join(steps),))
            homes |= dict.fromkeys(names, stem)
            yield ModulePlan(stem, statements=tuple(statements[name] for name in names))
        self.codes = {key: Code(f"{homes[name]}.{name}") for key, name in self.codes.items()}


def _key(record: Record) -> tuple[str, ...]:
    """Return where a tool belongs: its tag, its path step by step, its method."""
    operation = record.operation
    tag = operation.tags[0] if operation.tags else ""
    steps = operation.path.split("/")
    fixed = [step for step in steps if not step.startswith("{")][:_STEPS]
    variable = " ".join(step for step in steps if step.startswith("{"))
    return (tag, *fixed, variable, operation.method)


def _stem(stems: Names, kind: str, steps: Iterable[str]) -> Code:
    """Return the name of a module for a part of the tools or schemas."""
    words = [slug(step) or (digest(step) if step else "") for step in steps]
    return stems.claim("_".join([kind, *filter(None, words)]), whose="\n".join(steps))


def _tools(records: Iterable[Record], shared: _Shared) -> Iterator[ToolPlan]:
    classes = ClassNames(shared.codes.values())
    for record in records:
        yield _tool(record, classes.claim_for(record.name), shared)


def _tool(record: Record, class_name: Code, shared: _Shared) -> ToolPlan:
    """Return a tool's plan; a schema that is too deep for a literal refers to no others."""
    schema, references = record.input_schema, shared.references(record.input_schema)
    written = {**schema, "$defs": {**schema["$defs"], **references}} if references else schema
    named = Code("input_schema")
    statement = assignment(named, written, indent=4, annotation=_SCHEMA, plain=schema)
    codes = () if is_json_text(statement) else references.values()
    statements = (
        assignment(Code("name"), record.name, indent=4),
        assignment(Code("description"), record.description, indent=4),
        statement,
        assignment(Code("operation"), record.operation, indent=4),
    )
    return ToolPlan(
        record,
        Code(record.name),
        class_name,
        statements,
        model=frozenset(_model_names(record.operation)),
        schemas=frozenset(code.partition(".")[0] for code in codes if "." in code),
    )


def _model_names(value: Any) -> Iterator[str]:
    """Yield the names of the model's classes in a value."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple):
        for part in value:
            yield from _model_names(part)
    elif is_dataclass(value):
        yield type(value).__name__
        for item in fields(value):
            yield from _model_names(getattr(value, item.name))


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """A thing that takes lines in a module; its key goes from coarse to fine."""

    thing: T
    key: tuple[str, ...]
    lines: int


def split(
    items: Sequence[Item[T]],
    *,
    always: int = 0,
    depth: int = 0,
    name: tuple[str, ...] = (),
) -> Iterator[Part[T]]:
    """Divide things by their keys, as coarsely as the length of a module allows.

    A part depends on its own members alone: an addition elsewhere does not move them. Short parts
    stay together, but for the first steps of the keys, as many as `always`.
    """
    short = _lines(items) <= MOST_LINES or len(items) == 1
    if (short and depth >= always) or depth >= _MOST_STEPS:
        yield name, [item.thing for item in items]
        return
    groups = _groups(items, depth)
    few = {step for step, group in groups.items() if depth >= always and _lines(group) < FEW_LINES}
    rest = [item for item in items if _step(item, depth) in few]
    if _lines(rest) > MOST_LINES and len(few) > MANY_PARTS:
        yield from _by_letters(rest, name, depth)
    elif len(few) < 2 or _lines(rest) > MOST_LINES:  # noqa: PLR2004 -- one is a part of its own
        few = set()
    else:
        yield name, [item.thing for item in rest]
    for step, group in groups.items():
        if step not in few:
            steps = (*name, step) if len(groups) > 1 or depth < always else name
            yield from split(group, always=always, depth=depth + 1, name=steps)


def _by_letters(
    items: Sequence[Item[T]], name: tuple[str, ...], depth: int, letters: int = 1
) -> Iterator[Part[T]]:
    """Keep many short groups together by as few first letters as their length allows."""
    for start, group in _groups(items, depth, letters).items():
        if _lines(group) <= MOST_LINES:
            yield (*name, start), [item.thing for item in group]
        else:
            yield from _by_letters(group, name, depth, letters + 1)


def _groups(
    items: Sequence[Item[T]], depth: int, letters: int = _MOST_LETTERS
) -> dict[str, list[Item[T]]]:
    found: dict[str, list[Item[T]]] = {}
    for item in items:
        start = _step(item, depth)[: letters if letters < _MOST_LETTERS else None]
        found.setdefault(start, []).append(item)
    return found


def _step(item: Item[T], depth: int) -> str:
    return item.key[depth] if depth < len(item.key) else ""


def _lines(items: Sequence[Item[T]]) -> int:
    return sum(item.lines for item in items)
