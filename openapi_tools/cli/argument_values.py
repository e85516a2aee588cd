"""Arguments of a call on a command line: `name=value`, `name=@file` and `name:=JSON`."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from openapi_tools.cli.nested_names import (
    APPEND,
    Key,
    find_location,
    format_keys,
    split_colon,
    split_pair,
)
from openapi_tools.cli.tool_loading import read_stdin
from openapi_tools.common.json_values import follow_references
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EXAMPLES = {"boolean": "; write true or false.", "integer": "; write digits, as 5."}
_TYPES = {"string", "array", "integer", "number", "boolean", "object", "null"}
_DEEPEST = 3
# Schemas that are looked into for the values of one argument: an iterator yields one for each.
_MOST_SCHEMAS = 500


class _File(NamedTuple):
    """The content of a file for an argument, and its name; empty for standard input."""

    content: bytes
    name: str


@dataclass(slots=True)
class _TypedValue:
    """What a user typed for one value: strings, or its parts by name or index.

    Attributes:
        schema: The schema of the value.
        typed: The first name that was typed for it or for a part, as `tags[]=`.
        texts: The values that were typed; several for an array.
        is_json: Whether they were typed with `:=`.
        parts: The values inside it.
    """

    schema: Any
    typed: str = ""
    texts: list[str | _File] = field(default_factory=list)
    is_json: bool = False
    parts: dict[Key, _TypedValue] = field(default_factory=dict)


def read_arguments(
    pairs: tuple[str, ...],
    schema: dict[str, Any],
    names: Mapping[str, str],
    base: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the arguments in `name=value` pairs, read according to the input schema.

    A value is a string if the schema expects one, otherwise JSON; an array may also be several
    pairs with one name. If the schema allows several types, it is JSON unless only the string is
    valid. A name may be that of a value inside an argument, as `items[0].name`.

    Args:
        pairs: The pairs.
        schema: The input schema of the tool.
        names: The arguments by the API's own names, from `find_api_names`.
        base: Other arguments, which those in pairs override, property by property.

    Raises:
        click.UsageError: A pair is malformed, or its name is unknown.
    """
    arguments = _TypedValue(schema)
    for pair in pairs:
        _add_pair(arguments, pair, schema, names)
    values: dict[str, Any] = _merge_parts(dict(base or {}), arguments, (), schema)
    return values


def _add_pair(
    arguments: _TypedValue, pair: str, schema: dict[str, Any], names: Mapping[str, str]
) -> None:
    parts = split_pair(pair)
    if parts is None:
        raise click.UsageError(f"{pair!r:.100} is not of the form name=value.")
    typed, text = f"{parts[0]}=", parts[1]
    name, is_json = split_colon(parts[0], schema, names)
    location, value = find_location(name, schema, names), arguments
    for position, key in enumerate(location.keys):
        is_mixed = any(isinstance(each, int) != isinstance(key, int) for each in value.parts)
        if value.texts or is_mixed:
            raise _make_conflict(value.typed, typed, location.keys[:position])
        index = key if key != APPEND else 1 + max(map(int, value.parts), default=-1)
        value = value.parts.setdefault(index, _TypedValue(location.schema, typed))
    if value.parts or (value.texts and (is_json or value.typed != typed)):
        raise _make_conflict(value.typed, typed, location.keys)
    value.texts.append(_read_value(location.name, text))
    value.is_json = is_json


def _make_conflict(first: str, second: str, keys: tuple[Key, ...]) -> click.UsageError:
    name = format_keys(keys)
    if first == second:
        return click.UsageError(f"{name} is passed twice; use one of them.")
    return click.UsageError(f"{first} and {second} both set {name}; use one of them.")


def _merge_parts(
    base: Any, value: _TypedValue, keys: tuple[Key, ...], root: dict[str, Any]
) -> dict[str, Any]:
    merged = dict(base) if isinstance(base, dict) else {}
    for key, part in value.parts.items():
        merged[str(key)] = _convert_part(part, merged.get(str(key)), (*keys, key), root)
    return merged


def _convert_part(
    value: _TypedValue, base: Any, keys: tuple[Key, ...], root: dict[str, Any]
) -> Any:
    name = format_keys(keys)
    if value.is_json:
        return _parse_json(name, _decode_value(name, value.texts[0], {}), "JSON")
    if value.texts:
        return _convert_values(name, value.texts, value.schema, root)
    if not any(isinstance(key, int) for key in value.parts):
        return _merge_parts(base, value, keys, root)
    # An array of pairs replaces that of --json, whose items have no names to go by.
    missing = next((i for i in range(len(value.parts)) if i not in value.parts), None)
    if missing is not None:
        reason = f"{name}[{missing}] is missing; number the items from 0, or write {name}[]=VALUE"
        raise click.UsageError(f"{reason}.")
    return [
        _convert_part(value.parts[index], None, (*keys, index), root)
        for index in range(len(value.parts))
    ]


def _read_value(name: str, text: str) -> str | _File:
    if not text.startswith("@") or text.startswith("@@"):
        return text[1:] if text.startswith("@@") else text
    if text == "@-":
        return _File(read_stdin(), "")
    path = Path(text[1:])
    try:
        path = path.expanduser()
        return _File(path.read_bytes(), path.name)
    except (OSError, RuntimeError) as error:  # RuntimeError: no such home
        cause = getattr(error, "strerror", None) or error
        reason = f"{name}: the file {text[1:]!r:.100} cannot be read ({cause})"
        raise click.UsageError(f"{reason}; write @@ for a string that begins with @.") from None


def _decode_value(name: str, value: str | _File, schema: Mapping[str, Any]) -> str:
    if isinstance(value, str):
        return value
    encoding = schema.get("contentEncoding", "")
    if "base64" in encoding or schema.get("format") == "byte":
        encode = base64.urlsafe_b64encode if "url" in encoding else base64.b64encode
        return encode(value.content).decode()
    try:
        return value.content.decode("utf-8-sig")
    except ValueError:
        raise click.UsageError(f"{name}: the file {value.name!r} is not UTF-8 text.") from None


def _parse_json(name: str, text: str, expected: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        kind = f"an {expected}" if expected[0] in "aio" else f"a {expected}"
        if expected == "JSON":
            kind = expected
        reason = f"{name}: expected {kind}, got {text!r:.100}, which is not valid JSON"
        raise click.UsageError(reason + _EXAMPLES.get(expected, ".")) from None


def read_json_option(text: str) -> dict[str, Any]:
    """Return the object of `--json`: itself, `@file`, or `-` for standard input; UsageError."""
    try:
        if text == "-":
            text = read_stdin().decode("utf-8-sig")
        elif text.startswith("@"):
            with open(text[1:], encoding="utf-8-sig") as file:  # noqa: PTH123 -- as the user wrote it
                text = file.read()
        value = json.loads(text)
    except OSError as error:
        raise click.UsageError(f"--json: {text[1:]!r}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--json is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"--json must be an object, not {type(value).__name__}.")
    return value


def _convert_values(name: str, values: list[str | _File], schema: Any, root: dict[str, Any]) -> Any:
    types, first = _accepted_types(schema, root), values[0]
    resolved = follow_references(root, schema)
    if types in ({"array"}, {"array", "null"}):
        return _convert_array(name, values, resolved, root)
    if len(values) > 1:
        if types is None or "array" in types:
            return [_convert_loosely(_decode_value(name, each, {}), {}, root) for each in values]
        raise click.UsageError(
            f"{name} is passed {len(values)} times, but is not an array; pass it once."
        )
    if isinstance(first, _File) and accepts_file(schema, root):
        filename = {"filename": first.name} if first.name else {}
        return {"base64": base64.b64encode(first.content).decode(), **filename}
    text = _decode_value(name, first, resolved)
    if types is None or len(types) > 1:
        return _convert_loosely(text, schema, root)
    return text if types == {"string"} else _parse_json(name, text, next(iter(types)))


def _convert_array(
    name: str, values: list[str | _File], schema: Mapping[str, Any], root: dict[str, Any]
) -> Any:
    items = schema.get("items", {})
    if len(values) == 1 and not (isinstance(values[0], _File) and accepts_file(items, root)):
        value = _convert_loosely(_decode_value(name, values[0], {}), schema, root)
        if isinstance(value, list) or value is None:
            return value
    return [_convert_values(name, [value], items, root) for value in values]


def _convert_loosely(text: str, schema: Any, root: dict[str, Any]) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    checker = Checker({"properties": {"value": schema}, "$defs": root.get("$defs", {})})
    is_string = checker.fits({"value": text}) and not checker.fits({"value": value})
    return text if is_string else value


def accepts_file(schema: Any, root: dict[str, Any], depth: int = 0) -> bool:
    """Return whether an argument is the content of a file, which `name=@file` reads."""
    resolved = follow_references(root, schema)
    properties = resolved.get("properties")
    if isinstance(properties, dict) and {"base64", "text", "filename"} <= properties.keys():
        return True
    branches = resolved.get("anyOf") or () if depth < _DEEPEST else ()
    return any(accepts_file(branch, root, depth + 1) for branch in branches)


def _accepted_types(schema: Any, root: dict[str, Any]) -> set[str] | None:
    schema = follow_references(root, schema)
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind} if kind in _TYPES else None
    if isinstance(kind, list):
        return set(kind)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return {"string"}
    return None


def allowed_values(schema: Any, root: dict[str, Any]) -> list[str]:
    """Return the values that an argument, or an item of a list, may have, as text, without null.

    The list is empty if other values are allowed, too.
    """
    return _list_values(schema, root, iter(range(_MOST_SCHEMAS)))


def _list_values(
    schema: Any, root: dict[str, Any], left: Iterator[int], depth: int = 0
) -> list[str]:
    schema = follow_references(root, schema)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list):
        return [v if v and isinstance(v, str) else json.dumps(v) for v in values if v is not None]
    if depth >= _DEEPEST or next(left, None) is None:
        return []
    if "items" in schema:
        return _list_values(schema["items"], root, left, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        parts = [follow_references(root, part) for part in schema.get(key) or ()]
        by_part = [
            _list_values(part, root, left, depth + 1)
            for part in parts
            if part.get("type") != "null"
        ]
        # One branch of `allOf` limits the value; of `anyOf` and `oneOf`, every branch has to.
        if any(by_part) if key == "allOf" else by_part and all(by_part):
            return list(dict.fromkeys(value for values in by_part for value in values))
    return []
