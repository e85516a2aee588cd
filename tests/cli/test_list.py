"""`openapi-tools list`: in a pipe, on a terminal, as data."""

import json

import pytest
import terminals

from openapi_tools.cli.list_command import format_table
from openapi_tools.cli.output import text_width


def rows(result):
    return [line.split("\t") for line in result.stdout.splitlines()]


def test_every_tool_is_a_line_of_name_method_path_and_description(run, museum):
    lines = rows(run("list", museum))

    assert lines[0] == ["get_museum_hours", "GET", "/museum-hours", "Get museum hours"]
    assert [len(line) for line in lines] == [4] * 8


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--tag", "Tickets"], ["buy_museum_tickets", "get_ticket_code"]),
        (["--tag", "Tickets", "--tag", "Operations", "--method", "get"],
         ["get_museum_hours", "get_ticket_code"]),
        (["--method", "DELETE"], ["delete_special_event"]),
        (["--match", "hours"], ["get_museum_hours"]),
        (["--match", "/tickets/*"], ["get_ticket_code"]),
        (["--match", "buy_*", "--match", "*_code"], ["buy_museum_tickets", "get_ticket_code"]),
        (["--match", "*EVENTS"], ["create_special_event", "list_special_events"]),
        (["--match", "qr code"], ["get_ticket_code"]),
        (["--match", "Delete"], ["delete_special_event"]),
        (["--match", "nothing"], []),
    ],
)  # fmt: skip
def test_options_choose_among_the_tools(run, museum, options, expected):
    result = run("list", museum, *options)

    assert result.exit_code == 0
    assert [name for name, *_ in rows(result)] == expected


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        ("museum.yaml", ["--tag", "nope"], "has the tags Events, Operations, Tickets."),
        ("museum.yaml", ["--method", "gett"], "has the methods DELETE, GET, PATCH, POST."),
        ("museum.yaml", ["--tag", "x", "--method", "GET"], "Tickets and the methods DELETE, GET"),
        ("museum.yaml", ["--match", "nothing"], "has 8 tools with other names and paths."),
        ("discord.json", ["--tag", "x"], "the document has no tags."),
    ],
)
def test_a_choice_that_leaves_nothing_says_what_there_is(run, specs, spec, options, said):
    result = run("list", specs / spec, *options)

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("no tool is selected; ")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_json_holds_everything(run, museum):
    result = run("list", museum, "--json", "--match", "delete")

    listed = json.loads(result.stdout)
    (tool,) = listed["tools"]
    assert tool.pop("description").startswith("Delete")
    call = {"name": "delete_special_event", "method": "DELETE", "path": "/special-events/{eventId}"}
    facts = {"deprecated": False, "read_only": False, "idempotent": True, "destructive": True}
    facts["safety"] = "destructive"
    assert tool == {**call, "tags": ["Events"], **facts}
    assert listed["skipped"] == []
    assert listed["counts"]["operations"] == 8
    assert listed["counts"]["webhooks"] == 1


@pytest.mark.parametrize("works", [True, False])
def test_skipped_operations_are_counted_explained_and_in_the_json(run, write, works):
    broken = {"get": {"parameters": [{"$ref": "#/nowhere"}]}}
    spec = write({"/bad": broken, **({"/good": {"get": {}}} if works else {})})

    result, told, data = run("list", spec), run("list", spec, "-v"), run("list", spec, "--json")

    assert {done.exit_code for done in (result, told, data)} == {0 if works else 2}
    assert len(result.stdout.splitlines()) == works
    why = "skipped GET /bad at /paths/~1bad/get/parameters/0: "
    count = "1 tool.\n" * works
    assert told.stderr.startswith(count + why)
    assert "nowhere" in told.stderr
    assert result.stderr == (
        "1 operation skipped; -v lists the reasons.\n" if works else told.stderr
    )
    (skipped,) = json.loads(data.stdout)["skipped"]
    assert (skipped["method"], skipped["path"]) == ("GET", "/bad")
    assert skipped["reason"]


def test_the_number_of_tools_is_told_at_the_end(run, museum):
    everything = terminals.shown("list", museum, TERM="dumb")
    chosen = terminals.shown("list", museum, "--tag", "Tickets", TERM="dumb")

    assert everything.endswith("\n\n8 tools.\n")
    assert chosen.endswith("\n\n2 of 8 tools.\n")
    assert run("list", museum, "-v", "--match", "hours").stderr == "1 of 8 tools.\n"
    assert run("list", museum).stderr == ""


def test_costs_are_told_for_each_tool_and_in_all(run, museum):
    lines, told = rows(result := run("list", museum, "--cost")), run("stats", museum, "--json")
    data = json.loads(run("list", museum, "--cost", "--json").stdout)

    known = {row["name"]: row["shown"] for row in json.loads(told.stdout)["tools"]}
    assert {name: {"bytes": int(size), "tokens": int(n)} for name, *_, size, n in lines} == known
    assert {tool["name"]: tool["cost"] for tool in data["tools"]} == known
    total = {key: sum(cost[key] for cost in known.values()) for key in ("bytes", "tokens")}
    assert data["cost"] == total
    assert f"8 tools, {total['bytes']:,} bytes, {total['tokens']:,} tokens (" in result.stderr


SONG = "\u97f3\u697d\u3092\u8074\u304f cafe\u0301 \U0001f3b5" * 9
WIDE = ["listen", "GET", "/\u97f3\u697d", SONG]
LONG = ["name_" * 13, "DELETE", "/" + "long/" * 40, "word " * 40]
MARKUP = ["a", "GET", "/[bold]x[/bold]", "[link=file:///etc/passwd]click[/link] :warning:"]


@pytest.mark.parametrize("costs", [[], ["12345", "6789"]])
@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200, 400])
def test_no_line_is_wider_than_the_terminal_and_none_lacks_a_description(width, costs):
    table = [[*row, *costs] for row in (WIDE, LONG, MARKUP)]

    lines = list(format_table(table, width))

    plain = [line.replace("\x1b[0m", "").replace("\x1b[1m", "") for line in lines]
    plain = [line.replace("\x1b[36m", "") for line in plain]
    assert max(map(text_width, plain)) <= max(width, 44)
    assert len(plain) == 4
    if width >= 80:
        seen = ["\u97f3\u697d\u3092" in plain[1], "wor" in plain[2], "[lin" in plain[3]]
        assert seen == [True] * 3
        assert costs or LONG[0][:60] in plain[2]


def test_paths_are_there_where_they_fit(museum, specs):
    narrow = terminals.shown("list", museum, TERM="dumb")
    wide = terminals.shown("list", specs / "discord.json", width=200, TERM="dumb")
    small = terminals.shown("list", specs / "discord.json", width=80, TERM="dumb")

    assert narrow.splitlines()[0].split() == ["Name", "Method", "Path", "Description"]
    assert wide.splitlines()[0].split() == ["Name", "Method", "Path", "Description"]
    assert small.splitlines()[0].split() == ["Name", "Method", "Description"]
    assert max(map(len, small.splitlines()[:243])) == 80
