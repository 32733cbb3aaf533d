"""Whole columns of random draws, from `usance.base.draws`; one number a use, listed here.

>>> int(drawn(1, 2, np.array([3]), 4)[0]) == 0x3A095BF2044D24FA
True
>>> chosen(drawn(7, TYPES, np.arange(5), 0), np.array([1, 3])).tolist()
[1, 0, 0, 1, 1]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import kernel
from usance.base.draws_kernel import draw_kernel

# Streams of draws in this room; append only.
ANSWERS, TYPES, SOURCES, ARRIVALS = 40, 41, 42, 43


def drawn(seed: int, stream: int, entities: NDArray[Any], counter: int) -> NDArray[np.uint64]:
    """One draw for each entity."""
    out = np.empty(len(entities), np.uint64)
    _fill(seed, stream, np.ascontiguousarray(entities, np.int64), counter, out)
    return out


def between(draws: NDArray[np.uint64], lowest: int, highest: int) -> NDArray[np.int64]:
    """Whole numbers from lowest to highest, both included."""
    width = np.uint64(highest - lowest + 1)
    return lowest + ((draws >> np.uint64(11)) % width).astype(np.int64)


def chosen(draws: NDArray[np.uint64], weights: NDArray[Any]) -> NDArray[np.int64]:
    """Positions in a list of whole weights, each as likely as its weight."""
    ends = np.cumsum(np.asarray(weights, np.int64))
    return np.searchsorted(ends, between(draws, 0, int(ends[-1]) - 1), side="right")


@kernel
def _fill(
    seed: int, stream: int, entities: NDArray[np.int64], counter: int, out: NDArray[np.uint64]
) -> None:
    for row in range(len(entities)):
        out[row] = draw_kernel(seed, stream, entities[row], counter)
