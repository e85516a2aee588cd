"""Schemas of successful responses, for models and clients that read them.

Clients refuse a result that contradicts the declared schema, and documents are often wrong about
responses. So the documented schema is declared as one alternative beside any object, and no
response can contradict it.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.common.json_schema import (
    DEFINITIONS_PREFIX,
    UNIONS,
    iter_definition_names,
    reachable_definitions,
    transform_schemas,
)
from openapi_tools.common.json_values import (
    follow_references,
    json_size,
    omit_keys,
    unescape_token,
)
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.common.visible_text import is_visible
from openapi_tools.providers.cuts import type_schema
from openapi_tools.providers.forms import is_anything
from openapi_tools.providers.memory import Memory
from openapi_tools.responses.response_shape import make_shaper
from openapi_tools.responses.shaped_schemas import shape_schema
from openapi_tools.result import RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.model import Operation
    from openapi_tools.providers.budget import Shortener
    from openapi_tools.providers.identity_cache import SchemaSizes
    from openapi_tools.settings import Settings

    Schema = dict[str, Any]

MAX_BYTES = 4096  # of a declared schema, as JSON

_LARGEST_SHORTENED = 4  # times the bytes of a declared schema; distant definitions go first

_ANY_OBJECT: Schema = {"type": "object"}


class RespondingTool(Protocol):
    """The attributes of a tool that the schema of its responses needs."""

    @property
    def answer_schema(self) -> Schema | None:
        """The schema of successful JSON responses; None if they can be anything."""

    @property
    def operation(self) -> Operation:
        """How the tool is called."""


def declares_response(tool: Any) -> bool:
    """Return whether the settings of a tool ask for the schema of its responses."""
    settings = getattr(tool, "settings", DEFAULT_SETTINGS)
    # Meta tools and tools made by hand have no method.
    return settings.response_schemas and bool(getattr(tool, "method", ""))


def write_response_schema(
    tool: RespondingTool,
    settings: Settings,
    *,
    max_bytes: int = MAX_BYTES,
    memory: Memory | None = None,
) -> Schema:
    """Return the schema of `ToolResult.as_object` for calls that succeed.

    Args:
        tool: A tool of a document.
        settings: Those of its toolset; with the tool, they say what responses leave out.
        max_bytes: The most bytes of the schema as JSON: descriptions go first, then parts.
        memory: Results that the tools of one document share.

    Returns:
        JSON Schema 2020-12 that every object fits; any object where the document is vague.
    """
    documented = tool.answer_schema
    if documented is None or is_anything(documented):
        return dict(_ANY_OBJECT)
    memory = memory or Memory()
    shaped = shape_schema(documented, make_shaper(settings, tool.operation.answer))
    worded = memory.shorten_wording(shaped, settings.definitions)
    branch = _wrap_schema(
        _drop_distant(worded, _LARGEST_SHORTENED * max_bytes, memory.shortener.sizes)
    )
    smaller = _fit(branch, max_bytes - json_size(_declare({})), memory.shortener)
    smaller = transform_schemas(smaller, _omit_hidden_names)
    declared = _declare(smaller)
    is_vague = smaller in ({}, _ANY_OBJECT) or json_size(declared) > max_bytes
    return dict(_ANY_OBJECT) if is_vague else declared


def _omit_hidden_names(node: Schema) -> Schema:
    # Invisible characters carry text to a model. Every object fits without these properties, too.
    names = node.get("properties", {})
    hidden = {name for name in names if name and not is_visible(name)}
    if not hidden:
        return node
    required = [name for name in node.get("required", ()) if name not in hidden]
    rest = omit_keys(node, ["required"])
    rest |= {"required": required} if required else {}
    return {**rest, "properties": omit_keys(names, hidden)}


def _fit(schema: Schema, limit: int, shortener: Shortener) -> Schema:
    """Return a looser schema within a budget that names the properties of a response's objects.

    The budget keeps those of the root longest. But the root of a response is often a union, or an
    object around a list.
    """
    if shortener.sizes.size(schema) <= limit:
        return schema
    root = _inline_root(schema)
    fitted = _fit_root(root, limit, shortener)
    path = _find_items(root)
    if not path or _has_properties(_follow_path(fitted, path), fitted):
        return fitted
    return _fit_items(root, path, limit, shortener) or fitted


def _fit_root(root: Schema, limit: int, shortener: Shortener) -> Schema:
    fitted = shortener.fit(root, limit, noun="field")
    if _has_properties(fitted, fitted):
        return fitted
    return shortener.fit(_merge_branches(root), limit, noun="field")


def _inline_root(schema: Schema) -> Schema:
    root = dict(follow_references(schema, omit_keys(schema, ["$defs"])))
    return {**root, **_reach_definitions(root, schema)}


def _reach_definitions(root: Schema, schema: Schema) -> Schema:
    definitions = reachable_definitions(root, schema.get("$defs", {}))
    return {"$defs": definitions} if definitions else {}


def _find_items(root: Schema) -> tuple[str, ...]:
    """Return the keys from an object to the items of its one list of objects; empty if none."""
    paths = [
        ("properties", name, "items")
        for name, part in root.get("properties", {}).items()
        if _has_properties(follow_references(root, part).get("items"), root)
    ]
    return paths[0] if len(paths) == 1 else ()


def _follow_path(schema: Schema, path: Iterable[str]) -> Any:
    node: Any = schema
    for key in path:
        node = follow_references(schema, node).get(key)
    return node


def _has_properties(node: Any, root: Schema) -> bool:
    return any(branch.get("properties") for branch in _list_branches(node, root))


def _list_branches(node: Any, root: Schema) -> list[Schema]:
    """Return the alternatives of a union, also of unions in it; or the one schema."""
    branches: list[Schema] = []
    references: set[str] = set()
    pending = [node]
    for part in pending:  # grows while it is walked; each definition is looked into once
        reference = part.get("$ref") if isinstance(part, dict) else None
        if reference in references:
            continue
        if reference is not None:
            references.add(reference)
        target = follow_references(root, part)
        parts = [each for keyword in UNIONS for each in target.get(keyword, ())]
        if parts and "properties" not in target:
            pending += parts
        else:
            branches.append(dict(target))
    return branches


def _fit_items(
    root: Schema, path: tuple[str, ...], limit: int, shortener: Shortener
) -> Schema | None:
    """Return an object with the items of its list, and types alone of the rest; None if too large.

    The other properties get half of the budget at most.
    """
    _, name, _ = path
    bare: Schema = {key: root[key] for key in ("type", "required") if key in root}
    parts = {key: type_schema(part, root) for key, part in root["properties"].items()}
    frame: Schema = {**bare, "properties": {**parts, name: {"type": "array", "items": {}}}}
    left = limit - json_size(frame) - len(', "$defs": {}')
    if left < limit // 2:
        return None
    items: Schema = {**_follow_path(root, path), "$defs": root.get("$defs", {})}
    fitted = _fit_root(_inline_root(items), left, shortener)
    frame["properties"][name]["items"] = omit_keys(fitted, ["$defs"])
    return {**frame, "$defs": fitted["$defs"]} if fitted.get("$defs") else frame


def _merge_branches(root: Schema) -> Schema:
    """Return an object with the properties of all branches of a union; another schema unchanged."""
    branches = _list_branches(root, root)
    parts: dict[str, list[Any]] = {}
    for branch in branches:
        for name, part in branch.get("properties", {}).items():
            if part not in parts.setdefault(name, []):
                parts[name].append(part)
    if not parts:
        return root
    properties = {
        name: same[0] if len(same) == 1 else type_schema({"anyOf": same}, root)
        for name, same in parts.items()
    }
    shared = set.intersection(*(set(branch.get("required", ())) for branch in branches))
    merged: Schema = {"type": "object", "properties": properties}
    if shared:
        merged["required"] = [name for name in properties if name in shared]
    return {**merged, **_reach_definitions(merged, root)}


def _drop_distant(schema: Schema, limit: int, sizes: SchemaSizes) -> Schema:
    """Return a schema with its nearest definitions, up to `limit` bytes, and types for the others.

    Responses of some APIs refer to each other until every tool has all schemas of the document, and
    to shorten them all would take a second for each.
    """
    definitions = schema.get("$defs", {})
    rest = omit_keys(schema, ["$defs"])
    near = _find_nearest(iter_definition_names(json.dumps(rest)), definitions, limit, sizes)
    if len(near) == len(definitions):
        return schema

    def drop(node: Schema) -> Schema:
        name = str(node.get("$ref", "")).removeprefix(DEFINITIONS_PREFIX)
        is_distant = "$ref" in node and unescape_token(name) not in near
        return {**type_schema(node, schema), **omit_keys(node, ["$ref"])} if is_distant else node

    nearest = {name: transform_schemas(definitions[name], drop) for name in near}
    return {**transform_schemas(rest, drop), "$defs": nearest}


def _find_nearest(
    names: Iterable[str], definitions: Schema, limit: int, sizes: SchemaSizes
) -> dict[str, int]:
    """Return the sizes of definitions, breadth first, until one exceeds the limit."""
    near: dict[str, int] = {}
    pending = deque(names)
    total = 0
    while pending:
        name = pending.popleft()
        if name in near or name not in definitions:
            continue
        near[name] = sizes.definition_size(definitions[name])
        total += near[name]
        if total > limit:
            break
        pending.extend(sizes.references(definitions[name]))
    return near


def _wrap_schema(schema: Schema) -> Schema:
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    bare = {key: schema[key] for key in schema if key != "$defs"}
    types = _types_of(schema, schema)
    if types == {"object"}:
        return schema
    wrapped: Schema = {"type": "object", "properties": {RESULT: bare}, "required": [RESULT]}
    if types and "object" not in types:
        return {**wrapped, **definitions}
    return {"anyOf": [{"type": "object", **bare}, wrapped], **definitions} if bare else {}


def _types_of(root: Schema, schema: Any, known: dict[str, set[str]] | None = None) -> set[str]:
    """Return the types that values of a schema may have; none where it does not say."""
    # Unions of a hostile document refer to each other in any number of ways: each is read once.
    known = {} if known is None else known
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    if reference is None:
        return _read_types(root, schema, known)
    if reference not in known:
        known[reference] = set()  # of a cycle
        known[reference] = _read_types(root, schema, known)
    return known[reference]


def _read_types(root: Schema, schema: Any, known: dict[str, set[str]]) -> set[str]:
    target = follow_references(root, schema)
    declared = target.get("type")
    if declared:
        return {declared} if isinstance(declared, str) else set(declared)
    if "properties" in target:
        return {"object"}  # what the document means
    types: set[str] = set()
    for keyword in UNIONS:
        parts = [_types_of(root, part, known) for part in target.get(keyword, ())]
        if not all(parts):
            return set()
        types = types.union(*parts)
    return types


def _declare(schema: Schema) -> Schema:
    definitions = {"$defs": schema["$defs"]} if schema.get("$defs") else {}
    bare = {key: schema[key] for key in schema if key != "$defs"}
    return {"type": "object", "anyOf": [bare, _ANY_OBJECT], **definitions}
