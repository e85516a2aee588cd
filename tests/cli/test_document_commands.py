"""`openapi-tools lint` and `cache`, and `--no-cache` of commands that read a document."""

import json
import os

import pytest

from openapi_tools.loading import cache


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
    assert lines[0].startswith("error: GET /a/{b} (get_a_b): ")
    assert any(line.startswith("note: GET /d (get_d) at /responses/200: ") for line in lines)
    assert any(line.startswith("skipped: GET /c at /parameters/0: ") for line in lines)
    report = json.loads(data.stdout)
    assert {item["severity"] for item in report["findings"]} == {"error", "note"}
    assert [item["path"] for item in report["skipped"]] == ["/c"]
    assert set(report) == {"findings", "hints", "skipped", "warnings", "counts", "score"}
    noted = run("lint", write(NOTED))
    assert (noted.exit_code, "0 errors, 1 note," in noted.stdout) == (0, True)


def test_the_limit_keeps_the_list_short(run, write):
    path = write({f"/{n}/{{x}}": {"get": {}} for n in range(9)})

    result = run("lint", path, "--limit", "3")

    assert len([line for line in result.stdout.splitlines() if line.startswith("error")]) == 3
    assert "… and 6 more; --limit shows more, --json all.\n" in result.stdout


def test_equal_findings_are_one_group_with_their_operations(run, write):
    named = [{"name": name, "in": "query", "schema": {}} for name in ("a", "b")]
    paths = {
        f"/{n}": {
            "get": {"operationId": f"op{n}", "summary": "s", "parameters": named[: n % 2 + 1]}
        }
        for n in range(30)
    }
    path = write(paths, security=[{}])

    lines = run("lint", path, "--limit", "20").stdout.splitlines()

    start = next(n for n, line in enumerate(lines) if "undescribed-arguments" in line)
    assert lines[start : start + 6] == [
        "hint: undescribed-arguments: 45 arguments without a description: a (30), b (15).",
        "    GET /0 (op0): a",
        "    GET /1 (op1): a, b",
        "    GET /2 (op2): a",
        "    GET /3 (op3): a, b",
        "    … and 26 more",
    ]


def test_a_finding_alone_is_one_line(run, write):
    named = [{"name": "a", "in": "query", "schema": {}}]
    operation = {"operationId": "op", "summary": "s", "parameters": named}

    lines = run("lint", write({"/x": {"get": operation}}, security=[{}])).stdout.splitlines()

    reason = "undescribed-arguments: 1 of 1 argument without a description: a."
    assert f"hint: GET /x (op): {reason}" in lines


def test_a_finding_is_printed_and_counted_by_its_severity(run, write):
    lines = run("lint", write({"/x": {"get": {"summary": "s"}}}, security=[{}])).stdout.splitlines()

    assert [line.split(":")[0] for line in lines[:-1]] == ["warning"]
    assert "0 notes, 1 warning, 0 hints; score" in lines[-1]


def test_a_key_that_stands_twice_in_a_large_document_is_found(run, write):
    path = write({f"/p{n}": {"get": {"description": "x" * 12_000}} for n in range(100)})
    path.write_text(path.read_text().replace('"/p2"', '"/p1"'))

    result = run("lint", path)

    assert result.exit_code == 1
    assert "/p1" in result.stdout
    assert "is a duplicate key" in result.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of the test's own, which keeps small documents too."""
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    monkeypatch.setattr("openapi_tools.loading.source.MIN_CACHED_BYTES", 1)
    return tmp_path / "cache"


def test_a_line_for_each_document_and_the_same_as_data(run, specs, museum, folder):
    before = run("cache")
    run("list", museum)
    size = next(folder.iterdir()).stat().st_size
    data = json.loads(run("cache", "--json").stdout)
    run("list", "-", stdin=(specs / "petstore.yaml").read_text())
    lines = [line.split("\t") for line in run("cache").stdout.splitlines()]

    assert (before.exit_code, before.stdout) == (0, "")
    assert before.stderr == f"0 documents in {folder}; --clear removes them.\n"
    (document,) = data["documents"]
    assert 0 <= document.pop("age") < 60
    assert document == {"source": str(museum), "size": size, "tools": 8}
    assert data["folder"] == str(folder)
    assert sorted(line[1:] for line in lines) == [
        ["less than a minute", "19 tools", "(text)"],
        ["less than a minute", "8 tools", str(museum)],
    ]
    assert all(line[0].endswith(" kB") for line in lines)


def test_what_is_of_no_use_is_reported(run, museum, folder):
    run("list", museum)
    broken = next(folder.iterdir())
    broken.write_bytes(b"x" * 5_000_000)
    os.utime(broken, (0, 0))  # two files of one tick of the clock are listed in any order
    (folder / "new-1.part").write_bytes(b"")
    (folder / "else.txt").write_bytes(b"")

    assert run("cache").stdout.splitlines() == [
        "0.0 kB\t-\t-\t(unusable: another version, damaged or unfinished)",
        "5.0 MB\t-\t-\t(unusable: another version, damaged or unfinished)",
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

    assert [path.suffix for path in folder.iterdir()].count(".index") == 1
    assert plain.stdout == first.stdout == again.stdout
    assert plain.exit_code == again.exit_code
