"""The findings of `lint` as text: places in words, equal findings together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openapi_tools.cli.output import clean
from openapi_tools.cli.styles import style_label, style_secondary
from openapi_tools.cli.text_layout import wrap_text
from openapi_tools.common.json_values import join_pointer, split_pointer
from openapi_tools.errors import format_count, join_first
from openapi_tools.toolsets.document_info import document_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi_tools.conformance.findings import Finding
    from openapi_tools.toolsets.toolset import Toolset

_MARGIN = "    "
_NAMED = 10  # arguments in the head of a group
_LISTED = 5  # arguments of one operation
_GROUPS = 5  # groups that share the limit, so that the first does not take all of it
_OPERATION = 3  # keys of the pointer of an operation: /paths/PATH/METHOD
# Heads of groups whose findings differ in their details.
_HEADS = {
    "undescribed-arguments": "{details} without a description: {names}",
    "large-definition": "{findings} of more than 8,000 bytes; hide arguments in a configuration "
    "or shorten descriptions.",
    "generated-name": "{findings} whose operationId is taken, too long or has no letters; choose "
    "better ones.",
    "confusable-tools": "{findings} that a reader cannot tell from another; say in the summary "
    "what each is for.",
    "unreachable-tool": "{findings} that a search for its name or summary does not find among "
    "eight; add words that only it has.",
    "unclear-argument": "{details} without anything that says what they take: {names}",
    "missing-id": "{findings} without an operationId; add one with a short verb and noun.",
}
_NOUNS = {
    "confusable-tools": "tool",
    "generated-name": "operation",
    "large-definition": "definition",
    "missing-id": "operation",
    "unreachable-tool": "tool",
}


@dataclass(frozen=True, slots=True)
class _FindingGroup:
    label: str
    rule: str
    message: str
    findings: list[Finding]


def format_findings(
    kinds: Sequence[tuple[str, Sequence[Finding]]],
    toolset: Toolset,
    *,
    limit: int,
    width: int | None,
) -> Iterator[str]:
    """Yield the lines of all findings.

    Args:
        kinds: A label, or an empty string for that of the severity, and the findings of one kind.
        toolset: The tools of the document.
        limit: How many findings of each kind are listed.
        width: The columns of a terminal; None for a pipe, where each finding is one line.
    """
    names = {document_pointer(tool): tool.name for tool in toolset}
    for label, findings in kinds:
        listed_count, covered = 0, 0
        for group in _group_findings(label, findings):
            if listed_count >= limit:
                break
            most = 1 if len(group.findings) == 1 else max(limit // _GROUPS, 1)
            listed = group.findings[: min(most, limit - listed_count)]
            listed_count += len(listed)
            covered += len(group.findings)
            yield from _format_group(group, listed, names, width)
        if covered < len(findings):
            rest = f"… and {len(findings) - covered:,} more; --limit shows more, --json all."
            yield from map(style_secondary, _wrap(rest, width, margin=""))


def _group_findings(label: str, findings: Iterable[Finding]) -> list[_FindingGroup]:
    groups: dict[tuple[str, ...], _FindingGroup] = {}
    for finding in findings:
        kind, rule = label or finding.severity, finding.rule
        message = _HEADS.get(rule) if finding.details else None
        key = (kind, rule, message or finding.message)
        group = groups.setdefault(key, _FindingGroup(*key, []))
        group.findings.append(finding)
    return list(groups.values())


def _format_group(
    group: _FindingGroup, listed: Sequence[Finding], names: Mapping[str, str], width: int | None
) -> Iterator[str]:
    rule = f"{group.rule}: " if group.label in ("hint", "warning") and group.rule else ""
    if len(group.findings) == 1:
        (finding,) = group.findings
        place = describe_place(finding.pointer, names)
        text = f"{group.label}: {place and f'{place}: '}{rule}{finding.message}"
        yield from _style_head(_wrap(text, width, margin=""))
        return
    yield from _style_head(
        _wrap(f"{group.label}: {rule}{_describe_group(group)}", width, margin="")
    )
    for finding in listed:
        place = describe_place(finding.pointer, names) or "(document)"
        details = join_first(finding.details, _LISTED)
        yield from _wrap(f"{place}{details and f': {details}'}", width, margin=_MARGIN)
    if rest := len(group.findings) - len(listed):
        note = _wrap(f"… and {rest:,} more", width, margin=_MARGIN)
        yield from map(style_secondary, note)


def _describe_group(group: _FindingGroup) -> str:
    if group.message not in _HEADS.values():
        return group.message
    details = Counter(name for finding in group.findings for name in finding.details)
    names = [
        name if count == 1 else f"{name} ({count:,})" for name, count in details.most_common(_NAMED)
    ]
    return group.message.format(
        details=format_count(details.total(), "argument"),
        names=", ".join(names) + (", …" if len(details) > _NAMED else "."),
        findings=format_count(len(group.findings), _NOUNS.get(group.rule, "finding")),
    )


def describe_place(pointer: str, names: Mapping[str, str]) -> str:
    """Return a place in a document as `POST /path (tool) at /requestBody`.

    Args:
        pointer: A JSON Pointer (RFC 6901).
        names: The tools' names by the pointers of their operations.
    """
    keys = split_pointer(pointer)
    if keys[:1] != ("paths",) or len(keys) < _OPERATION - 1:
        return pointer
    if len(keys) < _OPERATION:
        return keys[1]
    name = names.get(join_pointer(keys[:_OPERATION]), "")
    operation = f"{keys[2].upper()} {keys[1]}{name and f' ({name})'}"
    inside = join_pointer(keys[_OPERATION:])
    return f"{operation} at {inside}" if inside else operation


def split_warning(text: str) -> tuple[str, str]:
    """Return the pointer with which a warning of loading begins, if one does, and the message."""
    pointer, colon, message = text.partition(": ")
    return (pointer, message) if colon and pointer.startswith("/") else ("", text)


def _wrap(text: str, width: int | None, *, margin: str) -> list[str]:
    line = clean(text, lines=False)
    if width is None:
        return [margin + line]
    indent = "  "
    return [margin + part for part in wrap_text(line, width - len(margin), indent=indent)]


def _style_head(lines: list[str]) -> list[str]:
    return [style_label(lines[0]), *lines[1:]]
