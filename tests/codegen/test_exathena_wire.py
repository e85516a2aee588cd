"""Generated Elixir for every place of a request, and for documents of other people."""

import base64
import json
from urllib.parse import urlsplit

import pytest
from corpus import entries, parameters
from elixir import GOLDEN, check_format, compile_project, context, elixir, evaluate, needs_elixir
from servers import rows_bodies, rows_parts, rows_places, rows_query, rows_swagger
from servers.documents import document
from servers.wire import argument_names

from openapi_tools import Settings, generate_package, load_tools
from openapi_tools.codegen.elixir_literals import UnwritableInElixir, write_elixir_literal
from openapi_tools.codegen.elixir_project import operation_data

NOWHERE = "http://nowhere.invalid"
TABLES = (rows_query, rows_places, rows_bodies, rows_parts, rows_swagger)
ROWS = [row for table in TABLES for rows in table.GROUPS.values() for row in rows]
CHOSEN = ("discord/openapi.json", "docker/swagger.yaml", "unitycatalog/all.yaml")
"""Three documents of APIs: 3.1, 2.0 and 3.0; 242, 108 and 54 operations."""


def as_elixir(row):
    """Return the call of a row's operation, as it stands in a generated module."""
    toolset = load_tools(document(**row.operation), settings=Settings(base_url=NOWHERE))
    (tool,) = toolset
    names = argument_names(tool.operation)
    arguments = {names.get(name, name): value for name, value in row.arguments.items()}
    data = operation_data(tool.name, tool.operation, toolset.security_schemes)
    inputs = f"{elixir(tool.input_schema)}, {elixir(arguments)}"
    return f"PetstoreTools.HTTP.call({write_elixir_literal(data)}, {inputs}, ctx)"


def sorted_all(value):
    """Return whether the objects of a value have their properties in the order of their names."""
    if isinstance(value, dict):
        return list(value) == sorted(value) and all(map(sorted_all, value.values()))
    return not isinstance(value, list) or all(map(sorted_all, value))


def request_of(result):
    """Return what Req was told, as the wire tables name it."""
    head, _, body = result.removeprefix("ok ").partition("\n\n")
    method, url, *lines = head.split("\n")
    headers = dict(line.split(": ", 1) for line in lines)
    parts = urlsplit(url)
    return {
        "method": method.upper(),
        "target": parts.path + (f"?{parts.query}" if parts.query else ""),
        "body": b"" if body == "none" else base64.b64decode(body),
        **headers,
    }


LEFT_OUT = {
    "its body is multipart",
    "its body is text in the charset 'iso-8859-1'.",
    "its input is the whole query string ('q').",
    "the cookie parameter 'c' has content of its own.",
    "the header parameter 'X-Y' has content of its own.",
    "the header parameter 'x' has lists in lists",
    "the method 'Copy' is not supported by Elixir's client.",
    "the query parameter 'x' has '|' between its values",
    "the query parameter 'x' has content of its own.",
    "the query parameter 'x' has lists in lists",
}
"""Beginnings of the reasons for which rows are no tools in Elixir."""


CLIENTS = {"accept-encoding", "user-agent", "content-length", "host"}
"""Headers that the HTTP client decides, not the helper."""
ASCII = "error /X_Y: a header takes one line of printable ASCII without blanks at its ends."


@needs_elixir
async def test_the_helper_writes_the_rows_of_the_wire_tables(tmp_path):
    assert compile_project(GOLDEN, tmp_path) == ""
    calls, left_out = [], set()
    for row in ROWS:
        try:
            calls.append((row, as_elixir(row)))
        except UnwritableInElixir as error:
            left_out.add(str(error).split(", ")[0])
    lines = [
        f"ctx = {context(base_url=NOWHERE, anonymous=True)}",
        *(f"say.({call})" for _, call in calls),
    ]
    results = await evaluate(tmp_path, "\n".join(lines))

    compared = [
        (row, result) for (row, _), result in zip(calls, results, strict=True) if is_sorted(row)
    ]
    assert len(compared) > 250
    assert [fault for row, result in compared for fault in faults(row, result)] == []
    assert left_out == LEFT_OUT


def is_sorted(row):
    return all(map(sorted_all, row.arguments.values()))


def faults(row, result):
    """Yield where a request is another than the row's."""
    if not result.startswith("ok "):
        if (row.title, result) != ("Latin-1", ASCII):
            yield row.title, result
        return
    seen = request_of(result)
    for what in row.expected.keys() - CLIENTS:
        if seen.get(what) != row.expected[what]:
            yield row.title, what, row.expected[what], seen.get(what)


@needs_elixir
@pytest.mark.parametrize("entry", parameters(e for e in entries() if e.path in CHOSEN))
async def test_published_documents_compile_without_warnings(entry, tmp_path):
    report = generate_package(entry.file, tmp_path / "x", name="other", target="exathena")
    toolset = load_tools(entry.file)

    assert compile_project(tmp_path / "x", tmp_path / "out") == ""
    assert not check_format(tmp_path / "x")
    assert len(report.tools) + len(report.skipped) == len(toolset) + len(toolset.skipped)
    assert len(report.tools) >= 0.9 * len(toolset)
    assert await schemas_of(tmp_path / "out") == {
        name: toolset[name].input_schema for name in report.tools
    }


async def schemas_of(compiled):
    results = await evaluate(
        compiled,
        """for module <- OtherTools.tools() do
          say.({module.name(), OtherTools.HTTP.Text.json_text(module.schema())})
        end""",
    )
    return {name: json.loads(text) for name, text in (line.split(" ", 1) for line in results)}
