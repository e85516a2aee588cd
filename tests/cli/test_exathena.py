"""`openapi-tools generate --target exathena`."""

from __future__ import annotations

import json

TARGET = ("--target", "exathena", "--output", "out")


def test_the_command_writes_a_project_and_checks_it(run, museum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = (
        "generate",
        str(museum),
        "--name",
        "museum",
        "--target",
        "exathena",
        "--output",
        "out",
    )

    written, checked = run(*command), run(*command, "--check")

    assert (written.exit_code, checked.exit_code) == (0, 0)
    assert written.stdout == "museum: written, 8 tools in out\n  17 files written\n"
    assert checked.stdout == "museum: up to date, 8 tools in out\n"
    assert (tmp_path / "out/lib/museum_tools/tools/get_museum_hours.ex").is_file()


def test_what_is_left_out_is_said_on_standard_error(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = {"multipart/form-data": {"schema": {"type": "object"}}}
    answers = {"responses": {"200": {"description": "ok"}}}
    paths = {
        "/a": {"get": answers},
        "/b": {"post": {"requestBody": {"content": content}, **answers}},
    }
    document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    (tmp_path / "api.json").write_text(json.dumps(document))
    command = ("generate", "api.json", "--name", "x", *TARGET)

    result, data = run(*command), run(*command, "--json")

    assert result.exit_code == 0
    assert "skipped POST /b at /paths/~1b/post: its body is multipart" in result.stderr
    (package,) = json.loads(data.stdout)["packages"]
    assert [item["path"] for item in package["skipped"]] == ["/b"]


def test_a_difference_is_shown_line_by_line(run, museum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = (
        "generate",
        str(museum),
        "--name",
        "museum",
        "--target",
        "exathena",
        "--output",
        "out",
    )
    run(*command)
    file = tmp_path / "out/mix.exs"
    file.write_text(file.read_text().replace("~> 0.5", "~> 0.4"))

    result = run(*command, "--diff")

    assert result.exit_code == 1
    assert '+      {:req, "~> 0.5"}' in result.stdout


def test_what_the_target_does_not_have_is_a_usage_error(run, museum, tmp_path):
    command = ("generate", str(museum), "--target", "exathena", "--output", str(tmp_path / "o"))

    result = run(*command, "--layout", "module")

    assert result.exit_code == 2
    assert "layout: 'module' is for Python" in result.stderr


def test_a_project_file_may_name_the_target(run, museum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = "[tool.openapi-tools.generate.museum]\n"
    lines = f'spec = "{museum}"\noutput = "out"\ntarget = '
    (tmp_path / "pyproject.toml").write_text(f'{table}{lines}"exathena"\n')

    assert run("generate").exit_code == 0
    assert (tmp_path / "out/mix.exs").is_file()

    (tmp_path / "pyproject.toml").write_text(f'{table}{lines}"elm"\n')
    result = run("generate")
    assert result.exit_code == 2
    assert "'target' must be one of python, exathena." in result.stderr
