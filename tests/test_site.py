"""The site of the documentation: built without a warning and a network, and complete."""

import json
import re
import subprocess
import sys

import pytest
import yaml
from doc_pages import DOCS, PAGES, ROOT

import openapi_tools
from openapi_tools import testing
from openapi_tools.cli import commands

pytest.importorskip("zensical", reason="zensical is not installed")

BUILD = DOCS / "build.py"
SITE = ROOT / "build" / "site"
GENERATED = ("reference/", "index.md", "specs.md")
"""Pages of the site that are no file of docs/."""


LOADED = re.compile(
    r'<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc="([^"]*)"'
    r'|<link\b(?![^>]*\brel="(?:canonical|next|prev)")[^>]*?\bhref="([^"]*)"'
)
"""Addresses that a browser loads by itself while it shows a page."""


def pages_in(entry):
    """Yield the pages of a part of the navigation."""
    if isinstance(entry, str):
        yield entry
    else:
        for item in entry.values() if isinstance(entry, dict) else entry:
            yield from pages_in(item)


def test_every_page_is_in_the_navigation_once():
    listed = list(pages_in(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    written = {p.relative_to(DOCS).as_posix() for p in PAGES if p.is_relative_to(DOCS)}

    assert len(listed) == len(set(listed))
    assert {page for page in listed if not page.startswith(GENERATED)} == written


@pytest.fixture(scope="module")
def pages():
    """The pages of a new build, by their paths in the site."""
    done = subprocess.run(
        [sys.executable, BUILD], cwd=ROOT, capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "warning" not in output.lower()
    assert "griffe:" not in output  # what it says of docstrings
    return {p.relative_to(SITE).as_posix(): p.read_text() for p in SITE.rglob("*.html")}


def loads_of(page):
    """Return what a browser would load from other hosts."""
    return [place for pair in LOADED.findall(page) for place in pair if "//" in place]


def lost_links(pages):
    """Yield links and pictures that lead nowhere, with their page."""
    for name, page in pages.items():
        for address in re.findall(r'(?:href|src)="([^":#]+)(?:#[^"]*)?"', page):
            if not address.startswith("/") and not (SITE / name).parent.joinpath(address).exists():
                yield name, address


def public_names():
    """Yield the names that the reference has to explain."""
    yield from (f"openapi_tools.{name}" for name in openapi_tools.__all__ if name[0] != "_")
    yield from (f"openapi_tools.testing.{name}" for name in testing.__all__)
    page = ROOT / "build" / "docs" / "reference" / "contracts.md"
    yield from re.findall(r"^::: (\S+)", page.read_text(), re.MULTILINE)
    yield from (f"openapi-tools-{name}" for name in commands.commands)


def searchable_pages():
    """Return the addresses of the pages that the search within the site finds."""
    index = json.loads((SITE / "search.json").read_text(encoding="utf-8"))
    return {item["location"].partition("#")[0] for item in index["items"]}


@pytest.mark.long
def test_the_site_is_built_whole_without_a_warning_and_a_network(pages):
    reference = [page for name, page in pages.items() if name.startswith("reference/")]
    explained = {anchor for page in reference for anchor in re.findall(r'\bid="([^"]+)"', page)}

    assert len(pages) > len(PAGES)
    assert {name: addresses for name, page in pages.items() if (addresses := loads_of(page))} == {}
    assert list(lost_links(pages)) == []
    assert [name for name in public_names() if name not in explained] == []
    assert {f"{page}index.html" for page in searchable_pages()} == {*pages} - {"404.html"}


def twin_of(page):
    """Return the Markdown file of a page: that of `users/index.html` is `users.md`."""
    return SITE / f"{(page.removesuffix('index.html') or 'index/').removesuffix('/')}.md"


@pytest.mark.long
def test_every_page_is_there_as_markdown_whose_links_lead_somewhere(pages):
    twins = {page: twin_of(page) for page in pages if page != "404.html"}
    texts = {path: path.read_text() for path in twins.values()}
    lost = [
        (path.name, link)
        for path, text in texts.items()
        for link in re.findall(r"\]\(([^):#\s]+)(?:#[^)\s]*)?\)", text)
        if not (path.parent / link).exists()
    ]

    assert len(texts) > len(PAGES)
    assert lost == []
    assert [path for path, text in texts.items() if "\n::: " in text] == []


@pytest.mark.long
@pytest.mark.usefixtures("pages")
def test_the_reference_in_markdown_has_signatures_and_docstrings():
    text = (SITE / "reference" / "functions.md").read_text()
    classes = (SITE / "reference" / "classes.md").read_text()

    assert "```python\nload_tools(source: str | " in text
    assert "Turn every operation of an OpenAPI document into a tool" in text
    assert "### `run_function_calls`" in classes
    # Users call this class by the name of its function.
    names = {*public_names()} - {"openapi_tools.contracts.mcp.ToolsServer"}
    assert [name for name in names if f"`{name}`" not in every_reference()] == []
    assert "## `openapi_tools.contracts.mcp.create_server`" in every_reference()


def every_reference():
    names = "".join(path.read_text() for path in (SITE / "reference").glob("*.md"))
    # The section of a command is named as it is typed.
    return names.replace("`openapi-tools ", "`openapi-tools-")


@pytest.mark.long
@pytest.mark.usefixtures("pages")
def test_llms_txt_lists_every_page_with_what_it_is_for():
    lines = (SITE / "llms.txt").read_text().splitlines()
    rows = [re.fullmatch(r"- \[[^]]+\]\(([^)]+)\)(: .+)?", row) for row in lines if row[:1] == "-"]
    listed = list(pages_in(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))

    assert lines[0] == "# openapi-tools"
    assert lines[2].startswith("> Every operation of an OpenAPI document")
    assert [row[1] for row in rows] == listed
    assert all((SITE / page).exists() for page in listed)
    assert [row[1] for row in rows if not row[2] and not row[1].startswith("reference/")] == []
