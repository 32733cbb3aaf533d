"""Run context: a scenario at a scale, with all that follows from it, shared by every stage."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from usance.base.dates import first_of_month
from usance.base.parameters import Parameters
from usance.service.servicing_rules import ServicingRules
from usance.twin.month.assessment import Assessor
from usance.twin.month.loan_terms import PRODUCTS, Pricer
from usance.world.demand import RequestSampler
from usance.world.institutions import Institutions
from usance.world.opening import Opening
from usance.world.population import Population
from usance.world.scenario.scenario import Scenario

LARGE = 1_000_000
"""Users of a book whose decision inputs are not kept."""
SHARD_BITS = 22
"""A shard holds the users whose numbers agree in all but their last bits."""


@dataclass(frozen=True)
class RunContext:
    """A scenario at a scale; `shard_bits` differs from the contract's only in tests."""

    scenario: Scenario
    scale: Fraction
    shard_bits: int = SHARD_BITS

    def __reduce__(self) -> tuple[object, ...]:
        # A worker gets what is given, not what follows, and makes that once for all its shards.
        return _rebuilt, (pickle.dumps((self.scenario, self.scale, self.shard_bits)),)

    @cached_property
    def population(self) -> Population:
        """Its users."""
        return Population(self.scenario, self.scale)

    @cached_property
    def institutions(self) -> Institutions:
        """Its funding sources."""
        return Institutions(self.scenario, self.scale)

    @cached_property
    def opening(self) -> Opening:
        """Its book at the opening."""
        return Opening(self.population, self.institutions)

    @cached_property
    def requests(self) -> RequestSampler:
        """Requests of its users."""
        return RequestSampler(self.scenario)

    @cached_property
    def assessor(self) -> Assessor:
        """The decision flow on its users."""
        coupons = [each.coupon_ppm for each in self.scenario.funding if each.coupon_ppm]
        return Assessor(self.population, min(coupons, default=0))

    @cached_property
    def pricer(self) -> Pricer:
        """Terms of its loans."""
        return Pricer(self.institutions)

    @property
    def zone(self) -> str:
        """The business time zone."""
        return self.scenario.time_zone

    @property
    def sources(self) -> int:
        """Number of funding sources."""
        return len(self.institutions.funding)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.sources * PRODUCTS

    @property
    def opening_month(self) -> int:
        """The month at whose end the book is opened."""
        return self.scenario.first_month - 1

    def rules(self, month: int) -> ServicingRules:
        """Servicing rules of a month; a scenario may charge late fees of its own."""
        rules = ServicingRules.at(first_of_month(month), self._parameters)
        own = self.scenario.pricing.late_fee_ppm.get(month)
        return rules if own is None else rules._replace(late_fee_ppm=own)

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters.load()

    def shards(self, month: int) -> range:
        """The shards that have users by the end of a month."""
        return range((self.population.registered_by(month) >> self.shard_bits) + 1)

    def users_of(self, shard: int, month: int) -> tuple[int, int]:
        """First and last user of a shard by the end of a month; the last is less if it has none."""
        first = max(shard << self.shard_bits, 1)
        last = ((shard + 1) << self.shard_bits) - 1
        return first, min(last, self.population.registered_by(month))

    @cached_property
    def keeps_inputs(self) -> bool:
        """True if decision inputs are kept; of a large book they are drawn again from the seed."""
        return self.population.registered_by(self.scenario.final_month) < LARGE


@lru_cache(maxsize=1)
def _rebuilt(given: bytes) -> RunContext:
    return RunContext(*pickle.loads(given))  # noqa: S301  # from the driver of the same run
