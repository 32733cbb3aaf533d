"""Where one of our own loans stands on a day, from its state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import Status
from usance.base.compiled import kernel
from usance.loan.kernel_facts import waived_of
from usance.loan.kernel_fold import (
    BALANCE,
    CHARGED_OFF,
    COMPENSATED,
    COVERED,
    FEES,
    INTEREST_BEFORE,
    IS_CHARGED_OFF,
    IS_DISBURSED,
    IS_SETTLED,
    LEVEL_MINOR,
    LOW,
    META,
    OVERPAID,
    PAID_MASK,
    PENALTY_OPEN,
    PENALTY_PAID,
    RECOVERED,
    WAIVED_PENALTY_SHIFT,
    State,
    fallen_due,
    seek,
)
from usance.loan.kernel_plan import COUNT, P, Plan, due_day, guaranteed, instalment

FIELDS = (
    "status", "days_past_due", "instalments_paid", "principal_outstanding",
    "due_principal", "due_interest", "due_guarantee_fee", "due_service_fee",
    "past_due_principal", "past_due_interest", "past_due_guarantee_fee", "past_due_service_fee",
    "past_due_penalty",
    "paid_principal", "paid_interest", "paid_guarantee_fee", "paid_service_fee", "paid_penalty",
    "waived_principal", "waived_interest", "waived_guarantee_fee", "waived_service_fee",
    "waived_penalty",
    "interest_earned", "accrued_interest", "settlement", "overpaid",
    "disbursed", "compensated", "charged_off", "recovered", "next_due_day", "next_due",
)  # fmt: skip
"""The columns of a view, in order; days are day numbers, -1 for none."""

_ACTIVE, _CLOSED, _CHARGED_OFF = int(Status.ACTIVE), int(Status.CLOSED), int(Status.CHARGED_OFF)


@kernel(inline=True)
def view(plan: Plan, state: State, day: int, out: NDArray[np.int64], row: int) -> None:
    """Fill one row of `FIELDS`; moves the state's cursor on past what is covered."""
    for field in range(33):
        out[row, field] = 0
    out[row, 31] = -1
    meta = state[META]
    if not meta & IS_DISBURSED:
        return
    settled = meta & IS_SETTLED
    if not settled:
        seek(plan, state)
    k = state[META] & PAID_MASK
    principal, interest, guarantee, service, accrued, next_k = fallen_due(plan, state, day)
    if settled and state[PENALTY_OPEN] == 0:
        out[row, 0] = _CLOSED
    else:
        out[row, 0] = _CHARGED_OFF if meta & IS_CHARGED_OFF else _ACTIVE
    if settled:
        out[row, 2] = plan[COUNT]
    else:
        out[row, 2] = k
        if k < next_k:
            out[row, 1] = day - due_day(plan, k)
    out[row, 3] = plan[P] - state[COVERED]
    out[row, 4], out[row, 5], out[row, 6], out[row, 7] = principal, interest, guarantee, service
    for c in range(4):
        covered, waived = state[COVERED + c], waived_of(state, c)
        out[row, 8 + c] = max(0, out[row, 4 + c] - covered)
        out[row, 13 + c] = covered - waived
        out[row, 18 + c] = waived
    out[row, 12], out[row, 17] = state[PENALTY_OPEN], state[PENALTY_PAID]
    out[row, 22] = meta >> WAIVED_PENALTY_SHIFT
    out[row, 23] = interest + accrued
    out[row, 24] = max(0, interest + accrued - state[COVERED + 1])
    out[row, 25] = out[row, 3] + out[row, 24] + out[row, 10] + out[row, 11] + out[row, 12]
    out[row, 26], out[row, 27] = state[OVERPAID], plan[P]
    out[row, 28], out[row, 29], out[row, 30] = state[COMPENSATED], state[CHARGED_OFF], state[RECOVERED]
    if not settled and next_k < plan[COUNT]:
        next_due(plan, state, max(k, next_k), out, row)


@kernel
def next_due(plan: Plan, state: State, wanted: int, out: NDArray[np.int64], row: int) -> None:
    """The first instalment from `wanted` on that has something uncovered, and how much."""
    k = state[META] & PAID_MASK
    balance, interest_before = state[BALANCE], state[INTEREST_BEFORE]
    fees, fees_before = state[FEES] >> 32, state[FEES] & LOW
    while k < plan[COUNT]:
        principal, interest, fee = instalment(plan, k, balance, state[LEVEL_MINOR])
        before = guaranteed(plan, fees_before, fees)
        after = guaranteed(plan, fees_before + fee, fees)
        balance -= principal
        interest_before += interest
        fees_before += fee
        left = (
            min(principal, max(0, plan[P] - balance - state[COVERED]))
            + min(interest, max(0, interest_before - state[COVERED + 1]))
            + min(after - before, max(0, after - state[COVERED + 2]))
            + min(fee - after + before, max(0, fees_before - after - state[COVERED + 3]))
        )
        if k >= wanted and left > 0:
            out[row, 31], out[row, 32] = due_day(plan, k), left
            return
        k += 1
