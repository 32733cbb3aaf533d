"""Results of each class of a deal: average life, yield, shortfall, break-even, expected loss.

>>> from usance.fund.sample import sample_deal
>>> found = class_results(sample_deal())
>>> found["A"].wal_ppm, found["A"].yield_ppb, found["A"].break_even_hundredths
(455122, 32467946, 1447)
>>> found["B"].expected_loss_ppm, found["S"].break_even_hundredths
(14676, None)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal, localcontext

from usance.base.money import half_up
from usance.base.rates import PPB, PPM
from usance.fund.curves import RateCurve
from usance.fund.deal import Deal, NoteClass, Scenario
from usance.fund.errors import DealError
from usance.fund.projection import Projection, Stratum, project
from usance.loan.rates.annual import Flow, irr_by_dates
from usance.loan.rates.equation import RateNotFound

DAYS_A_YEAR = 365
MAX_MULTIPLE = 2_000
"""Hundredths: no break-even is looked for beyond twenty times the expected defaults."""

Shorts = Callable[[Sequence[Scenario]], list[dict[str, int]]]
"""A function to the amounts that each class lacks at the end of each scenario."""


@dataclass(frozen=True, slots=True)
class ClassResult:
    """Results of one class; the last two for a class with a rate."""

    wal_ppm: int | None
    """Weighted average life in years: principal × days over 365 over principal."""
    yield_ppb: int | None
    short_minor: int
    break_even_hundredths: int | None = None
    expected_loss_ppm: int | None = None


def class_results(
    deal: Deal, *, shorts: Shorts | None = None, strata: Sequence[Stratum] = ()
) -> dict[str, ClassResult]:
    """The results of every class at par; `shorts` by the kernel is many times quicker."""
    shorts = shorts or (lambda scenarios: exact_shorts(deal, scenarios, strata))
    found = project(deal, strata=strata)
    rated = [each for each in deal.classes if each.rate_ppm]
    break_even = break_evens(rated, shorts)
    loss = expected_losses(rated, deal.scenarios, shorts)
    return {
        each.name: ClassResult(
            average_life_ppm(found, each.name),
            class_yield_ppb(found, each.name),
            found.short_minor(each.name),
            break_even.get(each.name),
            loss.get(each.name),
        )
        for each in deal.classes
    }


def average_life_ppm(projection: Projection, name: str, since: date | None = None) -> int | None:
    """The weighted average life of a class in millionths of a year; None without principal.

    It is counted from the closing, or for dates to come from another day.
    """
    closing = since or projection.deal.closing_on
    paid = [
        (row.classes[name].principal_minor, (row.paid_on - closing).days)
        for row in projection.distributions
    ]
    whole = sum(amount for amount, _ in paid)
    above = sum(amount * days for amount, days in paid) * PPM
    return half_up(above, whole * DAYS_A_YEAR) if whole else None


def class_yield_ppb(projection: Projection, name: str, price_ppm: int = PPM) -> int | None:
    """The annual effective yield of a class bought at a price of par; None if there is none."""
    deal = projection.deal
    cost = half_up(deal.class_named(name).balance_minor * price_ppm, PPM)
    received = [
        Flow(row.paid_on, -(paid.interest_minor + paid.residual_minor + paid.principal_minor))
        for row in projection.distributions
        for paid in (row.classes[name],)
    ]
    if not cost or not any(flow.amount_minor for flow in received):
        return None
    try:
        return irr_by_dates([Flow(deal.closing_on, cost), *received])
    except RateNotFound:
        return None


def class_price_ppm(projection: Projection, name: str, yield_ppb: int) -> int:
    """The price of a class, in parts per million of par, at an annual effective yield.

    >>> from usance.fund.sample import sample_deal
    >>> run = project(sample_deal())
    >>> class_price_ppm(run, "A", 32_467_946), class_price_ppm(run, "A", 50_000_000)
    (1000000, 992429)
    """
    deal = projection.deal
    received = [
        (paid.interest_minor + paid.residual_minor + paid.principal_minor,
         (row.paid_on - deal.closing_on).days)
        for row in projection.distributions for paid in (row.classes[name],)
    ]  # fmt: skip
    with localcontext() as context:
        context.prec = 50
        growth = 1 + Decimal(yield_ppb) / PPB
        worth = sum(
            (amount * growth ** (Decimal(-days) / DAYS_A_YEAR) for amount, days in received),
            Decimal(0),
        )
        par = Decimal(deal.class_named(name).balance_minor)
        if not par:
            raise DealError(f"class {name} has no balance", where=deal.name, fix="It has no price")
        return int((worth * PPM / par).to_integral_value(ROUND_HALF_UP))


def spread_ppb(result: ClassResult, curve: RateCurve, day: date) -> int | None:
    """Yield over a dated curve, at the average life of a class; None without either."""
    if result.yield_ppb is None or result.wal_ppm is None:
        return None
    return result.yield_ppb - curve.rate_ppb(day, result.wal_ppm)


def exact_shorts(
    deal: Deal, scenarios: Sequence[Scenario], strata: Sequence[Stratum] = ()
) -> list[dict[str, int]]:
    """Shortfalls by the exact form, scenario by scenario."""
    found = (project(deal, scenario, strata=strata) for scenario in scenarios)
    return [{each.name: run.short_minor(each.name) for each in deal.classes} for run in found]


def break_evens(classes: Sequence[NoteClass], shorts: Shorts) -> dict[str, int]:
    """For each class the hundredth before the first default multiple that leaves it short.

    Every multiple is tried, since a trigger can make a worse scenario better for a class.
    """
    found: dict[str, int] = {}
    for start in range(0, MAX_MULTIPLE + 1, _BATCH):
        multiples = range(start, min(start + _BATCH, MAX_MULTIPLE + 1))
        ends = shorts([Scenario(default_hundredths=each) for each in multiples])
        for multiple, end in zip(multiples, ends, strict=True):
            for each in classes:
                if end[each.name] > 0:
                    found.setdefault(each.name, multiple - 1)
        if len(found) == len(classes):
            break
    return {each.name: found.get(each.name, MAX_MULTIPLE) for each in classes}


_BATCH = 250


def expected_losses(
    classes: Sequence[NoteClass], scenarios: Sequence[Scenario], shorts: Shorts
) -> dict[str, int]:
    """Shortfall over original balance, weighted over the scenarios; none without scenarios."""
    ends = shorts(scenarios)
    return {
        each.name: half_up(
            sum(
                scenario.weight_ppm * end[each.name]
                for scenario, end in zip(scenarios, ends, strict=True)
            ),
            each.balance_minor,
        )
        for each in classes
        if scenarios and each.balance_minor
    }
