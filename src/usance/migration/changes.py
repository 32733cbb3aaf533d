"""What changes a running plan: money drawn, paid and credited, and a new rate.

>>> from datetime import date
>>> terms = ForeignTerms(disbursed_on=date(2024, 1, 1), rate_pct=Decimal(12), instalments=6)
>>> model = Model.of(terms)
>>> draw(model, date(2024, 1, 1), 100_00)
>>> [(period.principal, period.interest) for period in model.periods][:2]
[(1625, 100), (1641, 84)]
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

from usance.migration.cumulative import plan_flat
from usance.migration.dates import step
from usance.migration.level import even_out, set_level, take_difference
from usance.migration.periods import Period, new_period
from usance.migration.running_plan import Model
from usance.migration.terms import (
    ForeignTerms,
    InterestBasis,
    InterestMethod,
    Plan,
    Tranches,
)

_DAY = timedelta(days=1)


def draw(model: Model, day: date, amount: int) -> None:
    """A disbursement: what is then outstanding is levelled over the periods to come."""
    on = _draw_day(model, day)
    if model.terms.tranches is Tranches.FULL_TERM and not model.is_trial:
        _draw_full_term(model, on, amount)
        return
    period = model.change_balance(on, drawn=amount)
    if period:
        relevel(model, _first_due(model, period, on), on)


def _draw_full_term(model: Model, day: date, amount: int) -> None:
    """A tranche brings its own full plan, which is added to the running one."""
    running = next((p for p in model.periods if p.start <= day < p.end), None)
    begin = running.start if running else model.last.end
    own = Model.of(
        model.terms.changed(disbursed_on=begin, first_due_on=None, tranches=Tranches.REMAINING_TERM)
    )
    own.factors.changes = list(model.factors.changes)
    draw(own, day, amount)
    model.change_balance(day, drawn=amount)
    by_dates = {period.dates: period for period in model.periods}
    for period in own.periods:
        mine = by_dates.get(period.dates)
        if mine is None:
            mine = new_period(model.last.end, period.end)
            model.periods.append(mine)
        mine.level += period.principal + period.interest
        mine.agreed_level = mine.level
        model.rate([mine])
    model.refresh()
    take_difference(model, day)


def _draw_day(model: Model, day: date) -> date:
    """Where whole periods alone bear interest, money is drawn at the start of its period."""
    terms = model.terms
    if terms.basis is not InterestBasis.REPAYMENT_PERIOD or terms.part_periods:
        return day
    return next((period.start for period in model.periods if period.end > day), day)


def _first_due(model: Model, period: Period, day: date) -> date:
    """The due date of the first instalment a change on a day can reach."""
    is_whole = model.terms.plan is Plan.CUMULATIVE
    if period.end == day and period is not model.last and not is_whole:
        return next(each.end for each in model.periods if each.start >= day)
    return period.end


def change_rate(model: Model, first_day: date, rate_pct: Decimal) -> None:
    """A new rate from a day on; what is outstanding is levelled anew."""
    after = first_day - _DAY
    model.factors.change(after, rate_pct)
    period = model.change_balance(after)
    if period:
        relevel(model, _first_due(model, period, after), after, in_place=True)


def relevel(model: Model, due: date, day: date, *, in_place: bool = False) -> None:
    """Find the level amount of the instalments due from a day on, and place the difference.

    Unless it is done in place, the amount is found on a copy that knows no payments: what was
    paid early shortens the last instalments, not all of them.
    """
    periods = [period for period in model.periods if period.end >= due]
    in_place = in_place or model.is_empty or model.is_trial
    model.rate(periods)
    model.refresh()
    if model.terms.method is InterestMethod.FLAT:
        if model.terms.plan is Plan.CUMULATIVE:
            plan_flat(model)
        else:
            set_level(model, periods)
        return
    if in_place:
        set_level(model, periods)
    else:
        _level_of_copy(model, periods, day)
    _principal_grace(model, periods)
    model.refresh()
    take_difference(model, due)
    if in_place:
        even_out(model, periods)


def _level_of_copy(model: Model, periods: Sequence[Period], day: date) -> None:
    copy = model.copied()
    copy.is_trial = True
    for period in copy.periods:
        period.paid_principal = period.paid_interest = period.deferred = 0
        for span in period.spans:
            span.correction = 0
    draw(copy, day, 0)
    by_due = {period.end: period for period in copy.periods}
    for period in periods:
        found = by_due.get(period.end)
        if found:
            period.level, period.agreed_level = found.level, found.agreed_level


def _principal_grace(model: Model, periods: Sequence[Period]) -> None:
    """Within a grace instalments are interest alone; the others repay all."""
    for period in model.periods[: model.terms.grace_principal]:
        model.refresh()
        if period in periods:
            period.level = period.agreed_level = period.interest
        period.grace_principal = True
    if model.terms.grace_principal:
        model.refresh()
        set_level(model, [period for period in periods if not period.grace_principal])


def start(terms: ForeignTerms, amount: int) -> Model:
    """The plan of a loan drawn at once."""
    model = Model.of(terms)
    draw(model, terms.disbursed_on, amount)
    return model


def pause(model: Model, first: date, last: date) -> None:
    """Days that bear no interest, both ends included."""
    before = first - _DAY
    touched = [p for p in model.periods if p.start < last and p.end >= first]
    for period in touched:
        begin, end = max(before, period.start), min(last, period.end)
        if not any(span.start == begin for span in period.spans):
            period.split(begin)
        if not any(span.end == end for span in period.spans):
            period.split(end)
        for span in period.spans:
            span.paused = span.paused or (span.start >= begin and span.end <= end)
    if touched:
        model.rate()
        model.refresh()
        take_difference(model, touched[0].start)


def extend(model: Model, first_day: date, count: int) -> None:
    """More instalments after the last; what is outstanding is levelled over all to come."""
    terms, start, number = model.terms, model.periods[0].start, len(model.periods)
    for k in range(number, number + count):
        end = step(start, terms.unit, terms.every * (k + 1))
        model.periods.append(new_period(model.last.end, end))
    after = first_day - _DAY
    period = model.change_balance(after)
    if period:
        relevel(model, _first_due(model, period, after), after, in_place=True)


def move_due_date(model: Model, due: date, new_due: date) -> None:
    """Move an instalment to another day; those after it follow at their usual distance."""
    terms, begin = model.terms, None
    for period in model.periods:
        if begin is None and period.end != due:
            continue
        if begin is not None:
            period.start = begin
            period.spans[0].start = begin
            new_due = step(new_due, terms.unit, terms.every)
        period.end = period.spans[-1].end = begin = new_due
    model.rate()
    model.refresh()
    take_difference(model, due)
