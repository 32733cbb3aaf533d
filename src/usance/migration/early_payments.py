"""Payments on a live plan: what falls due early, and how interest follows the real balance."""

from __future__ import annotations

from datetime import date

from usance.migration.level import defer_excess_interest, stop_interest, take_difference
from usance.migration.periods import Period
from usance.migration.running_plan import RunningPlan
from usance.migration.terms import PreClosureInterest, Recalculation, RestFrequency


def correct_balance(
    plan: RunningPlan, day: date, amount: int, *, for_overdue: bool = False
) -> None:
    """Change the balance that bears interest, without changing what was drawn."""
    period = plan.change_balance(day, correction=amount)
    if period:
        if for_overdue:
            plan.overdue.append((day, amount, period.end))
        plan.rate([period])
        plan.recompute()
        take_difference(plan, day)


def pay_interest(plan: RunningPlan, period: Period, day: date, amount: int) -> None:
    """Interest paid for a period on a day."""
    still_open = [each for each in plan.periods if not each.is_paid]
    if still_open and still_open[-1] is period is not plan.last and day >= period.end:
        defer_excess_interest(plan, period, day)
    period.paid_interest += min(amount, plan.open_interest)
    plan.recompute()
    take_difference(plan, day)


def pay_principal(plan: RunningPlan, period: Period, day: date, amount: int) -> None:
    """Principal paid for a period on a day; what is paid late counts from its due date."""
    if not amount:
        return
    period.paid_principal += min(amount, plan.open_principal)
    counts_from = min(day, period.end)
    correct_balance(plan, counts_from, -amount)
    several = sum(1 for each in plan.periods if not each.is_paid) > 1
    if several and day < period.start:
        full = period.agreed_level + period.credited
        if period.paid > period.capacity or period.paid == full:
            period.level = period.paid - period.credited
            plan.recompute()
    take_difference(plan, counts_from)


def charge_back_to_plan(plan: RunningPlan, day: date, principal: int, interest: int) -> None:
    """A chargeback: principal and interest owed again with the running period."""
    period = plan.change_balance(day, correction=principal)
    if period is None:
        return
    for each in plan.periods:
        if each.start <= day < each.end or (each is plan.last and day == each.end):
            spans = [span for span in each.spans if span.start == day]
            if spans:
                spans[-1].credited_principal += principal
                spans[-1].credited_interest += interest
            break
    plan.rate([period])
    plan.recompute()
    take_difference(plan, day)


def settlement_of_instalment(plan: RunningPlan, period: Period, day: date) -> tuple[int, int]:
    """Principal and interest that settle a coming instalment on a day."""
    trial = plan_until(plan, day)
    mine = trial.period_of(*period.dates)
    assert mine is not None
    several = sum(1 for each in trial.periods if not each.is_paid)
    if day <= mine.start:
        _fit_agreed_level(trial, mine, several, period)
        trial.recompute()
    return mine.principal, mine.interest


def _fit_agreed_level(trial: RunningPlan, mine: Period, still_open: int, period: Period) -> None:
    """Give a coming instalment the amount it was agreed with, within what the loan has open."""
    if mine.re_aged:
        mine.level = period.level
    elif still_open > 1:
        mine.level = mine.agreed_level
        trial.recompute()
        mine.level -= max(0, mine.open_principal - trial.open_principal)
    elif mine.is_paid and still_open == 1:
        left = trial.open_principal + mine.paid_principal + mine.interest
        mine.level = min(mine.agreed_level, left)


def plan_until(plan: RunningPlan, day: date) -> RunningPlan:
    """A copy in which nothing happens after a day."""
    trial = plan.copied()
    if day < trial.periods[0].start:
        for period in trial.periods:
            period.spans.clear()
        trial.recompute()
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
    trial.recompute()
    take_difference(trial, day)
    return trial


def _cut_after(
    trial: RunningPlan, period: Period, running: Period, before: Period | None, day: date
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


def settlement_on(plan: RunningPlan, day: date) -> tuple[int, int]:
    """Principal and interest that settle the loan on a day."""
    trial = plan.copied()
    stop_interest(trial, day)
    trial.recompute()
    take_difference(trial, day)
    return trial.open_principal, trial.open_interest


def interest_on(plan: RunningPlan, day: date) -> int:
    """All interest that has fallen due or accrued by a day."""
    return sum(settlement_of_instalment(plan, period, day)[1] for period in plan.periods)


def accrue_overdue(
    plan: RunningPlan, rule: Recalculation, till: date, *, settles: bool = False
) -> None:
    """Accrue interest on overdue principal up to a day."""
    today = min(till, plan.last.end)
    overdue = [p for p in plan.periods if today > p.end and not p.is_stub]
    if not overdue or not rule.past_due_bears:
        return
    running = plan.period_at(today) or plan.last
    latest = total = 0
    for period in overdue:
        if latest:
            _accrue_period(plan, rule, period, today, latest, total, settles)
        latest = period.open_principal
        total += latest
    if running is not plan.last or today <= plan.last.end:
        _accrue_period(plan, rule, running, today, latest, total, settles)
    if total and (plan.overdue_until is None or plan.overdue_until < today):
        plan.overdue_until = today


def _accrue_period(
    plan: RunningPlan, rule: Recalculation, period: Period, today: date,
    latest: int, total: int, settles: bool,
) -> None:  # fmt: skip
    known = plan.overdue_until
    if today == known:
        return
    since = period.start if known is None or period.start > known else known
    correct_balance(plan, since, latest, for_overdue=True)
    if period.start < today <= period.end:
        end = period.end if accrues_to_rest_date(rule, settles=settles) else today
        correct_balance(plan, end, -total, for_overdue=True)
        plan.overdue_until = end


def accrues_to_rest_date(rule: Recalculation, *, settles: bool) -> bool:
    """True if interest on overdue principal runs to the end of the running period."""
    if rule.pre_closure is not PreClosureInterest.TILL_REST:
        return False
    return settles if rule.rest is RestFrequency.DAILY else True
