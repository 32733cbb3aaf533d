"""What must hold for every loan, looked at from its replay and from its amounts.

The ways are not those of the policies: cash is summed over components, accounts over amounts.
"""

from __future__ import annotations

from usance.base.arrays import I64, U8
from usance.base.compiled import kernel
from usance.books.kernel.on_balance_sheet import total
from usance.books.kernel.policy_layout import ICE, OWN_BOOK
from usance.books.loans import amounts as a
from usance.books.loans import positions as p

PRINCIPAL_TIES, CASH_IS_POSTED, CLEARED_IS_POSTED, NOTHING_IS_LEFT, GUARANTEE_IS_WHOLE = (
    1, 2, 4, 8, 16,
)  # fmt: skip


@kernel
def is_cash_posted(at: I64, found: I64, row: int) -> bool:
    """Whether every unit the borrower paid is posted once."""
    posted = (
        found[row, a.TO_INSTITUTION] + found[row, a.PRINCIPAL_RECEIVED]
        + found[row, a.INTEREST_RECEIVED] + found[row, a.FEE_INSTALMENTS_RECEIVED]
        + found[row, a.GUARANTEE_RECEIVED] + found[row, a.SERVICE_RECEIVED]
        + found[row, a.PENALTY_RECEIVED] + found[row, a.OVERPAID] + found[row, a.RECOVERED_CLAIM]
        + found[row, a.RECOVERED_GUARANTEE] + found[row, a.RECOVERED_SERVICE]
        + found[row, a.RECOVERED_LOAN] + found[row, a.RECOVERED_OTHER]
    )  # fmt: skip
    return bool(posted == total(at, row, p.PAID) + at[row, p.OVERPAID])


@kernel
def is_cleared_posted(at: I64, found: I64, row: int) -> bool:
    """Whether every unit the providers handed over is posted once."""
    posted = (
        found[row, a.CLEARED_INSTITUTION] + found[row, a.CLEARED_PRINCIPAL]
        + found[row, a.CLEARED_INTEREST] + found[row, a.CLEARED_FEES]
        + found[row, a.CLEARED_RECOVERY]
    )  # fmt: skip
    return bool(posted == total(at, row, p.CLEARED) + at[row, p.CLEARED_OVERPAID])


@kernel
def is_empty(found: I64, row: int) -> bool:
    """Whether no guarantee, receivable, contract asset, fee or interest is left."""
    issued = found[row, a.GUARANTEE_ISSUED] - found[row, a.GUARANTEE_CANCELLED]
    receivable = found[row, a.GUARANTEE_RECEIVED] + found[row, a.RECEIVABLE_WRITTEN_OFF]
    earned = found[row, a.FACILITATION_EARNED] + found[row, a.SERVICING_EARNED]
    contract = found[row, a.SERVICE_RECEIVED] + found[row, a.CONTRACT_WRITTEN_OFF]
    fee = found[row, a.UPFRONT_FEE] + found[row, a.FEE_INSTALMENTS_RECEIVED]
    interest = found[row, a.INTEREST_RECEIVED] + found[row, a.INTEREST_WRITTEN_OFF]
    return bool(
        issued == found[row, a.GUARANTEE_RELEASED]
        and issued == receivable
        and earned == contract
        and fee == found[row, a.FEE_EARNED] + found[row, a.FEE_WRITTEN_OFF]
        and found[row, a.INTEREST_EARNED] == interest
    )


@kernel
def check_rows(at: I64, found: I64, failed: U8) -> None:
    """Mark by a bit each what does not hold for a loan."""
    for row in range(len(at)):
        model, marks = at[row, p.MODEL], 0
        ended = at[row, p.EVENT] != p.NO_EVENT or at[row, p.IS_SETTLED] == 1
        if at[row, p.PRINCIPAL] > 0 and model < ICE:
            if not is_cash_posted(at, found, row):
                marks |= CASH_IS_POSTED
            if not is_cleared_posted(at, found, row):
                marks |= CLEARED_IS_POSTED
        if at[row, p.PRINCIPAL] > 0 and model == OWN_BOOK:
            gone = found[row, a.PRINCIPAL_RECEIVED] + found[row, a.PRINCIPAL_WRITTEN_OFF]
            owed = 0 if ended else at[row, p.OUTSTANDING]
            if found[row, a.DISBURSED] - gone != owed:
                marks |= PRINCIPAL_TIES
        if ended and not is_empty(found, row):
            marks |= NOTHING_IS_LEFT
        ready = (
            found[row, a.GUARANTEE_ISSUED] - found[row, a.GUARANTEE_CANCELLED]
            - found[row, a.GUARANTEE_RELEASED]
        )  # fmt: skip
        if ready < 0 or ready > at[row, p.GUARANTEE]:
            marks |= GUARANTEE_IS_WHOLE
        failed[row] = marks
