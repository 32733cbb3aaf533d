"""The posting amounts: named cumulative numbers of one loan, from replay or from policy.

Each is the sum of everything that ever happened under that name, in minor units, so a close posts
the difference to the close before and a correction needs no code of its own. Which accounts an
amount moves is in the posting rules (`usance.books.rules`).

>>> AMOUNTS[:3], len(set(AMOUNTS)) == len(AMOUNTS)
(('disbursed', 'upfront_fee', 'to_institution'), True)
"""

from __future__ import annotations

from usance.base.schemas import Column, Table
from usance.base.tables import table

MEANING = {
    # Cash of the borrower, as it is received.
    "disbursed": "principal paid out by the platform's own lenders",
    "upfront_fee": "fee withheld from it",
    "to_institution": "principal and coupon received for the institution",
    "principal_received": "principal of our own loans received before a charge-off",
    "interest_received": "their interest, likewise",
    "fee_instalments_received": "their fee instalments, likewise",
    "guarantee_received": "guarantee fee instalments received before a payout",
    "service_received": "service fee instalments received before a payout or write-off",
    "penalty_received": "late fees received",
    "penalty_vat": "tax in them",
    "overpaid": "money of the borrower that met nothing",
    # After a payout or charge-off.
    "recovered_claim": "principal and coupon received after a payout",
    "recovered_guarantee": "written-off guarantee fee instalments received after all",
    "recovered_service": "written-off service fee instalments received after all",
    "recovered_loan": "received on a charged-off loan, up to what was charged off",
    "recovered_other": "received on it beyond that",
    "recovered_other_vat": "tax in that",
    # Cash as the payment providers hand it over.
    "cleared_institution": "cleared and passed on to the institution",
    "cleared_principal": "cleared principal of our own loans",
    "cleared_interest": "cleared interest of our own loans",
    "cleared_fees": "cleared fees and over-payments",
    "cleared_recovery": "cleared recoveries",
    # The guarantee.
    "guarantee_issued": "fair value of the guarantee when it was given",
    "guarantee_cancelled": "guarantee fee instalments waived by an early end",
    "guarantee_released": "guarantee earned by standing ready, tax in",
    "guarantee_vat": "tax in it",
    "paid_out": "compensation paid to the institution",
    "contingent_provision": "expected payouts charged, net of recoveries",
    # Service of the platform.
    "facilitation_earned": "earned by bringing the loan about, tax in",
    "facilitation_vat": "tax in it",
    "servicing_earned": "earned by serving it, tax in",
    "servicing_vat": "tax in it",
    "contract_liability": "received beyond what is earned",
    "receivable_written_off": "guarantee fee instalments written off",
    "contract_written_off": "service fee instalments written off",
    "receivable_provision": "expected losses of guarantee fee instalments charged",
    "contract_provision": "expected losses of service fee instalments charged",
    # Our own loans.
    "interest_earned": "interest earned, tax in",
    "fee_earned": "fees earned by effective interest, tax in",
    "income_vat": "tax in both",
    "principal_written_off": "principal charged off or forgiven",
    "interest_written_off": "accrued interest charged off",
    "fee_written_off": "unearned fee taken off with it",
    "loan_provision": "expected losses of loans charged",
    # Fees of the institutions.
    "referral_fee": "earned by a confirmed drawdown, tax in",
    "referral_vat": "tax in it",
    "usage_fee": "earned by use of the platform's technology, tax in",
    "usage_vat": "tax in it",
    # What falls due more than a year after the close.
    "non_current_loans": "our own loans",
    "non_current_receivable": "guarantee fee instalments",
    "non_current_contract": "service fee instalments",
    # What IFRS sees otherwise.
    "ifrs_loan_loss": "loan allowance above the one of US GAAP",
    "ifrs_loan_loss_tax": "tax on it, less that on the interest of impaired loans",
    "ifrs_contingent_loss": "expected payouts above those of US GAAP",
    "ifrs_contingent_loss_tax": "tax on it",
    "ifrs_fee": "fees earned on expected flows above those on contractual ones",
    "ifrs_fee_vat": "value-added tax in it",
    "ifrs_fee_tax": "tax on it",
    "ifrs_stand_ready": "guarantee not recognised before it falls due",
    "ifrs_contract_liability": "premium due beyond what is released",
    "ifrs_allowance": "allowance on guarantee fee instalments not yet due",
    "ifrs_allowance_tax": "tax on it",
    "ifrs_net_interest": "interest of impaired loans on what is left after their allowance",
}
AMOUNTS = tuple(MEANING)

(
    DISBURSED, UPFRONT_FEE, TO_INSTITUTION, PRINCIPAL_RECEIVED, INTEREST_RECEIVED,
    FEE_INSTALMENTS_RECEIVED, GUARANTEE_RECEIVED, SERVICE_RECEIVED, PENALTY_RECEIVED, PENALTY_VAT,
    OVERPAID, RECOVERED_CLAIM, RECOVERED_GUARANTEE, RECOVERED_SERVICE, RECOVERED_LOAN,
    RECOVERED_OTHER, RECOVERED_OTHER_VAT, CLEARED_INSTITUTION, CLEARED_PRINCIPAL,
    CLEARED_INTEREST, CLEARED_FEES, CLEARED_RECOVERY, GUARANTEE_ISSUED, GUARANTEE_CANCELLED,
    GUARANTEE_RELEASED, GUARANTEE_VAT, PAID_OUT, CONTINGENT_PROVISION, FACILITATION_EARNED,
    FACILITATION_VAT, SERVICING_EARNED, SERVICING_VAT, CONTRACT_LIABILITY, RECEIVABLE_WRITTEN_OFF,
    CONTRACT_WRITTEN_OFF, RECEIVABLE_PROVISION, CONTRACT_PROVISION, INTEREST_EARNED, FEE_EARNED,
    INCOME_VAT, PRINCIPAL_WRITTEN_OFF, INTEREST_WRITTEN_OFF, FEE_WRITTEN_OFF, LOAN_PROVISION,
    REFERRAL_FEE, REFERRAL_VAT, USAGE_FEE, USAGE_VAT, NON_CURRENT_LOANS, NON_CURRENT_RECEIVABLE,
    NON_CURRENT_CONTRACT, IFRS_LOAN_LOSS, IFRS_LOAN_LOSS_TAX, IFRS_CONTINGENT_LOSS,
    IFRS_CONTINGENT_LOSS_TAX, IFRS_FEE, IFRS_FEE_VAT, IFRS_FEE_TAX, IFRS_STAND_READY,
    IFRS_CONTRACT_LIABILITY, IFRS_ALLOWANCE, IFRS_ALLOWANCE_TAX, IFRS_NET_INTEREST,
) = range(len(AMOUNTS))  # fmt: skip

SUBLEDGER: Table = table("subledger").with_amounts(
    list(AMOUNTS),
    Column("is_fully_settled", "i8", "1 if paid to the end and cleared", optional=True, default=0),
)
"""The `subledger` table with a column per amount: every loan not fully settled at the close before.

A loan is fully settled when it is paid to the end and cleared; its last row stands until a fact
comes."""

SUMS: Table = table("sums").with_amounts(list(AMOUNTS))
"""The `sums` table likewise: what a close holds by cell, of new loans and of others."""
