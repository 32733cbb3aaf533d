"""Checks of every loan: its replay and its amounts must agree.

The ways are not those of the policies: cash is summed over components, accounts over amounts.
"""

from __future__ import annotations

from usance.base.arrays import I64, U8
from usance.base.compiled import kernel
from usance.books.kernel.on_balance_sheet import total_cash
from usance.books.kernel.policy_layout import ICE, ON_BALANCE_SHEET
from usance.books.loans.amounts import AMOUNT as A
from usance.books.loans.positions import NO_EVENT
from usance.books.loans.positions import POSITION as P

PRINCIPAL_TIES, CASH_IS_POSTED, CLEARED_IS_POSTED, NOTHING_IS_LEFT, GUARANTEE_IS_WHOLE = (
    1, 2, 4, 8, 16,
)  # fmt: skip


@kernel
def is_cash_posted(at: I64, found: I64) -> bool:
    """True if every unit the borrower paid is posted once."""
    posted = (
        found[A.to_institution] + found[A.principal_received]
        + found[A.interest_received] + found[A.fee_instalments_received]
        + found[A.guarantee_received] + found[A.service_received]
        + found[A.penalty_received] + found[A.overpaid] + found[A.recovered_claim]
        + found[A.recovered_guarantee] + found[A.recovered_service]
        + found[A.recovered_loan] + found[A.recovered_other]
    )  # fmt: skip
    return bool(posted == total_cash(at, P.paid_principal) + at[P.overpaid])


@kernel
def is_cleared_posted(at: I64, found: I64) -> bool:
    """True if every unit the providers handed over is posted once."""
    posted = (
        found[A.cleared_institution] + found[A.cleared_principal]
        + found[A.cleared_interest] + found[A.cleared_fees]
        + found[A.cleared_recovery]
    )  # fmt: skip
    return bool(posted == total_cash(at, P.cleared_principal) + at[P.cleared_overpaid])


@kernel
def is_empty(found: I64) -> bool:
    """True if no guarantee, receivable, contract asset, fee or interest is left."""
    issued = found[A.guarantee_issued] - found[A.guarantee_cancelled]
    receivable = found[A.guarantee_received] + found[A.receivable_written_off]
    earned = found[A.facilitation_earned] + found[A.servicing_earned]
    contract = found[A.service_received] + found[A.contract_written_off]
    fee = found[A.upfront_fee] + found[A.fee_instalments_received]
    interest = found[A.interest_received] + found[A.interest_written_off]
    return bool(
        issued == found[A.guarantee_released]
        and issued == receivable
        and earned == contract
        and fee == found[A.fee_earned] + found[A.fee_written_off]
        and found[A.interest_earned] == interest
    )


@kernel
def failed_checks(at: I64, found: I64) -> int:
    """Bits of the checks that fail for one loan."""
    model, marks = at[P.model], 0
    ended = at[P.event] != NO_EVENT or at[P.is_settled] == 1
    if at[P.principal] > 0 and model < ICE:
        if not is_cash_posted(at, found):
            marks |= CASH_IS_POSTED
        if not is_cleared_posted(at, found):
            marks |= CLEARED_IS_POSTED
    if at[P.principal] > 0 and model == ON_BALANCE_SHEET:
        gone = found[A.principal_received] + found[A.principal_written_off]
        owed = 0 if ended else at[P.outstanding]
        if found[A.disbursed] - gone != owed:
            marks |= PRINCIPAL_TIES
    if ended and not is_empty(found):
        marks |= NOTHING_IS_LEFT
    ready = (
        found[A.guarantee_issued] - found[A.guarantee_cancelled]
        - found[A.guarantee_released]
    )  # fmt: skip
    if ready < 0 or ready > at[P.guarantee]:
        marks |= GUARANTEE_IS_WHOLE
    return marks


@kernel
def check_rows(at: I64, found: I64, failed: U8) -> None:
    """Bits of the failed checks of each loan."""
    for row in range(len(at)):
        failed[row] = failed_checks(at[row], found[row])
