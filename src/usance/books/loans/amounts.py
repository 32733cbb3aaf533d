"""The posting amounts: named cumulative numbers of one loan, from replay or from policy.

Each is the sum of everything that ever happened under that name, in minor units, so a close posts
the difference to the close before and a correction needs no code of its own. Which accounts an
amount moves is in the posting rules (`usance.books.rules`).

>>> AMOUNTS[:3], len(set(AMOUNTS)) == len(AMOUNTS)
(('disbursed', 'upfront_fee', 'to_institution'), True)
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from usance.base.schemas import Column, Table
from usance.base.tables import table


class AmountIndex(NamedTuple):
    """Places of the posting amounts in a row; each is declared here, once, with its meaning."""

    # Cash of the borrower, as it is received.
    disbursed: Annotated[int, "principal paid out by the platform's own lenders"]
    upfront_fee: Annotated[int, "fee withheld from it"]
    to_institution: Annotated[int, "principal and coupon received for the institution"]
    principal_received: Annotated[int, "principal of our own loans received before a charge-off"]
    interest_received: Annotated[int, "their interest, likewise"]
    fee_instalments_received: Annotated[int, "their fee instalments, likewise"]
    guarantee_received: Annotated[int, "guarantee fee instalments received before a payout"]
    service_received: Annotated[int, "service fees received before a payout or write-off"]
    penalty_received: Annotated[int, "late fees received"]
    penalty_vat: Annotated[int, "tax in them"]
    overpaid: Annotated[int, "money of the borrower that met nothing"]
    # After a payout or charge-off.
    recovered_claim: Annotated[int, "principal and coupon received after a payout"]
    recovered_guarantee: Annotated[int, "written-off guarantee fee instalments received after all"]
    recovered_service: Annotated[int, "written-off service fee instalments received after all"]
    recovered_loan: Annotated[int, "received on a charged-off loan, up to what was charged off"]
    recovered_other: Annotated[int, "received on it beyond that"]
    recovered_other_vat: Annotated[int, "tax in that"]
    # Cash as the payment providers hand it over.
    cleared_institution: Annotated[int, "cleared and passed on to the institution"]
    cleared_principal: Annotated[int, "cleared principal of our own loans"]
    cleared_interest: Annotated[int, "cleared interest of our own loans"]
    cleared_fees: Annotated[int, "cleared fees and over-payments"]
    cleared_recovery: Annotated[int, "cleared recoveries"]
    # The guarantee.
    guarantee_issued: Annotated[int, "fair value of the guarantee when it was given"]
    guarantee_cancelled: Annotated[int, "guarantee fee instalments waived by an early end"]
    guarantee_released: Annotated[int, "guarantee earned by standing ready, tax in"]
    guarantee_vat: Annotated[int, "tax in it"]
    paid_out: Annotated[int, "compensation paid to the institution"]
    contingent_provision: Annotated[int, "expected payouts charged, net of recoveries"]
    # Service of the platform.
    facilitation_earned: Annotated[int, "earned by bringing the loan about, tax in"]
    facilitation_vat: Annotated[int, "tax in it"]
    servicing_earned: Annotated[int, "earned by serving it, tax in"]
    servicing_vat: Annotated[int, "tax in it"]
    contract_liability: Annotated[int, "received beyond what is earned"]
    receivable_written_off: Annotated[int, "guarantee fee instalments written off"]
    contract_written_off: Annotated[int, "service fee instalments written off"]
    receivable_provision: Annotated[int, "expected losses of guarantee fee instalments charged"]
    contract_provision: Annotated[int, "expected losses of service fee instalments charged"]
    # Our own loans.
    interest_earned: Annotated[int, "interest earned, tax in"]
    fee_earned: Annotated[int, "fees earned by effective interest, tax in"]
    income_vat: Annotated[int, "tax in both"]
    principal_written_off: Annotated[int, "principal charged off or forgiven"]
    interest_written_off: Annotated[int, "accrued interest charged off"]
    fee_written_off: Annotated[int, "unearned fee taken off with it"]
    loan_provision: Annotated[int, "expected losses of loans charged"]
    # Fees of the institutions.
    referral_fee: Annotated[int, "earned by a confirmed drawdown, tax in"]
    referral_vat: Annotated[int, "tax in it"]
    usage_fee: Annotated[int, "earned by use of the platform's technology, tax in"]
    usage_vat: Annotated[int, "tax in it"]
    # What falls due more than a year after the close.
    non_current_loans: Annotated[int, "our own loans"]
    non_current_receivable: Annotated[int, "guarantee fee instalments"]
    non_current_contract: Annotated[int, "service fee instalments"]
    # What IFRS sees otherwise.
    ifrs_loan_loss: Annotated[int, "loan allowance above the one of US GAAP"]
    ifrs_loan_loss_tax: Annotated[int, "tax on it, less that on the interest of impaired loans"]
    ifrs_contingent_loss: Annotated[int, "expected payouts above those of US GAAP"]
    ifrs_contingent_loss_tax: Annotated[int, "tax on it"]
    ifrs_fee: Annotated[int, "fees earned on expected flows above those on contractual ones"]
    ifrs_fee_vat: Annotated[int, "value-added tax in it"]
    ifrs_fee_tax: Annotated[int, "tax on it"]
    ifrs_stand_ready: Annotated[int, "guarantee not recognised before it falls due"]
    ifrs_contract_liability: Annotated[int, "premium due beyond what is released"]
    ifrs_allowance: Annotated[int, "allowance on guarantee fee instalments not yet due"]
    ifrs_allowance_tax: Annotated[int, "tax on it"]
    ifrs_net_interest: Annotated[int, "interest of impaired loans on their net amount"]


AMOUNTS = AmountIndex._fields
AMOUNT = AmountIndex(*range(len(AMOUNTS)))
"""As kernels read and write them: `out[AMOUNT.disbursed]`."""

FACT_AMOUNTS = (
    "disbursed", "upfront_fee", "to_institution", "principal_received", "interest_received",
    "fee_instalments_received", "guarantee_received", "service_received", "penalty_received",
    "overpaid", "recovered_claim", "recovered_guarantee", "recovered_service",
    "guarantee_issued", "guarantee_cancelled", "paid_out", "receivable_written_off",
    "principal_written_off", "referral_fee", "usage_fee",
)  # fmt: skip
"""Amounts that follow from facts and terms alone, which the live ledger posts with each fact."""
FACT_AMOUNT_PLACES = tuple(AMOUNTS.index(name) for name in FACT_AMOUNTS)

SUBLEDGER: Table = table("subledger").with_amounts(
    list(AMOUNTS),
    Column("is_fully_settled", "i8", "1 if paid to the end and cleared", optional=True, default=0),
)
"""The `subledger` table with a column per amount: every loan not fully settled at the close before.

A loan is fully settled when it is paid to the end and cleared; its last row stands until a fact
comes."""

SUMS: Table = table("sums").with_amounts(list(AMOUNTS))
"""The `sums` table likewise: what a close holds by cell, of new loans and of others."""
