"""The parameters that operations list, each looked at once.

Large documents say the same things of hundreds of operations: by reference, once for a path, or
written out each time. A parameter that was met before is known again.

Spec: OpenAPI 3.2.0, section 4.12; Swagger 2.0, "Parameter Object".
"""

from __future__ import annotations

import re
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.errors import DocumentError, InvalidDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.loader import versions
    from openapi_tools.loader.operations import Declared
    from openapi_tools.loader.references import References, Resource

_UNSENDABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_FLAT = frozenset({str, bool})
_PLAIN = _FLAT | {int, float, type(None)}
_LISTS, _OBJECTS = frozenset({list}), frozenset({dict})
_LOCATED = itemgetter("in", "name")
_WORDS = frozenset(
    {"name", "in", "description", "required", "type", "format", "uniqueItems", "deprecated"}
    | {"style", "explode", "allowEmptyValue", "collectionFormat", "minimum", "maximum"}
)
"""Members of a parameter with neither schemas nor references in them, as they should be."""


class Listed(NamedTuple):
    """A parameter that an operation lists.

    Attributes:
        location: Its `in`.
        name: On the wire.
        node: The Parameter Object, as the document has it; of several that say the same, one.
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
        self._known: dict[str | int, Listed] = {}
        self._flat: dict[tuple[str, int], Listed] = {}
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
        inline = [item for item in items if "$ref" not in item]
        others = [item for item in items if "$ref" in item] if len(inline) < len(items) else []
        try:
            refs = [item["$ref"] for item in others]
            targets = self._targets(dict.fromkeys(refs))
            placed = list(map(_LOCATED, inline))
            first = dict(zip(placed, inline, strict=True))
            for item in first.values():  # of those with the same place and name any will do
                self._check(item, self._entry)
            more = [item for item, key in zip(inline, placed, strict=True) if item != first[key]]
        except (DocumentError, KeyError, TypeError, RecursionError):
            return None
        seen = {id(node): node for node in (*targets.values(), *_deep([*first.values(), *more]))}
        of_path = {
            id(item): name
            for item, (place, name) in zip(inline, placed, strict=True)
            if place == "path"
        }
        named = {ref: node["name"] for ref, node in targets.items() if node["in"] == "path"}
        of_path |= {
            id(item): named[ref] for item, ref in zip(others, refs, strict=True) if ref in named
        }
        return Survey(seen, of_path)

    def _targets(self, refs: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the parameters that references lead to, checked.

        Raises:
            DocumentError: One is malformed or leads nowhere.
            TypeError: One leads out of the document or to another reference, or is no text.
        """
        found = {}
        for ref in refs:
            node = self._references.resolve(ref, self._entry).node if ref[0] == "#" else None
            if type(node) is not dict or "$ref" in node:
                raise TypeError
            self._check(node, self._entry)
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
        entry = declared.resource is self._entry
        for index, item in enumerate(listed):
            found = None
            if entry and type(item) is dict:
                ref = item.get("$ref")
                if type(ref) is str:
                    found = self._known.get(ref)
                elif ref is None:
                    found = self._known.get(id(item)) or self._find_equal(item)
            if found is None:
                try:
                    found = self._check(item, declared.resource)
                except DocumentError as error:
                    error.source = self._entry.name
                    error.pointer = f"{_place(declared, holder)}/{index}"
                    raise
                if entry:
                    self._keep(item, found)
            yield found

    def _find_equal(self, item: dict[str, Any]) -> Listed | None:
        """Return a parameter met before that says the same, to the letter and in the same order."""
        name, words = item.get("name"), item.get("description", "")
        if type(name) is not str or type(words) is not str:
            return None
        listed = self._flat.get((name, len(words)))
        if listed is None or item != listed.node or [*item] != [*listed.node]:
            return None
        if not _FLAT.issuperset(map(type, item.values())):  # 1 equals true
            return None
        self._known[id(item)] = listed
        return listed

    def _keep(self, item: dict[str, Any], listed: Listed) -> None:
        """Remember a parameter by its reference or, written out, by its identity."""
        if "$ref" in item:
            self._known[item["$ref"]] = listed
            return
        self._known[id(item)] = listed
        words = item.get("description", "")
        if type(words) is str and _FLAT.issuperset(map(type, item.values())):
            self._flat[listed.name, len(words)] = listed

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
        sendable = isinstance(name, str) and (name.isprintable() or not _UNSENDABLE.search(name))
        if not sendable or not name:
            raise InvalidDocument(f"'name' of a parameter is {name!r:.60}; give it a text.")
        if not isinstance(location, str) or location not in self._locations:
            allowed = ", ".join(self._locations)
            reason = f"'in' is {location!r:.60}; {self._version} has {allowed}."
            raise InvalidDocument(reason)
        return Listed(location, name, parameter, resource)

    def read(self, item: dict[str, Any]) -> Listed:
        """Return one item of a list of the document itself.

        Raises:
            DocumentError: It is malformed or leads nowhere; where it stands is not said.
        """
        return self._check(item, self._entry)


def _deep(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parameters in which a reference may stand: a flat one need not be walked."""
    flat: list[dict[str, Any]] = []
    deep: list[dict[str, Any]] = []
    for item in items:
        (flat if _WORDS.issuperset(item) else deep).append(item)
    values = chain.from_iterable(map(dict.values, flat))
    return deep if _PLAIN.issuperset(map(type, values)) else items


def _place(declared: Declared, holder: dict[str, Any]) -> str:
    """Return the JSON Pointer of a list of parameters."""
    above = declared.pointer if holder is declared.node else declared.path_pointer
    return f"{above}/parameters"


def _locations(dialect: versions.Dialect) -> tuple[str, ...]:
    """Return the values that a parameter's `in` may have."""
    if dialect.swagger:
        return ("path", "query", "header", "body", "formData")
    more = ("querystring",) if dialect.minor >= 2 else ()  # noqa: PLR2004 -- 3.2
    return ("path", "query", "header", "cookie", *more)
