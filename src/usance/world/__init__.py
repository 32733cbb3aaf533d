"""World: the simulated economy, deterministic from one seed; it talks through ports alone.

A scenario describes it; population, demand, behaviour, institutions and payment providers play it.
Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.world.institutions import Institutions
    from usance.world.opening import Opening
    from usance.world.population import Population
    from usance.world.scenario.file import read_scenario
    from usance.world.scenario.scenario import Scenario, SourceEvent, SourceEventKind
    from usance.world.shocks import Shock, ShockKind

__all__ = [
    "Institutions", "Opening", "Population", "Scenario", "Shock", "ShockKind", "SourceEvent",
    "SourceEventKind", "read_scenario",
]  # fmt: skip

_MODULES = {
    "institutions": ("Institutions",),
    "opening": ("Opening",),
    "population": ("Population",),
    "scenario.file": ("read_scenario",),
    "scenario.scenario": ("Scenario", "SourceEvent", "SourceEventKind"),
    "shocks": ("Shock", "ShockKind"),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
