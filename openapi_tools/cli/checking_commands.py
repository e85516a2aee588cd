"""`openapi-tools lint`, `prove` and `diff`, and the formats of their reports.

Spec: SARIF 2.1.0 (OASIS); commands of GitHub's workflows.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import click
import yaml

from openapi_tools._version import __version__
from openapi_tools.cli import PROGRAM, as_json, busy, clean, remark, say, skipped_data, write_new
from openapi_tools.cli import command_options as shared
from openapi_tools.errors import DocumentError, MissingExtraError, counted
from openapi_tools.json_values import select_attributes, split_pointer
from openapi_tools.loading.document_reader import DocumentReader, LoadOptions
from openapi_tools.loading.load import read_options
from openapi_tools.openapi_core import Finding, lint_fixes, lint_rules, shorten_line
from openapi_tools.tools.session import settings_of
from openapi_tools.visible_text import without_user

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.testing.proving import Proof
    from openapi_tools.tools.toolset import Toolset

_LARGEST = 2_000_000  # characters of a file whose lines are looked up
_LEVELS = {"error": "error", "warning": "warning"}
_NAMED = 10
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FACTS = ("severity", "pointer", "message", "rule")
_VERDICTS = ("proved", "not judged", "failed", "skipped")
_OF_PROOF = ("tool", "verdict", "request", "response", "cause", "reason")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_REPEATED = "is not declared; it is taken as text."  # a warning that a rule repeats


@shared.command("lint")
def lint(
    spec: str | None, *, form: str, wants_json: bool, limit: int, fix: Path | None, force: bool
) -> int:
    """Check whether SPEC is valid and fit for tools. Exit 1 for an error or a skipped operation.

    --fix writes an overlay that mends what can be mended without a decision; --overlay applies it.
    """
    source = shared.source_of(spec)
    toolset = shared.load(source)
    with busy("Checking the document"):
        found = [*_duplicate_keys(source), *_validity(toolset)]
        hints = lint_rules.find_tool_problems(toolset)
    skipped = [Finding(item.pointer, item.reason, rule="skipped") for item in toolset.skipped]
    everything = [*found, *skipped, *hints]
    score = lint_rules.score_document(everything, toolset.counts["operations"])
    if wants_json or form == "json":
        told, advice = (
            [select_attributes(item, _FACTS) for item in some] for some in (found, hints)
        )
        data = {"findings": told, **skipped_data(toolset), "hints": advice}
        say(as_json({**data, "counts": dict(toolset.counts), "score": score}))
    elif form == "text":
        _tell(found, hints, toolset, limit, score)
    else:
        others = [text for text in toolset.warnings if not text.endswith(_REPEATED)]
        _write(form, [*everything, *(Finding("", t, "warning", "load") for t in others)], spec)
    if fix is not None:
        _write_overlay(toolset, source, fix, force=force)
    return 1 if any(item.severity == "error" for item in everything) else 0


def _validity(toolset: Toolset) -> list[Finding]:
    """Return the findings of openapi-core; none without it, which standard error says."""
    try:
        from openapi_tools.openapi_core.document_check import (
            find_document_errors,
        )  # takes half a second
    except MissingExtraError as error:
        remark(f"note: the document's validity is not checked: {error}")
        return []
    return find_document_errors(toolset.document)


def _duplicate_keys(source: Any) -> list[Finding]:
    """Return the repeated keys of a document of any size; loading checks up to 1 MB."""
    settings = settings_of(shared.given_settings() or None)
    source, config, _ = shared.resolve_source(source)
    credentials, overlays = shared.given_credentials(), shared.given_overlays()
    options = LoadOptions(source, settings, credentials, overlays, strict=True)
    options, _ = read_options(options, config)
    try:
        DocumentReader(options).read()
    except DocumentError as error:
        return [Finding(error.pointer, shorten_line(error.reason), rule="duplicate-key")]
    return []


def _tell(
    found: list[Finding], hints: list[Finding], toolset: Toolset, limit: int, score: int
) -> None:
    ordered = sorted(found, key=lambda item: item.severity != "error")
    lines = [f"{i.severity}: {i.pointer or '(document)'}: {i.message}" for i in ordered]
    skipped = [f"skipped: {item.pointer}: {item.reason}" for item in toolset.skipped]
    warnings = [f"warning: {warning}" for warning in toolset.warnings]
    advice = [f"hint: {i.pointer or '(document)'}: {i.rule}: {i.message}" for i in hints]
    for group in (lines, skipped, warnings, advice):
        for line in group[:limit]:
            say(clean(line, lines=False))
        if len(group) > limit:
            say(f"… and {len(group) - limit} more; --limit shows more, --json all.")
    errors = sum(item.severity == "error" for item in found)
    say(
        f"{counted(len(toolset), 'tool')}, {len(skipped)} skipped, {counted(errors, 'error')}, "
        f"{counted(len(found) - errors, 'note')}, {counted(len(warnings), 'warning')}. "
        f"{counted(len(hints), 'hint')} for tools; score {score} of 100."
    )


def _write_overlay(toolset: Toolset, source: Any, path: Path, *, force: bool) -> None:
    def reload(overlay: dict[str, Any]) -> Toolset:
        return shared.load(source, overlays=[overlay])

    overlay, left = lint_fixes.make_overlay(toolset, reload)
    count = len(overlay["actions"])
    if count:
        text = yaml.safe_dump(overlay, sort_keys=False, allow_unicode=True, width=100)
        write_new(path, text, force=force)
        remark(f"{path} written: {counted(count, 'action')}; apply it with --overlay {path}.")
    else:
        remark(f"nothing to fix, so {path} is not written.")
    for entry in left:
        remark(f"still skipped: {entry.method} {entry.path} at {entry.pointer}: {entry.reason}")


@shared.command("prove")
def prove(spec: str | None, *, form: str, wants_json: bool, **filters: Any) -> int:
    """Call every tool of SPEC through a mock with sampled input, and judge requests and answers.

    Nothing leaves the process. Exit 1 when a tool fails, or when nothing could be judged. What
    fails by a default or an example of the document, and what could not be judged, is counted
    separately.
    """
    from openapi_tools.cli.call_command import mocked
    from openapi_tools.testing.proving import Proof
    from openapi_tools.testing.proving import prove_tools as proofs_of

    toolset, api = mocked(spec, judge=True, check_responses=True)
    chosen = shared.selected(toolset, **filters)
    with busy("Calling the tools"):
        proofs = asyncio.run(proofs_of(chosen, api))
    for entry in toolset.skipped:
        name = f"{entry.method} {entry.path}".strip()
        proofs.append(Proof(name, "skipped", "skipped", entry.reason, entry.pointer))
    counts = Counter(proof.verdict for proof in proofs)
    summary = {name: counts[name] for name in _VERDICTS}
    by_document = sum(proof.cause == "document" for proof in proofs)
    by_tool = counts["failed"] - by_document
    summary["failed by the document"] = by_document
    if wants_json or form == "json":
        say(
            as_json({"tools": [select_attributes(p, _OF_PROOF) for p in proofs], "counts": summary})
        )
    elif form == "junit":
        say(_junit(proofs, summary, spec or "configuration"))
    elif form == "sarif":
        faults = [_fault(proof) for proof in proofs if proof.verdict != "proved"]
        _write(form, faults, spec, **summary)
    else:
        _tell_proofs(proofs, summary)
    if not counts["proved"] + counts["failed"]:
        reason = next((proof.reason for proof in proofs), "no tool is selected.")
        remark(f"nothing could be judged: {clean(shorten_line(reason), lines=False)}")
    return int(bool(by_tool or not counts["proved"] + counts["failed"]))


def _tell_proofs(proofs: list[Proof], summary: dict[str, int]) -> None:
    width = max((len(proof.tool) for proof in proofs), default=4)
    heads = [("Tool", "Request", "Response", "Reason")] * bool(proofs)
    for name, *cells in [*heads, *map(astuple, proofs)]:
        request, answer, reason = (clean(shorten_line(text), lines=False) for text in cells[:3])
        say(f"{clean(name, lines=False):<{width}}  {request:<10}  {answer:<10}  {reason}".rstrip())
    counts = ", ".join(f"{summary[name]} {name}" for name in _VERDICTS)
    by_document = summary["failed by the document"]
    causes = f"{summary['failed'] - by_document} by the tool, {by_document} by the document"
    say(f"{counts}. Failed: {causes}." if summary["failed"] else f"{counts}.")


def _fault(proof: Proof) -> Finding:
    severity = "note" if proof.verdict == "not judged" else "error"
    severity = "warning" if proof.cause == "document" else severity
    rule = proof.verdict.replace(" ", "-") + "-by-document" * (proof.cause == "document")
    return Finding(proof.pointer, f"{proof.tool}: {shorten_line(proof.reason)}", severity, rule)


def _outcome(proof: Proof) -> str:
    return proof.verdict + " by the document" * (proof.cause == "document")


def _junit(proofs: list[Proof], summary: dict[str, int], source: str) -> str:
    # A program that reads the report fails where the exit code is 1: by a tool's fault.
    kinds = {"proved": "", "failed": "failure"}
    cases = [
        (proof, "skipped" if proof.cause == "document" else kinds.get(proof.verdict, "skipped"))
        for proof in proofs
    ]
    counts = Counter(kind for _, kind in cases)
    facts = {"name": "openapi-tools prove", "tests": len(cases), "failures": counts["failure"]}
    facts |= {"skipped": counts["skipped"], "errors": 0}
    suite = ET.Element("testsuite", {key: str(value) for key, value in facts.items()})
    bag = ET.SubElement(suite, "properties")
    for name, count in summary.items():
        ET.SubElement(bag, "property", name=name, value=str(count))
    for proof, kind in cases:
        names = {"name": clean(proof.tool, lines=False), "classname": clean(_shown(source))}
        case = ET.SubElement(suite, "testcase", names)
        if kind:
            said = clean(shorten_line(proof.reason), lines=False)
            ET.SubElement(
                case, kind, message=f"{_outcome(proof)}: {said}", type=proof.cause or kind
            )
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


@shared.command("diff")
def diff(
    old: str, new: str, *, form: str, wants_json: bool, fail_on: str | None, **filters: Any
) -> int:
    """Report what changes for the tools between OLD and NEW, one line for each difference.

    Both are documents as SPEC of other commands, or JSON files with an MCP server's responses
    to `tools/list`. Options for reading and selecting apply to both.
    """
    from openapi_tools.differences import differences_of

    if (old, new) == ("-", "-"):
        raise click.UsageError("OLD and NEW cannot both be read from standard input.")
    sides = [_side(spec, **filters) for spec in (old, new)]
    with busy("Comparing the tools"):
        found = differences_of(*sides)
    breaking = sum(item["breaking"] for item in found)
    if wants_json or form == "json":
        say(as_json({"changes": found, "counts": {"changes": len(found), "breaking": breaking}}))
    elif form == "text":
        for item in found:
            state = "breaking" if item["breaking"] else ""
            say(f"{state:<10}{item['kind']:<13}{clean(item['message'], lines=False)}")
        touched = len({name for item in found for name in item["tools"]})
        told = f"{touched} tool{' differs' if touched == 1 else 's differ'}"
        say(f"{counted(len(found), 'change')}, {breaking} breaking; {told}.")
    else:
        _write(form, [_as_finding(item) for item in found], new)
    return int(bool(breaking if fail_on == "breaking" else fail_on and found))


def _side(spec: str, **filters: Any) -> Any:
    from openapi_tools.differences import listed_tools

    source = shared.source_of(spec)
    if isinstance(source, Path | bytes) and Path(spec).suffix != ".toml":
        try:
            answer = json.loads(source if isinstance(source, bytes) else source.read_bytes())
        except (OSError, ValueError, RecursionError):
            answer = None  # the loader tells
        if listed_tools(answer) is not None:
            cursor = answer.get("result", answer) if isinstance(answer, dict) else {}
            if cursor.get("nextCursor"):
                remark(f"note: {spec} is a part of a list; its server has further tools.")
            return answer
    return shared.selected(shared.load(source), **filters)


def _as_finding(item: dict[str, Any]) -> Finding:
    tools = ", ".join(item["tools"][:_NAMED]) + ", …" * (len(item["tools"]) > _NAMED)
    severity, rule = "error" if item["breaking"] else "note", item["kind"].replace(" ", "-")
    return Finding(item["pointer"], f"{item['message']} ({tools})", severity, rule)


def _shown(spec: str | None) -> str:
    """Return SPEC for a report: a URL without its user and query."""
    return without_user(spec or "-").partition("?")[0] if "://" in (spec or "") else spec or "-"


def _write(form: str, found: list[Finding], spec: str | None, **counts: int) -> None:
    """Write findings as SARIF, or as commands of a GitHub workflow."""
    lines, name = _lines(spec, {item.pointer for item in found}), _shown(spec)
    if form == "sarif":
        say(as_json(_sarif(found, name, lines, **counts)))
        return
    for item in found:
        facts = {"file": name, "line": lines.get(item.pointer, 1), "title": item.rule}
        told = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in facts.items())
        words = _escaped(clean(f"{item.pointer or '(document)'}: {item.message}"))
        say(f"::{_LEVELS.get(item.severity, 'notice')} {told}::{words}")


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)


def _sarif(found: list[Finding], name: str, lines: dict[str, int], **counts: int) -> Any:
    rules = list(dict.fromkeys(item.rule for item in found))
    uri = {"uri": quote(name, safe="/:")}
    results = [
        {
            "ruleId": item.rule,
            "ruleIndex": rules.index(item.rule),
            "level": _LEVELS.get(item.severity, "note"),
            "message": {"text": item.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": uri,
                        "region": {"startLine": lines.get(item.pointer, 1)},
                    },
                    "logicalLocations": [{"fullyQualifiedName": f"#{item.pointer}"}],
                }
            ],
        }
        for item in found
    ]
    driver = {"name": PROGRAM, "version": __version__, "rules": [{"id": rule} for rule in rules]}
    run = {"tool": {"driver": driver}, "results": results, "properties": {"counts": counts}}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _lines(spec: str | None, pointers: set[str]) -> dict[str, int]:
    """Return the lines of places in a file; none for a large one, a URL or standard input."""
    path = Path(spec or "-")
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        root = yaml.compose(text, Loader=_LOADER) if len(text) <= _LARGEST else None
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    return {} if root is None else {place: _line(root, split_pointer(place)) for place in pointers}


def _line(node: Any, keys: Iterable[str]) -> int:
    """Return the line of a place, or of the nearest one above it that exists."""
    line = 1
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            inner = next((pair for pair in node.value if pair[0].value == key), None)
        else:
            items = dict(enumerate(node.value)) if isinstance(node, yaml.SequenceNode) else {}
            inner = (items[int(key)],) * 2 if key.isdecimal() and int(key) in items else None
        if inner is None:
            break
        line, node = inner[0].start_mark.line + 1, inner[1]
    return line
