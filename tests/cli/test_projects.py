"""`openapi-tools generate` without SPEC: the packages that pyproject.toml lists."""

import json

import pytest
from output_folders import tree

from openapi_tools import Select, Settings, generate_package

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
        return line.removeprefix("openapi-tools: error: ")

    return invoke


def test_every_listed_package_is_generated_and_one_that_drifted_is_enough(run, project):
    folder = project(f'{BOTH}target = "exathena"\n')

    first, second = run("generate"), run("generate", "--check")
    (folder / "out/museum/README.md").unlink()
    drifted = run("generate", "--check", "--json")

    assert [result.exit_code for result in (first, second, drifted)] == [0, 0, 1]
    assert first.stdout == (
        "museum: written, 8 tools in out/museum\n  12 files written\n"
        "gallery: written, 8 tools in out/gallery\n  17 files written\n"
    )
    assert second.stdout == (
        "museum: up to date, 8 tools in out/museum\ngallery: up to date, 8 tools in out/gallery\n"
    )
    packages = json.loads(drifted.stdout)["packages"]
    states = [(package["api"], package["drifted"]) for package in packages]
    assert states == [("museum", True), ("gallery", False)]


def test_the_nearest_file_above_counts_and_its_paths_are_its_own(
    run, refusal, project, monkeypatch
):
    folder = project(GOOD)
    (folder / "src/deep").mkdir(parents=True)
    monkeypatch.chdir(folder / "src/deep")

    assert run("generate").exit_code == 0
    assert (folder / "out/museum/manifest.json").is_file()
    assert tree(folder / "src") == {"deep/": ""}

    (folder / "src/pyproject.toml").write_text("[project]\n")

    assert refusal().endswith("src/pyproject.toml.")


def test_a_table_says_all_that_the_options_and_the_library_say(run, project, museum):
    folder = project(
        GOOD + 'layout = "module"\ntags = ["Events", "Tickets"]\nmethods = ["get"]\n'
        'match = ["*ticket*"]\nsettings = {prefix = "m_", description_chars = 40}\n'
        'templates = "mine"\n'
    )
    (folder / "mine").mkdir()
    (folder / "mine/README.md.jinja").write_text("unused here")
    select = Select(where=lambda tool: tool.path == "/tickets/{ticketId}/qr")
    settings = Settings(prefix="m_", description_chars=40)

    result = run("generate")
    own = generate_package(
        museum, folder / "own", name="museum", settings=settings, select=select, layout="module"
    )

    assert result.exit_code == 0
    assert own.tools == ("m_get_ticket_code",)
    assert tree(folder / "own") == tree(folder / "out/museum")


def test_the_folder_of_references_is_relative_to_the_file(run, project, write, monkeypatch):
    folder = project(
        '[tool.openapi-tools.generate.parts]\nspec = "openapi.json"\noutput = "out"\n'
        'settings = {ref_root = "."}\n'
    )
    query = {"name": "q", "in": "query", "schema": {"$ref": "shared.json#/Name"}}
    write({"/a": {"get": {"parameters": [query]}}})
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
    (folder / "pyproject.toml").unlink()
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
        (TABLE + OUTPUT + "spec = 1\n", "generate.museum]: 'spec' must be a text."),
        (GOOD + "templates = []\n", "'templates' must be a text."),
        (GOOD + 'tags = "Events"\n', "'tags' must be a list of texts."),
        (GOOD + "match = [1]\n", "'match' must be a list of texts."),
        (GOOD + 'layout = "file"\n', "'layout' must be one of package, module."),
        (GOOD + 'target = "elm"\n', "'target' must be one of python, exathena."),
        (GOOD + "settings = []\n", "'settings' must be a table."),
        (GOOD + "settings = {timout = 1}\n", "settings: timout: unknown setting; did"),
        (GOOD + "settings = {ref_root = 1}\n", "settings: ref_root: "),
        (GOOD + "tag = []\n", "has no 'tag'; there are spec, output, layout, templates, tags,"),
        (GOOD + '"\\u001b[2J" = 1\n', "has no '\\x1b[2J'; there are spec"),
        ("[tool.openapi-tools.generate]\n" + SPEC + OUTPUT,
         "[tool.openapi-tools.generate.spec] must be a table with 'spec' and 'output'"),
        (GOOD.replace("museum]", '""]'), "must be a table with 'spec' and 'output', and a name."),
        (GOOD.replace("museum]", "Museum-1]"), "name: 'Museum-1' cannot be part of a package's"),
        (GOOD + 'tags = ["nope"]\n', "none of the document's 8 tools is selected."),
        (TABLE + OUTPUT + 'spec = "nowhere.yaml"\n', "/nowhere.yaml: no such file."),
        (TABLE + OUTPUT + 'spec = "-"\n', "/-: no such file."),
        (TABLE + SPEC + 'output = "a\\u0000b"\n', "no usable path"),
        (TABLE + OUTPUT + 'spec = "a\\u0000b"\n', "is not a valid path"),
        (GOOD + 'templates = "a\\u0000b"\n', "the folder of templates cannot be read"),
    ],
)  # fmt: skip
def test_a_table_that_says_something_else_is_refused(refusal, project, text, message):
    folder = project(text)
    before = tree(folder)

    assert message in refusal()
    assert tree(folder) == before


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ('spec = "nowhere.yaml"\noutput = "b"\n', "nowhere.yaml: no such file"),
        (SPEC + OUTPUT, "the package of the API 'museum' is here, not of 'b'"),
        (OUTPUT + 'spec = "http://127.0.0.1:9/a.json"\n', "error: http://127.0.0.1:9/a.json: "),
    ],
    ids=["no document", "one folder for two", "an address"],
)
def test_what_was_done_before_a_fault_is_told(run, project, second, said):
    table = "[tool.openapi-tools.generate."
    project(f'{GOOD}{table}b]\n{second}{table}c]\n{SPEC}output = "c"\n')

    result = run("generate")

    assert result.exit_code == 2
    assert result.stdout == "museum: written, 8 tools in out/museum\n  12 files written\n"
    assert len(result.stderr.splitlines()) == 1
    assert said in result.stderr
