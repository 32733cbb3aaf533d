"""Amounts that loans have brought by some days, read off one fold of all of them.

Each loan is read on a few days of its own. Every such reading is a row of columns with the facts
visible then, so that a settlement costs a fold of columns instead of a replay for each reading;
loans with changed terms or paused interest are read by the form that knows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from usance.base.codes import FactKind, Status
from usance.base.dates import to_day
from usance.base.errors import UsanceError
from usance.books.loans.amounts import FACT_AMOUNTS
from usance.books.loans.fact_amounts import (
    booked_loans,
    fact_amounts,
    start_booked,
    step_booked,
)
from usance.loan.batch import States, view_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.facts import Fact, visible
from usance.platform.ledger.fact_postings import whole_amounts
from usance.platform.records.loan_record import LoanRecord

RECEIVED, PAID_OUT = FACT_AMOUNTS.index("to_institution"), FACT_AMOUNTS.index("paid_out")
READINGS_AT_ONCE = 50_000
_EXACT = (FactKind.TERMS_CHANGED, FactKind.INTEREST_PAUSED)


class DayAmounts(NamedTuple):
    """Amounts that a loan has brought by the end of a day, and whether it was closed then."""

    received: int
    paid_out: int
    is_closed: bool


class _Reading(NamedTuple):
    loan: LoanRecord
    day: date


def amounts_by_day(
    loans: Sequence[LoanRecord], days: Sequence[Sequence[date]]
) -> list[list[DayAmounts]]:
    """Readings of each loan on each of its days, in their order."""
    asked = [_Reading(loan, day) for loan, own in zip(loans, days, strict=True) for day in own]
    read: list[DayAmounts] = []
    for start in range(0, len(asked), READINGS_AT_ONCE):
        read += _read(asked[start : start + READINGS_AT_ONCE])
    found, place = [], 0
    for own in days:
        found.append(read[place : place + len(own)])
        place += len(own)
    return found


def _read(asked: list[_Reading]) -> list[DayAmounts]:
    in_kernel = [len(each.loan.rows) == 1 and not any(fact.kind in _EXACT for fact in
                 each.loan.facts) for each in asked]  # fmt: skip
    rows = [each for each, fits in zip(asked, in_kernel, strict=True) if fits]
    try:
        columns = iter(_by_columns(rows))
    except UsanceError:  # one that the kernel does not know: each by the form that does
        return [_singly(each) for each in asked]
    return [next(columns) if fits else _singly(each)
            for each, fits in zip(asked, in_kernel, strict=True)]  # fmt: skip


def _by_columns(asked: list[_Reading]) -> list[DayAmounts]:
    if not asked:
        return []
    facts = [_seen(each) for each in asked]
    terms = TermColumns.of([each.loan.terms[0] for each in asked])
    held = booked_loans(
        [each.loan.model for each in asked],
        [each.loan.first["upfront_fee_minor"] for each in asked],
        [each.loan.fee_ppm or 0 for each in asked],
    )
    until = max(each.day for each in asked)
    made = step_booked(start_booked(terms, held), FactColumns.of(facts), until)
    on = np.array([to_day(each.day) for each in asked], np.int32)
    own = States(made.states.terms, made.states.values, on)
    closed = view_columns(own, on, workers=1).column("status") == int(Status.CLOSED)
    amounts = fact_amounts(made)
    return [DayAmounts(*each) for each in zip(
        amounts[:, RECEIVED].tolist(), amounts[:, PAID_OUT].tolist(), closed.tolist(), strict=True
    )]  # fmt: skip


def _seen(at: _Reading) -> list[Fact]:
    return visible(at.loan.facts, as_of=at.day)


def _singly(at: _Reading) -> DayAmounts:
    loan, day = at
    amounts = whole_amounts(loan, loan.facts, day, loan.fee_ppm or 0)
    is_closed = loan.at(day).view().status is Status.CLOSED
    return DayAmounts(amounts[RECEIVED], amounts[PAID_OUT], is_closed)
