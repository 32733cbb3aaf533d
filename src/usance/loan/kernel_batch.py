"""The loops over a column of our own loans: schedule, replay, start, step, view.

Each works on rows `start … stop` of its arrays, so threads share a batch without sharing a row.
A refused loan leaves its reason and the position of the fact in `refused`, and the loop goes on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import kernel
from usance.loan.kernel_days import Facts, fold_facts
from usance.loan.kernel_fold import (
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
from usance.loan.kernel_facts import scheduled
from usance.loan.kernel_order_facts import apply_by_order, view_by_order
from usance.loan.kernel_orders import Order, lay_out
from usance.loan.kernel_plan import Plan, due_day, guaranteed, instalment, plan_of
from usance.loan.kernel_refusals import OK, OUT_OF_ORDER
from usance.loan.kernel_view import view

I64, I32, I16 = NDArray[np.int64], NDArray[np.int32], NDArray[np.int16]

Terms = tuple[I64, I32, I32, I16, I32, I32, I64, I64, I16]
"""principal, rate, coupon, instalments, disbursed day, first due day, flat fee, guarantee fee,
convention code."""


@kernel
def plan_at(terms: Terms, row: int) -> Plan:
    """The plan of one loan of a column; codes 1–3 are monthly, 4–6 daily, by amortisation."""
    code = terms[8][row] - 1
    return plan_of(
        terms[0][row], terms[1][row], terms[2][row], terms[3][row], terms[4][row], terms[5][row],
        terms[6][row], terms[7][row], code % 3, code // 3,
    )  # fmt: skip


@kernel
def schedule_rows(
    start: int, stop: int, state: I64, terms: Terms, offsets: I64, due: I32, parts: I64, refused: I32
) -> None:
    """Due day and principal, interest, guarantee fee, service fee of every instalment."""
    for row in range(start, stop):
        plan = plan_at(terms, row)
        refused[row] = begin(plan, state)
        if refused[row] != OK:
            continue
        balance, level, fees = plan[0], state[LEVEL_MINOR], state[FEES] >> 32
        at, fees_before, guarantee_before = offsets[row], np.int64(0), np.int64(0)
        for k in range(plan[3]):
            principal, interest, fee = instalment(plan, k, balance, level)
            fees_before += fee
            guarantee = guaranteed(plan, fees_before, fees)
            due[at + k] = due_day(plan, k)
            parts[at + k, 0] = principal
            parts[at + k, 1] = interest
            parts[at + k, 2] = guarantee - guarantee_before
            parts[at + k, 3] = fee - guarantee + guarantee_before
            balance -= principal
            guarantee_before = guarantee


@kernel
def replay_rows(
    start: int, stop: int, state: I64, terms: Terms, facts: Facts, as_of: I32, out: I64, refused: I32
) -> None:
    """A view of each loan from its terms and all its facts; no state is kept."""
    for row in range(start, stop):
        plan = plan_at(terms, row)
        refused[row] = begin(plan, state)
        if refused[row] == OK:
            refused[row] = fold_facts(
                plan, state, facts, facts[0][row], facts[0][row + 1], -(2**31), as_of[row]
            )
        if refused[row] == OK:
            view(plan, state, as_of[row], out, row)


@kernel
def start_rows(start: int, stop: int, state: I64, terms: Terms, states: I64, refused: I32) -> None:
    """The state of each loan before any fact."""
    for row in range(start, stop):
        refused[row] = begin(plan_at(terms, row), state)
        for slot in range(SLOTS):
            states[row, slot] = state[slot]


@kernel
def step_rows(
    start: int, stop: int, state: I64, terms: Terms, states: I64, through: I32, until: int, facts: Facts,
    refused: I32,
) -> None:  # fmt: skip
    """Take each state on to a later day; a refused loan's state is left as it was."""
    for row in range(start, stop):
        for slot in range(SLOTS):
            state[slot] = states[row, slot]
        first, last = facts[0][row], facts[0][row + 1]
        refused[row] = OK
        if first < last:
            plan = plan_at(terms, row)
            refused[row] = fold_facts(plan, state, facts, first, last, through[row], until)
        if refused[row] == OK:
            for slot in range(SLOTS):
                states[row, slot] = state[slot]
            through[row] = max(through[row], until)


@kernel
def view_rows(start: int, stop: int, state: I64, terms: Terms, states: I64, as_of: I32, out: I64) -> None:
    """A view of each state; the states stay as they are."""
    for row in range(start, stop):
        for slot in range(SLOTS):
            state[slot] = states[row, slot]
        view(plan_at(terms, row), state, as_of[row], out, row)


@kernel
def replay_rows_by_order(
    start: int, stop: int, state: I64, work: I64, terms: Terms, order: Order, facts: Facts,
    as_of: I32, out: I64, refused: I32,
) -> None:  # fmt: skip
    """As `replay_rows`, for any allocation order."""
    offsets, days, kinds, amounts, args = facts
    for row in range(start, stop):
        plan = plan_at(terms, row)
        refused[row] = begin(plan, state)
        if refused[row] != OK:
            continue
        lay_out(plan, state[LEVEL_MINOR], state[FEES] >> 32, work)
        first, last = offsets[row], offsets[row + 1]
        before, rank = np.int64(-(2**31)), np.int64(-1)
        for at in range(first, last):
            day, kind = np.int64(days[at]), np.int64(kinds[at])
            refusal = OK
            if day < before or (day == before and kind < rank):
                refusal = OUT_OF_ORDER
            elif day > as_of[row]:
                break
            else:
                refusal = apply_by_order(plan, work, order, day, kind, amounts[at], args[at])
            if refusal != OK:
                refused[row] = refusal + 16 * (at - first)
                break
            before, rank = day, kind
        if refused[row] == OK:
            view_by_order(plan, work, as_of[row], out, row)


@kernel
def cover_rows(
    start: int, stop: int, state: I64, terms: Terms, states: I64, offsets: I64, due: I32,
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
