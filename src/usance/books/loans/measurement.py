"""Positions and posting amounts of a column of loans, in threads and bounded memory.

The loans of a book come in pieces; a piece's positions live only as long as its amounts are made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I32, I64
from usance.base.codes import FundingModel
from usance.base.compiled import CHUNK, in_threads
from usance.base.dates import to_day
from usance.base.refusals import unpack_refusal
from usance.books.effective_interest.loans import effective_rates, fees_earned
from usance.books.kernel.positions import ClosingDay, LoanArrays, Scratch, position_rows
from usance.books.kernel.posting_amounts import amount_rows
from usance.books.loans.amounts import AMOUNTS
from usance.books.loans.positions import FIELDS
from usance.books.loans.positions import POSITION as P
from usance.books.policies import Policies
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.kernel.state import empty_state, workspace
from usance.loan.refusals import named_refusal
from usance.loan.views import VIEW_FIELDS


@dataclass(frozen=True, slots=True)
class LoanColumns:
    """Loans as the books see them: terms and facts, and what groups them."""

    loan_id: I64
    terms: TermColumns
    facts: FactColumns
    model: NDArray[np.int8]
    upfront_fee_minor: I64
    fee_ppm: I32
    """Of volume, what an institution pays for a loan referred or handled by our technology."""
    eir_ppb: I64
    cell: I32
    segment: I32
    """Row of the policies' expectations."""
    pool: I32
    """Row of the policies' loss rates."""

    def __len__(self) -> int:
        return len(self.loan_id)

    @property
    def arrays(self) -> LoanArrays:
        """The loans as the kernel of positions reads them."""
        return LoanArrays(
            self.terms.arrays, self.facts.arrays, self.model, self.upfront_fee_minor, self.fee_ppm
        )


def positions(
    loans: LoanColumns, policies: Policies, day: date, cutoff: date | I32, start: int, stop: int,
    *, whole: bool = True, out: I64 | None = None,
) -> I64:  # fmt: skip
    """Positions of loans `start … stop`; cash is cleared to the cut-off, one day or one each.

    Unless `whole`, they have balances alone, as exposures need them.
    """
    if out is None:
        out = np.empty((stop - start, len(FIELDS)), np.int64)
    refused = np.zeros(3, np.int64)
    cutoffs = np.array([to_day(cutoff)], np.int32) if isinstance(cutoff, date) else cutoff
    close = ClosingDay(
        to_day(day), cutoffs, 0 if isinstance(cutoff, date) else 1, policies.non_accrual_days
    )
    scratch = Scratch(empty_state(), workspace(), np.empty((1, len(VIEW_FIELDS)), np.int64))
    position_rows(start, stop, scratch, loans.arrays, close, whole, out, refused)
    if refused[0]:
        count, row, reason = refused.tolist()
        code, place = unpack_refusal(reason)
        position = int(loans.facts.offsets[row]) + place
        raise named_refusal(code, row, count, loans.facts, position)
    if whole:
        _earn_fees(loans, policies, out, start)
    return out


def _earn_fees(loans: LoanColumns, policies: Policies, out: I64, start: int) -> None:
    """Effective rates of loans on the balance sheet, and the fees earned to date."""
    stop = start + len(out)
    own = (loans.model[start:stop] == FundingModel.ON_BALANCE_SHEET) & (out[:, P.principal] > 0)
    rows = np.flatnonzero(own)
    at = rows + start
    out[rows, P.effective_ppb] = loans.eir_ppb[at]
    terms = loans.terms
    has_fees = (loans.upfront_fee_minor[at] > 0) | (terms.flat_fee_minor[at] > 0)
    has_fees |= terms.coupon_ppm[at] != terms.rate_ppm[at]
    rows, at = rows[has_fees], at[has_fees]
    if len(rows) == 0:
        return
    some, upfront = terms.take(at), loans.upfront_fee_minor[at]
    days = out[rows, P.earning_day].astype(np.int32)
    out[rows, P.earned_fee] = fees_earned(some, upfront, loans.eir_ppb[at], days, workers=1)
    out[rows, P.earned_fee_ifrs] = out[rows, P.earned_fee]
    if policies.lives is not None:
        made, now = policies.lives.of(loans.segment[at].astype(np.int64), some.disbursed_on)
        rates = effective_rates(some, upfront, made, workers=1)
        out[rows, P.effective_ppb] = rates
        out[rows, P.earned_fee_ifrs] = fees_earned(some, upfront, rates, days, now, workers=1)


def amounts_of_positions(
    at: I64, policies: Policies, segment: I32, pool: I32, out: I64 | None = None
) -> I64:
    """Posting amounts from positions; `segment` and `pool` are the loans' own."""
    result = out if out is not None else np.empty((len(at), len(AMOUNTS)), np.int64)
    amount_rows(at, policies.arrays, segment, pool, result)
    return result


def amounts(
    loans: LoanColumns, policies: Policies, day: date, cutoff: date | I32,
    *, workers: int | None = None, seen: Callable[[int, I64], None] | None = None,
) -> I64:  # fmt: skip
    """The cumulative posting amounts of every loan; `seen` is shown each piece's positions."""
    out = np.empty((len(loans), len(AMOUNTS)), np.int64)

    def piece(start: int, stop: int) -> None:
        at = positions(loans, policies, day, cutoff, start, stop)
        if seen:
            seen(start, at)
        amounts_of_positions(
            at, policies, loans.segment[start:stop], loans.pool[start:stop], out[start:stop]
        )

    in_threads(piece, len(loans), workers)
    return out


class Workspace(threading.local):
    """Memory each thread uses again for every chunk: fresh pages cost more than the arithmetic."""

    def __init__(self) -> None:
        self.positions = np.empty((CHUNK, len(FIELDS)), np.int64)
        self.amounts = np.empty((CHUNK, len(AMOUNTS)), np.int64)
