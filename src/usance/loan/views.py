"""Results of a replay: balances and arrears of a loan on a day, and the rows of its schedule.

Named tuples, not data classes: one loan is replayed in microseconds, and these are half of them.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from usance.base.codes import Status


class ComponentAmounts(NamedTuple):
    """An amount by component, in minor units."""

    principal: int = 0
    interest: int = 0
    guarantee_fee: int = 0
    service_fee: int = 0
    penalty: int = 0

    @property
    def total(self) -> int:
        """The five together."""
        return self.principal + self.interest + self.guarantee_fee + self.service_fee + self.penalty


class Instalment(NamedTuple):
    """One row of a schedule as agreed."""

    number: int  # 1, 2, 3 …; 0 is a down payment
    due_on: date
    principal: int
    interest: int
    guarantee_fee: int
    service_fee: int
    balance: int  # scheduled principal after this instalment

    @property
    def total(self) -> int:
        """The amount the borrower pays with this instalment."""
        return self.principal + self.interest + self.guarantee_fee + self.service_fee


class InstalmentState(NamedTuple):
    """One row of a schedule as it stands: `due` = `paid` (or waived) + `outstanding`."""

    number: int
    due_on: date
    due: ComponentAmounts
    paid: ComponentAmounts
    outstanding: ComponentAmounts


class LoanView(NamedTuple):
    """Balances, arrears and accruals of a loan on a day; every amount in minor units.

    `due`: fallen due so far by component; `past_due`: of it unpaid. `paid`: cash received by
    component; `waived`: forgiven. `accrued_interest`: interest owed but for the passing of days
    (unpaid and fallen due, or earned since the last due date). `settlement`: what closes the loan
    that day.
    """

    as_of: date
    status: Status
    days_past_due: int
    instalments_paid: int
    principal_outstanding: int
    due: ComponentAmounts
    past_due: ComponentAmounts
    paid: ComponentAmounts
    waived: ComponentAmounts
    interest_earned: int
    accrued_interest: int
    settlement: int
    overpaid: int
    disbursed: int
    compensated: int
    charged_off: int
    recovered: int
    next_due_on: date | None
    next_due: int


VIEW_FIELDS = (
    "status", "days_past_due", "instalments_paid", "principal_outstanding",
    "due_principal", "due_interest", "due_guarantee_fee", "due_service_fee",
    "past_due_principal", "past_due_interest", "past_due_guarantee_fee", "past_due_service_fee",
    "past_due_penalty",
    "paid_principal", "paid_interest", "paid_guarantee_fee", "paid_service_fee", "paid_penalty",
    "waived_principal", "waived_interest", "waived_guarantee_fee", "waived_service_fee",
    "waived_penalty",
    "interest_earned", "accrued_interest", "settlement", "overpaid",
    "disbursed", "compensated", "charged_off", "recovered", "next_due_day", "next_due",
)  # fmt: skip
"""The columns of a view as the kernel writes it; days are day numbers, -1 for none."""

NOT_DISBURSED = "not disbursed"
"""The status that people are told of a loan that has no money yet."""
