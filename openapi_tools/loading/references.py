"""References of a document, resolved on demand.

Nothing is resolved before it is asked for, and nothing is copied. A node is only meaningful
together with its `Resource`, because its own references are relative to that.

Spec: RFC 6901 (JSON Pointer), RFC 3986 section 5 (relative references), OpenAPI 3.2.0 section 4.6.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

from openapi_tools.errors import DocumentError, SourceError, UnresolvableReference
from openapi_tools.http_rules import WEB
from openapi_tools.json_values import (
    Node,
    dump_json_bytes,
    join_pointer,
    resolve_pointer,
)
from openapi_tools.loading.lazy_dict import materialize
from openapi_tools.loading.parse import parse
from openapi_tools.loading.source import read_file
from openapi_tools.visible_text import without_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.loading.fetching import Fetcher
    from openapi_tools.settings import Settings

MAX_TEXTS = 64_000_000  # bytes of parts that are compared; aliases can make many more
LOCAL = ("#/$defs/", "#/definitions/")  # references of a JSON Schema to its own definitions
MAX_CHAIN = 64  # longest chain of references without content
_FRAGMENT = "/?:@!$&'()*+,;=~"  # RFC 3986, section 3.5


@dataclass(slots=True, eq=False)
class Resource:
    """A parsed document; `uri` is a URL or a path, or empty, and `self_uri` its `$self` (3.2)."""

    root: Any
    uri: str = ""
    name: str = ""
    self_uri: str = ""
    public: bool = False
    is_tree: bool = True
    _anchors: Node | None = None
    _scopes: dict[int, _Scope] | None = None
    _texts: dict[int, bytes] = field(default_factory=dict)
    _room: int = MAX_TEXTS

    def text(self, node: Any) -> bytes:
        """Return a key for a part of the document: its JSON, written once, while there is room."""
        if id(node) not in self._texts:
            text = dump_json_bytes(node) if self._room > 0 else b"id %d" % id(node)
            self._room -= len(text)
            self._texts[id(node)] = text
        return self._texts[id(node)]

    def anchor(self, name: str) -> Any:
        """Return the schema with an anchor (JSON Schema 2020-12, 8.2.2), or an id and `#`."""
        if self._anchors is None:
            self._anchors = dict(_anchors(materialize(self.root)))
        return self._anchors.get(name)

    def local_target(self, reference: Node) -> tuple[Any, str] | None:
        """Return what a reference means in the nearest object around it that has definitions.

        With it comes its JSON Pointer; None where no such object has the name.
        """
        if self._scopes is None:
            self._scopes = _scopes_in(materialize(self.root))
        scope, fragment = self._scopes.get(id(reference)), unquote(reference["$ref"][1:])
        while scope is not None:
            try:
                return resolve_pointer(scope.node, fragment), f"{scope.pointer}{fragment}"
            except LookupError:
                scope = scope.outer
        return None


class _Scope(NamedTuple):
    """An object with `$defs` or `definitions` of its own, and the one around it."""

    node: Node
    path: tuple[Any, ...]
    outer: _Scope | None

    @property
    def pointer(self) -> str:
        keys, path = [], self.path
        while path:
            path, key = path
            keys.append(key)
        return join_pointer(reversed(keys))


class Target(NamedTuple):
    """Where a reference leads; the pointer is `#name` for an anchor."""

    node: Any
    resource: Resource
    pointer: str


class References:
    """Resolves the references of one document; `alone` while it has requested no other one.

    `warnings` are those of the parser about other documents.
    """

    def __init__(
        self,
        entry: Resource,
        settings: Settings,
        fetcher: Fetcher | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self.entry = entry
        self.fetcher = fetcher
        self.alone = True
        self.warnings: list[str] = []
        self.local_notes: dict[str, None] = {}  # warnings about definitions inside schemas
        self._strict = strict
        self._local: dict[tuple[int, int], Target] = {}
        self._with_local: set[int] = set()
        self._settings = settings
        self._resources: dict[str, Resource] = {entry.uri: entry} if entry.uri else {}
        # Here and not in the resource: in a circle of objects a large document outlives its tools.
        self._targets: dict[tuple[int, str], Target] = {}
        if entry.self_uri:
            self._resources[urldefrag(entry.self_uri).url] = entry

    def has_local(self, resource: Resource) -> bool:
        """Tell whether equal references of a resource may lead to different definitions."""
        return id(resource) in self._with_local

    def resolve(self, ref: object, resource: Resource, holder: Node | None = None) -> Target:
        """Return where one reference leads, which may be a reference again.

        `holder` is the object with the reference: a schema that was pasted whole has definitions
        of its own, to which `#/$defs/X` leads if it leads nowhere in the document.
        """
        if not isinstance(ref, str) or not ref:
            reason = f"'$ref' is {ref!r:.60}; it must be a text that names a place."
            raise UnresolvableReference(reason, source=resource.name)
        key = (id(resource), ref)
        target = self._targets.get(key)
        if target is None:
            try:
                target = self._targets[key] = self._find(ref, resource)
            except UnresolvableReference:
                if holder is None or not ref.startswith(LOCAL):
                    raise
                return self._find_local(holder, resource)
        return target

    def _find_local(self, holder: Node, resource: Resource) -> Target:
        key = (id(resource), id(holder))
        if key not in self._local:
            definition = resource.local_target(holder)
            if definition is None:
                return self._find(holder["$ref"], resource)  # which raises
            self._local[key] = Target(definition[0], resource, definition[1])
            self._with_local.add(id(resource))
            place = definition[1] if resource is self.entry else f"{resource.name}#{definition[1]}"
            remark = f"{holder['$ref']!r:.100} leads here, as it leads nowhere in the document"
            self.local_notes[f"{place}: {remark}."] = None
        return self._local[key]

    def follow(
        self, node: Any, resource: Resource, *, stops: Callable[[Node], bool] | None = None
    ) -> Target:
        """Return the end of a chain of references, or the first on it for which `stops` is true."""
        if type(node) is not dict or "$ref" not in node:
            return Target(node, resource, "")
        target = self.resolve(node["$ref"], resource, node)
        first = None
        for _ in range(MAX_CHAIN):
            if not isinstance(target.node, dict) or "$ref" not in target.node:
                return first or target
            if first is None and stops is not None and stops(target.node):
                first = target
            target = self.resolve(target.node["$ref"], target.resource, target.node)
        reason = f"leads through more than {MAX_CHAIN} references without content, in a circle"
        raise _error(node["$ref"], f"{reason}; let one of them hold a definition.", resource)

    def _find(self, ref: str, resource: Resource) -> Target:
        plain = ref[0] == "#" and ref.isprintable()
        if not plain and not is_url_reference(ref):
            raise _error(ref, "is not a URL.", resource)
        address, fragment = ("", ref[1:]) if plain else urldefrag(ref)
        owner = self._resource(address, ref, resource) if address else resource
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            if (node := owner.anchor(fragment)) is None:
                raise _error(ref, "leads nowhere; no such anchor.", owner)
            return Target(node, owner, f"#{fragment}")
        try:
            return Target(materialize(resolve_pointer(owner.root, fragment)), owner, fragment)
        except LookupError as error:
            says = f"leads nowhere; there is no {error.args[0]!r}."
            raise _error(ref, says, owner) from None

    def _resource(self, address: str, ref: str, base: Resource) -> Resource:
        for uri in (urljoin(base.self_uri or base.uri, address), urljoin(base.uri, address)):
            if uri in self._resources:
                return self._resources[uri]
        if (known := self.entry.anchor(f"{address}#")) is not None:
            found = self._resources[address] = Resource(known, self.entry.uri, self.entry.name)
            return found
        found = self._read(address, ref, base)
        self._resources[found.uri] = found
        return found

    @cached_property
    def bundled(self) -> Node:
        """The document; where it refers to others, with these as members of `x-documents`.

        References that lead nowhere, or into a document that is not read, stay.
        """
        root, parts = materialize(self.entry.root), dict[str, Any]()
        places, waiting = {(id(self.entry), ""): ""}, [("", root, self.entry)]

        def place(holder: Node, resource: Resource) -> str:
            ref: str = holder["$ref"]
            with suppress(UnresolvableReference):
                node, owner, end = self.resolve(ref, resource, holder)
                anchor, end = (end, "") if end.startswith("#") else ("", end)
                if (key := (id(owner), anchor)) not in places:
                    places[key] = f"/x-documents/{len(places)}"
                    waiting.append((places[key][13:], node if anchor else owner.root, owner))
                return f"#{quote(places[key] + end, safe=_FRAGMENT)}"
            return ref

        while waiting:
            name, node, owner = waiting.pop()
            if name or any(ref[:1] != "#" or ref.startswith(LOCAL) for ref in refs_in(node)):
                parts[name] = _moved(node, partial(place, resource=owner), {})
        whole = parts.pop("", root)
        return {**whole, "x-documents": parts} if parts else whole

    @property
    def has_public(self) -> bool:
        """Whether a document read so far came from a public address."""
        return self.entry.public or any(found.public for found in self._resources.values())

    def _read(self, address: str, ref: str, base: Resource) -> Resource:
        self.alone = False
        try:
            url = urljoin(base.uri, address) if WEB.match(base.uri) else address
            if WEB.match(url) or url.startswith("//"):
                allowed = self._allowed_url(url, ref)
                if self.fetcher is None:
                    from openapi_tools.loading.fetching import Fetcher

                    self.fetcher = Fetcher(allowed, self._settings)
                found = self.fetcher.fetch(allowed, found_in_public=base.public)
            else:
                path = self._allowed_path(address, ref, base)
                found = read_file(path, self._settings)
            if found.uri in self._resources:
                return self._resources[found.uri]
            parsed = parse(found.data or b"", name=found.name, strict=self._strict)
            self.warnings += [f"{found.name}#{warning}" for warning in parsed.warnings]
        except SourceError as error:
            # The reason alone: a message must not show a path of this machine.
            raise _error(ref, f"cannot be read: {error.reason}", base) from error
        except UnresolvableReference:
            raise
        except DocumentError as error:
            place = f"#{error.pointer}: " if error.pointer else ""
            raise _error(ref, f"is not a usable file: {place}{error.reason}", base) from error
        return Resource(parsed.root, found.uri, found.name, public=found.public)

    def _allowed_url(self, url: str, ref: str) -> str:
        """Refuse URLs outside the document's own folder that the user did not allow."""
        own = urljoin(self.entry.uri, ".") if WEB.match(self.entry.uri) else ""
        plain = ".." not in unquote(unquote(url)) and "\\" not in unquote(url)
        for prefix in filter(None, (own, *self._settings.ref_urls)):
            is_below = url.startswith(f"{prefix.removesuffix('/')}/")  # at a path boundary
            if plain and (url == prefix or is_below):
                return url
        advice = "allow it with Settings(ref_urls=[…]) or bundle the document."
        where = "leads to another place on the network, which is not read"
        raise _error(ref, f"{where}; {advice}", self.entry)

    def _allowed_path(self, address: str, ref: str, base: Resource) -> Path:
        """Refuse files outside the document's own folder or `ref_root`."""
        known_file = bool(base.uri) and not WEB.match(base.uri)
        own = Path(self.entry.uri).parent if known_file and self.entry.uri else None
        root = self._settings.ref_root or own
        name = unquote(address)
        if root is None or ":" in name or "\0" in name or name.startswith("\\\\"):
            advice = "name a folder with Settings(ref_root=…) or bundle the document."
            raise _error(ref, f"leads to another file, which is not read; {advice}", base)
        folder = Path(base.uri).parent if known_file else root
        path = (folder / name).resolve()
        if not path.is_relative_to(root.resolve()):
            where = "leads out of the document's folder, or of 'ref_root'"
            raise _error(ref, f"{where}; name a wider one with Settings(ref_root=…).", base)
        return path


def _error(ref: str, says: str, resource: Resource) -> UnresolvableReference:
    return UnresolvableReference(without_user(f"'$ref': {ref!r} {says}"), source=resource.name)


def _anchors(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield every `$anchor`, `$dynamicAnchor` and (with a `#` behind) `$id` of a document."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            for key, tail in (("$anchor", ""), ("$dynamicAnchor", ""), ("$id", "#")):
                if isinstance(node.get(key), str):
                    yield node[key].rstrip("#") + tail, node
            stack.extend(node.values())


def _scopes_in(root: Any) -> dict[int, _Scope]:
    """Return the innermost scope of each object with a `$ref` to definitions, by its id."""
    scopes: dict[int, _Scope] = {}
    waiting: list[tuple[Any, tuple[Any, ...], _Scope | None]] = [(root, (), None)]
    seen = set[int]()
    while waiting:
        node, path, scope = waiting.pop()
        if id(node) in seen:  # YAML's aliases share parts
            continue
        seen.add(id(node))
        if isinstance(node, dict):
            if path and any(isinstance(node.get(key), dict) for key in ("$defs", "definitions")):
                scope = _Scope(node, path, scope)
            ref = node.get("$ref")
            if scope is not None and isinstance(ref, str) and ref.startswith(LOCAL):
                scopes[id(node)] = scope
        inner = node.items() if isinstance(node, dict) else enumerate(node)
        waiting += [(v, (path, k), scope) for k, v in inner if isinstance(v, dict | list)]
    return scopes


def refs_in(root: Any) -> Iterator[str]:
    """Yield every text of a `$ref`."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict | list) and id(node) not in seen:
            seen.add(id(node))  # YAML's aliases share parts
            waiting += node.values() if isinstance(node, dict) else node
            if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                yield node["$ref"]


def _moved(node: Any, place: Callable[[Node], str], made: dict[int, Any]) -> Any:
    """Return a part of a document with other references, and without ids that they count from."""
    if not isinstance(node, dict | list) or id(node) in made:
        return made.get(id(node), node)
    if isinstance(node, list):
        new: Any = [_moved(item, place, made) for item in node]
    else:
        named = ((k, v) for k, v in node.items() if k != "$id" or not isinstance(v, str))
        is_ref = isinstance(node.get("$ref"), str)
        new = {
            k: place(node) if is_ref and k == "$ref" else _moved(v, place, made) for k, v in named
        }
    made[id(node)] = new
    return new


def is_url_reference(text: str) -> bool:
    """Tell whether a text can be parsed as a URL, absolute or relative."""
    try:
        urlsplit(text)
    except ValueError:
        return False
    return True
