"""What the economy does to a month: shocks of the scenario, work and prices."""

from __future__ import annotations

from functools import lru_cache

from usance.base.codes import FundingModel
from usance.base.rates import PPM
from usance.world.scenario.scenario import Scenario

MIN_PPM = PPM // 10
"""What nothing falls below, however good or bad the times."""
MONTHS = 12


def factor_ppm(scenario: Scenario, kind: str, month: int, model: FundingModel | None = None) -> int:
    """The product of all shocks of a kind in a month, in parts per million.

    That of `hazard` also follows unemployment, as far as the scenario says so.
    """
    factor = late_ppm(scenario, month) if kind == "hazard" else PPM
    for shock in scenario.macro.shocks:
        meant = model is None or not shock.models or model in shock.models
        if shock.kind == kind and shock.first_month <= month <= shock.last_month and meant:
            factor = factor * shock.factor_ppm // PPM
    return factor


def late_ppm(scenario: Scenario, month: int) -> int:
    """What unemployment makes of late payment, against the scenario's first month."""
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
