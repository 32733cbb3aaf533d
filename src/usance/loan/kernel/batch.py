"""The loops over a column of our own loans: schedule, replay, start, step, view.

Each works on rows `start … stop` of its arrays, so threads share a batch without sharing a row.
A refused loan is counted in `refused` (how many, the first row, its reason + 16 × the position of
the fact), and the loop goes on. Outputs are given, so that a caller can use the same memory again.
"""

from __future__ import annotations

from usance.base.compiled import kernel
from usance.loan.kernel.arrays import I32, I64, FactArrays, Order, Plan, TermArrays, i64
from usance.loan.kernel.days import fold_facts
from usance.loan.kernel.facts import scheduled
from usance.loan.kernel.fold import (
    COVERED,
    FEES,
    IS_DISBURSED,
    IS_SETTLED,
    LEVEL_MINOR,
    META,
    SLOTS,
    WORK,
    begin,
)
from usance.loan.kernel.order_facts import fold_by_order, view_by_order
from usance.loan.kernel.orders import lay_out
from usance.loan.kernel.plan import due_day, guaranteed, instalment, plan_of
from usance.loan.kernel.refusals import OK
from usance.loan.kernel.view import view

BEFORE_ALL = -(2**31)
"""A day before any fact: nothing is backdated."""


@kernel
def plan_at(terms: TermArrays, row: int) -> Plan:
    """The plan of one loan of a column; codes 1–3 are monthly, 4–6 daily, by amortisation."""
    code = terms[8][row] - 1
    return plan_of(
        terms[0][row], terms[1][row], terms[2][row], terms[3][row], terms[4][row], terms[5][row],
        terms[6][row], terms[7][row], code % 3, code // 3,
    )  # fmt: skip


@kernel(inline=True)
def note(refused: I64, row: int, refusal: int) -> bool:
    """Whether a loan was refused; the first one and how many are kept."""
    if refusal == OK:
        return False
    if refused[0] == 0:
        refused[1], refused[2] = row, refusal
    refused[0] += 1
    return True


@kernel
def schedule_rows(
    start: int, stop: int, state: I64, terms: TermArrays, offsets: I64, due: I32, principals: I64,
    interests: I64, guarantees: I64, services: I64, refused: I64,
) -> None:  # fmt: skip
    """Due day and parts of every instalment; fees are left out where their columns are empty."""
    with_fees = len(guarantees) > 0
    for row in range(start, stop):
        plan = plan_at(terms, row)
        if note(refused, row, begin(plan, state)):
            continue
        balance, level, fees = plan[0], state[LEVEL_MINOR], state[FEES] >> 32
        at, fees_before, guarantee_before = offsets[row], i64(0), i64(0)
        for k in range(plan[3]):
            principal, interest, fee = instalment(plan, k, balance, level)
            due[at + k] = due_day(plan, k)
            principals[at + k] = principal
            interests[at + k] = interest
            balance -= principal
            if with_fees:
                fees_before += fee
                guarantee = guaranteed(plan, fees_before, fees)
                guarantees[at + k] = guarantee - guarantee_before
                services[at + k] = fee - guarantee + guarantee_before
                guarantee_before = guarantee


@kernel
def replay_rows(
    start: int, stop: int, state: I64, terms: TermArrays, facts: FactArrays, as_of: I32,
    stride: int, out: I64, refused: I64,
) -> None:  # fmt: skip
    """A view of each loan from its terms and all its facts; no state is kept.

    `as_of` has one day for all (`stride` 0) or a day each (1).
    """
    offsets = facts[0]
    for row in range(start, stop):
        plan, day = plan_at(terms, row), i64(as_of[row * stride])
        if note(refused, row, begin(plan, state)):
            continue
        refusal = fold_facts(plan, state, facts, offsets[row], offsets[row + 1], BEFORE_ALL, day)
        if not note(refused, row, refusal):
            view(plan, state, day, out, row)


@kernel
def start_rows(
    start: int, stop: int, state: I64, terms: TermArrays, states: I64, refused: I64
) -> None:
    """The state of each loan before any fact."""
    for row in range(start, stop):
        note(refused, row, begin(plan_at(terms, row), state))
        for slot in range(SLOTS):
            states[row, slot] = state[slot]


@kernel
def step_rows(
    start: int, stop: int, state: I64, terms: TermArrays, states: I64, through: I32, until: int,
    facts: FactArrays, new_states: I64, new_through: I32, refused: I64,
) -> None:  # fmt: skip
    """Each state taken on to a later day; the old ones stay as they are."""
    offsets = facts[0]
    for row in range(start, stop):
        for slot in range(SLOTS):
            state[slot] = states[row, slot]
        first, last = offsets[row], offsets[row + 1]
        if first < last:
            plan = plan_at(terms, row)
            refusal = fold_facts(plan, state, facts, first, last, through[row], until)
            note(refused, row, refusal)
        for slot in range(SLOTS):
            new_states[row, slot] = state[slot]
        new_through[row] = max(through[row], until)


@kernel
def view_rows(
    start: int,
    stop: int,
    state: I64,
    terms: TermArrays,
    states: I64,
    as_of: I32,
    stride: int,
    out: I64,
) -> None:
    """A view of each state."""
    for row in range(start, stop):
        for slot in range(SLOTS):
            state[slot] = states[row, slot]
        view(plan_at(terms, row), state, i64(as_of[row * stride]), out, row)


@kernel
def replay_rows_by_order(
    start: int, stop: int, state: I64, work: I64, terms: TermArrays, order: Order,
    facts: FactArrays, as_of: I32, stride: int, out: I64, refused: I64,
) -> None:  # fmt: skip
    """As `replay_rows`, for any allocation order."""
    offsets = facts[0]
    for row in range(start, stop):
        plan, until = plan_at(terms, row), i64(as_of[row * stride])
        if note(refused, row, begin(plan, state)):
            continue
        lay_out(plan, state[LEVEL_MINOR], state[FEES] >> 32, work)
        refusal = fold_by_order(plan, work, order, facts, offsets[row], offsets[row + 1], until)
        if not note(refused, row, refusal):
            view_by_order(plan, work, until, out, row)


@kernel
def cover_rows(
    start: int, stop: int, state: I64, terms: TermArrays, states: I64, offsets: I64, due: I32,
    asked: I64, met: I64,
) -> None:  # fmt: skip
    """Of every instalment its due day, what it asks and what is met of it, by component."""
    for row in range(start, stop):
        for slot in range(SLOTS):
            state[slot] = states[row, slot]
        plan = plan_at(terms, row)
        scheduled(plan, state)
        for k in range(plan[3]):
            at = offsets[row] + k
            due[at] = due_day(plan, k)
            for c in range(4):
                before, after = state[WORK + 4 * k + c], state[WORK + 4 * k + 4 + c]
                covered = min(after - before, max(0, state[COVERED + c] - before))
                asked[at, c] = covered if state[META] & IS_SETTLED else after - before
                met[at, c] = covered
            if not state[META] & IS_DISBURSED:
                for c in range(4):
                    asked[at, c] = 0
