"""The headline of a comparison: how many of all published figures are near, by class and sample.

Figures of periods that a scenario was made from are in sample, those after it out of sample. A
figure that several documents print counts once; an input of a scenario is no fit: it counts apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from usance.disclose.facts import UNITS
from usance.twin.compare.comparison import Compared
from usance.twin.compare.tolerances import ComparisonRules, LineClass

IN_SAMPLE, OUT_OF_SAMPLE = "in sample", "out of sample"


@dataclass(frozen=True, slots=True)
class Judged:
    """A compared figure with its class, its sample, and what is said of it."""

    row: Compared
    line_class: LineClass
    sample: str
    is_input: bool

    @property
    def is_near(self) -> bool:
        """True if it is within the tolerance of its class; a zero is met by a printed zero."""
        if not self.row.published:
            return abs(self.row.found) * 2 <= UNITS[self.row.unit]
        return self.line_class.tolerance.allows(self.row.published, self.row.found)

    @property
    def has_wrong_sign(self) -> bool:
        """True if the run has a figure of the other sign."""
        return self.row.published * self.row.found < 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON, beside the row itself."""
        return {
            "class": self.line_class.name, "sample": self.sample, "input": self.is_input,
            "class_tolerance": str(self.line_class.tolerance), "class_within": self.is_near,
            "wrong_sign": self.has_wrong_sign,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClassCount:
    """The figures of one class and sample."""

    line_class: str
    sample: str
    figures: int = 0
    within: int = 0
    wrong_sign: int = 0
    inputs: int = 0

    def with_figure(self, judged: Judged) -> ClassCount:
        """The count with one more figure."""
        if judged.is_input:
            return replace(self, inputs=self.inputs + 1)
        return replace(
            self, figures=self.figures + 1, within=self.within + judged.is_near,
            wrong_sign=self.wrong_sign + judged.has_wrong_sign,
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        share = self.within / self.figures if self.figures else None
        return {
            "class": self.line_class, "sample": self.sample, "figures": self.figures,
            "within": self.within, "share": share, "wrong_sign": self.wrong_sign,
            "inputs": self.inputs,
        }  # fmt: skip


def judge(row: Compared, rules: ComparisonRules) -> Judged | None:
    """A figure by the rules of its class; none if it has no class."""
    found = rules.line_class(row.statement, row.parent)
    if found is None:
        return None
    sample = OUT_OF_SAMPLE if row.period in rules.out_of_sample else IN_SAMPLE
    return Judged(row, found, sample, rules.is_input(row.statement, row.line, row.period))


def headline(rows: Iterable[Compared], rules: ComparisonRules) -> list[ClassCount]:
    """Counts by class and sample, in the order of the classes, and of all classes together."""
    counts: dict[tuple[str, str], ClassCount] = {}
    seen: set[tuple[str, str, str, str, str]] = set()
    samples = (IN_SAMPLE, OUT_OF_SAMPLE)
    for name in (*(each.name for each in rules.classes), "all"):
        counts |= {(name, sample): ClassCount(name, sample) for sample in samples}
    for row in rows:
        key = row.statement, row.line, row.parent, row.period, row.unit
        judged = judge(row, rules)
        if judged is None or key in seen:
            continue
        seen.add(key)
        for name in (judged.line_class.name, "all"):
            counts[name, judged.sample] = counts[name, judged.sample].with_figure(judged)
    return [each for each in counts.values() if each.figures or each.inputs]
