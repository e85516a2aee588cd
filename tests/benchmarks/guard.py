"""The ratios of an earlier run, and which of this run are worse by far."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rows import Row

Ratios = dict[str, dict[str, Any]]
"""As `ratios` returns them."""
MARGIN = 1.5
"""A ratio may get this many times as bad."""
FLOOR = 0.1
"""And by this much more: small ratios are mostly noise."""
POWER_MARGIN = 0.15
"""By how much an exponent may grow; 1.5 times of 1 would be far from linear."""


def ratios(section: str, rows: Iterable[Row]) -> Ratios:
    """Return what is recorded of a section: the ratio of each row that has one and a goal."""
    return {
        f"{section}: {row.name}": {"ratio": round(row.ratio, 4), "better": _better(row)}
        for row in rows
        if row.ratio is not None and row.goals
    }


def _better(row: Row) -> str:
    if any(goal.low is not None and goal.high is not None for goal in row.goals):
        return "linear"
    return "higher" if any(goal.low is not None for goal in row.goals) else "lower"


def is_worse(before: float, now: float, better: str) -> bool:
    """Tell whether a ratio got worse by more than the margin."""
    if better == "higher":
        return now < before / MARGIN - FLOOR
    if better == "linear":
        return now > before + POWER_MARGIN
    return now > before + abs(before) * (MARGIN - 1) + FLOOR  # what comes on top may be negative


def complaints(before: Ratios, now: Ratios) -> list[str]:
    """Return a line for each row that got worse; rows that one of the runs lacks are left out."""
    return [
        f"{name}: {then['ratio']} became {now[name]['ratio']}, {then['better']} is better"
        for name, then in before.items()
        if name in now and is_worse(then["ratio"], now[name]["ratio"], then["better"])
    ]


def read(file: Path) -> Ratios:
    """Return what was recorded; nothing when there is no file."""
    if not file.exists():
        return {}
    recorded: Ratios = json.loads(file.read_text(encoding="utf-8"))
    return recorded


def write(file: Path, now: Ratios) -> None:
    """Record a run; rows of sections that it did not measure stay."""
    sections = {name.partition(": ")[0] for name in now}
    kept = {
        name: then for name, then in read(file).items() if name.partition(": ")[0] not in sections
    }
    text = json.dumps({**kept, **now}, indent=1, sort_keys=True, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")
