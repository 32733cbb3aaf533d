"""Public names of the room, each with its module."""

from usance.migration.facts import (
    MigratedFact as MigratedFact,
    MigratedFactKind as MigratedFactKind,
)
from usance.migration.history import (
    replay as replay,
    schedule as schedule,
    settlement as settlement,
)
from usance.migration.portfolio import (
    PortfolioReport as PortfolioReport,
    check_portfolio as check_portfolio,
)
from usance.migration.terms import (
    MigratedTerms as MigratedTerms,
)

__all__: list[str]
