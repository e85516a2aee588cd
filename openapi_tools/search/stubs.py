"""Tools as short typed text for a model: stubs of one line, and longer descriptions.

All text of a document is shown on one line without hidden and control characters, and names that
are not identifiers are quoted: a document cannot write a line of its own.
"""

from __future__ import annotations

import json
import keyword
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.search.producers import parts
from openapi_tools.visible_text import cut, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi_tools.search.finder import Hit

    Needs = Mapping[str, Sequence[str]]

_OPTIONAL = 90
"""Characters of optional arguments in a stub; required ones are never left out."""
_ANSWER = 70
_WORDS = 70
_LONG = 260
"""Characters of a stub from which on its answer and words are shorter."""
_SHOWN = 2
"""Producers of an argument in a stub."""
_VALUES = 48
_NAME = 40
_MEMBERS = 4
_DEEPEST = 2
_MOST = 400
_NULL = {"type": "null"}
_HOLDING = frozenset({"$ref", "properties", "items", "allOf", "anyOf", "oneOf"})
_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_NAMES |= {"object": "dict", "array": "list", "null": "None"}
_FIRST = ("id", "name", "title", "number", "key", "slug", "login", "status", "state")
_LINKS = re.compile(r"(?:_|\b)(?:ur[li]|href|links?)$|Ur[li]$", re.IGNORECASE)
_OTHER = re.compile(r"\W", re.ASCII)
_SENTENCE = re.compile(r"(?<=[.!?])\s")


def stubs(hits: Iterable[Hit], *, python: bool = False) -> str:
    """Return the stubs of a search's hits, and lines on what they need, each said once in a row."""
    lines: list[str] = []
    said: dict[str, str] = {}
    for hit in hits:
        lines.append(_line(hit.tool, python=python))
        for arguments, names in _needs(hit.needs, _SHOWN, python=python).items():
            if said.get(arguments) != names:
                said[arguments] = names
                lines.append(f"  # {arguments}: from {names}")
    return "\n".join(lines)


def stub(tool: Any, needs: Needs | None = None, *, python: bool = False) -> str:
    """Return one tool as a typed signature, with words, the answer's shape and its needs.

    Args:
        tool: The tool.
        needs: Its producers, as of `Producers.of`.
        python: Whether names are those of `python_name`, as programs use them.
    """
    found = _needs(needs or {}, _SHOWN, python=python).items()
    lines = [f"  # {arguments}: from {names}" for arguments, names in found]
    return "\n".join([_line(tool, python=python), *lines])


def describe(tool: Any, needs: Needs | None = None) -> str:
    """Return a tool with its whole description, every argument, its needs and its answer."""
    return stub(tool, needs)


def python_name(name: str) -> str:
    """Return a name as a Python identifier that is not a keyword: `from_`, `x_id`, `_1st`."""
    made = _OTHER.sub("_", name) or "_"
    made = f"_{made}" if made[0].isdigit() else made
    return f"{made}_" if keyword.iskeyword(made) else made


def _line(tool: Any, *, python: bool) -> str:
    schema, answer = tool.input_schema, tool.answer_schema
    properties, required = schema.get("properties", {}), dict.fromkeys(schema.get("required", ()))
    given = [
        _shown(each, properties.get(each), schema, _VALUES, python=python) for each in required
    ]
    others = [
        _shown(name, node, schema, _VALUES // 2, python=python)
        for name, node in islice(properties.items(), _MOST)
        if name not in required
    ]
    if others:
        given += ["*", *_fitting(others, _OPTIONAL)]
    head = f"{python_name(tool.name) if python else tool.name}({', '.join(given)})"
    shape = "" if answer is None else f" -> {_type(answer, answer, _Room(_ANSWER))}"
    words = _sentence(tool.description, _WORDS)
    place = _one_line(f"{tool.method} {tool.path}", _WORDS)
    return f"{head}{shape}" if words == place else f"{head}{shape}  # {words}"


def _shown(argument: str, node: Any, root: Mapping[str, Any], room: int, *, python: bool) -> str:
    name = python_name(argument) if python else _plain(argument)
    return f"{name}: {_type(node, root, _Room(room))}"


def _fitting(texts: list[str], room: int) -> Iterator[str]:
    """Yield the texts that have room, and how many have none."""
    for place, text in enumerate(texts):
        room -= len(text) + 2
        if room < 0 and len(texts) - place > 1:
            yield f"…+{len(texts) - place}"
            return
        yield text


class _Room:
    """The characters and schemas that are left for a type."""

    def __init__(self, chars: int) -> None:
        self.chars = chars
        self.schemas = _MOST


def _type(node: Any, root: Mapping[str, Any], room: _Room, depth: int = 0) -> str:
    """Return a schema as a type: `str`, `'open'|'closed'`, `list[Issue{id, title, …}]`."""
    room.schemas -= 1
    if room.schemas < 0 or depth > _DEEPEST:
        return "any"
    title, merged = _merged(node, root)
    if isinstance(merged.get("enum"), list):
        return _values(merged["enum"], room.chars)
    branches = [each for each in merged["branches"] if each != _NULL]
    if branches and not merged["properties"]:
        found = dict.fromkeys(_type(each, root, room, depth) for each in branches[:_MEMBERS])
        return "|".join(found)
    kind = merged.get("type")
    kinds = [each for each in (kind if isinstance(kind, list) else [kind]) if each != "null"]
    if "items" in merged or kinds == ["array"]:
        item = _type(merged.get("items"), root, room, depth)
        return "list" if item == "any" else f"list[{item}]"
    if merged["properties"]:
        return _object(title, merged, root, room, depth)
    return "|".join(dict.fromkeys(_NAMES.get(str(each), "any") for each in kinds)) or "None"


def _merged(node: Any, root: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a schema's component and its keywords, with references and `allOf` in it."""
    made: dict[str, Any] = {"properties": {}, "required": [], "branches": []}
    title = ""
    for name, part in parts(node, root, ("allOf",)):
        title = title or name
        for key, value in part.items():
            if key == "properties" and isinstance(value, dict):
                made[key] = {**value, **made[key]}
            elif key == "required" and isinstance(value, list):
                made[key] += value
            elif key in ("anyOf", "oneOf") and isinstance(value, list):
                made["branches"] += value
            elif key == "const":
                made.setdefault("enum", [value])
            elif key not in made:
                made[key] = value
    return title, made


def _object(
    title: str, merged: dict[str, Any], root: Mapping[str, Any], room: _Room, depth: int
) -> str:
    """Return an object as its name and some members, the telling ones first."""
    name = _OTHER.sub("_", title.rpartition(".")[2])[:_NAME]
    if depth > 1:
        return name or "dict"
    required = {each for each in merged["required"] if isinstance(each, str)}
    shown: list[str] = []
    members = merged["properties"]
    if not depth and members.keys().isdisjoint(_FIRST):  # an envelope
        required = {each for each in members if _type(members[each], root, room).startswith("list")}
    for member in sorted(members, key=lambda each: _order(each, required)):
        text, inner = _plain(member), members[member]
        if depth == 0 and isinstance(inner, dict) and not _HOLDING.isdisjoint(inner):
            kind = _type(inner, root, room, 1)
            text = f"{text}: {kind}" if "{" in kind else text
        room.chars -= len(text) + 2
        if room.chars < 0 and shown:
            return f"{name}{{{', '.join(shown)}, …}}"
        shown.append(text)
    return f"{name}{{{', '.join(shown)}}}"


def _order(name: str, required: set[str]) -> tuple[bool, bool, bool]:
    return name not in _FIRST, bool(_LINKS.search(name)), name not in required


def _values(values: list[Any], room: int) -> str:
    """Return values as `'open'|'closed'|…`."""
    shown: list[str] = []
    for place, value in enumerate(values):
        text = _plain(value) if not isinstance(value, str) else repr(_one_line(value, _NAME))
        room -= len(text) + 1
        if room < 0 and place:
            return "|".join([*shown, "…"])
        shown.append(text)
    return "|".join(shown)


def _needs(needs: Needs, most: int, *, python: bool) -> dict[str, str]:
    """Return producers by argument; arguments with equal ones share an entry."""
    found: dict[str, list[str]] = {}
    for argument, names in needs.items():
        named = ", ".join(map(python_name, names[:most]) if python else names[:most])
        shown = python_name(argument) if python else _plain(argument)
        found.setdefault(named, []).append(shown)
    return {", ".join(arguments): names for names, arguments in found.items()}


def _plain(value: Any) -> str:
    """Return a name as it is, if that is an identifier, else as JSON."""
    if isinstance(value, str) and value.isascii() and value.isidentifier():
        return value if len(value) <= _NAME * 2 else f"{value[: _NAME * 2]}…"
    if isinstance(value, str):
        return json.dumps(_one_line(value, _NAME * 2), ensure_ascii=False)
    return _one_line(json.dumps(value, default=str)[: _NAME * 2], _NAME)


def _sentence(text: str, limit: int) -> str:
    first = _SENTENCE.split(text.strip().partition("\n")[0], maxsplit=1)[0]
    return _one_line(first, limit)


def _one_line(text: str, limit: int) -> str:
    """Return a text of a document as visible text on one line."""
    return cut(" ".join(plain_text(text, limit * 2).split()), limit)
