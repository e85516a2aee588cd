"""The standard's own tables and examples, of every version of OpenAPI 3, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers.documents import document

VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "style_examples.json"
FOUND: dict[str, Any] = json.loads(VECTORS.read_text()) if VECTORS.is_file() else {}
NAMELESS = {"spaceDelimited", "pipeDelimited"}

pytestmark = pytest.mark.skipif(not FOUND, reason=f"{VECTORS} is absent")
in_one_loop = pytest.mark.asyncio(loop_scope="module")


def _cells():
    """One case per place of every cell that a version's own table defines."""
    return [
        pytest.param(cell, place, id=f"{cell['version']}-{cell['style']}-{place}-{number}")
        for number, cell in enumerate(FOUND.get("style_table", ()))
        if cell["status"].startswith("defined")
        for place in cell["in"]
    ]


def _expected(cell):
    """Earlier tables leave out the name of two styles, which no server could read that way."""
    nameless = cell["style"] in NAMELESS and "=" not in cell["expected"]
    return f"color={cell['expected']}" if nameless else cell["expected"]


@in_one_loop
@pytest.mark.parametrize(("cell", "place"), _cells())
async def test_every_defined_cell_of_every_versions_table(cell, place, wire):
    # The column «empty», later called «undefined», prints what an empty string gives.
    value = "" if cell["value_kind"] in ("empty", "undefined") else cell["value"]
    declared = {"name": "color", "in": place, "style": cell["style"], "schema": {}}
    if cell["explode"] is not None:
        declared["explode"] = cell["explode"]
    path = {"simple": "/x/{color}"}.get(cell["style"], "/x{color}") if place == "path" else "/x"
    if place == "path":
        declared["required"] = True

    seen = await wire.send(
        document(version=cell["version"], path=path, parameters=[declared]), {"color": value}
    )

    shown = {
        "path": seen.target.removeprefix("/x/" if cell["style"] == "simple" else "/x"),
        "query": seen.target.removeprefix("/x?"),
        "header": seen.header("color"),
        "cookie": seen.header("cookie"),
    }
    assert shown[place] == _expected(cell)


def test_the_tables_are_whole():
    by_version = {cell.values[0]["version"] for cell in _cells()}

    assert by_version == {
        *("3.0.0", "3.0.1", "3.0.2", "3.0.3", "3.0.4"),
        *("3.1.0", "3.1.1", "3.1.2", "3.2.0"),
    }
    assert len(_cells()) >= 300


@in_one_loop
@pytest.mark.parametrize(
    "example",
    FOUND.get("parameter_examples_3_2", ()),
    ids=lambda e: f"{e.get('parameter', {}).get('name') or 'several'}={e['expected']}",
)
async def test_every_example_of_a_parameter(example, wire):
    several = "parameters" in example
    declared = example["parameters"] if several else [example["parameter"]]
    arguments = example["value"] if several else {declared[0].get("name", "q"): example["value"]}
    declared = [{"name": "q", **parameter} for parameter in declared]
    place = declared[0]["in"]
    path = "/x/{username}" if place == "path" else "/x"

    seen = await wire.send(document(version="3.2.0", path=path, parameters=declared), arguments)

    shown = {
        "path": seen.target.removeprefix("/x/"),
        "header": seen.header("x-token"),
        "cookie": seen.header("cookie"),
    }
    assert shown.get(place, seen.target.removeprefix("/x?")) == example["expected"]


@in_one_loop
@pytest.mark.parametrize(
    "example",
    FOUND.get("body_examples", ()),
    ids=lambda e: e["source"].rpartition("JSON Values")[2] or "JSON Values",
)
@pytest.mark.parametrize("version", ["3.0.4", "3.1.2", "3.2.0"])
async def test_every_example_of_a_form(example, version, wire):
    content = {"schema": example["schema"]}
    if example["encoding"]:
        content["encoding"] = example["encoding"]
    body = {"required": True, "content": {example["media_type"]: content}}
    fields = {"body": example["value"]} if "address" in example["value"] else example["value"]
    settings = {"body": "nested"} if "body" in fields else {}

    seen = await wire.send(document(version=version, body=body), fields, **settings)

    assert seen.body.decode() == example["expected"]
