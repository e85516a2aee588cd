"""`openapi-tools list`, `lint` and `cache`, and `--no-cache` of commands that read a document."""

import json
import os

import pytest

from openapi_tools.cli.document_commands import table
from openapi_tools.loading import cache


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


@pytest.mark.parametrize("name", ["museum.yaml", "petstore.yaml", "cafe.yaml", "gotify.json"])
def test_a_good_document_has_no_errors(run, specs, name):
    result = run("lint", "-", stdin=(specs / name).read_bytes())

    assert result.exit_code == 0
    assert " 0 skipped, 0 errors, 0 notes" in result.stdout


NOTED = {"/d": {"get": {"responses": {"200": {"$ref": "other.yaml"}}}}}
SKIPPED = {"/c": {"get": {"parameters": [{"$ref": "#/nowhere"}]}}}


def test_findings_come_with_their_place(run, write):
    spec = write({"/a/{b}": {"get": {}}, **SKIPPED, **NOTED})

    result, data = run("lint", spec), run("lint", spec, "--json")

    assert (result.exit_code, data.exit_code) == (1, 1)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("error: /paths/")
    assert any(line.startswith("note: /paths/~1d/get/responses/200: ") for line in lines)
    assert any(line.startswith("skipped: /paths/~1c/get") for line in lines)
    told = json.loads(data.stdout)
    assert {item["severity"] for item in told["findings"]} == {"error", "note"}
    assert [item["path"] for item in told["skipped"]] == ["/c"]
    assert set(told) == {"findings", "skipped", "warnings", "counts"}


def test_a_note_alone_is_no_failure(run, write):
    result = run("lint", write(NOTED))

    assert result.exit_code == 0
    assert "0 errors, 1 notes" in result.stdout


def test_the_limit_keeps_the_list_short(run, write):
    path = write({f"/{n}/{{x}}": {"get": {}} for n in range(9)})

    result = run("lint", path, "--limit", "3")

    assert len([line for line in result.stdout.splitlines() if line.startswith("error")]) == 3
    assert "… and 6 more" in result.stdout


def test_a_key_that_stands_twice_in_a_large_document_is_found(run, write):
    path = write({f"/p{n}": {"get": {"description": "x" * 1000}} for n in range(1200)})
    path.write_text(path.read_text().replace('"/p2"', '"/p1"'))

    result = run("lint", path)

    assert result.exit_code == 1
    assert "/p1" in result.stdout
    assert "twice" in result.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of the test's own, which keeps small documents too."""
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    monkeypatch.setattr(cache, "MIN_BYTES", 1)
    return tmp_path / "cache"


def test_a_line_for_each_document_and_the_same_as_data(run, specs, museum, folder):
    before = run("cache")
    run("list", museum)
    size = next(folder.iterdir()).stat().st_size
    data = json.loads(run("cache", "--json").stdout)
    run("list", "-", stdin=(specs / "petstore.yaml").read_text())
    lines = [line.split("\t") for line in run("cache").stdout.splitlines()]

    assert (before.exit_code, before.stdout) == (0, "")
    assert before.stderr == f"0 in {folder}; --clear removes them.\n"
    (document,) = data["documents"]
    assert 0 <= document.pop("age") < 60
    assert document == {"source": str(museum), "size": size, "tools": 8}
    assert data["folder"] == str(folder)
    assert sorted(line[1:] for line in lines) == [
        ["less than a minute", "19 tools", "(text)"],
        ["less than a minute", "8 tools", str(museum)],
    ]
    assert all(line[0].endswith(" kB") for line in lines)


def test_what_is_of_no_use_is_said_to_be_so(run, museum, folder):
    run("list", museum)
    broken = next(folder.iterdir())
    broken.write_bytes(b"x" * 5_000_000)
    os.utime(broken, (0, 0))  # two files of one tick of the clock are listed in any order
    (folder / "new-1.part").write_bytes(b"")
    (folder / "else.txt").write_bytes(b"")

    assert run("cache").stdout.splitlines() == [
        "0.0 kB\t-\t-\t(of no use: another version, damaged or unfinished)",
        "5.0 MB\t-\t-\t(of no use: another version, damaged or unfinished)",
    ]
    documents = json.loads(run("cache", "--json").stdout)["documents"]
    assert [document["source"] for document in documents] == [None, None]


def test_a_name_cannot_steer_the_terminal(run, museum, folder, tmp_path):
    path = tmp_path / "a\x1b[31m\nb.yaml"
    path.write_bytes(museum.read_bytes())
    cache._FRESH, fresh = 0, cache._FRESH
    run("list", path)
    cache._FRESH = fresh

    assert "\\u001b[31m b.yaml" in run("cache").stdout


def test_it_is_cleared(run, museum, folder):
    run("list", museum)
    (folder / "else.txt").write_bytes(b"")

    assert run("cache", "--clear").stdout.startswith("1 document removed, ")
    assert [path.name for path in folder.iterdir()] == ["else.txt"]
    again = json.loads(run("cache", "--clear", "--json").stdout)
    assert again == {"folder": str(folder), "removed": 0, "bytes": 0}


@pytest.mark.parametrize(
    "command", ["list", "show get_museum_hours", "call get_museum_hours --dry-run", "lint"]
)
def test_no_cache(run, museum, folder, command):
    name, *args = command.split()
    plain = run(name, museum, *args, "--no-cache")
    assert not folder.exists()
    first, again = run(name, museum, *args), run(name, museum, *args)

    assert len(list(folder.iterdir())) == 1
    assert plain.stdout == first.stdout == again.stdout
    assert plain.exit_code == again.exit_code
