"""Print how many tools of the published documents lint finds hard to tell apart or to find.

python tests/tool_words.py [PATH ...]    before the overlay of `lint --fix`, and with it
"""

import argparse
from collections import Counter
from typing import NamedTuple

from corpus import entries

from openapi_tools import load_tools
from openapi_tools.changes.document_diff import differences_of
from openapi_tools.conformance.lint_fixes import make_overlay
from openapi_tools.conformance.lint_rules import find_tool_problems
from openapi_tools.errors import OpenAPIToolsError

RULES = ("confusable-tools", "unreachable-tool", "unclear-argument")


class Words(NamedTuple):
    """What lint finds about the words of a document's tools, before and after its fixes."""

    path: str
    tools: int
    before: Counter
    after: Counter
    changes: frozenset
    """The kinds of differences between the tools, as `diff` names them."""


def check_words(entry):
    """Return what the rules find in a document that loads with tools; else None."""
    try:
        toolset = load_tools(entry.file)
    except OpenAPIToolsError:
        return None
    if not len(toolset):
        return None
    overlay, _ = make_overlay(toolset, lambda fix: load_tools(entry.file, overlays=[fix]))
    if not overlay["actions"]:
        return Words(entry.path, len(toolset), *[_count_findings(toolset)] * 2, frozenset())
    fixed = load_tools(entry.file, overlays=[overlay])
    toolset = load_tools(entry.file, overlays=[_without_words(overlay)])
    return Words(
        entry.path,
        len(toolset),
        _count_findings(toolset),
        _count_findings(fixed),
        frozenset(item["kind"] for item in differences_of(toolset, fixed)),
    )


def _without_words(overlay):
    """Return the overlay without its words, and with an action that does nothing."""
    actions = [{"target": "$.info", "update": {}}]
    for action in overlay["actions"]:
        update = action.get("update", {})
        kept = {key: update[key] for key in update if key not in ("summary", "description")}
        actions += [action] if "remove" in action else [{**action, "update": kept}]
    return {**overlay, "actions": actions}


def _count_findings(toolset):
    return Counter(item.rule for item in find_tool_problems(toolset) if item.rule in RULES)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", help="documents below the corpus; all without")
    paths = parser.parse_args().paths
    before, after, tools, documents = Counter(), Counter(), 0, 0
    for entry in entries():
        words = check_words(entry) if not paths or entry.path in paths else None
        if words is None:
            continue
        documents, tools = documents + 1, tools + words.tools
        before, after = before + words.before, after + words.after
        if words.before:
            counts = ", ".join(f"{r} {words.before[r]} -> {words.after[r]}" for r in RULES)
            print(f"{words.path}: {words.tools} tools: {counts}; {', '.join(words.changes)}")
    print(f"{documents} documents, {tools:,} tools")
    for rule in RULES:
        print(f"{rule}: {before[rule]:,} before, {after[rule]:,} with the overlay")


if __name__ == "__main__":
    main()
