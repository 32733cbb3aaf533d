"""Funding sources of a scenario and the terms they state for a month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from usance.base.codes import FundingModel
from usance.base.dates import last_of_month
from usance.base.draws import draw
from usance.base.rates import PPM
from usance.world.demand import mean_ticket_minor
from usance.world.distributions import log_normal_median
from usance.world.scenario.scenario import Funding, Scenario
from usance.world.shocks import ShockKind, factor_ppm, ticket_ppm
from usance.world.source_events import SourceEvents, Span
from usance.world.specialisations import NO_SEGMENT, Segments

MIN_BUDGET_MINOR = 100_000
ELIGIBILITY, SPREAD = 1_000_001, 1_000_002
"""Streams of the sources' own draws, far from those of users and loans."""
COUPON_SPREAD_PPM = 60_000
"""Sources of one model differ a little in what their money costs."""


class StatedTerms(NamedTuple):
    """Terms of a source for days on which nothing changes; a mandate is one version of them."""

    source: int
    version: int
    first_day: int
    last_day: int
    funding: Funding
    coupon_ppm: int
    approval_ppm: int
    budget_minor: int
    regions: frozenset[int]
    """Regions, tenors and grades it takes; all if empty."""
    months: frozenset[int]
    grades: frozenset[int]


@dataclass(frozen=True)
class Institutions:
    """Every source of a scenario, numbered from 1 in the order of its funding."""

    scenario: Scenario
    scale: Fraction

    @cached_property
    def funding(self) -> tuple[Funding, ...]:
        """The funding of each source, by number less one."""
        return tuple(each for each in self.scenario.funding for _ in range(each.sources))

    @cached_property
    def events(self) -> SourceEvents:
        """Changes of its sources between mandates."""
        return SourceEvents(self.scenario)

    @cached_property
    def segments(self) -> Segments:
        """Segments that its sources specialise in."""
        return Segments(self.scenario)

    @cached_property
    def segment(self) -> tuple[int, ...]:
        """Segment of each source, by number less one."""
        return tuple(
            self.segments.of_source(each, place)
            for each in self.scenario.funding
            for place in range(each.sources)
        )

    @cached_property
    def partners(self) -> dict[int, tuple[int, int]]:
        """By source that leads: its partner, and the partner's part of each loan."""
        found, before = dict[int, tuple[int, int]](), 0
        for each in self.scenario.funding:
            for pair in each.co_funding:
                found[before + pair.lead] = before + pair.partner, pair.share_ppm
            before += each.sources
        return found

    def funding_of(self, month: int) -> tuple[Funding, ...]:
        """The funding of each source on the terms of a month."""
        return tuple(self.scenario.terms(each.model, month) for each in self.funding)

    def stated_terms(
        self, month: int, revolved: Mapping[int, int], max_budget_minor: int
    ) -> list[StatedTerms]:
        """Terms of a month; `revolved` is the principal each source got back the month before."""
        budgets, funding = self.budgets(month, revolved), self.funding_of(month)
        return [
            self._stated(number, each, month, min(budgets[number], max_budget_minor), span, version)
            for number, each in enumerate(funding, start=1)
            for version, span in enumerate(
                self.events.spans(number, each, month),
                self.events.first_version(number, each, month),
            )
        ]

    def budgets(self, month: int, revolved: Mapping[int, int]) -> dict[int, int]:
        """Budget of each source for a month, before any source event."""
        volume, mix = self.volume_minor(month), self.scenario.demand.model_ppm.get(month, {})
        parts = self._parts(month)
        return {
            number: self._budget_minor(each, volume * mix.get(each.model, 0) // PPM, part, month,
                                       revolved.get(number, 0))
            for number, (each, part) in enumerate(zip(self.funding_of(month), parts, strict=True),
                                                  start=1)
        }  # fmt: skip

    def _parts(self, month: int) -> list[Fraction]:
        """Share of each source in its model's budget: its segment's, divided by its sources."""
        shares = {
            each.model: self.segments.shares_ppm(month, each)
            for each in (self.scenario.funding if len(self.segments) else ())
        }
        at = list(zip(self.funding, self.segment, strict=True))
        many = Counter((funding.model, segment) for funding, segment in at)
        return [
            Fraction(
                PPM if segment == NO_SEGMENT else shares[funding.model][segment],
                PPM * many[funding.model, segment],
            )
            for funding, segment in at
        ]

    def volume_minor(self, month: int) -> int:
        """Expected volume of requests in a month."""
        demand = self.scenario.demand
        level = ticket_ppm(self.scenario, month)
        mean = sum(mean_ticket_minor(each, level) * each.request_ppm
                   for each in demand.mix(month)) // PPM  # fmt: skip
        wanted = (
            demand.requests.get(month, 0)
            * factor_ppm(self.scenario, ShockKind.DEMAND, month)
            // PPM
        )
        return int(wanted * self.scale) * mean

    def _budget_minor(
        self, funding: Funding, volume: int, part: Fraction, month: int, revolved: int
    ) -> int:
        own = int(volume * funding.head_room_ppm // PPM * part)
        own = own * factor_ppm(self.scenario, ShockKind.FUNDING, month, funding.model) // PPM
        # What comes back to the platform's own funds is lent again, and is no part of the budget.
        is_own = funding.model is FundingModel.ON_BALANCE_SHEET
        budget = max(own - revolved, own // 5) if is_own else own
        return max(budget, MIN_BUDGET_MINOR)

    def _stated(
        self, number: int, funding: Funding, month: int, budget: int, span: Span, version: int
    ) -> StatedTerms:
        """Terms for a month, or for the part of it in which nothing changes."""
        days = last_of_month(month).day
        if span.days < days or span.budget_ppm != PPM:
            budget = budget * span.budget_ppm // PPM * span.days // days
        return StatedTerms(
            number, version, span.first_day, span.last_day, funding,
            self.coupon_ppm(number, month), self.events.stated_ppm(number, funding, month), budget,
            *self._eligible(number, span.eligible_ppm),
        )  # fmt: skip

    def coupon_ppm(self, number: int, month: int) -> int:
        """The coupon of a source: its model's, a little higher or lower."""
        coupon = self.scenario.terms(self.funding[number - 1].model, month).coupon_ppm
        drawn = draw(self.scenario.seed, SPREAD, number, 0)
        return coupon * int(log_normal_median(COUPON_SPREAD_PPM)[drawn >> 52]) // PPM // 100 * 100

    def _eligible(
        self, number: int, share_ppm: int
    ) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
        """Regions, tenors and grades a source takes: most, so that pairs come to its share.

        In a segment it takes all grades of that, and its share of the regions.
        """
        every: frozenset[int] = frozenset()
        if share_ppm >= PPM:
            return every, every, every
        regions = range(1, len(self.scenario.users.region_ppm) + 1)
        segment = self.segment[number - 1]
        if segment != NO_SEGMENT:
            return self._some(number, list(regions), 0, share_ppm), *self.segments.takes(segment)
        side = int(np.sqrt(share_ppm / PPM) * PPM)
        graded = range(1, len(self.scenario.pricing.rate_ppm) + 1)
        return (
            self._some(number, list(regions), 0, side), every,
            self._some(number, list(graded), len(regions) + 1, side),
        )  # fmt: skip

    def _some(self, number: int, all_of: list[int], at: int, side_ppm: int) -> frozenset[int]:
        drawn = (draw(self.scenario.seed, ELIGIBILITY, number, at + each) for each in all_of)
        taken = [each for each, bits in zip(all_of, drawn, strict=True)
                 if (bits >> 11) * PPM >> 53 < side_ppm]  # fmt: skip
        return frozenset(taken or all_of)
