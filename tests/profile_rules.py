"""What each provider asks of a tool's definition, as rules over every schema of it.

Written from the providers' rules alone, without a look at how definitions are made.
"""

import re

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KEYS = {
    "openai": re.compile(r".+", re.DOTALL),
    "openai_strict": re.compile(r".+", re.DOTALL),
    "anthropic": re.compile(r"[a-zA-Z0-9_.-]{1,64}"),
    "gemini": re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"),
    "mcp": re.compile(r".+", re.DOTALL),
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
    if profile.startswith("openai"):
        return value["function"]["parameters"]
    names = {"anthropic": "input_schema", "gemini": "parameters_json_schema", "mcp": "inputSchema"}
    return value[names[profile]]


def faults(profile, value):
    """Return which rules a definition breaks."""
    named = value["function"] if profile.startswith("openai") else value
    if named.get("strict") is False:
        profile = "openai"
    schema = schema_of(profile, value)
    found = [] if NAME.fullmatch(named["name"]) else [f"name {named['name']!r}"]
    if not named["description"]:
        found.append("no description")
    if schema.get("type") != "object" or schema.keys() & {"anyOf", "oneOf", "allOf", "not", "enum"}:
        found.append("the root is no plain object")
    rules = {"openai_strict": strict_faults, "gemini": gemini_faults}.get(profile)
    nodes = list(walk(schema))
    for place, node in nodes:
        keys = (key for key in node.get("properties", ()) if not KEYS[profile].fullmatch(key))
        found += [f"{place}: key {key!r}" for key in keys]
        if rules is not None:
            found += [f"{place}: {fault}" for fault in rules(node, schema, place)]
    if profile == "openai_strict":
        found += too_much(schema, nodes)
    return found


def walk(node, place="#"):
    """Yield every schema inside a schema with its place."""
    if not isinstance(node, dict):
        return
    yield place, node
    for key, value in node.items():
        if key in ("properties", "$defs", "patternProperties", "dependentSchemas", "definitions"):
            for name, part in value.items():
                yield from walk(part, f"{place}/{key}/{name}")
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for index, part in enumerate(value):
                yield from walk(part, f"{place}/{key}/{index}")
        elif key in ("items", "additionalProperties", "not", "if", "then", "else", "contains"):
            yield from walk(value, f"{place}/{key}")


def common_faults(node, root, place):
    """Yield what both subsets refuse."""
    reference = node.get("$ref")
    rules = {
        "definitions below the root": place != "#" and "$defs" in node,
        "something beside a reference": reference is not None and len(node) > 1,
        "a reference to nothing": reference and reference[8:] not in root.get("$defs", {}),
        "no type": not node.keys() & {"$ref", "anyOf", "type"},
        "an array without items": "array" in kinds(node) and "items" not in node,
        "a type that there is not": not kinds(node) <= TYPES,
    }
    yield from (rule for rule, broken in rules.items() if broken)


def strict_faults(node, root, place):
    yield from common_faults(node, root, place)
    is_object = "object" in kinds(node)
    members = list(node.get("properties", ()))
    rules = {
        f"keywords {sorted(node.keys() - STRICT_WORDS)}": node.keys() - STRICT_WORDS,
        "an open object": is_object and node.get("additionalProperties") is not False,
        "a member that is not required": is_object and members != node.get("required"),
        "members of what is no object": members and not is_object,
        "an unknown format": node.get("format", "date") not in STRICT_FORMATS,
        "an enum of more than scalars": not all(map(is_scalar, node.get("enum", ()))),
        "a pattern that looks around": re.search(r"\(\?[=!<]", node.get("pattern", "")),
    }
    yield from (rule for rule, broken in rules.items() if broken)


def gemini_faults(node, root, place):
    yield from common_faults(node, root, place)
    kind, values = node.get("type", "string"), node.get("enum", ["a"])
    strings = all(isinstance(value, str) and value for value in values)
    rules = {
        f"keywords {sorted(node.keys() - GEMINI_WORDS)}": node.keys() - GEMINI_WORDS,
        f"type {kind}": not isinstance(kind, str) or kind == "null",
        "nullable without need": node.get("nullable", True) is not True,
        "an enum of more than strings": not strings or not values,
        "an enum without type": "enum" in node and kind != "string",
        "required without being declared": not set(node.get("required", ()))
        <= set(node.get("properties", ())),
    }
    yield from (rule for rule, broken in rules.items() if broken)


def kinds(node):
    """Return the types that a schema names."""
    named = node.get("type", [])
    return set(named) if isinstance(named, list) else {named}


def is_scalar(value):
    return value is None or isinstance(value, str | int | float)


def too_much(schema, nodes):
    """Yield the limits of the strict mode that a schema breaks."""
    members = sum(len(node.get("properties", ())) for _, node in nodes)
    values = [value for _, node in nodes for value in node.get("enum", ())]
    names = [
        name for _, node in nodes for key in ("properties", "$defs") for name in node.get(key, ())
    ]
    if members > 5000:
        yield f"{members} members"
    if len(values) > 1000:
        yield f"{len(values)} values"
    if sum(map(len, names)) + sum(len(str(value)) for value in values) > 120_000:
        yield "too many characters"
    trees = [{**schema, "$defs": {}}, *schema.get("$defs", {}).values()]
    if max(map(levels, trees)) > 10:
        yield "too deep"


def levels(node):
    """Return how many members or items stand in one another."""
    inner = [*node.get("properties", {}).values(), *([node["items"]] if "items" in node else [])]
    below = 1 + max(map(levels, inner)) if inner else 0
    return max(below, *(levels(part) for part in node.get("anyOf", ())), 0)
