"""References of a document, resolved on demand.

Nothing is resolved before it is needed, and nothing is copied. A node is only meaningful
together with its `Resource`, because its own references are relative to that.

Spec: RFC 6901 (JSON Pointer), RFC 3986 section 5 (relative references), OpenAPI 3.2.0 section 4.6.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

from openapi_tools.common.json_values import Node, dump_json_bytes, join_pointer, resolve_pointer
from openapi_tools.common.visible_text import mask_user
from openapi_tools.errors import DocumentError, SourceError, UnresolvableReference
from openapi_tools.loading.lazy_dict import LazyDict, materialize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_KEY_BYTES = 64_000_000  # of parts that are compared; YAML's aliases can write many more
# 2020-12 has `$defs` (JSON Schema Core, section 8.2.4), draft 4, which 2.0 and 3.0 build on,
# `definitions`.
LOCAL = ("#/$defs/", "#/definitions/")  # references of a JSON Schema to its own definitions
MAX_CHAIN = 64  # longest chain of references without content
_FRAGMENT = "/?:@!$&'()*+,;=~"  # RFC 3986, section 3.5


@dataclass(slots=True, eq=False)
class Resource:
    """A parsed document; `uri` is a URL or a path, or empty, and `self_uri` its `$self` (3.2).

    `has_local` once a reference led to a definition that is inside a schema: equal references may
    lead to different definitions then.
    """

    root: Any
    uri: str = ""
    name: str = ""
    self_uri: str = ""
    public: bool = False
    is_tree: bool = True
    has_local: bool = False
    _anchors: Node | None = None
    _scopes: dict[int, _Scope] | None = None
    _keys: dict[int, bytes] = field(default_factory=dict)
    _key_bytes: int = 0

    def key(self, node: Any) -> bytes:
        """Return a key that parts of the document share which mean the same: their JSON."""
        key = self._keys.get(id(node))
        if key is None:
            # Beyond the bound equal parts are read again instead: slower, but in bounded memory.
            is_shared = self._key_bytes < MAX_KEY_BYTES and not self.has_local
            key = dump_json_bytes(node) if is_shared else b"id %d" % id(node)
            self._key_bytes += len(key)
            self._keys[id(node)] = key
        return key

    def anchor(self, name: str) -> Any:
        """Return the schema with an anchor (JSON Schema 2020-12, 8.2.2), or an id and `#`."""
        if self._anchors is None:
            self._anchors = dict(_find_anchors(materialize(self.root)))
        return self._anchors.get(name)

    def local_target(self, reference: Node) -> tuple[Any, str] | None:
        """Return what a reference means in the nearest object around it that has definitions.

        With it comes its JSON Pointer; None where no such object has the name.
        """
        if self._scopes is None:
            self._scopes = _find_scopes(materialize(self.root))
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


class Retriever(Protocol):
    """Reads the documents that references name; `warnings` are about these documents."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings so far."""

    def retrieve(self, address: str, base: Resource) -> Resource:
        """Return the document at an address, relative to that of the document that names it.

        Raises:
            SourceError, DocumentError: It cannot be read, or may not be.
        """


class References:
    """Resolves the references of one document.

    `is_single` until another document was asked for. `local_notes` are warnings about definitions
    inside schemas.
    """

    def __init__(self, entry: Resource, retrieve: Callable[[str, Resource], Resource]) -> None:
        self.entry = entry
        self.is_single = True
        self.local_notes: dict[str, None] = {}
        self._retrieve = retrieve
        self._local: dict[tuple[int, int], Target] = {}
        self._resources: dict[str, Resource] = {entry.uri: entry} if entry.uri else {}
        # Here and not in the resource: in a cycle of objects a large document outlives its tools.
        self._targets: dict[tuple[int, str], Target] = {}
        if entry.self_uri:
            self._resources[urldefrag(entry.self_uri).url] = entry

    def resolve(self, ref: object, resource: Resource, holder: Node | None = None) -> Target:
        """Return where one reference leads, which may be a reference again.

        `holder` is the object with the reference: a schema that was pasted whole has definitions
        of its own, to which `#/$defs/X` leads if it leads nowhere in the document.
        """
        if not isinstance(ref, str) or not ref:
            reason = f"'$ref' is {ref!r:.60}; it must be a string that names a place."
            raise UnresolvableReference(reason, source=resource.name)
        # The same string means something else in another document, hence both in the key.
        key = (id(resource), ref)
        target = self._targets.get(key)
        if target is None:
            try:
                target = self._targets[key] = self._find_target(ref, resource)
            except UnresolvableReference:
                if holder is None or not ref.startswith(LOCAL):
                    raise
                return self._find_local_target(holder, resource)
        return target

    def _find_local_target(self, holder: Node, resource: Resource) -> Target:
        key = (id(resource), id(holder))
        if key not in self._local:
            definition = resource.local_target(holder)
            if definition is None:
                return self._find_target(holder["$ref"], resource)  # which raises
            self._local[key] = Target(definition[0], resource, definition[1])
            resource.has_local = True
            place = definition[1] if resource is self.entry else f"{resource.name}#{definition[1]}"
            remark = "is read as this schema, because it does not exist in the document"
            self.local_notes[f"{place}: {holder['$ref']!r:.100} {remark}."] = None
        return self._local[key]

    def follow(
        self, node: Any, resource: Resource, *, stops: Callable[[Node], bool] | None = None
    ) -> Target:
        """Return the end of a chain of references, or the first on it for which `stops` is true."""
        if type(node) is not dict or "$ref" not in node:
            return Target(node, resource, "")
        target = self.resolve(node["$ref"], resource, node)
        stop = None
        # Counted instead of compared: a cycle may lead through other documents.
        for _ in range(MAX_CHAIN):
            if not isinstance(target.node, dict) or "$ref" not in target.node:
                return stop or target
            if stop is None and stops is not None and stops(target.node):
                stop = target  # the rest of the chain is followed all the same, for its faults
            target = self.resolve(target.node["$ref"], target.resource, target.node)
        reason = f"is a chain of more than {MAX_CHAIN} references, or a cycle"
        raise _error(node["$ref"], f"{reason}; define a schema in one of them.", resource.name)

    def _find_target(self, ref: str, resource: Resource) -> Target:
        is_fragment = ref[0] == "#" and ref.isprintable()  # most are, and need no parser
        if not is_fragment and not is_url_reference(ref):
            raise _error(ref, "is not a URL.", resource.name)
        address, fragment = ("", ref[1:]) if is_fragment else urldefrag(ref)
        owner = self._find_resource(address, ref, resource) if address else resource
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            if (node := owner.anchor(fragment)) is None:
                raise _error(ref, "leads nowhere: no such anchor.", owner.name)
            return Target(node, owner, f"#{fragment}")
        try:
            node = resolve_pointer(owner.root, fragment)
        except LookupError as error:
            reason = f"leads nowhere: there is no {error.args[0]!r}."
            raise _error(ref, reason, owner.name) from None
        # Documents from the cache are read part by part; schemas are converted whole.
        node = materialize(node) if isinstance(node, LazyDict) else node
        return Target(node, owner, fragment)

    def _find_resource(self, address: str, ref: str, base: Resource) -> Resource:
        # `$self` (OpenAPI 3.2.0, section 4.6) names documents that are loaded; others are read from
        # where the document is.
        for uri in (urljoin(base.self_uri or base.uri, address), urljoin(base.uri, address)):
            if uri in self._resources:
                return self._resources[uri]
        # Before anything is read: an `$id` is often a URL at which nothing is, or something
        # else.
        if (schema := self.entry.anchor(f"{address}#")) is not None:  # a schema's `$id`
            resource = self._resources[address] = Resource(schema, self.entry.uri, self.entry.name)
            return resource
        self.is_single = False
        try:
            resource = self._retrieve(address, base)
        except SourceError as error:
            # The reason alone: a message must not show a path of this machine.
            raise _error(ref, f"cannot be read: {error.reason}", base.name) from error
        except UnresolvableReference as error:
            raise _error(ref, error.reason, error.source) from None
        except DocumentError as error:
            place = f"#{error.pointer}: " if error.pointer else ""
            reason = f"is not a usable file: {place}{error.reason}"
            raise _error(ref, reason, base.name) from error
        return self._resources.setdefault(resource.uri, resource)

    @cached_property
    def bundled(self) -> Node:
        """The document; others that it refers to become properties of `x-documents`.

        References that lead nowhere, or into a document that is not read, stay.
        """
        root, parts = materialize(self.entry.root), dict[str, Any]()
        places, waiting = {(id(self.entry), ""): ""}, [("", root, self.entry)]

        def bundled_ref(holder: Node, resource: Resource) -> str:
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
                parts[name] = _copy_with_refs(node, partial(bundled_ref, resource=owner), {})
        whole = parts.pop("", root)
        return {**whole, "x-documents": parts} if parts else whole

    @property
    def has_public(self) -> bool:
        """Whether a document read so far came from a public address."""
        return self.entry.public or any(each.public for each in self._resources.values())


def _error(ref: str, reason: str, source: str) -> UnresolvableReference:
    return UnresolvableReference(mask_user(f"'$ref': {ref!r} {reason}"), source=source)


def _find_anchors(root: Any) -> Iterator[tuple[str, Any]]:
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


def _find_scopes(root: Any) -> dict[int, _Scope]:
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
    """Yield every string of a `$ref`."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict | list) and id(node) not in seen:
            seen.add(id(node))  # YAML's aliases share parts
            waiting += node.values() if isinstance(node, dict) else node
            if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                yield node["$ref"]


def _copy_with_refs(node: Any, new_ref: Callable[[Node], str], copies: dict[int, Any]) -> Any:
    if not isinstance(node, dict | list) or id(node) in copies:
        return copies.get(id(node), node)
    if isinstance(node, list):
        copy: Any = [_copy_with_refs(item, new_ref, copies) for item in node]
    else:
        items = ((k, v) for k, v in node.items() if k != "$id" or not isinstance(v, str))
        is_ref = isinstance(node.get("$ref"), str)
        copy = {
            k: new_ref(node) if is_ref and k == "$ref" else _copy_with_refs(v, new_ref, copies)
            for k, v in items
        }
    copies[id(node)] = copy
    return copy


def is_url_reference(text: str) -> bool:
    """Return whether a string can be parsed as a URL, absolute or relative."""
    try:
        urlsplit(text)
    except ValueError:
        return False
    return True
