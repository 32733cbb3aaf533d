"""The effect of each kind of fact on the state of a loan of the platform's own products."""

from __future__ import annotations

from usance.base.arrays import I64, i64
from usance.base.codes import Component, FactKind
from usance.base.compiled import kernel
from usance.loan.bounds import MAX_KERNEL_FACT_MINOR
from usance.loan.kernel.arrays import Plan, State
from usance.loan.kernel.plan import guaranteed, instalment
from usance.loan.kernel.refusals import (
    BAD_AMOUNT,
    BAD_ARG,
    BAD_DISBURSEMENT,
    CHARGE_BACK_TOO_LARGE,
    NOT_DISBURSED,
    NOT_IN_KERNEL,
    OK,
    OUT_OF_RANGE,
    REFUND_TOO_LARGE,
    WAIVER_TOO_LARGE,
)
from usance.loan.kernel.state import (
    BALANCE,
    CHARGED_OFF,
    COMPENSATED,
    COVERED,
    FEES,
    INTEREST_BEFORE,
    IS_BOUGHT_OUT,
    IS_CHARGED_OFF,
    IS_DISBURSED,
    IS_RECOVERY,
    IS_SETTLED,
    LEVEL_MINOR,
    LOW_32,
    MAX_WAIVED_PENALTY_MINOR,
    META,
    OVERPAID,
    PAID_MASK,
    PENALTY_OPEN,
    PENALTY_PAID,
    RECOVERED,
    WAIVED_FEES,
    WAIVED_INTEREST,
    WAIVED_PENALTY_SHIFT,
    WAIVED_PRINCIPAL,
    close_if_settled,
    receive_settlement,
)

_DISBURSED, _FEE_CHARGED = int(FactKind.DISBURSED), int(FactKind.FEE_CHARGED)
_PAID = int(FactKind.PAID)
_REFUNDED, _CHARGED_BACK = int(FactKind.REFUNDED), int(FactKind.CHARGED_BACK)
_WAIVED = int(FactKind.WAIVED)
_COMPENSATED, _BOUGHT_OUT = int(FactKind.COMPENSATED), int(FactKind.BOUGHT_OUT)
_CHARGED_OFF, _RECOVERED = int(FactKind.CHARGED_OFF), int(FactKind.RECOVERED)
_TERMS_CHANGED, _INTEREST_PAUSED = int(FactKind.TERMS_CHANGED), int(FactKind.INTEREST_PAUSED)
_REVERSED = int(FactKind.REVERSED)
_PENALTY = int(Component.PENALTY)


@kernel(inline=True)
def refuse_amount(kind: int, amount: int) -> int:
    """The refusal of this amount for this kind of fact, or `OK`."""
    if 1 <= amount <= MAX_KERNEL_FACT_MINOR:
        return OK
    may_be_zero = kind in (_TERMS_CHANGED, _INTEREST_PAUSED, _BOUGHT_OUT, _CHARGED_OFF, _REVERSED)
    if amount < (0 if may_be_zero else 1):
        return BAD_AMOUNT
    return OK if amount == 0 else OUT_OF_RANGE


@kernel(inline=True)
def can_disburse(plan: Plan, state: State, day: int, amount: int) -> bool:
    """True if a disbursement is the one of the terms, and the first."""
    return not state[META] & IS_DISBURSED and amount == plan.principal and day == plan.disbursed_day


@kernel
def rewind(plan: Plan, state: State) -> None:
    """Put the cursor back to the first instalment; moving on finds the open one again."""
    state[META] &= ~(PAID_MASK | IS_SETTLED)
    state[BALANCE], state[INTEREST_BEFORE] = plan.principal, 0
    state[FEES] = (state[FEES] >> 32) << 32


@kernel
def waived_amount(state: State, component: int) -> int:
    """The amount waived of a scheduled component."""
    if component == 0:
        return state[WAIVED_PRINCIPAL]
    if component == 1:
        return state[WAIVED_INTEREST]
    return state[WAIVED_FEES] >> 32 if component == 2 else state[WAIVED_FEES] & LOW_32


@kernel
def fill_cumulative_dues(plan: Plan, state: State, work: I64) -> None:
    """Fill the workspace with the cumulative amounts due up to each instalment, by component."""
    balance, interest_so_far, fees_so_far = plan.principal, i64(0), i64(0)
    fees = state[FEES] >> 32
    for c in range(4):
        work[c] = 0
    for k in range(plan.instalments):
        principal, interest, fee = instalment(plan, k, balance, state[LEVEL_MINOR])
        balance -= principal
        interest_so_far += interest
        fees_so_far += fee
        at = 4 * (k + 1)
        work[at] = plan.principal - balance
        work[at + 1] = interest_so_far
        work[at + 2] = guaranteed(plan, fees_so_far, fees)
        work[at + 3] = fees_so_far - work[at + 2]


@kernel
def charge_back(plan: Plan, state: State, work: I64, day: int, amount: int) -> int:
    """Take money back: over-payment, then the youngest covered instalments, then penalties."""
    cash = state[OVERPAID] + state[PENALTY_PAID]
    for c in range(4):
        cash += state[COVERED + c] - waived_amount(state, c)
    if amount > cash:
        return CHARGE_BACK_TOO_LARGE
    taken = min(amount, state[OVERPAID])
    state[OVERPAID] -= taken
    amount -= taken
    if amount == 0:
        return OK
    fill_cumulative_dues(plan, state, work)
    for k in range(plan.instalments - 1, -1, -1):
        for c in (3, 2, 0, 1):
            covered = max(0, state[COVERED + c] - work[4 * k + c])
            taken = min(amount, covered, state[COVERED + c] - waived_amount(state, c))
            state[COVERED + c] -= taken
            amount -= taken
    state[PENALTY_PAID] -= amount
    state[PENALTY_OPEN] += amount
    rewind(plan, state)
    close_if_settled(plan, state, day)  # what was paid in advance may still be enough
    return OK


@kernel
def waive(plan: Plan, state: State, work: I64, day: int, amount: int, component: int) -> int:
    """Cover a component without cash."""
    if component == _PENALTY:
        if amount > state[PENALTY_OPEN]:
            return WAIVER_TOO_LARGE
        if (state[META] >> WAIVED_PENALTY_SHIFT) + amount > MAX_WAIVED_PENALTY_MINOR:
            return OUT_OF_RANGE
        state[PENALTY_OPEN] -= amount
        state[META] += amount << WAIVED_PENALTY_SHIFT
        close_if_settled(plan, state, day)
        return OK
    if not 0 <= component < 4:
        return BAD_ARG
    fill_cumulative_dues(plan, state, work)
    total = work[4 * plan.instalments + component]
    if state[META] & IS_SETTLED or amount > total - state[COVERED + component]:
        return WAIVER_TOO_LARGE
    state[COVERED + component] += amount
    if component == 0:
        state[WAIVED_PRINCIPAL] += amount
    elif component == 1:
        state[WAIVED_INTEREST] += amount
    else:
        state[WAIVED_FEES] += amount << 32 if component == 2 else amount
    close_if_settled(plan, state, day)
    return OK


@kernel
def apply_fact(
    plan: Plan, state: State, work: I64, day: int, kind: int, amount: int, arg: int
) -> int:
    """Apply one fact; `OK`, or its refusal (the state is then invalid)."""
    if kind == _PAID:  # nine facts of ten
        refusal = refuse_amount(kind, amount)
        if refusal != OK:
            return refusal
        if not state[META] & IS_DISBURSED:
            return NOT_DISBURSED
        return receive_settlement(plan, state, day, amount, False)
    return apply_other_fact(plan, state, work, day, kind, amount, arg)


@kernel
def apply_other_fact(
    plan: Plan, state: State, work: I64, day: int, kind: int, amount: int, arg: int
) -> int:
    """Apply any fact but a payment."""
    refusal = refuse_amount(kind, amount)
    if refusal != OK:
        return refusal
    if kind == _DISBURSED:
        if not can_disburse(plan, state, day, amount):
            return BAD_DISBURSEMENT
        state[META] |= IS_DISBURSED
        return OK
    if not state[META] & IS_DISBURSED:
        return NOT_DISBURSED
    if kind == _FEE_CHARGED:
        state[PENALTY_OPEN] += amount
    elif kind == _RECOVERED:
        state[RECOVERED] += amount
        return receive_settlement(plan, state, day, amount, True)
    elif kind == _REFUNDED:
        if amount > state[OVERPAID]:
            return REFUND_TOO_LARGE
        state[OVERPAID] -= amount
    elif kind == _CHARGED_BACK:
        return charge_back(plan, state, work, day, amount)
    elif kind == _WAIVED:
        return waive(plan, state, work, day, amount, arg)
    else:
        return transfer_claim(state, kind, amount)
    return OK


@kernel
def transfer_claim(state: State, kind: int, amount: int) -> int:
    """Apply a fact about the holder of the claim; the borrower owes the same."""
    if kind == _COMPENSATED:
        state[COMPENSATED] += amount
        state[META] |= IS_RECOVERY
    elif kind == _CHARGED_OFF:
        state[CHARGED_OFF] += amount
        state[META] |= IS_RECOVERY | IS_CHARGED_OFF
    elif kind == _BOUGHT_OUT:
        state[META] |= IS_BOUGHT_OUT
    else:
        return NOT_IN_KERNEL
    return OK
