"""What makes an operation unusable, found at load without building anything.

The schemas on the request side are only scanned for references: each component once, however many
operations use it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.loader.operations import path_variables
from openapi_tools.runtime.escapes import has_dot_segment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.loader.operations import Declared, Document, Listed
    from openapi_tools.loader.references import Resource, Target

_MAPS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "content"}
    | {"headers", "encoding", "schemas"}
)
_LITERALS = frozenset({"example", "examples", "default", "enum", "const", "description", "mapping"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MOST = 10
"""Warnings of one kind about one operation."""
_SHOWN = 100
_LONGEST = 500
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_SINGLE = frozenset({"schema", "additionalProperties", "not", "contains", "itemSchema"})
_SCHEMAS = _SINGLE | {"items"}
_LISTED = _SCHEMAS | _LISTS


class _Scan(NamedTuple):
    """The references of one node, and the first thing that is wrong with it itself."""

    refs: tuple[str, ...]
    fault: str


class Checks:
    """Finds what is wrong with the operations of a document.

    Args:
        document: The document; nothing of it is changed.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._scans: dict[int, _Scan] = {}
        self._clean: set[int] = set()
        self.warnings: list[str] = []

    def check(self, declared: Declared) -> None:
        """Look at one operation.

        Raises:
            DocumentError: It cannot be made a tool; the pointer says where it is wrong.
        """
        document = self._document
        parameters = document.parameters(declared)
        self._check_path(declared, parameters)
        for listed in parameters:
            if id(listed.node) not in self._clean:
                self._check_node(listed.node, listed.resource, declared.pointer + "/parameters")
        if not document.dialect.swagger:
            body = document.request_body(declared, parameters)
            if body is not None and id(body[0]) not in self._clean:
                self._check_node(*body, declared.pointer + "/requestBody")

    def _check_path(self, declared: Declared, parameters: list[Listed]) -> None:
        """Compare a path's variables with the parameters declared for it."""
        path = declared.path
        if not path.isprintable() and _CONTROL.search(path):
            raise self._document.invalid("the path has control characters.", declared.pointer)
        if ("/." in path or "%" in path) and has_dot_segment(path.partition("?")[0]):
            reason = "the path has '.' or '..' segments, which servers resolve differently."
            raise self._document.invalid(reason, declared.pointer)
        known = [listed.name for listed in parameters if listed.location == "path"]
        variables = path_variables(path, known)
        if variables is known or sorted(variables) == sorted(known):
            return
        declares, has = frozenset(known), frozenset(variables)
        undeclared = [name for name in variables if name not in declares]
        placeless = [name for name in known if name not in has]
        self._remark(declared, undeclared, "{} in the path is not declared; it is taken as text.")
        self._remark(declared, placeless, "the path has no {}; the parameter is left out.")

    def _remark(self, declared: Declared, names: list[str], words: str) -> None:
        """Add a warning for each of the first names, and one for all the others."""
        place = declared.pointer[:_LONGEST]
        shown = [f"{{{name[:_SHOWN]}}}" for name in names[:_MOST]]
        if more := len(names) - len(shown):
            shown.append(f"one of {more} further names")
        self.warnings += [f"{place}: {words.format(name)}" for name in shown]

    def _check_node(self, node: Any, resource: Resource, pointer: str) -> None:
        """Walk over everything that a node reaches, component by component."""
        seen = {id(node)}
        first = _scan(node)
        waiting = [(first, resource)] if first.refs or first.fault else []
        while waiting:
            scan, owner = waiting.pop()
            if scan.fault:
                raise self._document.invalid(scan.fault, pointer)
            for ref in scan.refs:
                target = self._document.follow({"$ref": ref}, owner, pointer)
                key = id(target.node)
                if key not in self._clean and key not in seen:
                    seen.add(key)
                    waiting.append((self._scan_of(key, target), target.resource))
        self._clean |= seen

    def _scan_of(self, key: int, target: Target) -> _Scan:
        scan = self._scans.get(key)
        if scan is None:
            scan = self._scans[key] = _scan(target.node)
        return scan


def _scan(root: Any) -> _Scan:
    """Return the references in a node, and the first malformed place."""
    refs: dict[str, None] = {}
    faults = [] if isinstance(root, dict | bool) or root is None else [_no_schema(root)]
    stack = [root]
    while stack:
        node = stack.pop()
        if type(node) is list:
            stack += node
        elif type(node) is dict:
            if "$ref" in node:
                _note_reference(node["$ref"], refs, faults)
            for key, value in node.items():
                if type(value) is dict or type(value) is list:
                    stack += _inside(key, value, faults)
                elif key in _SCHEMAS:
                    _check_schemas((value,), faults)
    return _Scan(tuple(refs), faults[0] if faults else "")


def _inside(key: str, value: Any, faults: list[str]) -> Iterable[Any]:
    """Return what may hold references in a member that is an object or an array."""
    if type(value) is dict and key in _MAPS:
        _check_schemas(value.values(), faults)
        return value.values()
    if type(value) is list and key in _LISTED:
        if key in _SINGLE:
            faults.append(_no_schema(value))
        _check_schemas(value, faults)
        return value
    if key in _LITERALS or key.startswith("x-"):
        return ()
    return (value,)


def _note_reference(ref: Any, refs: dict[str, None], faults: list[str]) -> None:
    if isinstance(ref, str) and ref:
        refs[ref] = None
    else:
        faults.append(f"'$ref' is {ref!r:.60}; it must be a text that names a place.")


def _check_schemas(values: Iterable[Any], faults: list[str]) -> None:
    """Note what cannot be a schema, where schemas belong."""
    faults.extend(
        _no_schema(value)
        for value in values
        if type(value) is not dict and not isinstance(value, bool) and value is not None
    )


def _no_schema(value: Any) -> str:
    return f"a schema must be an object, this is {value!r:.60}."
