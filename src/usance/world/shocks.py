"""Shocks to the economy, unemployment and prices: their effect on a month.

A new kind of shock is one more `ShockKind`; the module it acts on multiplies by `factor_ppm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from usance.base.codes import FundingModel
from usance.base.rates import PPM

if TYPE_CHECKING:
    from usance.world.scenario.scenario import Scenario

MIN_PPM = PPM // 10
"""Floor of every factor, however good or bad the times."""
MONTHS = 12


class ShockKind(StrEnum):
    """Quantity that a shock multiplies."""

    HAZARD = "hazard"
    """Late payment."""
    COLLECTION = "collection"
    """Cures and recoveries of loans in arrears."""
    FUNDING = "funding"
    """Budgets of institutions, of some models or of all."""
    FRAUD = "fraud"
    """First loans taken by rings."""
    DEMAND = "demand"
    """Requests."""

    @property
    def has_models(self) -> bool:
        """True if a shock of this kind may name funding models."""
        return self is ShockKind.FUNDING


@dataclass(frozen=True, slots=True)
class Shock:
    """A change of the economy from one month to another."""

    kind: ShockKind
    first_month: int
    last_month: int
    factor_ppm: int
    """Factor: 1,500,000 is half as much again."""
    models: tuple[FundingModel, ...] = ()
    """Models whose budgets it multiplies, for `funding`; all if empty."""


def factor_ppm(
    scenario: Scenario, kind: ShockKind, month: int, model: FundingModel | None = None
) -> int:
    """The product of all shocks of a kind in a month, in parts per million.

    That of `hazard` also follows unemployment, as far as the scenario says so.
    """
    factor = late_ppm(scenario, month) if kind is ShockKind.HAZARD else PPM
    for shock in scenario.macro.shocks:
        is_meant = model is None or not shock.models or model in shock.models
        if shock.kind is kind and shock.first_month <= month <= shock.last_month and is_meant:
            factor = factor * shock.factor_ppm // PPM
    return factor


def late_ppm(scenario: Scenario, month: int) -> int:
    """Factor of unemployment on late payment, against the scenario's first month."""
    macro = scenario.macro
    before = macro.unemployment_ppm.get(scenario.first_month, 0)
    now = macro.unemployment_ppm.get(month, before)
    if not before:
        return PPM
    return max(PPM + macro.late_elasticity_ppm * (now - before) // before, MIN_PPM)


def ticket_ppm(scenario: Scenario, month: int) -> int:
    """Amounts asked for against the products' medians: as demand says, and with prices."""
    level = scenario.demand.ticket_ppm.get(month, PPM)
    return level * _with_prices(scenario, month, scenario.macro.ticket_elasticity_ppm) // PPM


def income_ppm(scenario: Scenario, month: int) -> int:
    """Incomes against those of the scenario's first month."""
    return _with_prices(scenario, month, scenario.macro.income_elasticity_ppm)


def _with_prices(scenario: Scenario, month: int, elasticity_ppm: int) -> int:
    if not elasticity_ppm:
        return PPM
    risen = _prices_ppm(scenario.first_month, tuple(sorted(scenario.macro.cpi_ppm.items())), month)
    return max(PPM + elasticity_ppm * (risen - PPM) // PPM, MIN_PPM)


@lru_cache(maxsize=256)
def _prices_ppm(first: int, cpi_ppm: tuple[tuple[int, int], ...], month: int) -> int:
    """Prices against the first month: a twelfth of the annual rise in each month after it."""
    prices = PPM
    for each, rise in cpi_ppm:
        if first < each <= month:
            prices = prices * (MONTHS * PPM + rise) // (MONTHS * PPM)
    return prices
