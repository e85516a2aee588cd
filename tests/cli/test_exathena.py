"""`openapi-tools generate --target exathena`."""

import json

import pytest


@pytest.fixture
def generate(run, tmp_path, monkeypatch):
    """Generate a project into `out`."""
    monkeypatch.chdir(tmp_path)

    def invoke(spec, *options, name="museum"):
        target = ("--target", "exathena", "--output", "out", "--name", name)
        return run("generate", spec, *target, *options)

    return invoke


def test_the_command_writes_a_project_and_checks_it(generate, museum, tmp_path):
    written, checked = generate(museum), generate(museum, "--check")

    assert (written.exit_code, checked.exit_code) == (0, 0)
    assert written.stdout == "museum: written, 8 tools in out\n  17 files written\n"
    assert checked.stdout == "museum: up to date, 8 tools in out\n"
    assert (tmp_path / "out/lib/museum_tools/tools/get_museum_hours.ex").is_file()


def test_what_is_left_out_is_said_on_standard_error(generate, write):
    body = {"content": {"multipart/form-data": {"schema": {"type": "object"}}}}
    spec = write({"/a": {"get": {}}, "/b": {"post": {"requestBody": body}}})

    result, data = generate(spec, name="x"), generate(spec, "--json", name="x")

    assert result.exit_code == 0
    assert "skipped POST /b at /paths/~1b/post: its body is multipart" in result.stderr
    (package,) = json.loads(data.stdout)["packages"]
    assert [item["path"] for item in package["skipped"]] == ["/b"]


def test_a_difference_is_shown_line_by_line(generate, museum, tmp_path):
    generate(museum)
    file = tmp_path / "out/mix.exs"
    file.write_text(file.read_text().replace("~> 0.5", "~> 0.4"))

    result = generate(museum, "--diff")

    assert result.exit_code == 1
    assert '+      {:req, "~> 0.5"}' in result.stdout


def test_what_the_target_does_not_have_is_a_usage_error(generate, museum):
    result = generate(museum, "--layout", "module")

    assert result.exit_code == 2
    assert "layout: 'module' is for Python" in result.stderr


@pytest.mark.parametrize(("target", "code"), [("exathena", 0), ("elm", 2)])
def test_a_project_file_may_name_the_target(run, museum, tmp_path, monkeypatch, target, code):
    monkeypatch.chdir(tmp_path)
    table = f'spec = "{museum}"\noutput = "out"\ntarget = "{target}"\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.openapi-tools.generate.museum]\n{table}")

    result = run("generate")

    assert result.exit_code == code
    assert (tmp_path / "out/mix.exs").is_file() is not bool(code)
    assert ("'target' must be one of python, exathena." in result.stderr) is bool(code)
