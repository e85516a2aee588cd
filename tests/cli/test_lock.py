"""`openapi-tools lock`: write a lock, see what has changed, accept it."""

import json

import pytest

PATHS = {"/pets": {"get": {"operationId": "list_pets"}, "post": {"operationId": "add_pet"}}}


@pytest.fixture
def spec(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write(PATHS)


def with_argument(write):
    parameter = {"name": "shop", "in": "query", "required": True, "schema": {"type": "string"}}
    get = {"operationId": "list_pets", "parameters": [parameter]}
    post = {"operationId": "add_pet", "summary": "Add a pet."}
    return write({"/pets": {"get": get, "post": post}})


def test_it_is_written_then_compared_then_accepted(run, spec, write, tmp_path):
    first = run("lock", spec)
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr == "openapi-tools.lock written: 2 tools.\n"
    same = run("lock", spec)
    assert (same.exit_code, same.stdout) == (0, "")

    other = with_argument(write)
    differs = run("lock", other)
    assert differs.exit_code == 1
    assert differs.stdout.splitlines()[:2] == [
        "list_pets changed; it may break callers",
        "    /shop is required now",
    ]
    assert "add_pet changed; existing callers keep working" in differs.stdout
    assert differs.stderr == "2 of 2 tools changed, 1 breaking.\n"
    (first, _) = json.loads(run("lock", other, "--json").stdout)["changes"]
    assert (first["tool"], first["breaking"]) == ("list_pets", True)
    assert first["lines"][0] == "/shop is required now"

    assert run("lock", other, "add_pet", "--accept").exit_code == 0
    assert "add_pet" not in run("lock", other).stdout
    assert run("lock", other, "--accept").exit_code == 0
    assert run("lock", other).exit_code == 0
    assert json.loads((tmp_path / "openapi-tools.lock").read_text())["lock"] == 1


def test_the_command_is_not_bound_by_the_lock_of_a_configuration(run, spec, write, tmp_path):
    config = tmp_path / "conf" / "openapi-tools.toml"
    config.parent.mkdir()
    config.write_text(f'source = "{spec}"\nlock = "pets.lock"\npolicy = "refuse"\n')
    missing = run("list", config)
    assert missing.exit_code == 2
    assert "the lock does not exist" in missing.stderr

    assert run("lock", config).exit_code == 0
    assert (config.parent / "pets.lock").exists()
    assert run("list", config).exit_code == 0

    spec.write_text(with_argument(write).read_text())
    refused = run("list", config)
    assert refused.exit_code == 2
    assert "/shop is required now" in refused.stderr
    assert run("lock", config).exit_code == 1
    assert run("lock", config, "--accept").exit_code == 0
    assert run("list", config).exit_code == 0


def test_mistakes_are_reported(run, refused, spec, tmp_path):
    run("lock", spec)
    refused("lock", spec, "add_pet", messages=["only be named with --accept"])
    refused("lock", spec, "no_pet", "--accept", messages=["neither a tool now nor in"])
    run("generate", spec, "--output", tmp_path / "out", "--name", "pets")
    manifest = tmp_path / "out" / "manifest.json"
    assert run("lock", spec, "--lock", manifest).exit_code == 0
    refused("lock", spec, "--lock", manifest, "--accept", messages=["openapi-tools generate"])


def test_an_api_of_a_server_is_locked_by_its_name(run, refused, spec, write, tmp_path):
    other = tmp_path / "shop.yaml"
    other.write_text(spec.read_text())
    config = tmp_path / "serve.toml"
    table = '[apis.{0}]\nsource = "{1}"\nlock = "{0}.lock"\nprefix = "{0}_"\n'
    config.write_text(table.format("pets", spec.name) + table.format("shop", other.name))

    refused("lock", config, messages=["configures 2 APIs; choose one with --api (pets, shop)."])
    refused("lock", config, "--api", "pet", messages=["has no API 'pet'; did you mean pets?"])
    assert run("lock", config, "--api", "pets").exit_code == 0
    assert set(json.loads((tmp_path / "pets.lock").read_text())["tools"]) == {
        "pets_list_pets",
        "pets_add_pet",
    }
    spec.write_text(with_argument(write).read_text())
    assert run("lock", config, "--api", "pets").exit_code == 1
    assert run("lock", config, "--api", "pets", "--accept").exit_code == 0
    assert run("lock", config, "--api", "pets").exit_code == 0


def test_the_only_api_with_a_lock_needs_no_name(run, spec, tmp_path):
    config = tmp_path / "serve.toml"
    table = f'source = "{spec.name}"\n'
    config.write_text(f'[apis.pets]\n{table}[apis.shop]\n{table}lock = "shop.lock"\n')

    assert run("lock", config).exit_code == 0
    assert (tmp_path / "shop.lock").exists()
