"""Tools as short typed text for a model: stubs of one line, and descriptions.

All text from a document is on one line, without hidden and control characters, and names that are
not identifiers are quoted: a document cannot write a line of its own.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.common.visible_text import plain_text, python_name, truncate_text
from openapi_tools.search.producers import HOLDING, iter_parts
from openapi_tools.validation.example_calls import example_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from openapi_tools.search.finder import Hit

    Needs = Mapping[str, Sequence[str]]

_STUB_CHARS = 420  # characters of a stub; required arguments are never left out
_SEARCH_CHARS = 1900  # characters of all stubs of a search
_SHAPE = (30, 90)
_WORDS = (40, 70)
_OPTIONAL = 24
_TYPE = 48
_NEEDS = 90
_MOST_PRODUCERS = 2
_DESCRIBED = 4000
_DESCRIPTION_CHARS = 1000
_LISTED = 2000
_LONG_TYPE = 120
_EXPLAINED = 140
_RESPONSE_CHARS = 400
_SOME = 12  # characters of parts of a description, and properties that are listed
_NAME = 40
_LOOKED_AT = 300
_BRANCHES = 3
_DEEPEST = 8
_NULL = {"type": "null"}
_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_TYPES |= {"object": "dict", "array": "list"}
_FIRST = frozenset({"id", "name", "title", "number", "key", "slug", "login", "status", "state"})
_LINKS = re.compile(r"(?:_|\b)(?:ur[li]|href|links?)$|Ur[li]$", re.IGNORECASE)
_OTHER = re.compile(r"\W+", re.ASCII)
_SENTENCE = re.compile(r"(?<=[.!?])\s")


def write_stubs(hits: Iterable[Hit], *, python: bool = False) -> str:
    """Return the stubs of hits, each with lines on its needs; more hits have shorter ones."""
    listed = list(hits)
    limit = min(_STUB_CHARS, _SEARCH_CHARS // max(1, len(listed)))
    lines: list[str] = []
    listed_needs: dict[str, str] = {}
    for hit in listed:
        needs = _group_needs(hit.needs, _name_writer(python))
        new = {
            arguments: names
            for arguments, names in needs.items()
            if listed_needs.get(arguments) != names
        }
        listed_needs |= new
        below = _need_lines(new)
        lines += [_stub_line(hit.tool, limit - len("".join(below)), _name_writer(python)), *below]
    return "\n".join(lines)


def write_stub(tool: Any, needs: Needs | None = None, *, python: bool = False) -> str:
    """Return a tool as a signature with its response and summary, and a line for each need."""
    line = _stub_line(tool, _STUB_CHARS, _name_writer(python))
    return "\n".join([line, *_need_lines(_group_needs(needs or {}, _name_writer(python)))])


def describe_tool(tool: Any, needs: Needs | None = None) -> str:
    """Return a tool with every argument, needs, response, and an example: some 4,000 characters."""
    schema, response_schema = tool.input_schema, tool.answer_schema
    place = _one_line(f"{tool.method} {tool.path}", 4 * _NAME)
    lines = [f"{tool.name}: {place}"]
    description_lines = plain_text(tool.description, _DESCRIPTION_CHARS).splitlines()
    lines += [
        f"> {_one_line(line, _DESCRIPTION_CHARS)}"
        for line in description_lines
        if line.strip() not in ("", place)
    ]
    lines += ["Arguments:", *_explain_arguments(schema)]
    producers = _group_needs(needs or {}, _quote_name, _SOME)
    if producers:
        lines.append("Needs first:")
    lines += [f"  {arguments}: from {names}" for arguments, names in producers.items()]
    if response_schema is not None:
        lines.append(f"Returns: {_write_type(response_schema, response_schema, _RESPONSE_CHARS)}")
    if call := example_call(schema):
        lines.append(f"Example: {_one_line(call, _DESCRIPTION_CHARS)}")
    text = "\n".join(lines)
    return text if len(text) <= _DESCRIBED else f"{text[:_DESCRIBED]}\n… cut"


def _explain_arguments(schema: Mapping[str, Any]) -> Iterator[str]:
    properties, required = schema.get("properties", {}), set(schema.get("required", ()))
    remaining = _LISTED
    listed = sorted(properties, key=lambda each: each not in required)
    for place, name in enumerate(listed):
        lines = [_argument_line(name, properties[name], schema, name in required)]
        lines += _property_lines(properties[name], schema)
        remaining -= sum(map(len, lines))
        if remaining < 0 and name not in required:
            rest = ", ".join(map(_quote_name, listed[place : place + _SOME]))
            ellipsis = ", …" if listed[place + _SOME :] else ""
            yield f"  and {len(listed) - place} more: {rest}{ellipsis}"
            return
        yield from lines if remaining > 0 else lines[:1]


def _argument_line(name: str, node: Any, root: Mapping[str, Any], required: bool) -> str:
    _, merged = _merge_schema(node, root)
    parts = [f"  {_quote_name(name)}: {_write_type(node, root, _LONG_TYPE)}"]
    if required:
        parts.append("required")
    if "default" in merged:
        parts.append(f"default {_quote_name(merged['default'])}")
    description = _one_line(str(merged.get("description", "")), _EXPLAINED)
    return f"{', '.join(parts)}{description and f'. {description}'}"


def _property_lines(node: Any, root: Mapping[str, Any]) -> Iterator[str]:
    _, merged = _merge_schema(node, root)
    if "items" in merged:
        _, merged = _merge_schema(merged["items"], root)
    needed, properties = set(merged["required"]), merged["properties"]
    for name in islice(
        sorted(islice(properties, _LOOKED_AT), key=lambda e: e not in needed), _SOME
    ):
        yield f"  {_argument_line(name, properties[name], root, name in needed)}"
    if len(properties) > _SOME:
        yield f"    and {len(properties) - _SOME} more properties"


def describe_signature(tool: Any) -> tuple[str, str, str]:
    """Return the required and the optional arguments of a tool and its response, as in a stub."""
    required, optional, response, _ = _stub_parts(tool, _STUB_CHARS, _quote_name)
    return ", ".join(required), ", ".join(optional), response


def _stub_line(tool: Any, limit: int, write_name: Callable[[str], str]) -> str:
    required, optional, response, summary = _stub_parts(tool, limit, write_name)
    optional = ["*", *optional] if optional else []
    arguments = ", ".join([*required, *optional])
    response = response and f" -> {response}"
    return f"{write_name(tool.name)}({arguments}){response}{summary and f'  # {summary}'}"


def _stub_parts(
    tool: Any, remaining: int, write_name: Callable[[str], str]
) -> tuple[list[str], list[str], str, str]:
    schema, response_schema = tool.input_schema, tool.answer_schema
    properties, required = schema.get("properties", {}), dict.fromkeys(schema.get("required", ()))
    each = _TYPE // (1 + len(required) // 8)
    signature = [
        f"{write_name(name)}: {_write_type(properties.get(name), schema, each)}"
        for name in required
    ]
    optional_names = [name for name in _order_arguments(tool, properties) if name not in required]
    remaining -= len(tool.name) + sum(map(len, signature))
    shape = ""
    if response_schema is not None:
        shape = _write_type(response_schema, response_schema, _clamp(remaining // 3, _SHAPE))
    shape_length = len(shape) + (len(" -> ") if shape else 0)
    summary = _first_sentence(
        tool.description, _clamp(remaining - shape_length - 2 * _OPTIONAL, _WORDS)
    )
    if summary == _one_line(f"{tool.method} {tool.path}", _WORDS[1]):
        summary = ""
    remaining -= shape_length + len(summary)
    optional = (
        f"{write_name(name)}: {_write_type(properties[name], schema, _TYPE // 2)}"
        for name in optional_names
    )
    listed = list(_take_fitting(optional, len(optional_names), max(remaining, _OPTIONAL)))
    return signature, listed, shape, summary


def _order_arguments(tool: Any, properties: Mapping[str, Any]) -> list[str]:
    names = list(islice(properties, _LOOKED_AT))
    if tool.method not in ("", "GET", "HEAD"):
        parameters = {each.argument for each in tool.operation.parameters}
        names.sort(key=parameters.__contains__)
    return names


def _clamp(value: int, bounds: tuple[int, int]) -> int:
    return min(max(value, bounds[0]), bounds[1])


def _take_fitting(texts: Iterable[str], count: int, remaining: int) -> Iterator[str]:
    for place, text in enumerate(texts):
        remaining -= len(text) + 2
        if remaining < 0 and place < count - 1:
            yield f"…+{count - place}"
            return
        yield text


def _write_type(
    node: Any, root: Mapping[str, Any], limit: int, depth: int = 0, level: int = 0
) -> str:
    if level > _DEEPEST:
        return "any"
    title, merged = _merge_schema(node, root)
    if isinstance(merged.get("enum"), list):
        return _enum_type(merged["enum"], limit)
    kind = merged.get("type")
    kinds = [each for each in (kind if isinstance(kind, list) else [kind]) if each != "null"]
    if merged["branches"] and not merged["properties"]:
        chosen = [each for each in merged["branches"] if each != _NULL][:_BRANCHES]
        share = limit // max(1, len(chosen))
        types = dict.fromkeys(_write_type(each, root, share, depth, level + 3) for each in chosen)
        return "|".join(types) or "None"
    if "items" in merged or kinds == ["array"]:
        item = _write_type(merged.get("items"), root, limit - 6, depth, level + 1)
        return "list" if item == "any" else f"list[{item}]"
    if merged["properties"]:
        return _object_type(title, merged, root, limit, depth)
    return "|".join(dict.fromkeys(_TYPES.get(str(each), "any") for each in kinds)) or "None"


def _merge_schema(node: Any, root: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    merged: dict[str, Any] = {"properties": {}, "required": [], "branches": []}
    title = ""
    for name, part in iter_parts(node, root, ("allOf",)):
        title = title or name
        for key, value in part.items():
            if key == "properties" and isinstance(value, dict):
                merged[key] = {**value, **merged[key]}
            elif key == "required" and isinstance(value, list):
                merged[key] += [each for each in value if isinstance(each, str)]
            elif key in ("anyOf", "oneOf") and isinstance(value, list):
                merged["branches"] += value
            elif key == "const":
                merged.setdefault("enum", [value])
            elif key not in merged:
                merged[key] = value
    return title, merged


def _object_type(
    title: str, merged: dict[str, Any], root: Mapping[str, Any], remaining: int, depth: int
) -> str:
    name = _OTHER.sub("_", title.rpartition(".")[2])[:_NAME].strip("_")
    properties, required = merged["properties"], set(merged["required"])
    if depth and remaining < _NAME // 2:
        return name or "dict"
    holds = depth == 0 and _FIRST.isdisjoint(properties)
    lists = {
        each
        for each in islice(properties, _LOOKED_AT)
        if holds and _is_list(properties[each], root)
    }
    texts: list[str] = []
    remaining -= len(name) + 5
    for property_name in sorted(
        islice(properties, _LOOKED_AT), key=lambda e: _property_rank(e, lists, required)
    ):
        text = _quote_name(property_name)
        if depth == 0 and (property_name in lists or remaining > 2 * _NAME):
            inner = remaining - len(text) - 2 if property_name in lists else 2 * _NAME
            kind = _write_type(properties[property_name], root, inner, 1, 1)
            text = f"{text}: {kind}" if "{" in kind else text
        remaining -= len(text) + 2
        if remaining < 0 and texts:
            return f"{name}{{{', '.join(texts)}, …}}"
        texts.append(text)
    return f"{name}{{{', '.join(texts)}}}"


def _is_list(node: Any, root: Mapping[str, Any]) -> bool:
    items = [
        part["items"] for _, part in iter_parts(node, root) if isinstance(part.get("items"), dict)
    ]
    return any(not HOLDING.isdisjoint(item) for item in items)


def _property_rank(name: str, lists: set[str], required: set[str]) -> tuple[bool, ...]:
    return name not in lists, name not in _FIRST, bool(_LINKS.search(name)), name not in required


def _enum_type(values: list[Any], remaining: int) -> str:
    texts: list[str] = []
    for value in islice(values, _LOOKED_AT):
        text = repr(_one_line(value, _NAME)) if isinstance(value, str) else _quote_name(value)
        remaining -= len(text) + 1
        if remaining < 0 and texts:
            return "|".join([*texts, "…"])
        texts.append(text)
    return "|".join(texts) or "any"


def _group_needs(
    needs: Needs, write_name: Callable[[str], str], most: int = _MOST_PRODUCERS
) -> dict[str, str]:
    grouped: dict[str, list[str]] = {}
    for argument, names in needs.items():
        producers = [write_name(name) for name in names[:most]]
        fits = most > _MOST_PRODUCERS or sum(map(len, producers)) <= _NEEDS
        listed = ", ".join(producers if fits else producers[:1])
        grouped.setdefault(listed, []).append(write_name(argument))
    return {", ".join(arguments): names for names, arguments in grouped.items()}


def _need_lines(needs: Mapping[str, str]) -> list[str]:
    return [f"  # {arguments}: from {names}" for arguments, names in needs.items()]


def _name_writer(python: bool) -> Callable[[str], str]:
    return python_name if python else _quote_name


def _quote_name(value: Any) -> str:
    if isinstance(value, str) and value.isascii() and value.isidentifier():
        return value[: 2 * _NAME]
    if isinstance(value, str):
        return json.dumps(_one_line(value, _NAME), ensure_ascii=False)
    return _one_line(json.dumps(value, default=str)[: 2 * _NAME], _NAME)


def _first_sentence(text: str, limit: int) -> str:
    line = _one_line(text.strip().partition("\n")[0], 4 * limit)
    return truncate_text(_SENTENCE.split(line, maxsplit=1)[0], limit)


def _one_line(text: str, limit: int) -> str:
    return truncate_text(" ".join(plain_text(text, 2 * limit).split()), limit)
