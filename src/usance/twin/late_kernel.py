"""The month of a loan that was even with its plan and pays late, not at all, or is told of late.

One in twenty instalments is missed. Nothing was overdue before it, so what follows is known: at
most one fee, and the payment if it comes within the month. As with calm loans, whatever is not
quite like this is left to `serve_kernel` and `month_kernel`, and the same test takes it both ways.
"""

from __future__ import annotations

import numpy as np

from usance.base.codes import Fee, Kind, Model
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import I16, I64, Plan, i64
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
from usance.service.due_kernel import FEE_PPM, GRACE, NEVER, OFF_DAYS, REF
from usance.twin.calm_kernel import is_even, pay_instalment
from usance.twin.weave_kernel import Told, write_fact
from usance.world import behaviour_kernel as world
from usance.world.draw_kernel import Bits, chance

NOT_LATE = -1
_PAID, _FEE_CHARGED, _LATE_FEE = int(Kind.PAID), int(Kind.FEE_CHARGED), int(Fee.LATE_FEE)
_HEAVY, _OWN = int(Model.CAPITAL_HEAVY), int(Model.ON_BALANCE_SHEET)


@kernel(inline=True)
def first_claim(due: int, model: int, trigger: int, rules: I64) -> int:
    """The first day on which somebody's claim can follow from a due that is not paid."""
    off: int = due + rules[OFF_DAYS] + 1
    return min(off, due + trigger + 1) if model in (_HEAVY, _OWN) else off


@kernel(inline=True)
def late_loan(
    plan: Plan, states: I64, row: int, loan: int, model: int, trigger: int, hazard: int,
    month: int, last: int, begun: Bits, paying: np.uint64, notice: np.uint64, rules: I64,
    knobs: I64, days: I16, facts: Told, at: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """How many days late an even loan pays, its principal due, what is past due, and its facts.

    `NEVER` is not within the month. Facts are written from `at` on, the state is taken on;
    `NOT_LATE` leaves it as it was.
    """
    nth, own, level = month - plan[MONTH], knobs[2], states[row, LEVEL_MINOR]
    nothing = i64(NOT_LATE), i64(0), i64(0), 0
    if plan[AMORT] != LEVEL or level == 0 or not is_even(plan, states, row, nth):
        return nothing
    due, k = due_day(plan, nth), world.NEVER
    if hazard >= 0:
        at_its_due = world.at_due(hazard, nth, plan[COUNT], own[world.EARLY_PPM])
        k = world.lateness(begun, paying, loan, month, at_its_due, own, days)
    if k < 0 or first_claim(due, model, trigger, rules) <= last:
        return nothing
    pays, is_last = due + k <= last, nth + 1 == plan[COUNT]
    low, booked = i64(notice) & 0x7FF, due + k
    if chance(notice) < own[world.NOTICE]:
        booked += 1 + (low * own[world.NOTICE_DAYS] >> 11)
    balance, fee_on, fee = states[row, BALANCE], due + rules[GRACE] + 1, i64(0)
    principal, interest, fees = instalment(plan, nth, balance, level)
    amount = principal + interest + fees
    if fee_on <= min(due + k, last):
        fee = divide_half_up(amount * rules[FEE_PPM], 1_000_000)
    if amount <= 0 or (pays and (booked > last or (amount + fee >= balance) != is_last)):
        return nothing
    begin = at
    if fee > 0:
        at = write_fact(facts, at, loan, fee_on, _FEE_CHARGED, fee, _LATE_FEE,
                        REF + (_FEE_CHARGED << 16) + nth + 1, fee_on)  # fmt: skip
    if pays:
        provider = 1 + low % own[world.PROVIDERS]
        at = write_fact(
            facts, at, loan, due + k, _PAID, amount + fee, provider, month * 256, booked
        )
        pay_instalment(plan, states, row, nth, principal, interest, fees)
        states[row, PENALTY_PAID] += fee
        return k, principal, i64(0), at - begin
    states[row, PENALTY_OPEN] += fee
    return i64(NEVER), principal, amount + fee, at - begin
