"""Rows of the output: what was measured, what it is compared with, and the goal."""

from __future__ import annotations

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
    """Where a figure should lie."""

    low: float | None = None
    high: float | None = None
    unit: str = ""

    def holds(self, value: float) -> bool:
        """Tell whether a figure in the goal's unit is within the bounds."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def shown(self, form: str) -> str:
        """Return it in the form of the ratio, or in its unit."""
        bounds = [
            f"{sign} {f'{bound:g} {self.unit}' if self.unit else form.format(bound)}"
            for sign, bound in ((">=", self.low), ("<=", self.high))
            if bound is not None
        ]
        return " and ".join(bounds)


def at_most(high: float, unit: str = "") -> Goal:
    """Return a goal for a ratio, or for the median in a unit."""
    return Goal(high=high, unit=unit)


def at_least(low: float) -> Goal:
    """Return a goal for a ratio that should be large."""
    return Goal(low=low)


@dataclass(frozen=True)
class Row:
    """One line of output."""

    name: str
    sample: Sample | None = None
    ratio: float | None = None
    goals: tuple[Goal, ...] = ()
    form: str = TIMES
    note: str = ""

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return name, median, range, ratio and goals, to print."""
        median, spread = self.sample.parts() if self.sample is not None else ("", "")
        ratio = "" if self.ratio is None else self.form.format(self.ratio)
        return self.name, median, spread, ratio, ", ".join(map(self._judged, self.goals))

    def _judged(self, goal: Goal) -> str:
        value = self.ratio
        if goal.unit:
            value = None if self.sample is None else self.sample.measured_in(goal.unit)
        shown = goal.shown(self.form)
        if value is None:
            return shown
        return f"{shown}: {'met' if goal.holds(value) else 'missed'}"


def as_line(row: Row) -> str:
    """Return a row for a terminal."""
    name, median, spread, ratio, goals = row.cells()
    took = f"{median} ({spread})" if spread else median
    last = "; ".join(filter(None, (f"goal {goals}" if goals else "", row.note)))
    return f"  {name:<62} {took:<28} {ratio:<10} {last}".rstrip()


MARKDOWN_HEAD = "| | median | lowest-highest | ratio | goal |\n|---|---|---|---|---|"


def as_markdown(row: Row) -> str:
    """Return a row of a Markdown table; the column of the goals also holds the note."""
    *cells, goals = row.cells()
    last = "; ".join(filter(None, (goals, row.note)))
    return "| " + " | ".join((*cells, last)) + " |"
