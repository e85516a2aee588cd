r"""Names of values inside arguments, as typed: `ship_to.street`, `tags[]`, `items[0].name`.

A property is `.name` or `[name]`, an item of an array `[0]`, and `[]` appends one. The schema
decides where a name ends, so a property that is called `a.b` is found as it is; a backslash before
a character takes it as a part of the name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from openapi_tools.common.json_values import as_dict, as_list, follow_references
from openapi_tools.common.options import close_names
from openapi_tools.errors import describe_choices

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Key = str | int
"""The name of a property, or the index of an item; -1 appends one."""

APPEND = -1
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SEPARATOR = re.compile(r"(?:[^\\=]|\\.)*+=", re.DOTALL)
_NAME = re.compile(r"(?:[^\\.\[]|\\.)*+", re.DOTALL)
_BRACKET = re.compile(r"((?:[^\\\]]|\\.)*+)\]", re.DOTALL)
_INDEX = re.compile(r"[0-9]{1,18}")
_MOST_KEYS = 50
_MOST_BRANCHES = 500
_KINDS = ("object", "array", "string", "integer", "number", "boolean")


class Location(NamedTuple):
    """Where a value goes: the keys from the input on, and the schema there."""

    keys: tuple[Key, ...]
    schema: Any

    @property
    def name(self) -> str:
        """The location as a person would type it."""
        return format_keys(self.keys)


def format_keys(keys: Iterable[Key]) -> str:
    """Return keys as a person would type them: `items[0].name`."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += "[]" if key == APPEND else f"[{key}]"
        else:
            text += f".{key}" if text else key
    return text


def split_pair(pair: str) -> tuple[str, str] | None:
    """Return the name and the value of `name=value`; None without an equals sign."""
    match = _SEPARATOR.match(pair)
    return None if match is None else (match[0][:-1], pair[match.end() :])


def split_colon(
    typed: str, schema: Mapping[str, Any], names: Mapping[str, str]
) -> tuple[str, bool]:
    """Return a name without the colon of `name:=JSON`, and whether it had one."""
    # An argument whose own name ends in a colon comes first.
    is_name = typed in schema.get("properties", {}) or typed in names
    name = typed.removesuffix(":")
    is_escaped = (len(name) - len(name.rstrip("\\"))) % 2
    return (typed, False) if is_name or is_escaped else (name, name != typed)


def find_location(typed: str, schema: dict[str, Any], names: Mapping[str, str]) -> Location:
    """Return the location that a name describes.

    Args:
        typed: The name, as `items[0].name`.
        schema: The input schema of the tool.
        names: The arguments by the API's own names, from `find_api_names`.

    Raises:
        click.UsageError: There is no such argument, property or item.
    """
    properties = schema.get("properties", {})
    name, rest, _ = _read_name(typed, {**names, **dict.fromkeys(properties)})
    name = names.get(name, name)
    if name not in properties:
        close = close_names(name, properties)
        hint = f"; {describe_choices(properties)}." if close == "." else close
        raise click.UsageError(f"unknown argument {name!r:.100}{hint}")
    location = Location((name,), properties[name])
    while rest:
        if len(location.keys) >= _MOST_KEYS:
            raise click.UsageError(f"{name}: a name has at most {_MOST_KEYS} parts.")
        location, rest = _read_part(location, rest, schema)
    return location


def list_properties(location: Location, root: dict[str, Any]) -> dict[str, Any]:
    """Return the properties that the schema of a location declares, with their schemas."""
    return {
        name: schema
        for branch in _list_branches(location.schema, root)
        for name, schema in _properties_of(branch).items()
    }


def _read_part(parent: Location, rest: str, root: dict[str, Any]) -> tuple[Location, str]:
    branches, is_bracket = _list_branches(parent.schema, root), rest[0] == "["
    declared = {name for branch in branches for name in _properties_of(branch)}
    if rest[0] == ".":
        key, rest, is_name = _read_name(rest[1:], declared)
        if not key:
            raise click.UsageError(f"{parent.name}. has no name of a property after the dot.")
    elif is_bracket:
        key, rest, is_name = _read_bracket(parent, rest[1:], declared)
    else:
        raise click.UsageError(f"{parent.name}: expected '.', '[' or '=' before {rest!r:.60}.")
    # In `a.0` of a free-form value the 0 is a name, and in `a[0]` an index.
    is_index = not is_name and (key == "" or _INDEX.fullmatch(key))
    if is_index and _takes(branches, "array", is_guess=is_bracket):
        index = int(key) if key else APPEND
        return Location((*parent.keys, index), _item_schema(branches, index)), rest
    if key and _takes(branches, "object"):
        schema = _property_schema(parent, branches, declared, key)
        return Location((*parent.keys, key), schema), rest
    raise click.UsageError(_describe_mismatch(parent, branches, key))


def _read_name(text: str, declared: Iterable[str]) -> tuple[str, str, bool]:
    # Returns the name, the rest, and whether the name cannot be an index.
    names = [
        name
        for name in declared
        if name and text.startswith(name) and text[len(name) :][:1] in ("", ".", "[")
    ]
    if names:
        name = max(names, key=len)
        return name, text[len(name) :], True
    match = _NAME.match(text)
    raw = match[0] if match else ""
    return _ESCAPE.sub(r"\1", raw), text[len(raw) :], "\\" in raw


def _read_bracket(parent: Location, text: str, declared: Iterable[str]) -> tuple[str, str, bool]:
    names = [name for name in declared if name and text.startswith(f"{name}]")]
    if names:
        name = max(names, key=len)
        return name, text[len(name) + 1 :], True
    match = _BRACKET.match(text)
    if match is None:
        raise click.UsageError(f"{parent.name}[{text:.60}: the closing ] is missing.")
    return _ESCAPE.sub(r"\1", match[1]), text[match.end() :], "\\" in match[1]


def _list_branches(schema: Any, root: dict[str, Any]) -> list[Mapping[str, Any]]:
    # A value may be any of these: the schema itself, and its alternatives and parts. They may be
    # recursive, so that each is read once.
    branches: list[Mapping[str, Any]] = []
    pending, seen = [schema], set[int]()
    while pending and len(branches) < _MOST_BRANCHES:
        branch = pending.pop(0)
        if id(branch) in seen:
            continue
        seen.add(id(branch))
        branches.append(resolved := follow_references(root, branch))
        for keyword in ("anyOf", "oneOf", "allOf"):
            pending += as_list(resolved.get(keyword))
    return branches


def _properties_of(branch: Mapping[str, Any]) -> dict[str, Any]:
    return as_dict(branch.get("properties"))


def _types_of(branches: Iterable[Mapping[str, Any]]) -> set[str]:
    types: set[str] = set()
    for branch in branches:
        kinds = branch.get("type")
        types |= {kind for kind in [kinds, *as_list(kinds)] if isinstance(kind, str)}
        types |= {"array"} if "items" in branch or "prefixItems" in branch else set()
        types |= {"object"} if "properties" in branch or "additionalProperties" in branch else set()
    return types


def _takes(branches: list[Mapping[str, Any]], kind: str, *, is_guess: bool = True) -> bool:
    types = _types_of(branches)
    return kind in types or (is_guess and not types)


def _property_schema(
    parent: Location, branches: list[Mapping[str, Any]], declared: set[str], key: str
) -> Any:
    if key in declared:
        return _join_schemas(
            _properties_of(branch)[key] for branch in branches if key in _properties_of(branch)
        )
    schemas = [branch["additionalProperties"] for branch in branches if _is_open(branch)]
    if not schemas and declared:
        close = close_names(key, declared)
        hint = f"; {describe_choices(sorted(declared))}." if close == "." else close
        raise click.UsageError(f"{parent.name} has no property {key!r:.60}{hint}")
    return _join_schemas(schema for schema in schemas if isinstance(schema, dict))


def _is_open(branch: Mapping[str, Any]) -> bool:
    # Without the keyword other properties are allowed, too, but a typo is far more likely;
    # `name:=JSON` still passes them.
    return branch.get("additionalProperties", False) is not False


def _item_schema(branches: list[Mapping[str, Any]], index: int) -> Any:
    items: list[Any] = []
    for branch in branches:
        first = as_list(branch.get("prefixItems"))
        items += [first[index]] if 0 <= index < len(first) else [branch.get("items")]
    return _join_schemas(item for item in items if isinstance(item, dict))


def _join_schemas(schemas: Iterable[Any]) -> Any:
    different: list[Any] = []
    different += [schema for schema in schemas if schema not in different]
    if len(different) > 1:
        return {"anyOf": different}
    return different[0] if different else {}


def _describe_mismatch(parent: Location, branches: list[Mapping[str, Any]], key: str) -> str:
    types = _types_of(branches)
    kind = min(types - {"null"}, key=_KINDS.index, default="null")
    article = "an" if kind[0] in "aio" else "a"
    example = {"array": f"{parent.name}[]=VALUE", "object": f"{parent.name}.NAME=VALUE"}
    wrong = f"has no property {key!r:.60}" if key else "has no items"
    right = example.get(kind, f"{parent.name}=VALUE")
    return f"{parent.name} is {article} {kind} and {wrong}; write {right}."
