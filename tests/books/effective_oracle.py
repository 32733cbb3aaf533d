"""Effective interest of one loan in fractions, written from the policy and not from the kernel.

It takes its plan from the exact form of the loan, and goes backwards from the last instalment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from usance.loan.exact.plan import first_rows
from usance.loan.terms import Terms

MILLION, BILLION = 10**6, 10**9


@dataclass(frozen=True)
class Period:
    """An instalment, the balance after it, and the days and months before it."""

    start: int
    end: int
    months: Fraction
    total: int
    balance: int
    stay: Fraction


def periods(terms: Terms, survival_ppm: Sequence[int] = ()) -> list[Period]:
    """The plan of a loan; `survival_ppm` says who is expected to be there after each instalment."""
    found, balance, there = [], terms.principal_minor, MILLION
    for k, row in enumerate(first_rows(terms)):
        balance -= row.due[0]
        after = survival_ppm[k] if k < len(survival_ppm) else there
        stay = Fraction(after, there) if there else Fraction(1)
        months = Fraction(12 * row.period.num, row.period.den) or Fraction(1, 30)
        found.append(Period(row.start, row.end, months, sum(row.due), balance, stay))
        there = after
    return found


def worths(plan: Sequence[Period], rate: Fraction) -> list[Fraction]:
    """Before each instalment, and after the last, what is to come is worth to who is there."""
    values = [Fraction(0)]
    for period in reversed(plan):
        leaving = (1 - period.stay) * period.balance
        coming = period.total + leaving + period.stay * values[0]
        values.insert(0, coming / (1 + rate * period.months))
    return values


def is_rate(terms: Terms, upfront: int, rate_ppb: int, survival_ppm: Sequence[int] = ()) -> bool:
    """True if a rate is the effective one, rounded half-up to a ppb."""
    plan, cash = periods(terms, survival_ppm), terms.principal_minor - upfront
    below, above = (worths(plan, Fraction(2 * rate_ppb + side, 2 * BILLION))[0] for side in (-1, 1))
    return below >= cash > above


def earned(
    terms: Terms, upfront: int, rate_ppb: int, day: int, survival_ppm: Sequence[int] = ()
) -> Fraction:
    """The fee earned by a day (an ordinal), not rounded."""
    plan = periods(terms, survival_ppm)
    values = worths(plan, Fraction(rate_ppb, BILLION))
    before = Fraction(0)
    for period, worth in zip(plan, values[1:], strict=True):
        after = upfront - (period.balance - worth)
        if day < period.end:
            elapsed = Fraction(max(0, day - period.start), period.end - period.start)
            return before + (after - before) * elapsed
        before = after
    return Fraction(upfront)
