"""JSON values: pointers (RFC 6901), equality, size, lazy objects; the keywords of JSON Schema."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import is_
from typing import Any
from urllib.parse import unquote

Node = dict[str, Any]  # an object of a document, or a schema
_ASCII = bytes(range(128))
# Control characters, which steer a terminal or the direction of writing; surrogates, which no
# encoding can write; U+FFFE and U+FFFF, which XML does not have.
_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    r"\ufffe\uffff]"
)
# In JSON by `json.dumps`: a quotation mark in a string has a backslash before it, so that no string
# looks like this.
_REFERENCE = re.compile(r'"\$ref": ("[^"\\]*(?:\\.[^"\\]*)*")')
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_CLASSES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int, float),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
ASSERTIONS = frozenset(
    {"const", "dependentRequired", "enum", "exclusiveMaximum", "exclusiveMinimum", "maxItems"}
    | {"maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum"}
    | {"multipleOf", "pattern", "required", "type", "uniqueItems"}
)
"""Keywords that look at a value without handing any of it to another schema."""
ONE_SCHEMA = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAPS = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
UNIONS = ("anyOf", "oneOf")
DEFINITIONS = "#/$defs/"  # the beginning of a reference to one of `$defs`
_LONGEST_CHAIN = 64
EXPONENT = 1e16  # from here on Python writes floats with an exponent, ECMAScript without one
_LARGEST = 10**18  # Python refuses to write the largest numbers as text
HOLDING = ONE_SCHEMA | SCHEMA_LISTS | SCHEMA_MAPS  # keywords that hold schemas
IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
"""Keywords whose schemas apply to the same value, not to a member of it."""


def as_boolean(value: Any) -> bool | None:
    """Return a boolean, also one that is written as text; None for anything else."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def is_true(value: Any) -> bool:
    """Tell whether a value is true, or the text for it."""
    return as_boolean(value) is True


def is_text(value: Any) -> bool:
    """Tell whether a member is a text."""
    return isinstance(value, str)


def as_text(value: Any) -> str:
    """Return a member that has to be a text; empty when it is anything else."""
    return value if isinstance(value, str) else ""


def as_dict(value: Any) -> Node:
    """Return a member that has to be an object; an empty one when it is anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a member that has to be an array; an empty one when it is anything else."""
    return value if isinstance(value, list) else []


def pointer_token(key: object) -> str:
    """Return a key or index as one step of a JSON Pointer, slash included."""
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """Return the key that a reference token names."""
    return token.replace("~1", "/").replace("~0", "~")


def pointer(keys: Iterable[object]) -> str:
    """Return keys and indexes as a JSON Pointer, for instance `/paths/~1pets/get`."""
    return "".join(map(pointer_token, keys))


def keys_of(text: str) -> tuple[str, ...]:
    """Return the keys of a JSON Pointer; `""`, the whole document, has none."""
    return tuple(map(unescape, text.split("/")[1:]))


def find(root: Any, text: str) -> Any:
    """Return the value at a JSON Pointer, or raise LookupError with the key that is missing."""
    for token in text.split("/")[1:]:
        key = unescape(token) if "~" in token else token
        if isinstance(root, (dict, Mapping)) and key in root:  # `dict` first, which is fast
            root = root[key]
        elif isinstance(root, list) and key.isdecimal() and int(key) < len(root):
            root = root[int(key)]
        else:
            raise LookupError(key)
    return root


def resolve(root: Any, reference: str) -> Any:
    """Return the target of a `$ref` inside a schema; None when it is missing (RFC 6901, 6)."""
    try:
        return find(root, unquote(reference))
    except LookupError:
        return None


def follow(document: Mapping[str, Any], node: Any) -> Mapping[str, Any]:
    """Return the object at the end of a node's chain of `$ref`; `{}` where that leads nowhere."""
    beside: dict[str, Any] = {}  # members beside a `$ref` override those of its target
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(node, Mapping):
            return {}
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return {**node, **beside} if beside else node
        beside = {**{key: node[key] for key in node if key != "$ref"}, **beside}
        node = resolve(document, reference) if reference.startswith("#") else {}
    return {}


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal in JSON, in which true is not 1 and 1 is 1.0."""
    if one is other or isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def is_a(value: Any, name: str) -> bool:
    """Tell whether a value is of a type of JSON Schema."""
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _CLASSES.get(name, ()))


def holds(values: Collection[Any], value: Any) -> bool:
    """Tell whether one of several values is equal to another in JSON."""
    if isinstance(value, str):
        return value in values
    return any(same(one, value) for one in values)


def kinds_of(schema: Any) -> set[str]:
    """Return the types that a schema names, also inside unions; none where it is open."""
    if not isinstance(schema, dict):
        return set()
    kinds = schema.get("type", ())
    found = {kinds} if isinstance(kinds, str) else set(kinds)
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= kinds_of(part)
    return found - {"null"}


def whole(value: Any) -> int | None:
    """Return a number, or a text of digits, as an integer; None for others and very large ones."""
    if isinstance(value, str) and value.isdecimal() and len(value) < len(str(_LARGEST)):
        return int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and abs(value) < _LARGEST else None


def plain_number(value: float) -> float:
    """Return an integral float as an integer, below the size where JSON writers differ.

    Models and clients of protobuf write integers as `5.0`, which servers in Go, Rust and .NET
    refuse; ECMAScript writes `5` for both.
    """
    return int(value) if value.is_integer() and abs(value) < EXPONENT else value


def fitted(value: Any, schema: Any) -> Any:
    """Return a value as the type that an argument takes; None where it does not fit."""
    kinds = kinds_of(schema)
    if kinds & {"integer", "number"}:
        number = whole(value)
        return number if number is not None or "string" not in kinds else str(value)
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    return str(value) if not kinds or "string" in kinds else None


def unequal(values: Iterable[Any]) -> list[Any]:
    """Return the first of each group of equal values."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(_identity(value), value)
    return list(found.values())


def _identity(value: Any) -> Any:
    """Return a hashable key that is the same for equal values."""
    if isinstance(value, dict):
        return (dict, frozenset((name, _identity(member)) for name, member in value.items()))
    if isinstance(value, list):
        return (list, tuple(map(_identity, value)))
    return (isinstance(value, bool), value)


def most_in(text: bytes) -> int:
    """Return a number of characters that a value of `compact` does not exceed as JSON."""
    # Numbers with an exponent, which follow a comma, colon or bracket, grow by two.
    blanks = 3 * (text.count(b",") + text.count(b":")) + 2 * text.count(b"[") + 2
    escapes = 5 * text.count(b"\x7f")
    if not text.isascii():
        escapes += 2 * len(text.translate(None, _ASCII))
    return len(text) + blanks + escapes


def members(item: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some attributes as JSON data."""
    return {name: getattr(item, name) for name in names}


def text_of(value: Any) -> str:
    """Return a JSON value as a model reads it: without blanks, letters as they are."""
    return _ENCODER.encode(value)


def escape_controls(text: str) -> str:
    r"""Return text with control characters as in JSON, `\u001b` for one; `\n` and `\t` stay."""
    return _STEERING.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def digest_of(value: Any) -> str:
    """Return the SHA-256 hash of a value as JSON; the order of members does not count."""
    text = json.dumps(value, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def compact(value: Any) -> bytes:
    """Return a JSON value as compact text in UTF-8; in ASCII if it has lone surrogates."""
    import pydantic_core  # `from … import` would cost more at each call

    try:
        return pydantic_core.to_json(value)
    except ValueError:  # a lone surrogate, which UTF-8 cannot write
        return json.dumps(value).encode()


def rebuilt(node: Any, change: Callable[[Any, str], Any]) -> Any:
    """Return a schema in which `change` has seen each schema, with its name in a map or `""`."""
    if not isinstance(node, dict) or HOLDING.isdisjoint(node):
        return node
    new: dict[str, Any] = {}
    for key, value in node.items():
        if key in HOLDING:
            changed = _rebuilt_value(key, value, change)
            if changed is not value:
                new[key] = changed
    return {**node, **new} if new else node


def _rebuilt_value(key: str, value: Any, change: Callable[[Any, str], Any]) -> Any:
    if key in ONE_SCHEMA:
        return change(value, "")
    if key in SCHEMA_LISTS and isinstance(value, list):
        parts = [change(part, "") for part in value]
        return value if all(map(is_, parts, value)) else parts
    if key in SCHEMA_MAPS and isinstance(value, dict):
        named = {name: change(part, name) for name, part in value.items()}
        return value if all(map(is_, named.values(), value.values())) else named
    return value


def everywhere(node: Any, edit: Callable[[dict[str, Any]], Any]) -> Any:
    """Return a schema with each schema in it edited, the inner ones first."""

    def change(part: Any, _name: str = "") -> Any:
        if not isinstance(part, dict):
            return part
        return edit(part if HOLDING.isdisjoint(part) else rebuilt(part, change))

    return change(node)


def without(node: dict[str, Any], keywords: Collection[str]) -> dict[str, Any]:
    """Return a schema without some keywords; the same one where it has none of them."""
    if node.keys().isdisjoint(keywords):
        return node
    return {key: value for key, value in node.items() if key not in keywords}


def with_items(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose arrays have `items`, without which clients refuse it."""
    is_bare = "items" not in node and "array" in node.get("type", ())
    return {**node, "items": {}} if is_bare else node


def loosened(node: dict[str, Any], gone: Collection[str]) -> dict[str, Any]:
    """Return a schema that looser parts make looser: without some keywords, `oneOf` as `anyOf`."""
    new = without(node, gone)
    if "oneOf" not in new:
        return new
    branches = {"anyOf": new["oneOf"]}
    more = {"allOf": [*new.get("allOf", ()), branches]} if "anyOf" in new else branches
    return {**without(new, ["oneOf"]), **more}


def definitions_in(node: Any) -> set[str]:
    """Return the names of definitions in a schema; those in values too, which does no harm."""
    return set(names_of_definitions(json.dumps(node)))


def names_of_definitions(text: str) -> Iterator[str]:
    """Yield the names of definitions in a schema that `json.dumps` wrote, for each reference."""
    for written in _REFERENCE.findall(text):
        reference: str = json.loads(written) if "\\" in written else written[1:-1]
        yield unescape(reference.removeprefix(DEFINITIONS))


def reached(node: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions that a schema refers to, directly or not, in their order."""
    found: set[str] = set()
    waiting = definitions_in(node)
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in found:
            found.add(name)
            waiting |= definitions_in(definitions[name])
    return {name: part for name, part in definitions.items() if name in found}


def size_of(value: Any) -> int:
    """Return the bytes of a value in the largest usual writing: blanks, and escapes for ASCII."""
    return len(json.dumps(value))


class LazyDict(Node):
    """A dict whose members are read when they are first looked at, and then kept."""

    __slots__ = ("_names", "_plain", "_read")

    def __init__(self, names: Iterable[str], read: Callable[[str], Any]) -> None:
        super().__init__()
        self._names = dict.fromkeys(names)
        self._read = read
        self._plain: Node | None = None

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __missing__(self, key: str) -> Any:
        if key not in self._names:
            raise KeyError(key)
        # Threads must get one object: the loader knows nodes by their identity.
        return self.setdefault(key, self._read(key))

    # The methods of `Mapping` call those above, so each member is read when it is looked at.
    get, keys = Mapping.get, Mapping.keys  # type: ignore[assignment]  # and no views of a dict
    values, items = Mapping.values, Mapping.items  # type: ignore[assignment]  # as above

    def plain(self) -> Node:
        """Return all of it as plain data; the same dict at each call."""
        if self._plain is None:
            self._plain = {key: without_lazy(value) for key, value in self.items()}
        return self._plain


def without_lazy(node: Any) -> Any:
    """Return a node as plain data, `LazyDict`s read."""
    return node.plain() if isinstance(node, LazyDict) else node
