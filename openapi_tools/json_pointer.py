"""JSON Pointers (RFC 6901): built from keys, and split into keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def pointer_token(key: object) -> str:
    """Return a key or index as one step of a JSON Pointer, slash included.

    Spec: RFC 6901, section 3.
    """
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """Return the key that a reference token names.

    Spec: RFC 6901, section 4.
    """
    return token.replace("~1", "/").replace("~0", "~")


def pointer(keys: Iterable[object]) -> str:
    """Return keys and indexes as a JSON Pointer, for instance `/paths/~1pets/get`."""
    return "".join(map(pointer_token, keys))


def keys_of(text: str) -> tuple[str, ...]:
    """Return the keys of a JSON Pointer; `""`, the whole document, has none."""
    return tuple(map(unescape, text.split("/")[1:]))


def find(root: Any, text: str) -> Any:
    """Return the value at a JSON Pointer.

    Raises:
        LookupError: There is none; its argument is the key that was not found.
    """
    for token in text.split("/")[1:]:
        key = unescape(token) if "~" in token else token
        if isinstance(root, Mapping) and key in root:
            root = root[key]
        elif isinstance(root, list) and key.isdecimal() and int(key) < len(root):
            root = root[int(key)]
        else:
            raise LookupError(key)
    return root
