"""Positions of a column of our own loans, from their terms and facts in one pass."""

from __future__ import annotations

from usance.base.arrays import I8, I32, I64, i64
from usance.base.codes import FactKind, FundingModel
from usance.base.compiled import kernel
from usance.base.refusals import pack_refusal
from usance.books.loans.positions import (
    BEFORE,
    CHARGE_OFF,
    CLEARED,
    CLEARED_OVERPAID,
    COMPENSATED,
    DAYS_PAST_DUE,
    DUE_GUARANTEE,
    DUE_SERVICE,
    EARN_MONTH,
    EARNED_DAYS,
    EARNED_FEE_INSTALMENTS,
    EARNED_INTEREST,
    EARNING_DAY,
    EVENT,
    EVENT_CLEARED,
    FEE_PPM,
    FIELDS,
    GUARANTEE,
    IS_SETTLED,
    MODEL,
    NO_EVENT,
    NON_CURRENT_GUARANTEE,
    NON_CURRENT_PRINCIPAL,
    NON_CURRENT_SERVICE,
    OUTSTANDING,
    OVERPAID,
    PAID,
    PAYOUT,
    PRINCIPAL,
    SERVICE,
    TERM_DAYS,
    UPFRONT,
    WAIVED,
)
from usance.loan.kernel.arrays import FactArrays, Plan, State, TermArrays
from usance.loan.kernel.batch import plan_at, record_refusal
from usance.loan.kernel.facts import waived_amount
from usance.loan.kernel.fold import BEFORE_FIRST_FACT, fold_facts
from usance.loan.kernel.plan import (
    COUNT,
    COUPON,
    DISBURSED,
    FLAT,
    RATE,
    due_day,
    fees_of,
    instalment,
    month_of,
    period_start,
)
from usance.loan.kernel.plan import GUARANTEE as PLAN_GUARANTEE
from usance.loan.kernel.plan import P as PLAN_PRINCIPAL
from usance.loan.kernel.refusals import OK
from usance.loan.kernel.state import COMPENSATED as COMPENSATED_SLOT
from usance.loan.kernel.state import (
    COVERED,
    FEES,
    IS_DISBURSED,
    LEVEL_MINOR,
    META,
    PENALTY_PAID,
    accrued_share,
    due_and_accrued,
    initialise,
)
from usance.loan.kernel.state import IS_SETTLED as SETTLED_FLAG
from usance.loan.kernel.state import OVERPAID as OVERPAID_SLOT
from usance.loan.kernel.view import view

FIELD_COUNT = len(FIELDS)

_HEAVY = int(FundingModel.CAPITAL_HEAVY)
_COMPENSATED, _CHARGED_OFF = int(FactKind.COMPENSATED), int(FactKind.CHARGED_OFF)
_PENALTY_PART = 4
_YEAR_DAYS = 365


@kernel
def fold_part(
    plan: Plan, state: State, work: I64, facts: FactArrays, first: int, last: int, day: int
) -> int:
    """Facts of one loan from one position to another."""
    return fold_facts(plan, state, work, facts, first, last, BEFORE_FIRST_FACT, day)


@kernel
def cash(state: State, out: I64, row: int, field: int) -> None:
    """Cash received so far by component."""
    for c in range(4):
        out[row, field + c] = state[COVERED + c] - waived_amount(state, c)
    out[row, field + _PENALTY_PART] = state[PENALTY_PAID]


@kernel
def earn(
    plan: Plan, state: State, day: int, non_accrual: int, seen: I64, out: I64, row: int
) -> None:
    """What the loan has earned when it stops earning on a day, in `state` as it is then."""
    view(plan, state, day, seen, 0)
    earning_day = day - max(0, seen[0, 1] - non_accrual)
    last_due = due_day(plan, plan[COUNT] - 1)
    out[row, EARN_MONTH] = month_of(day)
    out[row, EARNING_DAY] = earning_day
    out[row, TERM_DAYS] = last_due - plan[DISBURSED]
    out[row, EARNED_DAYS] = min(max(earning_day - plan[DISBURSED], 0), out[row, TERM_DAYS])
    out[row, DUE_GUARANTEE] = seen[0, 6]
    principal, interest, guarantee, service, accrued, k = due_and_accrued(plan, state, earning_day)
    out[row, EARNED_INTEREST] = interest + accrued
    out[row, DUE_SERVICE] = service
    out[row, EARNED_FEE_INSTALMENTS] = guarantee + service
    has_fees = plan[FLAT] > 0 or plan[COUPON] != plan[RATE]
    if has_fees and k < plan[COUNT] and earning_day > plan[DISBURSED]:
        _, _, fee = instalment(plan, k, plan[PLAN_PRINCIPAL] - principal, state[LEVEL_MINOR])
        begun = period_start(plan, k)
        out[row, EARNED_FEE_INSTALMENTS] += accrued_share(fee, earning_day, begun, due_day(plan, k))
    for c in range(4):
        out[row, WAIVED + c] = waived_amount(state, c)
    cash(state, out, row, BEFORE)


@kernel
def later(plan: Plan, state: State, day: int, out: I64, row: int) -> None:
    """What is still to be paid and falls due more than a year after the close."""
    horizon = day + _YEAR_DAYS
    if state[META] & SETTLED_FLAG or due_day(plan, plan[COUNT] - 1) <= horizon:
        return
    principal, _, guarantee, service, _, _ = due_and_accrued(plan, state, horizon)
    out[row, NON_CURRENT_PRINCIPAL] = plan[PLAN_PRINCIPAL] - max(principal, state[COVERED])
    out[row, NON_CURRENT_GUARANTEE] = max(
        0, out[row, GUARANTEE] - max(guarantee, state[COVERED + 2])
    )
    out[row, NON_CURRENT_SERVICE] = max(0, out[row, SERVICE] - max(service, state[COVERED + 3]))


@kernel
def find_event(facts: FactArrays, first: int, last: int, model: int, until: int) -> tuple[int, int]:
    """The position after the fact that ends a loan's earning, and what it was."""
    _, days, kinds, _, _ = facts
    for at in range(first, last):
        if days[at] > until:
            break
        if kinds[at] == _CHARGED_OFF:
            return at + 1, CHARGE_OFF
        if kinds[at] == _COMPENSATED and model == _HEAVY:
            return at + 1, PAYOUT
    return last, NO_EVENT


@kernel
def stand(plan: Plan, state: State, seen: I64, event: int, out: I64, row: int) -> None:
    """Where a loan stands at the close, in `state` and `seen` as they are then."""
    out[row, DAYS_PAST_DUE], out[row, EVENT] = seen[0, 1], event
    fees = state[FEES] >> 32 if plan[PLAN_GUARANTEE] > 0 else fees_of(plan, state[LEVEL_MINOR])
    out[row, PRINCIPAL] = plan[PLAN_PRINCIPAL]
    out[row, GUARANTEE], out[row, SERVICE] = plan[PLAN_GUARANTEE], fees - plan[PLAN_GUARANTEE]
    out[row, IS_SETTLED] = 1 if state[META] & SETTLED_FLAG else 0
    out[row, OUTSTANDING] = plan[PLAN_PRINCIPAL] - state[COVERED]
    out[row, COMPENSATED], out[row, OVERPAID] = state[COMPENSATED_SLOT], state[OVERPAID_SLOT]
    cash(state, out, row, PAID)


@kernel
def standing(
    plan: Plan, state: State, work: I64, facts: FactArrays, first: int, last: int, model: int,
    day: int, seen: I64, out: I64, row: int,
) -> int:  # fmt: skip
    """Fill what exposures look at: where the loan stands, not what it has earned or cleared."""
    _, event = find_event(facts, first, last, model, day)
    refusal = fold_part(plan, state, work, facts, first, last, day)
    if refusal == OK and state[META] & IS_DISBURSED:
        view(plan, state, day, seen, 0)
        stand(plan, state, seen, event, out, row)
    return refusal


@kernel
def position(
    plan: Plan, state: State, work: I64, facts: FactArrays, first: int, last: int, model: int,
    day: int, cutoff: int, non_accrual: int, seen: I64, out: I64, row: int,
) -> int:  # fmt: skip
    """Fill one row of a loan that has begun; `OK`, or why a fact is refused."""
    days = facts[1]
    after_event, event = find_event(facts, first, last, model, day)
    cleared = first
    while cleared < last and days[cleared] <= cutoff:
        cleared += 1
    event_cleared = event != NO_EVENT and after_event <= cleared
    at = first
    if event_cleared:
        refusal = fold_part(plan, state, work, facts, at, after_event, day)
        if refusal != OK:
            return refusal
        earn(plan, state, i64(days[after_event - 1]), non_accrual, seen, out, row)
        at = after_event
    refusal = fold_part(plan, state, work, facts, at, cleared, day)
    if refusal != OK:
        return pack_refusal(refusal, at - first)
    cash(state, out, row, CLEARED)
    out[row, CLEARED_OVERPAID] = state[OVERPAID_SLOT]
    at = cleared
    if event != NO_EVENT and not event_cleared:
        refusal = fold_part(plan, state, work, facts, at, after_event, day)
        if refusal != OK:
            return pack_refusal(refusal, at - first)
        earn(plan, state, i64(days[after_event - 1]), non_accrual, seen, out, row)
        at = after_event
    refusal = fold_part(plan, state, work, facts, at, last, day)
    if refusal != OK:
        return pack_refusal(refusal, at - first)
    if not state[META] & IS_DISBURSED:
        return OK
    if event == NO_EVENT:
        earn(plan, state, day, non_accrual, seen, out, row)
    else:
        view(plan, state, day, seen, 0)
    stand(plan, state, seen, event, out, row)
    out[row, EVENT_CLEARED] = event_cleared
    later(plan, state, day, out, row)
    return OK


@kernel
def position_rows(
    start: int, stop: int, state: State, work: I64, seen: I64, terms: TermArrays,
    facts: FactArrays, models: I8, upfront: I64, fee_ppm: I32, day: int, cutoffs: I32, stride: int,
    non_accrual: int, whole: bool, out: I64, refused: I64,
) -> None:  # fmt: skip
    """Positions of rows `start … stop`, written to `out` from its first row on.

    Unless they are wanted `whole`, only where each loan stands.
    """
    offsets = facts[0]
    for row in range(start, stop):
        to = row - start
        for field in range(FIELD_COUNT):
            out[to, field] = 0
        model = i64(models[row])
        out[to, MODEL], out[to, FEE_PPM] = model, fee_ppm[row]
        plan = plan_at(terms, row)
        if record_refusal(refused, row, initialise(plan, state)):
            continue
        first, last = offsets[row], offsets[row + 1]
        if whole:
            refusal = position(
                plan, state, work, facts, first, last, model, day, i64(cutoffs[row * stride]),
                non_accrual, seen, out, to,
            )  # fmt: skip
        else:
            refusal = standing(plan, state, work, facts, first, last, model, day, seen, out, to)
        if not record_refusal(refused, row, refusal) and out[to, PRINCIPAL] > 0:
            out[to, UPFRONT] = upfront[row]
