"""What stands where in a package: tools in modules, shared schemas once, names of classes."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from openapi_tools.codegen.package_data import PackageData, Record
from openapi_tools.codegen.package_plan import plan_package
from openapi_tools.model import Operation

LONG = {"type": "string", "description": "word " * 60}


def record(name, tag=None, *, path="", definitions=None, lines=0):
    """A tool; `lines` members make its schema about that long."""
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    schema["properties"] = {f"m{n}": {"description": "x" * 30} for n in range(lines)}
    if definitions:
        schema["$defs"] = definitions
    tags = () if tag is None else (tag,)
    return Record(name, "Text.", schema, Operation("GET", path or f"/{name}", tags=tags))


def plan(*records):
    return plan_package(PackageData("pets", records))


def modules(found):
    return {str(m.stem): [tool.record.name for tool in m.tools] for m in found.modules}


HOSTILE = [
    "CON", "con", "..", "../..", "a/b", "a\\b", "C:", "", " ", "🚀", "日本", "ﬁle", "é", "e\u0301",
    "__init__", "index", "schemas", "py.typed", "class", "None", "import os", "x" * 300, "\x00",
    "\u202e", "a b", "a-b", "a_b", "A_B", "tools", "json", "-rf", ".git", "{{ a }}", "\ud800",
]  # fmt: skip


def test_any_tags_give_modules_of_the_allow_list_that_differ_in_more_than_case():
    found = plan(*(record(f"tool_{n}", tag) for n, tag in enumerate(HOSTILE)))

    stems = [str(module.stem) for module in found.modules]
    assert len(stems) == len({stem.casefold() for stem in stems}) == len(set(HOSTILE))
    assert all(re.fullmatch(r"tools(_[a-z0-9_]+)?", stem) and len(stem) < 70 for stem in stems)


def test_a_long_tag_is_parted_by_its_paths():
    tools = [
        record(f"{part}_{n}", "All", path=f"/v1/{part}/{{id}}/{n}", lines=100)
        for n in range(12)
        for part in ("cats", "dogs")
    ]

    found = plan(*tools, record("other", "Other"))

    assert modules(found) == {
        "tools_all_cats": [f"cats_{n}" for n in range(12)],
        "tools_all_dogs": [f"dogs_{n}" for n in range(12)],
        "tools_other": ["other"],
    }


def test_a_definition_stands_once_and_stays_when_another_tool_comes():
    one = record("a", "x", definitions={"Pet": LONG, "Id": {"type": "string"}})
    other = record("b", "y", definitions={"Pet": LONG})

    found, more = plan(one), plan(one, other)

    assert found.schemas == more.schemas
    assert found.modules[0].tools == more.modules[0].tools
    assert (
        '"$defs": {"Pet": schemas.PET, "Id": {"type": "string"}},'
        in (found.modules[0].tools[0].statements[2])
    )


def test_definitions_of_one_name_that_differ_are_two():
    other = {**LONG, "maxLength": 9}
    tools = [record(f"t{n}", definitions={"Pet": LONG if n < 2 else other}) for n in range(4)]

    found = plan(*tools)

    names = [statement.partition(":")[0] for statement in found.schemas[0].statements]
    assert len(names) == 2
    assert names[0] == "PET"
    assert re.fullmatch(r"PET_[0-9a-f]{6}", names[1])
    assert f"schemas.{names[1]}" in found.modules[0].tools[3].statements[2]


def test_many_shared_definitions_are_parted_by_their_names():
    definitions = {
        f"{letter}{n}": {"properties": {f"m{i}": {"title": "x" * 60} for i in range(60)}}
        for letter in "AB"
        for n in range(16)
    }

    found = plan(*(record(f"t{n}", definitions=definitions) for n in range(2)))

    assert [str(module.stem) for module in found.schemas] == ["schemas_a", "schemas_b"]
    tool = found.modules[0].tools[0]
    assert tool.schemas == {"schemas_a", "schemas_b"}
    assert '"A3": schemas_a.A3' in tool.statements[2]


def deep(levels):
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def test_a_schema_that_nests_too_deep_is_json_text_without_references():
    shared = {"Pet": LONG, "Deep": deep(60)}
    tools = [record(name, definitions=shared) for name in "ab"]
    tools += [Record("c", "Text.", {**deep(60), "$defs": {"Pet": LONG}}, tools[0].operation)]

    found = plan(*tools)

    a, _, c = found.modules[0].tools
    assert "json.loads(" not in a.statements[2]
    assert a.schemas == {"schemas"}
    assert any("json.loads(" in statement for statement in found.schemas[0].statements)
    assert "json.loads(" in c.statements[2]
    assert c.schemas == frozenset()
    assert "word word" in c.statements[2]
    text = c.statements[2].partition(" = json.loads")[2]
    assert json.loads(ast.literal_eval(text)) == tools[2].input_schema
