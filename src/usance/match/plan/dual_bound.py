"""Prices of limits by descent on the dual: the bound they prove, and the use they lead to.

A `LimitProblem` is demand (rows with weights, in slots of time), candidates, and limits of one
form: the use of a limit is a sum over slots and columns of `weight × amount placed`, at most its
bound. At prices `x ≥ 0` no policy can earn more than

    Σ x × bound + Σ over requests of their best value at these prices.

The gradient of this bound is bound − use, so a price rises where more is used than there is.

The best value of a request is that of asking its candidates in order of their net margin, each
with its approval rate, until one approves. Headroom is not looked at: prices stand for it. Beyond
the candidates kept, the rest counts as if the last one approved for sure, so the sum is never too
small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from usance.base.arrays import F64, I64, U64
from usance.base.compiled import available_cores, in_threads, kernel
from usance.base.rates import PPB, PPM
from usance.match.mandates.columns import SourceColumns
from usance.match.plan.limit_weights import MAX_PRICE
from usance.match.router.rank_kernel import concentration_weight, rank
from usance.match.router.request_rows import RequestRows
from usance.match.router.state import (
    PRICES,
    LimitState,
    Ranking,
    make_ranking,
    unlimited_state,
)

# Candidates looked at in the bound; with approval rates of 30 % the 16 leave out 0.3 %.
DEPTH = 16
_CHUNK = 1 << 12
# Decay of the mean and of the variance of an excess, and the deviation that counts as none.
_MEAN_DECAY, _VARIANCE_DECAY, _NO_DEVIATION = 0.9, 0.95, 0.02


class PricedDemand(NamedTuple):
    """Demand and prices as kernels read them: sets, rates and prices are by slot and column."""

    rows: RequestRows
    slot: I64
    columns: SourceColumns
    open_sets: U64
    approval: I64
    price: I64
    limits: LimitState
    """Limits that keep nothing out, with the prices of concentration limits."""


class ExpectedUse(NamedTuple):
    """Sums that a kernel adds to: amounts by slot and column, use by concentration limit."""

    amounts: F64
    concentration: F64


@dataclass(frozen=True)
class LimitProblem:
    """Demand and limits over a time to come, or one that has passed."""

    columns: SourceColumns
    rows: RequestRows
    slot: I64
    open_sets: U64
    approval: I64
    """By slot and column, parts per million."""
    limit: I64
    """Entries of the limits' weights: which limit, which slot × columns + column, which weight."""
    cell: I64
    weight: F64
    bound: F64
    """Of each limit, minor units."""
    max_price: F64
    """No price is set above this, parts per billion."""
    concentration_bound: F64
    """Of each concentration limit, minor units."""

    @property
    def shape(self) -> tuple[int, int]:
        """Slots and columns."""
        return len(self.open_sets), len(self.columns.source)

    @property
    def offered(self) -> float:
        """Amount of all demand, minor units."""
        return float((self.rows.weight * self.rows.amount).sum())

    def price_by_column(self, prices: F64) -> I64:
        """The price per unit of loan in each slot and column."""
        slots, columns = self.shape
        each = np.bincount(self.cell, self.weight * prices[self.limit], slots * columns)
        return np.rint(each).astype(np.int64).reshape(slots, columns)

    def priced(self, price: I64, concentration_prices: F64) -> PricedDemand:
        """The demand at prices by slot and column."""
        concentration = np.rint(concentration_prices).astype(np.int64)
        limits = unlimited_state(self.columns, concentration)
        return PricedDemand(
            self.rows, self.slot, self.columns, self.open_sets, self.approval, price, limits
        )

    def used(self, amounts: F64) -> F64:
        """Use of each limit by the amounts placed by slot and column."""
        weights = self.weight * amounts.ravel()[self.cell]
        return np.bincount(self.limit, weights, len(self.bound)).astype(np.float64)


@dataclass(frozen=True)
class DualPoint:
    """The dual at some prices: its bound, and the use it leads to."""

    prices: F64
    concentration_prices: F64
    bound: float
    used: F64
    concentration_used: F64
    amounts: F64 = field(repr=False)


def evaluate(problem: LimitProblem, prices: F64, concentration_prices: F64) -> DualPoint:
    """The bound at these prices, and the use they lead to."""
    slots, columns = problem.shape
    demand = problem.priced(problem.price_by_column(prices), concentration_prices)
    parts = in_threads(partial(_part, demand), len(problem.rows.amount), available_cores(), _CHUNK)
    value = sum(part[0] for part in parts)
    amounts = sum((part[1].amounts for part in parts), np.zeros((slots, columns)))
    concentration = sum(
        (part[1].concentration for part in parts), np.zeros(len(concentration_prices))
    )
    # Prices are rounded to whole parts per billion in the kernel; this covers what that may hide.
    rounding = problem.offered * 4 / PPB
    paid = (prices * problem.bound).sum()
    paid = float(paid + (concentration_prices * problem.concentration_bound).sum()) / PPB
    return DualPoint(
        prices, concentration_prices, value + paid + rounding, problem.used(amounts),
        concentration, amounts,
    )  # fmt: skip


def descend(
    problem: LimitProblem,
    prices: F64,
    concentration_prices: F64,
    *,
    steps: int,
    first: float,
    last: float,
) -> tuple[DualPoint, F64, F64]:
    """The best point met in so many steps, and the mean prices of the last third.

    Each price has its own step, by the mean and the variance of its past excess (Adam's rule);
    `first` and `last` are the first and last size of such steps, parts per billion. The mean is
    what to route by: at the best prices many candidates tie.
    """
    split = len(prices)
    here = np.concatenate([prices, concentration_prices])
    highest = np.concatenate([problem.max_price, np.full(len(concentration_prices), MAX_PRICE)])
    mean, variance, sums, counted = (*(np.zeros_like(here) for _ in range(3)), 0)
    best: DualPoint | None = None
    for number in range(steps):
        point = evaluate(problem, here[:split], here[split:])
        if best is None or point.bound < best.bound:
            best = point
        if 3 * number >= 2 * (steps - 1):
            sums, counted = sums + here, counted + 1
        excess = _excess(problem, point)
        excess[(here <= 0) & (excess < 0)] = 0.0
        mean += (1 - _MEAN_DECAY) * (excess - mean)
        variance += (1 - _VARIANCE_DECAY) * (excess**2 - variance)
        deviation = np.sqrt(variance / (1 - _VARIANCE_DECAY ** (number + 1))) + _NO_DEVIATION
        size = first * (last / first) ** (number / max(steps - 1, 1))
        step = size * mean / (1 - _MEAN_DECAY ** (number + 1)) / deviation
        here = np.clip(here + step, 0.0, highest)
    assert best is not None
    sums /= max(counted, 1)
    return best, sums[:split], sums[split:]


def _excess(problem: LimitProblem, point: DualPoint) -> F64:
    """Use above the bound, as a part of the bound.

    The divisor must not depend on use: else the mean of many excesses would not be the excess.
    """
    offered = problem.offered / max(len(problem.columns.source), 1)
    size = np.maximum(np.abs(problem.bound), offered / 100 + 1.0)
    concentration_size = offered / 10 + 1.0
    over = (point.used - problem.bound) / size
    concentration = point.concentration_used - problem.concentration_bound
    return np.concatenate([over, concentration / concentration_size])


def _part(demand: PricedDemand, start: int, stop: int) -> tuple[float, ExpectedUse]:
    concentration = np.zeros(len(demand.limits.concentration_price))
    use = ExpectedUse(np.zeros(demand.price.shape), concentration)
    return dual_value(start, stop, demand, use, make_ranking(DEPTH)), use


@kernel
def dual_value(
    start: int, stop: int, demand: PricedDemand, use: ExpectedUse, ranking: Ranking
) -> float:
    """The value of requests `start` to `stop`; adds what each column is expected to lend."""
    value, rows, columns = 0.0, demand.rows, demand.columns
    for i in range(start, stop):
        s = demand.slot[i]
        limits = priced_limits(demand, s)
        count = rank(rows, i, columns, PRICES, limits, ranking)
        left = rows.weight[i] * rows.amount[i]
        for t in range(count):
            j = ranking.column[t]
            placed = left * demand.approval[s, j] / PPM
            value += placed * ranking.net_ppb[t] / PPB
            use.amounts[s, j] += placed
            left -= placed
            for k in range(columns.concentration_start[j], columns.concentration_start[j + 1]):
                use.concentration[k] += placed * concentration_weight(rows, i, columns, k) / PPM
        if count == len(ranking.column):
            value += left * ranking.net_ppb[count - 1] / PPB
    return value


@kernel(inline=True)
def priced_limits(demand: PricedDemand, slot: int) -> LimitState:
    """Limits that keep nothing out, with the mandates in force and the prices of a slot."""
    free = demand.limits
    return LimitState(
        demand.open_sets[slot], free.headroom, free.platform_headroom, free.model_excess,
        free.concentration_excess, free.placed, free.borrower_keys, free.borrowed,
        demand.price[slot],
        free.scale, free.concentration_price,
    )  # fmt: skip
