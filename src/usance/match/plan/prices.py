"""Prices of limits by descent on the dual: the bound they certify, and the use they lead to.

A `Problem` is demand (rows with weights, in slots of time), candidates, and limits in one form:
what a limit uses is a sum over slots and columns of `weight × amount placed`, at most its bound.
At prices `x ≥ 0` nothing can earn more than

    Σ x × bound + Σ over requests of their best worth at these prices,

whatever it does: that is the certificate. The gradient of it is bound − use, so a price rises
where more is used than there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import F64, I64
from usance.base.compiled import available_cores, in_threads
from usance.base.rates import PPB
from usance.match.mandates.columns import MODELS, NO_ROOM_LIMIT, SourceColumns
from usance.match.plan.dual_kernel import worth_run
from usance.match.plan.limit_weights import NO_MAX
from usance.match.router.rows import Rows

# Candidates looked at in the bound; with approval rates of 30 % the 16 leave out 0.3 %.
DEPTH = 16
_CHUNK = 1 << 12
# Memory of the mean and of the spread of an excess, and the spread below which nothing is gained.
_DRIFT, _SPREAD, _CALM = 0.9, 0.95, 0.02


@dataclass(frozen=True)
class Problem:
    """Demand and limits over some time ahead (or behind)."""

    columns: SourceColumns
    rows: Rows
    slot: I64
    open_sets: NDArray[np.uint64]
    approval: I64
    """By slot and column, parts per million."""
    limit: I64
    """Entries of the limits' weights: whose, in which slot × columns + column, how much."""
    cell: I64
    weight: F64
    bound: F64
    """Of each limit, minor units."""
    most_price: F64
    """No price is set above this, parts per billion."""
    mix_bound: F64
    """Of each limit on the mix, minor units."""

    @property
    def shape(self) -> tuple[int, int]:
        """Slots and columns."""
        return len(self.open_sets), len(self.columns.source)

    def spread(self, prices: F64) -> I64:
        """The price per unit of loan in each slot and column."""
        slots, columns = self.shape
        each = np.bincount(self.cell, self.weight * prices[self.limit], slots * columns)
        return np.rint(each).astype(np.int64).reshape(slots, columns)

    def used(self, amounts: F64) -> F64:
        """What each limit uses of the amounts placed by slot and column."""
        weights = self.weight * amounts.ravel()[self.cell]
        return np.bincount(self.limit, weights, len(self.bound)).astype(np.float64)


@dataclass(frozen=True)
class Point:
    """The dual at some prices."""

    prices: F64
    mix_prices: F64
    bound: float
    used: F64
    mix_used: F64
    amounts: F64 = field(repr=False)


def evaluate(problem: Problem, prices: F64, mix_prices: F64) -> Point:
    """The bound at these prices, and what would be used."""
    slots, columns = problem.shape
    spread = problem.spread(prices)
    mix_whole = np.rint(mix_prices).astype(np.int64)
    parts = in_threads(
        partial(_part, problem, spread, mix_whole),
        len(problem.rows.amount), available_cores(), _CHUNK,
    )  # fmt: skip
    worth = sum(part[0] for part in parts)
    amounts = sum((part[1] for part in parts), np.zeros((slots, columns)))
    mix_used = sum((part[2] for part in parts), np.zeros(len(problem.mix_bound)))
    # Prices are rounded to whole parts per billion in the kernel; this covers what that may hide.
    rounding = float((problem.rows.weight * problem.rows.amount).sum()) * 4 / PPB
    paid = float((prices * problem.bound).sum() + (mix_prices * problem.mix_bound).sum()) / PPB
    return Point(
        prices, mix_prices, worth + paid + rounding, problem.used(amounts), mix_used, amounts
    )


def descend(
    problem: Problem,
    prices: F64,
    mix_prices: F64,
    *,
    steps: int,
    first: float,
    last: float,
) -> tuple[Point, F64, F64]:
    """The best point met in so many steps, and the mean prices of the last third.

    Each price has its own step, by the mean and the spread of its past excess (Adam's rule);
    `first` and `last` are the first and last size of such steps, parts per billion. The mean is
    what to route by: at the best prices many candidates tie.
    """
    split = len(prices)
    here = np.concatenate([prices, mix_prices])
    most = np.concatenate([problem.most_price, np.full(len(mix_prices), NO_MAX)])
    drift, spread, mean, counted = np.zeros_like(here), np.zeros_like(here), np.zeros_like(here), 0
    best: Point | None = None
    for number in range(steps):
        point = evaluate(problem, here[:split], here[split:])
        if best is None or point.bound < best.bound:
            best = point
        if 3 * number >= 2 * (steps - 1):
            mean, counted = mean + here, counted + 1
        excess = _excess(problem, point)
        excess[(here <= 0) & (excess < 0)] = 0.0
        drift += (1 - _DRIFT) * (excess - drift)
        spread += (1 - _SPREAD) * (excess**2 - spread)
        usual = np.sqrt(spread / (1 - _SPREAD ** (number + 1))) + _CALM
        size = first * (last / first) ** (number / max(steps - 1, 1))
        here = np.clip(here + size * drift / (1 - _DRIFT ** (number + 1)) / usual, 0.0, most)
    assert best is not None
    mean /= max(counted, 1)
    return best, mean[:split], mean[split:]


def _excess(problem: Problem, point: Point) -> F64:
    """How far use is above what is allowed, as a part of what is allowed.

    The divisor must not depend on use: else the mean of many excesses would not be the excess.
    """
    rows = problem.rows
    offered = float((rows.weight * rows.amount).sum()) / max(len(problem.columns.source), 1)
    size = np.maximum(np.abs(problem.bound), offered / 100 + 1.0)
    mix_size = offered / 10 + 1.0
    over = (point.used - problem.bound) / size
    return np.concatenate([over, (point.mix_used - problem.mix_bound) / mix_size])


def _part(
    problem: Problem, spread: I64, mix_prices: I64, start: int, stop: int
) -> tuple[float, F64, F64]:
    slots, columns = problem.shape
    amounts, mix_used = np.zeros((slots, columns)), np.zeros(len(mix_prices))
    unlimited = np.full(max(columns, MODELS), NO_ROOM_LIMIT, np.int64)
    unbroken = np.zeros(max(len(mix_prices), MODELS), np.int64)
    work = np.zeros(DEPTH, np.int64), np.zeros(DEPTH, np.int64), np.zeros(3, np.int64)
    worth = worth_run(
        start, stop, problem.rows, problem.slot, problem.columns, problem.open_sets,
        problem.approval, spread, mix_prices, unlimited, unbroken, np.zeros(1, np.int64), amounts,
        mix_used, *work,
    )  # fmt: skip
    return worth, amounts, mix_used
