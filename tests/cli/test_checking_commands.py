"""`openapi-tools lint`, `prove` and `diff`: reports in every form, mends, exit codes."""

import json
import os
import re
import sys
import threading
import time
from xml.etree import ElementTree as ET

import corpus
import documents
import pytest
import yaml

from openapi_tools import load_tools
from openapi_tools.testing import mock, mock_api

OK = {"200": {"description": "ok"}}
LIST = {"type": "array", "items": {"type": "object"}}
RESPONSES = {"200": {"description": "ok", "content": {"application/json": {"schema": LIST}}}}
KEY = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}
PAIR = {"type": "object", "properties": {"a": {"type": "string"}}}
WHOLE = {"operationId": "get_it", "summary": "Gets it.", "responses": OK}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}


UNION = {"oneOf": [PAIR, {**PAIR, "title": "B"}]}

VALUES = [f"value {n}" for n in range(900)]


def body(schema):
    return {"content": {"application/json": {"schema": schema}}}


RULES = [
    ("missing-id", "/a", {"summary": "Gets it.", "responses": OK}),
    ("generated-name", "/a", {**WHOLE, "operationId": "x" * 70}),
    ("missing-description", "/a", {"operationId": "get_it", "responses": OK}),
    ("undescribed-arguments", "/a", {**WHOLE, "parameters": [{**ID, "in": "query"}]}),
    ("large-definition", "/a", {**WHOLE, "requestBody": body({"enum": VALUES})}),
    ("undeclared-variable", "/a/{id}", WHOLE),
    ("ambiguous-union", "/a", {**WHOLE, "requestBody": body(UNION)}),
    ("no-paging", "/a", {**WHOLE, "responses": RESPONSES}),
]


@pytest.fixture
def lint(run, write):
    """Run lint on a document and return its report as data."""

    def report(paths, *options, **fields):
        result = run("lint", write(paths, **fields), "--format", "json", *options)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return json.loads(result.stdout)

    return report


@pytest.mark.parametrize(("rule", "path", "operation"), RULES, ids=[row[0] for row in RULES])
def test_a_rule_finds_what_tools_lack(lint, rule, path, operation):
    data = lint({path: {"get": operation}}, components=KEY, security=[{"key": []}])

    findings = [item for item in data["hints"] if item["rule"] == rule]
    assert len(findings) == 1
    assert findings[0]["pointer"].startswith(f"/paths/{path.replace('/', '~1')}/get")
    assert findings[0]["severity"] in ("warning", "hint")
    assert data["score"] < 100


def test_a_document_with_everything_scores_a_hundred(lint):
    data = lint({"/a": {"get": WHOLE}}, components=KEY, security=[{"key": []}])

    assert (data["hints"], data["findings"], data["score"]) == ([], [], 100)


@pytest.mark.parametrize(("rule", "fields"), [("no-security", {}), ("no-server", {"servers": []})])
def test_a_rule_finds_what_the_document_lacks(lint, rule, fields):
    hints = lint({"/a": {"get": WHOLE}}, **fields)["hints"]

    assert (rule, "") in [(item["rule"], item["pointer"]) for item in hints]


UNIONS = [
    ({"type": "string"}, {"type": "integer"}),
    ({**PAIR, "required": ["a"]}, PAIR),
    ({"enum": ["a"]}, {"enum": ["b"]}),
    ({"type": "string", "format": "uuid"}, {"type": "string", "format": "date"}),
    ({"allOf": [PAIR]}, {"allOf": [PAIR]}),
    tuple({**PAIR, "required": ["a"], "properties": {"a": {"const": n}}} for n in (1, 2)),
]


@pytest.mark.parametrize("schemas", UNIONS)
def test_schemas_that_a_value_distinguishes_are_no_finding(lint, schemas):
    operation = {**WHOLE, "requestBody": body({"anyOf": list(schemas)})}

    rules = [item["rule"] for item in lint({"/a": {"post": operation}})["hints"]]

    assert "ambiguous-union" not in rules


def test_a_union_of_thousands_is_compared_in_seconds(lint):
    # Every pair of 3,000 alternatives took half a minute.
    tags = [{**PAIR, "required": ["a"], "properties": {"a": {"const": n}}} for n in range(3000)]
    operation = {**WHOLE, "requestBody": body({"anyOf": tags})}

    started = time.process_time()
    hints = lint({"/a": {"post": operation}})["hints"]

    assert "ambiguous-union" not in [item["rule"] for item in hints]
    assert time.process_time() - started < 8


def test_a_shared_union_is_found_once_and_a_discriminator_is_enough(lint):
    node = {**WHOLE, "requestBody": body({"$ref": "#/components/schemas/U"})}
    paths = {"/a": {"post": node}, "/b": {"post": {**node, "operationId": "b"}}}

    hints = lint(paths, components={"schemas": {"U": UNION}})["hints"]
    union = {**UNION, "discriminator": {"propertyName": "a"}}
    none = lint(paths, components={"schemas": {"U": union}})["hints"]

    places = [item["pointer"] for item in hints if item["rule"] == "ambiguous-union"]
    assert places == ["/components/schemas/U/oneOf"]
    assert "ambiguous-union" not in [item["rule"] for item in none]


def test_a_parameter_in_another_file_is_neither_missing_nor_written_again(run, write, tmp_path):
    shared = {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}}
    (tmp_path / "parts.json").write_text(json.dumps(shared))
    node = {"operationId": "get_it", "responses": OK, "parameters": [{"$ref": "parts.json#/Id"}]}
    spec, overlay = write({"/a/{id}": {"get": node}}), tmp_path / "mends.yaml"

    result = run("lint", spec, "--fix", overlay)

    assert "undeclared-variable" not in result.stdout
    assert "parameters" not in overlay.read_text()


def test_without_openapi_core_the_rules_about_tools_are_left(run, write, monkeypatch):
    monkeypatch.setitem(sys.modules, "openapi_spec_validator", None)
    monkeypatch.delitem(sys.modules, "openapi_tools.conformance.document_check", raising=False)

    result = run("lint", write({"/a/{b}": {"get": WHOLE}}))

    assert result.exit_code == 0
    assert "undeclared-variable" in result.stdout
    assert result.stderr.startswith("note: the document's validity was not checked: openapi_spec")
    assert result.stderr.count("\n") == 1


LEVELS = {"none", "note", "warning", "error"}
BROKEN = {"/a": {"get": {**WHOLE, "parameters": [{"$ref": "#/gone"}]}}, "/b/{c}": {"get": {}}}


def sarif(text):
    """Return the results of a log that has what SARIF 2.1.0 wants (sections 3.13 to 3.30)."""
    log = json.loads(text)
    ((tool, results, _),) = (run.values() for run in log["runs"])
    rules = [rule["id"] for rule in tool["driver"]["rules"]]
    assert (log["version"], tool["driver"]["name"]) == ("2.1.0", "openapi-tools")
    assert [item for item in results if rules[item["ruleIndex"]] != item["ruleId"]] == []
    assert all(i["level"] in LEVELS and i["message"]["text"] and i["locations"] for i in results)
    return results


def test_sarif_has_places_with_lines(run, write, tmp_path):
    path = tmp_path / "api.yaml"
    path.write_text(yaml.safe_dump(json.loads(write(BROKEN).read_text()), sort_keys=False))

    result = run("lint", path, "--format", "sarif")

    by_rule = {item["ruleId"]: item for item in sarif(result.stdout)}
    place = by_rule["skipped"]["locations"][0]
    line = place["physicalLocation"]["region"]["startLine"]
    assert result.exit_code == 1
    assert "$ref" in path.read_text().splitlines()[line - 1]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == str(path)
    assert place["logicalLocations"] == [{"fullyQualifiedName": "#/paths/~1a/get/parameters/0"}]
    assert {item["level"] for item in by_rule.values()} >= {"error", "warning"}


def test_annotations_for_github_are_one_line_each_and_escaped(run, write):
    path = write({"/a%0A::error::x/{b}": {"get": {**WHOLE, "operationId": "über, der\nb: c"}}})

    lines = run("lint", path, "--format", "github").stdout.splitlines()

    form = r"::(error|warning|notice) file=[^,:]+,line=\d+,title=[a-z-]+::[^\r\n]+"
    assert lines
    assert [line for line in lines if not re.fullmatch(form, line)] == []
    assert any("/a%250A" in line or "~1a%250A" in line for line in lines)


GONE = {"schema": {"$ref": "#/gone"}}
FAULTS = [
    ("no such parameter", {"parameters": [{"$ref": "#/gone"}]}),
    ("a parameter without a name", {"parameters": [{"in": "query"}]}),
    ("a wrong place", {"parameters": [{"name": "x", "in": "url"}]}),
    ("parameters that are no list", {"parameters": {"name": "x"}}),
    ("two wrong parameters", {"parameters": [{"in": "query"}, ID, {"in": "body"}]}),
    ("a schema that leads nowhere", {"requestBody": body({"items": {"$ref": "#/gone"}})}),
    ("a body that leads nowhere", {"requestBody": {"$ref": "#/gone"}}),
    ("a body that is no object", {"requestBody": 7}),
    ("content that is no object", {"requestBody": {"content": 7}}),
    ("a name with line ends", {"requestBody": {"content": {"a'\n\t\x85\u2028\\": GONE}}}),
    ("a media type that is no object", {"requestBody": {"content": {"text/plain": 7}}}),
]


@pytest.mark.parametrize(("_", "fault"), FAULTS, ids=[row[0] for row in FAULTS])
def test_an_overlay_of_mends_leaves_nothing_skipped(run, write, tmp_path, _, fault):
    path, mends = write({"/a/{id}": {"post": {**WHOLE, **fault}}}), tmp_path / "mends.yaml"
    assert load_tools(path).skipped

    result = run("lint", path, "--fix", mends)

    toolset = load_tools(path, overlays=[mends])
    assert (result.exit_code, toolset.skipped) == (1, ())
    assert "id" in toolset["get_it"].input_schema["properties"]
    assert "actions; apply it with --overlay" in result.stderr


@pytest.mark.parametrize("name", ["\x1b[2J", "\0", "x" * 5_000])
def test_a_place_that_no_action_can_name_stays(run, write, tmp_path, name):
    fault = {"requestBody": {"content": {name: GONE}}}
    path, mends = write({"/a/{id}": {"get": {}, "post": {**WHOLE, **fault}}}), tmp_path / "m.yaml"

    result = run("lint", path, "--fix", mends)

    toolset = load_tools(path, overlays=[mends])
    assert (result.exit_code, len(toolset), len(toolset.skipped)) == (1, 1, 1)
    assert "still skipped: POST /a/{id}" in result.stderr


def test_mends_give_ids_words_and_parameters_that_count(run, write, tmp_path):
    paths = {
        "/a/{id}": {"get": {"summary": "Gets it."}, "put": {"operationId": "replaceAPet"}},
        "/b": 7,
        "/c/../d": {"get": {}},
    }
    path = tmp_path / "api.json"
    path.write_text(json.dumps(json.loads(write({}).read_text()) | {"paths": paths}))
    mends = tmp_path / "mends.yaml"
    before = [tool.name for tool in load_tools(path)]

    result = run("lint", path, "--fix", mends)
    again = run("lint", path, "--fix", mends)
    forced = run("lint", path, "--fix", mends, "--force")

    toolset = load_tools(path, overlays=[mends])
    assert [tool.name for tool in toolset] == before
    assert toolset["get_a_id"].operation.operation_id == "get_a_id"
    assert toolset["replace_apet"].description == "Replace a pet."
    assert [entry.path for entry in toolset.skipped] == ["/c/../d"]
    assert "still skipped: GET /c/../d" in result.stderr
    assert (again.exit_code, "--force overwrites it" in again.stderr) == (2, True)
    assert forced.exit_code == 1


@pytest.mark.parametrize("version", [None, "1.0", "1.1", "1.2"])
def test_mends_are_of_overlay_1_1_unless_asked_for(run, write, tmp_path, version):
    path, mends = write({"/a/{id}": {"post": {**WHOLE, "requestBody": 7}}}), tmp_path / "mends.yaml"
    options = ["--fix-version", version] if version else []

    assert run("lint", path, "--fix", mends, *options).exit_code == 1

    assert yaml.safe_load(mends.read_text())["overlay"] == f"{version or '1.1'}.0"
    toolset = load_tools(path, overlays=[mends])
    assert (len(toolset), toolset.skipped, toolset.warnings) == (1, (), ())


def test_a_version_of_mends_that_there_is_not_is_refused(refused, write, tmp_path):
    path = write({"/a": {"get": WHOLE}})

    refused("lint", path, "--fix", tmp_path / "m", "--fix-version", "2.0", messages=["1.0", "1.2"])
    refused("lint", path, "--fix-version", "1.2", messages=["add --fix"])


def test_without_anything_to_mend_no_file_is_written(run, write, tmp_path):
    path = write({"/a": {"get": {**WHOLE, "description": "Gets it all."}}})

    result = run("lint", path, "--fix", tmp_path / "mends.yaml")

    assert (
        result.stderr == f"there is nothing to fix, so {tmp_path / 'mends.yaml'} was not written.\n"
    )
    assert not (tmp_path / "mends.yaml").exists()


def spoil_document(root, number):
    """Break what breaks in published documents: references, places, names of parameters."""
    spoils = [
        {"$ref": "#/components/parameters/gone"},
        {"name": "x", "in": "body", "schema": {}},
        {"in": "query", "schema": {}},
    ]
    for count, (_, _, node, _) in enumerate(corpus.operations_of(root)):
        if count % 3 == 0:
            node["parameters"] = [*node.get("parameters", ()), spoils[(count + number) % 3]]
        if count % 7 == 1:
            node["requestBody"] = body({"properties": {"deep": {"$ref": "#/components/x/y"}}})
    return root


SPOILED = [
    *("realworld/openapi.yml", "figma/openapi.yaml", "spotify/fixed-spotify-open-api.yml"),
    *("meilisearch/open-api.json", "unitycatalog/all.yaml"),
]
SKIPPED = [
    "ogc/examples/openapi/ogcapi-features-1-example1.yaml",
    "ogc/examples/openapi/ogcapi-features-1-example2.yaml",
]


@pytest.mark.long
@pytest.mark.skipif(not corpus.FOLDER.is_dir(), reason=corpus.ABSENT)
@pytest.mark.parametrize("name", [*SKIPPED, *SPOILED])
def test_published_documents_load_with_no_skip_once_they_are_fixed(run, tmp_path, name):
    path, mends = tmp_path / "api.json", tmp_path / "mends.yaml"
    root = yaml.safe_load((corpus.FOLDER / name).read_text())
    edited = spoil_document(root, SPOILED.index(name)) if name in SPOILED else root
    path.write_text(json.dumps(edited, default=str))
    before = load_tools(path)

    run("lint", path, "--fix", mends)

    after = load_tools(path, overlays=[mends])
    assert before.skipped
    assert (len(after), after.skipped) == (len(before) + len(before.skipped), ())


def test_every_tool_of_a_document_is_proved(run, museum):
    result, data = run("prove", museum), run("prove", museum, "--json")

    assert (result.exit_code, data.exit_code) == (0, 0)
    assert result.stdout.splitlines()[-1] == "8 proved, 0 not judged, 0 failed, 0 skipped."
    report = json.loads(data.stdout)
    assert report["counts"] == {
        "proved": 8, "not judged": 0, "failed": 0, "skipped": 0, "failed by the document": 0
    }  # fmt: skip
    assert {tool["verdict"] for tool in report["tools"]} == {"proved"}


COUNTS = {"proved": 1, "not judged": 1, "failed": 1, "skipped": 1, "failed by the document": 1}
LONG = {"type": "string", "pattern": r"^(?=[a-z]*\d)[a-z\d]{5}-(?!x)[xyz]{2}$"}
WRONG_EXAMPLE = {"schema": {"type": "integer"}, "example": "many"}
UNPROVED = {
    "/fits": {"get": {**WHOLE, "operationId": "fits"}},
    "/example": {
        "get": {
            "operationId": "shows_another",
            "responses": {
                "200": {"description": "ok", "content": {"application/json": WRONG_EXAMPLE}}
            },
        }
    },
    "/pattern": {
        "get": {
            "operationId": "asks_too_much",
            "parameters": [{"name": "code", "in": "query", "required": True, "schema": LONG}],
            "responses": OK,
        }
    },
    "/broken": {"get": {"parameters": [{"$ref": "#/gone"}], "responses": OK}},
}


def test_what_fails_and_what_is_not_judged_are_distinguished(run, write):
    result = run("prove", write(UNPROVED))

    *rows, last = result.stdout.splitlines()
    assert result.exit_code == 0
    counted = "1 proved, 1 not judged, 1 failed, 1 skipped."
    assert last == f"{counted} Failed: 0 by the tool, 1 by the document."
    cells = {row.split("  ")[0]: " ".join(row.split()) for row in rows}
    assert cells["fits"] == "fits ok ok"
    message = (
        "shows_another ok failed response: the document's example does not match its schema: body:"
    )
    assert cells["shows_another"].startswith(f"{message} 'many' is not")
    assert "no sampled input matches: /code" in cells["asks_too_much"]
    assert "leads nowhere" in cells["GET /broken"]


def test_junit_has_a_case_for_each_tool_and_says_what_was_not_judged(run, write):
    suite = ET.fromstring(run("prove", write(UNPROVED), "--format", "junit").stdout)

    counts = {"tests": "4", "failures": "0", "skipped": "3", "errors": "0"}
    assert suite.attrib == {"name": "openapi-tools prove", **counts}
    states = [(case.get("name"), *(part.tag for part in case)) for case in suite.iter("testcase")]
    counted = {part.get("name"): part.get("value") for part in suite.iter("property")}
    assert counted == {key: str(value) for key, value in COUNTS.items()}
    (by_document,) = [part for part in suite.iter("skipped") if part.get("type") == "document"]
    assert by_document.get("message").startswith("failed by the document: response: the document's")
    skipped = [(name, "skipped") for name in ("shows_another", "asks_too_much", "GET /broken")]
    assert states == [("fits",), *skipped]


def test_junit_is_xml_whatever_a_document_says(run, write):
    odd = "\x00\x1b[2J\ufffe\uffff]]>&<\n"
    spec = write({"/a": {"get": {"operationId": "find", "parameters": [{"name": odd, "in": odd}]}}})

    suite = ET.fromstring(run("prove", spec, "--format", "junit").stdout)

    assert "\\ufffe\\uffff]]>&<" in suite.find("testcase")[0].get("message")


def test_proofs_as_sarif_leave_out_what_is_proved(run, write):
    text = run("prove", write(UNPROVED), "--format", "sarif").stdout

    levels = {item["ruleId"]: item["level"] for item in sarif(text)}
    assert levels == {"failed-by-document": "warning", "not-judged": "note", "skipped": "error"}
    counted = json.loads(text)["runs"][0]["properties"]["counts"]
    assert counted == COUNTS


@pytest.fixture
def judged_by(monkeypatch):
    """Have a mock of another document answer and judge, so that a tool's requests are wrong."""

    def judge(paths):
        whole = {"responses": OK}
        complete = {path: {key: {**whole, **get} for key, get in item.items()}
                for path, item in paths.items()}  # fmt: skip
        source = documents.document(complete, servers=[{"url": "http://api.example.com/v1"}])
        monkeypatch.setattr(mock, "mock_api", lambda _, **options: mock_api(source, **options))

    return judge


def test_a_failure_says_whether_the_document_or_the_tool_is_at_fault(run, write, judged_by):
    shows = UNPROVED["/example"]["get"]
    needed = [{"name": "q", "in": "query", "required": True, "schema": {"type": "string"}}]
    spec = write({"/a": {"get": shows}, "/b": {"get": {**WHOLE, "operationId": "odd"}}})
    judged_by({"/a": {"get": shows}, "/b": {"get": {**WHOLE, "parameters": needed}}})

    result, text = run("prove", spec, "--json"), run("prove", spec)

    assert (result.exit_code, text.exit_code) == (1, 1)
    rows = json.loads(result.stdout)["tools"]
    assert [(row["tool"], row["verdict"], row["cause"]) for row in rows] == [
        ("shows_another", "failed", "document"),
        ("odd", "failed", "tool"),
    ]
    assert text.stdout.endswith("2 failed, 0 skipped. Failed: 1 by the tool, 1 by the document.\n")


def test_only_faults_of_the_document_are_no_reason_to_fail(run, write):
    result = run("prove", write({"/a": UNPROVED["/example"]}))

    assert result.exit_code == 0
    assert result.stdout.endswith(
        "1 failed, 0 skipped. Failed: 0 by the tool, 1 by the document.\n"
    )


def test_faults_of_the_document_fail_on_demand_in_every_report(run, write):
    prove = ("prove", write(UNPROVED), "--fail-on")
    by_document = [run(*prove, "document", "--format", kind) for kind in ("text", "sarif", "junit")]

    text, as_sarif, junit = by_document
    assert [result.exit_code for result in by_document] == [1, 1, 1]
    assert text.stdout == run(*prove, "tool").stdout
    assert {item["ruleId"]: item["level"] for item in sarif(as_sarif.stdout)} == {
        "failed-by-document": "error", "not-judged": "note", "skipped": "error"
    }  # fmt: skip
    (failure,) = ET.fromstring(junit.stdout).iter("failure")
    assert failure.get("message").startswith("failed by the document: response: the document's")
    assert run(*prove, "tool").exit_code == 0


def test_a_document_of_which_nothing_can_be_judged_fails(run, write):
    result = run("prove", write({"/a": UNPROVED["/pattern"]}))

    assert result.exit_code == 1
    assert result.stderr.startswith("nothing could be checked: no sampled input matches: /code")


PNG = {"schema": {"type": "string", "format": "binary"}}
FORM = {"type": "object", "required": ["file"], "properties": {"file": PNG["schema"]}}
UPLOADS = {
    "multipart/form-data": {"schema": FORM},
    "image/png": PNG,
    "image/*": PNG,
    "application/octet-stream": {},
}


@pytest.mark.parametrize("kind", UPLOADS)
def test_an_upload_is_sampled(run, write, kind):
    sent = {"required": True, "content": {kind: UPLOADS[kind]}}

    result = run("prove", write({"/a": {"post": {**WHOLE, "requestBody": sent}}}))

    assert result.stdout.endswith("1 proved, 0 not judged, 0 failed, 0 skipped.\n")


def test_the_tools_of_a_swagger_document_are_proved(run, specs):
    result = run("prove", specs / "gotify.json")

    assert result.exit_code == 0
    assert result.stdout.endswith("42 proved, 0 not judged, 0 failed, 0 skipped.\n")


def test_tools_are_proved_for_another_server(run, museum):
    result = run("prove", museum, "--tag", "Tickets", "--base-url", "https://a.example/v2")

    assert result.stdout.endswith("2 proved, 0 not judged, 0 failed, 0 skipped.\n")


@pytest.fixture
def versions(write, tmp_path):
    """Two versions of a document: another server."""
    paths = {"/a": {"get": WHOLE}}
    new = tmp_path / "new.json"
    new.write_text(write(paths, servers=[{"url": "https://b.example"}]).read_text())
    return write(paths), new


def test_differences_end_with_the_exit_code_that_is_asked_for(run, versions):
    old, new = versions

    assert run("diff", old, new).exit_code == 0
    assert run("diff", old, new, "--fail-on", "breaking").exit_code == 1
    assert run("diff", old, new, "--fail-on", "any").exit_code == 1
    assert run("diff", old, old, "--fail-on", "any").exit_code == 0


def test_differences_are_lines_data_sarif_or_annotations(run, versions):
    text, data, log, notes = (
        run("diff", *versions, "--format", form).stdout
        for form in ("text", "json", "sarif", "github")
    )

    assert text.splitlines()[0].startswith("breaking  operation    get_it: server ")
    assert text.splitlines()[-1] == "1 change, 1 breaking; 1 tool differs."
    (change,) = json.loads(data)["changes"]
    assert (change["pointer"], change["tool"]) == ("/paths/~1a/get", "get_it")
    (result,) = sarif(log)
    assert (result["ruleId"], result["level"]) == ("operation", "error")
    assert notes.startswith("::error file=")


def test_lists_of_mcp_servers_are_read_from_files(run, tmp_path):
    for name, tools in (("old", ["add"]), ("new", ["add", "drop"])):
        listed = [{"name": tool, "inputSchema": {"type": "object"}} for tool in tools]
        response = {"result": {"tools": listed, "nextCursor": "2"}}
        (tmp_path / f"{name}.json").write_text(json.dumps(response))

    result = run("diff", tmp_path / "old.json", "-", stdin=(tmp_path / "new.json").read_text())

    assert result.stdout.splitlines()[0].split() == ["added", "drop"]
    assert result.stderr.count("is only a part of a list; its server has more tools") == 2


def test_both_sides_cannot_come_from_standard_input(refused):
    assert "cannot both be read" in refused("diff", "-", "-", stdin="{}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_document_may_come_through_a_pipe(run, refused, museum, tmp_path):
    # As in `diff <(git show main:museum.yaml) museum.yaml`.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def run_with_pipe(call, *command):
        writer = threading.Thread(target=pipe.write_bytes, args=(museum.read_bytes(),))
        writer.start()
        result = call(*command)
        writer.join()
        return result

    assert run_with_pipe(run, "diff", pipe, museum).exit_code == 0
    assert "get_museum_hours" in run_with_pipe(run, "list", pipe).stdout
    assert "which the client uses" in refused("install", "cursor", pipe)
    assert "a file or a URL" in refused("init", pipe)
    assert "read once" in refused("generate", pipe, "--html", "x", "--output", tmp_path / "y")


def test_a_side_that_is_no_document_is_reported(refused, tmp_path, museum):
    path = tmp_path / "x.json"
    path.write_text("[1, 2")

    assert "x.json" in refused("diff", museum, path)


ODD = [
    {"oneOf": 7, "anyOf": [True, None]},
    {"oneOf": [{"properties": 7, "required": 7}, {"properties": {"a": 7}, "required": ["a", {}]}]},
    {"anyOf": [{"properties": {"a": {"$ref": "#/components/schemas/R"}}, "required": ["a"]}] * 2},
]


@pytest.mark.parametrize("schema", ODD)
def test_odd_unions_are_no_fault_of_lint(lint, schema):
    again = {"properties": {"a": {"$ref": "#/components/schemas/R"}}, "required": ["a"]}
    recursive = {"schemas": {"R": again}}

    data = lint({"/a": {"post": {**WHOLE, "requestBody": body(schema)}}}, components=recursive)

    assert data["counts"]["operations"] == 1


def test_the_same_fault_twice_in_a_list_is_fixed_twice(run, write, tmp_path):
    twice = [{"$ref": "#/gone"}, {"$ref": "#/gone"}]
    path, mends = write({"/it's\\n/{id}": {"get": {**WHOLE, "parameters": twice}}}), tmp_path / "m"

    run("lint", path, "--fix", mends)

    assert load_tools(path, overlays=[mends]).skipped == ()


def test_tools_of_other_files_are_proved_and_called_through_the_mock(run, tmp_path):
    path = documents.write_split(tmp_path)

    proved, called = run("prove", path), run("call", path, "get_pet", "petId=7", "--mock")

    assert proved.stdout.endswith("2 proved, 0 not judged, 0 failed, 0 skipped.\n")
    assert json.loads(called.stdout)["name"] == "sample"


def test_a_404_of_the_mock_gives_no_advice_about_the_server(run, write):
    node = {**WHOLE, "responses": {"404": {"description": "none"}}}
    path = write({"/a": {"get": node}}, servers=[{"url": "https://a.example/v1"}])

    result = run("call", path, "get_it", "--mock")

    assert "404" in result.stderr
    assert "base-url" not in result.stderr
