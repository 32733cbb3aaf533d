"""Prices made again on the way, from what is left of every limit and what is still to come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usance.base.arrays import F64, I64
from usance.base.rates import PPM
from usance.match.mandates.columns import NO_ROOM_LIMIT, SourceColumns
from usance.match.mandates.limits import PLATFORM_ROOMS, LimitKind, list_limits
from usance.match.mandates.mandate import Mandates
from usance.match.plan.aggregate import aggregate
from usance.match.plan.limit_weights import LimitWeights, model_weights
from usance.match.plan.linear import solve
from usance.match.plan.outlook import Ahead
from usance.match.plan.prices import Problem
from usance.match.router.route_kernel import Live
from usance.match.router.rows import Rows

ENDLESS = NO_ROOM_LIMIT // 2
# Parts per billion a request: measured on streams of a million, where 90 is too slow for weekends.
MIN_STEP = 300
# A limit on the mix is idle when this part of what is placed could be placed against it; each hour
# its price then falls by one part in so many.
SPARE, EASE = 0.02, 5


@dataclass(frozen=True)
class Prices:
    """Prices of every limit, parts per billion of the amount they speak of."""

    budget: F64
    """By column: of its own budgets, per unit it lends."""
    other: F64
    """Of platform limits and minimum takes, in the order of the problem."""
    mix: F64
    spread: I64
    """By column: all but the mix, per unit of loan."""
    largest: I64
    """By column: the number of the other limit that is the largest part of that, 0 if none is."""


def paces(live: Live, ahead: Ahead) -> F64:
    """What each budget (total, month, day) lets a column lend per request from now on."""
    left = np.stack([live.total, live.month, live.day])
    count = np.stack([ahead.total, ahead.month, np.full(len(live.day), ahead.day)])
    return np.where(left < ENDLESS, np.maximum(left, 0) / count, np.inf)


def set_pace(columns: SourceColumns, live: Live, ahead: Ahead, step: int) -> None:
    """Hand the kernel the pace that its prices follow, and the length of its steps.

    Steps shrink with the square root of the horizon, where the regret of mirror descent is least,
    but not below what a season needs within its days.
    """
    each = paces(live, ahead)
    pace, tightest = each.min(axis=0), each.argmin(axis=0)
    limited = np.isfinite(pace)
    numbers = columns.budget_limit[tightest, np.arange(len(pace))]
    live.tight[:] = np.where(limited, numbers, 0)
    live.pace[:] = np.where(limited, np.rint(np.where(limited, pace, 0) * 1000), -1)
    live.step[:] = max(round(step / ahead.whole**0.5), MIN_STEP if step else 0)


def ease_mix(columns: SourceColumns, live: Live) -> None:
    """Lower the price of a limit on the mix that is far from being used up.

    At the price of a plan the loans it speaks of tie with nothing: a little too much, and none of
    them is placed. The limit itself is kept by the kernel, whatever the price.
    """
    owner = np.repeat(np.arange(len(live.placed)), np.diff(columns.mix_start))
    spare = -live.mix_state / PPM
    mean = live.placed / np.maximum(live.approved, 1)
    idle = spare > np.maximum(SPARE * live.placed, 3 * mean)[owner]
    live.mix_price[idle] -= live.mix_price[idle] // EASE


def make_prices(
    mandates: Mandates, columns: SourceColumns, live: Live, sample: Rows, ahead: Ahead,
    approval: I64, before: Prices | None, segments: int,
) -> tuple[Prices, int]:  # fmt: skip
    """Prices for the rest of the period, and the kinds of demand they were made from.

    Those are `segments` at most; `before` are the prices made last, which are thought near.
    """
    rows, _ = aggregate(sample, np.zeros(len(sample.amount), np.int64), columns, segments)
    problem, numbers = rest_problem(mandates, columns, live, rows, ahead, approval)
    count = len(columns.source)
    near = None
    if before is not None:
        budget = np.where(live.own_price > 0, live.own_price, before.budget)
        near = np.concatenate([budget, before.other]), before.mix
    solved = solve(problem, near)
    if not solved.optimal:
        return before or no_prices(problem, count), len(rows.amount)
    prices = Prices(
        solved.prices[:count], solved.prices[count:], solved.mix_prices,
        problem.spread(solved.prices)[0], _largest(problem, solved.prices, numbers),
    )  # fmt: skip
    return prices, len(rows.amount)


def _largest(problem: Problem, prices: F64, numbers: I64) -> I64:
    """By column: which limit but its own budgets costs most."""
    count = len(problem.columns.source)
    cost = problem.weight * prices[problem.limit]
    best, number = np.zeros(count), np.zeros(count, np.int64)
    for each in np.flatnonzero((problem.limit >= count) & (cost > 0)):
        column = problem.cell[each] % count
        if cost[each] > best[column]:
            best[column], number[column] = cost[each], numbers[problem.limit[each]]
    return number


def no_prices(problem: Problem, count: int) -> Prices:
    """Every limit free."""
    none = np.zeros(len(problem.bound))
    mix = np.zeros(len(problem.mix_bound))
    spread = problem.spread(none)[0]
    return Prices(none[:count], none[count:], mix, spread, np.zeros(count, np.int64))


def set_prices(live: Live, columns: SourceColumns, prices: Prices, trust: float) -> None:
    """Hand the kernel its prices, as whole parts per billion.

    Of the way from the prices that use has led to, `trust` is gone: those are where candidates
    that tie in the plan share the load.
    """
    live.own_price[:] = np.rint(live.own_price + trust * (prices.budget - live.own_price))
    planned = np.rint(prices.budget).astype(np.int64) * (PPM - columns.own_ppm) // PPM
    live.fixed_price[:] = prices.spread - planned
    live.price[:] = live.fixed_price + live.own_price * (PPM - columns.own_ppm) // PPM
    live.mix_price[:] = np.rint(prices.mix)
    live.fixed_limit[:] = prices.largest


def rest_problem(
    mandates: Mandates, columns: SourceColumns, live: Live, sample: Rows, ahead: Ahead,
    approval: I64,
) -> tuple[Problem, I64]:  # fmt: skip
    """What is left of every limit against what is still to come, in one slot; numbers of limits."""
    whole = sample._replace(weight=sample.weight * ahead.period)
    pace = paces(live, ahead).min(axis=0) * ahead.period
    weights = LimitWeights(columns, 1)
    slot = np.zeros(1, np.int64)
    offered = float((whole.weight * whole.amount).sum())
    for column in range(len(columns.source)):
        bound = float(min(pace[column], 2 * offered + 1))
        weights.of_column(0, column, slot, bound)
    for limit in list_limits(mandates):
        if limit.kind is LimitKind.MINIMUM:
            take = mandates.mandates[limit.column].minimum_take
            assert take is not None
            lent = live.placed[limit.column] * weights.lent(limit.column)
            missing = max(take.amount_minor - lent, 0.0)
            most = take.shortfall_fee_ppm * 1000.0
            weights.of_column(
                limit.number, limit.column, slot, missing, least=True, most_price=most
            )
        elif limit.kind in PLATFORM_ROOMS:
            room = PLATFORM_ROOMS.index(limit.kind)
            left = float(live.platform_room[room])
            weights.of_all(limit.number, columns.rooms[room] / PPM, left)
        elif limit.kind in (LimitKind.MODEL_MAX, LimitKind.MODEL_MIN):
            _target(weights, limit.kind, limit.number, limit.member, limit.bound, live)
    return Problem(
        columns, whole, np.zeros(len(whole.amount), np.int64), live.open_set[None, :].copy(),
        approval[None, :].copy(), *weights.arrays(), mix_bound=-live.mix_state / PPM,
    ), np.array(weights.number, np.int64)  # fmt: skip


def _target(
    weights: LimitWeights, kind: LimitKind, number: int, model: int, share_ppm: int, live: Live
) -> None:
    """A model's share of everything, with what was placed so far."""
    shares = model_weights(weights.columns, model, share_ppm)
    so_far = float((shares * live.placed).sum())
    if kind is LimitKind.MODEL_MAX:
        weights.of_all(number, shares, -so_far)
    else:
        weights.of_all(number, -shares, so_far)
