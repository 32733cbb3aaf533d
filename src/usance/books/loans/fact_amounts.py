"""Fact amounts of loans from their folds: what the live ledger posts with every fact.

A `BookedState` is a column of loan states with the memory of each loan's payout or charge-off.
`step_booked` adds later facts, `fact_amounts` reads the twenty cumulative amounts off it; the
difference of two readings is what a fact moved, whether it came in time, late or as a reversal
(then the states are folded again from the start, `start_booked` and all facts).

>>> from datetime import date
>>> from usance.base.codes import FactKind, FundingModel
>>> from usance.loan import Fact, Terms
>>> terms = TermColumns.of([Terms(
...     principal_minor=9_000_00, rate_ppm=60_000, instalments=6,
...     disbursed_on=date(2023, 12, 31), first_due_on=date(2024, 1, 31),
... )])  # fmt: skip
>>> drawn = [Fact(FactKind.DISBURSED, date(2023, 12, 31), 9_000_00, ref=1)]
>>> paid = [Fact(FactKind.PAID, date(2024, 1, 31), 1_526_36, ref=2)]
>>> heavy = booked_loans([FundingModel.CAPITAL_HEAVY])
>>> before = step_booked(start_booked(terms, heavy), FactColumns.of([drawn]), date(2023, 12, 31))
>>> after = step_booked(before, FactColumns.of([paid]), date(2024, 1, 31))
>>> moved = fact_amounts(after)[0] - fact_amounts(before)[0]
>>> {name: amount for name, amount in zip(FACT_AMOUNTS, moved.tolist(), strict=True) if amount}
{'to_institution': 152636}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.base.dates import to_day
from usance.base.refusals import unpack_refusal
from usance.books.kernel.fact_amounts import (
    MEMORY_SLOTS,
    BookedLoans,
    fact_amount_rows,
    step_with_memory,
)
from usance.books.loans.amounts import AMOUNTS, FACT_AMOUNTS
from usance.books.loans.positions import FIELDS
from usance.loan.batch import States, start_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.kernel.arrays import StateArrays
from usance.loan.kernel.state import workspace
from usance.loan.refusals import named_refusal


@dataclass(frozen=True, slots=True)
class BookedState:
    """Loans as the live ledger keeps them: states, memories of their events, and their models."""

    states: States
    memories: I64
    """A row of `MEMORY_SLOTS` numbers for each loan, zeros until its payout or charge-off."""
    loans: BookedLoans


def booked_loans(
    models: Sequence[FundingModel], upfront_fee_minor: Sequence[int] | None = None,
    fee_ppm: Sequence[int] | None = None,
) -> BookedLoans:  # fmt: skip
    """Model, upfront fee and institution's fee of each loan; no fees if they are left out."""
    none = [0] * len(models)
    return BookedLoans(
        np.array(models, np.int8), np.array(upfront_fee_minor or none, np.int64),
        np.array(fee_ppm or none, np.int32),
    )  # fmt: skip


def start_booked(terms: TermColumns, loans: BookedLoans) -> BookedState:
    """Loans with terms and no facts yet."""
    return BookedState(start_columns(terms), np.zeros((len(terms), MEMORY_SLOTS), np.int64), loans)


def step_booked(before: BookedState, facts: FactColumns, until: date | int) -> BookedState:
    """The loans after later facts, up to and including a day; those given stay as they were."""
    day = to_day(until) if isinstance(until, date) else until
    old = before.states
    states = States(old.terms, old.values.copy(), old.through.copy())
    after = BookedState(states, before.memories.copy(), before.loans)
    refused = np.zeros(3, np.int64)
    step_with_memory(
        old.terms.arrays, facts.arrays, day, before.loans.model, workspace(),
        StateArrays(states.values, states.through), after.memories, refused,
    )  # fmt: skip
    if refused[0]:
        count, row, reason = refused.tolist()
        code, place = unpack_refusal(reason)
        raise named_refusal(code, row, count, facts, int(facts.offsets[row]) + place)
    return after


def fact_amounts(booked: BookedState) -> I64:
    """The cumulative fact amounts of each loan, a column for each name in `FACT_AMOUNTS`."""
    states = booked.states
    out = np.empty((len(booked.memories), len(FACT_AMOUNTS)), np.int64)
    fact_amount_rows(
        states.terms.arrays, states.values, booked.memories, booked.loans,
        np.empty(len(FIELDS), np.int64), np.empty(len(AMOUNTS), np.int64), out,
    )  # fmt: skip
    return out
