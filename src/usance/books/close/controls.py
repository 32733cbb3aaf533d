"""Control totals of a close: amounts found on two ways that do not share their arithmetic.

A control that fails says by how much, and where it can, which loans stand behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.codes import Basis
from usance.base.columns import arrays
from usance.base.errors import UsanceError
from usance.books.chart import AccountKind, Chart, load_chart
from usance.books.errors import ControlFailed
from usance.books.loans.checks import CHECKS, LoanFindings
from usance.books.loans.co_funding import signs_of

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Control:
    """One control: what was compared, both amounts, and the loans behind a difference."""

    name: str
    expected_minor: int = 0
    found_minor: int = 0
    loans: tuple[int, ...] = ()

    @property
    def holds(self) -> bool:
        """True if both sides are equal."""
        return self.expected_minor == self.found_minor

    @property
    def error(self) -> UsanceError:
        """The error of a control that does not hold."""
        behind = f"; loans {', '.join(map(str, self.loans[:_SHOWN]))}" if self.loans else ""
        more = " and more" if len(self.loans) > _SHOWN else ""
        return ControlFailed(
            f"{self.name}: expected {self.expected_minor}, found {self.found_minor}{behind}{more}",
            where="controls",
            fix="Correct the facts behind it and close again; nothing was published",
        )

    def as_dict(self) -> dict[str, object]:
        """For the file of controls."""
        return {
            "name": self.name, "expected_minor": self.expected_minor,
            "found_minor": self.found_minor, "holds": self.holds, "loans": list(self.loans),
        }  # fmt: skip


def loan_controls(findings: LoanFindings) -> list[Control]:
    """The checks of single loans: none may fail."""
    return [
        Control(name, 0, finding.count, tuple(finding.loans))
        if (finding := findings.by_check.get(name))
        else Control(name)
        for name in CHECKS
    ]


BALANCES: Mapping[str, str] = {
    "loans loans_non_current": "disbursed - principal_received - principal_written_off",
    "accrued_interest": "interest_earned - interest_received - interest_written_off",
    "unearned_fee": "fee_earned + fee_written_off - upfront_fee - fee_instalments_received",
    "loan_allowance": "principal_written_off + interest_written_off - fee_written_off"
    " - recovered_loan - loan_provision",
    "stand_ready": "guarantee_cancelled + guarantee_released - guarantee_issued",
    "contingent": "paid_out - recovered_claim - contingent_provision",
    "financial_receivable financial_receivable_non_current related_financial contract_assets"
    " contract_assets_non_current related_contract related_non_current":
        "guarantee_issued - guarantee_cancelled - guarantee_received - receivable_written_off"
        " + facilitation_earned + servicing_earned + contract_liability - service_received"
        " - contract_written_off + referral_fee",
    "financial_allowance contract_allowance related_financial_allowance"
    " related_contract_allowance":
        "receivable_written_off - recovered_guarantee - receivable_provision"
        " + contract_written_off - recovered_service - contract_provision",
    "accounts_receivable related_receivable": "usage_fee",
    "contract_liabilities": "- contract_liability",
    "payable_institutions": "cleared_institution - to_institution",
    "borrowers_credit": "- overpaid",
    "providers_institution providers_principal providers_interest providers_fees"
    " providers_recovery":
        "to_institution - cleared_institution + principal_received - cleared_principal"
        " + interest_received - cleared_interest + fee_instalments_received + guarantee_received"
        " + service_received + penalty_received + overpaid + recovered_guarantee"
        " + recovered_service + recovered_other - cleared_fees + recovered_claim"
        " + recovered_loan - cleared_recovery",
    "other_tax_payable": "- penalty_vat - recovered_other_vat - guarantee_vat - facilitation_vat"
    " - servicing_vat - income_vat - referral_vat - usage_vat",
}  # fmt: skip
"""Accounts, and their balance under US GAAP as a formula of amounts summed over all loans."""


def ledger_controls(
    postings: pa.Table, sums: I64, group_rules: set[int], chart: Chart | None = None
) -> Iterator[Control]:
    """The ledger against the subledger, the trial balance, and the balance sheet."""
    accounts = chart or load_chart()
    columns = arrays(postings)
    account, basis, amount = (columns[name] for name in ("account", "basis", "amount_minor"))
    yield Control("trial balance is zero", 0, int(amount.sum()))
    for name, value in _by_entity(columns, amount).items():
        yield Control(f"trial balance of {name} is zero", 0, value)
    of_loans = (basis == Basis.US_GAAP) & ~np.isin(columns["rule"], list(group_rules))
    total = sums.sum(axis=0)
    for names, formula in BALANCES.items():
        numbers = [accounts[name].number for name in names.split()]
        held = int(amount[of_loans & np.isin(account, numbers)].sum())
        said = int(total @ signs_of(formula))
        yield Control(f"{names.split()[0]}: subledger = ledger", said, held)
    yield from _tags_balance(columns, accounts)


def _by_entity(columns: Mapping[str, I64], amount: I64) -> dict[str, int]:
    keys = columns["entity"].astype(np.int64) * 256 + columns["basis"] * 32 + columns["tag"]
    return {
        f"entity {key // 256}, basis {key % 256 // 32}, tag {key % 32}": int(
            amount[keys == key].sum()
        )
        for key in np.unique(keys).tolist()
    }


def _tags_balance(columns: Mapping[str, I64], chart: Chart) -> Iterator[Control]:
    """Assets = liabilities + equity with the result of the period, per basis."""
    sheet = [each.number for each in chart if each.kind.on_balance_sheet]
    result = [each.number for each in chart if not each.kind.on_balance_sheet]
    assert {each.kind for each in chart} == set(AccountKind)
    for basis in Basis:
        rows = columns["basis"] == basis
        net = int(columns["amount_minor"][rows & np.isin(columns["account"], sheet)].sum())
        profit = int(columns["amount_minor"][rows & np.isin(columns["account"], result)].sum())
        yield Control(f"net assets = equity and result, {basis.label}", -profit, net)


def failed(controls: Sequence[Control]) -> list[UsanceError]:
    """Errors of the controls that do not hold."""
    return [control.error for control in controls if not control.holds]
