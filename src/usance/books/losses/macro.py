"""Macroeconomic factors on defaults: weighted scenarios, then reversion to the long run.

>>> drivers = Drivers(Decimal(1), Decimal("0.02"), Decimal("-6.5"), Decimal("0.86"))
>>> calm = Scenario("calm", 600_000, cpi_ppm=(20_000,), collection_ppm=(860_000,))
>>> harsh = Scenario("harsh", 400_000, cpi_ppm=(20_000,), collection_ppm=(840_000, 850_000))
>>> macro_factors((calm, harsh), drivers, horizon=2, reversion=2, months=5)
(1052000000, 1026000000, 1013000000, 1000000000, 1000000000)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from usance.base.errors import UsanceError
from usance.base.rates import PPB, PPM, to_ppb
from usance.books.losses.errors import ScenarioError
from usance.books.losses.expectation import adjusted_rate


@dataclass(frozen=True, slots=True)
class Drivers:
    """Elasticities of defaults to the drivers, and the drivers' long-run means."""

    cpi_effect: Decimal
    """Relative change of defaults for a change of consumer prices by 1 (100 %)."""
    cpi_mean: Decimal
    collection_effect: Decimal
    """The same for the share of newly overdue principal collected within 30 days."""
    collection_mean: Decimal


@dataclass(frozen=True, slots=True)
class Scenario:
    """One course of the economy, month by month from the close; the last value holds on."""

    name: str
    weight_ppm: int
    cpi_ppm: tuple[int, ...]
    collection_ppm: tuple[int, ...]
    where: str = ""

    def factor(self, drivers: Drivers, month: int) -> Fraction:
        """The factor on defaults of a month ahead (1, 2 …), relative to the long run."""
        cpi = Fraction(_at(self.cpi_ppm, month), PPM) - Fraction(drivers.cpi_mean)
        collection = Fraction(_at(self.collection_ppm, month), PPM)
        collection -= Fraction(drivers.collection_mean)
        moved = adjusted_rate(
            1, Fraction(drivers.cpi_effect) * cpi, Fraction(drivers.collection_effect) * collection
        )
        return max(moved, Fraction(0))


def scenario_problems(scenarios: Sequence[Scenario]) -> list[UsanceError]:
    """Weights below zero or not summing to one, names there twice."""
    problems: list[UsanceError] = []
    for number, each in enumerate(scenarios):
        where = each.where or f"scenario {each.name}"
        if each.weight_ppm < 0:
            fix = "Give a weight of 0% or more"
            problems.append(ScenarioError("the weight is below zero", where=where, fix=fix))
        if each.name in {other.name for other in scenarios[:number]}:
            what = f"there is another scenario {each.name!r}"
            problems.append(ScenarioError(what, where=where, fix="Give each its own name"))
    total = sum(each.weight_ppm for each in scenarios)
    if scenarios and total != PPM:
        where = scenarios[-1].where or f"scenario {scenarios[-1].name}"
        shown = f"{Decimal(total).scaleb(-4).normalize():f}%"
        problems.append(
            ScenarioError(f"the weights sum to {shown}", where=where, fix="Make them sum to 100%")
        )
    return problems


@lru_cache(maxsize=64)
def macro_factors(
    scenarios: tuple[Scenario, ...], drivers: Drivers, *, horizon: int, reversion: int, months: int
) -> tuple[int, ...]:
    """The weighted factor of each month ahead, in parts per billion.

    It holds in full over the horizon and goes back to one in equal steps over the reversion.
    """
    found = []
    for month in range(1, months + 1):
        full = sum(
            (Fraction(each.weight_ppm, PPM) * each.factor(drivers, month) for each in scenarios),
            Fraction(0 if scenarios else 1),
        )
        kept = Fraction(1)
        if month > horizon:
            kept = max(Fraction(0), 1 - Fraction(month - horizon, max(reversion, 1)))
        found.append(to_ppb(1 + (full - 1) * kept))
    assert all(value >= 0 for value in found)
    return tuple(found) if scenarios else (PPB,) * months


def _at(path: tuple[int, ...], month: int) -> int:
    return path[min(month, len(path)) - 1]
