"""Checks of every single loan at a close; a loan that fails is named.

The checks look at a loan from its replay, and at the amounts the policies made of it, and compare
the two on ways that the policies do not take: cash is summed over components, accounts over
amounts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

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


CHECKS = {
    "own principal is what borrowers owe": PRINCIPAL_TIES,
    "cash received is posted once": CASH_IS_POSTED,
    "cash cleared is posted once": CLEARED_IS_POSTED,
    "ended loans hold nothing": NOTHING_IS_LEFT,
    "guarantees stand between nothing and what was issued": GUARANTEE_IS_WHOLE,
}
"""The checks and their bits."""

MAX_NAMED = 20
"""Loans named per check; all are counted."""


@dataclass(slots=True)
class Finding:
    """Loans for which a check does not hold."""

    count: int = 0
    loans: list[int] = field(default_factory=list)


@dataclass(slots=True)
class LoanFindings:
    """The checks that failed, by name."""

    by_check: dict[str, Finding] = field(default_factory=dict)

    def check(self, ids: I64, at: I64, found: I64) -> None:
        """Check a piece of loans."""
        failed = np.zeros(len(ids), np.uint8)
        check_rows(at, found, failed)
        if not failed.any():
            return
        for name, bit in CHECKS.items():
            bad = np.flatnonzero(failed & bit)
            if len(bad):
                finding = self.by_check.setdefault(name, Finding())
                finding.count += len(bad)
                finding.loans += ids[bad[: max(0, MAX_NAMED - len(finding.loans))]].tolist()

    def add(self, other: LoanFindings) -> None:
        """Add the findings of another piece."""
        for name, found in other.by_check.items():
            finding = self.by_check.setdefault(name, Finding())
            finding.count += found.count
            finding.loans += found.loans[: max(0, MAX_NAMED - len(finding.loans))]
