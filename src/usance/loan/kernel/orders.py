"""Any allocation order: the same facts on per-instalment rows instead of cumulative amounts.

Under an order other than ours a component need not be paid oldest first, so what is covered is
kept for every instalment, in the work space of one thread. Such a loan is replayed from its start.
"""

from __future__ import annotations

import numpy as np

from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Order, Plan, State, i64
from usance.loan.kernel.fold import (
    IS_SETTLED,
    META,
    OVERPAID,
    PENALTY_OPEN,
    PENALTY_PAID,
)
from usance.loan.kernel.plan import COUNT, DISBURSED, P, due_day, guaranteed, instalment

BUCKETS, PENALTY_BUCKET = 13, 12

# The head of the work space: as in the fold where named there, else totals over the instalments.
MET, WAIVED, WAIVED_PENALTY, OPEN = 1, 5, 15, 16
# Then a row per instalment: due day, what it asks and what is met of it by component.
ROWS, WIDTH, ASKED, COVERED = 18, 9, 1, 5


def order_row(size: int) -> State:
    """Work space for one loan of up to `size` instalments; each thread needs its own."""
    return np.empty(ROWS + WIDTH * size, np.int64)


@kernel
def lay_out(plan: Plan, level: int, fees: int, work: State) -> None:
    """The plan, row by row, and nothing met."""
    for slot in range(ROWS):
        work[slot] = 0
    balance, fees_before, before = plan[P], i64(0), i64(0)
    for k in range(plan[COUNT]):
        principal, interest, fee = instalment(plan, k, balance, level)
        fees_before += fee
        after = guaranteed(plan, fees_before, fees)
        row = ROWS + WIDTH * k
        work[row] = due_day(plan, k)
        work[row + ASKED] = principal
        work[row + ASKED + 1] = interest
        work[row + ASKED + 2] = after - before
        work[row + ASKED + 3] = fee - after + before
        for c in range(4):
            work[row + COVERED + c] = 0
        balance -= principal
        before = after


@kernel(inline=True)
def meet(work: State, k: int, c: int, amount: int) -> int:
    """Meet a component of an instalment as far as the money goes; what was taken."""
    row = ROWS + WIDTH * k + c
    taken = min(amount, work[row + ASKED] - work[row + COVERED])
    work[row + COVERED] += taken
    work[MET + c] += taken
    return taken


@kernel
def meet_oldest(plan: Plan, work: State, c: int, amount: int) -> None:
    """Meet a component of the oldest instalments first."""
    for k in range(work[OPEN], plan[COUNT]):
        if amount == 0:
            return
        amount -= meet(work, k, c, amount)


@kernel
def target(plan: Plan, work: State, day: int, c: int) -> int:
    """What settles a component: fallen due, and of interest also what has accrued since."""
    if work[META] & IS_SETTLED:
        return work[MET + c]
    if c == 0:
        return plan[P]
    total, begun = i64(0), plan[DISBURSED]
    for k in range(plan[COUNT]):
        row = ROWS + WIDTH * k
        asked, due = work[row + ASKED + c], work[row]
        if due > day:
            if c == 1:
                total += (2 * asked * (day - begun) + due - begun) // (2 * (due - begun))
            break
        total += asked
        begun = due
    return total


@kernel
def needs(plan: Plan, work: State, day: int) -> tuple[int, int, int, int]:
    """By component, what is still needed to settle."""
    return (
        target(plan, work, day, 0) - work[MET],
        max(0, target(plan, work, day, 1) - work[MET + 1]),
        max(0, target(plan, work, day, 2) - work[MET + 2]),
        max(0, target(plan, work, day, 3) - work[MET + 3]),
    )


@kernel
def quote(plan: Plan, work: State, day: int) -> int:
    """What closes the loan on a day."""
    principal, interest, guarantee, service = needs(plan, work, day)
    return principal + interest + guarantee + service + work[PENALTY_OPEN]


@kernel
def close_if_quoted_nil(plan: Plan, work: State, day: int) -> None:
    """A loan that nothing is needed to settle is settled."""
    if work[MET] == plan[P] and quote(plan, work, day) == 0:
        work[META] |= IS_SETTLED


@kernel
def settle_or_recover(plan: Plan, work: State, day: int, amount: int, recovery: bool) -> bool:
    """Principal, then interest and fees up to what settles, then penalties.

    False, and nothing done, if the money does not settle and is not in recovery.
    """
    wanted = needs(plan, work, day)
    total = wanted[0] + wanted[1] + wanted[2] + wanted[3] + work[PENALTY_OPEN]
    if amount < total and not recovery:
        return False
    if amount >= total:
        work[META] |= IS_SETTLED
    for c in range(4):
        taken = min(amount, wanted[c])
        meet_oldest(plan, work, c, taken)
        amount -= taken
    taken = min(amount, work[PENALTY_OPEN])
    work[PENALTY_OPEN] -= taken
    work[PENALTY_PAID] += taken
    work[OVERPAID] += amount - taken
    return True


@kernel(inline=True)
def is_met(work: State, k: int) -> bool:
    """Whether an instalment is wholly covered."""
    row = ROWS + WIDTH * k
    left = i64(0)
    for c in range(4):
        left += work[row + ASKED + c] - work[row + COVERED + c]
    return left == 0


@kernel
def pay_by_order(plan: Plan, work: State, order: Order, day: int, amount: int) -> None:
    """Money through the buckets in their order."""
    count = plan[COUNT]
    while work[OPEN] < count and is_met(work, work[OPEN]):
        work[OPEN] += 1
    past = work[OPEN]
    while past < count and work[ROWS + WIDTH * past] < day:
        past += 1
    due = past
    while due < count and work[ROWS + WIDTH * due] == day:
        due += 1
    at = 0
    while at < BUCKETS and amount > 0:
        if order[at] == PENALTY_BUCKET:
            taken = min(amount, work[PENALTY_OPEN])
            work[PENALTY_OPEN] -= taken
            work[PENALTY_PAID] += taken
            amount -= taken
            at += 1
            continue
        when = order[at] >> 2
        end = at + 1
        while order[BUCKETS] == 1 and end < BUCKETS and order[end] >> 2 == when:
            end += 1
        first = work[OPEN] if when == 0 else (past if when == 1 else due)
        last = past if when == 0 else (due if when == 1 else count)
        k = first
        while k < last and amount > 0:
            for bucket in range(at, end):
                amount -= meet(work, k, order[bucket] & 3, amount)
            k += 1
        at = end
