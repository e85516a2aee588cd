"""The parameters that operations list: read one list at a time, or all lists together.

Large documents say the same things of hundreds of operations: by reference, once for a path, or
written out each time. Looked at together, what says the same is looked at once.

Spec: OpenAPI 3.2.0, section 4.12; Swagger 2.0, "Parameter Object".
"""

from __future__ import annotations

import re
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import DocumentError, InvalidDocument
from openapi_tools.loading.reference_scan import HOLDING
from openapi_tools.loading.schema_keywords import is_true
from openapi_tools.requests.encoding import is_cookie_name, is_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openapi_tools.loading import versions
    from openapi_tools.loading.operations import Declared
    from openapi_tools.loading.references import References, Resource

_UNSENDABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_LISTS, _OBJECTS = frozenset({list}), frozenset({dict})
_LOCATED = itemgetter("in", "name")
_NAMED: dict[Any, Callable[[str], bool]] = {
    "query": bool,
    "header": is_token,
    "cookie": is_cookie_name,
}
"""Whether a name can stand in a place where names are sent."""
_DEEP = HOLDING | {"$ref"}


class Listed(NamedTuple):
    """A parameter that an operation lists.

    Attributes:
        location: Its `in`.
        name: On the wire.
        node: The Parameter Object, as the document has it.
        resource: The document that it stands in.
    """

    location: str
    name: str
    node: dict[str, Any]
    resource: Resource


class Survey(NamedTuple):
    """What many lists of parameters say together.

    Attributes:
        nodes: Those that may hold references, by identity.
        of_path: The names of path parameters, by the identity of what stands in the lists: another
            look at thousands of objects takes longer than all else that is done with them.
    """

    nodes: dict[int, dict[str, Any]]
    of_path: dict[int, str]

    def path_names(self, listed: list[dict[str, Any]]) -> list[str]:
        """Return the names of the path parameters in one of the lists, as often as it has them."""
        of_path = self.of_path
        return [of_path[key] for key in map(id, listed) if key in of_path]


class Parameters:
    """Reads the parameters of one document.

    Args:
        references: Resolves `$ref`.
        dialect: Says where parameters may be.
    """

    def __init__(self, references: References, dialect: versions.Dialect) -> None:
        self._entry = references.entry
        self._references = references
        self._version = dialect.version
        self._locations = _locations(dialect)
        self._referred: dict[str, Listed] = {}
        self._last: tuple[dict[str, Any], list[Listed]] = {}, []

    def of(self, declared: Declared) -> list[Listed]:
        """Return an operation's parameters, its own over those of its path.

        `body` and `formData` of Swagger 2.0 are among them. Of two with the same place and name in
        one list the last counts.

        Spec: OpenAPI 3.1.2, section 4.8.9, `parameters`.

        Raises:
            DocumentError: One is malformed or leads nowhere.
        """
        above = self._of_path(declared)
        own = self.listed(declared, declared.node)
        if not above:
            return own
        return list({(found.location, found.name): found for found in (*above, *own)}.values())

    def _of_path(self, declared: Declared) -> list[Listed]:
        """Return the parameters of a path item; its operations are asked for one after another."""
        item, listed = self._last
        if item is not declared.item:
            listed = self.listed(declared, declared.item)
            self._last = declared.item, listed
        return listed

    def listed(self, declared: Declared, holder: dict[str, Any]) -> list[Listed]:
        """Return the parameters that one node lists, checked, each place and name once.

        Args:
            declared: The operation.
            holder: Its node, or the path item.

        Raises:
            DocumentError: One is malformed or leads nowhere.
        """
        if "parameters" not in holder:
            return []
        return list({found[:2]: found for found in self._each(declared, holder)}.values())

    def survey(self, lists: list[Any]) -> Survey | None:
        """Look at many lists of parameters at once.

        Args:
            lists: Of the document itself, as they stand there.

        Returns:
            None when a parameter in one of them may be malformed or lead nowhere.
        """
        listed = [each for each in lists if each is not None]
        if not _LISTS.issuperset(map(type, listed)):
            return None
        items = list(chain.from_iterable(listed))
        if not _OBJECTS.issuperset(map(type, items)):
            return None
        try:
            return self._surveyed(items)
        except (DocumentError, KeyError, TypeError):
            return None

    def _surveyed(self, items: list[dict[str, Any]]) -> Survey:
        """Return what parameters say together.

        Raises:
            DocumentError: One is malformed or leads nowhere.
            KeyError: One is nowhere or has no name.
            TypeError: Where it is, or its reference, is no text, or its name cannot be sent.
        """
        deep = [item for item in items if not _DEEP.isdisjoint(item)]
        others = [item for item in deep if "$ref" in item]
        inline = [item for item in items if "$ref" not in item] if others else items
        refs = [item["$ref"] for item in others]
        targets = self._targets(dict.fromkeys(refs))
        for item in dict(zip(map(_LOCATED, inline), inline, strict=True)).values():
            self._check(item, self._entry)  # any one of those with the same place and name
            if not _is_legible(item["name"]):  # whether it is left out each one says by itself
                raise TypeError
        named = {ref: node["name"] for ref, node in targets.items() if node["in"] == "path"}
        of_path = {id(item): item["name"] for item in inline if item["in"] == "path"}
        pairs = zip(others, refs, strict=True)
        of_path |= {id(item): named[ref] for item, ref in pairs if ref in named}
        deep = [item for item in deep if "$ref" not in item] if others else deep
        return Survey({id(node): node for node in (*targets.values(), *deep)}, of_path)

    def _targets(self, refs: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the parameters that references lead to, checked.

        Raises:
            DocumentError: One is malformed or leads nowhere.
            TypeError: One leads out of the document or to another reference, or is no text.
        """
        found = {}
        for ref in refs:
            node = self._references.resolve(ref, self._entry).node if ref[:1] == "#" else None
            if type(node) is not dict or "$ref" in node:
                raise TypeError
            self._referred[ref] = self._check(node, self._entry)
            found[ref] = node
        return found

    def _each(self, declared: Declared, holder: dict[str, Any]) -> Iterator[Listed]:
        """Yield the parameters that one node lists, checked."""
        listed = holder["parameters"]
        if not isinstance(listed, list):
            if listed is None:
                return
            raise InvalidDocument(
                "'parameters' must be an array.",
                source=self._entry.name,
                pointer=_place(declared, holder),
            )
        for index, item in enumerate(listed):
            try:
                yield self._check(item, declared.resource)
            except DocumentError as error:
                error.source = self._entry.name
                error.pointer = f"{_place(declared, holder)}/{index}"
                raise

    def _check(self, item: Any, resource: Resource) -> Listed:
        """Return a parameter that has a name and a place, references followed."""
        parameter = item
        if not isinstance(item, dict) or "$ref" in item:
            parameter, resource, _ = self._references.follow(item, resource)
        if not isinstance(parameter, dict):
            raise InvalidDocument(f"a parameter must be an object, not {parameter!r:.60}.")
        location, name = parameter.get("in"), parameter.get("name")
        if location == "querystring" and not name:  # the whole query needs no name on the wire
            name = location
        if not isinstance(name, str) or not name:
            raise InvalidDocument(f"'name' of a parameter is {name!r:.60}; give it a text.")
        if not isinstance(location, str) or location not in self._locations:
            allowed = ", ".join(self._locations)
            reason = f"'in' is {location!r:.60}; {self._version} has {allowed}."
            raise InvalidDocument(reason)
        if not _is_legible(name) and not is_left_out(parameter):
            reason = f"the name of the {location} parameter {name!r:.60} cannot be sent."
            raise InvalidDocument(reason)
        return Listed(location, name, parameter, resource)

    def read(self, item: dict[str, Any]) -> Listed:
        """Return one item of a list of the document itself.

        Raises:
            DocumentError: It is malformed or leads nowhere; where it stands is not said.
        """
        found = self._referred.get(item["$ref"]) if "$ref" in item else None
        return found or self._check(item, self._entry)


def _place(declared: Declared, holder: dict[str, Any]) -> str:
    """Return the JSON Pointer of a list of parameters."""
    above = declared.pointer if holder is declared.node else declared.path_pointer
    return f"{above}/parameters"


def is_left_out(node: Mapping[str, Any]) -> bool:
    """Tell whether a parameter is left out of requests, as none can have its name.

    Args:
        node: A Parameter Object; one whose name no place at all can have has to be optional.
    """
    location, name = node.get("in"), node.get("name")
    if location not in _NAMED or not isinstance(name, str):
        return False
    if not _is_legible(name):
        return not is_true(node.get("required"))
    return not _NAMED[location](name)


def _is_legible(name: str) -> bool:
    """Tell whether a name is free of control characters and halves of characters."""
    return name.isprintable() or not _UNSENDABLE.search(name)


def _locations(dialect: versions.Dialect) -> tuple[str, ...]:
    """Return the values that a parameter's `in` may have."""
    if dialect.swagger:
        return ("path", "query", "header", "body", "formData")
    more = ("querystring",) if dialect.minor >= 2 else ()  # noqa: PLR2004 -- 3.2
    return ("path", "query", "header", "cookie", *more)
