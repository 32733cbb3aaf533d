"""Public names of the room, each with its module."""

from usance.world.institutions import (
    Institutions as Institutions,
)
from usance.world.opening import (
    Opening as Opening,
)
from usance.world.population import (
    Population as Population,
)
from usance.world.scenario.file import (
    read_scenario as read_scenario,
)
from usance.world.scenario.scenario import (
    Scenario as Scenario,
    SourceEvent as SourceEvent,
    SourceEventKind as SourceEventKind,
)
from usance.world.shocks import (
    Shock as Shock,
    ShockKind as ShockKind,
)

__all__: list[str]
