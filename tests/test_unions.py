"""Every alternative of every input in all published documents can be sent."""

import httpx
import pytest
from corpus import ABSENT, entries
from makers import MANY, UNIONS, ImpossibleError, RuledOutError, Turns, text_for

from openapi_tools import Settings, load_tools

pytestmark = [pytest.mark.long, pytest.mark.untraced]

SETTINGS = Settings(base_url="http://api.example.com", anonymous=True)
TURNS = 12
NAMED = ("properties", "patternProperties")
LISTED = (*UNIONS, "allOf", "prefixItems")
SINGLE = ("items", "additionalProperties")


def alternatives(schema, seen):
    """Yield the steps to all alternatives that a schema leads to."""
    waiting = [(schema, ())]
    for node, steps in waiting:  # which grows: nearest first
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        for keyword, key, child in find_children(node, schema):
            further = (*steps, (keyword, key))
            waiting.append((child, further))
            if keyword in UNIONS:
                yield further


def find_children(node, root):
    for keyword in NAMED:
        yield from ((keyword, name, child) for name, child in node.get(keyword, {}).items())
    for keyword in LISTED:
        yield from ((keyword, index, child) for index, child in enumerate(node.get(keyword, ())))
    yield from ((keyword, "", node[keyword]) for keyword in SINGLE if keyword in node)
    if "$ref" in node:
        yield "$ref", node["$ref"], root["$defs"][node["$ref"][8:]]


def steer_schema(node, steps, root):
    """Return a schema whose values go along some steps."""
    if not steps:
        return node if isinstance(node, dict) else {}
    (keyword, key), rest = steps[0], steps[1:]
    out = dict(node)
    if keyword == "$ref":
        return {"allOf": [out, steer_schema(root["$defs"][out.pop("$ref")[8:]], rest, root)]}
    inner = steer_schema(node[keyword] if key == "" else node[keyword][key], rest, root)
    if keyword in UNIONS:
        del out[keyword]
        return {"allOf": [out, inner]}
    if keyword == "allOf":
        parts = [inner if index == key else part for index, part in enumerate(node["allOf"])]
        return {**out, "allOf": parts}
    if keyword in ("items", "prefixItems"):
        listed = [*node.get("prefixItems", ())]
        place = key if keyword == "prefixItems" else len(listed)
        least = max(place + 1, node.get("minItems", 0))
        return {**out, "prefixItems": [*listed[:place], inner], "minItems": least}
    name = key if keyword == "properties" else text_for(key or None, 1, MANY)
    out["properties"] = {**node.get("properties", {}), name: inner}
    return {**out, "required": [*node.get("required", ()), name]}


def echo(request):
    return httpx.Response(200, json={"size": len(request.content)})


async def why_not_sent(tool, steps):
    """Return why no input with a value of an alternative was sent; other unions take turns."""
    schema = tool.input_schema
    root = steer_schema(schema, steps, schema)
    reason, failed = "no value could be made", []
    for turn in range(TURNS):
        try:
            arguments = Turns(schema, turn, deepest=40).value([root], 0)
        except ImpossibleError as error:
            failed.append(error)
            continue
        result = await tool.execute(arguments)
        if not result.is_error:
            return ""
        reason = f"{arguments!s:.200}: {result!s:.200}"
    if len(failed) == TURNS and isinstance(failed[0], RuledOutError):
        raise failed[0]
    return reason


async def test_an_instance_of_every_alternative_is_sent_in_all_published_documents():
    count, ruled_out, not_sent = 0, [], []
    if not entries():
        pytest.skip(ABSENT)
    async with httpx.AsyncClient(transport=httpx.MockTransport(echo)) as client:
        for entry in entries():
            seen: set[int] = set()
            for tool in load_tools(entry.file, client=client, settings=SETTINGS):
                for steps in alternatives(tool.input_schema, seen):
                    count += 1
                    place = f"{entry.path} {tool.name} {steps}"
                    try:
                        if reason := await why_not_sent(tool, steps):
                            not_sent.append(f"{place}: {reason}")
                    except RuledOutError as error:
                        ruled_out.append(f"{place}: {error}")

    print(f"{len(ruled_out)} of {count} are ruled out by the document:", *ruled_out, sep="\n")
    print(f"{len(not_sent)} of {count} could not be sent:", *not_sent, sep="\n")
    assert count > 3_000
    assert len(not_sent) <= count / 100
