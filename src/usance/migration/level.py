"""The level instalment of a running plan, and where its rounding difference goes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from usance.loan.convention import Amortisation
from usance.migration.factors import growth
from usance.migration.periods import Period
from usance.migration.running_plan import Model
from usance.migration.terms import InterestMethod

_ONE, _ZERO = Decimal(1), Decimal(0)
_ROUNDS = 3  # how often a level is tried again before its difference is accepted


def set_level(model: Model, periods: Sequence[Period]) -> None:
    """Give some periods one amount that repays what is outstanding before them."""
    if not periods:
        return
    if model.terms.amortisation is Amortisation.EQUAL_PRINCIPAL:
        _set_equal_principal(model, periods)
        return
    flat = model.terms.method is InterestMethod.FLAT
    level = _flat_level(model, periods) if flat else _level(model, periods)
    for period in periods:
        if level >= period.paid:
            period.level = period.agreed_level = level
    if flat:
        _flat_difference(model, periods, level)


def _set_equal_principal(model: Model, periods: Sequence[Period]) -> None:
    """Give some periods equal principal, each with the interest it bears."""
    first = _index(model, periods[0])
    balance = periods[0].drawn + (model.periods[first - 1].closing if first else 0)
    part = _rounded(model, model.math.part(balance, len(periods)))
    for period in periods:
        period.level = period.agreed_level = part
        model.refresh()
        period.level = period.agreed_level = part + period.accrued
    periods[-1].level += balance - part * len(periods)
    model.refresh()


def _level(model: Model, periods: Sequence[Period]) -> int:
    math, first = model.math, periods[0]
    index = _index(model, first)
    balance = first.drawn + (model.periods[index - 1].closing if index else 0)
    one, payments = growth(math, [_one_plus(period) for period in periods])
    amount = math.over(math.times(one, Decimal(balance)), payments)
    fixed = math.over(
        Decimal(sum(period.fixed_interest for period in periods)), Decimal(len(periods))
    )
    return _rounded(model, math.whole(amount) + math.whole(fixed))


def _one_plus(period: Period) -> Decimal:
    if period.grace_interest or all(span.paused for span in period.spans):
        return _ONE
    return sum((span.level_factor for span in period.spans), _ONE)


def _rounded(model: Model, amount: int) -> int:
    return model.math.multiple(amount, model.terms.multiple_of * 10**model.terms.decimals)


def _flat_level(model: Model, periods: Sequence[Period]) -> int:
    return _rounded(model, model.math.part(_flat_total(model, periods), len(periods)))


def _flat_total(model: Model, periods: Sequence[Period]) -> int:
    """Principal and interest that some periods have to bring under flat interest."""
    repaid = sum(period.principal for period in model.periods[: _index(model, periods[0])])
    return model.drawn - repaid + sum(period.borne for period in periods)


def _flat_difference(model: Model, periods: Sequence[Period], level: int) -> None:
    last = periods[-1]
    last.level = level + _flat_total(model, periods) - level * len(periods)
    last.agreed_level = last.level
    model.refresh()


def take_difference(model: Model, till: date) -> None:
    """Let the last open instalment take what the level amounts leave over."""
    _release_prepaid(model)
    model.refresh()
    period = _last_open(model)
    if period is None:
        return
    period.deferred = 0
    for each in model.periods:
        each.taken_over = False
    model.refresh()
    needed = model.drawn + model.credited_principal + sum(p.interest for p in model.periods)
    level = period.level + needed - sum(p.room for p in model.periods)
    if period.fixed_interest:
        level = max(level, period.paid_principal + period.fixed_interest)
    period.level = level
    least = period.paid - period.credited
    if level < least:
        period.level = least
        model.refresh()
        take_difference(model, till)
    model.refresh()
    defer_unplaced(model, period, till)


def _release_prepaid(model: Model) -> None:
    """Lower instalments that ask for more principal than the whole loan still has open."""
    open_principal = model.open_principal
    for period in model.periods:
        excess = period.open_principal - open_principal
        if excess > 0:
            period.level = max(period.level - excess, period.paid - period.credited, 0)


def _last_open(model: Model) -> Period | None:
    for period in reversed(model.periods):
        if not period.is_paid:
            return period
    last = model.last
    return last if not model.paid_principal and last.spans and last.closing else None


def defer_unplaced(model: Model, period: Period, till: date) -> None:
    """Let an instalment take over interest of later days for which theirs have no room."""
    if period is model.last:
        return
    trial = model.copied()
    on_it = any(end == period.end for _, _, end in trial.overdue)
    beyond = any(end > period.end for _, _, end in trial.overdue)
    if on_it and not beyond:
        for day, amount, _ in trial.overdue:
            trial.change_balance(day, correction=-amount)
    stop_interest(trial, till)
    trial.refresh()
    for each in reversed(trial.periods):
        if each.unplaced and each.end > period.end:
            period.deferred = each.unplaced
            for later in model.periods:
                later.taken_over = later.taken_over or later.end > period.end
            break
    model.refresh()


def stop_interest(model: Model, till: date) -> None:
    """Let nothing bear interest after a day."""
    period = model.period_at(till)
    if period:
        span = period.span_at(till, is_first=period is model.periods[0])
        if span:
            span.end = till
    model.rate()
    for each in model.periods:
        for span in each.spans:
            if till < span.end:
                span.level_factor = span.interest_factor = _ZERO


def even_out(model: Model, periods: Sequence[Period]) -> None:
    """Spread a large difference of the last instalment over all of them, if that makes it less."""
    equal_principal = model.terms.amortisation is Amortisation.EQUAL_PRINCIPAL
    if not model.terms.levelling or equal_principal:
        return
    trial = None
    for _ in range(_ROUNDS):
        level, difference = _last_difference(periods)
        if not _is_large(model, periods, difference):
            return
        too_full = sum(1 for p in periods if p.grace_principal or level < p.paid)
        part = model.math.part(difference, max(1, len(periods) - too_full))
        new_level = _rounded(model, level + part)
        if new_level == level:
            return
        trial = trial or model.copied()
        related = _related(trial, periods)
        for period in related:
            if new_level >= period.paid:
                period.level = period.agreed_level = new_level
        trial.refresh()
        take_difference(trial, periods[0].end)
        if abs(_last_difference(trial.periods)[1]) >= abs(difference):
            return
        mine = [period for period in periods if not period.grace_principal]
        for period, tried in zip(mine, related, strict=False):
            period.level = period.agreed_level = tried.level
        model.refresh()


def _related(trial: Model, periods: Sequence[Period]) -> list[Period]:
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


def _is_large(model: Model, periods: Sequence[Period], difference: int) -> bool:
    """More than a hundredth of a unit for every two instalments."""
    half = (len(periods) - sum(period.grace_principal for period in periods)) // 2
    return half > 0 and abs(difference) * 100 > half * 10**model.terms.decimals


def _index(model: Model, period: Period) -> int:
    return next(index for index, each in enumerate(model.periods) if each is period)
