"""Drawdown requests of a month: who asks, for what, how much, how long and when."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.compiled import in_threads
from usance.base.draws import CERTAIN
from usance.base.rates import PPM
from usance.loan.convention import CONVENTION_CODES
from usance.world.distributions import Choice, log_normal_median, step_of, within
from usance.world.draw_kernel import draws, stream_prefix
from usance.world.population import month_days
from usance.world.request_kernel import ask_rows
from usance.world.scenario.scenario import ProductMix, Scenario
from usance.world.shocks import ShockKind, factor_ppm, ticket_ppm
from usance.world.streams import Stream

TICKET_STEP_MINOR = 10_000
"""Amounts are whole hundreds."""
OPENS, CLOSES = 7 * 3600, 23 * 3600
"""Requests come between seven in the morning and eleven at night, business time."""


class EligibleUsers(NamedTuple):
    """Users who may ask, on the evening before: never borrowed, borrowed, just repaid."""

    never: int
    borrowed: int
    repaid: int

    def __add__(self, other: object) -> EligibleUsers:
        assert isinstance(other, EligibleUsers)
        return EligibleUsers(*(a + b for a, b in zip(self, other, strict=True)))


def request_targets(scenario: Scenario, scale: Fraction, month: int) -> tuple[int, int]:
    """Requests of a month at a scale: by users who never borrowed, and by others."""
    wanted = scenario.demand.requests.get(month, 0) * factor_ppm(scenario, ShockKind.DEMAND, month)
    total = int(wanted * scale) // PPM
    first = total * scenario.demand.first_time_ppm // PPM
    return first, total - first


def request_chances(
    scenario: Scenario, scale: Fraction, month: int, eligible: EligibleUsers
) -> I64:
    """The chance to ask of each group, as thresholds."""
    first, repeat = request_targets(scenario, scale, month)
    boost = scenario.behaviour.repeat_ppm
    weight = eligible.borrowed * PPM + eligible.repaid * boost
    each = CERTAIN * repeat * PPM // max(weight, 1)
    found = [CERTAIN * first // max(eligible.never, 1), each, each * boost // PPM]
    return np.array([min(chance, CERTAIN) for chance in found], np.int64)


def requesting_users(
    seed: int, month: int, first_user: int, line: I64, borrowed: NDArray[np.int16],
    overdue: NDArray[np.int8], repaid: NDArray[np.int16], thresholds: I64, *,
    workers: int | None = None,
) -> I64:  # fmt: skip
    """The rows of users who ask in a month."""
    asks = np.zeros(len(line), np.int8)
    prefix = stream_prefix(seed, Stream.REQUEST)
    in_threads(
        lambda start, stop: ask_rows(
            start,
            stop,
            prefix,
            first_user,
            month,
            line,
            borrowed,
            overdue,
            repaid,
            thresholds,
            asks,
        ),
        len(line),
        workers,
    )
    return np.flatnonzero(asks)


class RequestColumns(NamedTuple):
    """Columns of requests, in order of user."""

    product: I64
    convention: I64
    months: I64
    amount_minor: I64
    day: I64
    second: I64


@dataclass(frozen=True)
class RequestSampler:
    """Requests of users, drawn by a scenario's products."""

    scenario: Scenario

    def of(self, users: I64, month: int) -> RequestColumns:
        """Requests of each of these users in a month."""
        mixes = self.scenario.demand.mix(month)
        drawn = [
            draws(self.scenario.seed, Stream.REQUEST_PART, users, month * 256 + place)
            for place in range(5)
        ]
        which = Choice.of({n: each.request_ppm for n, each in enumerate(mixes)}).of_draws(drawn[0])
        months, amount = np.zeros(len(users), np.int64), np.zeros(len(users), np.int64)
        level = ticket_ppm(self.scenario, month)
        for n, mix in enumerate(mixes):
            rows = which == n
            months[rows] = Choice.of(dict(mix.months_ppm)).of_draws(drawn[1][rows])
            amount[rows] = tickets(mix, level, drawn[2][rows])
        first, last = month_days(month)
        return RequestColumns(
            np.array([int(each.product) for each in mixes])[which],
            np.array([CONVENTION_CODES[each.convention] for each in mixes])[which],
            months, amount, first + within(drawn[3], last - first + 1),
            OPENS + within(drawn[4], CLOSES - OPENS),
        )  # fmt: skip


def tickets(mix: ProductMix, level_ppm: int, drawn: NDArray[np.uint64]) -> I64:
    """Amounts of a product by draw, in whole hundreds."""
    table = log_normal_median(mix.ticket_spread_ppm)
    amount = mix.ticket_minor * table[step_of(drawn)] // PPM * level_ppm // PPM
    # To the nearest hundred, so that the mean stays where it is.
    steps = (amount + TICKET_STEP_MINOR // 2) // TICKET_STEP_MINOR
    return np.maximum(steps, 1) * TICKET_STEP_MINOR


def mean_ticket_minor(mix: ProductMix, level_ppm: int) -> int:
    """The mean amount of a product's requests."""
    table = log_normal_median(mix.ticket_spread_ppm)
    return mix.ticket_minor * int(table.mean()) // PPM * level_ppm // PPM
