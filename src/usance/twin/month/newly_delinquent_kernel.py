"""The month of a loan that was even with its plan and pays late, not at all, or is told of late.

Nothing was overdue before the instalment that is missed, so what follows is known: at most one
fee, and the payment if it comes within the month. As with calm loans, whatever is not quite like
this is left to `serve_kernel` and `month_kernel`, and the same test takes it both ways.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I16, I64, U64, i64
from usance.base.codes import FactKind, Fee
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Plan
from usance.loan.kernel.fold import BALANCE, LEVEL_MINOR, PENALTY_OPEN, PENALTY_PAID
from usance.loan.kernel.plan import (
    AMORT,
    COUNT,
    LEVEL,
    MONTH,
    divide_half_up,
    due_day,
    instalment,
)
from usance.service.servicing_kernel import FEE_PPM, GRACE, claim_days, fee_ref
from usance.twin.month.merge_facts_kernel import Told, write_fact
from usance.twin.month.on_schedule_kernel import is_even, pay_instalment
from usance.world import behaviour_kernel as world

NOT_LATE = -1
_PAID, _FEE_CHARGED, _LATE_FEE = int(FactKind.PAID), int(FactKind.FEE_CHARGED), int(Fee.LATE_FEE)


@kernel(inline=True)
def late_loan(
    plan: Plan, states: I64, row: int, loan: int, model: int, trigger: int, hazard: int,
    month: int, last: int, begun: U64, paying: np.uint64, notice: np.uint64, rules: I64,
    knobs: I64, days: I16, facts: Told, at: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """How many days late an even loan pays, its principal due, what is past due, and its facts.

    `NEVER` is any day after the month. Facts are written from `at` on, the state is taken on;
    `NOT_LATE` leaves it as it was.
    """
    nth, own, level = month - plan[MONTH], knobs[2], states[row, LEVEL_MINOR]
    nothing = i64(NOT_LATE), i64(0), i64(0), 0
    # Of level instalments none is nil: elsewhere the fold skips a nil one that comes next.
    if plan[AMORT] != LEVEL or level == 0 or not is_even(plan, states, row, nth):
        return nothing
    due, k = due_day(plan, nth), i64(world.NEVER)
    if hazard >= 0:
        at_its_due = world.at_due(hazard, nth, plan[COUNT], own[world.EARLY_PPM])
        k = world.lateness(begun, paying, loan, month, at_its_due, own, days)
    claim, off = claim_days(due, model, trigger, rules)
    if k < 0 or min(claim, off) <= last:
        return nothing
    pays, is_last = due + k <= last, nth + 1 == plan[COUNT]
    provider, booked = world.notice_of(notice, due + k, own)
    balance, fee_on, fee = states[row, BALANCE], due + rules[GRACE] + 1, i64(0)
    principal, interest, fees = instalment(plan, nth, balance, level)
    amount = principal + interest + fees
    if fee_on <= min(due + k, last):
        fee = divide_half_up(amount * rules[FEE_PPM], 1_000_000)
    if amount <= 0 or (pays and (booked > last or (amount + fee >= balance) != is_last)):
        return nothing
    begin = at
    if fee > 0:
        at = write_fact(facts, at, loan, fee_on, _FEE_CHARGED, fee, _LATE_FEE, fee_ref(nth), fee_on)
    if pays:
        at = write_fact(
            facts, at, loan, due + k, _PAID, amount + fee, provider, month * 256, booked
        )
        pay_instalment(plan, states, row, nth, principal, interest, fees)
        states[row, PENALTY_PAID] += fee
        return k, principal, i64(0), at - begin
    states[row, PENALTY_OPEN] += fee
    return i64(world.NEVER), principal, amount + fee, at - begin
