"""Any allocation order: the same facts on per-instalment rows instead of cumulative amounts.

Under another order than the platform's a component need not be paid oldest first, so coverage is
kept per instalment, in the workspace of one thread. Such a loan is replayed from its start.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import i64, u64
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Order, Plan, State
from usance.loan.kernel.plan import (
    divide_half_up,
    due_day,
    guaranteed,
    instalment,
)
from usance.loan.kernel.state import (
    IS_SETTLED,
    META,
    OVERPAID,
    PENALTY_OPEN,
    PENALTY_PAID,
)

BUCKETS, PENALTY_BUCKET = 13, 12
BY_INSTALMENT, COMING = 13, 14  # behind the buckets of an order, see `arrays`

# The head of the workspace: as in the fold where named there, else totals over the instalments.
COVERED_SUM, WAIVED, WAIVED_PENALTY, FIRST_OPEN = 1, 5, 15, 16
# Then a row per instalment: due day, amounts due and amounts covered by component.
ROWS, WIDTH, DUE, COVERED = 18, 9, 1, 5


def order_workspace(size: int) -> State:
    """Workspace for one loan of up to `size` instalments; each thread needs its own."""
    return np.empty(ROWS + WIDTH * size, np.int64)


@kernel(inline=True)
def fill_instalments(plan: Plan, level: int, fees: int, work: State) -> None:
    """Fill the workspace with the planned instalments, nothing covered."""
    for slot in range(ROWS):
        work[slot] = 0
    balance, fees_before, before = plan.principal, i64(0), i64(0)
    for k in range(plan.instalments):
        principal, interest, fee = instalment(plan, k, balance, level)
        fees_before += fee
        after = guaranteed(plan, fees_before, fees)
        row = ROWS + WIDTH * k
        work[u64(row)] = due_day(plan, k)
        work[u64(row + DUE)] = principal
        work[u64(row + DUE + 1)] = interest
        work[u64(row + DUE + 2)] = after - before
        work[u64(row + DUE + 3)] = fee - after + before
        for c in range(4):
            work[u64(row + COVERED + c)] = 0
        balance -= principal
        before = after


@kernel(inline=True)
def cover(work: State, k: int, c: int, amount: int) -> int:
    """Cover a component of an instalment as far as the money goes; the amount used."""
    row = ROWS + WIDTH * k + c
    taken = min(amount, work[u64(row + DUE)] - work[u64(row + COVERED)])
    work[u64(row + COVERED)] += taken
    work[u64(COVERED_SUM + c)] += taken
    return taken


@kernel
def cover_oldest_first(plan: Plan, work: State, c: int, amount: int) -> None:
    """Cover a component, oldest instalment first."""
    for k in range(work[FIRST_OPEN], plan.instalments):
        if amount == 0:
            return
        amount -= cover(work, k, c, amount)


@kernel(inline=True)
def settled_amounts(plan: Plan, work: State, day: int) -> tuple[int, int, int, int]:
    """Cumulative amounts that settle each component: fallen due, and interest accrued since."""
    if work[META] & IS_SETTLED:
        return (
            work[COVERED_SUM],
            work[COVERED_SUM + 1],
            work[COVERED_SUM + 2],
            work[COVERED_SUM + 3],
        )
    interest, guarantee, service, begun = i64(0), i64(0), i64(0), plan.disbursed_day
    for k in range(plan.instalments):
        row = ROWS + WIDTH * k
        asked, due = work[u64(row + DUE + 1)], work[u64(row)]
        if due > day:
            interest += divide_half_up(asked * (day - begun), due - begun)
            break
        interest += asked
        guarantee += work[u64(row + DUE + 2)]
        service += work[u64(row + DUE + 3)]
        begun = due
    return plan.principal, interest, guarantee, service


@kernel(inline=True)
def payoff_by_component(plan: Plan, work: State, day: int) -> tuple[int, int, int, int]:
    """The amounts still needed to settle the loan, by component."""
    principal, interest, guarantee, service = settled_amounts(plan, work, day)
    return (
        principal - work[COVERED_SUM],
        max(0, interest - work[COVERED_SUM + 1]),
        max(0, guarantee - work[COVERED_SUM + 2]),
        max(0, service - work[COVERED_SUM + 3]),
    )


@kernel
def payoff(plan: Plan, work: State, day: int) -> int:
    """The amount that settles the loan on a day."""
    principal, interest, guarantee, service = payoff_by_component(plan, work, day)
    return principal + interest + guarantee + service + work[PENALTY_OPEN]


@kernel
def close_if_paid_off(plan: Plan, work: State, day: int) -> None:
    """Mark a loan whose payoff is nil as settled."""
    if work[COVERED_SUM] == plan.principal and payoff(plan, work, day) == 0:
        work[META] |= IS_SETTLED


@kernel
def settle_or_recover(plan: Plan, work: State, day: int, amount: int, recovery: bool) -> bool:
    """Principal, then interest and fees up to what settles, then penalties.

    False, and nothing done, if the money does not settle and is not in recovery.
    """
    wanted = payoff_by_component(plan, work, day)
    total = wanted[0] + wanted[1] + wanted[2] + wanted[3] + work[PENALTY_OPEN]
    if amount < total and not recovery:
        return False
    if amount >= total:
        work[META] |= IS_SETTLED
    for c in range(4):
        taken = min(amount, wanted[c])
        cover_oldest_first(plan, work, c, taken)
        amount -= taken
    amount -= pay_penalties(work, amount)
    work[OVERPAID] += amount
    return True


@kernel(inline=True)
def pay_penalties(work: State, amount: int) -> int:
    """Pay penalties as far as the money goes; the amount used."""
    taken = min(amount, work[PENALTY_OPEN])
    work[PENALTY_OPEN] -= taken
    work[PENALTY_PAID] += taken
    return taken


@kernel(inline=True)
def uncovered(work: State, k: int) -> int:
    """The uncovered amount of an instalment."""
    row = ROWS + WIDTH * k
    left = i64(0)
    for c in range(4):
        left += work[u64(row + DUE + c)] - work[u64(row + COVERED + c)]
    return left


@kernel(inline=True)
def pay_all_due(work: State, order: Order, due: int, amount: int) -> int:
    """Pay all that comes before future instalments if the money suffices; the amount used, or -1.

    The order of claims decides nothing then.
    """
    if order[COMING] == 0:
        return i64(-1)
    total = work[PENALTY_OPEN] if order[COMING] > 8 else i64(0)  # the ninth are the penalties
    for k in range(work[FIRST_OPEN], due):
        total += uncovered(work, k)
    if amount < total:
        return i64(-1)
    for k in range(work[FIRST_OPEN], due):
        for c in range(4):
            cover(work, k, c, amount)
    if order[COMING] > 8:
        pay_penalties(work, amount)
    return total


@kernel(inline=True)
def pay_by_order(plan: Plan, work: State, order: Order, day: int, amount: int) -> None:
    """Allocate money to the buckets in their order."""
    count = plan.instalments
    while work[FIRST_OPEN] < count and uncovered(work, work[FIRST_OPEN]) == 0:
        work[FIRST_OPEN] += 1
    past = work[FIRST_OPEN]
    while past < count and work[u64(ROWS + WIDTH * past)] < day:
        past += 1
    due = past
    while due < count and work[u64(ROWS + WIDTH * due)] == day:
        due += 1
    at, paid = i64(0), pay_all_due(work, order, due, amount)
    if paid >= 0:
        at, amount = i64(order[COMING]), amount - paid
    while at < BUCKETS and amount > 0:
        if order[u64(at)] == PENALTY_BUCKET:
            amount -= pay_penalties(work, amount)
            at += 1
            continue
        when = order[u64(at)] >> 2
        end = at + 1
        while order[BY_INSTALMENT] == 1 and end < BUCKETS and order[u64(end)] >> 2 == when:
            end += 1
        first = work[FIRST_OPEN] if when == 0 else (past if when == 1 else due)
        last = past if when == 0 else (due if when == 1 else count)
        k = first
        while k < last and amount > 0:
            for bucket in range(at, end):
                amount -= cover(work, k, order[u64(bucket)] & 3, amount)
            k += 1
        at = end
