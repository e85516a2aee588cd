"""`openapi-tools show`."""

import json
import re
import shlex
import time

import pytest
import terminals

from openapi_tools.cli.text_layout import text_width


def test_a_reader_sees_what_a_model_gets_and_where_it_goes(run, museum):
    result = run("show", museum, "get_museum_hours")

    lines = result.stdout.splitlines()
    assert lines[:2] == ["get_museum_hours", "GET /museum-hours"]
    heads, first, *_ = lines[lines.index("Arguments") + 1 :]
    assert heads.split() == ["Name", "Type", "Required", "Default", "Location", "Description"]
    assert first.split()[:4] == ["startDate", "string", "(date)", "query"]
    assert "Servers: https://redocly.com/_mock/docs/openapi/museum-api" in lines
    assert any(line.startswith("Security: MuseumPlaceholderAuth (http") for line in lines)
    schema = "\n".join(lines[lines.index("Input schema") + 1 :])
    assert set(json.loads(schema)["properties"]) == {"startDate", "page", "limit"}


def test_json_says_how_each_argument_travels(run, museum):
    result = run("show", museum, "update_special_event", "--json")

    details = json.loads(result.stdout)
    ways = {way["argument"]: (way["in"], way["name"]) for way in details["arguments"]}
    assert ways["eventId"] == ("path", "eventId")
    assert ways["price"] == ("body", "price")
    assert details["operation_id"] == "updateSpecialEvent"
    assert details["servers"] == ["https://redocly.com/_mock/docs/openapi/museum-api"]
    assert details["security"] == [{"MuseumPlaceholderAuth": []}]


def test_every_argument_of_every_published_document_travels_somewhere(run, specs):
    for name in ("museum.yaml", "petstore.yaml", "cafe.yaml", "gotify.json"):
        listed = json.loads(run("list", specs / name, "--json").stdout)["tools"]
        details = json.loads(run("show", specs / name, listed[-1]["name"], "--json").stdout)

        ways = [way["argument"] for way in details["arguments"]]

        assert sorted(ways) == sorted(details["input_schema"]["properties"])


def test_a_whole_body_and_alternatives_of_security_are_reported(run, write):
    body = {"content": {"application/json": {"schema": {"type": "array", "items": {}}}}}
    security = [{"key": [], "login": []}, {}]
    operation = {"requestBody": {"required": True, **body}, "security": security}
    key = {"type": "apiKey", "in": "header", "name": "X-Key"}
    schemes = {"key": key, "login": {"type": "http", "scheme": "basic"}}
    path = write({"/all": {"put": operation}}, components={"securitySchemes": schemes})

    result = run("show", path, "put_all")

    assert "\nbody  array  yes                whole body\n" in result.stdout
    assert "\nBody: application/json\n" in result.stdout
    assert "Security: key (apiKey header X-Key) and login (http basic), or none" in result.stdout


def test_a_tool_without_arguments_says_so(run, write):
    output = run("show", write({"/a": {"get": {}}}), "get_a").stdout

    assert "\nArguments: none\n\nServers: http://api.example.com/v1\nSecurity: none\n" in output


def test_a_header_of_a_part_is_an_argument_that_travels(run, send):
    part = {
        "schema": {"type": "object", "properties": {"file": {}}},
        "encoding": {"file": {"headers": {"X-Part": {"schema": {"type": "string"}}}}},
    }
    path = send({"multipart/form-data": part}, required=True)

    details = json.loads(run("show", path, "send", "--json").stdout)

    ways = [(way["argument"], way["name"], way.get("header")) for way in details["arguments"]]
    assert ways == [("file", "file", None), ("file_X_Part", "file", "X-Part")]


STRING, NULL, NUMBER = {"type": "string"}, {"type": "null"}, {"type": "number"}
TYPES = [
    ({"type": ["string", "null"]}, "string or null"),
    ({"anyOf": [STRING, NULL]}, "string or null"),
    ({"oneOf": [STRING, {"anyOf": [STRING, NUMBER]}]}, "string or number"),
    ({"type": "array", "items": STRING}, "array of string"),
    ({"type": "array", "items": {"anyOf": [STRING, NULL]}}, "array of (string or null)"),
    ({"anyOf": [{"type": "array", "items": STRING}, NULL]}, "array of string or null"),
    ({"type": "array"}, "array"),
    ({"allOf": [{"description": "d"}, STRING]}, "string"),
    ({"enum": ["a", 1]}, "enum"),
    ({"anyOf": [STRING, {}]}, "any"),
    ({}, "any"),
    ({"$ref": "#/components/schemas/Tree"}, "array of array of array of array"),
]
TREE = {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}


@pytest.mark.parametrize(("schema", "words"), TYPES, ids=[repr(row[0]) for row in TYPES])
def test_the_type_of_an_argument_is_described_in_words(run, send, schema, words):
    path = send({"application/json": {"schema": schema}}, components={"schemas": {"Tree": TREE}})

    output = run("show", path, "send").stdout

    row = next(line for line in output.splitlines() if line.startswith("body "))
    assert re.split("  +", row)[:3] == ["body", words, "whole body"]


def test_what_is_not_checked_is_reported(run, write):
    schema = {"type": "string", "pattern": "(?<=a)b"}
    path = write({"/a": {"get": {"parameters": [{"name": "q", "in": "query", "schema": schema}]}}})

    notes = [
        line for line in run("show", path, "get_a").stdout.splitlines() if line.startswith("Not ")
    ]
    data = json.loads(run("show", path, "get_a", "--json").stdout)

    note = "/properties/q/pattern: has a value that cannot be checked"
    assert notes == [f"Not checked here: {note}"]
    assert data["not_checked"] == [note]


def test_an_example_that_begins_with_an_at_sign_names_no_file(run, write):
    schema = {"type": "string", "example": "@/etc/hostname"}
    parameters = [{"name": "q", "in": "query", "required": True, "schema": schema}]
    spec = write({"/x": {"get": {"operationId": "find", "parameters": parameters}}})

    (line,) = [text for text in run("show", spec, "find").stdout.splitlines() if "Example" in text]

    assert line.endswith(" find q=@@/etc/hostname")
    sent = run("call", spec, "find", line.rpartition(" ")[2], "--dry-run").stdout
    assert "?q=%40%2Fetc%2Fhostname" in sent


def test_the_servers_are_those_that_calls_use(run, museum, tmp_path):
    file = tmp_path / "openapi-tools.toml"
    file.write_text(f'source = "{museum}"\nbase_url = "https://museum.example/v2"\n')

    output = run("show", file, "get_museum_hours").stdout
    data = json.loads(run("show", file, "get_museum_hours", "--json").stdout)

    assert "\nServers: https://museum.example/v2\n" in output
    assert data["servers"] == ["https://museum.example/v2"]


ADDRESS = {
    "type": "object",
    "required": ["street"],
    "properties": {"street": STRING, "geo": {"type": "object", "properties": {"lat": NUMBER}}},
}
ORDER = {
    "type": "object",
    "required": ["ship_to"],
    "properties": {
        "ship_to": {"$ref": "#/components/schemas/Address"},
        "at": {"anyOf": [{"type": "string", "format": "date-time"}, NULL]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": STRING}}},
        "gift": {"anyOf": [{"$ref": "#/components/schemas/Address"}, NULL]},
        "either": {"oneOf": [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}]},
    },
}


@pytest.fixture
def order(send):
    schemas = {"schemas": {"Address": ADDRESS}}
    return send({"application/json": {"schema": ORDER}}, required=True, components=schemas)


def test_nested_objects_are_opened_as_indented_rows(run, order):
    lines = run("show", order, "send").stdout.splitlines()

    rows = lines[lines.index("Arguments") + 2 : lines.index("Servers: http://api.example.com/v1")]
    assert [re.match(r" *\S+", line)[0] for line in rows if line] == [
        "ship_to",
        "  .street",
        "  .geo",
        "    .lat",
        "at",
        "lines",
        "  [].sku",
        "gift",
        "  .street",
        "  .geo",
        "    .lat",
        "either",
    ]
    assert rows[1].split() == [".street", "string", "yes"]
    assert "string (date-time) or null" in rows[4]


def test_a_recursive_or_large_object_is_opened_to_a_limit(run, send):
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    wide = {"type": "object", "properties": {f"p{i}": STRING for i in range(60)}}
    body = {"type": "object", "properties": {"node": node, "wide": wide}}
    path = send({"application/json": {"schema": body}}, components={"schemas": {"Node": node}})

    output = run("show", path, "send").stdout

    assert output.count(".next") == 3
    assert "  .p39" in output
    assert "  .p40" not in output
    assert "  … 20 more" in output


def test_the_example_has_forms_for_files_and_objects_that_a_shell_takes(run, send, order):
    part = {"type": "string", "format": "binary"}
    fields = {"image": part, "meta": ADDRESS}
    form = {"schema": {"type": "object", "required": list(fields), "properties": fields}}
    upload = run("show", send({"multipart/form-data": form}, required=True), "send").stdout

    assert re.search(r"^image +file +yes", upload, re.MULTILINE)
    (line,) = [text for text in upload.splitlines() if text.startswith("Example: ")]
    assert " image=@FILE " in line
    _, *words = shlex.split(line.partition(": ")[2].replace("image=@FILE", "image=x"))
    assert "meta:=" in words[-1]
    assert json.loads(words[-1].partition(":=")[2]).keys() == {"street"}


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(order, width):
    written = terminals.run_in_terminal("show", order, "send", width=width, TERM="dumb")

    assert max(map(text_width, written.splitlines())) <= width
    for words in (".street", "string (date-time) or", "[].sku"):
        assert words in written


def _refer(count, others):
    return {f"S{n}": others(n) for n in range(count)}


LINKED = {
    "properties": lambda n: {
        "type": "object",
        "properties": {f"p{m}": {"$ref": f"#/components/schemas/S{m}"} for m in range(100)},
    },
    "allOf": lambda n: {
        "allOf": [{"$ref": f"#/components/schemas/S{m}"} for m in range(n + 1, 60)],
        "properties": {f"x{n}": {"type": "string"}},
    },
}


@pytest.mark.parametrize("keyword", LINKED)
def test_schemas_that_refer_to_one_another_are_listed_in_part(run, write, keyword):
    # All paths of references were followed: 100 schemas have a million of four steps.
    media = {"schema": {"$ref": "#/components/schemas/S0"}}
    body = {"required": True, "content": {"application/json": media}}
    schemas = _refer(100, LINKED[keyword])
    path = write({"/a": {"post": {"requestBody": body}}}, components={"schemas": schemas})

    started = time.process_time()
    lines = run("show", path, "post_a").stdout.splitlines()

    assert any(line.startswith(("  .p0 ", "  .x1 ")) for line in lines)
    assert ("  … over 960 more" in "\n".join(lines)) is (keyword == "properties")
    assert time.process_time() - started < 5
