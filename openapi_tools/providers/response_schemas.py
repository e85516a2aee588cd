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
    transform_schemas,
)
from openapi_tools.common.json_values import (
    follow_references,
    json_size,
    omit_keys,
    unescape_token,
)
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.providers.cuts import type_schema
from openapi_tools.providers.forms import is_anything
from openapi_tools.providers.memory import Memory
from openapi_tools.responses.response_shape import make_shaper
from openapi_tools.responses.shaped_schemas import shape_schema
from openapi_tools.result import RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.model import Operation
    from openapi_tools.providers.identity_cache import SchemaSizes
    from openapi_tools.settings import Settings

    Schema = dict[str, Any]

MAX_BYTES = 4096  # of a declared schema, as JSON

_CONSIDERED = 4  # times as many bytes are shortened, and no more

_ANY_OBJECT: Schema = {"type": "object"}


class RespondingTool(Protocol):
    """The attributes of a tool that the schema of its responses needs."""

    @property
    def answer_schema(self) -> Schema | None:
        """Of JSON responses of success; None if one can be anything."""

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
        settings: Of its toolset; they and the tool say what is left out of responses.
        max_bytes: Of the schema as JSON: descriptions go first, then parts of it.
        memory: What tools of one document share.

    Returns:
        JSON Schema 2020-12, which every object fits; only an object where the document is vague.
    """
    documented = tool.answer_schema
    if documented is None or is_anything(documented):
        return dict(_ANY_OBJECT)
    memory = memory or Memory()
    shaped = shape_schema(documented, make_shaper(settings, tool.operation.answer))
    worded = memory.shorten_wording(shaped, settings.definitions)
    branch = _wrap_schema(_drop_distant(worded, _CONSIDERED * max_bytes, memory.shortener.sizes))
    smaller = memory.shortener.fit(branch, max_bytes - json_size(_declare({})))
    declared = _declare(smaller)
    is_vague = smaller in ({}, _ANY_OBJECT) or json_size(declared) > max_bytes
    return dict(_ANY_OBJECT) if is_vague else declared


def _drop_distant(schema: Schema, limit: int, sizes: SchemaSizes) -> Schema:
    """Return a schema whose nearest definitions are within `limit` bytes; of others it says types.

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
    """Return the sizes of definitions, breadth first, until the next one exceeds the limit."""
    near: dict[str, int] = {}
    pending = deque(names)
    total = 0
    while pending:
        name = pending.popleft()
        if name in near or name not in definitions:
            continue
        total += sizes.definition_size(definitions[name])
        if total > limit:
            break
        near[name] = sizes.definition_size(definitions[name])
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


def _types_of(root: Schema, schema: Any) -> set[str]:
    """Return the types that values of a schema may have; none where it does not say."""
    target = follow_references(root, schema)
    declared = target.get("type")
    if declared:
        return {declared} if isinstance(declared, str) else set(declared)
    types: set[str] = set()
    for keyword in UNIONS:
        parts = [_types_of(root, part) for part in target.get(keyword, ())]
        if not all(parts):
            return set()
        types = types.union(*parts)
    return types


def _declare(schema: Schema) -> Schema:
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    bare = {key: schema[key] for key in schema if key != "$defs"}
    return {"type": "object", "anyOf": [bare, _ANY_OBJECT], **definitions}
