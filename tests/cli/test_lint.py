"""`openapi-tools lint`."""

import json

import pytest


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
