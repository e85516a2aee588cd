"""An API as a folder of the Agent Skills format: its rules, its calls, hostile documents."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
from corpus import ABSENT, FOLDER, entries, parameters
from documents import document, operation
from hostile_documents import PAYLOADS, hostile
from hypothesis import HealthCheck, given, settings, strategies
from markdown_it import MarkdownIt
from output_folders import files_in, nothing_changes
from packages import ROOT
from servers.site import Site, SiteResponse
from skill_rules import (
    assert_front_matter,
    assert_skill,
    list_examples,
    split_command,
    split_front_matter,
)

from openapi_tools import OutputError, Select, Settings, SettingsError, generate_package, load_tools
from openapi_tools.cli.argument_values import read_arguments, read_json_option
from openapi_tools.codegen.skill_text import find_useful_tools, write_code_span
from openapi_tools.testing import mock_api
from openapi_tools.tools.argument_names import find_api_names
from openapi_tools.validation.checker import Checker

MUSEUM = ROOT / "specs" / "museum.yaml"
CONFIGURATION = "assets/openapi-tools.toml"
LARGE = {
    "github": FOLDER / "github" / "api.github.com.json",
    "stripe": FOLDER / "stripe" / "stripe-old.yaml",
}
FEW = {name: PAYLOADS[name] for name in ("fence", "headings", "YAML", "table", "link", "HTML")}


def generate(source, folder, **options):
    """Write a skill, and return its files."""
    generate_package(source, folder, target="skill", **options)
    return files_in(folder)


def read_words(tool, words):
    """Return the arguments that the command line reads from words."""
    schema = tool.input_schema
    if words[:1] == ["--json"]:
        return read_json_option(words[1])
    names = find_api_names(tool.operation, schema["properties"])
    return read_arguments(tuple(words), schema, names)


async def run_examples(folder):
    """Call every example of a skill against the judged mock of its own document."""
    api = mock_api(folder / "assets" / "openapi.json", state=False)
    faults, count = {}, 0
    config = folder / CONFIGURATION
    async with load_tools(config, client=api.client(), anonymous=True) as toolset:
        for example in list_examples(files_in(folder)):
            name, words = split_command(example)
            result = await toolset.call(name, read_words(toolset[name], words))
            count += 1
            if not result.success:
                faults[name] = str(result)
    return count, faults, api.faults


def test_a_skill_keeps_the_rules_of_the_format(tmp_path):
    files = generate(MUSEUM, tmp_path / "museum")

    assert_skill(files, "museum")
    assert sorted(files) == [
        "SKILL.md",
        "assets/openapi-tools.toml",
        "assets/openapi.json",
        "manifest.json",
        *(f"references/{topic}.md" for topic in ("events", "operations", "tickets")),
        "scripts/api.py",
    ]
    assert "Events" in split_front_matter(files["SKILL.md"])[0]["description"]
    assert json.loads(files["assets/openapi.json"]) == load_tools(MUSEUM).document


def test_the_formats_own_validator_accepts_it(tmp_path):
    skills_ref = pytest.importorskip("skills_ref", reason="skills-ref is not installed")
    generate(MUSEUM, tmp_path / "museum")
    generate(hostile(PAYLOADS["YAML"]), tmp_path / "hostile")

    assert skills_ref.validate(tmp_path / "museum") == []
    assert skills_ref.validate(tmp_path / "hostile") == []
    assert skills_ref.validate(tmp_path) != []


@pytest.mark.parametrize("spec", ["museum.yaml", "petstore.yaml", "gotify.json"])
async def test_every_example_runs_against_the_judged_mock(tmp_path, spec):
    generate(ROOT / "specs" / spec, tmp_path / "api")

    count, faults, judged = await run_examples(tmp_path / "api")

    assert (faults, judged) == ({}, [])
    assert count == len(load_tools(ROOT / "specs" / spec))


@pytest.mark.long
@pytest.mark.parametrize("name", LARGE)
async def test_every_example_of_a_large_api_runs_against_the_judged_mock(tmp_path, name, capsys):
    if not LARGE[name].is_file():
        pytest.skip(ABSENT)
    report = generate_package(LARGE[name], tmp_path / name, target="skill")
    files = files_in(tmp_path / name)

    count, faults, judged = await run_examples(tmp_path / name)

    with capsys.disabled():
        main, whole = report.sizes["SKILL.md"], sum(report.sizes.values())
        print(f"\n{name}: {count} operations, SKILL.md {main:,} bytes, {whole:,} bytes in all")
    assert (faults, judged) == ({}, [])
    assert count == len(report.tools)
    assert_skill(files, name)
    # The format advises 500 lines; hosts take 512 files of 16 MiB (SEP-2640).
    assert len(files["SKILL.md"].splitlines()) < 500
    assert len(files) <= 512
    assert sum(report.sizes.values()) < 16 * 1024 * 1024


@pytest.mark.long
@pytest.mark.parametrize("entry", parameters(entries()))
def test_a_published_document_becomes_a_skill_whose_examples_fit(tmp_path, entry):
    report = generate_package(entry.file, tmp_path / "api", target="skill")
    files = files_in(tmp_path / "api")
    toolset = load_tools(tmp_path / "api" / CONFIGURATION)

    assert_skill(files, "api")
    examples = [split_command(example) for example in list_examples(files)]
    names = sorted(name for name, _ in examples)
    assert names == sorted(report.tools) == sorted(tool.name for tool in toolset)
    for name, words in examples:
        tool = toolset[name]
        assert Checker(tool.input_schema).fits(read_words(tool, words)), (name, words)


def test_arguments_are_typed_so_that_they_are_read_unchanged(tmp_path):
    texts = [
        "@x",
        " x",
        "a  b",
        "5",
        "true",
        "",
        "\n",
        "é",
        "`",
        "--json",
        "it's",
        "a\\",
        "=",
    ]
    parameters = [
        {"name": "q", "in": "query", "required": True, "schema": {"type": "string", "const": text}}
        for text in texts
    ]
    paths = {
        f"/{number}": {"get": operation(operationId=f"get_{number}", parameters=[each])}
        for number, each in enumerate(parameters)
    }
    files = generate(document(paths), tmp_path / "api")
    toolset = load_tools(tmp_path / "api" / CONFIGURATION)

    commands = map(split_command, list_examples(files))
    read = {name: read_words(toolset[name], words) for name, words in commands}

    assert read == {f"get_{number}": {"q": text} for number, text in enumerate(texts)}


@given(strategies.text())
def test_no_text_ends_a_code_span(text):
    span = write_code_span(text)
    (paragraph,) = MarkdownIt("commonmark").parseInline(f"a {span} b")

    assert span.isprintable()
    assert [token.type for token in paragraph.children] == ["text", "code_inline", "text"]
    assert [paragraph.children[0].content, paragraph.children[2].content] == ["a ", " b"]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
@given(title=strategies.text(min_size=1), about=strategies.text(), version=strategies.text())
def test_front_matter_of_any_document_is_valid(tmp_path, title, about, version):
    info = {"title": title, "description": about, "version": version}
    paths = {"/a": {"get": operation(operationId="a")}}
    source = {**document(paths), "info": info}

    generate_package(source, tmp_path / "api", target="skill", name="api", force=True)

    fields, _ = split_front_matter(files_in(tmp_path / "api")["SKILL.md"])
    assert_front_matter(fields, "api")


@pytest.mark.parametrize("name", FEW)
def test_a_hostile_document_breaks_out_of_nothing(tmp_path, name):
    assert_hostile(FEW[name], tmp_path / "api")


@pytest.mark.long
def test_no_hostile_document_breaks_out_of_anything(tmp_path):
    wrong = {}
    for number, (name, text) in enumerate(PAYLOADS.items()):
        try:
            assert_hostile(text, tmp_path / f"api-{number}")
        except (AssertionError, ValueError) as error:
            wrong[name] = repr(error)[:300]

    assert wrong == {}


def assert_hostile(text, folder):
    files = generate(hostile(text), folder, name="museum")
    toolset = load_tools(folder / CONFIGURATION)

    assert_skill(files, folder.name)
    configuration = tomllib.loads(files[CONFIGURATION])
    assert configuration.keys() <= {"source", "credentials"}
    assert configuration["source"] == "openapi.json"
    assert files["scripts/api.py"] == _script()
    names = [split_command(example)[0] for example in list_examples(files)]
    tools = [tool.name for tool in toolset]
    # The copy has no lone surrogates, so operations that they make unusable are tools of it.
    assert sorted(names) == sorted(tools) or ({*names} < {*tools} and is_lone(text))


def is_lone(text):
    return any("\ud800" <= character <= "\udfff" for character in text)


def _script():
    template = ROOT / "openapi_tools" / "codegen" / "skill_templates" / "api.py.jinja"
    return template.read_text()


def test_credentials_are_read_from_the_environment(tmp_path, monkeypatch):
    schemes = {
        "key": {"type": "apiKey", "in": "query", "name": "key"},
        "user name": {"type": "http", "scheme": "basic"},
        "unused": {"type": "http", "scheme": "bearer"},
    }
    needs = [{"name": "key", "in": "query", "required": True, "schema": {"type": "string"}}]
    get_a = operation(operationId="get_a", parameters=needs, security=[{"key": []}])
    get_b = operation(operationId="get_b", security=[{"user name": []}])
    source = document(
        {"/a": {"get": get_a}, "/b": {"get": get_b}},
        components={"securitySchemes": schemes},
        servers=[{"url": "https://shop.example"}],
    )
    files = generate(source, tmp_path / "shop", name="shop")
    monkeypatch.setenv("SHOP_KEY", "k-123456")
    monkeypatch.setenv("SHOP_USER_NAME_USER", "ann")
    monkeypatch.setenv("SHOP_USER_NAME", "p-123456")

    toolset = load_tools(tmp_path / "shop" / CONFIGURATION)

    assert toolset.warnings == ()
    assert tomllib.loads(files[CONFIGURATION])["credentials"] == {
        "key": "${SHOP_KEY}",
        "user name": ["${SHOP_USER_NAME_USER}", "${SHOP_USER_NAME}"],
    }
    assert (
        "| `SHOP_USER_NAME_USER`, `SHOP_USER_NAME` | user name | http basic |" in files["SKILL.md"]
    )
    # Nobody passes the key as an argument.
    assert [split_command(example) for example in list_examples(files)] == [
        ("get_a", []),
        ("get_b", []),
    ]
    assert toolset["get_a"].preview({}).url.params["key"] == "***"
    assert "authorization" in toolset["get_b"].preview({}).headers


def test_a_variable_that_is_set_for_another_purpose_is_named(tmp_path, monkeypatch):
    schemes = {"secret_access_key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    source = document(
        {"/a": {"get": operation(operationId="get_a", security=[{"secret_access_key": []}])}},
        components={"securitySchemes": schemes},
        info={"title": "AWS", "version": "1"},
        servers=[{"url": "https://eve.example"}],
    )
    quiet = generate_package(source, tmp_path / "one", target="skill")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "k-123456")
    loud = generate_package(source, tmp_path / "two", target="skill")
    renamed = generate_package(source, tmp_path / "three", target="skill", name="other")

    (warning,) = set(loud.warnings) - set(quiet.warnings)
    assert "AWS_SECRET_ACCESS_KEY is set here" in warning
    assert "to https://eve.example; pass another name" in warning
    assert renamed.warnings == quiet.warnings


@pytest.mark.parametrize("version", ["3.1.0", "2.0"])
@pytest.mark.parametrize("servers", [[{"url": "/v1"}], []])
def test_a_copy_keeps_the_address_that_its_document_came_from(tmp_path, version, servers):
    paths = {"/a": {"get": operation(operationId="a")}}
    source = document(paths, servers=servers)
    if version == "2.0":
        info = {"title": "Shop", "version": "1"}
        base = {"basePath": servers[0]["url"]} if servers else {}
        source = {"swagger": "2.0", "info": info, "paths": paths, **base}
    with Site(lambda _: SiteResponse(source)) as site:
        generate_package(f"{site.url}/shop.json", tmp_path / "shop", target="skill")
        expected = str(load_tools(f"{site.url}/shop.json")["a"].preview({}).url)

    assert str(load_tools(tmp_path / "shop" / CONFIGURATION)["a"].preview({}).url) == expected


@pytest.mark.parametrize("spec", [{"openapi": "3.1.0"}, {"swagger": "2.0", "basePath": "/v1"}])
def test_without_an_address_the_skill_says_what_to_add(tmp_path, spec):
    paths = {"/a": {"get": operation(operationId="a")}}
    source = {**spec, "info": {"title": "Shop", "version": "1"}, "paths": paths}
    files = generate(source, tmp_path / "shop")

    toolset = load_tools(tmp_path / "shop" / CONFIGURATION, base_url="http://localhost:1")

    assert "add `--base-url URL` to each call" in files["SKILL.md"]
    assert toolset["a"].preview({}).url.path.endswith("/a")
    assert "--base-url" not in generate(MUSEUM, tmp_path / "museum")["SKILL.md"]


def test_two_schemes_never_share_a_variable(tmp_path):
    schemes = {
        "a": {"type": "http", "scheme": "basic"},
        "A": {"type": "http", "scheme": "basic"},
        "a user": {"type": "http", "scheme": "bearer"},
        "é": {"type": "http", "scheme": "bearer"},
        "x" * 90: {"type": "http", "scheme": "bearer"},
        "x" * 91: {"type": "http", "scheme": "bearer"},
    }
    paths = {"/a": {"get": operation(operationId="a", security=[{name: []} for name in schemes])}}
    files = generate(document(paths, components={"securitySchemes": schemes}), tmp_path / "shop")

    values = tomllib.loads(files[CONFIGURATION])["credentials"].values()
    variables = [each for value in values for each in (value if type(value) is list else [value])]
    assert len({*variables}) == len(variables) == 8
    assert all(re.fullmatch(r"\$\{[A-Z][A-Z0-9_]*\}", variable) for variable in variables)


def test_secrets_in_server_addresses_are_not_written(tmp_path):
    servers = [{"url": "https://ann:hunter22@shop.example"}]
    paths = {"/a": {"get": operation(operationId="a", servers=servers), "servers": servers}}

    files = generate(document(paths, servers=servers), tmp_path / "shop")

    assert [path for path, text in files.items() if "hunter22" in text] == []


def test_a_selection_and_a_configuration_shape_the_tools_of_the_command(tmp_path):
    config = {"prefix": "m_", "base_url": "http://localhost:1", "tools": {
        "get_museum_hours": {"name": "hours", "defaults": {"limit": 3}},
        "get_*": {"timeout": 5.0},
    }}  # fmt: skip
    files = generate(
        MUSEUM, tmp_path / "museum", config=config, select=Select(tags=["Operations", "Events"])
    )

    toolset = load_tools(tmp_path / "museum" / CONFIGURATION)

    assert [tool.name for tool in toolset] == json.loads(files["manifest.json"])["tools"]
    assert "m_hours" in toolset
    assert len(toolset) == 6
    url = toolset["m_hours"].preview({}).url
    assert str(url) == "http://localhost:1/museum-hours?limit=3"


def test_settings_that_shape_tools_are_kept_and_others_reported(tmp_path):
    shaped = Settings(body="nested", description_chars=40, max_output_chars=900)
    report = generate_package(MUSEUM, tmp_path / "museum", target="skill", settings=shaped)

    toolset = load_tools(tmp_path / "museum" / CONFIGURATION)

    assert report.warnings == (
        "settings: max_output_chars has no effect on a package; set it where the command is run.",
    )
    assert "body" in toolset["create_special_event"].input_schema["properties"]


def test_the_same_document_gives_the_same_bytes_and_checking_reports_drift(tmp_path):
    first = generate(MUSEUM, tmp_path / "a" / "museum")
    second = generate(MUSEUM, tmp_path / "b" / "museum")
    changed = tmp_path / "changed.yaml"
    changed.write_text(MUSEUM.read_text().replace("Get museum hours", "Opening hours"))

    with nothing_changes(tmp_path):
        same = generate_package(MUSEUM, tmp_path / "a" / "museum", target="skill", check=True)
        other = generate_package(changed, tmp_path / "a" / "museum", target="skill", check=True)

    assert first == second
    assert (same.drifted, other.drifted) == (False, True)
    assert set(other.written) == {
        "SKILL.md",
        "assets/openapi.json",
        "manifest.json",
        "references/operations.md",
    }


@pytest.mark.parametrize(
    ("name", "better"),
    [("Museum", "museum"), ("a--b", "a-b"), ("-a", "a"), ("a_b", "a-b"), ("x" * 65, "x" * 64),
     ("é", "museum-api")],
)  # fmt: skip
def test_a_folder_must_have_the_name_of_a_skill(tmp_path, name, better):
    with pytest.raises(OutputError, match=rf"a skill has the name of its folder.*, as {better}\."):
        generate_package(MUSEUM, tmp_path / name, target="skill")

    assert list(tmp_path.iterdir()) == []


def test_a_skill_has_one_layout_and_replaces_no_package(tmp_path):
    generate_package(MUSEUM, tmp_path / "museum", name="museum")

    with pytest.raises(SettingsError, match="layout 'module' is for the target python"):
        generate_package(MUSEUM, tmp_path / "b", target="skill", layout="module")
    with pytest.raises(OutputError, match="is here in the layout 'package'"):
        generate_package(MUSEUM, tmp_path / "museum", name="museum", target="skill")


def test_the_most_useful_operations_are_read_first_and_of_every_topic():
    reads = {f"/a/{{id}}{tail}": {"get": operation(tags=["a"])} for tail in ("", "/x", "/y")}
    paths = {
        "/a": {"post": operation(tags=["a"]), "get": operation(tags=["a"], deprecated=True)},
        **reads,
        "/v1/b": {"get": operation()},
        "/v1/b/c": {"get": operation()},
    }
    useful = find_useful_tools(list(load_tools(document(paths))))

    assert [f"{tool.method} {tool.path}" for tool in useful] == [
        "GET /a/{id}", "GET /v1/b", "GET /a/{id}/x", "GET /v1/b/c", "GET /a/{id}/y", "POST /a",
        "GET /a",
    ]  # fmt: skip


def test_the_script_calls_from_any_folder(tmp_path):
    generate(MUSEUM, tmp_path / "museum")
    script = tmp_path / "museum" / "scripts" / "api.py"

    def run(*words, path=os.environ["PATH"]):
        return subprocess.run(
            [sys.executable, script, *words],
            cwd=tmp_path, env={**os.environ, "PATH": path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    commands = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))  # noqa: PTH120
    assert shutil.which("openapi-tools", path=commands)
    called = run("call", "get_museum_hours", "limit=1", "--mock", path=commands)
    assert (called.returncode, "timeOpen" in called.stdout) == (0, True), called.stderr
    assert run("call", path=str(tmp_path)).stderr == (
        "openapi-tools is missing: install its clone, wheel or repository\n"
    )
    assert run("generate", path=commands).returncode == 2
