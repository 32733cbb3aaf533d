"""Champion and challengers: a fixed random hold-out, and the uplift with its interval.

A borrower's arm follows from the seed of the strategy and the borrower alone, so it never changes
while the strategy is in force and nobody can choose it. Outcomes are compared as the difference of
two means with unequal variances (Welch); with hundreds of cases in an arm its interval holds for
amounts as for yes and no.

>>> arms = assigned_arms(np.arange(1, 100_001), seed=7, shares_ppm=(800_000, 200_000))
>>> np.bincount(arms).tolist()
[79907, 20093]
>>> paid = np.where(arms == 1, np.arange(100_000) % 10 < 6, np.arange(100_000) % 10 < 5)
>>> found = uplift(paid[arms == 0], paid[arms == 1])
>>> found.is_better, round(found.difference, 2), found.low < 0.1 < found.high
(True, 0.1, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import F64, I8, I64
from usance.base.draws import GOLDEN, MASK, MULTIPLIERS, mix
from usance.service.errors import StrategyError

STREAM = 1
"""Of the draws of a strategy: the first use of its seed."""
MIN_CASES = 30
"""Fewer in an arm leave the interval without its meaning."""
_PPM = 1_000_000
_CONFIDENCE = 0.95


class Uplift(NamedTuple):
    """Mean outcome of the challenger less that of the champion, with its interval."""

    champion: float
    challenger: float
    difference: float
    low: float
    high: float
    confidence: float
    champion_cases: int
    challenger_cases: int

    @property
    def is_better(self) -> bool:
        """True if the whole interval is above zero."""
        return self.low > 0

    @property
    def is_worse(self) -> bool:
        """True if the whole interval is below zero."""
        return self.high < 0


def assigned_arms(user_id: I64, seed: int, shares_ppm: Sequence[int]) -> I8:
    """The arm of each borrower: 0 the champion, then the challengers, with these shares."""
    if sum(shares_ppm) != _PPM or min(shares_ppm) < 0:
        what = f"shares add up to {sum(shares_ppm) / _PPM:.2%}"
        raise StrategyError(what, where="arms", fix="Let them add up to 100%")
    bounds = np.cumsum([share * (1 << 53) // _PPM for share in shares_ppm])
    bounds[-1] = 1 << 53
    return np.searchsorted(bounds, draw_column(seed, STREAM, user_id), side="right").astype(np.int8)


def draw_column(seed: int, stream: int, entity: I64) -> I64:
    """The 53 bits of `draw(seed, stream, entity, 0)` for each entity."""
    prefix = 0
    for k in (seed, stream):
        prefix = mix((prefix + GOLDEN * (k + 1)) & MASK)
    golden = np.uint64(GOLDEN)
    with np.errstate(over="ignore"):
        z = _mix(np.uint64(prefix) + golden * (entity.astype(np.uint64) + np.uint64(1)))
        z = _mix(z + golden)
    return (z >> np.uint64(11)).astype(np.int64)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MULTIPLIERS[0])
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MULTIPLIERS[1])
    return z ^ (z >> np.uint64(31))


def uplift(champion: Any, challenger: Any, confidence: float = _CONFIDENCE) -> Uplift:
    """The difference of two arms' outcomes: paid or not, or an amount for each case."""
    one, other = (np.asarray(each, np.float64) for each in (champion, challenger))
    if min(len(one), len(other)) < MIN_CASES:
        what = f"arms have {len(one)} and {len(other)} cases"
        raise StrategyError(what, where="uplift", fix=f"Wait until each has {MIN_CASES}")
    difference = float(other.mean() - one.mean())
    half = NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(_variance(one) + _variance(other))
    return Uplift(
        float(one.mean()), float(other.mean()), difference, difference - half, difference + half,
        confidence, len(one), len(other),
    )  # fmt: skip


def _variance(outcomes: F64) -> float:
    """Of the mean."""
    return float(outcomes.var(ddof=1)) / len(outcomes)
