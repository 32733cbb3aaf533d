"""Roll-forwards of every allowance, guarantee liability, receivable and payable, for the notes."""

from __future__ import annotations

from usance.books.chart import load_chart
from usance.books.group.rules import load_group_rules
from usance.books.rules import load_rules
from usance.books.statements.ledger import Ledger
from usance.books.statements.roll_forward import RollForward, roll_forward

REASONS = {
    "guarantee_issued": "additions",
    "guarantee_cancelled": "cancelled",
    "guarantee_released": "released",
    "guarantee_received": "received",
    "contingent_provision": "provision",
    "paid_out": "payouts",
    "recovered_claim": "recoveries",
    "receivable_provision": "provision",
    "receivable_written_off": "written off",
    "recovered_guarantee": "recoveries",
    "contract_provision": "provision",
    "contract_written_off": "written off",
    "recovered_service": "recoveries",
    "facilitation_earned": "earned",
    "servicing_earned": "earned",
    "referral_fee": "earned",
    "service_received": "received",
    "contract_liability": "shown as contract liability",
    "loan_provision": "provision",
    "principal_written_off": "written off",
    "interest_written_off": "written off",
    "fee_written_off": "written off",
    "recovered_loan": "recoveries",
    "disbursed": "originated",
    "principal_received": "received",
    "interest_earned": "earned",
    "interest_received": "received",
    "fee_earned": "earned",
    "upfront_fee": "withheld",
    "fee_instalments_received": "received",
    "to_institution": "collected",
    "cleared_institution": "passed on",
    "overpaid": "over-paid",
}
"""What a note calls a movement; others go by the name of their amount."""

ACCOUNTS = {
    "Guarantee liabilities-stand ready": (("stand_ready",), -1),
    "Guarantee liabilities-contingent": (("contingent",), -1),
    "Allowance for loans receivable": (("loan_allowance",), -1),
    "Allowance for financial assets receivable": (("financial_allowance",), -1),
    "Allowance for contract assets": (("contract_allowance",), -1),
    "Loans receivable, principal": (("loans", "loans_non_current"), 1),
    "Accrued interest": (("accrued_interest",), 1),
    "Unearned fees": (("unearned_fee",), -1),
    "Financial assets receivable, gross": (
        ("financial_receivable", "financial_receivable_non_current"), 1,
    ),
    "Contract assets, gross": (("contract_assets", "contract_assets_non_current"), 1),
    "Accounts receivable, gross": (("accounts_receivable",), 1),
    "Payable to institutions": (("payable_institutions",), -1),
    "Payable to investors of the consolidated trusts": (
        ("trust_investors", "trust_investors_non_current"), -1,
    ),
    "Other tax payable": (("other_tax_payable",), -1),
}  # fmt: skip


def roll_forwards(
    ledger: Ledger, first_month: int, last_month: int, *, currency: int
) -> list[RollForward]:
    """Every roll-forward of some months under US GAAP, of the amounts in one currency."""
    chart = load_chart()
    assert all(name in chart.accounts for names, _ in ACCOUNTS.values() for name in names)
    own = ledger.take((ledger.tag == 0) & (ledger.currency == currency))
    named = {rule.number: rule.amount for rule in load_rules()}
    named |= {rule.number: rule.amount for rule in load_group_rules()}
    reasons = {
        rule: REASONS.get(amount, amount.replace("_", " ")) for rule, amount in named.items()
    }
    return [
        roll_forward(name, own, accounts, reasons, first_month, last_month, sign=sign)
        for name, (accounts, sign) in ACCOUNTS.items()
    ]
