"""Expected collection of a scenario by month: as its behaviour says, and as it is worked.

An outage, a desk that is short or another strategy is known before a run: what it is expected to
cost is the difference, which a run then shows in its day-1 delinquency and 30-day collection.

>>> from usance.twin.run.options import named_scenario
>>> outage = named_scenario("collection-outage")
>>> [found] = expected_collection(outage, 646, 646)  # November 2023
>>> found.written_ppm - found.expected_ppm
62246
"""

from __future__ import annotations

from typing import NamedTuple

from usance.base.rates import PPM
from usance.twin.errors import RunError
from usance.twin.month.collection_effect import effect_of
from usance.world.scenario.scenario import Scenario
from usance.world.shocks import ShockKind, factor_ppm

MAX_MONTHS = 600


class MonthCollection(NamedTuple):
    """Chances of what falls late in a month."""

    month: int
    late_ppm: int
    """Factor on what falls late; a million is as written."""
    written_ppm: int
    """Chance of being collected within 30 days as the behaviour has it."""
    expected_ppm: int
    """The same under the scenario's strategy, people and outages."""


def expected_collection(scenario: Scenario, first: int, last: int) -> list[MonthCollection]:
    """Each month of a span."""
    if not first <= last < first + MAX_MONTHS:
        raise RunError(f"{last - first + 1} months are no span", where="--to",
                       fix=f"Give the earlier month first, and {MAX_MONTHS} at most")  # fmt: skip
    found = []
    for month in range(first, last + 1):
        effect = effect_of(scenario, month)
        shock = factor_ppm(scenario, ShockKind.COLLECTION, month)
        written = scenario.behaviour.collected30_ppm * shock // PPM
        expected = min(PPM, written * effect.collected30_ppm // PPM)
        found.append(MonthCollection(month, effect.late_ppm, written, expected))
    return found
