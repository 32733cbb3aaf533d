"""One loan of a column in fractions: its expected flows, its rate, and its table for an auditor.

>>> from datetime import date
>>> from usance.loan.convention import CONVENTIONS
>>> from usance.loan.terms import Terms
>>> loan = Terms(
...     principal_minor=9_000_00,
...     rate_ppm=180_000,
...     instalments=6,
...     disbursed_on=date(2023, 12, 31),
...     first_due_on=date(2024, 1, 31),
...     convention=CONVENTIONS["equal_principal_monthly"],
... )
>>> held = loan_at_amortised_cost(TermColumns.of([loan]), 0, 63_60)
>>> [round(month.interest) for month in held.table]  # 135.00 of interest and 17.92 of fee, ...
[15292, 12756, 10215, 7669, 5118, 2561]
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from usance.base.rates import PPM
from usance.books.effective_interest.contract import Step, effective_rate_ppb, simple
from usance.books.effective_interest.instruments import AtAmortisedCost, at_amortised_cost
from usance.books.kernel.effective import level_of, period_months
from usance.loan.columns import TermColumns
from usance.loan.kernel.batch import plan_at
from usance.loan.kernel.plan import instalment


def steps_of(terms: TermColumns, row: int, survival_ppm: Sequence[int] = ()) -> list[Step]:
    """The instalments of a loan as steps in months; who leaves repays the balance with one."""
    plan = plan_at(terms.arrays, row)
    level, balance, there = level_of(plan), int(terms.principal_minor[row]), PPM
    steps = []
    for k in range(int(terms.instalments[row])):
        principal, interest, fee = instalment(plan, k, balance, level)
        balance -= principal
        staying = survival_ppm[k] if k < len(survival_ppm) else there
        flow = there * (principal + interest + fee) + (there - staying) * balance
        steps.append(Step(Fraction(*period_months(plan, k)), Fraction(flow, PPM)))
        there = staying
    return steps


def exact_rate_ppb(
    terms: TermColumns, row: int, upfront_minor: int, survival_ppm: Sequence[int], near_ppb: int
) -> int:
    """The effective rate a month of a loan, where floats could not tell its last digit."""
    advance = int(terms.principal_minor[row]) - upfront_minor
    return effective_rate_ppb(advance, steps_of(terms, row, survival_ppm), simple, near_ppb)


def loan_at_amortised_cost(
    terms: TermColumns, row: int, upfront_minor: int, survival_ppm: Sequence[int] = ()
) -> AtAmortisedCost:
    """The rate of a loan, and what it is carried at after every instalment."""
    advance = int(terms.principal_minor[row]) - upfront_minor
    return at_amortised_cost(advance, steps_of(terms, row, survival_ppm), simple)
