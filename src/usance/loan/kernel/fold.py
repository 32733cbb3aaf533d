"""Facts in their order, day by day: the loop that nearly all the kernel's time is spent in.

Ordinary payments are met here with the state in local variables; every other fact goes through
`apply_fact` on the state itself. Places are unsigned where arrays are read: Python would count a
negative one from the end, which takes a comparison each.
"""

from __future__ import annotations

from usance.base.arrays import I64, i64, u64
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.base.refusals import pack_refusal
from usance.loan.bounds import MAX_KERNEL_FACTS
from usance.loan.kernel.arrays import FactArrays, Plan, State
from usance.loan.kernel.facts import apply_fact, can_disburse
from usance.loan.kernel.plan import due_day, guaranteed, instalment
from usance.loan.kernel.refusals import BACKDATED, DOES_NOT_SETTLE, OK, OUT_OF_ORDER, OUT_OF_RANGE
from usance.loan.kernel.state import (
    BALANCE,
    COVERED,
    FEES,
    INTEREST_BEFORE,
    IS_DISBURSED,
    IS_RECOVERY,
    IS_SETTLED,
    LEVEL_MINOR,
    LOW_32,
    META,
    PAID_MASK,
    PENALTY_OPEN,
    PENALTY_PAID,
)

_PAID, _DISBURSED = int(FactKind.PAID), int(FactKind.DISBURSED)
BEFORE_FIRST_FACT = -(2**31)
"""A day before any fact: nothing is backdated."""

_MODE = IS_DISBURSED | IS_RECOVERY | IS_SETTLED


@kernel(inline=True)
def fees_covered(plan: Plan, fees_met: int, fees: int, c2: int, c3: int) -> tuple[int, int]:
    """Guarantee and service fee in fees met by whole instalments; -1: as they were."""
    if fees_met < 0:
        return c2, c3
    guarantee = guaranteed(plan, fees_met, fees)
    return guarantee, fees_met - guarantee


@kernel(inline=True)
def pay_instalments(
    plan: Plan, state: State, facts: FactArrays, at: int, last: int, until: int, short: int
) -> int:
    """Meet payments from position `at` on while they are ordinary; where it stopped.

    A payment of less than the open principal cannot settle the loan; one of more can, unless it
    is the one at `short`, of which that is known.

    A loan is even when just the instalments before the open one are covered; no component is ever
    covered less than that, so the sums decide. A payment of exactly the open instalment leaves it
    even, and what of the fees is the guarantor's is looked up once for all of them, at the end. The
    last instalment settles the loan from its due day on; the cursor then stays where it is.
    """
    days, kinds, amounts = facts.day, facts.kind, facts.amount
    meta = state[META]
    if meta & _MODE != IS_DISBURSED:
        return at
    begun, k, level = at, meta & PAID_MASK, state[LEVEL_MINOR]
    balance, interest_before = state[BALANCE], state[INTEREST_BEFORE]
    fees, fees_before = state[FEES] >> 32, state[FEES] & LOW_32
    c0, c1, c2, c3 = state[COVERED], state[COVERED + 1], state[COVERED + 2], state[COVERED + 3]
    penalty, fees_met, settles = state[PENALTY_OPEN], i64(-1), i64(0)
    even = (
        penalty == 0
        and c0 + c1 + c2 + c3 == plan.principal - balance + interest_before + fees_before
    )
    principal, interest, fee, stale = i64(0), i64(0), i64(0), True
    before = i64(days[u64(at)])
    while at < last and kinds[u64(at)] == _PAID:
        day, amount = i64(days[u64(at)]), amounts[u64(at)]
        if not before <= day <= until or amount <= 0:
            break
        before = day
        if stale:
            principal, interest, fee = instalment(plan, k, balance, level)
            stale = False
        may_settle = amount >= balance
        if (
            even
            and amount == principal + interest + fee
            and (not may_settle or (k + 1 == plan.instalments and due_day(plan, k) <= day))
        ):
            at += 1
            c0, c1, fees_met = c0 + principal, c1 + interest, fees_before + fee
            if may_settle:
                settles = i64(IS_SETTLED)
                break
            balance -= principal
            interest_before, fees_before = c1, fees_met
            k += 1
            stale = True
            continue
        if amount >= plan.principal - c0 and at != short:
            break
        c2, c3 = fees_covered(plan, fees_met, fees, c2, c3)
        fees_met = i64(-1)
        while amount > 0 and k < plan.instalments:
            if stale:
                principal, interest, fee = instalment(plan, k, balance, level)
                stale = False
            if penalty > 0 and due_day(plan, k) > day:
                taken = min(amount, penalty)
                penalty -= taken
                amount -= taken
                state[PENALTY_PAID] += taken
            t1, t23 = interest_before + interest, fees_before + fee
            t2 = guaranteed(plan, t23, fees)
            l0, l1 = max(0, plan.principal - balance + principal - c0), max(0, t1 - c1)
            l2, l3 = max(0, t2 - c2), max(0, t23 - t2 - c3)
            left = l0 + l1 + l2 + l3
            if amount >= left:
                amount -= left
                c0, c1, c2, c3 = c0 + l0, c1 + l1, c2 + l2, c3 + l3
                balance -= principal
                interest_before, fees_before = t1, t23
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
        asked = plan.principal - balance + interest_before + fees_before
        even = penalty == 0 and c0 + c1 + c2 + c3 == asked
        at += 1
    if at > begun:
        c2, c3 = fees_covered(plan, fees_met, fees, c2, c3)
        state[META] = (meta & ~PAID_MASK) | k | settles
        state[BALANCE], state[INTEREST_BEFORE] = balance, interest_before
        state[FEES] = (fees << 32) | fees_before
        state[COVERED], state[COVERED + 1], state[COVERED + 2], state[COVERED + 3] = c0, c1, c2, c3
        state[PENALTY_OPEN] = penalty
    return at


@kernel(inline=True)
def fold_facts(
    plan: Plan, state: State, work: I64, facts: FactArrays, first: int, last: int, after: int,
    until: int,
) -> int:  # fmt: skip
    """Apply the facts of one loan from `first` on that lie after one day and until another."""
    days, kinds, amounts, args = facts.day, facts.kind, facts.amount, facts.arg
    if last - first > MAX_KERNEL_FACTS:
        return OUT_OF_RANGE
    at, short = first, i64(-1)
    while at < last:
        day, kind = i64(days[u64(at)]), i64(kinds[u64(at)])
        if at > first:
            before = i64(days[u64(at - 1)])
            if day < before or (day == before and kind < kinds[u64(at - 1)]):
                return pack_refusal(OUT_OF_ORDER, at - first)
        if day > until:
            break
        if day <= after:
            return pack_refusal(BACKDATED, at - first)
        amount = amounts[u64(at)]
        stopped = at
        if kind == _PAID:
            stopped = pay_instalments(plan, state, facts, at, last, until, short)
        elif kind == _DISBURSED and can_disburse(plan, state, day, amount):
            state[META] |= IS_DISBURSED
            stopped += 1
        if stopped > at:
            at = stopped
            continue
        refusal = apply_fact(plan, state, work, day, kind, amount, args[u64(at)])
        if refusal == DOES_NOT_SETTLE:
            short = at
        elif refusal != OK:
            return pack_refusal(refusal, at - first)
        else:
            at += 1
    return OK
