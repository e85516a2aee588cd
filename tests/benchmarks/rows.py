"""Rows of the output with their goals, and which ratios are far worse than in an earlier run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timing import Sample

TIMES = "{:.2f} x"
"""How a ratio is shown: as a multiple of what it is compared with."""
BEYOND = "{:+.2f} x"
"""As what comes on top of that, in multiples of it."""
POWER = "n^{:.2f}"
"""As the power of the size of the input."""


@dataclass(frozen=True)
class Goal:
    low: float | None = None
    high: float | None = None
    unit: str = ""

    def holds(self, value):
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def describe(self, form):
        bounds = [
            f"{sign} {f'{bound:g} {self.unit}' if self.unit else form.format(bound)}"
            for sign, bound in ((">=", self.low), ("<=", self.high))
            if bound is not None
        ]
        return " and ".join(bounds)


def at_most(high, unit=""):
    return Goal(high=high, unit=unit)


def at_least(low):
    return Goal(low=low)


@dataclass(frozen=True)
class Row:
    name: str
    sample: Sample | None = None
    ratio: float | None = None
    goals: tuple[Goal, ...] = ()
    form: str = TIMES
    note: str = ""

    def cells(self):
        median, spread = self.sample.parts() if self.sample is not None else ("", "")
        ratio = "" if self.ratio is None else self.form.format(self.ratio)
        return self.name, median, spread, ratio, ", ".join(map(self._judge, self.goals))

    def _judge(self, goal):
        value = self.ratio
        if goal.unit:
            value = None if self.sample is None else self.sample.measured_in(goal.unit)
        bound = goal.describe(self.form)
        if value is None:
            return bound
        return f"{bound}: {'met' if goal.holds(value) else 'missed'}"


def compare_rows(took, base, table, prefix=""):
    """Yield a row for each (key, title, goals …) of a table, as ratios to that of one key."""
    for key, title, *goals in table:
        ratio = None if key == base else took[key].ratio_to(took[base])
        yield Row(prefix + title, took[key], ratio, tuple(goals))


def as_line(row):
    name, median, spread, ratio, goals = row.cells()
    took = f"{median} ({spread})" if spread else median
    last = "; ".join(filter(None, (f"goal {goals}" if goals else "", row.note)))
    return f"  {name:<62} {took:<28} {ratio:<10} {last}".rstrip()


MARKDOWN_HEAD = "| section: row | median (lowest-highest) | ratio | goal |\n|---|---|---|---|"


def as_markdown(section, row):
    name, median, spread, ratio, goals = row.cells()
    took = f"{median} ({spread})" if spread else median
    last = "; ".join(filter(None, (goals, row.note)))
    return f"| {section}: {name} | {took} | {ratio} | {last} |"


MARGIN = 1.5
"""A ratio may get this many times as bad."""
FLOOR = 0.1
"""And by this much more: small ratios are mostly noise."""
POWER_MARGIN = 0.15
"""By how much an exponent may grow; 1.5 times of 1 would be far from linear."""


def ratios(section, rows):
    return {
        f"{section}: {row.name}": {"ratio": round(row.ratio, 4), "better": _better(row)}
        for row in rows
        if row.ratio is not None and row.goals
    }


def _better(row):
    if any(goal.low is not None and goal.high is not None for goal in row.goals):
        return "linear"
    return "higher" if any(goal.low is not None for goal in row.goals) else "lower"


def is_worse(before, now, better):
    if better == "higher":
        return now < before / MARGIN - FLOOR
    if better == "linear":
        return now > before + POWER_MARGIN
    return now > before + abs(before) * (MARGIN - 1) + FLOOR  # what comes on top may be negative


def complaints(before, now):
    return [
        f"{name}: {then['ratio']} became {now[name]['ratio']}, {then['better']} is better"
        for name, then in before.items()
        if name in now and is_worse(then["ratio"], now[name]["ratio"], then["better"])
    ]


def read(file):
    if not file.exists():
        return {}
    return json.loads(file.read_text(encoding="utf-8"))


def write(file, now):
    sections = {name.partition(": ")[0] for name in now}
    kept = {
        name: then for name, then in read(file).items() if name.partition(": ")[0] not in sections
    }
    text = json.dumps({**kept, **now}, indent=1, sort_keys=True, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")
