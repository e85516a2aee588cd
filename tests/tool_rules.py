"""What every tool of every document keeps to: names, texts, the shape of its input schema."""

import json
import re
from collections import Counter

import jsonschema_rs

TOOL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
ARGUMENT_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
RESERVED = {"self", "config", "run_manager"}
KEYWORDS = {"type", "properties", "required", "additionalProperties", "$defs"}
LARGEST_SCHEMA = 256_000
LONGEST_DESCRIPTION = 1024
LITERALS = {"default", "const", "enum", "example", "examples", "dependentRequired"}
DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def faults(tool):
    """Yield which rules a tool breaks."""
    text, schema = tool.description, tool.input_schema
    names, required = set(schema["properties"]), set(schema.get("required", ()))
    size = len(json.dumps(schema, allow_nan=False, ensure_ascii=False).encode())
    closed = schema["type"] == "object" and schema["additionalProperties"] is False
    destinations = Counter(_destinations(tool.operation))
    rules = {
        "the name is portable": TOOL_NAME.fullmatch(tool.name),
        "the description is plain": text.strip() and not _CONTROL.search(text),
        "the description is short": len(text) <= LONGEST_DESCRIPTION,
        "the root is a closed object": closed and schema.keys() <= KEYWORDS,
        "arguments have portable names": all(map(ARGUMENT_NAME.fullmatch, names)),
        "no argument has a reserved name": not names & RESERVED,
        "what is required is offered": required <= names,
        f"{size} bytes are few": size <= LARGEST_SCHEMA,
        f"each argument travels to one place: {destinations}": destinations == Counter(names),
    }
    yield from (rule for rule, is_kept in rules.items() if not is_kept)
    yield from _faults_of_definitions(schema)
    for _, node in walk(schema):
        if _CONTROL.search(node.get("description", "")):
            yield f"control characters in {node['description']!r:.100}"
    try:
        jsonschema_rs.meta.validate({**DIALECT, **schema})
    except jsonschema_rs.ValidationError as error:
        yield f"{error!s:.300}"


def _faults_of_definitions(schema):
    definitions = schema.get("$defs", {})
    waiting = [{key: value for key, value in schema.items() if key != "$defs"}]
    reached = set()
    while waiting:
        for _, node in walk(waiting.pop()):
            if "$ref" not in node:
                continue
            name = node["$ref"].removeprefix("#/$defs/")
            if name not in definitions or node["$ref"] == name:
                yield f"{node['$ref']} leads nowhere"
            elif name not in reached:
                reached.add(name)
                waiting.append(definitions[name])
    if reached != definitions.keys():
        yield f"definitions that nothing refers to: {definitions.keys() - reached}"


def walk(node, place="#"):
    """Yield a schema and all schemas inside it, definitions too, each with its place."""
    if not isinstance(node, dict):
        return
    yield place, node
    for key, value in node.items():
        if key in ("properties", "patternProperties", "dependentSchemas", "$defs"):
            parts = value.items()
        elif key in ("allOf", "anyOf", "oneOf", "prefixItems"):
            parts = enumerate(value)
        else:
            parts = [] if key in LITERALS else [(None, value)]
        for name, part in parts:
            yield from walk(part, f"{place}/{key}" if name is None else f"{place}/{key}/{name}")


def _destinations(operation):
    """Yield the arguments that feed something, once for each place that they feed."""
    yield from (parameter.argument for parameter in operation.parameters)
    if operation.body is not None:
        yield from filter(None, [operation.body.argument])
        yield from (item.argument for item in operation.body.properties)
        for encoding in operation.body.encodings:
            yield from (header.argument for header in encoding.headers)
