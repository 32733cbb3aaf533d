"""Named tuples of arrays that the kernels of a month take and fill."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from usance.base.arrays import I8, I16, I32, I64, U64
from usance.loan.kernel.arrays import State, TermArrays
from usance.world.draw_kernel import BLOCK


class LoanArrays(NamedTuple):
    """Open loans: `states`, `watches` and `worst` are carried to the month's end in place."""

    terms: TermArrays
    states: I64
    watches: I64
    loan: I64
    model: I8
    trigger_days: I16
    hazard: I32
    source: I16
    cell: I16
    worst: I16
    """Most days past due so far."""


class FactBuffer(NamedTuple):
    """Columns of facts, written one after the other; `booked` is the day a fact became known."""

    loan: I64
    day: I32
    kind: I8
    ref: I64
    amount: I64
    arg: I64
    booked: I32

    def first(self, count: int) -> FactBuffer:
        """A copy of the first facts."""
        columns: list[Any] = [each[:count].copy() for each in self]
        return FactBuffer(*columns)

    @classmethod
    def of(cls, count: int) -> FactBuffer:
        """Empty buffer for so many facts."""
        kinds: tuple[Any, ...] = (
            np.int64, np.int32, np.int8, np.int64, np.int64, np.int64, np.int32,
        )  # fmt: skip
        return cls(*(np.empty(count, kind) for kind in kinds))


class Payments(NamedTuple):
    """By loan the number of its facts; or `ONE_PAYMENT`, and the day, amount and arg of that."""

    facts: I8
    day: I32
    amount: I64
    arg: I16

    @classmethod
    def of(cls, count: int) -> Payments:
        """Empty columns for so many loans."""
        kinds: tuple[Any, ...] = (np.int8, np.int32, np.int64, np.int16)
        return cls(*(np.empty(count, kind) for kind in kinds))


class MonthEnd(NamedTuple):
    """Loans at a month's end, as the tape has them."""

    dpd: I16
    bucket: I8
    status: I8
    principal_minor: I64
    past_due_minor: I64
    net30_minor: I64
    """Principal of loans now past due that were ever more than 30 days past due."""
    net180_minor: I64
    prepaid_minor: I64
    recovered_minor: I64

    @classmethod
    def of(cls, count: int) -> MonthEnd:
        """Empty columns for so many loans."""
        amounts = (np.empty(count, np.int64) for _ in range(6))
        return cls(
            np.empty(count, np.int16), np.empty(count, np.int8), np.empty(count, np.int8), *amounts
        )


class DueTotals(NamedTuple):
    """Sums of dues by month, day and cell: final, and still open; and those met on their day.

    Nearly all dues are met, hence sums of their own, a sixth of the others' size.
    """

    final: I64
    open: I64
    met: I64


class MonthOutput(NamedTuple):
    """Everything a pass through a month writes beside the loans themselves."""

    ends: MonthEnd
    dues: DueTotals
    released: I64
    """Principal that came back, by source and day of the month."""
    payments: Payments
    known: FactBuffer
    coming: FactBuffer
    """Facts that are known only after the month."""
    apart: I64
    """Rows of their loans."""
    refused: I64


class WorkSpace(NamedTuple):
    """Memory of one thread for one loan after the other."""

    state: State
    events: I64
    """Servicing events of one loan."""
    payments: I64
    """Payments a borrower intends: day and intention."""
    notes: I64
    stops: I64
    """Days at which the fold of a month stops."""
    dues: I64
    draws: U64
    """Draws of the next loans: of their dues, and of the notices of payment."""
    others: I64
    """Rows that no short path took."""
    offsets: I64


def draw_space() -> tuple[U64, I64]:
    """Space for the draws and the rows of a block of loans."""
    return np.empty((2, BLOCK), np.uint64), np.empty(BLOCK, np.int64)
