"""The standard's own tables and examples, of every version of OpenAPI 3, byte for byte."""

import json
from pathlib import Path

import pytest
from servers.documents import document

VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "style_examples.json"
VECTORS_OF_FILE = json.loads(VECTORS.read_text()) if VECTORS.is_file() else {}
NAMELESS = {"spaceDelimited", "pipeDelimited"}
CELLS = [
    pytest.param(cell, place, id=f"{cell['version']}-{cell['style']}-{place}-{number}")
    for number, cell in enumerate(VECTORS_OF_FILE.get("style_table", ()))
    if cell["status"].startswith("defined")
    for place in cell["in"]
]
VERSIONS = ["3.0.0", "3.0.1", "3.0.2", "3.0.3", "3.0.4", "3.1.0", "3.1.1", "3.1.2", "3.2.0"]

pytestmark = [
    pytest.mark.skipif(not VECTORS_OF_FILE, reason=f"{VECTORS} is absent"),
    pytest.mark.asyncio(loop_scope="module"),
]


def written_value(seen, location, name, path="/x"):
    """Return what a request has at the place of a parameter."""
    if location in ("header", "cookie"):
        return seen.header(name if location == "header" else "cookie")
    return seen.target.removeprefix(path if location == "path" else "/x?")


@pytest.mark.parametrize(("cell", "location"), CELLS)
async def test_every_defined_cell_of_every_versions_table(cell, location, wire):
    # The column «empty», later called «undefined», prints what an empty string gives.
    value = "" if cell["value_kind"] in ("empty", "undefined") else cell["value"]
    declared = {"name": "color", "in": location, "style": cell["style"], "schema": {}}
    declared |= {"required": True} if location == "path" else {}
    declared |= {} if cell["explode"] is None else {"explode": cell["explode"]}
    path = "/x/" if location == "path" and cell["style"] == "simple" else "/x"
    source = document(
        version=cell["version"],
        path=f"{path}{{color}}" if location == "path" else path,
        parameters=[declared],
    )

    seen = await wire.send(source, {"color": value})

    # Earlier tables leave out the name of two styles, which no server could read that way.
    nameless = cell["style"] in NAMELESS and "=" not in cell["expected"]
    expected = f"color={cell['expected']}" if nameless else cell["expected"]
    assert written_value(seen, location, "color", path) == expected


async def test_the_tables_are_whole():
    assert sorted({cell.values[0]["version"] for cell in CELLS}) == VERSIONS
    assert len(CELLS) >= 300


@pytest.mark.parametrize(
    "example",
    VECTORS_OF_FILE.get("parameter_examples_3_2", ()),
    ids=lambda e: f"{e.get('parameter', {}).get('name') or 'several'}={e['expected']}",
)
async def test_every_example_of_a_parameter(example, wire):
    declared = example.get("parameters") or [example["parameter"]]
    one = {declared[0].get("name", "q"): example["value"]}
    arguments = example["value"] if "parameters" in example else one
    declared = [{"name": "q", **parameter} for parameter in declared]
    location = declared[0]["in"]
    path = "/x/{username}" if location == "path" else "/x"

    seen = await wire.send(document(version="3.2.0", path=path, parameters=declared), arguments)

    assert written_value(seen, location, "x-token", "/x/") == example["expected"]


@pytest.mark.parametrize(
    "example",
    VECTORS_OF_FILE.get("body_examples", ()),
    ids=lambda e: e["source"].rpartition("JSON Values")[2] or "JSON Values",
)
@pytest.mark.parametrize("version", ["3.0.4", "3.1.2", "3.2.0"])
async def test_every_example_of_a_form(example, version, wire):
    content = {"schema": example["schema"], "encoding": example["encoding"] or {}}
    body = {"required": True, "content": {example["media_type"]: content}}
    nested = "address" in example["value"]
    fields = {"body": example["value"]} if nested else example["value"]

    seen = await wire.send(
        document(version=version, body=body), fields, body="nested" if nested else "flat"
    )

    assert seen.body.decode() == example["expected"]
