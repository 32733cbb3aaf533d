"""The effect of each kind of fact under any allocation order, and the resulting view."""

from __future__ import annotations

from usance.base.arrays import I64, i64, u64
from usance.base.codes import Component, FactKind, Status
from usance.base.compiled import kernel
from usance.base.refusals import pack_refusal
from usance.loan.bounds import MAX_KERNEL_FACTS
from usance.loan.kernel.any_order import (
    COVERED,
    COVERED_SUM,
    DUE,
    FIRST_OPEN,
    ROWS,
    WAIVED,
    WAIVED_PENALTY,
    WIDTH,
    close_if_paid_off,
    cover_oldest_first,
    pay_by_order,
    payoff,
    settle_or_recover,
    settled_amounts,
    uncovered,
)
from usance.loan.kernel.arrays import FactArrays, Order, Plan, State
from usance.loan.kernel.facts import refuse_amount, transfer_claim
from usance.loan.kernel.refusals import (
    BAD_ARG,
    BAD_DISBURSEMENT,
    CHARGE_BACK_TOO_LARGE,
    NOT_DISBURSED,
    OK,
    OUT_OF_ORDER,
    OUT_OF_RANGE,
    REFUND_TOO_LARGE,
    WAIVER_TOO_LARGE,
)
from usance.loan.kernel.state import (
    CHARGED_OFF,
    COMPENSATED,
    IS_CHARGED_OFF,
    IS_DISBURSED,
    IS_RECOVERY,
    IS_SETTLED,
    META,
    OVERPAID,
    PENALTY_OPEN,
    PENALTY_PAID,
    RECOVERED,
)
from usance.loan.kernel.view import (
    FIELD_COUNT,
    OUT_ACCRUED_INTEREST,
    OUT_CHARGED_OFF,
    OUT_COMPENSATED,
    OUT_DAYS_PAST_DUE,
    OUT_DISBURSED,
    OUT_DUE,
    OUT_INSTALMENTS_PAID,
    OUT_INTEREST_EARNED,
    OUT_NEXT_DUE,
    OUT_NEXT_DUE_DAY,
    OUT_OVERPAID,
    OUT_PAID,
    OUT_PAST_DUE,
    OUT_PRINCIPAL_OUTSTANDING,
    OUT_RECOVERED,
    OUT_SETTLEMENT,
    OUT_STATUS,
    OUT_WAIVED,
)

_DISBURSED, _FEE_CHARGED = int(FactKind.DISBURSED), int(FactKind.FEE_CHARGED)
_PAID = int(FactKind.PAID)
_REFUNDED, _CHARGED_BACK = int(FactKind.REFUNDED), int(FactKind.CHARGED_BACK)
_WAIVED = int(FactKind.WAIVED)
_RECOVERED = int(FactKind.RECOVERED)
_PENALTY = int(Component.PENALTY)
_CLOSED, _ACTIVE, _IS_CHARGED_OFF = int(Status.CLOSED), int(Status.ACTIVE), int(Status.CHARGED_OFF)


@kernel
def charge_back_by_order(plan: Plan, work: State, day: int, amount: int) -> int:
    """Take money back: over-payment, then the youngest instalments, then penalties paid."""
    cash = work[OVERPAID] + work[PENALTY_PAID]
    for c in range(4):
        cash += work[COVERED_SUM + c] - work[WAIVED + c]
    if amount > cash:
        return CHARGE_BACK_TOO_LARGE
    taken = min(amount, work[OVERPAID])
    work[OVERPAID] -= taken
    amount -= taken
    if amount > 0:
        work[META] &= ~IS_SETTLED
        work[FIRST_OPEN] = 0
    for k in range(plan.instalments - 1, -1, -1):
        for c in (3, 2, 0, 1):
            row = ROWS + WIDTH * k + c
            taken = min(amount, work[row + COVERED], work[COVERED_SUM + c] - work[WAIVED + c])
            work[row + COVERED] -= taken
            work[COVERED_SUM + c] -= taken
            amount -= taken
    work[PENALTY_PAID] -= amount
    work[PENALTY_OPEN] += amount
    close_if_paid_off(plan, work, day)  # what was paid in advance may still be enough
    return OK


@kernel
def waive_by_order(plan: Plan, work: State, day: int, amount: int, c: int) -> int:
    """Cover a component without cash."""
    if c == _PENALTY:
        if amount > work[PENALTY_OPEN]:
            return WAIVER_TOO_LARGE
        work[PENALTY_OPEN] -= amount
        work[WAIVED_PENALTY] += amount
    elif not 0 <= c < 4:
        return BAD_ARG
    else:
        asked = i64(0)
        for k in range(plan.instalments):
            asked += work[ROWS + WIDTH * k + DUE + c]
        if work[META] & IS_SETTLED or amount > asked - work[COVERED_SUM + c]:
            return WAIVER_TOO_LARGE
        cover_oldest_first(plan, work, c, amount)
        work[WAIVED + c] += amount
    close_if_paid_off(plan, work, day)
    return OK


@kernel(inline=True)
def apply_by_order(
    plan: Plan, work: State, order: Order, day: int, kind: int, amount: int, arg: int
) -> int:
    """One fact under any order; `OK`, or why it is refused."""
    refusal = refuse_amount(kind, amount)
    if refusal != OK:
        return refusal
    meta = work[META]
    if kind == _DISBURSED:
        if meta & IS_DISBURSED or amount != plan.principal or day != plan.disbursed_day:
            return BAD_DISBURSEMENT
        work[META] |= IS_DISBURSED
        return OK
    if not meta & IS_DISBURSED:
        return NOT_DISBURSED
    if kind in (_PAID, _RECOVERED):
        if kind == _RECOVERED:
            work[RECOVERED] += amount
        recovery = kind == _RECOVERED or meta & (IS_RECOVERY | IS_SETTLED) != 0
        # Less than the open principal cannot settle, so what settles need not be computed.
        if (not recovery and amount < plan.principal - work[COVERED_SUM]) or not settle_or_recover(
            plan, work, day, amount, recovery
        ):
            pay_by_order(plan, work, order, day, amount)
    elif kind == _FEE_CHARGED:
        work[PENALTY_OPEN] += amount
    elif kind == _REFUNDED:
        if amount > work[OVERPAID]:
            return REFUND_TOO_LARGE
        work[OVERPAID] -= amount
    elif kind == _CHARGED_BACK:
        return charge_back_by_order(plan, work, day, amount)
    elif kind == _WAIVED:
        return waive_by_order(plan, work, day, amount, arg)
    else:
        return transfer_claim(work, kind, amount)
    return OK


@kernel(inline=True)
def fold_by_order(
    plan: Plan, work: State, order: Order, facts: FactArrays, first: int, last: int, until: int
) -> int:
    """Apply the facts of one loan until a day."""
    days, kinds, amounts, args = facts.day, facts.kind, facts.amount, facts.arg
    if last - first > MAX_KERNEL_FACTS:
        return OUT_OF_RANGE
    before, rank = i64(-(2**31)), i64(-1)
    for at in range(first, last):
        day, kind = i64(days[u64(at)]), i64(kinds[u64(at)])
        if day < before or (day == before and kind < rank):
            return pack_refusal(OUT_OF_ORDER, at - first)
        if day > until:
            break
        refusal = apply_by_order(plan, work, order, day, kind, amounts[u64(at)], args[u64(at)])
        if refusal != OK:
            return pack_refusal(refusal, at - first)
        before, rank = day, kind
    return OK


@kernel
def view_by_order(plan: Plan, work: State, day: int, out: I64, at: int) -> None:
    """Fill one row of the view's fields (see `usance.loan.views`)."""
    for field in range(FIELD_COUNT):
        out[at, field] = 0
    out[at, OUT_NEXT_DUE_DAY] = -1
    meta = work[META]
    if not meta & IS_DISBURSED:
        return
    out[at, OUT_STATUS] = _IS_CHARGED_OFF if meta & IS_CHARGED_OFF else _ACTIVE
    if meta & IS_SETTLED and work[PENALTY_OPEN] == 0:
        out[at, OUT_STATUS] = _CLOSED
    out[at, OUT_PRINCIPAL_OUTSTANDING] = plan.principal - work[COVERED_SUM]
    out[at, OUT_INSTALMENTS_PAID] = plan.instalments
    if not meta & IS_SETTLED:
        view_instalments_by_order(plan, work, day, out, at)
    earned = settled_amounts(plan, work, day)[1]
    for c in range(4):
        if meta & IS_SETTLED:
            out[at, OUT_DUE + c] = work[COVERED_SUM + c]
        out[at, OUT_PAID + c] = work[COVERED_SUM + c] - work[WAIVED + c]
        out[at, OUT_WAIVED + c] = work[WAIVED + c]
    out[at, OUT_PAST_DUE + 4], out[at, OUT_PAID + 4] = work[PENALTY_OPEN], work[PENALTY_PAID]
    out[at, OUT_WAIVED + 4] = work[WAIVED_PENALTY]
    out[at, OUT_INTEREST_EARNED] = earned
    out[at, OUT_ACCRUED_INTEREST] = max(0, earned - work[COVERED_SUM + 1])
    out[at, OUT_SETTLEMENT] = payoff(plan, work, day)
    out[at, OUT_OVERPAID], out[at, OUT_DISBURSED] = work[OVERPAID], plan.principal
    out[at, OUT_COMPENSATED], out[at, OUT_CHARGED_OFF], out[at, OUT_RECOVERED] = (
        work[COMPENSATED],
        work[CHARGED_OFF],
        work[RECOVERED],
    )


@kernel
def view_instalments_by_order(plan: Plan, work: State, day: int, out: I64, at: int) -> None:
    """Amounts fallen due, days past due, and the next instalment."""
    out[at, OUT_INSTALMENTS_PAID] = 0
    leading = True
    for k in range(plan.instalments):
        row = ROWS + WIDTH * k
        left = uncovered(work, k)
        leading = leading and left == 0
        if leading:
            out[at, OUT_INSTALMENTS_PAID] = k + 1
        if work[row] <= day:
            for c in range(4):
                out[at, OUT_DUE + c] += work[row + DUE + c]
                out[at, OUT_PAST_DUE + c] += work[row + DUE + c] - work[row + COVERED + c]
            if left > 0 and out[at, OUT_DAYS_PAST_DUE] == 0:
                out[at, OUT_DAYS_PAST_DUE] = day - work[row]
        elif left > 0:
            out[at, OUT_NEXT_DUE_DAY], out[at, OUT_NEXT_DUE] = work[row], left
            return
