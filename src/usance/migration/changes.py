"""Changes of a running plan: money drawn, paid and credited, and a new rate.

Flat interest makes the plan as a whole, and anew with every disbursement.

>>> from datetime import date
>>> terms = MigratedTerms(disbursed_on=date(2024, 1, 1), rate_pct=Decimal(12), instalments=6)
>>> plan = RunningPlan.of(terms)
>>> draw(plan, date(2024, 1, 1), 100_00)
>>> [(period.principal, period.interest) for period in plan.periods][:2]
[(1625, 100), (1641, 84)]
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

from usance.loan.convention import PeriodUnit
from usance.migration.arithmetic import equal_parts
from usance.migration.dates import step
from usance.migration.level import set_level, spread_difference, take_difference
from usance.migration.periods import Period, new_period
from usance.migration.running_plan import RunningPlan
from usance.migration.terms import (
    InterestBasis,
    InterestMethod,
    MigratedTerms,
    PlanMethod,
    TrancheTerm,
)

_DAY = timedelta(days=1)
_UNITS_A_YEAR = {PeriodUnit.WEEKS: 52, PeriodUnit.MONTHS: 12, PeriodUnit.YEARS: 1}


def draw(plan: RunningPlan, day: date, amount: int) -> None:
    """A disbursement: what is then outstanding is levelled over the periods to come."""
    on = _draw_day(plan, day)
    if plan.terms.tranches is TrancheTerm.FULL_TERM and not plan.is_trial:
        _draw_full_term(plan, on, amount)
        return
    period = plan.change_balance(on, drawn=amount)
    if period:
        relevel(plan, _first_due(plan, period, on), on)


def _draw_full_term(plan: RunningPlan, day: date, amount: int) -> None:
    """A tranche brings its own full plan, which is added to the running one."""
    running = next((p for p in plan.periods if p.start <= day < p.end), None)
    begin = running.start if running else plan.last.end
    own = RunningPlan.of(
        plan.terms.changed(
            disbursed_on=begin, first_due_on=None, tranches=TrancheTerm.REMAINING_TERM
        )
    )
    own.factors.changes = list(plan.factors.changes)
    draw(own, day, amount)
    plan.change_balance(day, drawn=amount)
    by_dates = {period.dates: period for period in plan.periods}
    for period in own.periods:
        mine = by_dates.get(period.dates)
        if mine is None:
            mine = new_period(plan.last.end, period.end)
            plan.periods.append(mine)
        mine.level += period.principal + period.interest
        mine.agreed_level = mine.level
        plan.rate([mine])
    plan.recompute()
    take_difference(plan, day)


def _draw_day(plan: RunningPlan, day: date) -> date:
    """The day a disbursement bears interest from: the start of its period if only whole ones do."""
    terms = plan.terms
    if terms.basis is not InterestBasis.REPAYMENT_PERIOD or terms.part_periods:
        return day
    return next((period.start for period in plan.periods if period.end > day), day)


def _first_due(plan: RunningPlan, period: Period, day: date) -> date:
    """The due date of the first instalment a change on a day can reach."""
    is_whole = plan.terms.plan is PlanMethod.CUMULATIVE
    if period.end == day and period is not plan.last and not is_whole:
        return next(each.end for each in plan.periods if each.start >= day)
    return period.end


def change_rate(plan: RunningPlan, first_day: date, rate_pct: Decimal) -> None:
    """A new rate from a day on; what is outstanding is levelled anew."""
    after = first_day - _DAY
    plan.factors.change(after, rate_pct)
    period = plan.change_balance(after)
    if period:
        relevel(plan, _first_due(plan, period, after), after, in_place=True)


def relevel(plan: RunningPlan, due: date, day: date, *, in_place: bool = False) -> None:
    """Find the level amount of the instalments due from a day on, and place the difference.

    Unless it is done in place, the amount is found on a copy that knows no payments: what was
    paid early shortens the last instalments, not all of them.
    """
    periods = [period for period in plan.periods if period.end >= due]
    in_place = in_place or plan.is_empty or plan.is_trial
    plan.rate(periods)
    plan.recompute()
    if plan.terms.method is InterestMethod.FLAT:
        if plan.terms.plan is PlanMethod.CUMULATIVE:
            plan_flat(plan)
        else:
            set_level(plan, periods)
        return
    if in_place:
        set_level(plan, periods)
    else:
        _level_of_copy(plan, periods, day)
    _principal_grace(plan, periods)
    plan.recompute()
    take_difference(plan, due)
    if in_place:
        spread_difference(plan, periods)


def _level_of_copy(plan: RunningPlan, periods: Sequence[Period], day: date) -> None:
    copy = plan.copied()
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


def _principal_grace(plan: RunningPlan, periods: Sequence[Period]) -> None:
    """Within a grace instalments are interest alone; the others repay all."""
    for period in plan.periods[: plan.terms.grace_principal]:
        plan.recompute()
        if period in periods:
            period.level = period.agreed_level = period.interest
        period.grace_principal = True
    if plan.terms.grace_principal:
        plan.recompute()
        set_level(plan, [period for period in periods if not period.grace_principal])


def start(terms: MigratedTerms, amount: int) -> RunningPlan:
    """The plan of a loan drawn at once."""
    plan = RunningPlan.of(terms)
    draw(plan, terms.disbursed_on, amount)
    return plan


def pause(plan: RunningPlan, first: date, last: date) -> None:
    """Days that bear no interest, both ends included."""
    before = first - _DAY
    touched = [p for p in plan.periods if p.start < last and p.end >= first]
    for period in touched:
        begin, end = max(before, period.start), min(last, period.end)
        if not any(span.start == begin for span in period.spans):
            period.split(begin)
        if not any(span.end == end for span in period.spans):
            period.split(end)
        for span in period.spans:
            span.paused = span.paused or (span.start >= begin and span.end <= end)
    if touched:
        plan.rate()
        plan.recompute()
        take_difference(plan, touched[0].start)


def extend(plan: RunningPlan, first_day: date, count: int) -> None:
    """More instalments after the last; what is outstanding is levelled over all to come."""
    terms, start, number = plan.terms, plan.periods[0].start, len(plan.periods)
    for k in range(number, number + count):
        end = step(start, terms.unit, terms.every * (k + 1))
        plan.periods.append(new_period(plan.last.end, end))
    after = first_day - _DAY
    period = plan.change_balance(after)
    if period:
        relevel(plan, _first_due(plan, period, after), after, in_place=True)


def move_due_date(plan: RunningPlan, due: date, new_due: date) -> None:
    """Move an instalment to another day; those after it follow at their usual distance."""
    terms, begin = plan.terms, None
    for period in plan.periods:
        if begin is None and period.end != due:
            continue
        if begin is not None:
            period.start = begin
            period.spans[0].start = begin
            new_due = step(new_due, terms.unit, terms.every)
        period.end = period.spans[-1].end = begin = new_due
    plan.rate()
    plan.recompute()
    take_difference(plan, due)


def plan_flat(plan: RunningPlan) -> None:
    """Interest on all that was drawn, in equal parts; principal in equal parts of what was known.

    An instalment due before a later disbursement keeps its principal; the last takes the rest.
    """
    math, count = plan.math, len(plan.periods)
    interest = equal_parts(math, math.whole(_whole_interest(plan)), count)
    known = repaid = 0
    for index, period in enumerate(plan.periods):
        known += period.drawn
        is_last = index == count - 1
        principal = plan.drawn - repaid if is_last else math.part(known, count)
        repaid += principal
        period.closed = True
        period.fixed_interest = interest.part(index)
        period.level = period.agreed_level = _rounded(plan, principal, period.fixed_interest)
        repaid += period.level - principal - period.fixed_interest
    plan.last.level += plan.drawn - repaid
    plan.recompute()


def _rounded(plan: RunningPlan, principal: int, interest: int) -> int:
    unit = plan.terms.multiple_of * 10**plan.terms.decimals
    return plan.math.multiple(principal + interest, unit)


def _whole_interest(plan: RunningPlan) -> Decimal:
    """The interest of all periods together."""
    terms, math = plan.terms, plan.math
    drawn = Decimal(plan.drawn)
    if terms.basis is InterestBasis.REPAYMENT_PERIOD and terms.unit in _UNITS_A_YEAR:
        units = Decimal(terms.every * len(plan.periods))
        years = math.over(units, Decimal(_UNITS_A_YEAR[terms.unit]))
        return math.times(math.times(drawn, plan.factors.rate(terms.disbursed_on)), years)
    factors = (p.spans[-1].interest_factor for p in plan.periods)
    return math.times(drawn, sum(factors, Decimal(0)))
