"""Deviations of an API from its document, and the overlay that corrects the document."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import yaml

from openapi_tools.common.json_values import join_pointer
from openapi_tools.conformance.lint_fixes import has_target, write_json_path
from openapi_tools.errors import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi_tools.learning.schema_places import Keys

KINDS = (
    *("property", "enum", "type", "null", "required", "status", "media-type"),
    *("argument", "ignored", "paging", "server", "limit", "redirect"),
)
_LONGEST_COMMENT = 400
MOST_SOURCES = 5
"""The number of exchanges that a deviation names as its evidence."""


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A change of a document at one place.

    Attributes:
        keys: The keys that lead to the place.
        update: What is merged into it; None removes it.
    """

    keys: Keys
    update: Any = None


@dataclass(frozen=True, slots=True)
class Deviation:
    """A difference between an API and its document.

    Attributes:
        kind: One of `KINDS`.
        pointer: JSON Pointer (RFC 6901) to the place in the document.
        message: The difference, in one line, without values of the API.
        observations: Number of exchanges, or values in them, that show it.
        sources: The first exchanges that show it, as `file:entry`.
        contradictions: Number of those that show the opposite.
        changes: What the document should change; empty if it is only reported.
    """

    kind: str
    pointer: str
    message: str
    observations: int
    sources: tuple[str, ...]
    contradictions: int = 0
    changes: tuple[DocumentChange, ...] = field(default=())

    @property
    def is_proposed(self) -> bool:
        """Whether the overlay contains it; a contradicted deviation is only reported."""
        return bool(self.changes) and not self.contradictions

    def describe_evidence(self) -> str:
        """Return how often and where it was seen, as text."""
        counts = f"seen {format_count(self.observations, 'time')}"
        if self.contradictions:
            counts += f", the opposite {format_count(self.contradictions, 'time')}"
        return f"{counts}: {', '.join(self.sources)}"


def create_deviation(
    kind: str,
    keys: Keys,
    message: str,
    *,
    observations: int,
    sources: Iterable[str],
    changes: Sequence[DocumentChange] = (),
    contradictions: int = 0,
) -> Deviation:
    """Return a deviation, without changes if an overlay cannot target all of their places.

    Args:
        kind: One of `KINDS`.
        keys: The keys that lead to the place in the document.
        message: The difference, in one line, without values of the API.
        observations: Number of exchanges, or values in them, that show it.
        sources: The exchanges that show it, of which the first are named.
        changes: What the document should change.
        contradictions: Number of exchanges, or values, that show the opposite.
    """
    can_target = all(has_target(change.keys) for change in changes)
    return Deviation(
        kind=kind,
        pointer=join_pointer(keys),
        message=message,
        observations=observations,
        sources=tuple(islice(sources, MOST_SOURCES)),
        contradictions=contradictions,
        changes=tuple(changes) if can_target else (),
    )


def make_overlay(deviations: Iterable[Deviation]) -> dict[str, Any]:
    """Return the overlay of the proposed changes, whose actions cite their evidence.

    Spec: Overlay Specification 1.1.0.
    """
    info = {"title": "What the API does, by `openapi-tools learn`", "version": "1.0.0"}
    actions = [
        {
            "target": write_json_path(change.keys),
            "description": f"{deviation.message} ({deviation.describe_evidence()})",
            **({"remove": True} if change.update is None else {"update": change.update}),
        }
        for deviation in deviations
        if deviation.is_proposed
        for change in deviation.changes
    ]
    return {"overlay": "1.1.0", "info": info, "actions": actions}


def format_overlay(deviations: Sequence[Deviation]) -> str:
    """Return the overlay as YAML: comments introduce each action, and list what is not proposed."""
    overlay = make_overlay(deviations)
    head = {key: overlay[key] for key in ("overlay", "info")}
    parts = [dump_yaml(head)]
    reported = [deviation for deviation in deviations if not deviation.is_proposed]
    parts += ["# Not proposed:\n"] if reported else []
    parts += [
        _format_comment(
            f"  {item.kind} at {item.pointer or '/'}: {item.message} ({item.describe_evidence()})"
        )
        for item in reported
    ]
    parts.append("actions:\n" if overlay["actions"] else "actions: []\n")
    actions = iter(overlay["actions"])
    for deviation in deviations:
        if deviation.is_proposed:
            parts.append(_format_comment(f"{deviation.kind} at {deviation.pointer or '/'}"))
            parts += [dump_yaml([next(actions)]) for _ in deviation.changes]
    return "".join(parts)


def _format_comment(text: str) -> str:
    # JSON Pointers and file names may hold any character, and a comment ends with its line.
    line = "".join(char if char.isprintable() else "?" for char in text)
    return f"# {line[:_LONGEST_COMMENT]}\n"


def dump_yaml(value: Any) -> str:
    """Return a value as YAML in ASCII, in which no string can end a line."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=False, width=100)
