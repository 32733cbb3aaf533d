"""Pools (segment × vintage): expected losses of each, and their allocation in a segment.

>>> outlook = Outlook.of((0, 10_000_000, 40_000_000), (1_000_000_000,) * 3, ages=3)
>>> young = Vintage(
...     age=0,
...     originated_minor=100_000,
...     defaulted_minor=0,
...     recovered_minor=0,
...     exposure_minor=(90_000, 0, 0),
... )
>>> pool = expected_pool(
...     young, outlook, claim=Claim.PAYOUT, recovery=Fraction(1, 4), max_rate=Fraction(1)
... )
>>> int(pool.gross), int(pool.recoveries), int(pool.net), str(pool.ultimate)
(4000, 1000, 3000, '1/25')

Exposures at a close are by IFRS 9 stage, segment and vintage.

>>> from usance.base.codes import FundingModel
>>> at_risk = np.zeros((3, 1, 2), np.int64)
>>> at_risk[0, 0] = 500, 900
>>> exposures = Exposures(np.array([FundingModel.CAPITAL_HEAVY]), at_risk)
>>> int(exposures.minor.sum()), exposures.claim(0).label
(1400, 'payout')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import FundingModel
from usance.base.dates import format_month
from usance.base.errors import UsanceError, raise_all
from usance.base.rates import PPB
from usance.books.losses.assumptions import Claim
from usance.books.losses.curves import Curve, development_factor, increments, rate_at
from usance.books.losses.errors import ExposureError
from usance.books.losses.expectation import (
    discounted_shortfalls,
    expected_loss,
    loss_rate,
    remaining_losses,
    shortfall,
)
from usance.books.losses.stages import STAGES
from usance.measure.triangles import Triangle


@dataclass(frozen=True, slots=True, eq=False)
class Exposures:
    """Amounts [stage, segment, cohort] in the order of a triangle, and each segment's model.

    Of a guaranteed loan the unpaid principal until its payout, of an own loan its amortised cost
    until its charge-off, of a loan without guarantee the unpaid principal that fees hang on.
    """

    models: NDArray[Any]
    minor: NDArray[np.int64]

    def claim(self, segment: int) -> Claim:
        """The event of default of a segment (by its position)."""
        heavy = self.models[segment] == FundingModel.CAPITAL_HEAVY
        return Claim.PAYOUT if heavy else Claim.CHARGE_OFF

    def check(self, triangle: Triangle) -> None:
        """Raise every exposure that does not fit the triangle."""
        wanted = (STAGES, len(triangle.segments), len(triangle.cohorts))
        if self.minor.shape != wanted or len(self.models) != wanted[1]:
            what = f"exposures are {self.minor.shape} and models {len(self.models)}"
            fix = f"Give [stage, segment, cohort] = {wanted} and a model for each segment"
            raise ExposureError(what, where="exposures", fix=fix)
        at_end = np.take_along_axis(
            triangle.originated_minor, triangle.limits[None, :, None].astype(np.intp), 2
        )[..., 0]
        problems: list[UsanceError] = []
        for stage, segment, cohort in np.argwhere(self.minor < 0):
            what = f"an exposure of {self.minor[stage, segment, cohort]} in stage {stage + 1}"
            where = pool_name(triangle, segment, cohort)
            problems.append(ExposureError(what, where=where, fix="Give 0 or more"))
        for segment, cohort in np.argwhere((self.minor.sum(0) > 0) & (at_end <= 0)):
            where = pool_name(triangle, segment, cohort)
            what = "there is exposure, and nothing was originated"
            fix = "Make the triangle and the exposures from the same loans"
            problems.append(ExposureError(what, where=where, fix=fix))
        raise_all(problems, where="exposures")


def pool_name(triangle: Triangle, segment: int, cohort: int) -> str:
    """A pool by its segment and its month, for a message."""
    month = format_month(int(triangle.cohorts[cohort]))
    return f"segment {triangle.segments[segment]}, vintage {month}"


YEAR = 12
"""Months of a twelve-month expected loss."""

NONE = Fraction(0)


@dataclass(frozen=True, slots=True)
class Vintage:
    """The data of a pool at a close."""

    age: int
    originated_minor: int
    defaulted_minor: int
    recovered_minor: int
    exposure_minor: tuple[int, int, int]
    """By IFRS 9 stage."""
    is_observed: bool = True
    """False if it began before the book did: what defaulted or was repaid before is not in it."""

    @property
    def exposed_minor(self) -> int:
        """The exposure of all stages."""
        return sum(self.exposure_minor)

    @property
    def is_empty(self) -> bool:
        """True if nothing was ever originated, defaulted, recovered or exposed."""
        return not (self.originated_minor or self.defaulted_minor or self.recovered_minor
                    or self.exposed_minor)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outlook:
    """A curve under macroeconomic factors: default rates remaining after each age."""

    curve: Curve
    to_come: tuple[Fraction, ...]
    """By age, default rates of all later months together, of originated principal."""
    next_year: tuple[Fraction, ...]
    """By age, the share of that in the next twelve months."""

    @classmethod
    @lru_cache(maxsize=256)
    def of(
        cls,
        curve: Curve,
        macro: tuple[int, ...],
        *,
        ages: int,
        monthly_discount: Fraction = NONE,
    ) -> Outlook:
        """The outlook of a curve; `macro` has a factor (ppb) for each month ahead."""
        steps = increments(curve)
        unit = Fraction(1, PPB * PPB)
        lives, years = [], []
        for age in range(ages):
            ahead = [step * by for step, by in zip(steps[age + 1 :], macro, strict=False)]
            whole = _today(ahead, monthly_discount)
            lives.append(whole * unit)
            years.append(loss_rate(_today(ahead[:YEAR], monthly_discount), whole))
        return cls(curve, tuple(lives), tuple(years))


@dataclass(frozen=True, slots=True)
class Pool:
    """Expectations of one vintage; amounts in minor units, exact."""

    to_date: Fraction
    ultimate: Fraction
    """Lifetime default rate of originated principal."""
    gross: Fraction
    """Defaults still to come."""
    recoveries: Fraction
    """Recoveries still to come: of defaults to come, and of own loans that have defaulted."""
    next_year: Fraction
    is_capped: bool

    @property
    def net(self) -> Fraction:
        """The loss still to come; below zero where only recoveries are."""
        return self.gross - self.recoveries


def expected_pool(
    vintage: Vintage,
    outlook: Outlook,
    *,
    claim: Claim,
    recovery: Fraction,
    max_rate: Fraction,
    unobserved: Sequence[Fraction] = (),
    shift: Fraction = NONE,
) -> Pool:
    """Remaining expectations of a vintage: originated × (lifetime − to date), less recoveries.

    `max_rate` is the most that can be lost of an exposure; without exposure nothing more can
    default. `shift` moves the lifetime rate by as much of itself as is still to come. A guarantee
    that was called is no liability any more: what its borrower repays counts when it is received.

    A vintage that was not observed from its start has no place on the curve, since its survivors
    say nothing of those that are gone: it loses `unobserved` of its exposure, stage by stage.
    """
    if vintage.is_empty:
        return Pool(NONE, NONE, NONE, NONE, outlook.next_year[vintage.age], is_capped=False)
    to_date = loss_rate(vintage.defaulted_minor, vintage.originated_minor)
    stretch = development_factor(outlook.curve, to_date, vintage.age)
    end = outlook.curve[-1]
    left = loss_rate(end - rate_at(outlook.curve, vintage.age), end)
    ultimate = to_date + max(NONE, outlook.to_come[vintage.age] * stretch + shift * left)
    possible = expected_loss(vintage.exposed_minor, 1, max_rate)
    wanted = shortfall(vintage.originated_minor, ultimate, to_date)
    if not vintage.is_observed:
        lost = map(expected_loss, vintage.exposure_minor, unobserved)
        wanted = sum(lost, NONE) * max_rate + expected_loss(vintage.originated_minor, shift, left)
        ultimate = to_date + loss_rate(wanted, vintage.originated_minor)
    gross = min(wanted, possible)
    recoveries = expected_loss(gross, recovery)
    if claim is Claim.CHARGE_OFF:
        past = expected_loss(vintage.defaulted_minor, recovery) - vintage.recovered_minor
        recoveries = max(NONE, recoveries + past)
    is_capped = bool(vintage.exposed_minor) and wanted > possible
    return Pool(
        to_date, ultimate, gross, recoveries, outlook.next_year[vintage.age], is_capped=is_capped
    )


def allocated_targets(pools: Sequence[Pool]) -> list[Fraction]:
    """The segment's target, floored at zero, on the pools that have something to lose.

    A pool with nothing left but recoveries lowers the others in proportion.
    """
    whole = sum((max(NONE, pool.net) for pool in pools), NONE)
    target = max(NONE, sum((pool.net for pool in pools), NONE))
    return [max(NONE, pool.net) * target / whole if whole else NONE for pool in pools]


def spread(
    whole: Fraction, weights: Sequence[Fraction], limits: Sequence[Fraction]
) -> list[Fraction]:
    """An amount in proportion to weights; what a limit does not hold falls to the others.

    >>> [str(each) for each in spread(Fraction(12), [Fraction(2), Fraction(1)], [Fraction(5)] * 2)]
    ['5', '5']
    >>> [str(each) for each in spread(Fraction(9), [Fraction(2), Fraction(1)], [Fraction(5)] * 2)]
    ['5', '4']
    """
    found = [NONE] * len(weights)
    places = [place for place, weight in enumerate(weights) if weight]
    while places and whole:
        base = sum((weights[place] for place in places), NONE)
        full = [p for p in places if whole * weights[p] / base > limits[p]]
        if not full:
            return [
                whole * weight / base if place in places else found[place]
                for place, weight in enumerate(weights)
            ]
        for place in full:
            found[place] = limits[place]
            whole -= limits[place]
            places.remove(place)
    return found


def recovery_rate(
    vintages: Sequence[Vintage], *, end: int, minimum: int, given: Fraction
) -> Fraction:
    """The share recovered of what defaulted, from vintages that have reached the curve's end."""
    run = [each for each in vintages if each.age >= end and each.defaulted_minor > 0]
    if len(run) < minimum:
        return given
    recovered = sum(each.recovered_minor for each in run)
    return min(Fraction(1), loss_rate(recovered, sum(each.defaulted_minor for each in run)))


def _today(ahead: Sequence[int], monthly_discount: Fraction) -> Fraction:
    if monthly_discount:
        return discounted_shortfalls(ahead, monthly_discount)
    return remaining_losses(ahead, 0)
