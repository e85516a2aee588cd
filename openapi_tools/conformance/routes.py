"""The operation that a request belongs to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote

from openapi_tools.common.json_values import as_list, as_string, follow_references, split_pointer
from openapi_tools.requests.path_notations import read_template
from openapi_tools.requests.path_templates import VARIABLE, match_path, matches_glob

Node: TypeAlias = Mapping[str, Any]
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_ORIGIN = re.compile(r"^(?:[A-Za-z{][^/?#]*:)?//[^/?#]*")


def operation_at(document: Node, place: str) -> tuple[Node, Node]:
    """Return the path item and the operation at a JSON Pointer; `{}` for those of other files."""
    _, path, *keys = split_pointer(place)
    item = node = follow_references(
        document, follow_references(document, document.get("paths")).get(path)
    )
    for key in keys:
        node = follow_references(document, node.get(key))
    return item, node


@dataclass(frozen=True, slots=True)
class Route:
    """An operation and its path item, the keys that lead there, and the decoded path variables.

    `template` is the path with its variables as `{name}`.
    """

    pointer: tuple[str, ...]
    operation: Node
    item: Node
    template: str
    variables: Mapping[str, str]

    @property
    def path(self) -> str:
        """The path as the document writes it."""
        return self.pointer[1]


class Routes:
    """Finds the operations of requests; `base_path` replaces the paths of the servers.

    Spec: OpenAPI 3.1.2, section 4.8.8.2 (Path Templating Matching).
    """

    def __init__(self, document: Node, base_path: str | None = None) -> None:
        self._listed: dict[str, list[tuple[_ServedPath, Route]]] = defaultdict(list)
        for path, entry in follow_references(document, document.get("paths")).items():
            if not isinstance(path, str) or path.startswith("x-"):
                continue
            item = follow_references(document, entry)
            for keys, operation in _find_operations(item):
                template = read_template(path, _path_names(document, item, operation))
                shape, _, fixed = template.path.partition("#")[0].partition("?")
                shape = shape if shape.startswith("/") else f"/{shape}"  # as loading has it
                bases = (
                    [base_path]
                    if base_path is not None
                    else _server_paths(document, item, operation)
                )
                base_paths = tuple(dict.fromkeys(base.rstrip("/") for base in bases))
                # Values of only one variable have slashes: of several, which has which is open.
                greedy = [name for name, slashes in template.variables.items() if slashes][-1:]
                served = _ServedPath(
                    base_paths, shape, frozenset(parse_qsl(fixed)), "".join(greedy)
                )
                route = Route(("paths", path, *keys), operation, item, template.path, {})
                self._listed[str(keys[-1]).lower()].append((served, route))

    def find(self, method: str, target: str, headers: Iterable[str] = ()) -> Route | None:
        """Return the operation of a request, None without one.

        The path with the fewest variables wins: concrete paths come before templated ones; then the
        one with most text beside them.
        """
        path, _, query = target.partition("?")
        query_pairs = parse_qsl(query, keep_blank_values=True)
        routes = []
        for served, route in self._listed.get(method.lower(), ()):
            values = served.values_in(path)
            if values is not None and served.query <= set(query_pairs):
                names = VARIABLE.findall(route.template)
                variables = {n: unquote(value) for n, value in zip(names, values, strict=False)}
                routes.append(replace(route, variables=variables))
        present = {*(name for name, _ in query_pairs), *(name.lower() for name in headers)}
        return min(routes, key=lambda route: _rank_route(route, query_pairs, present), default=None)


def _rank_route(
    route: Route, query_pairs: list[tuple[str, str]], names: set[str]
) -> tuple[int, int, int]:
    # AWS documents distinguish operations of one path by `#Action=X` or `#uploads`, or by a header.
    fragment = parse_qsl(route.path.partition("#")[2], keep_blank_values=True)
    fits = all((name, value) in query_pairs if value else name in names for name, value in fragment)
    # `/a/{id}:cancel` comes before `/a/{id}`, which matches the same requests.
    fixed = len(VARIABLE.sub("", route.path))
    return len(route.variables), -len(fragment) if fits else 1, -fixed


def _find_operations(item: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    for name, operation in item.items():
        if isinstance(name, str) and name.lower() in METHODS and isinstance(operation, Mapping):
            yield (name,), operation
    additional = item.get("additionalOperations")
    for name, operation in additional.items() if isinstance(additional, Mapping) else ():
        if isinstance(operation, Mapping):
            yield ("additionalOperations", name), operation


def _path_names(document: Node, item: Node, operation: Node) -> frozenset[str]:
    listed = [part for holder in (item, operation) for part in as_list(holder.get("parameters"))]
    nodes = [follow_references(document, part) for part in listed]
    names = (n["name"] for n in nodes if as_string(n.get("in")).lower() == "path" and "name" in n)
    return frozenset(name for name in names if isinstance(name, str))


def _server_paths(document: Node, item: Node, operation: Node) -> list[str]:
    levels = (operation.get("servers"), item.get("servers"), document.get("servers"))
    servers = next((level for level in levels if isinstance(level, list) and level), [])
    urls = [server.get("url") for server in servers if isinstance(server, Mapping)]
    return ["", *(_ORIGIN.sub("", url) for url in urls if isinstance(url, str))]


@dataclass(frozen=True, slots=True)
class _ServedPath:
    """A path below some servers, the pairs of its query, and the variable that takes slashes."""

    bases: tuple[str, ...]
    shape: str
    query: frozenset[tuple[str, str]]
    greedy: str = ""

    def values_in(self, path: str) -> list[str] | None:
        """Return the values of the variables in a path; None for another path."""
        for before, values in match_path(self.shape, path, greedy=self.greedy):
            if any(_is_server_path(base, before) for base in self.bases):
                return values
        return None


def _is_server_path(base: str, path: str) -> bool:
    literals = VARIABLE.split(base.removeprefix("./"))[::2]
    if base and not base.startswith(("/", "{")):
        # A relative server is relative to the document's own address, which is not known here.
        literals = ["", f"/{literals[0]}", *literals[1:]]
    return matches_glob(literals, path)
