"""Outcomes of loans by cohort and age: sums of the facts a triangle is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I32, I64, i64
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import FactArrays
from usance.loan.kernel.plan import month_of

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
