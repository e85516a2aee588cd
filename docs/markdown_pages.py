"""Markdown twins of the site's pages, and llms.txt, which lists them: for readers that are models.

The twin of `users/` is `users.md`. Pages of the reference, which are directives of mkdocstrings,
get signatures and docstrings in their twins.
"""

import re

import griffe
import yaml

DIRECTIVE = re.compile(
    r"^::: (?P<name>\S+)\n(?:    options:\n(?P<options>(?:      .*\n?)+))?", re.MULTILINE
)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PARAGRAPH = re.compile(r"^(?![#>|!<:\s-])(?:.+\n?)+", re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=\.)\s")
SHORT = 70


def write_markdown_pages(pages, site, config):
    """Write a Markdown file beside each page of the site, and llms.txt with all of them."""
    package = griffe.load("openapi_tools")
    for source in sorted(pages.rglob("*.md")):
        target = site / source.relative_to(pages)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8")
        target.write_text(expand_directives(text, package), encoding="utf-8")
    (site / "llms.txt").write_text(list_pages(pages, config), encoding="utf-8")


def expand_directives(text, package):
    """Return a page with signatures and docstrings in place of directives."""
    return DIRECTIVE.sub(lambda found: _describe_name(found, package), text)


def _describe_name(directive, package):
    options = yaml.safe_load(directive["options"] or "") or {}
    path = directive["name"].partition(".")[2]
    described = package[path].final_target if package[path].is_alias else package[path]
    sections = [_section(options.get("heading", directive["name"]), described, level=2)]
    if described.is_class:
        members = options.get("members", _public_members(described))
        sections += [_section(name, described.all_members[name], level=3) for name in members]
    return "\n".join(sections)


def _public_members(described):
    return [
        name
        for name, member in described.members.items()
        if not name.startswith("_") and member.has_docstring
    ]


def _section(name, described, *, level):
    lines = [f"{'#' * level} `{name}`\n"]
    if described.is_function:
        lines.append(f"```python\n{described.signature()}\n```\n")
    if described.has_docstring:
        lines.append(f"{described.docstring.value}\n")
    return "\n".join(lines)


def list_pages(pages, config):
    """Return llms.txt: what the package is, and each page with what it is for."""
    facts = yaml.safe_load(config.read_text(encoding="utf-8"))
    lines = [f"# {facts['site_name']}\n", f"> {facts['site_description']}\n"]
    for entry in facts["nav"]:
        for section, items in entry.items():
            rows = [_row(title, page, pages) for item in items for title, page in item.items()]
            lines.append(f"## {section}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(lines)


def _row(title, page, pages):
    text = summarize((pages / page).read_text(encoding="utf-8"))
    return f"- [{title}]({page})" + (f": {text}" if text else "")


def summarize(text):
    """Return what a page's first paragraph says, as plain text of a sentence or two."""
    paragraph = PARAGRAPH.search(FENCE.sub("", text))
    if not paragraph:
        return ""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph[0].split()))
    first, *rest = SENTENCE_END.split(words)
    # "For newcomers." alone says little.
    return " ".join([first, *rest[:1]]) if len(first) < SHORT else first
