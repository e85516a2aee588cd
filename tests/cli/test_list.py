"""`openapi-tools list`."""

import json

import pytest

from openapi_tools.cli.document_commands import table


def rows(result):
    """Return the lines of a list, cell by cell."""
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
    assert listed["tools"] == [
        {
            "name": "delete_special_event",
            "method": "DELETE",
            "path": "/special-events/{eventId}",
            "description": listed["tools"][0]["description"],
            "tags": ["Events"],
            "deprecated": False,
            "read_only": False,
            "idempotent": True,
            "destructive": True,
        }
    ]
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
    assert told.stderr.startswith(why)
    assert "nowhere" in told.stderr
    assert result.stderr == ("1 operation skipped; -v says why.\n" if works else told.stderr)
    (skipped,) = json.loads(data.stdout)["skipped"]
    assert (skipped["method"], skipped["path"]) == ("GET", "/bad")
    assert skipped["reason"]


def test_the_table_fits_the_terminal_and_shows_texts_as_they_are():
    markup = ("a", "GET", "/[bold]x[/bold]", "[link=file:///etc/passwd]click[/link] :warning:")

    drawn = table([markup], width=120)
    narrow = table([("name", "GET", "/" + "long/" * 40, "word " * 40)], width=60)

    assert "/[bold]x[/bold]" in drawn
    assert "[link=file:///etc/passwd]click[/link] :warning:" in drawn
    assert "\x1b" not in drawn
    assert all(len(line) <= 60 for line in narrow.splitlines())


def test_a_terminal_gets_a_table(run, museum, monkeypatch):
    monkeypatch.setattr("openapi_tools.cli.document_commands._on_terminal", lambda: True)

    result = run("list", museum)

    assert result.stdout.split("\n")[0].split() == ["Name", "Method", "Path", "Description"]
