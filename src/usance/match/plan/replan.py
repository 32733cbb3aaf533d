"""Prices planned again on the way, from the headroom of every limit and the remaining demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usance.base.arrays import F64, I64
from usance.base.rates import PPM
from usance.match.mandates.columns import UNLIMITED, SourceColumns
from usance.match.mandates.limits import PLATFORM_KINDS, LimitKind, list_limits
from usance.match.mandates.mandate import Mandates
from usance.match.plan.dual_bound import LimitProblem
from usance.match.plan.limit_weights import LimitWeights, model_weights
from usance.match.plan.linear_program import solve
from usance.match.plan.remaining_demand import RemainingDemand
from usance.match.router.request_rows import RequestRows, aggregate
from usance.match.router.state import RouterState

# Parts per billion a request: measured on streams of a million, where 90 is too slow for weekends.
MIN_STEP = 300
# A concentration limit is idle when this part of what is placed could be placed against it; each
# hour its price then falls by one part in so many.
SPARE, EASE = 0.02, 5


@dataclass(frozen=True)
class LimitPrices:
    """Prices of every limit, parts per billion of the amount they bound."""

    budget: F64
    """By column: of its own budgets, per unit it lends."""
    other: F64
    """Of platform limits and minimum takes, in the order of the problem."""
    concentration: F64
    by_column: I64
    """All but concentration, per unit of loan."""
    largest: I64
    """By column: the number of the other limit that is the largest part of that, 0 if none is."""


@dataclass(frozen=True)
class PlanRecord:
    """One plan made on the way, with its reason."""

    number: int
    request: int
    reason: str
    segments: int
    """Rows of demand it was made from."""


@dataclass(frozen=True)
class RoutePlan:
    """A plan as it is handed to a router: its moment, its reason and the prices of every limit."""

    number: int
    reason: str
    day: int
    second: int
    """Moment it was made for, by the clocks of the platform."""
    seen: int
    """Requests seen by then."""
    segments: int
    prices: LimitPrices | None
    """None if no demand was known yet."""
    is_solved: bool = True
    """False where the solver found none: the prices are then those before."""


def budget_paces(state: RouterState, remaining: RemainingDemand) -> F64:
    """Amount that each budget (total, month, day) lets a column lend per request from now on."""
    left = np.stack([state.total, state.month, state.day])
    count = np.stack([remaining.total, remaining.month, np.full(len(state.day), remaining.day)])
    return np.where(left < UNLIMITED // 2, np.maximum(left, 0) / count, np.inf)


def set_pace(
    columns: SourceColumns, state: RouterState, remaining: RemainingDemand, step: int
) -> None:
    """Set the pace that prices follow, and the length of their steps.

    Steps shrink with the square root of the horizon, where the regret of mirror descent is least,
    but not below what a season needs within its days.
    """
    each = budget_paces(state, remaining)
    pace, tightest = each.min(axis=0), each.argmin(axis=0)
    limited = np.isfinite(pace)
    numbers = columns.budget_limit[tightest, np.arange(len(pace))]
    state.tightest_budget[:] = np.where(limited, numbers, 0)
    state.pace[:] = np.where(limited, np.rint(np.where(limited, pace, 0) * 1000), -1)
    state.step[:] = max(round(step / remaining.whole_period**0.5), MIN_STEP if step else 0)


def ease_concentration_prices(columns: SourceColumns, state: RouterState) -> None:
    """Lower the price of a concentration limit that is far from being used up.

    At the price of a plan the loans it bounds tie with nothing: a little too much, and none of
    them is placed. The limit itself is kept by the kernel, whatever the price.
    """
    owner = np.repeat(np.arange(len(state.placed)), np.diff(columns.concentration_start))
    spare = -state.limits.concentration_excess / PPM
    mean = state.placed / np.maximum(state.approved, 1)
    idle = spare > np.maximum(SPARE * state.placed, 3 * mean)[owner]
    price = state.limits.concentration_price
    price[idle] -= price[idle] // EASE


def make_prices(
    mandates: Mandates, columns: SourceColumns, state: RouterState, sample: RequestRows,
    remaining: RemainingDemand, approval: I64, before: LimitPrices | None, segments: int,
) -> tuple[LimitPrices, int, bool]:  # fmt: skip
    """Prices for the rest of the period, the number of demand rows, True if they were solved for.

    Rows are `segments` at most; the prices `before` are the warm start, and what stays in force
    where the solver finds none.
    """
    rows, _ = aggregate(sample, np.zeros(len(sample.amount), np.int64), columns, segments)
    problem, numbers = remaining_problem(mandates, columns, state, rows, remaining, approval)
    count = len(columns.source)
    warm_start = None
    if before is not None:
        budget = np.where(state.budget_price > 0, state.budget_price, before.budget)
        warm_start = np.concatenate([budget, before.other]), before.concentration
    solved = solve(problem, warm_start)
    if not solved.optimal:
        return before or no_prices(problem, count), len(rows.amount), False
    prices = LimitPrices(
        solved.prices[:count], solved.prices[count:], solved.concentration_prices,
        problem.price_by_column(solved.prices)[0], _largest_other(problem, solved.prices, numbers),
    )  # fmt: skip
    return prices, len(rows.amount), True


def _largest_other(problem: LimitProblem, prices: F64, numbers: I64) -> I64:
    """By column: the limit with the highest cost, its own budgets apart."""
    count = len(problem.columns.source)
    cost = problem.weight * prices[problem.limit]
    best, number = np.zeros(count), np.zeros(count, np.int64)
    for each in np.flatnonzero((problem.limit >= count) & (cost > 0)):
        column = problem.cell[each] % count
        if cost[each] > best[column]:
            best[column], number[column] = cost[each], numbers[problem.limit[each]]
    return number


def no_prices(problem: LimitProblem, count: int) -> LimitPrices:
    """Prices of zero."""
    none = np.zeros(len(problem.bound))
    concentration = np.zeros(len(problem.concentration_bound))
    by_column = problem.price_by_column(none)[0]
    return LimitPrices(
        none[:count], none[count:], concentration, by_column, np.zeros(count, np.int64)
    )


def set_prices(
    state: RouterState, columns: SourceColumns, prices: LimitPrices, weight: float
) -> None:
    """Set the prices of the kernels, as whole parts per billion.

    Budget prices move this part of the way from those that use has led to, which are where
    candidates that tie in the plan share the load.
    """
    moved = state.budget_price + weight * (prices.budget - state.budget_price)
    state.budget_price[:] = np.rint(moved)
    lent_ppm = PPM - columns.others_ppm
    planned = np.rint(prices.budget).astype(np.int64) * lent_ppm // PPM
    state.other_price[:] = prices.by_column - planned
    state.limits.price[:] = state.other_price + state.budget_price * lent_ppm // PPM
    state.limits.concentration_price[:] = np.rint(prices.concentration)
    state.other_limit[:] = prices.largest


def remaining_problem(
    mandates: Mandates, columns: SourceColumns, state: RouterState, sample: RequestRows,
    remaining: RemainingDemand, approval: I64,
) -> tuple[LimitProblem, I64]:  # fmt: skip
    """Headroom of every limit against the remaining demand, in one slot; numbers of limits."""
    rows = sample._replace(weight=sample.weight * remaining.period)
    pace = budget_paces(state, remaining).min(axis=0) * remaining.period
    weights, slot = LimitWeights(columns, 1), np.zeros(1, np.int64)
    offered = float((rows.weight * rows.amount).sum())
    for column in range(len(columns.source)):
        weights.of_column(0, column, slot, float(min(pace[column], 2 * offered + 1)))
    for limit in list_limits(mandates):
        if limit.kind is LimitKind.MINIMUM:
            lent = state.placed[limit.column] * weights.lent(limit.column)
            weights.of_minimum_take(limit, mandates, slot, max(limit.bound - lent, 0.0))
        elif limit.kind in PLATFORM_KINDS:
            left = state.limits.platform_headroom[PLATFORM_KINDS.index(limit.kind)]
            weights.of_platform(limit, float(left))
        elif limit.kind in (LimitKind.MODEL_MAX, LimitKind.MODEL_MIN):
            sign = 1 if limit.kind is LimitKind.MODEL_MAX else -1
            shares = model_weights(columns, limit.member, limit.bound)
            placed = float((shares * state.placed).sum())
            weights.of_all(limit.number, sign * shares, -sign * placed)
    problem = LimitProblem(
        columns, rows, np.zeros(len(rows.amount), np.int64), state.limits.open_set[None, :].copy(),
        approval[None, :].copy(), *weights.arrays(),
        concentration_bound=-state.limits.concentration_excess / PPM,
    )  # fmt: skip
    return problem, np.array(weights.number, np.int64)
