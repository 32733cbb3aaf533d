"""Loans as their folds: terms, state and posted amounts as `loan_states` packs them.

A fact after the last day of a state is one step on it, without terms or facts being read. What the
kernel does not fold (changed terms, paused interest) has no packed state and is replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I32, I64
from usance.base.codes import FactKind, Status
from usance.base.dates import to_day
from usance.books.kernel.fact_amounts import MEMORY_SLOTS, BookedLoans
from usance.books.loans.amounts import FACT_AMOUNTS
from usance.books.loans.fact_amounts import BookedState, fact_amounts, step_booked
from usance.loan.batch import States, view_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.kernel.state import (
    IS_BOUGHT_OUT,
    IS_CHARGED_OFF,
    IS_RECOVERY,
    META,
    PENALTY_OPEN,
    PENALTY_PAID,
    SLOTS,
)

if TYPE_CHECKING:
    import asyncpg

KERNEL, EXACT = 0, 1
"""Forms of a loan: folded by the kernel, or replayed by the exact form."""
_TERMS = (
    ("principal_minor", "<i8"), ("rate_ppm", "<i4"), ("coupon_ppm", "<i4"), ("instalments", "<i2"),
    ("disbursed_on", "<i4"), ("first_due_on", "<i4"), ("flat_fee_minor", "<i8"),
    ("guarantee_fee_minor", "<i8"), ("convention", "<i2"),
)  # fmt: skip
TERMS_LAYOUT = np.dtype([*_TERMS, ("upfront_fee_minor", "<i8"), ("fee_ppm", "<i4")])
STATE_LAYOUT = np.dtype([("slots", "<i8", (SLOTS,)), ("memory", "<i8", (MEMORY_SLOTS,))])
_TRACES = (PENALTY_PAID, PENALTY_OPEN)
"""Slots that fees leave behind; claims leave flags."""
_CLAIMS = IS_RECOVERY | IS_CHARGED_OFF | IS_BOUGHT_OUT


class PackedLoan(NamedTuple):
    """A row of `loan_states`."""

    loan_id: int
    version: int
    is_open: bool
    form: int
    model: int
    source: int
    cell: int
    trigger_days: int
    through: date
    """The last day of its facts."""
    terms: bytes
    state: bytes
    posted: bytes

    @property
    def is_folded(self) -> bool:
        """True if the row carries its fold."""
        return len(self.state) == STATE_LAYOUT.itemsize

    @property
    def is_foldable(self) -> bool:
        """True if the kernel can go on from what is stored."""
        return self.form == KERNEL and self.is_folded and len(self.terms) == TERMS_LAYOUT.itemsize

    def can_step(self, day: date, today: date) -> bool:
        """True if a fact of a day is one step: it is the last, and no event rests on that day."""
        if not self.is_folded or day <= self.through:
            return False
        return day == today or not _has_events(self.state)


def _has_events(state: bytes) -> bool:
    """True of a loan that had fees, a compensation or a charge-off: a late fact may undo them."""
    slots = np.frombuffer(state, STATE_LAYOUT)["slots"][0]
    return bool(slots[META] & _CLAIMS or any(slots[list(_TRACES)]) or slots[META] >> 24)


async def packed_loans(
    transaction: asyncpg.Connection, loan_ids: Iterable[int]
) -> dict[int, PackedLoan]:
    """The rows of some loans, as far as they are there."""
    rows = await transaction.fetch(
        "select loan_id, version, is_open, form, model, source, cell, trigger_days, through, terms,"
        " state, posted from usance.loan_states where loan_id = any($1)", list(loan_ids),
    )  # fmt: skip
    return {row["loan_id"]: PackedLoan(*row) for row in rows}


def unpack(loans: Sequence[PackedLoan]) -> BookedState:
    """A column of folds as the kernel takes them."""
    return booked_columns(
        np.frombuffer(b"".join(each.terms for each in loans), TERMS_LAYOUT),
        np.frombuffer(b"".join(each.state for each in loans), STATE_LAYOUT),
        np.array([to_day(each.through) for each in loans], np.int32),
        np.array([each.model for each in loans], np.int8),
    )


def booked_columns(
    terms: NDArray[Any], states: NDArray[Any], through: I32, models: NDArray[np.int8]
) -> BookedState:
    """Folds as the kernel takes them, from columns of what is stored."""
    given: dict[str, Any] = {name: np.ascontiguousarray(terms[name]) for name, _ in _TERMS}
    held = BookedLoans(
        models, np.ascontiguousarray(terms["upfront_fee_minor"]),
        np.ascontiguousarray(terms["fee_ppm"]),
    )  # fmt: skip
    folded = States(TermColumns(**given), np.ascontiguousarray(states["slots"]), through)
    return BookedState(folded, np.ascontiguousarray(states["memory"]), held)


def stored_fee(terms: bytes) -> int | None:
    """The institution's fee in packed terms; none where there are none."""
    return int(np.frombuffer(terms, TERMS_LAYOUT)["fee_ppm"][0]) if terms else None


def packed_terms(booked: BookedState) -> list[bytes]:
    """The terms of each loan as they are stored."""
    return [row.tobytes() for row in term_rows(booked)]


def term_rows(booked: BookedState) -> NDArray[Any]:
    """The terms of each loan as rows of `TERMS_LAYOUT`."""
    packed = np.empty(len(booked.memories), TERMS_LAYOUT)
    for (name, _), column in zip(_TERMS, booked.states.terms.arrays, strict=True):
        packed[name] = column
    packed["upfront_fee_minor"] = booked.loans.upfront_fee_minor
    packed["fee_ppm"] = booked.loans.fee_ppm
    return packed


def packed_states(booked: BookedState) -> list[bytes]:
    """The state of each loan as it is stored."""
    return [row.tobytes() for row in state_rows(booked)]


def state_rows(booked: BookedState) -> NDArray[Any]:
    """The state of each loan as rows of `STATE_LAYOUT`."""
    packed = np.empty(len(booked.memories), STATE_LAYOUT)
    packed["slots"], packed["memory"] = booked.states.values, booked.memories
    return packed


def posted_amounts(loans: Sequence[PackedLoan]) -> I64:
    """The fact amounts that the ledger holds, a row for each loan."""
    flat = np.frombuffer(b"".join(each.posted for each in loans), "<i8")
    return flat.reshape(len(loans), len(FACT_AMOUNTS))


def pack_amounts(amounts: Sequence[int] | I64) -> bytes:
    """Fact amounts as they are stored."""
    return np.asarray(amounts, "<i8").tobytes()


class Receipts(NamedTuple):
    """Money on a column of loans: what each took, and the loans before and after."""

    taken: list[int]
    kinds: list[FactKind]
    before: BookedState
    after: BookedState
    late_days: list[int]
    """Days past due of each on its day, before the money."""
    views: tuple[I64, I64]
    """Views of today, before and after."""
    moved: I64
    """Differences of fact amounts."""
    rows: list[PackedLoan]
    """The loans as they are stored after."""


def receive(
    loans: Sequence[PackedLoan], days: Sequence[date], amounts: Sequence[int], today: date
) -> Receipts:
    """One step on each loan: an amount received on a day after its last; the excess is not taken.

    On a loan in recovery the money is recovered, on any other paid.
    """
    before = unpack(loans)
    in_recovery = (before.states.values[:, META] & IS_RECOVERY) != 0
    kinds = np.where(in_recovery, int(FactKind.RECOVERED), int(FactKind.PAID)).astype(np.int8)
    on = np.array([to_day(day) for day in days], np.int32)
    now, given = to_day(today), np.array(amounts, np.int64)
    first = view_columns(before.states, now, workers=1).values
    after = _stepped(before, on, kinds, given)
    last = view_columns(after.states, now, workers=1).values
    over = np.maximum(last[:, _OVERPAID] - first[:, _OVERPAID], 0)
    taken = np.maximum(given - over, 0)
    if over.any():
        after = _stepped(before, on, kinds, taken)
        last = view_columns(after.states, now, workers=1).values
    late = view_columns(before.states, on, workers=1).values[:, _LATE]
    held = fact_amounts(after)
    rows = [
        each._replace(is_open=bool(status != int(Status.CLOSED)), through=day, state=state,
                      posted=amount.tobytes()) if took else each
        for each, status, day, state, amount, took in zip(
            loans, last[:, 0].tolist(), days, packed_states(after), held, taken.tolist(),
            strict=True)
    ]  # fmt: skip
    return Receipts(
        taken.tolist(), [FactKind(kind) for kind in kinds.tolist()], before, after,
        late.tolist(), (first, last), held - posted_amounts(loans), rows,
    )  # fmt: skip


_LATE, _OVERPAID = 1, 26
"""Places of days past due and of over-payment in a view."""


def _stepped(before: BookedState, days: np.ndarray, kinds: np.ndarray, amounts: I64) -> BookedState:
    """Each state with one more fact, where there is an amount."""
    some = amounts > 0
    facts = FactColumns(
        np.concatenate(([0], np.cumsum(some, dtype=np.int64))), days[some], kinds[some],
        amounts[some], np.zeros(int(some.sum()), np.int64),
    )  # fmt: skip
    return step_booked(before, facts, int(days.max()))
