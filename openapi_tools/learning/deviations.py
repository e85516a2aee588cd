"""How an API departs from its document, and the overlay that says so."""

from __future__ import annotations

from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A change of a document at a place: an update, or its removal if there is none."""

    keys: Keys
    update: Any = None


@dataclass(frozen=True, slots=True)
class Deviation:
    """A difference between an API and its document.

    Attributes:
        kind: One of `KINDS`.
        pointer: JSON Pointer (RFC 6901) to the place in the document.
        message: What was seen, in one line, without values of the API.
        observations: How often it was seen.
        contradictions: How often the opposite was seen.
        sources: The first exchanges that show it, as `file:entry`.
        changes: Of the document; empty for what is only reported.
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
        """Whether the overlay has it: contradicted evidence is only reported."""
        return bool(self.changes) and not self.contradictions

    def describe_evidence(self) -> str:
        """Return how often it was seen and where, in words."""
        seen = f"seen {format_count(self.observations, 'time')}"
        against = f", the opposite {format_count(self.contradictions, 'time')}"
        return f"{seen}{against if self.contradictions else ''}: {', '.join(self.sources)}"


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
    """Return a deviation; changes whose place no overlay can name are left out."""
    can_target = all(has_target(change.keys) for change in changes)
    return Deviation(
        kind,
        join_pointer(keys),
        message,
        observations,
        tuple(sources),
        contradictions,
        tuple(changes) if can_target else (),
    )


def make_overlay(deviations: Iterable[Deviation]) -> dict[str, Any]:
    """Return the overlay of what is proposed; its actions say what was seen and how often.

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
    """Return the overlay as YAML, with a comment before each action and for what is reported."""
    overlay = make_overlay(deviations)
    head = {key: overlay[key] for key in ("overlay", "info")}
    parts = [_dump_yaml(head)]
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
            parts += [_dump_yaml([next(actions)]) for _ in deviation.changes]
    return "".join(parts)


def _format_comment(text: str) -> str:
    # JSON Pointers and names of files may hold any character: one line of printable ones is left.
    line = "".join(char if char.isprintable() else "?" for char in text)
    return f"# {line[:_LONGEST_COMMENT]}\n"


def _dump_yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=False, width=100)
