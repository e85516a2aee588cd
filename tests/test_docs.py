"""README and docs: their examples run, and everything public is in them."""

import ast
import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib

import click
import pytest
import yaml
from doc_pages import (
    DOCS,
    FENCE,
    PAGES,
    PYTHON,
    README,
    ROOT,
    TUTORIAL,
    blocks,
    commands_of,
    name_of,
    printed_by,
)
from packages import SPECS
from shells import write_program

import openapi_tools
from openapi_tools import OperationTool, Settings, ToolResult, Toolset, testing
from openapi_tools.cli import commands, create_command
from openapi_tools.configuration.config_tables import TABLES, Configuration, ToolTable
from openapi_tools.errors import ERROR_TYPES
from openapi_tools.serving.serving_tables import AuthTable, LimitsTable, RoleTable, ServeTable

REFERENCE = DOCS / "python.md"
SHAPING = DOCS / "shaping.md"
GITHUB = "api.github.com.json"
"""The large document of the guides, in no folder of this repository."""
LARGE = ROOT.parent / "shared" / "corpus" / "github" / GITHUB
SAVED = re.compile(
    r"[Ss]ave [\w ]+ as `(\S+\.toml)`.*?^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
SHAPED = {
    *("wait", "max_output_chars", "max_items", "drop", "nulls", "definitions", "definition_bytes"),
    *("download_dir", "files", "max_file_bytes"),
}
"""Settings of shaping that are not built into generated packages."""


def commands_in(text):
    """Return the commands of a script that use Python or its environment, also joined by `&&`."""
    parts = [part.strip() for line in text.splitlines() for part in line.split("&&")]
    return [part for part in parts if part.startswith(("python3 ", ".venv/"))]


def examples(find_blocks):
    """Return pytest parameters: what is found in each page, numbered.

    The tutorial's are steps of one session: `test_first_hour.py` runs them.
    """
    return [
        pytest.param(each, page, id=f"{name_of(page).removeprefix('docs/')}-{number}")
        for page in PAGES
        if page != TUTORIAL
        for number, each in enumerate(find_blocks(page), start=1)
    ]


@pytest.fixture
def ran(tmp_path):
    """Run a command where the repository seems to be, with its own `openapi-tools`.

    What an example writes does not stay in the repository.
    """
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in ("specs", "generated", "docs", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    if LARGE.exists():
        (folder / GITHUB).symlink_to(LARGE)
    write_program(tmp_path)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    # What the examples show of the cache is there only when it is on.
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "OPENAPI_TOOLS_CACHE": ""}

    def run(*command, page=README):
        if GITHUB in "".join(command) and not LARGE.exists():
            pytest.skip("the folder with GitHub's document is not there")
        for name, text in SAVED.findall(page.read_text()):
            (folder / name).write_text(text)
        return subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False
        )

    return run


@pytest.mark.long
@pytest.mark.parametrize(
    ("example", "page"), examples(lambda page: PYTHON.findall(page.read_text()))
)
def test_a_python_example_runs_and_prints_what_stands_behind_it(example, page, ran):
    code, output = example

    done = ran(sys.executable, "-W", "error", "-c", code, page=page)

    assert (done.returncode, done.stderr) == (0, "")
    assert output in ("", done.stdout)


@pytest.mark.long
@pytest.mark.parametrize(("transcript", "page"), examples(lambda page: blocks(page, "console")))
def test_a_console_example_prints_what_it_says(transcript, page, ran):
    done = ran("bash", "-c", f"exec 2>&1\n{commands_of(transcript)}", page=page)

    assert re.fullmatch(printed_by(transcript), done.stdout), done.stdout


READERS = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": lambda text: [*yaml.safe_load_all(text)],
}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_block_is_executed_or_read_or_says_why_it_is_not(page):
    text = page.read_text()
    for block in FENCE.finditer(text):
        kind, code = block.groups()
        if kind in READERS:
            READERS[kind](code)
        elif kind == "sh" and page not in (README, TUTORIAL):
            assert re.search(r"<!-- not run: .+ -->\n$", text[: block.start()]), code
        else:
            assert kind in ("sh", "console", "python", "text", "jinja", "elixir"), kind


@pytest.mark.parametrize("number", [0, 1])
def test_a_shell_block_of_the_readme_is_one_command(number):
    block = blocks(README, "sh")[number]

    assert block.count("\n") == 1
    assert commands_in(block) == block.strip().split(" && ")


def test_the_first_shell_block_calls_a_tool_offline(ran):
    first = commands_in(blocks(README, "sh")[0])

    done = ran("bash", "-euc", first[-1].removeprefix(".venv/bin/"))

    assert first[0] == "python3 -m venv .venv"
    assert "--mock" in first[-1]
    assert (done.returncode, done.stderr) == (0, "")
    assert '"ticketType":"general","ticketDate":"2023-09-07"' in done.stdout


def test_the_comparison_says_what_its_program_finds(ran):
    done = ran(sys.executable, "docs/examples/compare.py", "openapi_tools")
    verdicts = re.findall(r"^(right|WRONG) +(\w+)", done.stdout, re.MULTILINE)
    page = DOCS / "comparison.md"
    lines = rows_below(page, "## Are the requests right?")
    rows = [line.strip("|").replace(" ", "").split("|") for line in lines]

    assert done.stderr == ""
    assert f"| openapi-tools {openapi_tools.__version__} |" in page.read_text()
    assert [(mine, name.strip("`")) for name, mine, *_ in rows[:-1]] == verdicts
    assert rows[-1][1:] == [str(sum(r[column] == "right" for r in rows)) for column in (1, 2, 3)]
    for package, right in zip(
        ("openapi-tools", "FastMCP", "google-adk"), rows[-1][1:], strict=True
    ):
        assert re.search(rf"{package} (?:sends )?{right}\b", README.read_text())


def test_ci_runs_what_contributors_run():
    setup = commands_in(blocks(README, "sh")[1])
    table = "".join(rows_below(DOCS / "contributing.md", "## Checks"))
    checks = re.findall(r"^\| `(\.venv/bin/[^`]+)` \|", table, re.MULTILINE)
    ci = commands_in((ROOT / ".ci" / "run").read_text())

    assert setup[-1] == ".venv/bin/pytest"
    assert [command for command in (*setup, *checks) if command not in ci] == []
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert ".venv/" in (ROOT / ".gitignore").read_text().split()


PICTURES = runpy.run_path(str(DOCS / "pictures.py"))


@pytest.mark.parametrize("name", PICTURES["PICTURES"])
def test_a_picture_is_what_its_script_draws(name):
    """`python docs/pictures.py` draws them."""
    picture = PICTURES["PICTURES"][name]().as_svg()

    assert (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8") == picture
    assert "//" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_the_picture_of_the_architecture_has_every_package():
    drawn = [name for _, names in PICTURES["FLOORS"] for name in names]
    package = ROOT / "openapi_tools"

    assert {path.parent.name for path in package.glob("*/__init__.py")} <= set(drawn)
    assert [name for name in drawn if not [*package.glob(f"{name}*")]] == []


NAMED = re.compile(r"pip install [^`\n&]*\bopenapi-tools\b(?! @)[^`\n]*")
"""An install from an index, where this package is not."""


def test_an_install_is_named_that_works():
    installs = {name_of(page): NAMED.findall(page.read_text()) for page in PAGES}

    assert {
        name: commands
        for name, commands in installs.items()
        if commands and "changelog" not in name
    } == {}


def test_the_page_about_installing_has_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    rows = re.findall(r"^\| `([\w-]+)` \|", (DOCS / "install.md").read_text(), re.MULTILINE)

    assert rows == sorted(project["optional-dependencies"], key=lambda name: (name == "dev", name))


def steps_of(workflow):
    """Return what the steps of a workflow in the examples run."""
    jobs = yaml.safe_load((DOCS / "examples" / workflow).read_text())["jobs"].values()
    return [step.get("run", "") for job in jobs for step in job["steps"]]


def test_the_workflow_of_the_guide_runs(ran):
    steps = steps_of("fresh-tools.yml")
    (refresh,) = (step for step in steps if "tee" in step)
    (check,) = (step for step in steps if step.endswith("--check"))

    done = ran("bash", "-euo", "pipefail", "-c", PROJECT.format(refresh=refresh, check=check))

    assert "](../examples/fresh-tools.yml)" in (DOCS / "guides" / "ci.md").read_text()
    assert (done.returncode, done.stderr) == (0, "")
    assert "museum: up to date" in done.stdout


PROJECT = """
RUNNER_TEMP=$PWD
mkdir project; cp specs/museum.yaml project; cd project
printf '[tool.openapi-tools.generate.museum]\\nspec = "museum.yaml"\\n' > pyproject.toml
echo 'output = "tools"' >> pyproject.toml
! {check}
{refresh}
grep written $RUNNER_TEMP/report.txt
{check}
"""


@pytest.mark.parametrize(("change", "code"), [("", 0), ("s/getMuseumHours/getHours/", 1)])
def test_the_workflow_that_checks_an_api_runs(ran, tmp_path, change, code):
    if not shutil.which("git"):
        pytest.skip("git is not on this machine")
    install, *commands = filter(None, steps_of("check-api.yml"))
    steps = "\n".join(f"bash -e <<'STEP'\n{command}\nSTEP" for command in commands)

    done = ran("bash", "-euc", PULL_REQUEST.format(change=change, steps=steps))

    assert install.startswith("pip install")
    assert (done.returncode, done.stderr) == (code, "")
    reports = tmp_path / "repository" / "project"
    results = json.loads((reports / "diff.sarif").read_text())["runs"][0]["results"]
    assert "<testsuite" in (reports / "prove.xml").read_text()
    assert [result["level"] for result in results].count("error") == code


PULL_REQUEST = """
mkdir project; cp specs/museum.yaml project/openapi.yaml; cd project
git init --quiet; git add openapi.yaml
git -c user.name=x -c user.email=x@example.com commit --quiet --message x
git update-ref refs/remotes/origin/main HEAD
sed -i '{change}' openapi.yaml
{steps}
"""


def test_the_quick_part_names_tests_that_are_there():
    (quick,) = (c for c in blocks(DOCS / "contributing.md", "sh") if "tests/loading" in c)
    named = re.findall(r"tests/\S+", quick)

    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def anchors(page):
    """Return what a link can name in a page: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text())
    for name, anchor in links:
        if "://" not in name:
            path = page.parent / name if name else page
            assert path.exists()
            assert not anchor or anchor in anchors(path)


def paragraphs(page):
    """Yield the paragraphs, list items and table cells of a page; no code, quotes and headings."""
    for block in re.split(r"\n\s*\n", FENCE.sub("", page.read_text())):
        if block.lstrip().startswith("|"):
            yield from re.split(r"(?<!\\)\|", block)
        elif not block.startswith(("#", ">", "<!--")):
            yield from re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_first_paragraph_says_who_the_page_is_for(page):
    first = next(text for text in paragraphs(page) if text.strip())

    assert re.search(r"(?:^|[.:,] )for \w+", first, re.IGNORECASE), first


LONGEST_PARAGRAPH = 80


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_paragraph_is_long(page):
    lengths = {text: len(text.split()) for text in paragraphs(page)}

    assert {text: words for text, words in lengths.items() if words > LONGEST_PARAGRAPH} == {}


LONGEST_CHANGELOG = 3_000


def test_the_changelog_says_only_what_a_user_notices():
    assert len((DOCS / "changelog.md").read_text().split()) <= LONGEST_CHANGELOG


def as_code(name):
    """Return a pattern that finds a name as code in a line."""
    return re.compile(rf"`[^`\n]*(?<![\w-]){re.escape(name)}(?![\w-])[^`\n]*`")


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_every_command_has_a_section_and_every_option_a_help_text(name):
    """`--help`, of which docs/build.py makes a page, explains the options."""
    page, heading = ("auth", "Logging in") if name == "login" else ("cli", f"`{name}`")
    command = create_command(name)
    parameters = command.get_params(click.Context(command))
    options = [each for each in parameters if isinstance(each, click.Option)]

    assert f"\n## {heading}\n" in (DOCS / f"{page}.md").read_text()
    assert [option.name for option in options if not option.help] == []


def names_of_contracts():
    """Yield the functions that the modules of coordinators offer."""
    for module in COORDINATORS:
        code = ast.parse((ROOT / "openapi_tools" / "contracts" / f"{module}.py").read_text())
        for node in code.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
                yield node.name


COORDINATORS = (
    *("agent_framework", "amplifier", "google_adk", "langchain", "llama_index", "mcp"),
    *("openai_agents", "pydantic_ai"),
)
INNER = {"inline_references"}
"""Functions that other modules of ours use."""
PUBLIC = {*openapi_tools.__all__, *testing.__all__, *names_of_contracts()} - INNER


@pytest.mark.parametrize("name", sorted({*commands.commands, *PUBLIC}))
def test_every_command_and_public_name_is_documented(name):
    texts = [page.read_text() for page in PAGES]
    fenced = [code for text in texts for _, code in FENCE.findall(text)]

    assert any(map(as_code(name).search, texts)) or any(name in code for code in fenced)


def rows_below(page, heading):
    """Return the rows of the first table below a heading."""
    below = page.read_text().split(heading, 1)[1]
    return re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)[0].splitlines()[2:]


def keys_of(table):
    """Yield the keys of a tool's table as the page writes them."""
    for name in table.model_fields:
        if name in TABLES:
            before = f"{name}.ARG" if name == "arguments" else name
            yield from (f"{before}.{key}" for key in keys_of(TABLES[name]))
        else:
            yield name


def codes_in_column(heading, column):
    """Return what stands as code in a column of the first table below a heading."""
    rows = [row.strip("|").split("|") for row in rows_below(SHAPING, heading)]

    assert len({len(row) for row in rows}) == 1
    return {code for row in rows for code in re.findall(r"`([^`]+)`", row[column])}


@pytest.mark.parametrize(
    ("heading", "column", "names"),
    [
        ("\n## Configuration\n", 0, set(Configuration.model_fields)),
        ("\n## All options\n", 0, set(keys_of(ToolTable))),
        ("\n## All options\n", 1, SHAPED | (Settings.SHAPING - {"base_url"})),
    ],
    ids=["configuration", "tools", "settings"],
)
def test_every_option_of_shaping_is_in_its_table(heading, column, names):
    assert names - codes_in_column(heading, column) == set()


@pytest.mark.parametrize("table", [ServeTable, LimitsTable, AuthTable, RoleTable])
def test_every_key_of_a_server_has_a_row(table):
    text = "".join((DOCS / f"{page}.md").read_text() for page in ("serve", "users"))
    first = " ".join(re.findall(r"^\|([^|]+)\|", text, re.MULTILINE))
    headed = set(re.findall(r"\[serve\.(\w+)", text))  # tables of their own

    assert [k for k in table.model_fields if f"`{k}" not in first and k not in headed] == []


def members():
    """Yield the public members of what a user holds in the hand, with their classes."""
    for cls in (Toolset, OperationTool, ToolResult):
        names = {*vars(cls), *getattr(cls, "model_fields", ())}
        yield from ((cls, name) for name in names if not name.startswith(("_", "model_")))


def test_the_reference_explains_every_public_member():
    """docs/build.py makes it of docstrings."""
    without = [
        f"{cls.__name__}.{name}"
        for cls, name in members()
        if not getattr(vars(cls).get(name), "__doc__", None)
        and f"\n    {name}: " not in inspect.getdoc(cls)
    ]

    assert without == []


def test_every_type_of_error_and_exception_has_a_row():
    text = REFERENCE.read_text()
    exceptions = [name for name in openapi_tools.__all__ if _is_exception(name)]

    assert [kind for kind in ERROR_TYPES if f"\n| `{kind}` | " not in text] == []
    assert [name for name in exceptions if f"`{name}`" not in text] == []


def _is_exception(name):
    value = getattr(openapi_tools, name)
    return isinstance(value, type) and issubclass(value, Exception)


def test_the_architecture_names_every_package_and_nothing_that_is_not_there():
    text = (DOCS / "architecture.md").read_text()
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", text))
    package = ROOT / "openapi_tools"
    packages = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    packages |= {path.name for path in package.glob("[!_]*.py")}

    assert sorted(packages - named) == []
    assert [n for n in named if not ((ROOT / n).exists() or (package / n).exists())] == []


def test_each_row_of_where_to_add_names_files_and_symbols_that_are_there():
    page = (DOCS / "contributing.md").read_text()
    table = page.partition("## Where to add")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "---" not in line][1:]
    place = re.compile(
        r"`((?:openapi_tools|tests|docs|specs)/[\w./-]+)`(?: \(((?:`\w+`(?:, )?)+)\))?"
    )

    assert len(rows) > 10
    for row in rows:
        places = place.findall(row)
        assert places or "pyproject.toml" in row, row
        for path, symbols in places:
            assert (ROOT / path).exists(), path
            text = (ROOT / path).read_text() if symbols else ""
            names = set(re.findall(r"\w+", text))
            assert [s for s in re.findall(r"\w+", symbols) if s not in names] == [], path


def test_every_document_in_specs_has_its_source_commit_and_licence():
    rows = (ROOT / "specs" / "README.md").read_text()

    assert len(SPECS) >= 4
    for name in (path.name for path in SPECS):
        row = re.escape(f"| [{name}]({name}) |")
        assert re.search(rf"^{row}.*\| `[0-9a-f]{{40}}` \| (MIT|Apache-2\.0)", rows, re.MULTILINE)


def test_documents_in_specs_are_as_published(shared):
    corpus = {path.read_bytes() for path in (shared / "corpus").rglob("*.*") if path.is_file()}

    assert [path.name for path in SPECS if path.read_bytes() not in corpus] == []
