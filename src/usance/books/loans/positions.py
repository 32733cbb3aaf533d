"""A loan's position: every number of its replay that the accounting policies look at.

Positions come from the loan kernel for a column of loans, or from the exact form for one loan whose
terms have changed. The policies make the same of both (`usance.books.kernel.posting_amounts`).

Three moments matter. The *close* is the day of the balance sheet. The loan *stops earning* at its
payout or charge-off, if one is known by then; else at the close. Its last *earning day* is that
day, or the last one with at most sixty days past due. Cash is *cleared* up to the cut-off.

>>> FIELDS[POSITION.paid_interest], FIELDS[POSITION.paid_principal + PARTS.index("interest")]
('paid_interest', 'paid_interest')
"""

from __future__ import annotations

from typing import NamedTuple

PARTS = ("principal", "interest", "guarantee", "service", "penalty")
"""Components of cash, in the order of their fields."""
NO_EVENT, PAYOUT, CHARGE_OFF = 0, 1, 2
"""Values of `event`."""


class PositionIndex(NamedTuple):
    """Places of the numbers in a row; all amounts in minor units.

    `principal` is 0 until disbursed; `guarantee` and `service` are the fees of the whole plan.
    `event_cleared` says that the event lies before the cut-off. `paid_*` is cash at the close,
    `before_*` cash before the loan stopped earning, `cleared_*` cash at the cut-off. `waived_*`,
    `earned_*` and `due_service` stand as of the last earning day; `due_guarantee` as of the day the
    loan stops earning. `non_current_*` falls due more than a year after the close. `effective_ppb`
    is the rate a month at which IFRS holds a loan on the balance sheet.
    """

    model: int
    principal: int
    upfront: int
    guarantee: int
    service: int
    fee_ppm: int
    is_settled: int
    days_past_due: int
    event: int
    event_cleared: int
    earn_month: int
    earning_day: int
    earned_days: int
    term_days: int
    paid_principal: int
    paid_interest: int
    paid_guarantee: int
    paid_service: int
    paid_penalty: int
    overpaid: int
    before_principal: int
    before_interest: int
    before_guarantee: int
    before_service: int
    before_penalty: int
    cleared_principal: int
    cleared_interest: int
    cleared_guarantee: int
    cleared_service: int
    cleared_penalty: int
    cleared_overpaid: int
    waived_principal: int
    waived_interest: int
    waived_guarantee: int
    waived_service: int
    earned_interest: int
    earned_fee_instalments: int
    earned_fee: int
    earned_fee_ifrs: int
    due_guarantee: int
    due_service: int
    compensated: int
    outstanding: int
    non_current_principal: int
    non_current_guarantee: int
    non_current_service: int
    effective_ppb: int


FIELDS = PositionIndex._fields
POSITION = PositionIndex(*range(len(FIELDS)))
"""As kernels read and write them: `at[POSITION.event]`."""
