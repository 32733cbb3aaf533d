"""Users and what they are like: everything about a user follows from seed and number."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.dates import first_of_month, last_of_month, to_day
from usance.base.rates import PPM
from usance.world.distributions import Choice, happened, log_normal, step_of, threshold_ppm
from usance.world.draw_kernel import draws
from usance.world.scenario.scenario import Scenario
from usance.world.shocks import ShockKind, factor_ppm
from usance.world.streams import Stream

HISTORY_MONTHS = 72
"""Opening users registered over the six years before the opening."""
MAX_HAZARD_PPM = 12_000_000
CONSUMER, BUSINESS = 0, 1


@dataclass(frozen=True)
class Population:
    """The users of a scenario at a scale; ids rise with registration, without gaps."""

    scenario: Scenario
    scale: Fraction

    def registered_by(self, month: int) -> int:
        """Number of users at the end of a month."""
        users = self.scenario.users
        later = sum(n for each, n in users.registered.items() if each <= month)
        return int((users.opening + later) * self.scale)

    def registered_on(self, first: int, last: int, month: int) -> NDArray[np.int32]:
        """Days of registration of ids that come in one month, in order over its days."""
        begin, end = self._span(month)
        before = self.registered_by(month - 1) if month >= self.scenario.first_month else 0
        count = max(self.registered_by(month) - before, 1)
        place = np.arange(first, last + 1, dtype=np.int64) - before - 1
        return (begin + place * (end - begin + 1) // count).astype(np.int32)

    def _span(self, month: int) -> tuple[int, int]:
        if month >= self.scenario.first_month:
            return to_day(first_of_month(month)), to_day(last_of_month(month))
        opening = self.scenario.first_month - 1
        begin = first_of_month(opening - HISTORY_MONTHS + 1)
        return to_day(begin), to_day(last_of_month(opening))

    @cached_property
    def _regions(self) -> Choice:
        shares = self.scenario.users.region_ppm
        return Choice.of(dict(enumerate(shares, start=1)))

    @cached_property
    def _channels(self) -> Choice:
        return Choice.of({each.number: each.share_ppm for each in self.scenario.users.channels})

    def region(self, users: I64) -> NDArray[np.int16]:
        """The home region of each user."""
        return self._regions.of_draws(self._draws(Stream.REGION, users)).astype(np.int16)

    def channel(self, users: I64) -> NDArray[np.int16]:
        """The channel each user came through."""
        return self._channels.of_draws(self._draws(Stream.CHANNEL, users)).astype(np.int16)

    def kind(self, users: I64) -> NDArray[np.int8]:
        """Consumer or business."""
        drawn = self._draws(Stream.USER_KIND, users)
        business = happened(drawn, threshold_ppm(self.scenario.users.business_ppm))
        return np.where(business, BUSINESS, CONSUMER).astype(np.int8)

    def applies(self, users: I64) -> NDArray[np.bool_]:
        """True for each user who applies for a line in the month of registration."""
        drawn = self._draws(Stream.APPLIES, users)
        return happened(drawn, threshold_ppm(self.scenario.users.applies_ppm))

    def hazard_step(self, users: I64) -> I64:
        """Quantile of each user by hazard, in steps of `distributions.STEPS`."""
        return step_of(self._draws(Stream.HAZARD, users))

    def hazard_ppm(self, users: I64, first_loan: NDArray[np.bool_], month: int) -> I64:
        """Hazard of each loan to be late against the average one; -1 for a ring that never pays."""
        behaviour = self.scenario.behaviour
        own = log_normal(behaviour.hazard_spread_ppm)[self.hazard_step(users)]
        own = np.where(first_loan, own * behaviour.first_loan_hazard_ppm // PPM, own)
        ring = self.in_ring(users, month) & first_loan
        return np.where(ring, -1, np.minimum(own, MAX_HAZARD_PPM))

    def has_life_event(self, users: I64, month: int) -> NDArray[np.bool_]:
        """True for each user with a life event in a month, or so recently that it still lasts."""
        behaviour = self.scenario.behaviour
        found = np.zeros(len(users), np.bool_)
        chance = threshold_ppm(behaviour.life_event_ppm)
        for back in range(behaviour.life_event_months):
            drawn = draws(self.scenario.seed, Stream.LIFE, users, (month - back) * 256)
            found |= happened(drawn, chance)
        return found

    def hazard_in(self, users: I64, hazard_ppm: I64, month: I64) -> I64:
        """The hazard of loans for dues of a month each: more during a life event of the user."""
        found = hazard_ppm.astype(np.int64)
        more = self.scenario.behaviour.life_event_hazard_ppm
        for each in np.unique(month).tolist() if self.scenario.behaviour.life_event_ppm else ():
            rows = np.flatnonzero((month == each) & (found >= 0))
            rows = rows[self.has_life_event(users[rows], each)]
            found[rows] = np.minimum(found[rows] * more // PPM, MAX_HAZARD_PPM)
        return found

    def in_ring(self, users: I64, month: int) -> NDArray[np.bool_]:
        """True for each user of a ring that never pays, by their share in a month."""
        fraud = (
            self.scenario.behaviour.fraud_ppm
            * factor_ppm(self.scenario, ShockKind.FRAUD, month)
            // PPM
        )
        return happened(self._draws(Stream.FRAUD, users), threshold_ppm(fraud))

    def _draws(self, stream: Stream, users: I64) -> NDArray[np.uint64]:
        return draws(self.scenario.seed, stream, users)


def month_days(month: int) -> tuple[int, int]:
    """First and last day of a month, as day numbers."""
    return to_day(first_of_month(month)), to_day(last_of_month(month))


def month_end(month: int) -> date:
    """The last day of a month."""
    return last_of_month(month)
