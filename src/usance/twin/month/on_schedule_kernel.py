"""The month of a loan that is even with its plan and pays as planned, or settles early, compiled.

Most loans in most months are like this: nothing is overdue, and one draw says that the month's
instalment is paid on its day. What the general fold would do is then known beforehand. Whatever is
not quite like this is left to `serve_kernel` and `month_kernel`, and a test takes the same loans
both ways.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64, U64, i64
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Plan
from usance.loan.kernel.fold import (
    BALANCE,
    COVERED,
    FEES,
    INTEREST_BEFORE,
    IS_DISBURSED,
    IS_SETTLED,
    LEVEL_MINOR,
    LOW_32,
    META,
    PENALTY_OPEN,
    accrued_share,
)
from usance.loan.kernel.plan import COUNT, MONTH, P, due_day, guaranteed, instalment, period_start
from usance.twin.month.merge_facts_kernel import CALM, Paid
from usance.world.behaviour_kernel import (
    BY_PAYMENT,
    EARLY_PPM,
    NOTICE,
    PREPAY,
    a_day,
    at_due,
    is_on_time,
    notice_of,
)
from usance.world.draw_kernel import chance

NOT_CALM, PAYS, SETTLES, PAYS_LAST = range(4)
"""What a loan does, if it is told here; from `SETTLES` on it is closed."""


@kernel(inline=True)
def is_even(plan: Plan, states: I64, row: int, nth: int) -> bool:
    """Whether just the instalments before the month's own are paid, and nothing else is open."""
    covered = (
        states[row, COVERED] + states[row, COVERED + 1] + states[row, COVERED + 2]
        + states[row, COVERED + 3]
    )  # fmt: skip
    return (
        states[row, META] == IS_DISBURSED + nth
        and 0 <= nth < plan[COUNT]
        and states[row, PENALTY_OPEN] == 0
        and covered
        == plan[P]
        - states[row, BALANCE]
        + states[row, INTEREST_BEFORE]
        + (states[row, FEES] & LOW_32)
    )


@kernel(inline=True)
def pay_instalment(
    plan: Plan, states: I64, row: int, nth: int, principal: int, interest: int, fee: int
) -> None:
    """The state after exactly the open instalment was paid on its day."""
    fees, fees_met = states[row, FEES] >> 32, (states[row, FEES] & LOW_32) + fee
    guarantee = guaranteed(plan, fees_met, fees)
    states[row, COVERED] += principal
    states[row, COVERED + 1] += interest
    states[row, COVERED + 2] = guarantee
    states[row, COVERED + 3] = fees_met - guarantee
    if nth + 1 == plan[COUNT]:
        states[row, META] |= IS_SETTLED
        return
    states[row, META] += 1
    states[row, BALANCE] -= principal
    states[row, INTEREST_BEFORE] = states[row, COVERED + 1]
    states[row, FEES] = (fees << 32) | fees_met


@kernel(inline=True)
def settle(plan: Plan, states: I64, row: int, interest: int, fee: int) -> None:
    """The state after all principal was paid, with interest and fees so far; the cursor stays."""
    states[row, META] |= IS_SETTLED
    states[row, COVERED] = plan[P]
    states[row, COVERED + 1] += interest
    if fee > 0:
        fees_met = (states[row, FEES] & LOW_32) + fee
        guarantee = guaranteed(plan, fees_met, states[row, FEES] >> 32)
        states[row, COVERED + 2], states[row, COVERED + 3] = guarantee, fees_met - guarantee


@kernel(inline=True)
def calm_loan(
    plan: Plan, states: I64, row: int, loan: int, hazard: int, month: int, first: int, begun: U64,
    paying: np.uint64, notice: np.uint64, knobs: I64, paid: Paid,
) -> tuple[int, int, int, int]:  # fmt: skip
    """What an even loan does, on which day, the principal of its due, and what came back early.

    `paying` and `notice` are the draws of its due and of the payment's notice. The state is taken
    on and the payment written in the loan's place; `NOT_CALM` leaves both as they were.
    """
    nth = month - plan[MONTH]
    nothing = NOT_CALM, i64(0), i64(0), i64(0)
    if hazard < 0 or not is_even(plan, states, row, nth):
        return nothing
    own, u = knobs[2], chance(paying)
    is_early = u < own[PREPAY]
    at_its_due = at_due(hazard, nth, plan[COUNT], own[EARLY_PPM])
    if chance(notice) < own[NOTICE] or not (is_early or is_on_time(u, at_its_due, own)):
        return nothing
    balance, day = states[row, BALANCE], due_day(plan, nth)
    arg, _ = notice_of(notice, day, own)
    principal, interest, fee = instalment(plan, nth, balance, states[row, LEVEL_MINOR])
    amount, is_last = principal + interest + fee, nth + 1 == plan[COUNT]
    if amount <= 0:  # the open instalment is a later one
        return nothing
    if is_early:
        settles = a_day(begun, BY_PAYMENT, loan, month * 256 + 2, first, day)
        if balance == 0:
            return nothing
        if settles < day:  # before anything of the instalment is due
            interest = accrued_share(interest, settles, period_start(plan, nth), day)
            principal, fee = i64(0), i64(0)
        amount = balance + interest + fee
        paid[0][row], paid[1][row], paid[2][row], paid[3][row] = CALM, settles, amount, arg
        settle(plan, states, row, interest, fee)
        return SETTLES, settles, principal, balance - principal
    if (amount >= balance) != is_last:
        return nothing
    paid[0][row], paid[1][row], paid[2][row], paid[3][row] = CALM, day, amount, arg
    pay_instalment(plan, states, row, nth, principal, interest, fee)
    return PAYS_LAST if is_last else PAYS, day, principal, i64(0)
