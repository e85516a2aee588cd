"""Tools out of the files of a generated package, which are read as data: nothing is run."""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass
from posixpath import dirname, join
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.evaluation import (
    MODELS,
    Module,
    Reader,
    Unreadable,
    assigned,
    one_line,
    parse,
)
from openapi_tools.codegen.package_data import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.model import SecurityScheme

__all__ = ["BASE", "Unreadable", "read_records", "read_schemes"]

BASE = "OperationTool"
"""The class that makes a class a tool."""
_SCHEMES = "SECURITY_SCHEMES"


def read_records(
    files: Mapping[str, str | ast.Module], *, unreadable: list[Unreadable] | None = None
) -> dict[str, Record]:
    """Return the tools of one generated package by name, in the order of the files.

    Args:
        files: By relative path, the `.py` files of the package, or its single module: each as
            source or already parsed. Files without tools contribute none.
        unreadable: Takes what cannot be read; without it the first such thing is raised.

    Returns:
        The tools. Constants that several of them use are the same object in each.

    Raises:
        Unreadable: A file or a tool cannot be read and `unreadable` is None.
    """
    package = _Package(files)
    records: dict[str, Record] = {}
    for path, source in files.items():
        if isinstance(source, str) and BASE not in source:
            continue
        for found in package.tools(path):
            fault = found if isinstance(found, Unreadable) else _repeated(found, records)
            if fault is not None and unreadable is None:
                raise fault
            if fault is not None and unreadable is not None:
                unreadable.append(fault)
            elif isinstance(found, _Found):
                records[found.record.name] = found.record
    return records


def read_schemes(files: Mapping[str, str | ast.Module]) -> dict[str, SecurityScheme]:
    """Return the security schemes of one generated package; none where they cannot be read.

    Args:
        files: As for `read_records`.
    """
    package = _Package(files)
    for path, source in files.items():
        with suppress(Unreadable):
            if isinstance(source, ast.Module) or _SCHEMES in source:
                module = package.module(path)
                if isinstance(module.names.get(_SCHEMES), ast.expr):
                    found: dict[str, SecurityScheme] = module.constant(_SCHEMES, plain=False)
                    return found
    return {}


@dataclass(frozen=True, slots=True)
class _Found:
    """A tool and where it stands."""

    record: Record
    path: str
    line: int


def _repeated(found: _Found, records: Mapping[str, Record]) -> Unreadable | None:
    name = found.record.name
    if name not in records:
        return None
    reason = f"a second tool has the name {one_line(repr(name))}; it was edited by hand."
    return Unreadable(reason, path=found.path, line=found.line, tool=name)


class _Package:
    """The files of one package, parsed when they are first looked at."""

    def __init__(self, files: Mapping[str, str | ast.Module]) -> None:
        self._files = files
        self._modules: dict[str, Module | Unreadable] = {}

    def module(self, path: str) -> Module:
        """Return a file with what its names mean.

        Raises:
            Unreadable: It cannot be parsed.
        """
        found = self._modules.get(path)
        if found is None:
            found = self._modules[path] = self._parsed(path)
        if isinstance(found, Unreadable):
            raise Unreadable(found.reason, path=found.path, line=found.line)
        return found

    def _parsed(self, path: str) -> Module | Unreadable:
        source = self._files[path]
        try:
            tree = parse(source, path=path) if isinstance(source, str) else source
        except Unreadable as error:
            return error

        def sibling(stem: str) -> Module | None:
            beside = join(dirname(path), f"{stem}.py")
            return self.module(beside) if beside in self._files else None

        return Module(path, tree, sibling)

    def tools(self, path: str) -> Iterator[_Found | Unreadable]:
        """Yield every tool of a file, or why it cannot be read."""
        try:
            module = self.module(path)
        except Unreadable as error:
            yield error
            return
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and _is_tool(node):
                yield _tool(module, node)


def _is_tool(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == BASE for base in node.bases)


def _tool(module: Module, node: ast.ClassDef) -> _Found | Unreadable:
    """Return a class as a tool, or why it cannot be read."""
    values = dict(pair for statement in node.body for pair in assigned(statement))
    name = ""

    def attribute(key: str, kind: type) -> Any:
        reader = Reader(module, plain=key != "operation")
        if key not in values:
            raise reader.fault(node, f"the class {node.name} has no {key}")
        value = reader.value(values[key])
        if not isinstance(value, kind):
            raise reader.fault(values[key], f"{key} of the class {node.name} is no {kind.__name__}")
        return value

    try:
        name = attribute("name", str)
        description, schema = attribute("description", str), attribute("input_schema", dict)
        record = Record(name, description, schema, attribute("operation", MODELS["Operation"]))
    except Unreadable as error:
        error.tool = name
        return error
    except RecursionError:
        reason = f"the class {node.name} is nested too deep to be read."
        return Unreadable(reason, path=module.path, line=node.lineno, tool=name)
    return _Found(record, module.path, node.lineno)
