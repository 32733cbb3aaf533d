"""Effective interest of loans on the balance sheet, by column: monthly rate, fee earned to date.

A fee that is withheld or spread evenly makes a loan earn more than its interest. The effective
rate a month is solved once, in ppb; the fee earned to date is a cumulative amount, rounded once.
IFRS expects some borrowers to repay early: with `Survival`, both follow the expected cash flows.

>>> from datetime import date
>>> from usance.books.effective_interest.instruments import at_amortised_cost
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
>>> terms, fee = TermColumns.of([loan]), np.array([63_60])
>>> rates = effective_rates(terms, fee)
>>> rates.tolist(), fees_earned(terms, fee, rates, date(2024, 3, 31)).tolist()
([17111826], [4512])
>>> early = Survival.of([[1_000_000, 1_000_000, 1_000_000, 0]])
>>> rates = effective_rates(terms, fee, early)
>>> rates.tolist(), fees_earned(terms, fee, rates, date(2024, 3, 31), early).tolist()
([17447432], [5278])

One loan of a column is also computed in fractions, for the last digit and for an auditor:

>>> held = at_amortised_cost(9_000_00 - 63_60, steps_of(terms, 0), simple)
>>> [round(month.interest) for month in held.table]  # 135.00 of interest and 17.92 of fee, ...
[15292, 12756, 10215, 7669, 5118, 2561]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I32, I64, U64
from usance.base.compiled import in_threads
from usance.base.dates import to_day
from usance.base.errors import InputError, raise_all
from usance.base.rates import PPM
from usance.books.effective_interest.contract import (
    NoEffectiveRate,
    Step,
    effective_rate_ppb,
    simple,
)
from usance.books.kernel import effective as kernel
from usance.books.kernel.effective import level_of, period_months
from usance.loan.bounds import MAX_KERNEL_INSTALMENTS
from usance.loan.columns import TermColumns
from usance.loan.kernel.batch import plan_at
from usance.loan.kernel.plan import instalment

_NOBODY_LEAVES = np.empty(0, np.int64)


class SurvivalError(InputError):
    """A survival curve rises, or leaves 0 to 1."""

    code = "books.survival"
    http_status = 422


class FeeColumnError(InputError):
    """A column of fees, rates, days or segments does not fit its loans."""

    code = "books.fee_column"
    http_status = 422


@dataclass(frozen=True, slots=True)
class Survival:
    """By segment, the share of loans (ppm) expected to be outstanding after each instalment.

    Beyond the end of its curve nobody prepays. A loan that outlives its curve is expected to keep
    its contract from then on.
    """

    ppm: I64
    segments: I64 = field(default_factory=_NOBODY_LEAVES.copy)
    """The curve of each loan; the first for all where it is empty."""

    def __post_init__(self) -> None:
        raise_all(list(_curve_problems(self.ppm)), where="survival")

    @classmethod
    def of(cls, curves_ppm: Sequence[Sequence[int]], segments: Sequence[int] = ()) -> Survival:
        """Curves of any lengths; a shorter one is continued by its last value."""
        width = max((len(curve) for curve in curves_ppm), default=0)
        rows = [
            [*curve, *[curve[-1] if curve else PPM] * (width - len(curve))] for curve in curves_ppm
        ]
        return cls(np.array(rows, np.int64).reshape(len(rows), width), np.array(segments, np.int64))

    @property
    def stays(self) -> U64:
        """The conditional survival at each instalment, as the kernel reads it."""
        return _stays(self.ppm.tobytes(), self.ppm.shape)


def effective_rates(
    terms: TermColumns, upfront_minor: I64, survival: Survival | None = None, *,
    workers: int | None = None,
) -> I64:  # fmt: skip
    """The effective rate a month of every loan, in ppb, half-up.

    It is the rate at which the flows are worth the principal less the fee withheld. Without a
    withheld or flat fee that is the agreed rate, and nothing is solved.
    """
    stays, segments = _curves(terms, survival)
    _check_fees(terms, upfront_minor)
    rates = np.empty(len(terms), np.int64)

    def rows(start: int, stop: int) -> None:
        work = np.empty(2 * MAX_KERNEL_INSTALMENTS)
        kernel.rate_rows(start, stop, terms.arrays, upfront_minor, stays, segments, work, rates)

    in_threads(rows, len(terms), workers)
    for row in np.flatnonzero(rates < 0).tolist():
        curve = survival.ppm[segments[row] if len(segments) else 0].tolist() if survival else []
        near_ppb = kernel.unproved(int(rates[row]))
        try:
            rates[row] = exact_rate_ppb(terms, row, int(upfront_minor[row]), curve, near_ppb)
        except NoEffectiveRate as error:
            raise NoEffectiveRate(error.what, where=f"loan {row}", fix=error.fix) from None
    return rates


def fees_earned(
    terms: TermColumns, upfront_minor: I64, rates_ppb: I64, as_of: date | int | I32,
    survival: Survival | None = None, *, out: I64 | None = None, workers: int | None = None,
) -> I64:  # fmt: skip
    """The fee earned by every loan to date: cumulative effective less contractual interest.

    The rates are those solved at origination; `survival` is the current expectation.
    """
    stays, segments = _curves(terms, survival)
    _check_fees(terms, upfront_minor)
    _check_column("rates_ppb", rates_ppb, np.int64, terms)
    _within("rates_ppb", rates_ppb, np.full(len(terms), kernel.MAX_EFFECTIVE_PPB))
    days, stride = _days(as_of, terms)
    earned = np.empty(len(terms), np.int64) if out is None else out
    _check_column("out", earned, np.int64, terms)
    in_threads(
        lambda start, stop: kernel.fee_rows(
            start, stop, terms.arrays, upfront_minor, rates_ppb, days, stride, stays, segments,
            earned,
        ),
        len(terms),
        workers,
    )  # fmt: skip
    return earned


@lru_cache(maxsize=32)
def _stays(curves: bytes, shape: tuple[int, int]) -> U64:
    """Conditional survival by curve, computed once for all pieces of a close."""
    rows = np.frombuffer(curves, np.int64).reshape(shape).tolist()
    return np.array([_chances(curve) for curve in rows], np.uint64).reshape(shape)


def _chances(curve_ppm: list[int]) -> list[int]:
    return [
        kernel.ONE * after // there if there else kernel.ONE
        for there, after in pairwise([PPM, *curve_ppm])
    ]


def _curve_problems(ppm: I64) -> list[SurvivalError]:
    """The first wrong value of every curve."""
    if ppm.ndim != 2 or ppm.dtype != np.int64 or not len(ppm):
        fix = "Give a curve a segment: whole ppm, a value an instalment"
        return [SurvivalError("no table of curves", where="survival", fix=fix)]
    before = np.hstack([np.full((len(ppm), 1), PPM), ppm[:, :-1]]) if ppm.size else ppm
    wrong = (ppm < 0) | (ppm > before)
    return [
        SurvivalError(
            f"{ppm[row, k]} ppm are there after instalment {k + 1} of {before[row, k]} before it",
            where=f"survival curve {row}",
            fix="Give shares from 1,000,000 down to 0 ppm that never rise",
        )
        for row, k in ((row, int(wrong[row].argmax())) for row in np.flatnonzero(wrong.any(axis=1)))
    ]


def _curves(terms: TermColumns, survival: Survival | None) -> tuple[U64, I64]:
    if survival is None:
        return kernel.NO_CURVE.copy(), _NOBODY_LEAVES
    if len(survival.segments):
        _check_column("segments", survival.segments, np.int64, terms)
        _within("segments", survival.segments, np.full(len(terms), len(survival.ppm) - 1))
    return survival.stays, survival.segments


def _check_fees(terms: TermColumns, upfront_minor: I64) -> None:
    _check_column("upfront_minor", upfront_minor, np.int64, terms)
    _within("upfront_minor", upfront_minor, terms.principal_minor - 1)


def _check_column(name: str, given: NDArray[Any], wanted: type, terms: TermColumns) -> None:
    if getattr(given, "dtype", None) != wanted or given.shape != (len(terms),):
        raise FeeColumnError(
            f"{name} is not a column of {len(terms)} whole numbers",
            where=name,
            fix=f"Give one {np.dtype(wanted).name} for every loan",
        )


def _within(name: str, given: I64, highest: I64) -> None:
    wrong = np.flatnonzero((given < 0) | (given > highest))
    if len(wrong):
        row = wrong[0]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise FeeColumnError(
            f"{name} is {given[row]}", where=f"loan {row}{more}", fix=f"Give 0 to {highest[row]}"
        )


def _days(as_of: date | int | I32, terms: TermColumns) -> tuple[I32, int]:
    if isinstance(as_of, date):
        as_of = to_day(as_of)
    if isinstance(as_of, int):
        return np.array([as_of], np.int32), 0
    _check_column("as_of", as_of, np.int32, terms)
    return as_of, 1


def steps_of(terms: TermColumns, row: int, survival_ppm: Sequence[int] = ()) -> list[Step]:
    """The expected cash flows of a loan as steps in months; prepayments repay the balance."""
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
    """The exact monthly effective rate of a loan, for rates that floats cannot round safely."""
    advance = int(terms.principal_minor[row]) - upfront_minor
    return effective_rate_ppb(advance, steps_of(terms, row, survival_ppm), simple, near_ppb)
