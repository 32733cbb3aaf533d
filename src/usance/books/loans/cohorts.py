"""Cohort outcomes: disbursed, compensated, charged off and recovered by cohort and age."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I32, I64, i64
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.base.dates import to_day, to_month
from usance.loan.columns import FactColumns
from usance.loan.errors import FactError
from usance.loan.kernel.arrays import FactArrays
from usance.loan.kernel.plan import month_of
from usance.measure.triangles import Triangle, triangle_of_sums

KINDS = (
    int(FactKind.DISBURSED),
    int(FactKind.COMPENSATED),
    int(FactKind.CHARGED_OFF),
    int(FactKind.RECOVERED),
)
_DISBURSED, _COMPENSATED, _CHARGED_OFF, _RECOVERED = KINDS


@kernel
def outcome_index(kind: int) -> int:
    """The place of a kind of fact among the outcomes, or -1."""
    if kind == _DISBURSED:
        return 0
    if kind == _COMPENSATED:
        return 1
    if kind == _CHARGED_OFF:
        return 2
    return 3 if kind == _RECOVERED else -1


@kernel
def add_outcomes(
    facts: FactArrays, until: int, chosen: NDArray[np.bool_], segments: I32, cohorts: I32,
    first_cohort: int, outcomes: I64,
) -> int:  # fmt: skip
    """Add facts of chosen loans by a day to `outcomes` [kind, segment, cohort, age].

    Returns a loan with a fact before its month, or -1.
    """
    offsets, days, kinds, amounts, _ = facts
    for loan in range(len(offsets) - 1):
        if not chosen[loan]:
            continue
        for at in range(offsets[loan], offsets[loan + 1]):
            if days[at] > until:
                break
            place = outcome_index(kinds[at])
            if place < 0:
                continue
            age = month_of(i64(days[at])) - cohorts[loan]
            if age < 0:
                return loan
            outcomes[place, segments[loan], cohorts[loan] - first_cohort, age] += amounts[at]
    return -1


@dataclass(frozen=True, slots=True)
class CohortOutcomes:
    """Sums of facts, one row for each segment, cohort, kind and age."""

    segment: I64
    cohort: I64
    kind: I64
    age: I64
    amount_minor: I64

    @classmethod
    def empty(cls) -> CohortOutcomes:
        """Of no loans."""
        return cls(*[np.empty(0, np.int64)] * 5)

    def joined(self, other: CohortOutcomes) -> CohortOutcomes:
        """The rows of both."""
        both = {
            name: np.concatenate([own, other.columns[name]]) for name, own in self.columns.items()
        }
        return CohortOutcomes(**both)

    def summed(self) -> CohortOutcomes:
        """One row for each segment, cohort, kind and age whose sum is not zero."""
        keys = np.stack([self.segment, self.cohort, self.kind, self.age])
        groups, place = np.unique(keys, axis=1, return_inverse=True)
        sums = np.zeros(groups.shape[1], np.int64)
        np.add.at(sums, place.reshape(-1), self.amount_minor)
        some = sums != 0
        segment, cohort, kind, age = groups[:, some]
        return CohortOutcomes(segment, cohort, kind, age, sums[some])

    def negated(self) -> CohortOutcomes:
        """The same rows, to be subtracted."""
        return replace(self, amount_minor=-self.amount_minor)

    def triangle(self, as_of: date) -> Triangle:
        """The triangle of these sums as of a day."""
        return triangle_of_sums(self.columns, as_of)

    @property
    def columns(self) -> dict[str, I64]:
        """The rows by column."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def cohort_outcomes(
    ids: I64, facts: FactColumns, segment: I32, cohort: I32, as_of: date,
    chosen: NDArray[np.bool_] | None = None,
) -> CohortOutcomes:  # fmt: skip
    """Outcomes of chosen loans by a day; refuses a fact before its loan's month."""
    if chosen is None:
        chosen = np.ones(len(ids), np.bool_)
    if not chosen.any():
        return CohortOutcomes.empty()
    segments = np.flatnonzero(np.bincount(segment))  # numbers of segments are small
    place = np.searchsorted(segments, np.arange(segments[-1] + 1))[segment]
    first, last = int(cohort.min()), max(int(cohort.max()), to_month(as_of))
    ages = last - first + 1
    sums = np.zeros((len(KINDS), len(segments), ages, ages), np.int64)
    early = add_outcomes(
        facts.arrays, to_day(as_of), chosen, place.astype(np.int32), cohort, first, sums
    )
    if early >= 0:
        raise FactError(
            "a fact stands before the month of disbursement",
            where=f"loan {ids[early]}",
            fix="Correct effective_on, or disbursed_on in the terms",
        )
    kind, row, month, age = np.nonzero(sums)
    return CohortOutcomes(
        segments[row].astype(np.int64), month + first, np.array(KINDS, np.int64)[kind], age,
        sums[kind, row, month, age],
    )  # fmt: skip
