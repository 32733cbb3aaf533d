"""Payments on a live plan: what falls due early, and how interest follows the real balance."""

from __future__ import annotations

from datetime import date

from usance.migration.level import defer_unplaced, stop_interest, take_difference
from usance.migration.periods import Period
from usance.migration.running_plan import Model
from usance.migration.terms import PreClosure, Recalculation, Rest


def correct(model: Model, day: date, amount: int, *, for_overdue: bool = False) -> None:
    """Change the balance that bears interest, without changing what was drawn."""
    period = model.change_balance(day, correction=amount)
    if period:
        if for_overdue:
            model.overdue.append((day, amount, period.end))
        model.rate([period])
        model.refresh()
        take_difference(model, day)


def pay_interest(model: Model, period: Period, day: date, amount: int) -> None:
    """Interest paid for a period on a day."""
    still_open = [each for each in model.periods if not each.is_paid]
    if still_open and still_open[-1] is period is not model.last and day >= period.end:
        defer_unplaced(model, period, day)
    period.paid_interest += min(amount, model.open_interest)
    model.refresh()
    take_difference(model, day)


def pay_principal(model: Model, period: Period, day: date, amount: int) -> None:
    """Principal paid for a period on a day; what is paid late counts from its due date."""
    if not amount:
        return
    period.paid_principal += min(amount, model.open_principal)
    counts_from = min(day, period.end)
    correct(model, counts_from, -amount)
    several = sum(1 for each in model.periods if not each.is_paid) > 1
    if several and day < period.start:
        full = period.agreed_level + period.credited
        if period.paid > period.room or period.paid == full:
            period.level = period.paid - period.credited
            model.refresh()
    take_difference(model, counts_from)


def credit(model: Model, day: date, principal: int, interest: int) -> None:
    """A chargeback: principal and interest owed again with the running period."""
    period = model.change_balance(day, correction=principal)
    if period is None:
        return
    for each in model.periods:
        if each.start <= day < each.end or (each is model.last and day == each.end):
            spans = [span for span in each.spans if span.start == day]
            if spans:
                spans[-1].credited_principal += principal
                spans[-1].credited_interest += interest
            break
    model.rate([period])
    model.refresh()
    take_difference(model, day)


def due_early(model: Model, period: Period, day: date) -> tuple[int, int]:
    """Principal and interest that settle a coming instalment on a day."""
    trial = until(model, day)
    mine = trial.period_of(*period.dates)
    assert mine is not None
    several = sum(1 for each in trial.periods if not each.is_paid)
    if day <= mine.start:
        _fit_early(trial, mine, several, period)
        trial.refresh()
    return mine.principal, mine.interest


def _fit_early(trial: Model, mine: Period, still_open: int, period: Period) -> None:
    """Give a coming instalment the amount it was agreed with, within what the loan has open."""
    if mine.re_aged:
        mine.level = period.level
    elif still_open > 1:
        mine.level = mine.agreed_level
        trial.refresh()
        mine.level -= max(0, mine.open_principal - trial.open_principal)
    elif mine.is_paid and still_open == 1:
        left = trial.open_principal + mine.paid_principal + mine.interest
        mine.level = min(mine.agreed_level, left)


def until(model: Model, day: date) -> Model:
    """A copy in which nothing happens after a day."""
    trial = model.copied()
    if day < trial.periods[0].start:
        for period in trial.periods:
            period.spans.clear()
        trial.refresh()
        return trial
    if day >= trial.last.end:
        return trial
    running = trial.period_at(day)
    assert running is not None
    before = None
    for period in trial.periods:
        if period.end > day:
            _cut_after(trial, period, running, before, day)
        before = period
    trial.rate()
    trial.refresh()
    take_difference(trial, day)
    return trial


def _cut_after(
    trial: Model, period: Period, running: Period, before: Period | None, day: date
) -> None:
    if period is running:
        span = period.span_at(day, is_first=period is trial.periods[0])
        if span:
            place = next(i for i, each in enumerate(period.spans) if each is span)
            span.end = day
            for following in period.spans[place + 1 : place + 2]:
                span.credited_principal += following.credited_principal
                span.credited_interest += following.credited_interest
            del period.spans[place + 1 :]
        return
    first = period.spans[0] if period.spans else None
    if before is running and first and (first.credited_principal or first.credited_interest):
        first.end = first.start
        del period.spans[1:]
    else:
        period.spans.clear()


def open_on(model: Model, day: date) -> tuple[int, int]:
    """Principal and interest that settle the loan on a day."""
    trial = model.copied()
    stop_interest(trial, day)
    trial.refresh()
    take_difference(trial, day)
    return trial.open_principal, trial.open_interest


def interest_on(model: Model, day: date) -> int:
    """All interest that has fallen due or accrued by a day."""
    return sum(due_early(model, period, day)[1] for period in model.periods)


def bear_overdue(model: Model, rule: Recalculation, till: date, *, settles: bool = False) -> None:
    """Let principal that is overdue bear interest up to a day."""
    today = min(till, model.last.end)
    overdue = [p for p in model.periods if today > p.end and not p.is_stub]
    if not overdue or not rule.past_due_bears:
        return
    running = model.period_at(today) or model.last
    latest = total = 0
    for period in overdue:
        if latest:
            _bear(model, rule, period, today, latest, total, settles)
        latest = period.open_principal
        total += latest
    if running is not model.last or today <= model.last.end:
        _bear(model, rule, running, today, latest, total, settles)
    if total and (model.overdue_until is None or model.overdue_until < today):
        model.overdue_until = today


def _bear(
    model: Model, rule: Recalculation, period: Period, today: date,
    latest: int, total: int, settles: bool,
) -> None:  # fmt: skip
    known = model.overdue_until
    if today == known:
        return
    since = period.start if known is None or period.start > known else known
    correct(model, since, latest, for_overdue=True)
    if period.start < today <= period.end:
        end = period.end if to_rest_date(rule, settles=settles) else today
        correct(model, end, -total, for_overdue=True)
        model.overdue_until = end


def to_rest_date(rule: Recalculation, *, settles: bool) -> bool:
    """Whether interest on what is overdue runs to the end of the running period."""
    if rule.pre_closure is not PreClosure.TILL_REST:
        return False
    return settles if rule.rest is Rest.DAILY else True
