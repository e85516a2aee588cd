"""Reports of `lint`, `prove`, `eval` and `diff`: one table of writers, by the names of `--format`.

Spec: SARIF 2.1.0 (OASIS); workflow commands of GitHub Actions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree as ET

import yaml

from openapi_tools._version import __version__
from openapi_tools.cli.output import PROGRAM, clean, format_json, print_json, print_text
from openapi_tools.common.json_values import split_pointer
from openapi_tools.common.visible_text import mask_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from openapi_tools.conformance.findings import Finding

_LARGEST = 2_000_000  # characters of a file in which lines are looked up
_LEVELS = {"error": "error", "warning": "warning"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ReportCase(NamedTuple):
    """A test of a JUnit report; `outcome` is empty for success, else `failure` or `skipped`."""

    name: str
    outcome: str
    message: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReport:
    """What a command has found, for every writer.

    Attributes:
        title: The command, as `"openapi-tools lint"`.
        spec: The argument SPEC.
        lines: The report as text that is safe for a terminal.
        data: The report as JSON data.
        findings: The report as findings at places of the document.
        cases: The report as tests.
        markdown: The report as lines of Markdown.
        counts: Numbers by name.
    """

    title: str
    spec: str | None
    lines: Sequence[str]
    data: Any
    findings: Sequence[Finding] = ()
    cases: Sequence[ReportCase] = ()
    markdown: Sequence[str] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


def print_report(report: CommandReport, report_format: str) -> None:
    """Write a report in a format."""
    text = WRITERS[report_format](report)
    if report_format in ("json", "sarif"):
        print_json(text)
    elif text:
        print_text(text)


def _write_text(report: CommandReport) -> str:
    return "\n".join(report.lines)


def _write_markdown(report: CommandReport) -> str:
    return "\n".join(report.markdown)


def _write_json(report: CommandReport) -> str:
    return format_json(report.data)


def _write_github(report: CommandReport) -> str:
    lines, file = _find_lines(report), _display_source(report.spec)
    return "\n".join(
        _format_command(
            _LEVELS.get(finding.severity, "notice"),
            {"file": file, "line": lines.get(finding.pointer, 1), "title": finding.rule},
            clean(f"{finding.pointer or '(document)'}: {finding.message}"),
        )
        for finding in report.findings
    )


def _format_command(name: str, properties: Mapping[str, Any], message: str) -> str:
    parts = (f"{key}={_escape(str(value), ':,')}" for key, value in properties.items())
    return f"::{name} {','.join(parts)}::{_escape(message)}"


def _escape(text: str, extra: str = "") -> str:
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{extra}" else c for c in text)


def _write_sarif(report: CommandReport) -> str:
    rules = list(dict.fromkeys(finding.rule for finding in report.findings))
    lines, uri = _find_lines(report), quote(_display_source(report.spec), safe="/:")
    results = [
        {
            "ruleId": finding.rule,
            "ruleIndex": rules.index(finding.rule),
            "level": _LEVELS.get(finding.severity, "note"),
            "message": {"text": finding.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri},
                        "region": {"startLine": lines.get(finding.pointer, 1)},
                    },
                    "logicalLocations": [{"fullyQualifiedName": f"#{finding.pointer}"}],
                }
            ],
        }
        for finding in report.findings
    ]
    driver = {"name": PROGRAM, "version": __version__, "rules": [{"id": rule} for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "results": results,
        "properties": {"counts": dict(report.counts)},
    }
    return format_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _write_junit(report: CommandReport) -> str:
    outcomes = Counter(case.outcome for case in report.cases)
    attributes = {
        "name": report.title,
        "tests": len(report.cases),
        "failures": outcomes["failure"],
        "skipped": outcomes["skipped"],
        "errors": 0,
    }
    suite = ET.Element("testsuite", {key: str(value) for key, value in attributes.items()})
    properties = ET.SubElement(suite, "properties")
    for name, count in report.counts.items():
        ET.SubElement(properties, "property", name=name, value=str(count))
    source = clean(_display_source(report.spec or "configuration"))
    for case in report.cases:
        name = clean(case.name, lines=False)
        node = ET.SubElement(suite, "testcase", {"name": name, "classname": source})
        if case.outcome:
            message = clean(case.message, lines=False)
            ET.SubElement(node, case.outcome, message=message, type=case.kind)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


WRITERS: dict[str, Callable[[CommandReport], str]] = {
    "text": _write_text,
    "json": _write_json,
    "sarif": _write_sarif,
    "github": _write_github,
    "junit": _write_junit,
    "markdown": _write_markdown,
}


def _display_source(spec: str | None) -> str:
    if spec and "://" in spec:
        return mask_user(spec).partition("?")[0]
    return spec or "-"


def _find_lines(report: CommandReport) -> dict[str, int]:
    path = Path(report.spec or "-")
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        root = yaml.compose(text, Loader=_LOADER) if len(text) <= _LARGEST else None
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    pointers = {finding.pointer for finding in report.findings} if root is not None else ()
    return {pointer: _find_line(root, split_pointer(pointer)) for pointer in pointers}


def _find_line(node: Any, keys: Iterable[str]) -> int:
    line = 1
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == key), None)
        else:
            items = dict(enumerate(node.value)) if isinstance(node, yaml.SequenceNode) else {}
            pair = (items[int(key)],) * 2 if key.isdecimal() and int(key) in items else None
        if pair is None:
            break
        line, node = pair[0].start_mark.line + 1, pair[1]
    return line
