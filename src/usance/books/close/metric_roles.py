"""Roles of accounts for metrics of journals; a close states them for those who measure.

>>> roles_of(load_chart())["sales_and_marketing"]
{'accounts': [5030]}
"""

from __future__ import annotations

import json

from usance.base.book_step import Step
from usance.books.chart import AccountKind, Chart, load_chart
from usance.books.group.rules import load_group_rules
from usance.measure.inputs import ROLES_FILE

_NAMED = {
    "revenue": (
        "heavy_facilitation", "heavy_servicing", "financing_income", "guarantee_revenue",
        "other_credit_fees", "light_facilitation", "light_servicing", "referral",
        "other_platform_fees",
    ),
    "sales_and_marketing": ("marketing",),
    "cash_restricted_cash_and_deposits": ("cash", "restricted_cash", "security_deposits"),
    "allowances_and_contingent": (
        "contract_allowance", "receivable_allowance_fees", "financial_allowance",
        "related_contract_allowance", "related_financial_allowance", "loan_allowance", "contingent",
    ),
}  # fmt: skip
_NOT_NON_GAAP = "share_based_compensation"


def roles_of(chart: Chart) -> dict[str, dict[str, list[int]]]:
    """Accounts by role; non-GAAP income leaves out share-based compensation."""
    roles = {
        role: {"accounts": [chart[name].number for name in names]}
        for role, names in _NAMED.items()
    }  # fmt: skip
    results = (AccountKind.INCOME, AccountKind.EXPENSE)
    shares = chart["non_controlling_income"].number
    earned = [each.number for each in chart if each.kind in results]
    owned = [each.number for each in chart if each.kind is AccountKind.EQUITY]
    paid = [rule.number for rule in load_group_rules() if rule.amount == _NOT_NON_GAAP]
    income = [number for number in earned if number != shares]
    roles["net_income_non_gaap"] = {"accounts": income, "without_rules": paid}
    roles["equity"] = {"accounts": [*owned, *earned]}
    return roles


def keep_roles(step: Step) -> None:
    """State the roles in the book that is being closed."""
    step.use(ROLES_FILE, json.dumps(roles_of(load_chart()), sort_keys=True).encode())
