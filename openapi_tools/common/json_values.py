"""JSON values: their types, JSON Pointers (RFC 6901), equality, size, parsing and serialization."""

from __future__ import annotations

import gc
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

Node = dict[str, Any]  # an object of a document, or a schema
_ASCII = bytes(range(128))
# Control characters, which steer a terminal or the direction of writing; surrogates, which no
# encoding can write; U+FFFE and U+FFFF, which XML does not have.
_CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    r"\ufffe\uffff]"
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

# As in `loading.references`: a longer chain is a cycle.
_LONGEST_CHAIN = 64
EXPONENT = 1e16  # from here on Python writes floats with an exponent, ECMAScript without one
_LARGEST = 10**18  # `str()` of integers with thousands of digits raises ValueError


def as_boolean(value: Any) -> bool | None:
    """Return a boolean, also from the strings "true" and "false"; None for anything else."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def is_true(value: Any) -> bool:
    """Return whether a value is true or the string "true"."""
    return value is True or as_boolean(value) is True


def is_string(value: Any) -> bool:
    """Return whether a value is a string."""
    return isinstance(value, str)


def as_string(value: Any) -> str:
    """Return a string as it is, and `""` for any other value."""
    return value if isinstance(value, str) else ""


def as_dict(value: Any) -> Node:
    """Return a dict as it is, and an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, and an empty one for any other value."""
    return value if isinstance(value, list) else []


def pointer_token(key: object) -> str:
    """Return a key or index as one step of a JSON Pointer, with its slash."""
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def unescape_token(token: str) -> str:
    """Return the key that a reference token names (RFC 6901, section 4)."""
    return token.replace("~1", "/").replace("~0", "~")


def join_pointer(keys: Iterable[object]) -> str:
    """Return keys and indexes as a JSON Pointer, such as `/paths/~1pets/get`."""
    return "".join(map(pointer_token, keys))


def split_pointer(pointer: str) -> tuple[str, ...]:
    """Return the keys of a JSON Pointer; `""`, the whole document, has none."""
    return tuple(map(unescape_token, pointer.split("/")[1:]))


def resolve_pointer(value: Any, pointer: str) -> Any:
    """Return the value at a JSON Pointer; raise LookupError with the key that is missing."""
    for token in pointer.split("/")[1:]:
        key = unescape_token(token) if "~" in token else token
        if isinstance(value, (dict, Mapping)) and key in value:  # `dict` first, which is fast
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise LookupError(key)
    return value


def resolve_reference(root: Any, reference: str) -> Any:
    """Return the target of a `$ref` inside a schema; None if it is missing (RFC 6901, 6)."""
    try:
        return resolve_pointer(root, unquote(reference))
    except LookupError:
        return None


def follow_references(document: Mapping[str, Any], node: Any) -> Mapping[str, Any]:
    """Return the object at the end of a chain of `$ref`; `{}` if there is none."""
    siblings: dict[str, Any] = {}  # they override the properties of the target
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(node, Mapping):
            return {}
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return {**node, **siblings} if siblings else node
        siblings = {**{key: node[key] for key in node if key != "$ref"}, **siblings}
        node = resolve_reference(document, reference) if reference.startswith("#") else {}
    return {}


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal in JSON, where true is not 1, but 1 is 1.0."""
    # JSON Schema Core 2020-12, section 4.2.2: numbers are equal by value, and booleans are no
    # numbers.
    if one is other or isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def contains_value(values: Collection[Any], value: Any) -> bool:
    """Return whether one of several values is equal to another in JSON."""
    if isinstance(value, str):
        return value in values
    return any(is_equal(one, value) for one in values)


def parse_integer(value: Any) -> int | None:
    """Return an integer, also from a string of digits; None for others and very large ones."""
    if isinstance(value, str) and value.isdecimal() and len(value) < len(str(_LARGEST)):
        return int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and abs(value) < _LARGEST else None


def normalize_number(value: float) -> float:
    """Return an integral float as an integer, below the size where JSON writers differ.

    Models and clients of protobuf write integers as `5.0`, which servers in Go, Rust and .NET
    refuse; ECMAScript writes `5` for both.
    """
    return int(value) if value.is_integer() and abs(value) < EXPONENT else value


def unique_values(values: Iterable[Any]) -> list[Any]:
    """Return the first of each group of equal values."""
    firsts: dict[Any, Any] = {}
    for value in values:
        firsts.setdefault(_identity(value), value)
    return list(firsts.values())


def _identity(value: Any) -> Any:
    if isinstance(value, dict):
        return (dict, frozenset((key, _identity(item)) for key, item in value.items()))
    if isinstance(value, list):
        return (list, tuple(map(_identity, value)))
    return (isinstance(value, bool), value)


def max_json_length(text: bytes) -> int:
    """Return an upper bound of the characters that a value of `dump_json_bytes` has as JSON."""
    # Numbers with an exponent, which follow a comma, colon or bracket, grow by two.
    spaces = 3 * (text.count(b",") + text.count(b":")) + 2 * text.count(b"[") + 2
    escapes = 5 * text.count(b"\x7f")
    if not text.isascii():
        escapes += 2 * len(text.translate(None, _ASCII))
    return len(text) + spaces + escapes


def select_attributes(item: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some attributes as JSON data."""
    return {name: getattr(item, name) for name in names}


def dump_json(value: Any) -> str:
    """Return a value as JSON for a model: without spaces, letters not escaped."""
    return _ENCODER.encode(value)


def escape_controls(text: str) -> str:
    r"""Return text with control characters as in JSON, `\u001b` for one; `\n` and `\t` stay."""
    return _CONTROL_CHARACTERS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def digest_of(value: Any) -> str:
    """Return the SHA-256 hash of a value as JSON; the order of keys makes no difference."""
    text = json.dumps(value, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def dump_json_bytes(value: Any) -> bytes:
    """Return a value as compact JSON in UTF-8, or in ASCII if it has lone surrogates."""
    try:
        data: bytes = _import_pydantic_core().to_json(value)
    except ValueError:  # a lone surrogate, which UTF-8 cannot write
        return json.dumps(value).encode()
    return data


_frozen_by_program = False


def _has_frozen_objects() -> bool:
    """Tell whether the program has frozen objects of its own, which have to stay so."""
    global _frozen_by_program  # noqa: PLW0603 -- counting frozen objects walks over all of them
    _frozen_by_program = _frozen_by_program or gc.get_freeze_count() > 0
    return _frozen_by_program


class PausedGC:
    """Pause the collector while a document, a schema or a search index is built.

    It finds nothing in new dicts and lists, and takes a third of the time of a parse and a sixth of
    that of an index. What was built then counts as old: it stays, and a young collection need not
    walk over all of it.
    """

    # A class: it is entered for each row of the cache, and a generator takes three times as long.
    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_error: object) -> None:
        if self._was_enabled:
            if not _has_frozen_objects():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def parse_json_bytes(data: bytes, *, allow_inf_nan: bool = True) -> Any:
    """Return the value of JSON in UTF-8; ValueError with line and column for other data."""
    return _import_pydantic_core().from_json(data, allow_inf_nan=allow_inf_nan)


@cache
def _import_pydantic_core() -> Any:
    # Start-up time: `import load_tools` reads and writes no JSON.
    import pydantic_core

    return pydantic_core


def omit_keys(node: dict[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Return a dict without some keys; the dict itself if it has none of them."""
    if node.keys().isdisjoint(keys):
        return node
    return {key: value for key, value in node.items() if key not in keys}


def json_size(value: Any) -> int:
    """Return the bytes of a value in its longest usual form: with spaces, escaped to ASCII."""
    return len(json.dumps(value))
