"""Build the site of these pages, without a network: `python docs/build.py`.

It gathers the pages in build/docs: README.md as the first page, those of this folder, and the
reference, which is made from docstrings and from `--help`. Then zensical writes build/site, and a
warning ends it with exit code 1. Each page is there as Markdown, too; llms.txt lists these.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click

import openapi_tools
from openapi_tools import cli, testing
from openapi_tools.cli.explain_command import read_error_texts
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS, SettingFields, setting

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGES = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]+)?\)")
COORDINATORS = (
    *("agent_framework", "amplifier", "google_adk", "langchain", "llama_index", "mcp"),
    *("mcp_tasks", "openai_agents", "pydantic_ai"),
)
OTHERS = {"README.md": "index.md", "specs/README.md": "specs.md"}
"""Pages that are not in this folder, and their names on the site."""
COPIED = {".png", ".svg", ".yml", ".json", ".toml", ".py", ".txt"}
WIDTH = 80
LONG_NUMBER = 10_000
FIRST = "list"
GROUP = re.compile(r"^(?:Server|Credentials|Reading|Settings).*:\n(?: .*\n)+", re.MULTILINE)
"""A group of options that most commands share, in the help of the first one."""
SHOWN = {
    "OAuth2": [],
    "FolderStore": ["put", "open"],
    "Select": [],
    "Settings": [],
    "ToolsServer": ["replace"],
}
"""Members for users, of classes with others that other modules of ours use."""
CALLED = {"ToolsServer": "create_server"}
"""Classes that users call by another name."""


def public_names(module):
    """Return the names that a module of a coordinator offers to users."""
    source = (ROOT / "openapi_tools" / "contracts" / f"{module}.py").read_text(encoding="utf-8")
    listed = re.search(r"^__all__ = \[(.*?)\]", source, re.MULTILINE | re.DOTALL)
    if listed:
        return re.findall(r'"(\w+)"', listed[1])
    functions = re.findall(r"^(?:async )?def ([a-z]\w*)\(", source, re.MULTILINE)
    classes = [name for name in CALLED if f"class {name}(" in source]
    return [*classes, *functions]


def documented():
    """Yield the full names that the reference explains, page by page."""
    names = [name for name in openapi_tools.__all__ if not name.startswith("_")]
    errors = [n for n in names if _is_error(getattr(openapi_tools, n))]
    rest = [name for name in names if name not in errors]
    functions = [name for name in rest if name[0].islower()]
    classes = [name for name in rest if name not in functions]
    yield "functions", "Functions", [f"openapi_tools.{name}" for name in functions]
    yield "classes", "Classes", [f"openapi_tools.{name}" for name in classes]
    yield "exceptions", "Exceptions", [f"openapi_tools.{name}" for name in errors]
    kit = [f"openapi_tools.testing.{name}" for name in testing.__all__]
    yield "testing", "openapi_tools.testing", kit
    contracts = [
        f"openapi_tools.contracts.{module}.{name}"
        for module in COORDINATORS
        for name in public_names(module)
    ]
    yield "contracts", "openapi_tools.contracts", contracts


def _is_error(value):
    return isinstance(value, type) and issubclass(value, Exception)


def write_reference(folder):
    """Write the pages of the reference that are made of the code."""
    folder.mkdir()
    for page, title, names in documented():
        parts = [f"# {title}\n", *map(_directive, names)]
        (folder / f"{page}.md").write_text("\n".join(parts), encoding="utf-8")
    (folder / "errors.md").write_text(errors_page(), encoding="utf-8")
    (folder / "settings.md").write_text(settings_page(), encoding="utf-8")
    parts = ["# Help of the commands\n", *map(help_section, ["", *cli.commands.commands])]
    (folder / "commands.md").write_text("\n".join(parts), encoding="utf-8")


def errors_page():
    """Return the page of all error types, with the texts of `openapi-tools explain`."""
    sections = [text.format_markdown() for text in read_error_texts().values()]
    return "\n".join(["# Errors\n", "What a failure means, and what to do.\n", *sections])


def settings_page():
    """Return the page of all settings, from their fields."""
    rows = "".join(map(_setting_row, SettingFields.__annotations__))
    return f"# Settings\n\n| setting | default | meaning |\n|---|---|---|\n{rows}"


def _setting_row(name):
    value, field = getattr(DEFAULT_SETTINGS, name), setting(name)
    default = repr(value).replace("'", '"')
    if type(value) is int and value >= LONG_NUMBER:
        default = f"{value:_}"
    link = f" [More](../{field.page})." if field.page else ""
    return f"| `{name}` | `{default}` | {field.text}{link} |\n"


def _directive(name):
    """Return the line by which mkdocstrings shows a name, with its members for users."""
    package, _, short = name.rpartition(".")
    options = {}
    if short in SHOWN:
        options["members"] = SHOWN[short]
    if short in CALLED:
        options["heading"] = options["toc_label"] = f"{package}.{CALLED[short]}"
    lines = "".join(f"      {option}: {value}\n" for option, value in options.items())
    return f"::: {name}\n" + (f"    options:\n{lines}" if options else "")


def help_section(name):
    """Return the section with the help of a command.

    Groups of options that are the same for most commands are written out for the first one only.
    """
    text = help_of(name)
    if name and name != FIRST:
        for group in GROUP.findall(help_of(FIRST)):
            heading = group.partition("\n")[0]
            text = text.replace(group, f"{heading}\n  as those of `{FIRST}`\n")
    return f"## `{program_name(name)}`\n\n```text\n{text}\n```\n"


def program_name(command):
    """Return what is typed to run a command."""
    return f"openapi-tools {command}".strip()


def help_of(name):
    """Return what `--help` of a command prints."""
    command = cli.create_command(name) if name else cli.commands
    context = click.Context(command, info_name=program_name(name), terminal_width=WIDTH)
    return command.get_help(context).rstrip()


def gather():
    """Copy every page to build/docs, with links that lead somewhere on the site."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir(parents=True)
    for path in sorted(DOCS.rglob("*")):
        if path.parent == DOCS and path.suffix == ".py":
            continue
        if path.suffix == ".md":
            _place(path, PAGES / path.relative_to(DOCS))
        elif path.suffix in COPIED:
            target = PAGES / path.relative_to(DOCS)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)
    for source, name in OTHERS.items():
        _place(ROOT / source, PAGES / name)
    write_reference(PAGES / "reference")


def _place(source, target):
    """Write one page, its links rewritten."""
    target.parent.mkdir(exist_ok=True)
    text = LINK.sub(lambda link: _led(link, source, target), source.read_text(encoding="utf-8"))
    target.write_text(text, encoding="utf-8")


def _led(link, source, target):
    """Return a link as the site has it; one to another file of the repository is its text."""
    picture, text, address, anchor = link.groups()
    if ":" in address:
        return link[0]
    path = (source.parent / address).resolve()
    name = path.relative_to(ROOT).as_posix()
    if name in OTHERS:
        place = PAGES / OTHERS[name]
    elif path.is_relative_to(DOCS) and path.suffix in {".md", *COPIED}:
        place = PAGES / path.relative_to(DOCS)
    else:
        return text
    led = Path(os.path.relpath(place, target.parent)).as_posix()
    return f"{picture}[{text}]({led}{anchor or ''})"


def main():
    """Build the site."""
    gather()
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    returncode = subprocess.run(command, cwd=ROOT, check=False).returncode
    if not returncode:
        # Tests run this file by its path, from which its neighbour cannot be imported.
        import markdown_pages

        markdown_pages.write_markdown_pages(PAGES, SITE, ROOT / "mkdocs.yml")
    return returncode


if __name__ == "__main__":
    sys.exit(main())
