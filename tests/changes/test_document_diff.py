"""What changes for the tools between two documents: one finding for each difference.

What is expected was written down from the edits, and from reading both versions of published ones.
"""

import copy
import json
from functools import cache
from pathlib import Path

import corpus
import pytest
import yaml
from documents import document

from openapi_tools import Select, load_tools
from openapi_tools.changes.document_diff import differences_of, listed_tools
from openapi_tools.common.json_values import split_pointer
from openapi_tools.errors import SourceError

SPECS = Path(__file__).parents[2] / "specs"
MUSEUM_PAGES = ["get_museum_hours", "list_special_events"]


@cache
def read(name):
    return yaml.safe_load((SPECS / name).read_text(encoding="utf-8"))


def edit_document(name, edit):
    root = copy.deepcopy(read(name))
    edit(root)
    return root


def summarize(old, new):
    """Return the findings as (breaking, kind, pointer, tools), breaking ones first."""
    findings = differences_of(old, new)
    json.dumps(findings)
    assert all(i["tool"] == ("".join(i["tools"]) if len(i["tools"]) == 1 else "") for i in findings)
    assert all("\n" not in item["message"] for item in findings)
    return [
        ("BREAKS" if i["breaking"] else "", i["kind"], i["pointer"], sorted(i["tools"]))
        for i in findings
    ]


def put(place, value):
    """Return an edit that puts a value at a JSON Pointer."""

    def edit(root):
        *keys, last = split_pointer(place)
        for key in keys:
            root = root[key]
        root[last] = value

    return edit


LIMIT = "/components/parameters/PaginationLimit"
a_lower_maximum = put(f"{LIMIT}/schema/maximum", 20)


def two_parameters_and_an_operation(root):
    a_lower_maximum(root)
    root["components"]["parameters"]["PaginationPage"]["description"] = "Which page."
    root["paths"]["/museum-hours"]["get"]["summary"] = "When it is open"


def operations_come_and_go(root):
    del root["paths"]["/pet/{petId}"]["delete"]
    root["paths"]["/store/inventory"]["get"]["operationId"] = "stock"
    root["paths"]["/store/inventory"]["head"] = {"responses": {"200": {"description": "ok"}}}


def a_required_property_of_a_shared_schema(root):
    root["components"]["schemas"]["Pet"]["required"].append("status")


def another_host(root):
    root["host"], root["basePath"], root["schemes"] = "gotify.example.com", "/v2", ["https"]


TRACE = [{"name": "trace", "in": "query", "required": True, "schema": {"type": "string"}}]
GOTIFY = "gotify.json"
KEY, PET = "/components/securitySchemes/api_key", "/paths/~1pet~1{petId}"
HOURS, SHOP = "/paths/~1museum-hours/get", "/paths/~1store~1inventory"
TOOLS_OF_PATH = ["delete_pet", "get_pet_by_id", "update_pet_with_form"]
TOOLS_THAT_RETURN_PETS = [
    *("add_pet", "find_pets_by_status", "get_pet_by_id", "update_pet_with_form")
]
"""Their descriptions say which properties come back, required ones first."""
EDITS = {
    "another server": (
        "museum.yaml",
        put("/servers", [{"url": "https://museum.example.com"}]),
        [("BREAKS", "operation", HOURS, 8)],
    ),
    "a lower maximum": (
        "museum.yaml",
        a_lower_maximum,
        [("BREAKS", "schema", HOURS, MUSEUM_PAGES)],
    ),
    "two parameters and an operation": (
        "museum.yaml",
        two_parameters_and_an_operation,
        [
            ("BREAKS", "schema", HOURS, MUSEUM_PAGES),
            ("", "schema", HOURS, MUSEUM_PAGES),
            ("", "description", HOURS, ["get_museum_hours"]),
        ],
    ),
    "one ticket type less": (
        "museum.yaml",
        put("/components/schemas/TicketType/enum", ["general"]),
        [("BREAKS", "schema", "/paths/~1tickets/post", ["buy_museum_tickets"])],
    ),
    "operations come and go": (
        "petstore.yaml",
        operations_come_and_go,
        [
            ("BREAKS", "renamed", f"{SHOP}/get", ["stock"]),
            ("BREAKS", "removed", f"{PET}/delete", ["delete_pet"]),
            ("", "added", f"{SHOP}/head", ["head_store_inventory"]),
        ],
    ),
    "a required property of a shared schema": (
        "petstore.yaml",
        a_required_property_of_a_shared_schema,
        [
            ("BREAKS", "schema", "/paths/~1pet/put", ["add_pet", "update_pet"]),
            ("", "description", "/paths/~1pet/post", TOOLS_THAT_RETURN_PETS),
        ],
    ),
    # DELETE has a parameter of the old name, which was no argument as long as it was the key's.
    "another header of the key": (
        "petstore.yaml",
        put(f"{KEY}/name", "X-Key"),
        [
            ("BREAKS", "operation", f"{PET}/get", ["get_inventory", "get_pet_by_id"]),
            ("", "schema", f"{PET}/delete", ["delete_pet"]),
        ],
    ),
    "a parameter of a path": (
        "petstore.yaml",
        put(f"{PET}/parameters", TRACE),
        [
            ("BREAKS", "schema", f"{PET}/get", TOOLS_OF_PATH),
            ("", "schema", f"{PET}/get", TOOLS_OF_PATH),
        ],
    ),
    "another host": (
        GOTIFY,
        another_host,
        [("BREAKS", "operation", "/paths/~1application/get", 42)],
    ),
}


@pytest.mark.parametrize(("name", "edit", "expected"), EDITS.values(), ids=EDITS)
def test_an_edit_is_one_finding_for_each_difference(name, edit, expected):
    findings = summarize(load_tools(read(name)), load_tools(edit_document(name, edit)))

    counted = [
        (*fixed, len(tools) if isinstance(row[-1], int) else tools)
        for (*fixed, tools), row in zip(findings, expected, strict=True)
    ]
    assert counted == expected


SHOWS, TRACKS = "/paths/~1me~1shows/put", "/paths/~1me~1tracks/put"
PLAYLIST, PLAYER = "/paths/~1playlists~1{playlist_id}", "/paths/~1me~1player"
PUBLISHED = {
    "realworld": ("realworld/swagger.json", "realworld/openapi.yml", []),
    "prometheus": (
        "prometheus/openapi_3.1_golden.yaml",
        "prometheus/openapi_3.2_golden.yaml",
        [("", "added", "/paths/~1notifications~1live/get", 1)],
    ),
    "spotify": (
        "spotify/official-spotify-open-api.yml",
        "spotify/fixed-spotify-open-api.yml",
        [
            ("BREAKS", "schema", "/paths/~1albums~1{id}~1tracks/get", 19),
            ("BREAKS", "schema", TRACKS, 2),
            ("BREAKS", "schema", SHOWS, 2),
            ("BREAKS", "schema", SHOWS, 2),
            ("BREAKS", "schema", f"{PLAYLIST}~1images/put", 1),
            ("BREAKS", "removed", "/paths/~1me~1top~1{type}/get", 1),
            ("", "schema", TRACKS, 2),
            ("", "schema", SHOWS, 2),
            ("", "schema", SHOWS, 2),
            ("", "schema", SHOWS, 2),
            ("", "operation", SHOWS, 2),
            ("", "schema", f"{PLAYLIST}~1tracks/get", 1),
            ("", "schema", "/paths/~1me~1following/get", 1),
            ("", "schema", "/paths/~1recommendations/get", 1),
            ("", "schema", f"{PLAYER}/put", 1),
            ("", "description", f"{PLAYER}~1currently-playing/get", 1),
            ("", "schema", f"{PLAYER}~1play/put", 1),
            ("", "added", "/paths/~1me~1top~1artists/get", 1),
            ("", "added", "/paths/~1me~1top~1tracks/get", 1),
        ],
    ),
}


@pytest.mark.skipif(not corpus.FOLDER.is_dir(), reason=corpus.ABSENT)
@pytest.mark.parametrize(("old", "new", "expected"), PUBLISHED.values(), ids=PUBLISHED)
def test_versions_of_a_published_document(old, new, expected):
    findings = summarize(load_tools(corpus.FOLDER / old), load_tools(corpus.FOLDER / new))

    assert [(*fixed, len(tools)) for *fixed, tools in findings] == expected


def test_the_lines_say_what_differs_and_tools_that_are_not_selected_are_left_out():
    sides = [read("museum.yaml"), edit_document("museum.yaml", two_parameters_and_an_operation)]
    old, new = (load_tools(side, select=Select(tags=["Events"])) for side in sides)

    (finding,) = differences_of(old, new)

    assert finding["message"] == (
        "list_special_events: /limit: maximum was 30, is 20 now; and 1 more"
    )
    assert finding["details"] == [
        "/limit: maximum was 30, is 20 now",
        "/page: description was 'Page number to retrieve.', is 'Which page.' now",
    ]


def test_an_equal_difference_of_several_tools_is_one_finding(tmp_path):
    def write(folder, kind):
        (tmp_path / folder).mkdir()
        schema = {"name": "n", "in": "query", "schema": {"type": kind}}
        (tmp_path / folder / "shared.json").write_text(json.dumps(schema))
        node = {"parameters": [{"$ref": "shared.json"}], "responses": {}}
        root = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {}}
        root["paths"] = {"/a": {"get": node}, "/b": {"get": node}}
        (tmp_path / folder / "api.json").write_text(json.dumps(root))
        return load_tools(tmp_path / folder / "api.json")

    findings = summarize(write("old", "string"), write("new", "integer"))

    assert findings == [("BREAKS", "schema", "/paths/~1a/get", ["get_a", "get_b"])]


def test_an_operation_that_is_skipped_now_is_removed_with_the_reason():
    def spoil(root):
        root["paths"]["/pet/{petId}"]["delete"]["parameters"] = [{"$ref": "#/gone"}]

    (finding,) = differences_of(
        load_tools(read("petstore.yaml")), load_tools(edit_document("petstore.yaml", spoil))
    )

    assert (finding["kind"], finding["tool"]) == ("removed", "delete_pet")
    assert "skipped in the other version: '$ref': '#/gone' leads nowhere" in finding["message"]


SIDES = [  # a part of the old and the new schema of pets; whether requests break
    ("a value less", {"enum": ["a", "b"]}, {"enum": ["a"]}, True),
    ("a value more", {"enum": ["a"]}, {"enum": ["a", "b"]}, False),
    ("another type", {"type": "string"}, {"type": "integer"}, True),
    ("a bound", {"maxLength": 9}, {"maxLength": 5}, True),
    ("only read now", {"type": "string"}, {"type": "string", "readOnly": True}, True),
]


@pytest.mark.parametrize("in_request", [True, False], ids=["request", "response"])
@pytest.mark.parametrize(("_", "old", "new", "breaks"), SIDES, ids=[row[0] for row in SIDES])
def test_a_changed_schema_breaks_callers_where_they_send_it(in_request, _, old, new, breaks):
    node = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}
    responses = {"200": {"description": "ok", **({} if in_request else node)}}
    post = {"responses": responses} | ({"requestBody": node} if in_request else {})
    schemas = [{"Pet": {"type": "object", "properties": {"kind": kind}}} for kind in (old, new)]
    documents = [document({"/a": {"post": post}}, components={"schemas": s}) for s in schemas]

    findings = summarize(*map(load_tools, documents))

    marks = [mark for mark, *_ in findings]
    assert marks.count("BREAKS") == (in_request and breaks)
    assert {pointer for _, _, pointer, _ in findings} <= {"/paths/~1a/post"}
    assert findings or not in_request


def mcp(**tools):
    listed = [{"name": name, "description": "Adds.", **facts} for name, facts in tools.items()]
    return {"jsonrpc": "2.0", "id": 1, "result": {"tools": listed}}


def takes(*required, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"inputSchema": schema}


def test_lists_of_mcp_servers_are_compared_tool_by_tool():
    number, text = {"type": "number"}, {"type": "string"}
    reads = {"annotations": {"readOnlyHint": True}}
    old = mcp(add=takes(a=number), drop=takes(), look={**takes(), **reads})
    new = mcp(add=takes("a", a=number), look=takes(), fresh=takes(b=text))

    assert summarize(old, new) == [
        ("BREAKS", "schema", "/tools/add", ["add"]),
        ("BREAKS", "removed", "/tools/drop", ["drop"]),
        ("", "operation", "/tools/look", ["look"]),
        ("", "added", "/tools/fresh", ["fresh"]),
    ]
    assert listed_tools(new["result"]["tools"]) == listed_tools(new)
    assert listed_tools({"openapi": "3.1.0"}) is None


def test_what_is_neither_tools_nor_a_list_is_refused():
    with pytest.raises(SourceError, match="neither tools nor"):
        differences_of({"openapi": "3.1.0"}, load_tools(read("museum.yaml")))
