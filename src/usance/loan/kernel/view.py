"""Balances and arrears of a loan on a day, from its state."""

from __future__ import annotations

from usance.base.arrays import I64
from usance.base.codes import Status
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Plan, State
from usance.loan.kernel.facts import waived_amount
from usance.loan.kernel.fold import (
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
    LOW_32,
    META,
    OVERPAID,
    PAID_MASK,
    PENALTY_OPEN,
    PENALTY_PAID,
    RECOVERED,
    WAIVED_PENALTY_SHIFT,
    accrued_share,
    due_and_accrued,
)
from usance.loan.kernel.plan import COUNT, P, due_day, guaranteed, instalment, period_start
from usance.loan.views import VIEW_FIELDS

FIELD_COUNT = len(VIEW_FIELDS)

_ACTIVE, _CLOSED, _CHARGED_OFF = int(Status.ACTIVE), int(Status.CLOSED), int(Status.CHARGED_OFF)


@kernel(inline=True)
def view(plan: Plan, state: State, day: int, out: I64, row: int) -> None:
    """Fill one row of `VIEW_FIELDS`."""
    for field in range(FIELD_COUNT):
        out[row, field] = 0
    out[row, 31] = -1
    meta = state[META]
    if not meta & IS_DISBURSED:
        return
    out[row, 0] = _CHARGED_OFF if meta & IS_CHARGED_OFF else _ACTIVE
    if meta & IS_SETTLED:
        if state[PENALTY_OPEN] == 0:
            out[row, 0] = _CLOSED
        out[row, 2] = plan[COUNT]
        for c in range(4):
            out[row, 4 + c] = state[COVERED + c]
        out[row, 23] = state[COVERED + 1]
    else:
        view_instalments(plan, state, day, out, row)
    out[row, 3] = plan[P] - state[COVERED]
    for c in range(4):
        covered, waived = state[COVERED + c], waived_amount(state, c)
        out[row, 8 + c] = max(0, out[row, 4 + c] - covered)
        out[row, 13 + c] = covered - waived
        out[row, 18 + c] = waived
    out[row, 12], out[row, 17] = state[PENALTY_OPEN], state[PENALTY_PAID]
    out[row, 22] = meta >> WAIVED_PENALTY_SHIFT
    out[row, 24] = max(0, out[row, 23] - state[COVERED + 1])
    out[row, 25] = out[row, 3] + out[row, 24] + out[row, 10] + out[row, 11] + out[row, 12]
    out[row, 26], out[row, 27] = state[OVERPAID], plan[P]
    out[row, 28], out[row, 29] = state[COMPENSATED], state[CHARGED_OFF]
    out[row, 30] = state[RECOVERED]


@kernel
def view_instalments(plan: Plan, state: State, day: int, out: I64, row: int) -> None:
    """Amounts fallen due, days past due, accrued interest and the next instalment.

    One walk from the state's open instalment; what was paid in advance is looked up apart.
    """
    k = state[META] & PAID_MASK
    ahead = k > 0 and due_day(plan, k - 1) > day
    balance, interest_so_far = state[BALANCE], state[INTEREST_BEFORE]
    fees, fees_so_far = state[FEES] >> 32, state[FEES] & LOW_32
    guarantee_so_far = guaranteed(plan, fees_so_far, fees)
    leading, running = True, True
    out[row, 4], out[row, 5] = plan[P] - balance, interest_so_far
    out[row, 6], out[row, 7] = guarantee_so_far, fees_so_far - guarantee_so_far
    out[row, 2], out[row, 23] = k, interest_so_far
    while k < plan[COUNT]:
        principal, interest, fee = instalment(plan, k, balance, state[LEVEL_MINOR])
        balance -= principal
        interest_so_far += interest
        fees_so_far += fee
        guarantee = guaranteed(plan, fees_so_far, fees) - guarantee_so_far
        guarantee_so_far += guarantee
        service_so_far = fees_so_far - guarantee_so_far
        left = (
            min(principal, max(0, plan[P] - balance - state[COVERED]))
            + min(interest, max(0, interest_so_far - state[COVERED + 1]))
            + min(guarantee, max(0, guarantee_so_far - state[COVERED + 2]))
            + min(fee - guarantee, max(0, service_so_far - state[COVERED + 3]))
        )
        due = due_day(plan, k)
        if leading and left == 0:
            out[row, 2] = k + 1
        elif leading:
            leading = False
            out[row, 1] = max(0, day - due)
        if due <= day:
            out[row, 4], out[row, 5] = plan[P] - balance, interest_so_far
            out[row, 6], out[row, 7] = guarantee_so_far, service_so_far
            out[row, 23] = interest_so_far
        else:
            if running:
                out[row, 23] += accrued_share(interest, day, period_start(plan, k), due)
                running = False
            if left > 0:
                out[row, 31], out[row, 32] = due, left
                break
        k += 1
    if ahead:
        principal, interest, guarantee, service, accrued, _ = due_and_accrued(plan, state, day)
        out[row, 4], out[row, 5], out[row, 6], out[row, 7] = principal, interest, guarantee, service
        out[row, 23] = interest + accrued
