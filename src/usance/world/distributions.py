"""Shapes of chance as inverse tables: one draw each, integers out, nothing rejected.

>>> shares = Choice.of({3: 250_000, 6: 750_000})
>>> shares.of_draws(np.array([0, 2**63], np.uint64)).tolist()
[3, 6]
>>> spread = log_normal(500_000)
>>> len(spread), round(float(spread.mean()))
(4096, 1000000)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64, U64
from usance.base.draws import CERTAIN
from usance.base.rates import PPM

STEPS = 4096
_S11, _S52 = np.uint64(11), np.uint64(52)


def threshold_ppm(ppm: int) -> int:
    """A chance in parts per million as the integer a draw is compared with."""
    return CERTAIN * max(0, min(ppm, PPM)) // PPM


def happened(drawn: U64, threshold: int) -> NDArray[np.bool_]:
    """True for each draw below the threshold."""
    return np.asarray((drawn >> _S11) < np.uint64(threshold))


@dataclass(frozen=True)
class Choice:
    """One of some values by their weights."""

    values: NDArray[Any]
    ends: NDArray[np.uint64]

    @classmethod
    def of(cls, weights: Mapping[Any, int]) -> Choice:
        """Values with whole weights, in their order."""
        return cls.weighted(np.array(list(weights)), [int(each) for each in weights.values()])

    @classmethod
    def weighted(cls, values: NDArray[Any], weights: list[int]) -> Choice:
        """Values and as many weights; exact integers, so that no rounding decides."""
        total, so_far, ends = max(sum(weights), 1), 0, []
        for weight in weights:
            so_far += weight
            ends.append(min(CERTAIN * so_far // total, CERTAIN))
        ends[-1] = CERTAIN
        return cls(values, np.array(ends, np.uint64))

    def of_draws(self, drawn: U64) -> NDArray[Any]:
        """The value of each draw."""
        chosen: NDArray[Any] = self.values[np.searchsorted(self.ends, drawn >> _S11, side="right")]
        return chosen


@lru_cache(maxsize=64)
def log_normal(spread_ppm: int) -> I64:
    """Quantiles of a log-normal factor with mean one, in parts per million, in equal steps."""
    spread, normal = spread_ppm / PPM, NormalDist()
    factors = [exp(spread * normal.inv_cdf((n + 0.5) / STEPS)) for n in range(STEPS)]
    mean = sum(factors) / STEPS
    return np.array([round(PPM * each / mean) for each in factors], np.int64)


def log_normal_median(spread_ppm: int) -> I64:
    """The same with median one."""
    table = log_normal(spread_ppm)
    middle = (int(table[STEPS // 2 - 1]) + int(table[STEPS // 2])) // 2
    return np.asarray(table * PPM // middle)


def step_of(drawn: U64) -> I64:
    """The step of each draw in a table of quantiles."""
    return (drawn >> _S52).astype(np.int64)


def ppm_of(drawn: U64) -> I64:
    """Each draw as parts per million, 0 to 999,999."""
    return ((drawn >> np.uint64(32)) * np.uint64(PPM) >> np.uint64(32)).astype(np.int64)


def within(drawn: U64, count: Any) -> I64:
    """Each draw as a whole number from 0 to one less than a count."""
    return ((drawn >> np.uint64(32)) * np.asarray(count, np.uint64) >> np.uint64(32)).astype(
        np.int64
    )
