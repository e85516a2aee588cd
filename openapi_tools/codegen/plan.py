"""What stands where in a package: tools in modules by tag, shared schemas once, all as code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.literals import Code, TooDeep, assignment, json_text
from openapi_tools.codegen.names import (
    ClassNames,
    Names,
    constant_name,
    constant_names,
    digest,
    slug,
)
from openapi_tools.codegen.split import Item, split
from openapi_tools.runtime.packages import class_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.codegen.package_data import PackageData, Record

_SHARED_CHARS = 100
_STEPS = 16
_SCHEMA = Code("ClassVar[dict[str, Any]]")
_CONSTANT = Code("dict[str, Any]")
_CLASS_LINES = 6  # of a class besides its statements


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """A tool as it stands in a module.

    Attributes:
        record: What it says.
        name: Its name, which is from the allow-list of tool names.
        class_name: Of its class.
        statements: The assignments in its class.
        model: The names of the model that they use.
        schemas: The modules of shared schemas that they use.
        as_json: Whether the schema stands as JSON text.
    """

    record: Record
    name: Code
    class_name: Code
    statements: tuple[Code, ...]
    model: frozenset[str]
    schemas: frozenset[str]
    as_json: bool


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """A module that holds tools.

    Attributes:
        stem: Its name without `.py`.
        tools: In the document's order.
    """

    stem: Code
    tools: tuple[ToolPlan, ...]


@dataclass(frozen=True, slots=True)
class SchemaModule:
    """A module that holds schemas which tools refer to.

    Attributes:
        stem: Its name without `.py`.
        statements: One assignment each, by name.
    """

    stem: Code
    statements: tuple[Code, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A package, all but its files.

    Attributes:
        contents: What it is made from.
        modules: Those that hold tools.
        schemas: Those that hold shared schemas.
    """

    contents: PackageData
    modules: tuple[ModulePlan, ...]
    schemas: tuple[SchemaModule, ...]

    @property
    def index(self) -> dict[str, str]:
        """Where each tool is: `"module"`, or `"module:Class"` where the name does not tell."""
        places = {
            tool.record.name: _place(module, tool)
            for module in self.modules
            for tool in module.tools
        }
        return {record.name: places[record.name] for record in self.contents.records}


def _place(module: ModulePlan, tool: ToolPlan) -> str:
    told = tool.class_name == class_name(tool.record.name)
    return str(module.stem) if told else f"{module.stem}:{tool.class_name}"


@dataclass(frozen=True, slots=True)
class _Shared:
    """Definitions that stand apart from the tools that refer to them.

    Attributes:
        texts: The JSON text of each definition, by its identity: tools share what they refer to.
        values: The definitions by name and JSON text.
        codes: How a tool refers to them, by the same keys.
    """

    texts: dict[int, str]
    values: dict[tuple[str, str], Any]
    codes: dict[tuple[str, str], Code]

    def code(self, name: str, value: Any) -> Code | None:
        """Return how a tool refers to one of its definitions; None where it holds it itself."""
        return self.codes.get((name, self.texts[id(value)]))

    def constants(self) -> dict[Code, Code]:
        """Return the assignments of all, sorted by the name that is assigned to."""
        names = sorted(self.codes.items(), key=lambda pair: pair[1])
        return {name: _constant(name, self.values[key]) for key, name in names}


def plan_package(contents: PackageData) -> Plan:
    """Return the plan of a package with one module per tag.

    Args:
        contents: What it is made from.
    """
    schemas, shared = _schema_modules(contents.records)
    tools = _tools(contents.records, shared)
    stems = Names()
    items = [Item(tool, _key(tool.record), _lines(tool)) for tool in tools]
    modules = tuple(
        ModulePlan(_stem(stems, "tools", steps), tuple(found))
        for steps, found in split(items, always=1)
    )
    return Plan(contents, modules, schemas)


def plan_module(contents: PackageData) -> Plan:
    """Return the plan of a single module that holds everything.

    Args:
        contents: What it is made from.
    """
    shared = _shared(contents.records)
    statements = tuple(shared.constants().values())
    module = ModulePlan(Code(""), tuple(_tools(contents.records, shared)))
    return Plan(contents, (module,), (SchemaModule(Code(""), statements),) if statements else ())


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


def _lines(tool: ToolPlan) -> int:
    return _CLASS_LINES + sum(statement.count("\n") + 1 for statement in tool.statements)


def _tools(records: Iterable[Record], shared: _Shared) -> list[ToolPlan]:
    classes = ClassNames(shared.codes.values())
    return [_tool(record, classes.claim_for(record.name), shared) for record in records]


def _tool(record: Record, class_name: Code, shared: _Shared) -> ToolPlan:
    """Return a tool's plan; its schema is a literal, or JSON text where it nests too deep."""
    name, schema = Code("input_schema"), record.input_schema
    references = _references(schema, shared)
    try:
        written = {**schema, "$defs": {**schema["$defs"], **references}} if references else schema
        statement = assignment(name, written, indent=4, annotation=_SCHEMA)
        as_json = False
    except TooDeep:
        statement = _as_json(name, schema, indent=4, annotation=_SCHEMA)
        as_json, references = True, {}
    statements = (
        assignment(Code("name"), record.name, indent=4),
        assignment(Code("description"), record.description, indent=4),
        statement,
        assignment(Code("operation"), record.operation, indent=4),
    )
    modules = frozenset(code.partition(".")[0] for code in references.values() if "." in code)
    model = frozenset(_model_names(record.operation))
    return ToolPlan(record, Code(record.name), class_name, statements, model, modules, as_json)


def _references(schema: Mapping[str, Any], shared: _Shared) -> dict[str, Code]:
    """Return the definitions of a schema that stand elsewhere, by name, as code."""
    found = ((name, shared.code(name, node)) for name, node in schema.get("$defs", {}).items())
    return {name: code for name, code in found if code is not None}


def _model_names(value: Any) -> Iterator[str]:
    """Yield the names of the model's classes that writing a value takes."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple):
        for part in value:
            yield from _model_names(part)
    elif is_dataclass(value):
        yield type(value).__name__
        for item in fields(value):
            yield from _model_names(getattr(value, item.name))


def _as_json(name: Code, value: Any, *, indent: int, annotation: Code) -> Code:
    start = f"{' ' * indent}{name}: {annotation} = "
    return Code(start + json_text(value, indent=indent, lead=len(start)))


def _schema_modules(records: Iterable[Record]) -> tuple[tuple[SchemaModule, ...], _Shared]:
    """Return the modules of shared schemas, and how a tool refers to each schema."""
    shared = _shared(records)
    values = shared.constants()
    items = [
        Item(name, tuple(name.lower()), statement.count("\n") + 3)
        for name, statement in values.items()
    ]
    stems = Names()
    homes: dict[Code, Code] = {}
    modules = []
    for steps, names in split(items) if items else ():
        stem = _stem(stems, "schemas", ("".join(steps),))
        homes |= dict.fromkeys(names, stem)
        modules.append(SchemaModule(stem, tuple(values[name] for name in names)))
    places = {key: Code(f"{homes[name]}.{name}") for key, name in shared.codes.items()}
    return tuple(modules), replace(shared, codes=places)


def _shared(records: Iterable[Record]) -> _Shared:
    """Return the definitions that stand apart, each with a name of its own.

    Not only those that several tools have: what other tools do must not move a definition.
    """
    names = constant_names()
    shared = _Shared({}, {}, {})
    for record in records:
        for name, value in record.input_schema.get("$defs", {}).items():
            text = shared.texts.get(id(value))
            if text is None:
                text = shared.texts[id(value)] = _text(value)
            if len(text) >= _SHARED_CHARS and (name, text) not in shared.codes:
                shared.codes[name, text] = names.claim(constant_name(name), whose=text)
                shared.values[name, text] = value
    return shared


def _constant(name: Code, value: Any) -> Code:
    try:
        return assignment(name, value, annotation=_CONSTANT)
    except TooDeep:
        return _as_json(name, value, indent=0, annotation=_CONSTANT)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
