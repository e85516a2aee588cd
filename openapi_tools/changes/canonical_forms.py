"""The form of tools that is compared with a lock: without orders that mean nothing.

The order of properties, media types, responses and variants comes from maps of the document, and
maps have none.
"""

from __future__ import annotations

import re
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.package_data import ToolRecord
from openapi_tools.common.json_schema import transform_schemas

if TYPE_CHECKING:
    from openapi_tools.model import Operation, RequestBody

# The line about what comes back, as it is made of a schema: a name, and the first properties.
_RETURNS = re.compile(
    r"^(Returns: (?:array of ){0,4}[\w$@.-]{1,64} )\(([\w$@.-]+(?:, [\w$@.-]+){0,9})(, …)?\)$",
    re.ASCII,
)
_FAILS = "Fails: "
_VARIANTS = "` selects the variant: "


def canonical_record(record: ToolRecord) -> ToolRecord:
    """Return a tool whose lists are sorted where they were made of maps."""
    return ToolRecord(
        record.name,
        _canonical_description(record.description),
        transform_schemas(record.input_schema, _sort_node),
        _canonical_operation(record.operation),
    )


def _canonical_description(text: str) -> str:
    # Which failures and which of many properties these lines name depends on an order, so they
    # are left out: a tool that differs by them only keeps its accepted description.
    first, *lines = text.split("\n")
    if lines and lines[-1].startswith(_FAILS):
        lines.pop()
    if lines and (match := _RETURNS.match(lines[-1])):
        names = "…" if match[3] else ", ".join(sorted(match[2].split(", ")))
        lines[-1] = f"{match[1]}({names})"
    return "\n".join((first, *lines))


def _sort_node(node: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if isinstance(required := node.get("required"), list):
        changes["required"] = sorted(required, key=str)
    if isinstance(text := node.get("description"), str):
        changes["description"] = _sort_variants(text)
    return node | changes


def _sort_variants(description: str) -> str:
    _, mark, names = description.rpartition("\n")[2].partition(_VARIANTS)
    if not mark or not names.endswith("."):
        return description
    in_order = ", ".join(sorted(names.removesuffix(".").split(", ")))
    return f"{description.removesuffix(names)}{in_order}."


def _canonical_operation(operation: Operation) -> Operation:
    body = operation.body
    return replace(
        operation,
        body=None if body is None else _canonical_body(body),
        accept=tuple(sorted(operation.accept)),
        response_headers=tuple(sorted(operation.response_headers)),
    )


def _canonical_body(body: RequestBody) -> RequestBody:
    choices = map(_canonical_body, body.choices)
    return replace(
        body,
        properties=tuple(sorted(body.properties, key=attrgetter("name"))),
        encodings=tuple(sorted(body.encodings, key=attrgetter("name"))),
        alternatives=tuple(sorted(body.alternatives)),
        choices=tuple(sorted(choices, key=attrgetter("media_type"))),
    )
