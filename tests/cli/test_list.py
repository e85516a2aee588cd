"""`openapi-tools list`."""

import json

import pytest

from openapi_tools.cli.document_commands import table


def names(result):
    """Return the names in a list."""
    return [line.split("\t")[0] for line in result.stdout.splitlines()]


def test_every_tool_is_a_line_of_name_method_path_and_description(run, museum):
    result = run("list", museum)

    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert len(lines) == 8
    assert lines[0] == ["get_museum_hours", "GET", "/museum-hours", "Get museum hours"]
    assert all(len(line) == 4 for line in lines)


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
    assert names(result) == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tag", "nope"], "the document has the tags Events, Operations, Tickets."),
        (["--method", "gett"], "the document has the methods DELETE, GET, PATCH, POST."),
        (["--tag", "x", "--method", "GET"], "Tickets and the methods DELETE, GET"),
        (["--match", "nothing"], "the document has 8 tools with other names and paths."),
    ],
)
def test_a_choice_that_leaves_nothing_says_what_there_is(run, museum, options, said):
    result = run("list", museum, *options)

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("no tool is selected; ")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_choice_by_tag_in_a_document_without_tags_says_so(run, write):
    path = write({"/a": {"get": {}}})

    assert "the document has no tags." in run("list", path, "--tag", "x").stderr


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


@pytest.fixture
def broken(write):
    """A document with one operation that cannot be called."""
    wrong = {"parameters": [{"$ref": "#/nowhere"}]}
    return write({"/good": {"get": {}}, "/bad": {"get": wrong}})


def test_skipped_operations_are_counted_explained_and_in_the_json(run, broken):
    result, told = run("list", broken), run("list", broken, "-v")
    (skipped,) = json.loads(run("list", broken, "--json").stdout)["skipped"]

    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr == "1 operation skipped; -v says why.\n"
    assert "skipped GET /bad" in told.stderr
    assert "nowhere" in told.stderr
    assert (skipped["method"], skipped["path"]) == ("GET", "/bad")
    assert skipped["reason"]


def test_the_table_fits_the_terminal_and_shows_texts_as_they_are():
    rows = [("a", "GET", "/[bold]x[/bold]", "[link=file:///etc/passwd]click[/link] :warning:")]

    drawn = table(rows, width=120)
    narrow = table([("name", "GET", "/" + "long/" * 40, "word " * 40)], width=60)

    assert "/[bold]x[/bold]" in drawn
    assert "[link=file:///etc/passwd]click[/link] :warning:" in drawn
    assert "\x1b" not in drawn
    assert all(len(line) <= 60 for line in narrow.splitlines())


def test_a_terminal_gets_a_table(run, museum, monkeypatch):
    monkeypatch.setattr("openapi_tools.cli.document_commands._on_terminal", lambda: True)

    result = run("list", museum)

    assert result.stdout.split("\n")[0].split() == ["Name", "Method", "Path", "Description"]


@pytest.mark.parametrize("options", [[], ["--json"], ["-v"]])
def test_a_document_whose_every_operation_is_skipped_is_a_failure_with_the_reasons(
    run, write, options
):
    broken = {"in": "query", "schema": {"type": "string"}}
    spec = write({"/a": {"get": {"operationId": "a", "parameters": [broken]}}})

    result = run("list", spec, *options)

    assert result.exit_code == 2
    assert "skipped GET /a at /paths/~1a/get/parameters/0: " in result.stderr
