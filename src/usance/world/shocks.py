"""What the shocks of a scenario do to a month."""

from __future__ import annotations

from usance.base.codes import Model
from usance.base.rates import PPM
from usance.world.scenario import Scenario


def factor_ppm(scenario: Scenario, kind: str, month: int, model: Model | None = None) -> int:
    """The product of all shocks of a kind in a month, in parts per million."""
    factor = PPM
    for shock in scenario.macro.shocks:
        meant = model is None or not shock.models or model in shock.models
        if shock.kind == kind and shock.first_month <= month <= shock.last_month and meant:
            factor = factor * shock.factor_ppm // PPM
    return factor
