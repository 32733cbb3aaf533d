"""Cached states of loans made again from their facts, and compared.

`loan_states` is a cache: everything in it follows from terms and facts. `differing_states` replays
each loan and tells which rows are not what the replay gives; a day's control calls it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from usance.base.codes import Status
from usance.base.dates import to_day
from usance.books.loans.fact_amounts import fact_amounts
from usance.loan.batch import view_columns
from usance.platform.ledger.fact_postings import amounts_on, fold_of
from usance.platform.lender import Lender
from usance.platform.loan_fold import (
    EXACT,
    KERNEL,
    PackedLoan,
    pack_amounts,
    packed_loans,
    packed_states,
    packed_terms,
)
from usance.platform.loan_record import LoanRecord, load_loans

if TYPE_CHECKING:
    import asyncpg

LOANS_A_PIECE = 2_000


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
        posted = pack_amounts(amounts_on(loan, loan.all_facts, through, fee_ppm))
        return PackedLoan(loan.loan_id, loan.version, status is not Status.CLOSED, EXACT, *common,
                          b"", b"", posted)  # fmt: skip
    status = view_columns(folded.states, to_day(through), workers=1).values[0, 0]
    return PackedLoan(
        loan.loan_id, loan.version, bool(status != int(Status.CLOSED)), KERNEL, *common,
        packed_terms(folded)[0], packed_states(folded)[0], pack_amounts(fact_amounts(folded)[0]),
    )  # fmt: skip


def institution_fee(lender: Lender, loan: LoanRecord) -> int:
    """The fee that an institution pays of a loan: as stored, else of the mandate it was made by."""
    if loan.fee_ppm is not None:
        return loan.fee_ppm
    mandate = lender.mandate(loan.first["source"], loan.first["disbursed_on"])
    return mandate.fee_ppm if mandate else 0


async def differing_states(
    transaction: asyncpg.Connection, lender: Lender, first: int = 0
) -> AsyncIterator[StateDifference]:
    """States that a replay of their facts does not give, of all loans from an id on."""
    while True:
        rows = await transaction.fetch(
            "select loan_id from usance.loan_states where loan_id >= $1 order by loan_id limit $2",
            first, LOANS_A_PIECE,
        )  # fmt: skip
        if not rows:
            return
        ids = [row["loan_id"] for row in rows]
        cached = await packed_loans(transaction, ids)
        for loan in await load_loans(transaction, ids):
            fields = _differing(cached[loan.loan_id], packed(loan, institution_fee(lender, loan)))
            if fields:
                yield StateDifference(loan.loan_id, fields)
        first = ids[-1] + 1


def _differing(cached: PackedLoan, made: PackedLoan) -> tuple[str, ...]:
    """Columns in which two rows differ; a row from before folds were kept has none to compare."""
    left_out = ("version",) if cached.terms else ("version", "terms", "state", "through")
    return tuple(
        name for name, own, other in zip(PackedLoan._fields, cached, made, strict=True)
        if name not in left_out and own != other
    )  # fmt: skip
