"""What each provider asks of a tool's definition, as rules over every schema of it.

Written from the providers' rules alone, without a look at how definitions are made.
"""

import re

from tool_rules import walk

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ANY_KEY = re.compile(r".+", re.DOTALL)
KEYS = {
    "anthropic": re.compile(r"[a-zA-Z0-9_.-]{1,64}"),
    "gemini": re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"),
}
STRICT_WORDS = {
    *("type", "description", "properties", "required", "additionalProperties", "items", "enum"),
    *("anyOf", "$ref", "$defs", "pattern", "format", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
}
GEMINI_WORDS = {
    *("type", "format", "description", "nullable", "enum", "items", "pattern", "properties"),
    *("required", "anyOf", "default", "example", "$defs", "$ref", "minimum", "maximum"),
    *("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"),
}
STRICT_FORMATS = {
    *("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
}
TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}


def schema_of(profile, value):
    """Return the schema inside a definition."""
    names = {"anthropic": "input_schema", "gemini": "parameters_json_schema", "mcp": "inputSchema"}
    return value.get("function", value)[names.get(profile, "parameters")]


def faults(profile, value):
    """Return which rules a definition breaks."""
    named, schema = value.get("function", value), schema_of(profile, value)
    if profile == "openai_responses":
        profile = "openai_strict"
    if named.get("strict") is False:
        profile = "openai"
    messages = [] if NAME.fullmatch(named["name"]) else [f"name {named['name']!r}"]
    if not named["description"]:
        messages.append("no description")
    if schema.get("type") != "object" or schema.keys() & {"anyOf", "oneOf", "allOf", "not", "enum"}:
        messages.append("the root is no plain object")
    rules = {"openai_strict": strict_rules, "gemini": gemini_rules}.get(profile)
    nodes = list(walk(schema))
    form = KEYS.get(profile, ANY_KEY)
    for place, node in nodes:
        keys = (key for key in node.get("properties", ()) if not form.fullmatch(key))
        messages += [f"{place}: key {key!r}" for key in keys]
        asked = {**common_rules(node, schema, place), **rules(node)} if rules is not None else {}
        messages += [f"{place}: {rule}" for rule, is_broken in asked.items() if is_broken]
    if profile == "openai_strict":
        messages += too_much(schema, nodes)
    return messages


def common_rules(node, root, place):
    """Return what both subsets refuse."""
    reference = node.get("$ref")
    return {
        "definitions below the root": place != "#" and "$defs" in node,
        "something beside a reference": reference is not None and len(node) > 1,
        "a reference to nothing": reference and reference[8:] not in root.get("$defs", {}),
        "no type": not node.keys() & {"$ref", "anyOf", "type"},
        "an array without items": "array" in kinds(node) and "items" not in node,
        "a type that there is not": not kinds(node) <= TYPES,
    }


def strict_rules(node):
    is_object = "object" in kinds(node)
    names = list(node.get("properties", ()))
    return {
        f"keywords {sorted(node.keys() - STRICT_WORDS)}": node.keys() - STRICT_WORDS,
        "an open object": is_object and node.get("additionalProperties") is not False,
        "a member that is not required": is_object and names != node.get("required"),
        "members of what is no object": names and not is_object,
        "an unknown format": node.get("format", "date") not in STRICT_FORMATS,
        "an enum of more than scalars": not all(map(is_scalar, node.get("enum", ()))),
        "a pattern that looks around": re.search(r"\(\?[=!<]", node.get("pattern", "")),
    }


def gemini_rules(node):
    kind, values = node.get("type", "string"), node.get("enum", ["a"])
    names = node.get("properties", ())
    strings = all(isinstance(value, str) and value for value in values)
    return {
        f"keywords {sorted(node.keys() - GEMINI_WORDS)}": node.keys() - GEMINI_WORDS,
        f"type {kind}": not isinstance(kind, str) or kind == "null",
        "nullable without need": node.get("nullable", True) is not True,
        "an enum of more than strings": not strings or not values,
        "an enum without type": "enum" in node and kind != "string",
        "required without being declared": {*node.get("required", ())} - {*names},
    }


def kinds(node):
    """Return the types that a schema names."""
    named = node.get("type", [])
    return set(named) if isinstance(named, list) else {named}


def is_scalar(value):
    return value is None or isinstance(value, str | int | float)


def too_much(schema, nodes):
    """Yield the limits of the strict mode that a schema breaks."""
    count = sum(len(node.get("properties", ())) for _, node in nodes)
    values = [value for _, node in nodes for value in node.get("enum", ())]
    names = [
        name for _, node in nodes for key in ("properties", "$defs") for name in node.get(key, ())
    ]
    if count > 5000:
        yield f"{count} members"
    if len(values) > 1000:
        yield f"{len(values)} values"
    if sum(map(len, names)) + sum(len(str(value)) for value in values) > 120_000:
        yield "too many characters"
    trees = [{**schema, "$defs": {}}, *schema.get("$defs", {}).values()]
    if max(map(levels, trees)) > 10:
        yield "too deep"


def levels(node):
    """Return how many properties or items stand in one another."""
    inner = [*node.get("properties", {}).values(), *([node["items"]] if "items" in node else [])]
    below = 1 + max(map(levels, inner)) if inner else 0
    return max(below, *(levels(part) for part in node.get("anyOf", ())), 0)
