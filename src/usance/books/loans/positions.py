"""A loan's position: every number of its replay that the accounting policies look at.

Positions come from the loan kernel for a column of loans, or from the exact form for one loan whose
terms have changed. What the policies make of them is the same (`usance.books.kernel.policy`).

Three moments matter. The *close* is the day of the balance sheet. The loan *stops earning* at its
payout or charge-off, if one is known by then; else at the close. Its last *earning day* is that
day, or the last one with at most sixty days past due. Cash is *cleared* up to the cut-off.
"""

from __future__ import annotations

PARTS = ("principal", "interest", "guarantee", "service", "penalty")

FIELDS = (
    "model", "principal", "upfront", "guarantee", "service", "fee_ppm",
    "is_settled", "days_past_due", "event", "event_cleared", "earn_month",
    "earning_day", "earned_days", "term_days",
    *(f"paid_{part}" for part in PARTS), "overpaid",
    *(f"before_{part}" for part in PARTS),
    *(f"cleared_{part}" for part in PARTS), "cleared_overpaid",
    "waived_principal", "waived_interest", "waived_guarantee", "waived_service",
    "earned_interest", "earned_fee_instalments", "earned_fee", "earned_fee_ifrs",
    "due_guarantee", "due_service",
    "compensated", "outstanding",
    "non_current_principal", "non_current_guarantee", "non_current_service", "effective_ppb",
)  # fmt: skip
"""All amounts in minor units.

`principal` is 0 until disbursed; `guarantee` and `service` are the fees of the whole plan. `event`
is 1 after a payout, 2 after a charge-off; `event_cleared` says it lies before the cut-off.
`paid_*` is cash at the close, `before_*` cash before the loan stopped earning, `cleared_*` cash at
the cut-off. `waived_*`, `earned_*` and `due_service` stand as of the last earning day;
`due_guarantee` as of the day the loan stops earning. `later_*` falls due more than a year after the
close. `effective_ppb` is the rate a month at which IFRS holds one of our own loans."""

(
    MODEL, PRINCIPAL, UPFRONT, GUARANTEE, SERVICE, FEE_PPM,
    IS_SETTLED, DAYS_PAST_DUE, EVENT, EVENT_CLEARED, EARN_MONTH,
    EARNING_DAY, EARNED_DAYS, TERM_DAYS,
) = range(14)  # fmt: skip
PAID, OVERPAID, BEFORE, CLEARED, CLEARED_OVERPAID, WAIVED = 14, 19, 20, 25, 30, 31
(
    EARNED_INTEREST, EARNED_FEE_INSTALMENTS, EARNED_FEE, EARNED_FEE_IFRS, DUE_GUARANTEE,
    DUE_SERVICE, COMPENSATED, OUTSTANDING, NON_CURRENT_PRINCIPAL, NON_CURRENT_GUARANTEE,
    NON_CURRENT_SERVICE, EFFECTIVE_PPB,
) = range(35, 47)  # fmt: skip

NO_EVENT, PAYOUT, CHARGE_OFF = 0, 1, 2

assert FIELDS[PAID] == "paid_principal"
assert FIELDS[WAIVED] == "waived_principal"
assert FIELDS[EFFECTIVE_PPB] == "effective_ppb"
assert len(FIELDS) == EFFECTIVE_PPB + 1
