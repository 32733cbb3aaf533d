"""The loops over a column of loans of own products: schedule, replay, start, step, view.

Each works on rows `start … stop` of its arrays, so threads share a batch without sharing a row.
A refused loan is counted in `refused` (how many, the first row, its packed refusal), and the loop
goes on. Outputs are given, so that a caller can use the same memory again.
"""

from __future__ import annotations

from usance.base.arrays import I64, i64, u64
from usance.base.compiled import kernel
from usance.loan.kernel.any_order import fill_instalments
from usance.loan.kernel.any_order_facts import fold_by_order, view_by_order
from usance.loan.kernel.arrays import (
    AsOf,
    FactArrays,
    InstalmentColumns,
    Order,
    Plan,
    ScheduleColumns,
    State,
    StateArrays,
    TermArrays,
)
from usance.loan.kernel.facts import fill_cumulative_dues
from usance.loan.kernel.fold import BEFORE_FIRST_FACT, fold_facts
from usance.loan.kernel.plan import due_day, guaranteed, instalment, plan_of
from usance.loan.kernel.refusals import OK
from usance.loan.kernel.state import (
    COVERED,
    FEES,
    IS_DISBURSED,
    IS_SETTLED,
    LEVEL_MINOR,
    META,
    SLOTS,
    initialise,
)
from usance.loan.kernel.view import view


@kernel(inline=True)
def plan_at(terms: TermArrays, row: int) -> Plan:
    """The plan of one loan of a column; codes 1–3 are monthly, 4–6 daily, by amortisation."""
    at = u64(row)
    code = u64(terms.convention[at] - 1)
    return plan_of(
        terms.principal[at], terms.rate_ppm[at], terms.coupon_ppm[at], terms.instalments[at],
        terms.disbursed_day[at], terms.first_due_day[at], terms.flat_fee[at],
        terms.guarantee_fee[at], code % u64(3), code // u64(3),
    )  # fmt: skip


@kernel(inline=True)
def record_refusal(refused: I64, row: int, refusal: int) -> bool:
    """True if a loan is refused; records the first refusal and the count."""
    if refusal == OK:
        return False
    if refused[0] == 0:
        refused[1], refused[2] = row, refusal
    refused[0] += 1
    return True


@kernel
def schedule_rows(
    start: int, stop: int, state: State, terms: TermArrays, out: ScheduleColumns, refused: I64
) -> None:
    """Due day and amounts of every instalment; fees are left out if their columns are empty."""
    with_fees = len(out.guarantee_fee) > 0
    for row in range(start, stop):
        plan = plan_at(terms, row)
        if record_refusal(refused, row, initialise(plan, state)):
            continue
        balance, level, fees = plan.principal, state[LEVEL_MINOR], state[FEES] >> 32
        at, fees_before, guarantee_before = out.offsets[row], i64(0), i64(0)
        for k in range(plan.instalments):
            principal, interest, fee = instalment(plan, k, balance, level)
            out.due_on[at + k] = due_day(plan, k)
            out.principal[at + k] = principal
            out.interest[at + k] = interest
            balance -= principal
            if with_fees:
                fees_before += fee
                guarantee = guaranteed(plan, fees_before, fees)
                out.guarantee_fee[at + k] = guarantee - guarantee_before
                out.service_fee[at + k] = fee - guarantee + guarantee_before
                guarantee_before = guarantee


@kernel
def replay_rows(
    start: int, stop: int, state: State, work: I64, terms: TermArrays, facts: FactArrays,
    as_of: AsOf, out: I64, refused: I64,
) -> None:  # fmt: skip
    """A view of each loan from its terms and all its facts; no state is kept."""
    for row in range(start, stop):
        plan, day = plan_at(terms, row), i64(as_of.days[row * as_of.stride])
        if record_refusal(refused, row, initialise(plan, state)):
            continue
        first, last = facts.offsets[u64(row)], facts.offsets[u64(row + 1)]
        refusal = fold_facts(plan, state, work, facts, first, last, BEFORE_FIRST_FACT, day)
        if not record_refusal(refused, row, refusal):
            view(plan, state, day, out, row)


@kernel
def start_rows(start: int, stop: int, terms: TermArrays, states: I64, refused: I64) -> None:
    """The state of each loan before any fact."""
    for row in range(start, stop):
        record_refusal(refused, row, initialise(plan_at(terms, row), states[row]))


@kernel
def step_rows(
    start: int, stop: int, work: I64, terms: TermArrays, facts: FactArrays, until: int,
    states: StateArrays, out: StateArrays, refused: I64,
) -> None:  # fmt: skip
    """Each state stepped to a later day; the old ones stay as they are."""
    for row in range(start, stop):
        old, state, after = states.values[row], out.values[row], i64(states.through[u64(row)])
        for slot in range(SLOTS):
            state[slot] = old[slot]
        first, last = facts.offsets[u64(row)], facts.offsets[u64(row + 1)]
        if first < last:
            plan = plan_at(terms, row)
            refusal = fold_facts(plan, state, work, facts, first, last, after, until)
            record_refusal(refused, row, refusal)
        out.through[u64(row)] = max(after, until)


@kernel
def view_rows(start: int, stop: int, terms: TermArrays, states: I64, as_of: AsOf, out: I64) -> None:
    """A view of each state."""
    for row in range(start, stop):
        day = i64(as_of.days[row * as_of.stride])
        view(plan_at(terms, row), states[row], day, out, row)


@kernel
def replay_rows_by_order(
    start: int, stop: int, state: State, work: I64, terms: TermArrays, order: Order,
    facts: FactArrays, as_of: AsOf, out: I64, refused: I64,
) -> None:  # fmt: skip
    """As `replay_rows`, for any allocation order."""
    for row in range(start, stop):
        plan, until = plan_at(terms, row), i64(as_of.days[row * as_of.stride])
        if record_refusal(refused, row, initialise(plan, state)):
            continue
        fill_instalments(plan, state[LEVEL_MINOR], state[FEES] >> 32, work)
        first, last = facts.offsets[row], facts.offsets[row + 1]
        refusal = fold_by_order(plan, work, order, facts, first, last, until)
        if not record_refusal(refused, row, refusal):
            view_by_order(plan, work, until, out, row)


@kernel
def instalment_rows(
    start: int, stop: int, work: I64, terms: TermArrays, states: I64, out: InstalmentColumns
) -> None:
    """Due day, amount due and amount covered of every instalment, by component."""
    for row in range(start, stop):
        plan, state = plan_at(terms, row), states[row]
        fill_cumulative_dues(plan, state, work)
        for k in range(plan.instalments):
            at = out.offsets[row] + k
            out.due_on[at] = due_day(plan, k)
            for c in range(4):
                before, after = work[4 * k + c], work[4 * k + 4 + c]
                covered = min(after - before, max(0, state[COVERED + c] - before))
                out.due[at, c] = covered if state[META] & IS_SETTLED else after - before
                out.covered[at, c] = covered
            if not state[META] & IS_DISBURSED:
                for c in range(4):
                    out.due[at, c] = 0
