"""What a model hands over, made to take for ever, to break something, or to get past a check.

PROMISES, "Hostile tool input from the model"; where values end up in a request is the matter of
`test_promises_inputs.py`.
"""

from __future__ import annotations

import time
from collections import UserDict
from typing import Any

import pytest
from documents import document, with_body
from fuzz.inputs import Endless, Loud, Number, Void, Word
from ticker import leaves_free
from trust.promises import quiet

CPU = 2.5
"""Seconds for one call: PROMISES has 2 s, on a machine that does nothing else."""


def taking(schema, **components):
    """Return the one tool of a document, which takes `a` in a JSON body, and what it sends."""
    paths = with_body({"type": "object", "properties": {"a": schema}})
    (tool,), sent = quiet(document(paths, components={"schemas": components}))
    return tool, sent


LEVELS: dict[str, Any] = {"L0": {"const": 1}}
"""Two equal branches, each with two equal branches, by reference."""
for level in range(1, 21):
    LEVELS[f"L{level}"] = {"oneOf": [{"$ref": f"#/components/schemas/L{level - 1}"}] * 2}


def objects(count):
    return [{"id": number, "tags": ["x", number]} for number in range(count)]


OBJECTS = [{"id": number, "name": f"n{number}", "on": True} for number in range(20_000)]
KINDS = {"id": {"type": "integer"}, "name": {"type": "string"}, "on": {"type": "boolean"}}
PLAIN = {"type": "object", "properties": KINDS, "required": ["id"]}
COUNTED = {"pattern": "^(?:a|b)*a(?:a|b){400}c$"}
PATTERNS = {"anyOf": [{"pattern": f"^x{number}$"} for number in range(500)] + [{"type": "string"}]}
LITERALS = {"enum": [*({"id": n, "name": "n", "on": True} for n in range(500)), OBJECTS[-1]]}
BRANCHES = {
    "oneOf": [{"properties": {"id": {"const": -n}}, "required": ["id"]} for n in range(300)]
}
SLOW: dict[str, tuple[Any, Any, bool]] = {
    "nested repeats": ({"pattern": "^(a+)+$"}, "a" * 28 + "!", False),
    "alternatives": ({"pattern": "^(a|aa)+$"}, "a" * 5000 + "!", False),
    "a long text": ({"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}, "a" * 3_000_000, True),
    "counted": ({"pattern": "^(?:a|b)*a(?:a|b){900}$"}, "ab" * 500_000, True),
    "too large to compile": ({"pattern": "^(?:.{1000}){1000}$"}, "x" * 100, True),
    "a look ahead": ({"pattern": "^(?!x)(a+)+$"}, "a" * 50 + "!", True),
    "a look behind": ({"pattern": "(?<=a)b"}, "c", True),
    "a reference back": ({"pattern": r"^(a+)\1$"}, "a" * 50_001, True),
    "a letter of Unicode": ({"pattern": r"^\p{L}+$"}, "é" * 3000, True),
    "names": ({"patternProperties": {"^(a+)+$": {"type": "null"}}}, {"a" * 99: 1}, False),
    "2,000 objects differ": ({"uniqueItems": True}, objects(2000), True),
    "22,000 objects, two equal": ({"uniqueItems": True}, objects(11_000) * 2, False),
    "20,000 objects differ": ({"uniqueItems": True}, objects(20_000), True),
    "equal hashes": ({"uniqueItems": True}, [10**200 + n for n in range(5000)], True),
    "hashes of machine words": ({"uniqueItems": True}, [2**60 + n for n in range(9000)], True),
    "12 levels": ({"$ref": "#/components/schemas/L12"}, 2, False),
    "20 levels": ({"$ref": "#/components/schemas/L20"}, 2, True),
    "names that ask for names": (
        {"items": {"dependentRequired": {f"p{n}": ["x"] for n in range(3000)}}},
        [{"q": 1}] * 60_000,
        True,
    ),
    "small divisors": ({"items": {"type": "number", "multipleOf": 0.0001}},
                       [1e300 / 7 + n for n in range(50_000)], True),
    "odd numbers": ({"items": {"minimum": 7.5}}, [10**200 + n for n in range(50_000)], True),
    "100,000 wrong items": ({"items": {"type": "string"}}, [0] * 100_000, False),
    "20,000 objects": ({"items": PLAIN}, OBJECTS, True),
    "20,000 objects, the last one wrong": ({"items": PLAIN}, [*OBJECTS, {"id": "x"}], False),
    "a slow pattern on many texts": ({"items": COUNTED}, ["ab" * 2000] * 200, True),
    "a pattern that hangs others": ({"pattern": "^(a+)+$"}, "a" * 4_000_000 + "!", True),
    "many patterns": ({"items": PATTERNS}, [f"v{number}" for number in range(50_000)], True),
    "many alternatives": ({"items": BRANCHES}, OBJECTS, True),
    "many objects to compare with": ({"items": LITERALS}, [OBJECTS[-1]] * 20_000, True),
    "a text of 4 MB": ({}, "é" * 1_900_000, True),
    "200,000 values": ({"items": {"type": "integer"}}, list(range(200_000)), True),
    "10 MB": ({}, ["x" * 1000] * 10_000, False),
}  # fmt: skip


@pytest.mark.untraced
@pytest.mark.parametrize("name", SLOW)
async def test_no_input_and_no_schema_together_take_long_or_keep_the_loop(name):
    schema, value, fits = SLOW[name]

    def attempt():
        tool, sent = taking(schema, **LEVELS)
        started = time.process_time()

        def check(result):
            assert time.process_time() - started < CPU
            assert result.success is fits, result
            assert len(sent) == fits
            assert fits or result.error["type"] == "invalid_input"

        return tool, check

    await leaves_free(attempt, given={"a": value})


class Boundless(UserDict[str, Any]):
    """A mapping that is no dict, and never ends."""

    items = Endless.items


class Text(Word):
    __slots__ = ()
    isascii = Loud.items


class Digit(Number):
    __int__ = Loud.items


@pytest.mark.parametrize(
    ("given", "body"),
    [
        (Loud(a=1, _tool_call_id="c"), b'{"a":1}'),
        ({"a": Loud(x=1), "_tool_call_id": "c"}, b'{"a":{"x":1}}'),
        ({"a": Endless(x=1), "_tool_call_id": "c"}, b'{"a":{"x":1}}'),
        ({"a": Text("w"), "_tool_call_id": "c"}, b'{"a":"w"}'),
        ({"a": [Digit(7), Text("w")], "_tool_call_id": "c"}, b'{"a":[7,"w"]}'),
    ],
    ids=["all loud", "loud", "endless", "word", "list"],
)
async def test_a_value_of_a_class_of_its_own_is_what_python_says_it_is(given, body):
    tool, sent = taking({})

    result = await tool.execute(given)

    assert (result.success, result.tool_call_id) == (True, "c")
    assert [request.content for request in sent] == [body]


@pytest.mark.long
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (Void(), "not a value of the type Void"),
        ({"a": Void()}, "Void is not JSON"),
        ({"a": [Void]}, "is not JSON"),
        ({"a": Boundless()}, "over 250,000 values"),
        (Boundless(), "over 250,000 values"),
    ],
    ids=["void", "member", "class", "boundless member", "boundless"],
)
async def test_what_python_cannot_say_is_refused(given, reason):
    tool, sent = taking({})

    result = await tool.execute(given)

    assert result.error["type"] == "invalid_input"
    assert reason in result.error["message"]
    assert sent == []
