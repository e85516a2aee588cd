"""`openapi-tools generate`, of one document and of the packages that pyproject.toml lists."""

import json
import os
import re

import pytest
from hostile_documents import hostile
from output_folders import POSIX, files_in, nothing_changes, tree
from packages import ROOT, bytes_in

from openapi_tools import Select, Settings, generate_package

STEERING = "a\x1b[31mb\u202ec\x07d\x9be\u2028f\r\ng"
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")
EVENTS = "museum_tools/tools_events.py"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def generate(run, museum):
    """Generate a package into `out`, by default the museum's."""

    def invoke(*options, spec=museum, output="out", name="museum", **run_options):
        return run("generate", spec, "--output", output, "--name", name, *options, **run_options)

    return invoke


@pytest.fixture
def changed(museum, here):
    """The museum's document with one description and one bound changed."""
    text = museum.read_text()
    path = here / "changed.yaml"
    path.write_text(text.replace("Get museum hours", "Opening hours").replace(": 30", ": 20"))
    return path


def read_error(result):
    """Return the one line on standard error, after the usage if that is shown."""
    assert (result.exit_code, result.stdout) == (2, "")
    *usage, line = result.stderr.splitlines()
    assert usage in ([], ["Usage: openapi-tools generate [OPTIONS] [SPEC]"])
    assert line.startswith("openapi-tools: error: ")
    return line.removeprefix("openapi-tools: error: ")


def edit(here, text='"Pirate Coding Workshop"', by='"Mine"', path=EVENTS):
    file = here / "out" / path
    file.write_text(file.read_text().replace(text, by))
    return file.read_text()


def test_a_package_is_written_and_what_is_right_already_is_not_touched(generate, here):
    first = generate()
    with nothing_changes(here / "out"):
        second = generate()

    written = "museum: written, 8 tools in out\n  12 files written\n"
    assert (first.exit_code, first.stdout, first.stderr) == (0, written, "")
    assert (second.exit_code, second.stdout) == (0, "museum: up to date, 8 tools in out\n")
    assert bytes_in(here / "out") == bytes_in(ROOT / "generated" / "museum")


@pytest.mark.parametrize(
    ("title", "api"),
    [("", "api"), (None, "api"), ("CON", "con"), ("../../etc/passwd", "etc_passwd"),
     ("a\x00b\x1b", "a_b"), ("{{ 7 * 7 }}", "api_7_7")],
)  # fmt: skip
def test_any_title_becomes_a_name_that_every_system_takes(run, write, here, title, api):
    info = {"version": "1"} | ({} if title is None else {"title": title})

    result = run("generate", write({"/a": {"get": {}}}, info=info), "--output", "out", "--json")

    assert json.loads(result.stdout)["packages"][0]["api"] == api
    names = {path.split("/")[0] for path in files_in(here / "out")}
    assert names - {"README.md", "manifest.json", "pyproject.toml", "tests"} == {
        f"{api}_tools", f"amplifier_module_tool_{api}",
    }  # fmt: skip


def test_options_choose_the_same_tools_as_in_list(run, generate, museum):
    options = ["--tag", "Tickets", "--tag", "Events", "--method", "GET"]
    options += ["--match", "/s*", "--match", "*_code"]

    result = generate("--json", *options)

    (package,) = json.loads(result.stdout)["packages"]
    assert package["tools"] == ["list_special_events", "get_special_event", "get_ticket_code"]
    listed = run("list", museum, *options).stdout.splitlines()
    assert [line.split("\t")[0] for line in listed] == package["tools"]


def test_modules_of_one_file_share_a_folder_with_files_of_others(generate, here):
    (here / "out").mkdir()
    (here / "out" / "own.py").write_text("mine")

    one = generate("--layout", "module", name="one")
    generate("--layout", "module", name="two")

    assert one.stdout == "one: written, 8 tools in out\n  2 files written\n"
    assert generate("--layout", "module", "--check", name="one").exit_code == 0
    assert sorted(files_in(here / "out")) == [
        "one_tools.manifest.json", "one_tools.py", "own.py",
        "two_tools.manifest.json", "two_tools.py",
    ]  # fmt: skip


@pytest.mark.parametrize("how", ["--check", "--diff"])
def test_a_look_at_nothing_writes_nothing(generate, here, how):
    assert generate(how).exit_code == 1
    assert tree(here) == {}


def test_a_look_reports_what_writing_will_report_and_json_holds_everything(generate, changed, here):
    generate()

    with nothing_changes(here):
        looks = ["--check"], ["--diff"], ["--diff", "--json"]
        results = [generate(*how, spec=changed) for how in looks]
    written = generate(spec=changed).stdout.splitlines()

    assert [result.exit_code for result in results] == [1, 1, 1]
    head, *checked = results[0].stdout.splitlines()
    diffed = results[1].stdout.splitlines()
    (package,) = json.loads(results[2].stdout)["packages"]
    assert head == "museum: would change, 8 tools in out"
    assert checked == [
        "  schema       get_museum_hours: breaking: /limit: maximum was 30, is 20 now",
        checked[1],
        "  schema       list_special_events: breaking: /limit: maximum was 30, is 20 now",
        "  would be written: README.md",
        "  would be written: manifest.json",
        "  would be written: museum_tools/tools_events.py",
        "  would be written: museum_tools/tools_operations.py",
    ]
    assert checked[1].startswith("  description  get_museum_hours: was 'Get museum hours")
    assert written[1:] == [*checked[:3], "  4 files written, 8 files unchanged"]
    lines = ["--- museum_tools/tools_events.py", '-                "maximum": 30,']
    assert {*lines, '+                "maximum": 20,'} <= {*diffed} & {*package.pop("diff")}
    assert "--- museum_tools/tools_tickets.py" not in diffed
    assert package.pop("tools")[0] == "get_museum_hours"
    detail = "/limit: maximum was 30, is 20 now"
    change = {"kind": "schema", "tool": "get_museum_hours", "breaking": True, "details": [detail]}
    assert package.pop("changes")[0] == change
    counts = {state: len(paths) for state, paths in package.pop("files").items()}
    assert counts == {"written": 4, "unchanged": 8, "removed": 0, "kept": 0, "edited": 0}
    whole = {"api": "museum", "output": "out", "drifted": True, "breaking": True}
    assert package == {**whole, "skipped": [], "warnings": []}


def test_tools_that_change_come_go_and_move_are_named(run, write):
    def document(schema, *operations):
        query = {"parameters": [{"name": "q", "in": "query", "schema": schema}]}
        named = {path: {"get": {"operationId": name}} for path, name in operations}
        return write({"/a": {"get": {"operationId": "a", **query}}, **named})

    old = document({"type": "string", "maxLength": 9}, ("/b", "b"), ("/c", "c"))
    run("generate", old, "--output", "out")
    new = document({"type": "string", "minLength": 2}, ("/b", "x"), ("/d", "d"))

    lines = run("generate", new, "--output", "out").stdout.splitlines()

    assert lines[1:3] == ["  schema       a: breaking", "      /q: minLength is 2 now"]
    assert lines[4:8] == [
        "  renamed      b -> x: breaking",
        "  operation    x: operation id was 'b', is 'x' now",
        "  added        d: GET /d",
        "  removed      c: breaking: GET /c",
    ]


def test_of_many_files_the_first_are_named(run, write):
    paths = {f"/{n}": {"get": {"operationId": f"o{n}", "tags": [f"t{n:02}"]}} for n in range(30)}

    lines = run("generate", write(paths), "--output", "out", "--check").stdout.splitlines()

    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == "  would be written: 18 more"


def test_what_is_left_out_or_looks_like_a_secret_is_reported_on_standard_error(run, write):
    secret = {"name": "api_key", "in": "query", "schema": {"default": "s3cr3tAbc123"}}
    wrong = {"parameters": [{"$ref": "#/nowhere"}]}
    spec = write({"/a": {"get": {"parameters": [secret]}}, "/bad": {"get": wrong}})

    result = run("generate", spec, "--output", "out")

    assert result.exit_code == 0
    skipped, warning = result.stderr.splitlines()
    assert skipped.startswith("skipped GET /bad at /paths/~1bad/get/parameters/0: ")
    assert warning == "warning: get_a: the default or example of 'api_key' looks like a secret."
    assert "s3cr3t" not in result.stdout
    (package,) = json.loads(run("generate", spec, "--output", "out", "--json").stdout)["packages"]
    assert [entry["path"] for entry in package["skipped"]] == ["/bad"]


@pytest.mark.parametrize("how", ["", "--check", "--diff", "--json", "--diff --json"])
def test_what_steers_a_terminal_is_shown_as_an_escape(generate, here, how):
    for name, text in (("mild.json", "mild"), ("wild.json", STEERING)):
        (here / name).write_text(json.dumps(hostile(text)))
    generate(spec="mild.json")
    if "diff" in how:  # by hand too
        edit(here, "mild", f"mild{STEERING}\x1b]0;x\x07", EVENTS.replace("events", "plain"))

    result = generate(*how.split(), spec="wild.json")
    files = {} if "diff" in how else files_in(here / "out")

    assert result.exit_code == ("--check" in how or "--diff" in how)
    assert "31mb_c_d_e_f_g" in result.stdout
    assert ("\\u001b]0;x\\u0007" in result.stdout) is ("diff" in how)
    assert not UNSAFE.search(result.stdout + result.stderr)
    assert not any(UNSAFE.search(text) for text in files.values())


NAMES = ("🚀", "../x", "a/b", "a.b", "a-b", "openapi", "x" * 41, "_a", "1a", " ", "a\n", "\x1b[2J")
OBSTACLES = {
    "file": "file: is not a folder; choose another place.",
    "file/deep/out": "a file is in the way: choose another folder",
    "link": "is a symbolic link, which is not followed; name the folder",
    "dangling": "is a symbolic link, which is not followed",
    "x" * 300: "choose a shorter name",
    "foreign": "README.md: not generated; move that away or choose another folder.",
    "linked": "museum_tools: this is not a generated folder",
    "folder": "README.md: this is not a generated file",
}
SPEC_OUT = ("SPEC", "--output", "out")
REFUSED = [
    ("SPEC needs --output, the folder of the package.", "SPEC"),
    ("SPEC needs --output, the folder of the package.", "SPEC", "--output", ""),
    ("'x' is not one of 'package', 'module'", *SPEC_OUT, "--layout", "x"),
    ("layout 'module' is for the target", *SPEC_OUT, "--target", "exathena", "--layout", "module"),
    ("--check and --diff write nothing", *SPEC_OUT, "--check", "--force"),
    ("--check and --diff write nothing", *SPEC_OUT, "--diff", "--force"),
    ("unexpected extra argument", *SPEC_OUT, "SPEC"),
    ("The document has the tags Events, Operations, Tickets.", *SPEC_OUT, "--tag", "nope"),
    ("nowhere: no such file.", "nowhere", *SPEC_OUT[1:]),
    *(("need SPEC.", option, "x")
      for option in ("--output", "--name", "--tag", "--method", "--match")),
    ("need SPEC.", "--layout", "module"),
    ("need SPEC.", "--bearer", "$PATH"),
    ("need SPEC.", "--anonymous"),
    *(("cannot be part of a package's name; use words of a-z and 0-9 joined by _",
       *SPEC_OUT, "--name", name) for name in NAMES),
    ("No such option '--templates'", *SPEC_OUT, "--templates", "mine"),
    *((message, "SPEC", "--name", "museum", "--output", output, *force)
      for force in ((), ("--force",)) for output, message in OBSTACLES.items()),
]  # fmt: skip


@pytest.fixture
def cluttered(here):
    """Obstacles to a package."""
    (here / "file").write_text("mine")
    (here / "real").mkdir()
    (here / "link").symlink_to("real")
    (here / "dangling").symlink_to("nowhere")
    (here / "foreign").mkdir()
    (here / "foreign/README.md").write_text("mine")
    (here / "linked").mkdir()
    (here / "linked/museum_tools").symlink_to("../real")
    (here / "folder/README.md").mkdir(parents=True)
    return here


@pytest.mark.parametrize(("message", "options"), [(row[0], row[1:]) for row in REFUSED])
def test_what_is_refused_is_reported_in_one_line_and_nothing_is_written(
    run, museum, cluttered, options, message
):
    with nothing_changes(cluttered):
        result = run("generate", *(museum if option == "SPEC" else option for option in options))

    assert message in read_error(result)


def test_a_key_that_stands_twice_is_found_in_a_large_document(run, write, here):
    spec = write({"/a": {"get": {"description": "word " * 300_000}}})
    text = spec.read_text()
    spec.write_text(text.replace('"responses"', '"tags": ["x"], "responses": {}, "responses"', 1))
    assert spec.stat().st_size > 1_000_000
    assert run("list", spec).exit_code == 0

    result = run("generate", spec, "--output", "out")

    warning = "/paths/~1a/get/responses: 'responses' is a duplicate key; the last one counts."
    assert result.exit_code == 0
    assert warning in result.stderr


def test_an_empty_standard_input_leaves_the_package_alone(generate, museum, here):
    assert generate(spec="-", stdin=museum.read_bytes()).exit_code == 0

    with nothing_changes(here):
        assert read_error(generate(spec="-", stdin=b"")) == "document: the document is empty."
        assert generate("--check").exit_code == 0


@POSIX
@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("locked", "is read-only; allow writing there and run again."),
        pytest.param("locked/out", "allow that, or choose another folder", marks=pytest.mark.skipif(
            os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")),
    ],
)  # fmt: skip
def test_a_read_only_folder_is_reported_in_one_line(generate, here, output, advice):
    (here / "locked").mkdir(mode=0o500)

    assert advice in read_error(generate(output=output))
    assert tree(here) == {"locked/": ""}


def test_an_edited_file_is_named_kept_and_overwritten_by_force(generate, here):
    generate()
    edited = edit(here)

    refused, checked = generate(), generate("--check")

    assert f"{EVENTS}: edited by hand; run again with --force" in read_error(refused)
    assert checked.exit_code == 1
    assert f"\n  edited by hand: {EVENTS}\n" in checked.stdout
    assert "  schema       create_special_event: /name: examples was ['Mine']" in checked.stdout
    assert "would be written" not in checked.stdout
    assert (here / "out" / EVENTS).read_text() == edited
    forced = generate("--force")
    assert f"\n  edited by hand, overwritten: {EVENTS}\n" in forced.stdout
    assert (forced.exit_code, generate("--check").exit_code) == (0, 0)


SPOILT = [
    *((EVENTS, content) for content in (b"def (", b"\xff\xfe", b"", b"x" * 100_000)),
    ("manifest.json", b'{"generator": "openapi-tools"'),
]


@pytest.mark.parametrize(("path", "content"), SPOILT)
def test_a_file_that_was_spoilt_by_hand_is_an_edit_too(generate, here, path, content):
    generate()
    (here / "out" / path).write_bytes(content)

    checked, refused, forced = generate("--check"), generate(), generate("--force")

    assert (checked.exit_code, checked.stderr) == (1, "")
    assert f"\n  edited by hand: {path}\n" in checked.stdout
    assert "  added " not in checked.stdout
    assert f"{path}: edited by hand" in read_error(refused)
    assert (forced.exit_code, generate("--check").exit_code) == (0, 0)


def test_an_edited_file_that_is_no_longer_generated_stays(generate, here):
    generate()
    edited = edit(here)

    result = generate("--tag", "Tickets")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-2:] == [
        "  4 files written, 1 file removed, 6 files unchanged",
        f"  edited by hand, no longer generated, kept: {EVENTS}",
    ]
    assert (here / "out" / EVENTS).read_text() == edited


def test_the_working_folder_itself_can_be_generated_into(generate, here, monkeypatch):
    result = generate(output=".")
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")

    assert result.stdout.startswith("museum: written, 8 tools in .\n")
    assert files_in(here).keys() == bytes_in(ROOT / "generated" / "museum").keys()
    assert generate(output="../out").stdout.startswith("museum: written, 8 tools in ")
    assert (here / "out/manifest.json").is_file()


@pytest.mark.long
@pytest.mark.parametrize("target", ["python", "exathena"])
@pytest.mark.parametrize("options", [[], ["--diff"], ["--json"], ["--force"]])
@pytest.mark.parametrize("left", [None, {"in": "query", "schema": {"type": "string"}}])
def test_a_package_is_never_emptied(run, write, here, target, options, left):
    names = ("one", "two")
    spec = write({f"/{name}": {"get": {"operationId": name}} for name in names})
    command = ("generate", spec, "--output", "out", "--target", target)
    assert run(*command).exit_code == 0
    broken = {f"/{name}": {"get": {"operationId": name, "parameters": [left]}} for name in names}
    write(broken if left else {})

    with nothing_changes(here):
        result = run(*command, *options)
    elsewhere = run("generate", spec, "--output", "new", "--target", target)

    assert (result.exit_code, result.stdout) == (2, "")
    assert (elsewhere.exit_code == 0) is (left is None) is (here / "new").exists()
    skipped = ["none of its 2 operations can become a tool", "GET /two at ",
               "GET /one at /paths/~1one/get/parameters/0: "]  # fmt: skip
    messages = skipped if left else ["the package of 2 tools is unchanged"]
    assert [text for text in messages if text not in result.stderr] == []


TABLE = "[tool.openapi-tools.generate.museum]\n"
SPEC = 'spec = "specs/museum.yaml"\n'
OUTPUT = 'output = "out/museum"\n'
GOOD = TABLE + SPEC + OUTPUT
BOTH = f'{GOOD}[tool.openapi-tools.generate.gallery]\n{SPEC}output = "out/gallery"\n'


@pytest.fixture
def project(here, museum):
    """A project with a document; give it the text of pyproject.toml."""
    (here / "specs").mkdir()
    (here / "specs/museum.yaml").symlink_to(museum)

    def write_project(text):
        (here / "pyproject.toml").write_text(text)
        return here

    return write_project


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
    assert (folder / "out/gallery/lib/gallery_tools/tools/get_museum_hours.ex").is_file()
    assert second.stdout == (
        "museum: up to date, 8 tools in out/museum\ngallery: up to date, 8 tools in out/gallery\n"
    )
    packages = json.loads(drifted.stdout)["packages"]
    states = [(package["api"], package["drifted"]) for package in packages]
    assert states == [("museum", True), ("gallery", False)]


def test_the_nearest_file_above_counts_and_its_paths_are_its_own(run, project, monkeypatch):
    folder = project(GOOD)
    (folder / "src/deep").mkdir(parents=True)
    monkeypatch.chdir(folder / "src/deep")

    assert run("generate").exit_code == 0
    assert (folder / "out/museum/manifest.json").is_file()
    assert tree(folder / "src") == {"deep/": ""}

    (folder / "src/pyproject.toml").write_text("[project]\n")

    assert read_error(run("generate")).endswith("src/pyproject.toml.")


def test_a_table_says_all_that_the_options_and_the_library_say(run, project, museum):
    folder = project(
        GOOD + 'layout = "module"\ntags = ["Events", "Tickets"]\nmethods = ["get"]\n'
        'match = ["*ticket*"]\nsettings = {prefix = "m_", description_chars = 40}\n'
    )
    select = Select(where=lambda tool: tool.path == "/tickets/{ticketId}/qr")
    settings = Settings(prefix="m_", description_chars=40)

    result = run("generate")
    direct = generate_package(
        museum, folder / "own", name="museum", settings=settings, select=select, layout="module"
    )

    assert result.exit_code == 0
    assert direct.tools == ("m_get_ticket_code",)
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
def test_a_file_that_lists_nothing_says_what_to_do(run, project, text):
    folder = project(text)

    assert read_error(run("generate")) == (
        "pass SPEC and --output, or list packages under [tool.openapi-tools.generate.NAME] in "
        f"{folder}/pyproject.toml."
    )
    (folder / "pyproject.toml").unlink()
    assert read_error(run("generate")) == (
        "pass SPEC and --output, or add a table [tool.openapi-tools.generate] to "
        "pyproject.toml; there is no pyproject.toml here."
    )


@pytest.mark.parametrize(
    "content", [b"[tool.x", b"\xff\xfe", b"a = 1\na = 2\n", b"a = " + b"[" * 10_000]
)
def test_a_file_that_is_no_toml_is_named(run, project, content):
    path = project("") / "pyproject.toml"
    path.write_bytes(content)

    assert read_error(run("generate")).startswith(f"{path} cannot be read: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TABLE + OUTPUT, "[tool.openapi-tools.generate.museum]: 'spec' is missing."),
        (TABLE + SPEC, "[tool.openapi-tools.generate.museum]: 'output' is missing."),
        (TABLE + SPEC + 'output = ""\n', "generate.museum]: 'output' is missing."),
        (TABLE + OUTPUT + "spec = 1\n", "generate.museum]: 'spec' must be a string."),
        (GOOD + 'templates = "a"\n', "unknown key 'templates'; expected one of spec, config"),
        (GOOD + 'tags = "Events"\n', "'tags' must be a list of strings."),
        (GOOD + 'overlays = "c"\n', "'overlays' must be a list of strings."),
        (GOOD + "match = [1]\n", "'match' must be a list of strings."),
        (GOOD + 'layout = "file"\n', "'layout' must be one of package, module."),
        (GOOD + 'target = "elm"\n', "'target' must be one of python, exathena, skill."),
        (GOOD + "settings = []\n", "'settings' must be a table."),
        (GOOD + "settings = {timout = 1}\n", "settings: timout: unknown setting; did"),
        (GOOD + "settings = {ref_root = 1}\n", "settings: ref_root: "),
        (GOOD + "tag = []\n", "unknown key 'tag'; expected one of spec, config, output, layout, "),
        (GOOD + '"\\u001b[2J" = 1\n', "unknown key '\\x1b[2J'; expected one of spec"),
        ("[tool.openapi-tools.generate]\n" + SPEC + OUTPUT,
         "[tool.openapi-tools.generate.spec] must be a table with a name, 'spec' and 'output'"),
        (GOOD.replace("museum]", '""]'), "must be a table with a name, 'spec' and 'output'."),
        (GOOD.replace("museum]", "Museum-1]"), "name: 'Museum-1' cannot be part of a package's"),
        (GOOD + "tags = []\n", "none of the document's 8 tools is selected; change the"),
        (GOOD + "match = []\n", "none of the document's 8 tools is selected; change the"),
        (GOOD + 'tags = ["nope"]\n', "The document has the tags Events, Operations, Tickets."),
        (TABLE + OUTPUT + 'spec = "nowhere.yaml"\n', "/nowhere.yaml: no such file."),
        (TABLE + OUTPUT + 'spec = "-"\n', "/-: no such file."),
        (TABLE + SPEC + 'output = "a\\u0000b"\n', "the path is not valid"),
        (TABLE + OUTPUT + 'spec = "a\\u0000b"\n', "is not a valid path"),
    ],
)  # fmt: skip
def test_a_table_that_says_something_else_is_refused(run, project, text, message):
    folder = project(text)
    before = tree(folder)

    assert message in read_error(run("generate"))
    assert tree(folder) == before


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        ('spec = "nowhere.yaml"\noutput = "b"\n', "nowhere.yaml: no such file"),
        (SPEC + OUTPUT, "the package of the API 'museum' is here, not of 'b'"),
        (OUTPUT + 'spec = "http://127.0.0.1:9/a.json"\n', "error: http://127.0.0.1:9/a.json: "),
    ],
    ids=["no document", "one folder for two", "an address"],
)
def test_what_was_done_before_a_fault_is_reported(run, project, second, fault):
    table = "[tool.openapi-tools.generate."
    project(f'{GOOD}{table}b]\n{second}{table}c]\n{SPEC}output = "c"\n')

    result = run("generate")

    assert result.exit_code == 2
    assert result.stdout == "museum: written, 8 tools in out/museum\n  12 files written\n"
    assert len(result.stderr.splitlines()) == 1
    assert fault in result.stderr


def test_a_skill_reports_its_size_and_its_drift(run, museum, changed, here):
    table = f'spec = "{museum}"\noutput = "museum"\ntarget = "skill"\n'
    (here / "pyproject.toml").write_text(f"[tool.openapi-tools.generate.museum]\n{table}")
    written = run("generate")
    options = ("--target", "skill", "--output", "museum", "--name", "museum")
    checked = run("generate", changed, *options, "--check", "--json")

    sizes = {path: len(text.encode()) for path, text in files_in(here / "museum").items()}
    references = [size for path, size in sizes.items() if path.startswith("references/")]
    assert (written.exit_code, checked.exit_code) == (0, 1)
    assert " ".join(written.stdout.split()).startswith(
        "museum: written, 8 tools in museum "
        f"SKILL.md {sizes['SKILL.md']:,} bytes, 3 references {sum(references):,} bytes, "
        f"{sum(sizes.values()):,} bytes in all"
    )
    (report,) = json.loads(checked.stdout)["packages"]
    assert report["sizes"].keys() == sizes.keys()
    assert "references/operations.md" in report["files"]["written"]
