"""Example calls of tools for skills: arguments that fit the schema, as text on one line."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import dump_json, follow_references
from openapi_tools.validation.checker import Checker
from openapi_tools.validation.samples import Sampler, sample

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from openapi_tools.model import Operation

CONFIGURATION = "assets/openapi-tools.toml"
"""The configuration of a skill, by its path from the skill's folder."""

_REQUIRED_ONLY = 2  # the depth from which samples have no optional properties
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN_VALUE = re.compile(r"[ -?A-~][ -~]*")  # an @ at the start names a file
_SCALARS = (bool, int, float)


def sample_arguments(tool: Any) -> dict[str, Any]:
    """Return arguments that fit the input schema of a tool: the required ones, if these do."""
    schema, required = tool.input_schema, list(tool.input_schema.get("required", ()))
    checker = Checker(schema)
    # An update without a value would be no example, although every property is optional.
    candidates = [
        _sample_properties(schema, [*required, *_first_of_body(tool.operation, required)]),
        _sample_properties(schema, required),
        sample(schema, schema),
    ]
    return next(filter(checker.fits, candidates), candidates[0])


def _sample_properties(schema: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    sampler, properties = Sampler(schema), schema.get("properties", {})
    sampler.avoids_empty = True  # an empty object vanishes from a form
    return {name: sampler.sample(properties.get(name, {}), _REQUIRED_ONLY) for name in names}


def _first_of_body(operation: Operation, required: Collection[str]) -> list[str]:
    body = operation.body
    if body is None:
        return []
    names = [body.argument] if body.argument else [each.argument for each in body.properties]
    return [] if any(name in required for name in names) else names[:1]


def write_command(tool: Any) -> str:
    """Return the call of a tool on the command line, in the folder of its skill."""
    arguments, schema = sample_arguments(tool), tool.input_schema
    words = ["openapi-tools", "call", CONFIGURATION, tool.name]
    if all(map(_PLAIN_NAME.fullmatch, arguments)):
        words += [
            _write_pair(name, value, schema["properties"].get(name, {}), schema)
            for name, value in arguments.items()
        ]
    else:
        words += ["--json", json.dumps(arguments)]
    return shlex.join(words)


def write_tool_call(tool: Any) -> str:
    """Return the call of a tool as its name and its arguments in JSON."""
    return f"{tool.name} {json.dumps(sample_arguments(tool))}"


def _write_pair(name: str, value: Any, entry: Any, schema: Mapping[str, Any]) -> str:
    # Otherwise JSON in ASCII: line breaks and control characters would end the line.
    kind = follow_references(schema, entry).get("type")
    if isinstance(value, str) and kind == "string" and _PLAIN_VALUE.fullmatch(value):
        return f"{name}={value}"
    if isinstance(value, _SCALARS) and kind in ("integer", "number", "boolean"):
        return f"{name}={dump_json(value)}"
    return f"{name}:={json.dumps(value)}"
