"""Facts in their order, day by day: the loop that nearly all the kernel's time is spent in.

Ordinary payments, which do not settle the loan, are met here with the state in local variables;
every other fact goes through `apply_fact` on the state itself.
"""

from __future__ import annotations

from usance.base.codes import Kind
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import FactArrays, Plan, State, i64
from usance.loan.kernel.facts import apply_fact
from usance.loan.kernel.fold import (
    BALANCE,
    COVERED,
    FEES,
    INTEREST_BEFORE,
    IS_DISBURSED,
    IS_RECOVERY,
    IS_SETTLED,
    LEVEL_MINOR,
    LOW,
    META,
    PAID_MASK,
    PENALTY_OPEN,
    PENALTY_PAID,
)
from usance.loan.kernel.plan import COUNT, P, due_day, guaranteed, instalment
from usance.loan.kernel.refusals import BACKDATED, DOES_NOT_SETTLE, OK, OUT_OF_ORDER, OUT_OF_RANGE
from usance.loan.limits import MAX_KERNEL_FACTS

_PAID = int(Kind.PAID)
_MODE = IS_DISBURSED | IS_RECOVERY | IS_SETTLED


@kernel(inline=True)
def pay_while_ordinary(
    plan: Plan, state: State, facts: FactArrays, at: int, last: int, until: int, short: int
) -> int:
    """Meet payments from position `at` on while they are ordinary; where it stopped.

    A payment of less than the open principal cannot settle the loan; one of more can, unless it
    is the one at `short`, of which that is known.
    """
    _, days, kinds, amounts, _ = facts
    meta = state[META]
    if meta & _MODE != IS_DISBURSED:
        return at
    k = meta & PAID_MASK
    balance, level = state[BALANCE], state[LEVEL_MINOR]
    fees, fees_before = state[FEES] >> 32, state[FEES] & LOW
    interest_before = state[INTEREST_BEFORE]
    c0, c1, c2, c3 = state[COVERED], state[COVERED + 1], state[COVERED + 2], state[COVERED + 3]
    penalty = state[PENALTY_OPEN]
    principal = i64(0)
    t0, t1, t2, t3, fees_after = i64(0), i64(0), i64(0), i64(0), i64(0)
    before = i64(days[at])
    stale = True
    while at < last and kinds[at] == _PAID:
        day, amount = i64(days[at]), amounts[at]
        if not before <= day <= until or amount <= 0 or (amount >= plan[P] - c0 and at != short):
            break
        before = day
        while amount > 0 and k < plan[COUNT]:
            if stale:
                principal, interest, fee = instalment(plan, k, balance, level)
                t0, t1, fees_after = (
                    plan[P] - balance + principal,
                    interest_before + interest,
                    fees_before + fee,
                )
                t2 = guaranteed(plan, fees_after, fees)
                t3 = fees_after - t2
                stale = False
            if penalty > 0 and due_day(plan, k) > day:
                taken = min(amount, penalty)
                penalty -= taken
                amount -= taken
                state[PENALTY_PAID] += taken
            l0, l1, l2, l3 = max(0, t0 - c0), max(0, t1 - c1), max(0, t2 - c2), max(0, t3 - c3)
            left = l0 + l1 + l2 + l3
            if amount >= left:
                amount -= left
                c0, c1, c2, c3 = c0 + l0, c1 + l1, c2 + l2, c3 + l3
                balance -= principal
                interest_before, fees_before = t1, fees_after
                k += 1
                stale = True
            else:
                taken = min(amount, l1)
                c1 += taken
                amount -= taken
                taken = min(amount, l0)
                c0 += taken
                amount -= taken
                taken = min(amount, l2)
                c2 += taken
                c3 += amount - taken
                amount = i64(0)
        penalty -= amount  # what is left when every instalment is paid and penalties are not
        state[PENALTY_PAID] += amount
        at += 1
    state[META] = (meta & ~PAID_MASK) | k
    state[BALANCE], state[INTEREST_BEFORE] = balance, interest_before
    state[FEES] = (fees << 32) | fees_before
    state[COVERED], state[COVERED + 1], state[COVERED + 2], state[COVERED + 3] = c0, c1, c2, c3
    state[PENALTY_OPEN] = penalty
    return at


@kernel(inline=True)
def fold_facts(
    plan: Plan, state: State, facts: FactArrays, first: int, last: int, after: int, until: int
) -> int:
    """Apply the facts of one loan from `first` on that lie after one day and until another."""
    _, days, kinds, amounts, args = facts
    if last - first > MAX_KERNEL_FACTS:
        return OUT_OF_RANGE
    at, short = first, i64(-1)
    while at < last:
        day, kind = i64(days[at]), i64(kinds[at])
        if at > first and (day < days[at - 1] or (day == days[at - 1] and kind < kinds[at - 1])):
            return OUT_OF_ORDER + 16 * (at - first)
        if day > until:
            break
        if day <= after:
            return BACKDATED + 16 * (at - first)
        stopped = pay_while_ordinary(plan, state, facts, at, last, until, short)
        if stopped > at:
            at = stopped
            continue
        refusal = apply_fact(plan, state, day, kind, amounts[at], args[at])
        if refusal == DOES_NOT_SETTLE:
            short = at
        elif refusal != OK:
            return refusal + 16 * (at - first)
        else:
            at += 1
    return OK
