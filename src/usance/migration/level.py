"""The level instalment of a running plan, and where its rounding difference goes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from usance.loan.convention import Amortisation
from usance.migration.factors import growth
from usance.migration.periods import Period
from usance.migration.running_plan import RunningPlan
from usance.migration.terms import InterestMethod

_ONE, _ZERO = Decimal(1), Decimal(0)
_ROUNDS = 3  # how often a level is tried again before its difference is accepted


def set_level(plan: RunningPlan, periods: Sequence[Period]) -> None:
    """Give some periods one amount that repays what is outstanding before them."""
    if not periods:
        return
    if plan.terms.amortisation is Amortisation.EQUAL_PRINCIPAL:
        _set_equal_principal(plan, periods)
        return
    flat = plan.terms.method is InterestMethod.FLAT
    level = _flat_level(plan, periods) if flat else _level(plan, periods)
    for period in periods:
        if level >= period.paid:
            period.level = period.agreed_level = level
    if flat:
        _flat_difference(plan, periods, level)


def _set_equal_principal(plan: RunningPlan, periods: Sequence[Period]) -> None:
    """Give some periods equal principal, each with the interest it bears."""
    first = _index(plan, periods[0])
    balance = periods[0].drawn + (plan.periods[first - 1].closing if first else 0)
    part = _rounded(plan, plan.math.part(balance, len(periods)))
    for period in periods:
        period.level = period.agreed_level = part
        plan.recompute()
        period.level = period.agreed_level = part + period.accrued
    periods[-1].level += balance - part * len(periods)
    plan.recompute()


def _level(plan: RunningPlan, periods: Sequence[Period]) -> int:
    math, first = plan.math, periods[0]
    index = _index(plan, first)
    balance = first.drawn + (plan.periods[index - 1].closing if index else 0)
    one, payments = growth(math, [_one_plus(period) for period in periods])
    amount = math.over(math.times(one, Decimal(balance)), payments)
    fixed = math.over(
        Decimal(sum(period.fixed_interest for period in periods)), Decimal(len(periods))
    )
    return _rounded(plan, math.whole(amount) + math.whole(fixed))


def _one_plus(period: Period) -> Decimal:
    if period.grace_interest or all(span.paused for span in period.spans):
        return _ONE
    return sum((span.level_factor for span in period.spans), _ONE)


def _rounded(plan: RunningPlan, amount: int) -> int:
    return plan.math.multiple(amount, plan.terms.multiple_of * 10**plan.terms.decimals)


def _flat_level(plan: RunningPlan, periods: Sequence[Period]) -> int:
    return _rounded(plan, plan.math.part(_flat_total(plan, periods), len(periods)))


def _flat_total(plan: RunningPlan, periods: Sequence[Period]) -> int:
    """Principal and interest that some periods have to bring under flat interest."""
    repaid = sum(period.principal for period in plan.periods[: _index(plan, periods[0])])
    return plan.drawn - repaid + sum(period.borne for period in periods)


def _flat_difference(plan: RunningPlan, periods: Sequence[Period], level: int) -> None:
    last = periods[-1]
    last.level = level + _flat_total(plan, periods) - level * len(periods)
    last.agreed_level = last.level
    plan.recompute()


def take_difference(plan: RunningPlan, till: date) -> None:
    """Let the last open instalment take what the level amounts leave over."""
    _release_prepaid(plan)
    plan.recompute()
    period = _last_open(plan)
    if period is None:
        return
    period.deferred = 0
    for each in plan.periods:
        each.taken_over = False
    plan.recompute()
    needed = plan.drawn + plan.credited_principal + sum(p.interest for p in plan.periods)
    level = period.level + needed - sum(p.capacity for p in plan.periods)
    if period.fixed_interest:
        level = max(level, period.paid_principal + period.fixed_interest)
    period.level = level
    least = period.paid - period.credited
    if level < least:
        period.level = least
        plan.recompute()
        take_difference(plan, till)
    plan.recompute()
    defer_excess_interest(plan, period, till)


def _release_prepaid(plan: RunningPlan) -> None:
    """Lower instalments that ask for more principal than the whole loan still has open."""
    open_principal = plan.open_principal
    for period in plan.periods:
        excess = period.open_principal - open_principal
        if excess > 0:
            period.level = max(period.level - excess, period.paid - period.credited, 0)


def _last_open(plan: RunningPlan) -> Period | None:
    for period in reversed(plan.periods):
        if not period.is_paid:
            return period
    last = plan.last
    return last if not plan.paid_principal and last.spans and last.closing else None


def defer_excess_interest(plan: RunningPlan, period: Period, till: date) -> None:
    """Let an instalment take over interest of later days for which theirs have no room."""
    if period is plan.last:
        return
    trial = plan.copied()
    on_it = any(end == period.end for _, _, end in trial.overdue)
    beyond = any(end > period.end for _, _, end in trial.overdue)
    if on_it and not beyond:
        for day, amount, _ in trial.overdue:
            trial.change_balance(day, correction=-amount)
    stop_interest(trial, till)
    trial.recompute()
    for each in reversed(trial.periods):
        if each.unplaced and each.end > period.end:
            period.deferred = each.unplaced
            for later in plan.periods:
                later.taken_over = later.taken_over or later.end > period.end
            break
    plan.recompute()


def stop_interest(plan: RunningPlan, till: date) -> None:
    """Let nothing bear interest after a day."""
    period = plan.period_at(till)
    if period:
        span = period.span_at(till, is_first=period is plan.periods[0])
        if span:
            span.end = till
    plan.rate()
    for each in plan.periods:
        for span in each.spans:
            if till < span.end:
                span.level_factor = span.interest_factor = _ZERO


def spread_difference(plan: RunningPlan, periods: Sequence[Period]) -> None:
    """Spread a large difference of the last instalment over all of them, if that makes it less."""
    equal_principal = plan.terms.amortisation is Amortisation.EQUAL_PRINCIPAL
    if not plan.terms.levelling or equal_principal:
        return
    trial = None
    for _ in range(_ROUNDS):
        level, difference = _last_difference(periods)
        if not _is_large(plan, periods, difference):
            return
        too_full = sum(1 for p in periods if p.grace_principal or level < p.paid)
        part = plan.math.part(difference, max(1, len(periods) - too_full))
        new_level = _rounded(plan, level + part)
        if new_level == level:
            return
        trial = trial or plan.copied()
        related = _neighbours(trial, periods)
        for period in related:
            if new_level >= period.paid:
                period.level = period.agreed_level = new_level
        trial.recompute()
        take_difference(trial, periods[0].end)
        if abs(_last_difference(trial.periods)[1]) >= abs(difference):
            return
        mine = [period for period in periods if not period.grace_principal]
        for period, tried in zip(mine, related, strict=False):
            period.level = period.agreed_level = tried.level
        plan.recompute()


def _neighbours(trial: RunningPlan, periods: Sequence[Period]) -> list[Period]:
    first = periods[0]
    return [
        period
        for period in trial.periods
        if period.start >= first.start
        and period.end >= first.end
        and not period.is_stub
        and not period.grace_principal
    ]


def _last_difference(periods: Sequence[Period]) -> tuple[int, int]:
    """The amount of the last but one open instalment, and how much the last differs."""
    for index in range(len(periods) - 1, 0, -1):
        last, before = periods[index], periods[index - 1]
        if last.grace_principal or before.grace_principal:
            continue
        if not last.is_paid and not before.is_paid:
            return before.level, last.level - before.level
    return periods[0].level, 0


def _is_large(plan: RunningPlan, periods: Sequence[Period], difference: int) -> bool:
    """More than a hundredth of a unit for every two instalments."""
    half = (len(periods) - sum(period.grace_principal for period in periods)) // 2
    return half > 0 and abs(difference) * 100 > half * 10**plan.terms.decimals


def _index(plan: RunningPlan, period: Period) -> int:
    return next(index for index, each in enumerate(plan.periods) if each is period)
