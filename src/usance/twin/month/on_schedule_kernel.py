"""Month of a loan on schedule that pays as planned or settles early, compiled.

Most loans in most months are like this: nothing is overdue, and one draw says that the month's
instalment is paid on its day. The borrower decides here; the state follows by the short paths of
`loan.kernel.short_paths`. Any other loan is left to `serve_kernel` and `month_kernel`, and a test
takes the same loans both ways.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usance.base.arrays import i64
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Plan
from usance.loan.kernel.plan import due_day, instalment
from usance.loan.kernel.short_paths import (
    due_at_settlement,
    is_on_schedule,
    pay_instalment,
    pays_one_instalment,
    settle_early,
)
from usance.loan.kernel.state import BALANCE, LEVEL_MINOR
from usance.twin.month.merge_facts_kernel import ONE_PAYMENT
from usance.twin.month.month_arrays import LoanArrays, Payments
from usance.world.behaviour_kernel import (
    BehaviourInputs,
    at_due,
    day_between,
    is_on_time,
    notice_of,
)
from usance.world.draw_kernel import chance

OTHER, PAYS, SETTLES, PAYS_LAST = range(4)
"""Outcomes; `OTHER` is not told here, and from `SETTLES` on the loan is closed."""


class DueDraws(NamedTuple):
    """Draws of a month's due: its payment, and the notice of that."""

    payment: np.uint64
    notice: np.uint64


class OnSchedule(NamedTuple):
    """Month of a loan on schedule: its payment's day, the due principal, and that paid early."""

    outcome: int
    day: int
    principal: int
    prepaid: int


@kernel(inline=True)
def write_payment(payments: Payments, row: int, day: int, amount: int, arg: int) -> None:
    """Write the one payment of a loan."""
    payments.facts[row], payments.day[row] = ONE_PAYMENT, day
    payments.amount[row], payments.arg[row] = amount, arg


@kernel(inline=True)
def on_schedule_loan(
    plan: Plan, loans: LoanArrays, row: int, draws: DueDraws, world: BehaviourInputs,
    payments: Payments,
) -> OnSchedule:  # fmt: skip
    """Carry a loan on schedule through the month, and write its payment.

    `OTHER` leaves the state and the payments as they were.
    """
    states, span, params = loans.states, world.span, world.params
    hazard, nth = loans.hazard[row], span.month - plan.first_month
    other = OnSchedule(OTHER, i64(0), i64(0), i64(0))
    if hazard < 0 or not is_on_schedule(plan, states, row, nth):
        return other
    u = chance(draws.payment)
    is_early = u < params.dues[2].prepay
    at_its_due = at_due(hazard, nth, plan.instalments, params.early_ppm)
    if chance(draws.notice) < params.late_notice or not (
        is_early or is_on_time(u, at_its_due, params.dues[2])
    ):
        return other
    balance, day = states[row, BALANCE], due_day(plan, nth)
    arg, _ = notice_of(draws.notice, day, params)
    principal, interest, fees = instalment(plan, nth, balance, states[row, LEVEL_MINOR])
    amount = principal + interest + fees
    if amount <= 0:  # the open instalment is a later one
        return other
    if is_early:
        if balance == 0:
            return other
        counter = span.month * 256 + 2
        settles = day_between(world.prefix.payment, loans.loan[row], counter, span.first, day)
        due, interest, fees = due_at_settlement(plan, nth, settles, principal, interest, fees)
        write_payment(payments, row, settles, balance + interest + fees, arg)
        settle_early(plan, states, row, interest, fees)
        return OnSchedule(SETTLES, settles, due, balance - due)
    if not pays_one_instalment(plan, nth, balance, amount):
        return other
    write_payment(payments, row, day, amount, arg)
    pay_instalment(plan, states, row, nth, principal, interest, fees)
    is_last = nth + 1 == plan.instalments
    return OnSchedule(PAYS_LAST if is_last else PAYS, day, principal, i64(0))
