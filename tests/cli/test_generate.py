"""`openapi-tools generate`."""

import json
import os
import re
from pathlib import Path

import pytest
from output_folders import POSIX, files_in, nothing_changes, tree

STEERING = "a\x1b[31mb\u202ec\x07d\x9be\u2028f\r\ng"
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")
FILES = [
    "README.md",
    "amplifier_module_tool_museum/__init__.py",
    "manifest.json",
    "museum_tools/__init__.py",
    "museum_tools/index.py",
    "museum_tools/py.typed",
    "museum_tools/schemas.py",
    "museum_tools/tools_events.py",
    "museum_tools/tools_operations.py",
    "museum_tools/tools_tickets.py",
    "pyproject.toml",
    "tests/test_museum_tools.py",
]
EVENTS = "out/museum_tools/tools_events.py"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def generate(run, museum):
    """Generate the museum's package into `out`."""

    def invoke(*options, spec=museum, output="out", name="museum", **more):
        return run("generate", spec, "--output", output, "--name", name, *options, **more)

    return invoke


@pytest.fixture
def changed(museum, here):
    """The museum's document with one description and one bound changed."""
    text = museum.read_text()
    path = here / "changed.yaml"
    path.write_text(text.replace("Get museum hours", "Opening hours").replace(": 30", ": 20"))
    return path


def said(result):
    """Return the one line on standard error, after the usage if that is shown."""
    assert (result.exit_code, result.stdout) == (2, "")
    line = result.stderr.splitlines()[-1]
    usage = result.stderr.splitlines()[:-1]
    assert usage in ([], ["Usage: openapi-tools generate [OPTIONS] [SPEC]"])
    assert line.startswith("openapi-tools: error: ")
    return line.removeprefix("openapi-tools: error: ")


def test_a_package_is_written_and_its_size_told(generate, here):
    result = generate()

    assert result.exit_code == 0
    assert result.stdout == "museum: written, 8 tools in out\n  12 files written\n"
    assert result.stderr == ""
    assert sorted(files_in(here / "out")) == FILES


def test_what_is_right_already_is_not_touched(generate, here):
    generate()

    with nothing_changes(here / "out"):
        result = generate()

    assert (result.exit_code, result.stdout) == (0, "museum: up to date, 8 tools in out\n")


def test_the_title_names_the_api_when_nobody_else_does(run, museum, here):
    result = run("generate", museum, "--output", "out")

    assert result.exit_code == 0
    assert (here / "out/redocly_museum_tools/index.py").is_file()


@pytest.mark.parametrize(
    ("title", "api"),
    [("", "api"), (None, "api"), ("CON", "con"), ("../../etc/passwd", "etc_passwd"),
     ("a\x00b\x1b", "a_b"), ("{{ 7 * 7 }}", "api_7_7")],
)  # fmt: skip
def test_any_title_becomes_a_name_that_every_system_takes(run, write, here, title, api):
    info = {"version": "1"} | ({} if title is None else {"title": title})
    spec = write({"/a": {"get": {}}}, info=info)

    result = run("generate", spec, "--output", "out", "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["packages"][0]["api"] == api
    assert {path.split("/")[0] for path in files_in(here / "out")} == {
        *(f"{api}_tools", f"amplifier_module_tool_{api}", "tests"),
        *("README.md", "manifest.json", "pyproject.toml"),
    }


@pytest.mark.parametrize(
    ("options", "tools", "modules"),
    [
        (["--tag", "Tickets"], ["buy_museum_tickets", "get_ticket_code"], ["tickets"]),
        (["--method", "delete"], ["delete_special_event"], ["events"]),
        (["--match", "hours"], ["get_museum_hours"], ["operations"]),
        (
            ["--tag", "Tickets", "--tag", "Events", "--method", "GET", "--match", "/s*", "--match",
             "*_code"],
            ["list_special_events", "get_special_event", "get_ticket_code"],
            ["events", "tickets"],
        ),
    ],
)  # fmt: skip
def test_options_choose_the_same_tools_as_in_list(run, generate, museum, options, tools, modules):
    result = generate("--json", *options)

    (package,) = json.loads(result.stdout)["packages"]
    assert package["tools"] == tools
    assert [line.split("\t")[0] for line in run("list", museum, *options).stdout.splitlines()] == (
        tools
    )
    written = [path for path in package["files"]["written"] if "/tools" in path]
    assert written == [f"museum_tools/tools_{name}.py" for name in modules]


@pytest.mark.parametrize("options", [["--tag", "nope"], ["--method", "gett"], ["--match", "nope"]])
def test_a_choice_that_leaves_nothing_leaves_the_package_alone(generate, here, options):
    generate()

    with nothing_changes(here):
        result = generate(*options)

    assert said(result) == "none of the document's 8 tools is selected."


def test_a_document_without_operations_gives_a_package_without_tools(run, write, here):
    result = run("generate", write({}), "--output", "out")

    assert result.stdout.startswith("t: written, 0 tools in out\n")
    assert result.stderr.startswith("warning: ")
    assert sorted(path for path in files_in(here / "out") if path.startswith("t_tools/")) == [
        "t_tools/__init__.py", "t_tools/index.py", "t_tools/py.typed",
    ]  # fmt: skip


def test_one_file_holds_a_small_api(generate, here):
    result = generate("--layout", "module")

    assert result.stdout == "museum: written, 8 tools in out\n  2 files written\n"
    assert sorted(files_in(here / "out")) == ["museum_tools.manifest.json", "museum_tools.py"]


def test_several_modules_share_a_folder_with_files_of_others(generate, here):
    (here / "out").mkdir()
    (here / "out" / "own.py").write_text("mine")

    generate("--layout", "module", name="one")
    generate("--layout", "module", name="two")

    assert generate("--layout", "module", "--check", name="one").exit_code == 0
    assert len(files_in(here / "out")) == 5


@pytest.mark.parametrize("how", ["--check", "--diff"])
def test_a_look_writes_nothing(generate, changed, here, how):
    assert generate(how).exit_code == 1
    assert sorted(tree(here)) == ["changed.yaml"]

    generate()

    with nothing_changes(here):
        assert generate(how).exit_code == 0
        assert generate(how, spec=changed).exit_code == 1


def test_a_check_tells_what_would_change_tool_by_tool(generate, changed):
    generate()

    result = generate("--check", spec=changed)

    assert result.exit_code == 1
    head, *lines = result.stdout.splitlines()
    assert head == "museum: would change, 8 tools in out"
    assert lines == [
        "  schema       get_museum_hours: breaking: /limit: maximum was 30, is 20 now",
        lines[1],
        "  schema       list_special_events: breaking: /limit: maximum was 30, is 20 now",
        "  would be written: README.md",
        "  would be written: manifest.json",
        "  would be written: museum_tools/tools_events.py",
        "  would be written: museum_tools/tools_operations.py",
    ]
    assert lines[1].startswith("  description  get_museum_hours: was 'Get museum hours")


def test_writing_tells_the_same_changes(generate, changed):
    generate()
    checked = generate("--check", spec=changed).stdout.splitlines()

    written = generate(spec=changed).stdout.splitlines()

    assert written[1:4] == checked[1:4]
    assert written[4:] == ["  4 files written, 8 files unchanged"]


def test_several_differences_of_a_tool_are_a_line_each(run, write):
    def document(**schema):
        parameters = [{"name": "q", "in": "query", "schema": schema}]
        return write({"/a": {"get": {"parameters": parameters}}})

    run("generate", document(type="string", maxLength=9), "--output", "out")

    result = run("generate", document(type="string", minLength=2), "--output", "out", "--check")

    assert "\n  schema       get_a: breaking\n      /q: minLength is 2 now\n      /q: " in (
        result.stdout
    )


def test_tools_that_come_go_and_move_are_named(run, write):
    def document(*operations):
        return write({path: {"get": {"operationId": n}} for path, n in operations})

    run("generate", document(("/a", "a"), ("/b", "b"), ("/c", "c")), "--output", "out")

    result = run("generate", document(("/a", "a"), ("/b", "x"), ("/d", "d")), "--output", "out")

    assert result.stdout.splitlines()[1:5] == [
        "  renamed      b -> x: breaking",
        "  operation    x: operation id was 'b', is 'x' now",
        "  added        d: GET /d",
        "  removed      c: breaking: GET /c",
    ]


def test_a_diff_shows_the_lines(generate, changed):
    generate()

    lines = generate("--diff", spec=changed).stdout.splitlines()

    assert '-                "maximum": 30,' in lines
    assert '+                "maximum": 20,' in lines
    assert "--- museum_tools/tools_events.py" in lines
    assert "--- museum_tools/tools_tickets.py" not in lines


def test_of_many_files_the_first_are_named(run, write):
    paths = {f"/{n}": {"get": {"operationId": f"o{n}", "tags": [f"t{n:02}"]}} for n in range(30)}

    lines = run("generate", write(paths), "--output", "out", "--check").stdout.splitlines()

    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == "  would be written: 18 more"


def test_json_holds_everything(generate, changed):
    generate()

    result = generate("--check", "--json", spec=changed)

    assert result.exit_code == 1
    (package,) = json.loads(result.stdout)["packages"]
    assert list(package) == [
        *("api", "output", "tools", "drifted", "breaking", "changes", "files", "skipped"),
        "warnings",
    ]
    assert (package["api"], package["output"]) == ("museum", "out")
    assert package["tools"][0] == "get_museum_hours"
    assert (package["drifted"], package["breaking"]) == (True, True)
    assert package["changes"][0] == {
        "kind": "schema",
        "tool": "get_museum_hours",
        "breaking": True,
        "details": ["/limit: maximum was 30, is 20 now"],
    }
    assert list(package["files"]) == ["written", "unchanged", "removed", "kept", "edited"]
    assert len(package["files"]["written"]) == 4
    assert len(package["files"]["unchanged"]) == 8
    assert (package["skipped"], package["warnings"]) == ([], [])
    (diffed,) = json.loads(generate("--diff", "--json", spec=changed).stdout)["packages"]
    assert '-                "maximum": 30,' in diffed["diff"]


def test_what_is_left_out_is_told_on_standard_error(run, write):
    wrong = {"parameters": [{"$ref": "#/nowhere"}]}
    spec = write({"/good": {"get": {}}, "/bad": {"get": wrong}})

    result = run("generate", spec, "--output", "out")

    assert result.exit_code == 0
    assert result.stderr.startswith("skipped GET /bad at /paths/~1bad/get/parameters/0: ")
    assert len(result.stderr.splitlines()) == 1
    (package,) = json.loads(run("generate", spec, "--output", "out", "--json").stdout)["packages"]
    assert [entry["path"] for entry in package["skipped"]] == ["/bad"]


def test_a_default_that_looks_like_a_secret_is_told_without_it(run, write):
    secret = {"name": "api_key", "in": "query", "schema": {"default": "s3cr3tAbc123"}}
    spec = write({"/a": {"get": {"parameters": [secret]}}})

    result = run("generate", spec, "--output", "out")

    assert result.stderr == (
        "warning: get_a: the default or example of 'api_key' looks like a secret.\n"
    )
    assert "s3cr3t" not in result.stdout


def hostile(**members):
    """A document whose texts steer a terminal, in every place that is printed."""
    schema = {"enum": [STEERING], "default": STEERING, "description": STEERING, "title": STEERING}
    wrong = {"parameters": [{"$ref": f"#/{STEERING}"}]}
    operation = {
        "operationId": f"get{STEERING}",
        "summary": STEERING,
        "tags": [STEERING],
        "parameters": [{"name": "q", "in": "query", "schema": schema}],
        "security": [{STEERING: [STEERING]}],
        "servers": [{"url": f"http://a.example/{STEERING}", "description": STEERING}],
        "responses": {"200": {"description": "ok"}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": STEERING, "version": STEERING},
        "paths": {"/a": {"get": operation}, f"/{STEERING}": {"get": {}}, "/bad": {"get": wrong}},
        "components": {"securitySchemes": {STEERING: {"type": "http", "scheme": "basic"}}},
        **members,
    }


@pytest.mark.parametrize("how", [[], ["--check"], ["--diff"], ["--json"], ["--diff", "--json"]])
def test_what_steers_a_terminal_is_shown_as_an_escape(run, here, how):
    mild = json.loads(json.dumps(hostile()).replace(json.dumps(STEERING)[1:-1], "mild"))
    for name, document in (("mild.json", mild), ("wild.json", hostile())):
        (here / name).write_text(json.dumps(document))
    run("generate", "mild.json", "--output", "out", "--name", "x")

    result = run("generate", "wild.json", "--output", "out", "--name", "x", *how)

    assert result.exit_code == (1 if {"--check", "--diff"} & {*how} else 0)
    assert "geta_31mb_c_d_e_f_g_f302df" in result.stdout
    assert not UNSAFE.search(result.stdout + result.stderr)
    assert not any(UNSAFE.search(text) for text in files_in(here / "out").values())


def test_what_somebody_wrote_into_a_file_steers_no_terminal_either(generate, here):
    generate()
    path = here / "out/museum_tools/tools_events.py"
    path.write_text(path.read_text().replace("Pirate", f"{STEERING}\x1b]0;x\x07"))

    result = generate("--diff")

    assert "\\u001b]0;x\\u0007" in result.stdout
    assert not UNSAFE.search(result.stdout + result.stderr)


NAMES = ("🚀", "../x", "a/b", "a\\b", "a.b", "a-b", "openapi", "x" * 41, "None", "_a", "1a", "a b",
         " ", "a\n", "\x1b[2J", "ä", "ﬁle")  # fmt: skip
BROKEN = {
    "document is empty": b"",
    "not valid JSON": b"{",
    "9.0": b'{"openapi": "9.0", "paths": {}}',
    "a list at the top level": b"[1]",
    "not valid UTF-16: byte 0x00": b"\xff\xfe\x00",
}
TEMPLATES = {
    "tools.py.jinja:1: Expected an expression": "{% if %}",
    "tools.py.jinja:3: 'nothing' is undefined.": "\n\n{{ nothing }}",
    "tools.py.jinja:1: division by zero.": "{{ 1 / 0 }}",
    "first line must be '# Code generated by openapi-tools. DO NOT EDIT.'": "# no header",
}
SPEC_OUT = ("SPEC", "--output", "out")
REFUSED = [
    ("SPEC needs --output, the folder of the package.", "SPEC"),
    ("SPEC needs --output, the folder of the package.", "SPEC", "--output", ""),
    ("'x' is not one of 'package', 'module'", *SPEC_OUT, "--layout", "x"),
    ("--check and --diff write nothing", *SPEC_OUT, "--check", "--force"),
    ("--check and --diff write nothing", *SPEC_OUT, "--diff", "--force"),
    ("unexpected extra argument", *SPEC_OUT, "SPEC"),
    ("requires an argument", "SPEC", "--output"),
    ("No such option", "SPEC", "--outptu", "x"),
    ("--output, --name, --bearer and the like need SPEC.", "--output", "out"),
    ("need SPEC.", "--name", "x"),
    ("need SPEC.", "--tag", "x"),
    ("need SPEC.", "--method", "x", "--check"),
    ("need SPEC.", "--match", "x"),
    ("need SPEC.", "--layout", "module"),
    ("need SPEC.", "--templates", "x"),
    ("need SPEC.", "--bearer", "$PATH"),
    ("need SPEC.", "--anonymous"),
    *(("cannot be part of a package's name; use words of a-z and 0-9 joined by _",
       *SPEC_OUT, "--name", name) for name in NAMES),
    *(("", spec, *SPEC_OUT[1:]) for spec in ("nowhere", ".", "http://127.0.0.1:9/x", "ftp://x/y")),
    *((message, f"broken-{number}", *SPEC_OUT[1:]) for number, message in enumerate(BROKEN)),
    *((message, *SPEC_OUT, "--templates", f"templates-{number}")
      for number, message in enumerate(TEMPLATES)),
    ("nowhere: the folder of templates cannot be read (No such file or directory).",
     *SPEC_OUT, "--templates", "nowhere"),
    ("file: the folder of templates cannot be read (Not a directory).",
     *SPEC_OUT, "--templates", "file"),
    ("real: the folder holds no template; their names are README.md.jinja, ",
     *SPEC_OUT, "--templates", "real"),
    *(
        (message, "SPEC", "--name", "museum", "--output", output, *force)
        for force in ((), ("--force",))
        for output, message in {
            "file": "file: is not a folder; choose another place.",
            "file/deep/out": "a file is in the way: choose another folder",
            "link": "is a symbolic link, which is not followed; name the folder",
            "dangling": "is a symbolic link, which is not followed",
            "x" * 300: "choose a shorter name",
            "foreign": "README.md: not generated; move that away or choose another folder.",
            "linked": "museum_tools: a generated folder belongs here, and this is not one",
            "folder": "README.md: a generated file belongs here, and this is not one",
        }.items()
    ),
]  # fmt: skip


@pytest.fixture
def cluttered(here):
    """Documents and templates that are broken, and what stands in the way of a package."""
    for number, content in enumerate(BROKEN.values()):
        (here / f"broken-{number}").write_bytes(content)
    for number, template in enumerate(TEMPLATES.values()):
        (here / f"templates-{number}").mkdir()
        (here / f"templates-{number}/tools.py.jinja").write_text(template)
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
def test_what_is_refused_is_said_in_one_line_and_nothing_is_written(
    run, museum, cluttered, options, message
):
    with nothing_changes(cluttered):
        result = run("generate", *(museum if option == "SPEC" else option for option in options))

    assert message in said(result)


def test_a_key_that_stands_twice_is_found_in_a_large_document(run, write, here):
    spec = write({"/a": {"get": {"description": "word " * 300_000}}})
    text = spec.read_text()
    spec.write_text(text.replace('"responses"', '"tags": ["x"], "responses": {}, "responses"', 1))
    assert spec.stat().st_size > 1_000_000
    assert run("list", spec).exit_code == 0

    result = run("generate", spec, "--output", "out")

    assert "openapi.json#/paths/~1a/get: 'responses' stands twice" in said(result)
    assert not (here / "out").exists()


def test_the_document_may_come_from_standard_input(generate, museum):
    result = generate(spec="-", stdin=museum.read_bytes())

    assert result.exit_code == 0
    assert generate("--check").exit_code == 0


def test_an_empty_standard_input_leaves_the_package_alone(generate, here):
    generate()

    with nothing_changes(here):
        assert said(generate(spec="-", stdin=b"")) == "document: the document is empty."


@POSIX
def test_a_read_only_folder_is_said_in_one_line(generate, here):
    (here / "out").mkdir()
    (here / "out").chmod(0o500)

    assert "is read-only; allow writing there and run again." in said(generate())
    assert tree(here) == {"out/": ""}


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_above_is_said_in_one_line(generate, here):
    (here / "above").mkdir()
    (here / "above").chmod(0o500)

    assert "allow that, or choose another folder" in said(generate(output="above/out"))
    assert tree(here) == {"above/": ""}


def edit(here, text='"Pirate Coding Workshop"', by='"Mine"', path=EVENTS):
    """Change a generated file by hand."""
    file = here / path
    file.write_text(file.read_text().replace(text, by))
    return file.read_text()


def test_an_edited_file_is_named_kept_and_overwritten_by_force(generate, here):
    generate()
    edited = edit(here)

    refused, checked = generate(), generate("--check")

    assert "museum_tools/tools_events.py: edited by hand; run again with --force" in said(refused)
    assert checked.exit_code == 1
    assert "\n  edited by hand: museum_tools/tools_events.py\n" in checked.stdout
    assert "  schema       create_special_event: /name: examples was ['Mine']" in checked.stdout
    assert "would be written" not in checked.stdout
    assert (here / EVENTS).read_text() == edited
    forced = generate("--force")
    assert "\n  edited by hand, overwritten: museum_tools/tools_events.py\n" in forced.stdout
    assert (forced.exit_code, generate("--check").exit_code) == (0, 0)


def test_a_tool_that_was_made_unreadable_by_hand_is_no_new_tool(generate, here):
    generate()
    edit(here, 'description = "Create special', 'description = compute() + "Create special')

    result = generate("--check")

    assert "unreadable" in result.stdout
    assert "added" not in result.stdout
    assert "create_special_event" in result.stdout


@pytest.mark.parametrize("content", [b"def (", b"\xff\xfe", b"", b"x" * 100_000])
def test_a_file_that_was_spoilt_by_hand_is_told_too(generate, here, content):
    generate()
    (here / EVENTS).write_bytes(content)

    result = generate("--check")

    assert (result.exit_code, result.stderr) == (1, "")
    assert "\n  edited by hand: museum_tools/tools_events.py\n" in result.stdout


def test_an_edited_file_that_is_no_longer_generated_stays(generate, here):
    generate()
    edited = edit(here)

    result = generate("--tag", "Tickets")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-2:] == [
        "  4 files written, 1 file removed, 6 files unchanged",
        "  edited by hand, no longer generated, kept: museum_tools/tools_events.py",
    ]
    assert (here / EVENTS).read_text() == edited
    assert not (here / "out/museum_tools/tools_operations.py").exists()


def test_a_broken_manifest_is_an_edit(generate, here):
    generate()
    (here / "out/manifest.json").write_text('{"generator": "openapi-tools"')

    assert "manifest.json: edited by hand" in said(generate())
    assert generate("--force").exit_code == 0
    assert generate("--check").exit_code == 0


def test_templates_of_the_users_are_used(generate, here, run, museum):
    (here / "mine").mkdir()
    (here / "mine/shim.py.jinja").write_text(
        "# Code generated by openapi-tools. DO NOT EDIT.\n"
        '"""Ours."""\n\nfrom {{ package }} import mount\n\n__all__ = ["mount"]\n'
    )

    result = generate("--templates", "mine")

    assert result.exit_code == 0
    shim = here / "out/amplifier_module_tool_museum/__init__.py"
    assert '"""Ours."""\n\nfrom museum_tools import mount\n' in shim.read_text()
    assert generate("--check").exit_code == 1
    assert generate("--check", "--templates", "mine").exit_code == 0


def test_a_package_outside_the_working_folder_is_named_in_full(generate, here, monkeypatch):
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")

    result = generate(output=Path("..") / "out")

    assert result.stdout.startswith("museum: written, 8 tools in ")
    assert (here / "out/manifest.json").is_file()


def test_the_working_folder_itself_can_be_generated_into(generate, here):
    result = generate(output=".")

    assert result.stdout.startswith("museum: written, 8 tools in .\n")
    assert sorted(files_in(here)) == FILES


def all_skipped(paths):
    """Spoil every operation of some paths."""
    broken = {"in": "query", "schema": {"type": "string"}}
    return {p: {m: {**o, "parameters": [broken]} for m, o in i.items()} for p, i in paths.items()}


@pytest.mark.parametrize("target", ["python", "exathena"])
@pytest.mark.parametrize("options", [[], ["--check"], ["--diff"], ["--json"], ["--force"]])
@pytest.mark.parametrize("skipped", [True, False])
def test_a_package_is_never_emptied(run, write, tmp_path, target, options, skipped):
    paths = {f"/{name}": {"get": {"operationId": name, "responses": {}}} for name in ("one", "two")}
    command = ("generate", write(paths), "--output", tmp_path / "out", "--target", target)
    assert run(*command).exit_code == 0
    write(all_skipped(paths) if skipped else {})

    with nothing_changes(tmp_path / "out"):
        result = run(*command, *options)

    assert (result.exit_code, result.stdout) == (2, "")
    for text in (
        ("none of its 2 operations can be a tool", "GET /one at /paths/~1one/get/parameters/0: ",
         "GET /two at ")
        if skipped else ("the package of 2 tools is unchanged",)
    ):  # fmt: skip
        assert text in result.stderr


def test_no_package_is_written_where_every_operation_is_skipped(run, write, here):
    paths = {"/one": {"get": {"operationId": "one", "responses": {}}}}

    assert run("generate", write(all_skipped(paths)), "--output", "out").exit_code == 2
    assert not (here / "out").exists()
