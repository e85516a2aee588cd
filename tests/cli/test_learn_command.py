"""`openapi-tools learn`: the report, the overlay, workflows, and evidence that cannot be read."""

import asyncio
import json
from pathlib import Path

import pytest
import terminals
import yaml

from openapi_tools import Settings, load_tools
from openapi_tools.testing import mock_api

PET = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "price": {"type": "number"}},
}
RESPONSE = {"description": "ok", "content": {"application/json": {"schema": PET}}}
PATHS = {
    "/pet": {"get": {"operationId": "getPet", "summary": "A pet.", "responses": {"200": RESPONSE}}}
}
CHANGE = (
    "description was 'A pet.\\nReturns: object (id, price)', "
    "is 'A pet.\\nReturns: object (id, price, born)'"
)
URL = "http://api.example.com/v1/pet"


def entry(body, *, status=200, url=URL):
    headers = {"content-type": "application/json"}
    request = {"method": "GET", "url": url, "body": None}
    return {"request": request, "response": {"status": status, "headers": headers, "json": body}}


@pytest.fixture
def seen(tmp_path):
    """Write a cassette with these responses, and return its path."""

    def write_cassette(*entries):
        path = tmp_path / "calls.json"
        path.write_text(json.dumps([*entries]))
        return path

    return write_cassette


def test_the_report_names_place_evidence_and_what_changes(run, write, seen):
    cassette = seen(entry({"id": 1, "price": "1.50", "born": 2020}), entry({"id": 2}))
    result = run("learn", write(PATHS), "--from", cassette)
    assert result.exit_code == 0, result.stderr
    place = "GET /pet (get_pet) at /responses/200/content/application~1json/schema"
    assert result.stdout.splitlines() == [
        f"property: {place}: the property born is not documented",
        "    seen 1 time: calls.json:1",
        f"type: {place}/properties/price: the value is of type string, the document says number",
        "    seen 1 time: calls.json:1",
        "With the proposals, the tools change:",
        f"          description  get_pet: {CHANGE} now",
        "1 change, 0 breaking; 1 tool differs.",
        "2 exchanges in 1 file: 2 proposals, 0 not proposed.",
    ]


def test_the_overlay_is_written_loads_and_leaves_nothing_to_learn(run, write, seen, tmp_path):
    spec, overlay = write(PATHS), tmp_path / "learned.yaml"
    cassette = seen(entry({"id": 1, "price": "1.50", "born": 2020}))
    result = run("learn", spec, "--from", cassette, "--output", overlay)
    assert result.stderr == (
        f"{overlay} written: 2 proposals; review it, and apply it with --overlay {overlay}.\n"
    )
    assert len(yaml.safe_load(overlay.read_text())["actions"]) == 3
    again = run("learn", spec, "--from", cassette, "--overlay", overlay, "--json")
    assert json.loads(again.stdout)["deviations"] == []
    refused = run("learn", spec, "--from", cassette, "--output", overlay)
    assert refused.exit_code == 2
    assert "--force overwrites it" in refused.stderr


def test_without_output_the_next_step_is_named(run, write, seen):
    result = run("learn", write(PATHS), "--from", seen(entry({"id": 1, "born": 2020})))
    assert result.stderr == "--output FILE writes the proposals as an overlay.\n"
    assert run("learn", write(PATHS), "--from", seen(entry({"id": 1}))).stderr == ""


def test_evidence_stays_indented_on_a_narrow_terminal(write, seen):
    cassette = seen(*[entry({"id": 1, "born": 2020})] * 5)
    written = terminals.run_in_terminal(
        "learn", write(PATHS), "--from", cassette, width=60, NO_COLOR="1"
    )
    evidence = [line for line in written.splitlines() if "calls.json:" in line]
    assert len(evidence) > 1
    assert all(line.startswith("    ") for line in evidence)


def test_nothing_to_propose_writes_no_file(run, write, seen, tmp_path):
    result = run(
        "learn", write(PATHS), "--from", seen(entry({"id": 1})), "--output", tmp_path / "o"
    )
    assert "nothing to propose" in result.stderr
    assert not (tmp_path / "o").exists()


def test_json_has_the_deviations_the_changes_and_the_overlay(run, write, seen):
    elsewhere = entry({}, url="http://api.example.com/v1/other")
    cassette = seen(entry({"id": "a"}), entry({"id": 3}), elsewhere)
    data = json.loads(run("learn", write(PATHS), "--from", cassette, "--json").stdout)
    (deviation,) = data["deviations"]
    assert (deviation["kind"], deviation["proposed"]) == ("type", False)
    assert (deviation["observations"], deviation["contradictions"]) == (1, 1)
    assert data["unmatched"] == ["calls.json:3"]
    assert data["overlay"]["actions"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "calls.json: is not JSON"),
        ("{}", "must be a list of exchanges"),
        ("[1]", "calls.json:1: is neither a recorded exchange"),
        ('[{"request": {}, "response": {}}]', "calls.json:1: is neither a recorded exchange"),
        ("[" * 100_000, "calls.json: is not JSON"),
    ],
)
def test_a_damaged_cassette_is_named(refused, write, tmp_path, text, words):
    path = tmp_path / "calls.json"
    path.write_text(text)
    refused("learn", write(PATHS), "--from", path, messages=[words])


def test_a_place_without_evidence_is_named(refused, write, tmp_path):
    (tmp_path / "empty").mkdir()
    refused("learn", write(PATHS), "--from", tmp_path / "empty", messages=["contains no cassettes"])
    refused("learn", write(PATHS), "--from", tmp_path / "none", messages=["none: does not exist."])


def test_live_calls_do_not_leave_through_a_proxy(run, write, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://proxy.example:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("no_proxy", "")
    address = ("--base-url", "http://127.0.0.1:9", "--set", "trust_env=true")
    result = run("prove", write(PATHS), "--live", *address)
    assert result.exit_code == 2
    assert "not behind a proxy; add it to $NO_PROXY" in result.stderr
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert run("prove", write(PATHS), "--live", *address).exit_code == 1


SHOP = Path(__file__).parents[2] / "docs" / "examples" / "eval" / "shop.yaml"


@pytest.fixture
def bought(tmp_path):
    """Record how tea is bought at a mock of the shop, and return the folder."""
    folder = tmp_path / "seen"
    steps = [
        ("list_items", {"kind": "tea"}),
        ("place_order", {"items": [{"itemId": 1, "count": 2}]}),
        ("cancel_order", {"orderId": 1}),
    ]

    async def call():
        api = mock_api(load_tools(SHOP))
        settings = Settings(record=folder)
        async with load_tools(SHOP, client=api.client(), settings=settings) as tools:
            return [(await tools.call(*step)).success for step in steps]

    assert asyncio.run(call()) == [True] * 3
    return folder


def test_calls_become_a_workflow_that_replays(run, bought, tmp_path):
    path = tmp_path / "buy-tea.yaml"
    result = run("learn", SHOP, "--from", bought, "--workflow", path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{path} written: 3 steps, 2 links, 0 inputs.\n"
    arazzo = yaml.safe_load(path.read_text())
    assert arazzo["workflows"][0]["workflowId"] == "buy-tea"
    url = arazzo["sourceDescriptions"][0]["url"]
    assert (path.parent / url).resolve() == SHOP.resolve()
    again = run("learn", SHOP, "--from", bought, "--workflow", path)
    assert (again.exit_code, "--force overwrites it" in again.stderr) == (2, True)
    forced = run("learn", SHOP, "--from", bought, "--workflow", path, "--force", "--json")
    assert json.loads(forced.stdout)["workflow"] == arazzo
    replay = run("eval", SHOP, "--cases", path, "--model", "replay", "--at-least", "1")
    assert (replay.exit_code, replay.stderr) == (0, "")
    assert "1 of 1 cases passed: 100%" in replay.stdout


def test_calls_that_make_no_workflow_are_one_line(refused, write, seen, tmp_path):
    spec, path = write(PATHS), tmp_path / "flow.yaml"

    def refuse(*words, place=None, options=()):
        place = tmp_path / "calls.json" if place is None else place
        refused("learn", spec, "--from", place, "--workflow", path, *options, messages=words)
        assert not path.exists()

    seen(entry({}, status=500))
    refuse("no recorded call succeeded.")
    seen(entry({}, url="http://api.example.com/v1/other"))
    refuse("no successful call fits an operation of SPEC; the first is calls.json:1.")
    seen(entry({}, url="http://[v1/pet"))
    refuse("calls.json:1: is neither a recorded exchange")
    (tmp_path / "audit.log").write_text(json.dumps({"event": "call", "tool": "get_pet"}))
    refuse("an audit log has none", place=tmp_path / "audit.log")
    (tmp_path / "calls.json").write_text("{")
    refuse("calls.json: is not JSON")
    seen(entry({}))
    refuse("leave out --output", options=("--output", tmp_path / "overlay.yaml"))


def test_what_a_workflow_leaves_out_is_named(run, write, seen, tmp_path):
    other = "http://api.example.com/v1/other"
    cassette = seen(entry({}, url=f"{URL}?page=1&kind=x"), entry({}, url=other))
    result = run("learn", write(PATHS), "--from", cassette, "--workflow", tmp_path / "flow.yaml")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "1 call left out, such as calls.json:2: no operation of SPEC matches.",
        "left out, as SPEC declares no such parameter: get_pet: page, kind.",
    ]


def test_damaged_lines_are_left_out_and_named(run, refused, write, tmp_path):
    lines = [json.dumps(entry({"id": 1, "born": 2020})), '{"request": {"met', "[]", "\x1b[31m"]
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join([*lines, *["{"] * 4]))
    result = run("learn", write(PATHS), "--from", path)
    assert result.exit_code == 0, result.stderr
    assert "the property born is not documented" in result.stdout
    first, second, *warnings = result.stderr.splitlines()
    assert first.startswith("warning: calls.jsonl:2: is not JSON (")
    assert first.endswith("The line is left out.")
    assert second.startswith("warning: calls.jsonl:3: is neither a recorded exchange nor a call")
    assert "warning: 2 more lines left out." in warnings
    path.write_text("{\n")
    refused("learn", write(PATHS), "--from", path, messages=["calls.jsonl:1: is not JSON"])
