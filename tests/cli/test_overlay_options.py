"""Overlays on the command line, and in packages that are generated."""

from farms import YAML, farm, overlay, write_file


def test_commands_take_overlays(run, refused, tmp_path):
    spec, named = (
        write_file(tmp_path / "farm.json", farm()),
        write_file(tmp_path / "overlay.yaml", YAML),
    )
    gone = write_file(
        tmp_path / "gone.json", overlay({"target": "$.paths['/hens']", "remove": True})
    )
    options = ("--overlay", named, "--overlay", gone)

    listed = run("list", spec, *options)

    assert listed.stdout == "cows\tGET\t/cows\tCows of the farm\n"
    assert run("show", spec, "cows", *options).stdout.startswith("cows\nGET /cows\n\nCows of the")
    assert "1 tool, 0 skipped, 0 errors" in run("lint", spec, *options).stdout
    version = overlay({"target": "$", "update": {"openapi": "3.1.0"}})
    whole, root = write_file(tmp_path / "whole.json", version), farm()
    del root["openapi"]
    without = write_file(tmp_path / "without.json", root)
    assert "3 tools, 0 skipped, 0 errors" in run("lint", without, "--overlay", whole).stdout
    idle = write_file(tmp_path / "idle.json", overlay({"target": "$.x", "remove": True}))
    noted = run("list", spec, "-v", "--overlay", idle).stderr
    assert "idle.json#/actions/0: '$.x' selects nothing" in noted
    refused("list", spec, "--overlay", "none.yaml", messages=["error: none.yaml: no such file."])
    wrong = write_file(tmp_path / "wrong.json", overlay({"target": "x"}))
    refused("list", spec, "--overlay", wrong, messages=["wrong.json#/actions/0/target: 'x' is not"])
    newer = write_file(tmp_path / "newer.json", {**overlay({"target": "$"}), "overlay": "9.0.0"})
    refused(
        "list", spec, "--overlay", newer, messages=["newer.json#/overlay: '9.0.0' is not a version"]
    )


def test_a_package_is_generated_with_overlays_and_drifts_with_them(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path / "farm.json", farm())
    path = write_file(tmp_path / "overlay.yaml", YAML)
    table = '[tool.openapi-tools.generate.farm]\nspec = "farm.json"\noutput = "out"\n'
    write_file(tmp_path / "pyproject.toml", f'{table}overlays = ["overlay.yaml"]\n')

    first, same = run("generate"), run("generate", "--check")
    command = ("generate", "farm.json", "--name", "farm", "--output", "out", "--check")
    without_overlay, with_overlay = run(*command), run(*command, "--overlay", "overlay.yaml")
    path.write_text(YAML.replace("Cows of", "Oxen of"))
    drifted = run("generate", "--check")

    codes = [result.exit_code for result in (first, same, without_overlay, with_overlay, drifted)]
    assert codes == [0, 0, 1, 0, 1]
    assert "Cows of the farm" in (tmp_path / "out/farm_tools/tools_a.py").read_text()
    assert "description  cows: was 'Cows of the farm', is 'Oxen of" in drifted.stdout
    assert "need SPEC" in run("generate", "--overlay", "overlay.yaml").stderr
