"""Random draws by column, from `usance.base.draws`; the numbers of their streams are listed here.

>>> int(draw_column(1, 2, np.array([3]), 4)[0]) == 0x3A095BF2044D24FA
True
>>> weighted_choice(draw_column(7, SEGMENTS, np.arange(5), 0), np.array([1, 3])).tolist()
[1, 0, 0, 1, 1]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64, U64
from usance.base.compiled import kernel
from usance.base.draws_kernel import draw_kernel

# Streams of draws in this room; append only.
ANSWERS, SEGMENTS, SOURCES, ARRIVALS = 40, 41, 42, 43


def draw_column(seed: int, stream: int, entities: NDArray[Any], counter: int) -> U64:
    """One draw for each entity."""
    out = np.empty(len(entities), np.uint64)
    _fill(seed, stream, np.ascontiguousarray(entities, np.int64), counter, out)
    return out


def uniform_integers(draws: U64, lowest: int, highest: int) -> I64:
    """Integers from lowest to highest, both included."""
    width = np.uint64(highest - lowest + 1)
    return lowest + ((draws >> np.uint64(11)) % width).astype(np.int64)


def weighted_choice(draws: U64, weights: NDArray[Any]) -> I64:
    """Positions in a list of whole weights, each as likely as its weight."""
    ends = np.cumsum(np.asarray(weights, np.int64))
    return np.searchsorted(ends, uniform_integers(draws, 0, int(ends[-1]) - 1), side="right")


@kernel
def _fill(seed: int, stream: int, entities: I64, counter: int, out: U64) -> None:
    for row in range(len(entities)):
        out[row] = draw_kernel(seed, stream, entities[row], counter)
