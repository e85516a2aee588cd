"""How openapi-core is made to read what it reads differently from the standard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

_JUDGED = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")


def is_judged(content_type: str) -> bool:
    """Whether a body of this type can be compared with its schema: JSON and forms."""
    name = content_type.partition(";")[0].strip()
    return name in _JUDGED or name.endswith("+json")


class Decoders(dict[str, Callable[..., Any]]):
    """Decoders by the document's media type, which may be a range such as `*/*`.

    openapi-core takes `+json` and ranges for bytes; bodies that are not judged stay bytes, XML
    above all, which it would parse.

    Args:
        content_type: That of the body; empty for parameters and headers.
    """

    def __init__(self, content_type: str) -> None:
        super().__init__()
        self._raw = bool(content_type) and not is_judged(content_type)
        self._json = "json" in content_type.partition(";")[0]

    def __contains__(self, key: object) -> bool:
        is_json = str(key).endswith("+json") or (self._json and key != "application/json")
        return self._raw or is_json

    def __missing__(self, key: str) -> Callable[..., Any]:
        if self._raw:
            return lambda value, **_parameters: value
        return lambda value, **_parameters: json.loads(value)


def style_decoders() -> dict[str, Any]:
    """Return openapi-core's decoders by style, some of them replaced.

    It splits `spaceDelimited` at the characters `%20` although it is given decoded values, wants
    `explode: true` beside `deepObject`, whose members it reads one level deep, looks for exploded
    objects under their own name, and stumbles over the bytes of multipart bodies.
    """
    from openapi_core.deserializing.styles import style_deserializers, util

    decoders = {
        **style_deserializers,
        "form": partial(_form, util.form_loads),
        "spaceDelimited": partial(util.delimited_loads, delimiter=" "),
        "deepObject": _deep_object,
    }
    return {style: partial(_from_text, decoder) for style, decoder in decoders.items()}


def _from_text(decoder: Any, explode: object, name: str, kind: object, location: Any) -> Any:
    """Decode a value of a location whose values may be bytes."""
    value = location.get(name)
    if isinstance(value, bytes):
        pairs = [
            (key, item.decode(errors="replace") if isinstance(item, bytes) else item)
            for key, item in location.items(multi=True)
        ]
        location = type(location)(pairs)
    return decoder(explode, name, kind, location)


def _form(decoder: Any, explode: object, name: str, kind: object, location: Any) -> Any:
    """Return the value of a `form` parameter; an exploded object has been put together before."""
    value = location.get(name)
    return dict(value) if isinstance(value, Mapping) else decoder(explode, name, kind, location)


def _deep_object(_explode: object, name: str, _type: object, location: Any) -> Any:
    """Return the value whose members are written `name[member][member]`."""
    found: dict[str, Any] = {}
    for key, value in location.items(multi=True):
        match = re.fullmatch(rf"{re.escape(name)}((?:\[[^\[\]]*\])+)", key)
        if match:
            _plant(found, _BRACKETS.findall(match.group(1)), value)
    if not found:
        raise KeyError(name)
    return _with_arrays(found)


def _plant(tree: dict[str, Any], keys: list[str], value: str) -> None:
    """Set a value deep inside, `[]` being the next free index."""
    for key in keys[:-1]:
        branch = tree.setdefault(key or str(len(tree)), {})
        tree = branch if isinstance(branch, dict) else tree
    tree[keys[-1] or str(len(tree))] = value


def _with_arrays(tree: Any) -> Any:
    """Return the tree with arrays where all keys are indexes."""
    if not isinstance(tree, Mapping):
        return tree
    if all(key.isdecimal() for key in tree):
        return [_with_arrays(value) for value in tree.values()]
    return {key: _with_arrays(value) for key, value in tree.items()}
