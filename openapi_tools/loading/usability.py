"""What makes an operation unusable, found at load without building anything.

The schemas on the request side are only scanned for references: each component once, however many
operations use it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import DocumentError
from openapi_tools.http_rules import has_dot_segment
from openapi_tools.loading import reference_scan
from openapi_tools.loading.operations import path_variables, variables_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.loading.operations import Declared, Document
    from openapi_tools.loading.parameters import Listed, Survey
    from openapi_tools.loading.reference_scan import Scan
    from openapi_tools.loading.references import Resource, Target

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MOST = 10
"""Warnings of one kind about one operation."""
_SHOWN = 100
_LONGEST = 500
_PARTS = 16
"""Operations are looked at in so many parts where something is wrong with one of them."""


class Checks:
    """Finds what is wrong with the operations of a document.

    Args:
        document: The document; nothing of it is changed.
        operations: All that it declares. They are looked at together, without a word about each;
            only those that may be wrong are checked one by one.

    Attributes:
        doubtful: Those that may be wrong.
        warnings: What else is odd about those that were checked.
    """

    def __init__(self, document: Document, operations: Iterable[Declared]) -> None:
        self._document = document
        self._scans: dict[int, Scan] = {}
        self._clean: set[int] = set()
        self._nodes: dict[int, dict[str, Any]] = {}
        self.warnings: list[str] = []
        self.doubtful = self._look_at(list(operations))

    def _look_at(self, operations: list[Declared]) -> set[Declared]:
        """Return the operations that may be wrong."""
        entry, nodes = self._document.entry, self._nodes
        found = {each for each in operations if each.resource is not entry}
        found |= self._doubtful_of([each for each in operations if each not in found])
        clean = reference_scan.reached(nodes.values(), self._document.references)
        if clean is None:
            return set(operations)
        self._clean |= clean
        return found

    def _doubtful_of(self, operations: list[Declared]) -> set[Declared]:
        """Return those of the document's own operations that may be wrong, references aside.

        Note the nodes whose references have to be looked at.
        """
        parameters = self._document.parameters
        items = {id(each.item): each.item for each in operations}
        holders = [*items.values(), *[each.node for each in operations]]
        lists = [holder["parameters"] for holder in holders if "parameters" in holder]
        survey = parameters.survey(lists)
        if survey is not None:
            self._nodes |= survey.nodes
            return self._misfits(operations, survey)
        if len(operations) == 1:
            return set(operations)
        size = len(operations) // _PARTS + 1
        parts = (operations[start : start + size] for start in range(0, len(operations), size))
        return set().union(*map(self._doubtful_of, parts))

    def _misfits(self, operations: list[Declared], survey: Survey) -> set[Declared]:
        """Return the operations whose path or body is not plainly sound."""
        found: set[Declared] = set()
        has_bodies = not self._document.dialect.swagger
        path, variables, above = "", None, []
        for declared in operations:
            node = declared.node
            if declared.path is not path:
                path, variables = declared.path, _plain_variables(declared.path)
                listed = declared.item.get("parameters")
                above = survey.path_names(listed) if listed else []
            names = above
            if "parameters" in node and (own := survey.path_names(node["parameters"] or [])):
                names = [*dict.fromkeys(above + own)] if above else own
            if not _fits(variables, names) or (
                has_bodies and "requestBody" in node and not self._has_body(declared)
            ):
                found.add(declared)
        return found

    def _has_body(self, declared: Declared) -> bool:
        """Tell whether an operation's body is sound but for what it refers to; note it."""
        node = declared.node["requestBody"]
        if type(node) is dict and "$ref" not in node and type(node.get("content")) is dict:
            self._nodes[id(node)] = node
            return True
        try:
            body = self._document.request_body(declared, [])
        except DocumentError:
            return False
        if body is not None and body[1] is self._document.entry:
            self._nodes[id(body[0])] = body[0]
        return body is None or id(body[0]) in self._nodes

    def check(self, declared: Declared) -> None:
        """Look at one operation.

        Raises:
            DocumentError: It cannot be made a tool; the pointer says where it is wrong.
        """
        if declared not in self.doubtful:
            return
        document = self._document
        parameters = document.parameters.of(declared)
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
        if _has_dot_segment(path):
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
        first = reference_scan.scan(node)
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

    def _scan_of(self, key: int, target: Target) -> Scan:
        scan = self._scans.get(key)
        if scan is None:
            scan = self._scans[key] = reference_scan.scan(target.node)
        return scan


def _fits(variables: list[str] | None, names: list[str]) -> bool:
    """Tell whether a path has just the parameters that are declared for it."""
    return variables == names or bool(variables and sorted(variables) == sorted(names))


def _plain_variables(path: str) -> list[str] | None:
    """Return the variables of a path, None when it has to be checked."""
    plain = path.isprintable() and not _has_dot_segment(path)
    return variables_in(path) if plain else None


def _has_dot_segment(path: str) -> bool:
    may_have = "/." in path or "%" in path
    return may_have and has_dot_segment(path.partition("?")[0])
