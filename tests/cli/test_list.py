"""`openapi-tools list`: in a pipe, on a terminal, as data."""

import json
import re
from dataclasses import replace

import pytest
import terminals

from openapi_tools.cli.text_layout import text_width
from openapi_tools.cli.tool_table import ToolRow, format_tool_table


def rows(result):
    return [line.split("\t") for line in result.stdout.splitlines()]


def test_every_tool_is_a_line_of_name_method_path_and_description(run, museum):
    lines = rows(run("list", museum))

    assert lines[0] == [
        "get_museum_hours",
        "GET",
        "/museum-hours",
        "Get upcoming museum operating hours.",
    ]
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
    ("spec", "options", "message"),
    [
        ("museum.yaml", ["--tag", "nope"], "has the tags Events, Operations, Tickets."),
        ("museum.yaml", ["--method", "gett"], "has the methods DELETE, GET, PATCH, POST."),
        ("museum.yaml", ["--tag", "x", "--method", "GET"], "Tickets and the methods DELETE, GET"),
        ("museum.yaml", ["--match", "nothing"], "has 8 tools with other names and paths."),
        ("discord.json", ["--tag", "x"], "the document has no tags."),
    ],
)
def test_a_choice_that_leaves_nothing_says_what_there_is(run, specs, spec, options, message):
    result = run("list", specs / spec, *options)

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("no tool is selected; ")
    assert message in result.stderr
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

    result, verbose, data = run("list", spec), run("list", spec, "-v"), run("list", spec, "--json")

    assert {done.exit_code for done in (result, verbose, data)} == {0 if works else 2}
    assert len(result.stdout.splitlines()) == works
    why = "skipped GET /bad at /paths/~1bad/get/parameters/0: "
    count = "1 tool.\n" * works
    assert verbose.stderr.startswith(count + why)
    assert "nowhere" in verbose.stderr
    assert result.stderr == (
        "1 operation skipped; -v lists the reasons.\n" if works else verbose.stderr
    )
    (skipped,) = json.loads(data.stdout)["skipped"]
    assert (skipped["method"], skipped["path"]) == ("GET", "/bad")
    assert skipped["reason"]


def test_the_number_of_tools_is_reported_at_the_end(run, museum):
    everything = terminals.run_in_terminal("list", museum, TERM="dumb")
    chosen = terminals.run_in_terminal("list", museum, "--tag", "Tickets", TERM="dumb")

    assert everything.endswith("\n\n8 tools.\n")
    assert chosen.endswith("\n\n2 of 8 tools.\n")
    assert run("list", museum, "-v", "--match", "hours").stderr == "1 of 8 tools.\n"
    assert run("list", museum).stderr == ""


def test_costs_are_reported_for_each_tool_and_in_all(run, museum):
    lines, stats = rows(result := run("list", museum, "--cost")), run("stats", museum, "--json")
    data = json.loads(run("list", museum, "--cost", "--json").stdout)

    costs = {row["name"]: row["shown"] for row in json.loads(stats.stdout)["tools"]}
    assert {name: {"bytes": int(size), "tokens": int(n)} for name, *_, size, n in lines} == costs
    assert {tool["name"]: tool["cost"] for tool in data["tools"]} == costs
    total = {key: sum(cost[key] for cost in costs.values()) for key in ("bytes", "tokens")}
    assert data["cost"] == total
    assert f"8 tools, {total['bytes']:,} bytes, {total['tokens']:,} tokens (" in result.stderr


SONG = "\u97f3\u697d\u3092\u8074\u304f cafe\u0301 \U0001f3b5" * 9
WIDE = ToolRow("listen", "GET", "/\u97f3\u697d", SONG)
LONG = ToolRow("name_" * 13, "DELETE", "/" + "long/" * 40, "word " * 40, "destructive")
MARKUP = ToolRow("a", "GET", "/[bold]x[/bold]", "[link=file:///etc/passwd]click[/link]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("numbers", [(), ("12,345", "6,789")])
@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200, 400])
def test_no_line_is_wider_than_the_terminal_and_each_has_a_description(width, numbers):
    table = [replace(row, numbers=numbers) for row in (WIDE, LONG, MARKUP)]

    lines = [COLOUR.sub("", line) for line in format_tool_table(table, width)]

    assert max(map(text_width, lines)) <= width
    text = "\n".join(lines)
    assert ["\u97f3\u697d\u3092" in text, "wor" in text, "[lin" in text] == [True] * 3
    assert LONG.name in text.replace("\n", "")


def words_of(written):
    return [line.split() for line in written.splitlines()]


def test_paths_are_cut_in_the_middle_and_names_are_whole(specs):
    written = terminals.run_in_terminal("list", specs / "discord.json", width=120, TERM="dumb")

    lines = {words[0]: words[2] for words in words_of(written)[1:] if len(words) > 2}
    assert lines["get_application_command"] == "/applications/{\u2026}/commands/{command_id}"
    assert lines["get_guild_application_command_permissions"] == (
        "/applications/\u2026/permissions"
    )
    assert "\u2026" not in "".join(lines)


def test_a_name_wider_than_its_column_has_a_line_of_its_own(specs):
    written = words_of(terminals.run_in_terminal("list", specs / "discord.json", TERM="dumb"))

    place = written.index(["list_guild_application_command_permissions"])
    assert written[place + 1] == ["GET", "\u2026/permissions"]


def test_a_narrow_terminal_gets_some_lines_for_each_tool(museum):
    written = terminals.run_in_terminal("list", museum, "--match", "buy", width=40, TERM="dumb")

    assert written == (
        "buy_museum_tickets\n"
        "  POST /tickets\n"
        "  Purchase museum tickets for general\n"
        "  entry or special events.\n"
        "\n"
        "1 of 8 tools.\n"
    )


@pytest.mark.parametrize(
    ("summary", "description", "expected"),
    [
        ("List Users", "Every user of the shop. Sorted by name.", "Every user of the shop."),
        ("list-users", "Every user\nof the shop\n\nMore.", "Every user of the shop"),
        ("List Users", "", "List Users"),
        ("List all users", "Every user.", "List all users"),
        ("List users users get", "Every user.", "Every user."),
    ],
)
def test_a_title_that_repeats_the_name_gives_way_to_the_description(
    run, write, summary, description, expected
):
    listed = {"operationId": "list_users_users_get", "summary": summary, "description": description}
    content = {"application/json": {"schema": {"title": "Users", "type": "array"}}}
    listed["responses"] = {"200": {"description": "ok", "content": content}}

    (row,) = rows(run("list", write({"/users": {"get": listed}})))

    assert row == ["list_users", "GET", "/users", expected]
