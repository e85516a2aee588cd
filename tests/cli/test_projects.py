"""`openapi-tools generate` without SPEC: the packages that pyproject.toml lists."""

import json

import pytest
from output_folders import files_in, tree

from openapi_tools.generate import generate_package
from openapi_tools.settings import Settings

TABLE = "[tool.openapi-tools.generate.museum]\n"
SPEC = 'spec = "specs/museum.yaml"\n'
OUTPUT = 'output = "out/museum"\n'
GOOD = TABLE + SPEC + OUTPUT
BOTH = f'{GOOD}[tool.openapi-tools.generate.gallery]\n{SPEC}output = "out/gallery"\n'


@pytest.fixture
def project(tmp_path, monkeypatch, museum):
    """A project with a document, in which the test works; give it the text of pyproject.toml."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/museum.yaml").write_bytes(museum.read_bytes())
    monkeypatch.chdir(tmp_path)

    def write_project(text):
        (tmp_path / "pyproject.toml").write_text(text)
        return tmp_path

    return write_project


@pytest.fixture
def refusal(refused):
    """Return the one line of a run that fails, after the usage if that is shown."""

    def invoke():
        *usage, line = refused("generate").splitlines()
        assert usage in ([], ["Usage: openapi-tools generate [OPTIONS] [SPEC]"])
        assert line.startswith("openapi-tools: error: ")
        return line.removeprefix("openapi-tools: error: ")

    return invoke


def test_every_listed_package_is_generated(run, project):
    folder = project(BOTH)

    result = run("generate")

    assert result.exit_code == 0
    assert result.stdout == (
        "museum: written, 8 tools in out/museum\n  12 files written\n"
        "gallery: written, 8 tools in out/gallery\n  12 files written\n"
    )
    assert (folder / "out/gallery/gallery_tools/index.py").is_file()
    assert run("generate", "--check").stdout == (
        "museum: up to date, 8 tools in out/museum\ngallery: up to date, 8 tools in out/gallery\n"
    )


def test_one_of_several_that_has_drifted_is_enough(run, project):
    folder = project(BOTH)
    run("generate")
    (folder / "out/museum/README.md").unlink()

    result = run("generate", "--check", "--json")

    assert result.exit_code == 1
    packages = json.loads(result.stdout)["packages"]
    assert [(package["api"], package["drifted"]) for package in packages] == [
        ("museum", True),
        ("gallery", False),
    ]


def test_the_file_is_found_from_a_folder_below_and_its_paths_are_its_own(run, project, monkeypatch):
    folder = project(GOOD)
    (folder / "src/deep").mkdir(parents=True)
    monkeypatch.chdir(folder / "src/deep")

    result = run("generate")

    assert result.exit_code == 0
    assert (folder / "out/museum/manifest.json").is_file()
    assert tree(folder / "src") == {"deep/": ""}


def test_the_nearest_file_counts(refusal, project, monkeypatch):
    folder = project(GOOD)
    (folder / "inner").mkdir()
    (folder / "inner/pyproject.toml").write_text("[project]\n")
    monkeypatch.chdir(folder / "inner")

    message = refusal()

    assert message.startswith("give SPEC and --output, or list packages under")
    assert message.endswith("inner/pyproject.toml.")


def test_a_table_says_all_that_the_options_say(run, project, museum, tmp_path):
    folder = project(
        GOOD + 'layout = "module"\ntags = ["Events", "Tickets"]\nmethods = ["get"]\n'
        'match = ["*ticket*"]\nsettings = {prefix = "m_", description_chars = 40}\n'
        'templates = "mine"\n'
    )
    (folder / "mine").mkdir()
    (folder / "mine/README.md.jinja").write_text("unused here")

    result = run("generate")

    assert result.exit_code == 0
    assert sorted(files_in(folder / "out/museum")) == [
        "museum_tools.manifest.json",
        "museum_tools.py",
    ]
    text = (folder / "out/museum/museum_tools.py").read_text()
    assert 'name = "m_get_ticket_code"' in text
    assert text.count("(OperationTool)") == 1
    assert 'SETTINGS: dict[str, Any] = {"description_chars": 40, "prefix": "m_"}' in text


def test_a_table_and_the_library_give_the_same_bytes(run, project, museum):
    folder = project(GOOD + 'settings = {prefix = "m_"}\n')
    run("generate")

    generate_package(museum, folder / "own", name="museum", settings=Settings(prefix="m_"))

    assert tree(folder / "own") == tree(folder / "out/museum")


def test_the_folder_of_references_is_relative_to_the_file(run, project, monkeypatch):
    folder = project(
        TABLE.replace("museum", "parts")
        + 'spec = "specs/parts.json"\noutput = "out"\nsettings = {ref_root = "."}\n'
    )
    schema = {"$ref": "../shared.json#/Name"}
    operation = {"parameters": [{"name": "q", "in": "query", "schema": schema}], "responses": {}}
    document = {"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": operation}}}
    (folder / "specs/parts.json").write_text(json.dumps(document))
    (folder / "shared.json").write_text('{"Name": {"type": "string", "maxLength": 9}}')
    monkeypatch.chdir(folder / "specs")

    result = run("generate")

    assert (result.exit_code, result.stderr) == (0, "")
    assert '"maxLength": 9' in (folder / "out/parts_tools/tools.py").read_text()


@pytest.mark.parametrize("text", ["", "[project]\nname = 'x'\n", "[tool.openapi-tools]\n",
                                  "[tool.openapi-tools.generate]\n", "tool = 1\n",
                                  "[tool]\nopenapi-tools = 1\n",
                                  "[tool.openapi-tools]\ngenerate = []\n"])  # fmt: skip
def test_a_file_that_lists_nothing_says_what_to_do(refusal, project, text):
    folder = project(text)

    assert refusal() == (
        "give SPEC and --output, or list packages under [tool.openapi-tools.generate.NAME] in "
        f"{folder}/pyproject.toml."
    )


def test_no_file_at_all_says_what_to_do(refusal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert refusal() == (
        "give SPEC and --output, or a [tool.openapi-tools.generate] table in pyproject.toml; "
        "there is no pyproject.toml here."
    )


@pytest.mark.parametrize(
    "content", [b"[tool.x", b"\xff\xfe", b"a = 1\na = 2\n", b"a = " + b"[" * 10_000]
)
def test_a_file_that_is_no_toml_is_named(refusal, project, content):
    path = project("") / "pyproject.toml"
    path.write_bytes(content)

    assert refusal().startswith(f"{path} cannot be read: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TABLE + OUTPUT, "[tool.openapi-tools.generate.museum] lacks 'spec'."),
        (TABLE + SPEC, "[tool.openapi-tools.generate.museum] lacks 'output'."),
        (TABLE + SPEC + 'output = ""\n', "[tool.openapi-tools.generate.museum] lacks 'output'."),
        (TABLE + OUTPUT + 'spec = ""\n', "[tool.openapi-tools.generate.museum] lacks 'spec'."),
        (TABLE + OUTPUT + "spec = 1\n", "generate.museum]: 'spec' must be a text."),
        (GOOD + "templates = []\n", "'templates' must be a text."),
        (GOOD + 'tags = "Events"\n', "'tags' must be a list of texts."),
        (GOOD + "methods = [1]\n", "'methods' must be a list of texts."),
        (GOOD + "match = {}\n", "'match' must be a list of texts."),
        (GOOD + 'layout = "file"\n', "'layout' must be one of package, module."),
        (GOOD + "layout = []\n", "'layout' must be one of package, module."),
        (GOOD + "settings = []\n", "'settings' must be a table."),
        (GOOD + "settings = {timout = 1}\n", "settings: timout: unknown setting; did"),
        (GOOD + 'settings = {body = "x"}\n', "settings: body: input should be 'flat' or 'nested'"),
        (GOOD + "settings = {ref_root = 1}\n", "settings: ref_root: "),
        (GOOD + "tag = []\n", "has no 'tag'; there are spec, output, layout, templates, tags,"),
        (GOOD + '"\\u001b[2J" = 1\n', "has no '\\x1b[2J'; there are spec"),
        ("[tool.openapi-tools.generate]\n" + SPEC + OUTPUT,
         "[tool.openapi-tools.generate.spec] must be a table with 'spec' and 'output'"),
        (GOOD.replace("museum]", '""]'), "must be a table with 'spec' and 'output', and a name."),
        (GOOD.replace("museum]", "Museum-1]"), "name: 'Museum-1' cannot be part of a package's"),
        (GOOD.replace("museum]", "openapi]"), "name: 'openapi' cannot be part of a package's"),
        (GOOD + 'tags = ["nope"]\n', "none of the document's 8 tools is selected."),
        (TABLE + OUTPUT + 'spec = "nowhere.yaml"\n', "/nowhere.yaml: no such file."),
        (TABLE + OUTPUT + 'spec = "-"\n', "/-: no such file."),
        (TABLE + SPEC + 'output = "a\\u0000b"\n', "no usable path"),
        (TABLE + OUTPUT + 'spec = "a\\u0000b"\n', "is not a valid path"),
        (GOOD + 'templates = "a\\u0000b"\n', "the folder of templates cannot be read"),
        (GOOD + 'templates = ""\n', "the folder holds no template"),
    ],
)  # fmt: skip
def test_a_table_that_says_something_else_is_refused(refusal, project, text, message):
    folder = project(text)
    before = tree(folder)

    assert message in refusal()
    assert tree(folder) == before


def test_what_was_done_before_a_fault_is_told(run, project):
    project(
        GOOD + '[tool.openapi-tools.generate.b]\nspec = "nowhere.yaml"\noutput = "b"\n'
        "[tool.openapi-tools.generate.c]\n" + SPEC + 'output = "c"\n'
    )

    result = run("generate")

    assert result.exit_code == 2
    assert result.stdout == "museum: written, 8 tools in out/museum\n  12 files written\n"
    assert len(result.stderr.splitlines()) == 1


def test_two_packages_in_one_folder_are_refused(run, project):
    project(GOOD + "[tool.openapi-tools.generate.gallery]\n" + SPEC + OUTPUT)

    result = run("generate")

    assert result.exit_code == 2
    assert "the package of the API 'museum' is here, not of 'gallery'" in result.stderr


def test_a_document_may_come_from_an_address(refusal, project):
    project(TABLE + OUTPUT + 'spec = "http://127.0.0.1:9/openapi.json"\n')

    assert refusal().startswith("http://127.0.0.1:9/openapi.json: ")
