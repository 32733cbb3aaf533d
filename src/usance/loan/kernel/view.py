"""Balances and arrears of a loan on a day, from its state."""

from __future__ import annotations

from usance.base.arrays import I64
from usance.base.codes import Status
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Plan, State
from usance.loan.kernel.facts import waived_amount
from usance.loan.kernel.plan import due_day, guaranteed, instalment, period_start
from usance.loan.kernel.state import (
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
from usance.loan.views import VIEW_FIELDS

FIELD_COUNT = len(VIEW_FIELDS)
OUT_STATUS, OUT_DAYS_PAST_DUE, OUT_INSTALMENTS_PAID, OUT_PRINCIPAL_OUTSTANDING = 0, 1, 2, 3
OUT_DUE, OUT_PAST_DUE, OUT_PAID, OUT_WAIVED = 4, 8, 13, 18
OUT_INTEREST_EARNED, OUT_ACCRUED_INTEREST, OUT_SETTLEMENT, OUT_OVERPAID = 23, 24, 25, 26
OUT_DISBURSED, OUT_COMPENSATED, OUT_CHARGED_OFF, OUT_RECOVERED = 27, 28, 29, 30
OUT_NEXT_DUE_DAY, OUT_NEXT_DUE = 31, 32
"""Places of `VIEW_FIELDS`; due, past due, paid and waived go on by component."""

_ACTIVE, _CLOSED, _CHARGED_OFF = int(Status.ACTIVE), int(Status.CLOSED), int(Status.CHARGED_OFF)


@kernel(inline=True)
def view(plan: Plan, state: State, day: int, out: I64, row: int) -> None:
    """Fill one row of `VIEW_FIELDS`."""
    for field in range(FIELD_COUNT):
        out[row, field] = 0
    out[row, OUT_NEXT_DUE_DAY] = -1
    meta = state[META]
    if not meta & IS_DISBURSED:
        return
    out[row, OUT_STATUS] = _CHARGED_OFF if meta & IS_CHARGED_OFF else _ACTIVE
    if meta & IS_SETTLED:
        if state[PENALTY_OPEN] == 0:
            out[row, OUT_STATUS] = _CLOSED
        out[row, OUT_INSTALMENTS_PAID] = plan.instalments
        for c in range(4):
            out[row, OUT_DUE + c] = state[COVERED + c]
        out[row, OUT_INTEREST_EARNED] = state[COVERED + 1]
    else:
        view_instalments(plan, state, day, out, row)
    out[row, OUT_PRINCIPAL_OUTSTANDING] = plan.principal - state[COVERED]
    for c in range(4):
        covered, waived = state[COVERED + c], waived_amount(state, c)
        out[row, OUT_PAST_DUE + c] = max(0, out[row, OUT_DUE + c] - covered)
        out[row, OUT_PAID + c] = covered - waived
        out[row, OUT_WAIVED + c] = waived
    out[row, OUT_PAST_DUE + 4], out[row, OUT_PAID + 4] = state[PENALTY_OPEN], state[PENALTY_PAID]
    out[row, OUT_WAIVED + 4] = meta >> WAIVED_PENALTY_SHIFT
    out[row, OUT_ACCRUED_INTEREST] = max(0, out[row, OUT_INTEREST_EARNED] - state[COVERED + 1])
    out[row, OUT_SETTLEMENT] = (
        out[row, OUT_PRINCIPAL_OUTSTANDING]
        + out[row, OUT_ACCRUED_INTEREST]
        + out[row, OUT_PAST_DUE + 2]
        + out[row, OUT_PAST_DUE + 3]
        + out[row, OUT_PAST_DUE + 4]
    )
    out[row, OUT_OVERPAID], out[row, OUT_DISBURSED] = state[OVERPAID], plan.principal
    out[row, OUT_COMPENSATED], out[row, OUT_CHARGED_OFF] = state[COMPENSATED], state[CHARGED_OFF]
    out[row, OUT_RECOVERED] = state[RECOVERED]


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
    out[row, OUT_DUE], out[row, OUT_DUE + 1] = plan.principal - balance, interest_so_far
    out[row, OUT_DUE + 2], out[row, OUT_DUE + 3] = guarantee_so_far, fees_so_far - guarantee_so_far
    out[row, OUT_INSTALMENTS_PAID], out[row, OUT_INTEREST_EARNED] = k, interest_so_far
    while k < plan.instalments:
        principal, interest, fee = instalment(plan, k, balance, state[LEVEL_MINOR])
        balance -= principal
        interest_so_far += interest
        fees_so_far += fee
        guarantee = guaranteed(plan, fees_so_far, fees) - guarantee_so_far
        guarantee_so_far += guarantee
        service_so_far = fees_so_far - guarantee_so_far
        left = (
            min(principal, max(0, plan.principal - balance - state[COVERED]))
            + min(interest, max(0, interest_so_far - state[COVERED + 1]))
            + min(guarantee, max(0, guarantee_so_far - state[COVERED + 2]))
            + min(fee - guarantee, max(0, service_so_far - state[COVERED + 3]))
        )
        due = due_day(plan, k)
        if leading and left == 0:
            out[row, OUT_INSTALMENTS_PAID] = k + 1
        elif leading:
            leading = False
            out[row, OUT_DAYS_PAST_DUE] = max(0, day - due)
        if due <= day:
            out[row, OUT_DUE], out[row, OUT_DUE + 1] = plan.principal - balance, interest_so_far
            out[row, OUT_DUE + 2], out[row, OUT_DUE + 3] = guarantee_so_far, service_so_far
            out[row, OUT_INTEREST_EARNED] = interest_so_far
        else:
            if running:
                out[row, OUT_INTEREST_EARNED] += accrued_share(
                    interest, day, period_start(plan, k), due
                )
                running = False
            if left > 0:
                out[row, OUT_NEXT_DUE_DAY], out[row, OUT_NEXT_DUE] = due, left
                break
        k += 1
    if ahead:
        principal, interest, guarantee, service, accrued, _ = due_and_accrued(plan, state, day)
        out[row, OUT_DUE], out[row, OUT_DUE + 1], out[row, OUT_DUE + 2], out[row, OUT_DUE + 3] = (
            principal,
            interest,
            guarantee,
            service,
        )
        out[row, OUT_INTEREST_EARNED] = interest + accrued
