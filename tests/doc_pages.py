"""The pages of the documentation, their blocks of code, and what a block says it prints."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial.md"
PAGES = [README, *sorted(DOCS.rglob("*.md")), ROOT / "specs" / "README.md"]
PYTHON = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    """Return a page's code blocks of one language."""
    return [code for kind, code in FENCE.findall(page.read_text()) if kind == language]


def name_of(page):
    """Return the path of a page, for ids of tests."""
    return page.relative_to(ROOT).as_posix()


def commands_of(transcript):
    """Return the commands of a console block."""
    return "\n".join(line[2:] for line in transcript.splitlines() if line.startswith("$ "))


def printed_by(transcript):
    """Return a pattern of the output of a console block; `…` stands for the rest of a line, and

    a line `…` for any lines.
    """
    expected = re.sub(r"^\$ .*\n", "", transcript, flags=re.MULTILINE)
    return re.escape(expected).replace(re.escape("…\n"), "(?:.*\n)*")
