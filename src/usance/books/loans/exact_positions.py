"""The position of one loan from the exact form: any convention, and terms that have changed.

Slow and plain. For our own conventions it gives the same numbers as the kernel, which makes it the
kernel's oracle; for a loan whose terms have changed it is the only form.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import FactKind, FundingModel
from usance.base.dates import to_day, to_month
from usance.books.effective_interest.expected_lives import Expected
from usance.books.effective_interest.loans import effective_rates, fees_earned
from usance.books.loans import positions as p
from usance.loan import exact
from usance.loan.columns import TermColumns, unsupported_term
from usance.loan.exact import ExactLoan
from usance.loan.facts import END_OF_TIME, Fact, visible
from usance.loan.terms import Terms
from usance.loan.views import ComponentAmounts, InstalmentState

_YEAR = timedelta(days=365)


def position_of(
    versions: Sequence[Terms],
    facts: Sequence[Fact],
    model: FundingModel,
    day: date,
    cutoff: date,
    *,
    fee_ppm: int = 0,
    non_accrual_days: int = 60,
    expected: Expected | None = None,
    known_at: datetime = END_OF_TIME,
) -> NDArray[np.int64]:
    """One row of `positions.FIELDS`; `versions` are the terms that changes of terms name."""
    out = np.zeros(len(p.FIELDS), np.int64)
    out[p.MODEL], out[p.FEE_PPM] = model, fee_ppm
    seen = visible(facts, as_of=day, known_at=known_at)
    if not seen:
        return out
    terms = list(versions)
    now = exact.replay(terms, seen, day)
    view = now.view()
    if view.disbursed == 0:
        return out
    event, after_event = _event(seen, model)
    cleared = [fact for fact in seen if fact.effective_on <= cutoff]
    until = seen[:after_event]
    stop = until[-1].effective_on if event else day
    before = exact.replay(terms, until, stop)
    _earn(out, terms, until, before, stop, non_accrual_days)
    _earn_fees(out, terms[0], model, expected)
    _put(out, p.BEFORE, before.view().paid)
    _put(out, p.PAID, view.paid)
    if cleared:
        settled = exact.replay(terms, cleared, cutoff).view()
        _put(out, p.CLEARED, settled.paid)
        out[p.CLEARED_OVERPAID] = settled.overpaid
    out[p.EVENT], out[p.EVENT_CLEARED] = event, bool(event) and after_event <= len(cleared)
    out[p.PRINCIPAL], out[p.UPFRONT] = view.disbursed, terms[0].upfront_fee_minor
    out[p.IS_SETTLED] = now.state.settled
    out[p.DAYS_PAST_DUE] = view.days_past_due
    out[p.OVERPAID], out[p.COMPENSATED] = view.overpaid, view.compensated
    out[p.OUTSTANDING] = view.principal_outstanding
    later = [row.outstanding for row in now.rows() if row.due_on > day + _YEAR]
    if not out[p.IS_SETTLED]:
        out[p.NON_CURRENT_PRINCIPAL] = sum(part.principal for part in later)
        out[p.NON_CURRENT_GUARANTEE] = sum(part.guarantee_fee for part in later)
        out[p.NON_CURRENT_SERVICE] = sum(part.service_fee for part in later)
    return out


def _event(seen: Sequence[Fact], model: FundingModel) -> tuple[int, int]:
    """What ends the loan's earning, and how many facts there are up to it."""
    for count, fact in enumerate(seen, start=1):
        if fact.kind is FactKind.CHARGED_OFF:
            return p.CHARGE_OFF, count
        if fact.kind is FactKind.COMPENSATED and model is FundingModel.CAPITAL_HEAVY:
            return p.PAYOUT, count
    return p.NO_EVENT, len(seen)


def _earn(
    out: NDArray[np.int64], terms: list[Terms], until: list[Fact], loan: ExactLoan, stop: date,
    non_accrual_days: int,
) -> None:  # fmt: skip
    """What is earned when the loan stops earning, and the fees of its whole plan."""
    view, rows, settled = loan.view(), loan.rows(), loan.state.settled
    late = max(0, view.days_past_due - non_accrual_days)
    earning_day = stop - timedelta(days=late)
    then = ExactLoan(loan.state, earning_day).view()
    term = (rows[-1].due_on - terms[0].disbursed_on).days
    out[p.EARN_MONTH], out[p.EARNING_DAY] = to_month(stop), to_day(earning_day)
    out[p.TERM_DAYS] = term
    out[p.EARNED_DAYS] = min(max((earning_day - terms[0].disbursed_on).days, 0), term)
    plan = _plan_rows(terms, until)
    out[p.GUARANTEE] = sum(row.due.guarantee_fee for row in plan)
    out[p.SERVICE] = sum(row.due.service_fee for row in plan)
    out[p.DUE_GUARANTEE], out[p.DUE_SERVICE] = view.due.guarantee_fee, then.due.service_fee
    out[p.EARNED_INTEREST] = then.interest_earned
    out[p.EARNED_FEE_INSTALMENTS] = then.due.guarantee_fee + then.due.service_fee
    if not settled:
        out[p.EARNED_FEE_INSTALMENTS] += _running_fee_instalment(
            rows, terms[0].disbursed_on, earning_day
        )
    out[p.WAIVED : p.WAIVED + 4] = view.waived[:4]


def _plan_rows(terms: list[Terms], facts: list[Fact]) -> list[InstalmentState]:
    """The plan while it was running: that of a settled loan is only what was covered."""
    for count in range(len(facts), 0, -1):
        loan = exact.replay(terms, facts[:count], facts[count - 1].effective_on)
        if not loan.state.settled:
            return loan.rows()
    return []


def _running_fee_instalment(rows: list[InstalmentState], disbursed_on: date, day: date) -> int:
    """By days, what is earned of the fees of the period that a day lies in."""
    begun = disbursed_on
    for row in rows:
        if row.due_on > day:
            fee = row.due.guarantee_fee + row.due.service_fee
            days, length = (day - begun).days, (row.due_on - begun).days
            return (2 * fee * days + length) // (2 * length)
        begun = row.due_on
    return 0


def _earn_fees(
    out: NDArray[np.int64], terms: Terms, model: FundingModel, expected: Expected | None
) -> None:
    """By the plan the loan was made with: a change of terms leaves the pattern of its fee."""
    if model is not FundingModel.ON_BALANCE_SHEET or unsupported_term(terms):
        return
    columns, upfront = TermColumns.of([terms]), np.array([terms.upfront_fee_minor], np.int64)
    days = out[[p.EARNING_DAY]].astype(np.int32)
    made, now = expected or (None, None)
    for place, then, today in ((p.EARNED_FEE, None, None), (p.EARNED_FEE_IFRS, made, now)):
        rates = effective_rates(columns, upfront, then)
        out[place] = fees_earned(columns, upfront, rates, days, today)[0]
        out[p.EFFECTIVE_PPB] = rates[0]


def _put(out: NDArray[np.int64], place: int, parts: ComponentAmounts) -> None:
    out[place : place + len(p.PARTS)] = parts
