"""Tolerances of published figures: data, read from `tolerances.yaml`.

>>> rules = load_rules()
>>> rules.tolerance("operations", "Financing income", "2024Q1")
Tolerance(share=Fraction(3, 20), points=None)
>>> rules.tolerance("operations", "Financing income", "2024Q2")
Tolerance(share=Fraction(3, 10), points=None)
>>> rules.tolerance("operations", "Funding costs", "2024Q2") is None
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from usance.base.documents import read_document
from usance.base.rates import PPM, Rate

_FILE = Path(__file__).resolve().parent / "tolerances.yaml"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The largest difference: a share of what was published, or percentage points."""

    share: Fraction | None = None
    points: Fraction | None = None

    def times(self, factor: int) -> Tolerance:
        """The same, wider."""
        return Tolerance(
            self.share * factor if self.share is not None else None,
            self.points * factor if self.points is not None else None,
        )

    def allows(self, published: Fraction, found: Fraction) -> bool:
        """True if a figure is within the tolerance."""
        if self.points is not None:
            return abs(found - published) <= self.points
        return self.share is not None and abs(found - published) <= self.share * abs(published)

    def __str__(self) -> str:
        if self.points is not None:
            return f"{float(self.points):.1f} points"
        return f"{float(self.share or 0):.0%}"


@dataclass(frozen=True, slots=True)
class Sum:
    """Lines that are compared together."""

    line: str
    statement: str
    of: tuple[str, ...]
    periods: tuple[str, ...]
    tolerance: Tolerance


@dataclass(frozen=True, slots=True)
class LineClass:
    """A class of lines: statements, the beginnings of their parents, a tolerance and its reason."""

    name: str
    statements: tuple[str, ...]
    tolerance: Tolerance
    reason: str
    parents: tuple[str, ...] = ()

    def holds(self, statement: str, parent: str) -> bool:
        """True if a line belongs to the class; columns of a reconciliation are one statement."""
        named = statement.partition(":")[0] in self.statements
        return named and (not self.parents or parent.startswith(self.parents))


@dataclass(frozen=True, slots=True)
class InputLines:
    """Lines of a statement that a scenario takes from the period itself."""

    statement: str
    lines: frozenset[str]
    periods: frozenset[str] | str
    """Periods by name, or `all` or `in_sample`."""

    def has(self, statement: str, line: str, period: str, *, in_sample: bool) -> bool:
        """True if a figure is an input."""
        if (statement, line in self.lines) != (self.statement, True):
            return False
        if isinstance(self.periods, str):
            return self.periods == "all" or in_sample
        return period in self.periods


@dataclass(frozen=True, slots=True)
class ComparisonRules:
    """Everything `tolerances.yaml` says."""

    tolerances: Mapping[tuple[str, str], Tolerance]
    loose: frozenset[str]
    loose_factor: int
    sums: tuple[Sum, ...]
    unscaled: frozenset[str]
    printed_in: Mapping[str, str]
    classes: tuple[LineClass, ...] = ()
    out_of_sample: frozenset[str] = frozenset()
    inputs: tuple[InputLines, ...] = ()

    def line_class(self, statement: str, parent: str) -> LineClass | None:
        """The class of a line, if it has one."""
        return next((each for each in self.classes if each.holds(statement, parent)), None)

    def is_input(self, statement: str, line: str, period: str) -> bool:
        """True if the scenario takes a figure from the period itself."""
        known = period not in self.out_of_sample
        return any(each.has(statement, line, period, in_sample=known) for each in self.inputs)

    def tolerance(self, statement: str, line: str, period: str) -> Tolerance | None:
        """The tolerance of a line in a period, if it has one."""
        found = self.tolerances.get((statement, line))
        return found.times(self.loose_factor) if found and period in self.loose else found


@cache
def load_rules(path: Path = _FILE) -> ComparisonRules:
    """The rules that come with the platform."""
    given: dict[str, Any] = read_document(path)
    tolerances = {
        (row["statement"], line): _tolerance(row)
        for row in given["tolerances"]
        for line in row["lines"]
    }
    sums = tuple(
        Sum(row["line"], row["statement"], tuple(row["of"]), tuple(row["periods"]), _tolerance(row))
        for row in given["sums"]
    )
    return ComparisonRules(
        tolerances, frozenset(map(str, given["loose"])), given["loose_factor"], sums,
        frozenset(given["unscaled"]), given["printed_in"],
        tuple(
            LineClass(row["name"], tuple(row["statements"]), _tolerance(row), row["reason"],
                      tuple(row.get("parents", ())))
            for row in given["classes"]
        ),
        frozenset(map(str, given["out_of_sample"])),
        tuple(
            InputLines(row["statement"], frozenset(row["lines"]), _periods(row["periods"]))
            for row in given["inputs"]
        ),
    )  # fmt: skip


def _periods(given: Any) -> frozenset[str] | str:
    return given if isinstance(given, str) else frozenset(map(str, given))


def _tolerance(row: Mapping[str, Any]) -> Tolerance:
    if "points" in row:
        return Tolerance(points=Fraction(row["points"]))
    return Tolerance(share=Fraction(Rate.parse(row["share"]).ppm, PPM))
