"""Positions of a column of loans, on or off the balance sheet, from terms and facts in one pass."""

from __future__ import annotations

from typing import NamedTuple

from usance.base.arrays import I8, I32, I64, i64
from usance.base.codes import FactKind, FundingModel
from usance.base.compiled import kernel
from usance.base.refusals import pack_refusal
from usance.books.loans.positions import CHARGE_OFF, FIELDS, NO_EVENT, PAYOUT
from usance.books.loans.positions import POSITION as P
from usance.loan.kernel.arrays import FactArrays, Plan, State, TermArrays
from usance.loan.kernel.batch import plan_at, record_refusal
from usance.loan.kernel.facts import waived_amount
from usance.loan.kernel.fold import BEFORE_FIRST_FACT, fold_facts
from usance.loan.kernel.plan import (
    due_day,
    fees_of,
    instalment,
    month_of,
    period_start,
)
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


class Scratch(NamedTuple):
    """Memory that every loan of a call uses again."""

    state: State
    work: I64
    view_row: I64


class LoanArrays(NamedTuple):
    """A column of loans: terms, facts, and what the books add to them."""

    terms: TermArrays
    facts: FactArrays
    model: I8
    upfront_fee_minor: I64
    fee_ppm: I32


class ClosingDay(NamedTuple):
    """The day of a close, the last day of cleared cash of each loan, and days to non-accrual."""

    day: int
    cutoffs: I32
    """One for each loan; one for all with a stride of 0."""
    stride: int
    non_accrual_days: int


class OneLoan(NamedTuple):
    """The facts of one loan, `first` to `last` of a column, and its part of the closing day."""

    facts: FactArrays
    first: int
    last: int
    model: int
    day: int
    cutoff: int
    non_accrual_days: int


@kernel
def fold_part(plan: Plan, scratch: Scratch, loan: OneLoan, first: int, last: int) -> int:
    """Apply facts of one loan from one place to another; `OK`, or a packed refusal."""
    refusal = fold_facts(
        plan, scratch.state, scratch.work, loan.facts, first, last, BEFORE_FIRST_FACT, loan.day
    )
    return OK if refusal == OK else pack_refusal(refusal, first - loan.first)


@kernel
def fill_cash(state: State, out: I64, field: int) -> None:
    """Cash received so far by component, from a field on."""
    for c in range(4):
        out[field + c] = state[COVERED + c] - waived_amount(state, c)
    out[field + _PENALTY_PART] = state[PENALTY_PAID]


@kernel
def fill_earned(plan: Plan, scratch: Scratch, day: int, non_accrual: int, out: I64) -> None:
    """Interest and fees of a loan that stops earning on a day, in its state of that day."""
    state = scratch.state
    view(plan, state, day, scratch.view_row, 0)
    earning_day = day - max(0, scratch.view_row[0, 1] - non_accrual)
    last_due = due_day(plan, plan.instalments - 1)
    out[P.earn_month] = month_of(day)
    out[P.earning_day] = earning_day
    out[P.term_days] = last_due - plan.disbursed_day
    out[P.earned_days] = min(max(earning_day - plan.disbursed_day, 0), out[P.term_days])
    out[P.due_guarantee] = scratch.view_row[0, 6]
    principal, interest, guarantee, service, accrued, k = due_and_accrued(plan, state, earning_day)
    out[P.earned_interest] = interest + accrued
    out[P.due_service] = service
    out[P.earned_fee_instalments] = guarantee + service
    has_fees = plan.flat_fee > 0 or plan.coupon_ppm != plan.rate_ppm
    if has_fees and k < plan.instalments and earning_day > plan.disbursed_day:
        _, _, fee = instalment(plan, k, plan.principal - principal, state[LEVEL_MINOR])
        begun = period_start(plan, k)
        out[P.earned_fee_instalments] += accrued_share(fee, earning_day, begun, due_day(plan, k))
    for c in range(4):
        out[P.waived_principal + c] = waived_amount(state, c)
    fill_cash(state, out, P.before_principal)


@kernel
def fill_non_current(plan: Plan, state: State, day: int, out: I64) -> None:
    """Parts still to be paid that fall due more than a year after the close."""
    horizon = day + _YEAR_DAYS
    if state[META] & SETTLED_FLAG or due_day(plan, plan.instalments - 1) <= horizon:
        return
    principal, _, guarantee, service, _, _ = due_and_accrued(plan, state, horizon)
    guarantee = max(guarantee, state[COVERED + 2])
    service = max(service, state[COVERED + 3])
    out[P.non_current_principal] = plan.principal - max(principal, state[COVERED])
    out[P.non_current_guarantee] = max(0, out[P.guarantee] - guarantee)
    out[P.non_current_service] = max(0, out[P.service] - service)


@kernel
def find_event(loan: OneLoan) -> tuple[int, int]:
    """The place after the fact that ends a loan's earning, and the event."""
    _, days, kinds, _, _ = loan.facts
    for at in range(loan.first, loan.last):
        if days[at] > loan.day:
            break
        if kinds[at] == _CHARGED_OFF:
            return at + 1, CHARGE_OFF
        if kinds[at] == _COMPENSATED and loan.model == _HEAVY:
            return at + 1, PAYOUT
    return loan.last, NO_EVENT


@kernel
def fill_balances(plan: Plan, scratch: Scratch, event: int, out: I64) -> None:
    """Balances of a loan at the close, in its state and view of that day."""
    state = scratch.state
    out[P.days_past_due], out[P.event] = scratch.view_row[0, 1], event
    fees = state[FEES] >> 32 if plan.guarantee_fee > 0 else fees_of(plan, state[LEVEL_MINOR])
    out[P.principal] = plan.principal
    out[P.guarantee], out[P.service] = plan.guarantee_fee, fees - plan.guarantee_fee
    out[P.is_settled] = 1 if state[META] & SETTLED_FLAG else 0
    out[P.outstanding] = plan.principal - state[COVERED]
    out[P.compensated], out[P.overpaid] = state[COMPENSATED_SLOT], state[OVERPAID_SLOT]
    fill_cash(state, out, P.paid_principal)


@kernel
def balances_only(plan: Plan, scratch: Scratch, loan: OneLoan, out: I64) -> int:
    """Fill the balances of one loan, as exposures need them; `OK`, or a packed refusal."""
    _, event = find_event(loan)
    refusal = fold_part(plan, scratch, loan, loan.first, loan.last)
    if refusal == OK and scratch.state[META] & IS_DISBURSED:
        view(plan, scratch.state, loan.day, scratch.view_row, 0)
        fill_balances(plan, scratch, event, out)
    return refusal


@kernel
def position(plan: Plan, scratch: Scratch, loan: OneLoan, out: I64) -> int:
    """Fill the position of one loan; `OK`, or a packed refusal."""
    days, state, non_accrual = loan.facts[1], scratch.state, loan.non_accrual_days
    after_event, event = find_event(loan)
    cleared = loan.first
    while cleared < loan.last and days[cleared] <= loan.cutoff:
        cleared += 1
    event_cleared = event != NO_EVENT and after_event <= cleared
    at = loan.first
    if event_cleared:
        refusal = fold_part(plan, scratch, loan, at, after_event)
        if refusal != OK:
            return refusal
        fill_earned(plan, scratch, i64(days[after_event - 1]), non_accrual, out)
        at = after_event
    refusal = fold_part(plan, scratch, loan, at, cleared)
    if refusal != OK:
        return refusal
    fill_cash(state, out, P.cleared_principal)
    out[P.cleared_overpaid] = state[OVERPAID_SLOT]
    at = cleared
    if event != NO_EVENT and not event_cleared:
        refusal = fold_part(plan, scratch, loan, at, after_event)
        if refusal != OK:
            return refusal
        fill_earned(plan, scratch, i64(days[after_event - 1]), non_accrual, out)
        at = after_event
    refusal = fold_part(plan, scratch, loan, at, loan.last)
    if refusal != OK:
        return refusal
    if not state[META] & IS_DISBURSED:
        return OK
    if event == NO_EVENT:
        fill_earned(plan, scratch, loan.day, non_accrual, out)
    else:
        view(plan, state, loan.day, scratch.view_row, 0)
    fill_balances(plan, scratch, event, out)
    out[P.event_cleared] = event_cleared
    fill_non_current(plan, state, loan.day, out)
    return OK


@kernel
def position_rows(
    start: int, stop: int, scratch: Scratch, loans: LoanArrays, close: ClosingDay, whole: bool,
    out: I64, refused: I64,
) -> None:  # fmt: skip
    """Positions of loans `start … stop`, in `out` from its first row on; unless `whole`, balances.

    A refused loan is counted in `refused`.
    """
    offsets = loans.facts[0]
    for row in range(start, stop):
        to = out[row - start]
        for field in range(FIELD_COUNT):
            to[field] = 0
        model = i64(loans.model[row])
        to[P.model], to[P.fee_ppm] = model, loans.fee_ppm[row]
        plan = plan_at(loans.terms, row)
        if record_refusal(refused, row, initialise(plan, scratch.state)):
            continue
        loan = OneLoan(
            loans.facts, offsets[row], offsets[row + 1], model, close.day,
            i64(close.cutoffs[row * close.stride]), close.non_accrual_days,
        )  # fmt: skip
        if whole:
            refusal = position(plan, scratch, loan, to)
        else:
            refusal = balances_only(plan, scratch, loan, to)
        if not record_refusal(refused, row, refusal) and to[P.principal] > 0:
            to[P.upfront] = loans.upfront_fee_minor[row]
