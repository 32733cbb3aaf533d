"""Folds of held-out rows: the same for the same seed, on any machine.

>>> import numpy as np
>>> folds(np.array([0.0, 1.0] * 4), 2, seed=1, repeat=0).tolist()
[0, 1, 1, 0, 1, 1, 0, 0]
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import F64
from usance.base.draws import draw

STREAM = 0x666F6C64  # "fold"


def folds(bad: F64, count: int, *, seed: int, repeat: int) -> NDArray[np.int64]:
    """The fold of each row; every fold has its share of goods and of bads."""
    rows = cast(Any, np.arange(len(bad), dtype=np.uint64))
    drawn = np.asarray(draw(seed, STREAM, repeat, rows))
    fold = np.empty(len(bad), np.int64)
    for outcome in (0.0, 1.0):
        own = np.flatnonzero(bad == outcome)
        fold[own[np.argsort(drawn[own], kind="stable")]] = np.arange(len(own)) % count
    return fold


def latest(months: NDArray[np.int64], bad: F64, share: float = 0.2) -> NDArray[np.bool_] | None:
    """The rows of the last months, about that share of all; None if they cannot be a test."""
    order = np.sort(months)
    first = order[int(len(order) * (1 - share))]
    late = months >= first if (months >= first).mean() <= 2 * share else months > first
    sides = (bad[late], bad[~late])
    return late if all(0 < side.sum() < len(side) for side in sides) else None
