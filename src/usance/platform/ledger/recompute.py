"""Cached states of loans made again from their facts, and compared.

`loan_states` is a cache: everything in it follows from terms and facts. `differing_states` folds
every loan again and tells which rows are not what that gives; each day's end calls it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FactKind, Status
from usance.base.columns import arrays
from usance.base.dates import to_day
from usance.base.errors import UsanceError
from usance.base.tables import TABLES
from usance.books.loans.fact_amounts import booked_loans, fact_amounts, start_booked, step_booked
from usance.loan.batch import States, view_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.terms import Terms
from usance.loan.visible_facts import fact_columns, term_columns
from usance.platform.ledger.fact_postings import fold_of, whole_amounts
from usance.platform.lender import Lender
from usance.platform.records.loan_columns import LOANS_A_PIECE, FoldColumns, fold_columns
from usance.platform.records.loan_fold import (
    EXACT,
    KERNEL,
    PackedLoan,
    pack_amounts,
    packed_loans,
    packed_states,
    packed_terms,
    state_rows,
    term_rows,
)
from usance.platform.records.loan_record import LoanRecord, load_loans
from usance.platform.records.worst_days import WorstDays, late_receipts, late_receipts_of
from usance.platform.store.bulk import read_rows

if TYPE_CHECKING:
    import asyncpg

LOANS_AT_ONCE = 2_000
_BETWEEN = "loan_id >= $1 and loan_id <= $2"


@dataclass(frozen=True)
class StateDifference:
    """A cached state that is not what its facts give."""

    loan_id: int
    fields: tuple[str, ...]
    """Columns of `loan_states` that differ."""


def packed(loan: LoanRecord, fee_ppm: int) -> PackedLoan:
    """The row of `loan_states` that a loan's facts give, with the version that was read."""
    through = max(each.effective_on for each in loan.all_facts)
    folded = fold_of(loan, loan.all_facts, through, fee_ppm)
    common = int(loan.model), loan.first["source"], loan.cell, loan.trigger_days, through
    if folded is None:
        status = loan.at(through).view().status
        posted = pack_amounts(whole_amounts(loan, loan.all_facts, through, fee_ppm))
        return PackedLoan(loan.loan_id, loan.version, status is not Status.CLOSED, EXACT, *common,
                          b"", b"", posted)  # fmt: skip
    status = view_columns(folded.states, to_day(through), workers=1).values[0, 0]
    return PackedLoan(
        loan.loan_id, loan.version, bool(status != int(Status.CLOSED)), KERNEL, *common,
        packed_terms(folded)[0], packed_states(folded)[0], pack_amounts(fact_amounts(folded)[0]),
    )  # fmt: skip


def packed_first(
    loans: Sequence[LoanRecord], terms: Sequence[Terms], fees_ppm: Sequence[int], day: date
) -> list[PackedLoan]:
    """The rows of new loans, each with its one fact on a day: as columns where the kernel can."""
    try:
        held = booked_loans([each.model for each in loans],
                            [each.upfront_fee_minor for each in terms], fees_ppm)  # fmt: skip
        begun = start_booked(TermColumns.of(terms), held)
        folded = step_booked(begun, FactColumns.of([each.added for each in loans]), day)
    except UsanceError:  # each in the form that knows it, or with its own refusal
        return [packed(loan, fee) for loan, fee in zip(loans, fees_ppm, strict=True)]
    status = view_columns(folded.states, to_day(day), workers=1).values[:, 0].tolist()
    columns = zip(loans, status, packed_terms(folded), packed_states(folded),
                  fact_amounts(folded), strict=True)  # fmt: skip
    return [
        PackedLoan(
            loan.loan_id, loan.version, bool(each != int(Status.CLOSED)), KERNEL, int(loan.model),
            loan.first["source"], loan.cell, loan.trigger_days, day, own, state,
            pack_amounts(amounts),
        )
        for loan, each, own, state, amounts in columns
    ]  # fmt: skip


def institution_fee(lender: Lender, loan: LoanRecord) -> int:
    """The fee that an institution pays of a loan: as stored, else of the mandate it was made by."""
    if loan.fee_ppm is not None:
        return loan.fee_ppm
    mandate = lender.mandate(loan.first["source"], loan.first["disbursed_on"])
    return mandate.fee_ppm if mandate else 0


async def differing_states(
    transaction: asyncpg.Connection, lender: Lender, piece: int = LOANS_A_PIECE, *,
    worst: WorstDays | None = None,
) -> AsyncIterator[StateDifference]:  # fmt: skip
    """States that a fold of their facts from the beginning does not give, of all loans.

    Loans of the kernel are folded as columns; the others, and a piece in which something cannot be
    folded at all, one by one. `worst` takes in how late their borrowers have paid.
    """
    worst = WorstDays() if worst is None else worst
    async for folds in fold_columns(transaction, open_only=False, piece=piece):
        singly = list(folds.others)
        if len(folds.rows):
            changed = await _changed_loans(transaction, folds)
            try:
                own = folds.only(~np.isin(folds.rows["loan_id"], changed))
                for each in await _differing_columns(transaction, own, worst):
                    yield each
                singly += changed
            except UsanceError:
                singly += folds.loan_ids.tolist()
        for start in range(0, len(singly), LOANS_AT_ONCE):
            async for each in _differing_singly(
                transaction, lender, singly[start : start + LOANS_AT_ONCE], worst
            ):
                yield each


async def _changed_loans(transaction: asyncpg.Connection, folds: FoldColumns) -> list[int]:
    """Loans of a piece with further terms or paused interest: the exact form's."""
    rows = await transaction.fetch(
        "select loan_id from usance.loans where terms_no > 1 and loan_id between $1 and $2 union "
        "select loan_id from usance.facts where kind = any($3) and loan_id between $1 and $2",
        int(folds.loan_ids[0]), int(folds.loan_ids[-1]),
        [int(FactKind.TERMS_CHANGED), int(FactKind.INTEREST_PAUSED)],
    )  # fmt: skip
    return [row["loan_id"] for row in rows]


async def _differing_columns(
    transaction: asyncpg.Connection, folds: FoldColumns, worst: WorstDays
) -> list[StateDifference]:
    """Differences of loans that the kernel folds, all at once."""
    if not len(folds.rows):
        return []
    ends = int(folds.loan_ids[0]), int(folds.loan_ids[-1])
    loans = await read_rows(transaction, TABLES["loans"], f"{_BETWEEN} and terms_no = 1", *ends)
    facts = await read_rows(transaction, TABLES["facts"], _BETWEEN, *ends)
    is_there = np.isin(folds.loan_ids, arrays(loans)["loan_id"])
    is_there &= np.isin(folds.loan_ids, arrays(facts)["loan_id"])
    lost = [StateDifference(each, ("loan_id",)) for each in folds.loan_ids[~is_there].tolist()]
    folds = folds.only(is_there)
    loans, facts = _of(loans, folds.loan_ids), _of(facts, folds.loan_ids)
    for late in late_receipts(loans, facts):
        worst.note(*late)
    return [*lost, *_compared(folds, loans, facts)]


def _compared(folds: FoldColumns, loans: pa.Table, facts: pa.Table) -> list[StateDifference]:
    """Differences of states from the folds of their facts."""
    ids, kept, columns = folds.loan_ids, folds.rows, arrays(loans)
    if not len(ids):
        return []
    held = booked_loans(
        columns["model"].tolist(), columns["upfront_fee_minor"].tolist(),
        kept["terms"]["fee_ppm"].tolist(),
    )  # fmt: skip
    known = fact_columns(facts, ids)
    through = np.maximum.reduceat(arrays(facts)["effective_on"],
                                  np.searchsorted(arrays(facts)["loan_id"], ids))  # fmt: skip
    made = step_booked(start_booked(term_columns(loans), held), known, int(through.max()))
    own = States(made.states.terms, made.states.values, through)
    status = view_columns(own, through, workers=1).column("status")
    differs = {
        "is_open": kept["is_open"] != (status != int(Status.CLOSED)),
        "model": kept["model"] != columns["model"],
        "source": kept["source"] != columns["source"],
        "through": folds.through != through,
        "terms": _differ(kept["terms"], term_rows(made)),
        "state": _differ(kept["state"], state_rows(made)),
        "posted": (kept["posted"] != fact_amounts(made)).any(axis=1),
    }
    rows = np.flatnonzero(np.logical_or.reduce(list(differs.values())))
    return [
        StateDifference(int(ids[row]), tuple(name for name, bad in differs.items() if bad[row]))
        for row in rows.tolist()
    ]


def _of(rows: pa.Table, ids: I64) -> pa.Table:
    """The rows of some loans, ascending ids."""
    owner = arrays(rows)["loan_id"]
    at = np.minimum(np.searchsorted(ids, owner), len(ids) - 1)
    which = ids[at] == owner
    return rows if which.all() else rows.filter(pa.array(which))


def _differ(kept: NDArray[Any], made: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows of one layout that are not the same bytes."""
    width = made.dtype.itemsize
    own, other = (np.ascontiguousarray(each).view((np.uint8, width)) for each in (kept, made))
    return np.asarray((own != other).any(axis=1))


async def _differing_singly(
    transaction: asyncpg.Connection, lender: Lender, ids: list[int], worst: WorstDays
) -> AsyncIterator[StateDifference]:
    """Differences of loans that are replayed one by one."""
    cached = await packed_loans(transaction, ids)
    for loan in await load_loans(transaction, ids):
        worst.note([loan.user_id], [max(late_receipts_of(loan), default=0)])
        fields = _differing(cached[loan.loan_id], packed(loan, institution_fee(lender, loan)))
        if fields:
            yield StateDifference(loan.loan_id, fields)


def _differing(cached: PackedLoan, made: PackedLoan) -> tuple[str, ...]:
    """Columns in which two rows differ; a row from before folds were kept has none to compare."""
    left_out = ("version",) if cached.terms else ("version", "terms", "state", "through")
    return tuple(
        name for name, own, other in zip(PackedLoan._fields, cached, made, strict=True)
        if name not in left_out and own != other
    )  # fmt: skip
