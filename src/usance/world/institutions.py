"""Funding sources of a scenario and the mandates they give for a month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from usance.base.codes import FundingModel
from usance.base.dates import first_of_month, from_day, last_of_month
from usance.base.draws import draw
from usance.base.rates import PPM
from usance.match.mandates.mandate import (
    MAX_BUDGET_MINOR,
    Budgets,
    Eligibility,
    Guarantee,
    Mandate,
    Mandates,
    Structure,
)
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

    def funding_of(self, month: int) -> tuple[Funding, ...]:
        """The funding of each source on the terms of a month."""
        return tuple(self.scenario.terms(each.model, month) for each in self.funding)

    def mandates(self, month: int, revolved: Mapping[int, int]) -> Mandates:
        """The mandates of a month; `revolved` is what came back to each source the month before."""
        period = first_of_month(month), last_of_month(month)
        budgets, funding = self.budgets(month, revolved), self.funding_of(month)
        rows = [
            self._mandate(number, each, month, budgets[number], span, version)
            for number, each in enumerate(funding, start=1)
            for version, span in enumerate(
                self.events.spans(number, each, month),
                self.events.first_version(number, each, month),
            )
        ]
        return Mandates(
            tuple(rows), currency=self.scenario.currency, time_zone=self.scenario.time_zone,
            period=period, events=self.events.events(funding, month), where="scenario",
        )  # fmt: skip

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
        shares = self.segments.shares_ppm(month) if len(self.segments) else []
        at = list(zip(self.funding, self.segment, strict=True))
        many = Counter((funding.model, segment) for funding, segment in at)
        return [
            Fraction(
                PPM if segment == NO_SEGMENT else shares[segment],
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
        room = max(own - revolved, own // 5) if is_own else own
        return min(max(room, MIN_BUDGET_MINOR), MAX_BUDGET_MINOR)

    def _mandate(
        self, number: int, funding: Funding, month: int, budget: int, span: Span, version: int
    ) -> Mandate:
        """A mandate for a month, or for the part of it in which nothing changes."""
        days = last_of_month(month).day
        if span.days < days or span.budget_ppm != PPM:
            budget = budget * span.budget_ppm // PPM * span.days // days
        first, last = from_day(span.first_day), from_day(span.last_day)
        eligible = replace(funding, eligible_ppm=span.eligible_ppm)
        is_own = funding.model is FundingModel.ON_BALANCE_SHEET
        return Mandate(
            source=number, version=version, name=f"{funding.model.label} {number}",
            institution=number, entity=funding.entity, valid_from=first, valid_to=last,
            approved_by=("world", "scenario"), model=funding.model,
            coupon_ppm=self.coupon_ppm(number, month), fee_ppm=funding.fee_ppm,
            approval_ppm=self.events.stated_ppm(number, funding, month),
            guarantee=Guarantee(trigger_days=max(funding.trigger_days, 1)),
            eligibility=self._eligibility(number, eligible), budgets=Budgets(total_minor=budget),
            structure=Structure(revolving_until=last) if is_own else None,
        )  # fmt: skip

    def coupon_ppm(self, number: int, month: int) -> int:
        """The coupon of a source: its model's, a little higher or lower."""
        coupon = self.scenario.terms(self.funding[number - 1].model, month).coupon_ppm
        drawn = draw(self.scenario.seed, SPREAD, number, 0)
        return coupon * int(log_normal_median(COUPON_SPREAD_PPM)[drawn >> 52]) // PPM // 100 * 100

    def _eligibility(self, number: int, funding: Funding) -> Eligibility:
        """Regions and grades a source takes: most of both, so that pairs come to its share.

        In a segment it takes all grades of that, and its share of the regions.
        """
        if funding.eligible_ppm >= PPM:
            return Eligibility()
        regions = range(1, len(self.scenario.users.region_ppm) + 1)
        segment = self.segment[number - 1]
        if segment != NO_SEGMENT:
            some = self._some(number, list(regions), 0, funding.eligible_ppm)
            months, grades = self.segments.takes(segment)
            return Eligibility(regions=some, months=months, grades=grades)
        side = int(np.sqrt(funding.eligible_ppm / PPM) * PPM)
        graded = range(1, len(self.scenario.pricing.rate_ppm) + 1)
        return Eligibility(
            regions=self._some(number, list(regions), 0, side),
            grades=self._some(number, list(graded), len(regions) + 1, side),
        )

    def _some(self, number: int, all_of: list[int], at: int, side_ppm: int) -> frozenset[int]:
        drawn = (draw(self.scenario.seed, ELIGIBILITY, number, at + each) for each in all_of)
        taken = [each for each, bits in zip(all_of, drawn, strict=True)
                 if (bits >> 11) * PPM >> 53 < side_ppm]  # fmt: skip
        return frozenset(taken or all_of)
