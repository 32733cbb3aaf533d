"""The hindsight bound: the most any policy could have earned, had it known every request.

The bound knows all requests, every change of a mandate, the principal released and the approval
rates, not the draws: over few requests luck can be better. It is the dual at the best prices
found, summed over every request, so no solver needs to be trusted: evaluated again at the same
prices it is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from usance.base.arrays import I64
from usance.match.mandates.columns import SourceColumns
from usance.match.mandates.events import approval_rates, max_total_budget, open_columns
from usance.match.mandates.limits import Limit, LimitKind, list_limits
from usance.match.mandates.mandate import Mandates
from usance.match.plan.aggregate import aggregate
from usance.match.plan.dual_bound import DualPoint, LimitProblem, descend, evaluate
from usance.match.plan.limit_weights import LimitWeights, add_limit
from usance.match.plan.linear_program import PricePair, solve
from usance.match.router.releases import NO_RELEASES, Releases, released_by_day
from usance.match.router.request_rows import RequestRows

# Rows of the linear programmes that the prices begin with: all candidates of few, few of many.
PLAN_ROWS = (1_500, 6_000)
# Steps of the descent after that, in parts per billion of the amount.
STEPS, FIRST_STEP, LAST_STEP = 16, 100_000.0, 10_000.0


@dataclass(frozen=True)
class HindsightBound:
    """The bound, and the prices that prove it."""

    bound_minor: int
    point: DualPoint
    problem: LimitProblem
    numbers: tuple[int, ...]
    """The number of each limit that has a price."""


def hindsight_bound(
    rows: RequestRows, moments: I64, mandates: Mandates, columns: SourceColumns, *,
    releases: Releases = NO_RELEASES, steps: int = STEPS,
) -> HindsightBound:  # fmt: skip
    """The most that these requests could have earned."""
    problem, numbers = whole_problem(rows, moments, mandates, columns, releases)
    prices, concentration = _starting_prices(rows, moments, mandates, columns, releases, numbers)
    best = evaluate(problem, prices, concentration)
    if steps:
        found, mean, concentration_mean = descend(
            problem, prices, concentration, steps=steps, first=FIRST_STEP, last=LAST_STEP
        )
        average = evaluate(problem, mean, concentration_mean)
        best = min(best, found, average, key=lambda point: point.bound)
    return HindsightBound(int(np.ceil(best.bound)), best, problem, numbers)


def whole_problem(
    rows: RequestRows, moments: I64, mandates: Mandates, columns: SourceColumns,
    releases: Releases, *, by_day: bool = True,
) -> tuple[LimitProblem, tuple[int, ...]]:  # fmt: skip
    """All requests and every limit of the file, in slots of time.

    A slot is one day between two events; not `by_day`, it is all days with the same mandates in
    force, and daily and monthly budgets are limits on their sum.
    """
    changes = np.array([event.moment for event in mandates.events], np.int64)
    epoch = np.searchsorted(changes, moments, side="right")
    slots, slot = np.unique(np.stack([rows.day, epoch]), axis=1, return_inverse=True)
    day, epochs = slots
    open_sets = np.stack(
        [open_columns(mandates, int(d), int(e)) for d, e in zip(day, epochs, strict=True)]
    )
    approval = np.stack([approval_rates(mandates, columns, int(e)) for e in epochs])
    slot = slot.ravel()
    if not by_day:
        alike = np.column_stack([open_sets.astype(np.int64), approval])
        _, first, group = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        slot, open_sets, approval = group.ravel()[slot], open_sets[first], approval[first]
    largest = float(rows.amount.max(initial=0))
    weights = LimitWeights(columns, len(open_sets))
    released = released_by_day(releases, mandates, int(day.max(initial=0)))
    for limit in list_limits(mandates):
        if limit.kind is LimitKind.TOTAL:
            _add_total(weights, limit, mandates, day if by_day else None, released[limit.column])
        else:
            add_limit(weights, limit, mandates, day, largest, by_day=by_day)
    return LimitProblem(
        columns, rows, slot.astype(np.int64), open_sets, approval, *weights.arrays(),
        concentration_bound=np.full(len(columns.concentration_bound), largest),
    ), tuple(weights.number)  # fmt: skip


def _add_total(
    weights: LimitWeights, limit: Limit, mandates: Mandates, day: I64 | None,
    released: dict[int, int],
) -> None:  # fmt: skip
    """Add a total budget with all releases; and, until the day of each, without the later ones."""
    every, bound = np.arange(weights.slots), float(max_total_budget(mandates, limit))
    for each in sorted(released):
        if day is not None and (day < each).any():
            weights.of_column(0, limit.column, np.flatnonzero(day < each), bound)
        bound += released[each]
    weights.of_column(limit.number, limit.column, every, bound)


def _starting_prices(
    rows: RequestRows, moments: I64, mandates: Mandates, columns: SourceColumns,
    releases: Releases, numbers: tuple[int, ...],
) -> PricePair:  # fmt: skip
    """Prices from a linear programme over the whole stream, aggregated to few rows."""
    coarse, short = whole_problem(rows, moments, mandates, columns, releases, by_day=False)
    prices: PricePair | None = None
    for max_rows in PLAN_ROWS:
        few, slot = aggregate(rows, coarse.slot, columns, max_rows)
        solved = solve(replace(coarse, rows=few, slot=slot), prices)
        prices = solved.prices, solved.concentration_prices
        if len(few.amount) < max_rows:
            break
    assert prices is not None
    # A bound that holds only until principal is released has no number and starts at zero.
    by_number = {**dict(zip(short, prices[0], strict=True)), 0: 0.0}
    return np.array([by_number[number] for number in numbers]), prices[1]
