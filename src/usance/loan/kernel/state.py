"""The fold: a loan's state is eighteen integers, and a fact takes one state to the next.

The amounts covered per component and the open instalment determine every instalment's coverage,
because each component is always paid oldest first. A month of new facts is added to a state without
reading the past; nothing is rounded at a checkpoint.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64, i64
from usance.base.compiled import kernel
from usance.loan.bounds import MAX_KERNEL_INSTALMENTS
from usance.loan.kernel.arrays import Plan, State
from usance.loan.kernel.level import level_minor
from usance.loan.kernel.plan import (
    LEVEL,
    divide_half_up,
    due_day,
    fees_exceed_range,
    fees_of,
    guaranteed,
    instalment,
    period_start,
)
from usance.loan.kernel.refusals import DOES_NOT_SETTLE, GUARANTEE_TOO_LARGE, OK, OUT_OF_RANGE

SLOTS = 18
META, BALANCE, LEVEL_MINOR, FEES, INTEREST_BEFORE = 0, 1, 2, 3, 4
COVERED = 5  # principal, interest, guarantee fee, service fee: cash and waivers
PENALTY_PAID, PENALTY_OPEN, OVERPAID = 9, 10, 11
COMPENSATED, CHARGED_OFF, RECOVERED = 12, 13, 14
WAIVED_PRINCIPAL, WAIVED_INTEREST, WAIVED_FEES = 15, 16, 17
"""META packs the open instalment (low 16 bits), flags, and penalties waived (from bit 24); FEES
the plan's total fees (high 32 bits) and those before the open instalment; WAIVED_FEES guarantee
(high) and service fees (low)."""

PAID_MASK = 0xFFFF
IS_DISBURSED, IS_SETTLED, IS_RECOVERY, IS_CHARGED_OFF, IS_BOUGHT_OUT = (
    1 << b for b in range(16, 21)
)
WAIVED_PENALTY_SHIFT = 24
MAX_WAIVED_PENALTY_MINOR = 2**38
LOW_32 = 0xFFFFFFFF


def empty_state() -> State:
    """Memory for one state."""
    return np.empty(SLOTS, np.int64)


def workspace() -> I64:
    """Memory for one cumulative schedule by component; each thread needs its own."""
    return np.empty(4 * (MAX_KERNEL_INSTALMENTS + 1), np.int64)


@kernel(inline=True)
def initialise(plan: Plan, state: State) -> int:
    """The state of a loan that has terms and no facts yet."""
    for slot in range(SLOTS):
        state[slot] = 0
    state[BALANCE] = plan.principal
    if plan.amortisation == LEVEL:
        state[LEVEL_MINOR] = level_minor(plan.principal, plan.rate_ppm, plan.instalments)
    if fees_exceed_range(plan, state[LEVEL_MINOR]):
        return OUT_OF_RANGE
    if plan.guarantee_fee > 0:
        fees = fees_of(plan, state[LEVEL_MINOR])
        if plan.guarantee_fee > fees:
            return GUARANTEE_TOO_LARGE
        state[FEES] = fees << 32
    return OK


@kernel(inline=True)
def accrued_share(interest: int, day: int, begun: int, due: int) -> int:
    """The interest of a running period accrued by a day."""
    return divide_half_up(interest * (day - begun), due - begun)


@kernel(inline=True)
def due_to_date(plan: Plan, state: State, day: int) -> tuple[int, int, int, int, int]:
    """Amounts due by a day, by component, and the next k.

    Of a settled loan, what was covered: nothing more falls due.
    """
    if state[META] & IS_SETTLED:
        return (
            state[COVERED],
            state[COVERED + 1],
            state[COVERED + 2],
            state[COVERED + 3],
            plan.instalments,
        )
    k = state[META] & PAID_MASK
    balance, interest_before = state[BALANCE], state[INTEREST_BEFORE]
    fees, fees_before = state[FEES] >> 32, state[FEES] & LOW_32
    if k > 0 and due_day(plan, k - 1) > day:  # paid in advance: count from the beginning
        k, balance, interest_before, fees_before = i64(0), plan.principal, i64(0), i64(0)
    while k < plan.instalments and due_day(plan, k) <= day:
        principal, interest, fee = instalment(plan, k, balance, state[LEVEL_MINOR])
        balance -= principal
        interest_before += interest
        fees_before += fee
        k += 1
    guarantee = guaranteed(plan, fees_before, fees)
    return plan.principal - balance, interest_before, guarantee, fees_before - guarantee, k


@kernel
def due_and_accrued(plan: Plan, state: State, day: int) -> tuple[int, int, int, int, int, int]:
    """Amounts due by a day, by component, the interest accrued since, and the next k."""
    fallen, interest, guarantee, service, k = due_to_date(plan, state, day)
    accrued = i64(0)
    if k < plan.instalments:
        running = instalment(plan, k, plan.principal - fallen, state[LEVEL_MINOR])[1]
        accrued = accrued_share(running, day, period_start(plan, k), due_day(plan, k))
    return fallen, interest, guarantee, service, accrued, k


@kernel
def settlement(plan: Plan, state: State, day: int) -> int:
    """The amount that settles the loan on a day."""
    _, interest, guarantee, service, accrued, _ = due_and_accrued(plan, state, day)
    return (
        (0 if state[META] & IS_SETTLED else plan.principal - state[COVERED])
        + max(0, interest + accrued - state[COVERED + 1])
        + max(0, guarantee - state[COVERED + 2])
        + max(0, service - state[COVERED + 3])
        + state[PENALTY_OPEN]
    )


@kernel
def cover_slot(state: State, slot: int, wanted: int, amount: int) -> int:
    """Cover a slot up to an amount; the money left over."""
    taken = min(amount, max(0, wanted))
    state[slot] += taken
    return amount - taken


@kernel
def pay_penalties(state: State, amount: int) -> None:
    """Pay penalties; the rest of the money is over-payment."""
    left = cover_slot(state, PENALTY_PAID, state[PENALTY_OPEN], amount)
    state[PENALTY_OPEN] -= amount - left
    state[OVERPAID] += left


@kernel
def receive_settlement(plan: Plan, state: State, day: int, amount: int, recovered: bool) -> int:
    """Receive money that settles the loan, or comes when it is settled or in recovery.

    Anything else is `DOES_NOT_SETTLE`, and goes through the instalments in their order.
    """
    meta = state[META]
    if meta & IS_SETTLED:
        pay_penalties(state, amount)
        return OK
    _, interest, guarantee, service, accrued, _ = due_and_accrued(plan, state, day)
    principal = plan.principal - state[COVERED]
    interest = max(0, interest + accrued - state[COVERED + 1])
    guarantee = max(0, guarantee - state[COVERED + 2])
    service = max(0, service - state[COVERED + 3])
    if amount >= principal + interest + guarantee + service + state[PENALTY_OPEN]:
        state[META] |= IS_SETTLED
    elif not recovered and not meta & IS_RECOVERY:
        return DOES_NOT_SETTLE
    amount = cover_slot(state, COVERED, principal, amount)
    amount = cover_slot(state, COVERED + 1, interest, amount)
    amount = cover_slot(state, COVERED + 2, guarantee, amount)
    amount = cover_slot(state, COVERED + 3, service, amount)
    pay_penalties(state, amount)
    return OK


@kernel
def close_if_settled(plan: Plan, state: State, day: int) -> None:
    """Mark a loan whose settlement is nil as settled: its plan ends with what was covered."""
    if state[COVERED] == plan.principal and settlement(plan, state, day) == 0:
        state[META] |= IS_SETTLED
