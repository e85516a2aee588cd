"""The words that documents give to the values of an enum, in extensions of several generators.

NSwag writes `x-enumNames`, openapi-generator `x-enum-varnames` and `x-enum-descriptions`, Redocly
`x-enumDescriptions`, AutoRest `x-ms-enum`. None of them replaces a value: they become descriptions.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from openapi_tools.common.json_values import as_dict, as_list, is_string
from openapi_tools.common.visible_text import fold_name, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.common.json_values import Node

_NAMES = ("x-enumNames", "x-enum-varnames", "x-enum-names", "x-enumVarnames")
_DESCRIPTIONS = ("x-enum-descriptions", "x-enumDescriptions", "x-enum-description")
_MS = "x-ms-enum"
ENUM_EXTENSIONS: Final = frozenset({*_NAMES, *_DESCRIPTIONS, _MS})
"""Keys of a Schema Object that may name the values of its enum."""
_MOST = 200  # values of an enum that are described
_LONGEST = 200  # characters of the words of one value


def add_enum_words(description: str, node: Node, limit: int) -> str:
    """Return a description followed by the words of an enum: `0: Open; 1: Closed`.

    It gets no longer than `limit`. Values without words, and names that repeat their values, are
    left out; nothing is added to a description that has all the words.
    """
    remaining = limit - len(description) - 1
    phrases: list[str] = []
    is_new = False
    for value, words in _words_of_values(node):
        is_new = is_new or words not in description
        phrases.append(f"{value}: {words}")
        if (remaining := remaining - len(phrases[-1]) - 2) < 0:
            phrases[-1] = "…"
            break
    if not is_new or phrases == ["…"]:
        return description
    return f"{description} {'; '.join(phrases)}".strip()


def _words_of_values(node: Node) -> Iterator[tuple[str, str]]:
    values = as_list(node.get("enum"))[:_MOST]
    names = _words_by_index(node, _NAMES, values)
    descriptions = _words_by_index(node, _DESCRIPTIONS, values)
    for entry in map(as_dict, as_list(as_dict(node.get(_MS)).get("values"))[:_MOST]):
        for at, value in enumerate(values):
            if "value" in entry and _text(value) == _text(entry["value"]):
                names.setdefault(at, entry.get("name"))
                descriptions.setdefault(at, entry.get("description"))
    for at, value in enumerate(values):
        shown, name = _plain(_text(value)), _plain(names.get(at))
        described = _plain(descriptions.get(at)).removeprefix(f"{shown}: ")
        name = "" if fold_name(name) == fold_name(shown) else name
        if name and described not in ("", name):
            yield shown, f"{name} ({described})"
        elif name or described:
            yield shown, name or described


def _words_by_index(node: Node, keys: tuple[str, ...], values: list[Any]) -> dict[int, Any]:
    words = next((node[key] for key in keys if isinstance(node.get(key), list | dict)), None)
    if isinstance(words, list):
        return dict(enumerate(islice(words, len(values))))
    by_value = as_dict(words)
    return {at: by_value[_text(v)] for at, v in enumerate(values) if _text(v) in by_value}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _plain(words: Any) -> str:
    return plain_text(words, _LONGEST) if is_string(words) else ""
