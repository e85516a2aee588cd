"""What stands where in a package: tools in modules, shared schemas once, names of classes."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.codegen.package_data import PackageData, ToolRecord
from openapi_tools.codegen.package_plan import (
    MANY_PARTS,
    MOST_LINES,
    ModuleItem,
    plan_package,
    split_modules,
)
from openapi_tools.model import Operation

LONG = {"type": "string", "description": "word " * 60}


def record(name, tag=None, *, definitions=None):
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    if definitions:
        schema["$defs"] = definitions
    tags = () if tag is None else (tag,)
    return ToolRecord(name, "Text.", schema, Operation("GET", f"/{name}", tags=tags))


def plan(*records):
    return plan_package(PackageData("pets", records))


def test_a_definition_stands_once_and_stays_when_another_tool_comes():
    one = record("a", "x", definitions={"Pet": LONG, "Id": {"type": "string"}})
    other = record("b", "y", definitions={"Pet": LONG})

    small, large = plan(one), plan(one, other)

    (tool,) = small.modules[0].tools
    assert (small.schemas, (tool,)) == (large.schemas, large.modules[0].tools)
    assert '"$defs": {"Pet": schemas.PET, "Id": {"type": "string"}},' in tool.statements[2]


def test_definitions_of_one_name_that_differ_are_two():
    other = {**LONG, "maxLength": 9}
    tools = [record(f"t{n}", definitions={"Pet": LONG if n < 2 else other}) for n in range(4)]

    layout = plan(*tools)

    names = [statement.partition(":")[0] for statement in layout.schemas[0].statements]
    assert len(names) == 2
    assert names[0] == "PET"
    assert re.fullmatch(r"PET_[0-9a-f]{6}", names[1])
    assert f"schemas.{names[1]}" in layout.modules[0].tools[3].statements[2]


def deep(levels):
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def test_a_schema_that_nests_too_deep_is_json_text_without_references():
    shared = {"Pet": LONG, "Deep": deep(60)}
    tools = [record(name, definitions=shared) for name in "ab"]
    tools += [ToolRecord("c", "Text.", {**deep(60), "$defs": {"Pet": LONG}}, tools[0].operation)]

    layout = plan(*tools)

    a, _, c = layout.modules[0].tools
    assert "json.loads(" not in a.statements[2]
    assert a.schemas == {"schemas"}
    assert any("json.loads(" in statement for statement in layout.schemas[0].statements)
    assert "json.loads(" in c.statements[2]
    assert c.schemas == frozenset()
    assert "word word" in c.statements[2]
    text = c.statements[2].partition(" = json.loads")[2]
    assert json.loads(ast.literal_eval(text)) == tools[2].input_schema


def parts(sizes, *, lines=100, always=1):
    """The sizes of the parts of as many things as asked for below each path, by name."""
    items = [
        ModuleItem(f"{path} {number}", (*path.split("/"), str(number)), lines)
        for path, count in sizes.items()
        for number in range(count)
    ]
    listed = [
        ("/".join(steps), len(things)) for steps, things in split_modules(items, min_depth=always)
    ]
    assert len(dict(listed)) == len(listed)
    return dict(listed)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({}, {}),
        ({"a": 1, "b": 2, "": 1}, {"a": 1, "b": 2, "": 1}),
        ({"a/x": 7, "a/y": 7}, {"a": 14}),  # 1,400 lines
        ({"a/x": 7, "a/y": 8}, {"a/x": 7, "a/y": 8}),
        ({"a/x": 12, "a/y": 1, "a/z": 1, "a/w": 3}, {"a": 2, "a/x": 12, "a/w": 3}),
        ({"a/x": 14, "a/y": 1}, {"a/x": 14, "a/y": 1}),
        ({"a/api/v1/x": 10, "a/api/v1/y": 10}, {"a/x": 10, "a/y": 10}),
    ],
)
def test_a_long_part_is_divided_and_short_ones_stay_together(sizes, expected):
    assert parts(sizes) == expected


def test_without_a_need_there_is_one_part():
    assert parts({"a": 7, "b": 7}, always=0) == {"": 14}
    assert parts({"a/b/c": 1}, lines=9_000) == {"a": 1}
    same = [ModuleItem(number, ("a", "b"), 1_000) for number in range(9)]
    assert list(split_modules(same, min_depth=1)) == [(("a",), list(range(9)))]


def test_very_many_short_parts_are_kept_together_by_their_letters():
    paths = {f"t/{first}{number}": 1 for first in "abc" for number in range(MANY_PARTS)}
    alike = parts({f"t/{'x' * number}": 1 for number in range(1, 2_000)}, lines=10)

    assert parts(paths, lines=10) == dict.fromkeys(("t/a", "t/b", "t/c"), MANY_PARTS)
    assert sum(alike.values()) == 1_999
    assert max(alike.values()) * 10 <= MOST_LINES


KEYS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple)
THINGS = st.lists(st.tuples(KEYS, st.integers(1, 900)), max_size=60)


@given(things=THINGS, always=st.integers(0, 2))
def test_everything_is_in_one_part_in_order_and_no_part_is_too_long(things, always):
    listed = [ModuleItem(number, key, lines) for number, (key, lines) in enumerate(things)]

    parts = list(split_modules(listed, min_depth=always))

    assert sorted(thing for _, part in parts for thing in part) == list(range(len(things)))
    assert all(part == sorted(part) for _, part in parts)
    assert len({steps for steps, _ in parts}) == len(parts)
    for _, part in parts:
        alike = len({things[number][0] for number in part}) == 1
        assert alike or sum(things[number][1] for number in part) <= MOST_LINES


@given(things=THINGS, added=st.tuples(KEYS, st.integers(1, 900)))
def test_what_is_added_to_one_tag_moves_nothing_of_another(things, added):
    listed = [ModuleItem((key, number), key, lines) for number, (key, lines) in enumerate(things)]
    (key, lines) = added
    larger = [*listed, ModuleItem((key, len(things)), key, lines)]

    before, after = (dict(split_modules(part, min_depth=1)) for part in (listed, larger))

    rest = {steps: part for steps, part in before.items() if steps[0] != key[0]}
    assert {steps: part for steps, part in after.items() if steps[0] != key[0]} == rest
