"""The best anyone could have earned, had they known every request: a certificate, not an answer.

The bound knows all requests, every change of a mandate, the principal that comes back and the
approval rates, not the draws: over few requests luck can be better than it. It
is the dual at the best prices found, summed over every request, so no solver needs to be trusted:
whoever doubts it evaluates it again at the same prices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.dates import from_day, to_month
from usance.base.rates import PPB, PPM
from usance.match.mandates.columns import SourceColumns, bit_set
from usance.match.mandates.limits import BUDGETS, PLATFORM_ROOMS, Limit, LimitKind, list_limits
from usance.match.mandates.mandate import EventKind, Mandates
from usance.match.plan.aggregate import aggregate
from usance.match.plan.limit_weights import LimitWeights, model_weights
from usance.match.plan.linear import solve
from usance.match.plan.prices import Point, Problem, descend, evaluate
from usance.match.router.releases import NO_RELEASES, Releases, room_by_day
from usance.match.router.requests import MICROSECONDS
from usance.match.router.rows import Rows

# Rows of the linear programmes that the prices begin with: all candidates of few, few of many.
PLAN_ROWS = (1_500, 6_000)
# Steps of the descent after that, in parts per billion of the amount.
STEPS, FIRST_STEP, LAST_STEP = 16, 100_000.0, 10_000.0


@dataclass(frozen=True)
class Hindsight:
    """The bound, and the prices that certify it."""

    bound_minor: int
    point: Point
    problem: Problem
    numbers: tuple[int, ...]
    """The number of each limit that has a price."""


def hindsight(
    rows: Rows, moments: I64, mandates: Mandates, columns: SourceColumns, *,
    releases: Releases = NO_RELEASES, steps: int = STEPS,
) -> Hindsight:  # fmt: skip
    """The bound on what these requests could have earned."""
    problem, numbers = whole_problem(rows, moments, mandates, columns, releases)
    prices, mix = _planned(rows, moments, mandates, columns, releases, numbers)
    best = evaluate(problem, prices, mix)
    if steps:
        found, mean, mix_mean = descend(
            problem, prices, mix, steps=steps, first=FIRST_STEP, last=LAST_STEP
        )
        best = min(best, found, evaluate(problem, mean, mix_mean), key=lambda point: point.bound)
    return Hindsight(int(np.ceil(best.bound)), best, problem, numbers)


def whole_problem(
    rows: Rows, moments: I64, mandates: Mandates, columns: SourceColumns, releases: Releases, *,
    by_day: bool = True,
) -> tuple[Problem, tuple[int, ...]]:  # fmt: skip
    """All requests and every limit of the file, in slots of time.

    A slot is one day between two events; not `by_day`, it is all days with the same mandates in
    force, and daily and monthly budgets are limits on their sum.
    """
    changes = np.array([int(e.at.timestamp()) * MICROSECONDS for e in mandates.events], np.int64)
    epoch = np.searchsorted(changes, moments, side="right")
    slots, slot = np.unique(np.stack([rows.day, epoch]), axis=1, return_inverse=True)
    day, epochs = slots
    open_sets = np.stack(
        [open_columns(mandates, int(d), int(e)) for d, e in zip(day, epochs, strict=True)]
    )
    approval = np.stack([approvals(mandates, columns, int(e)) for e in epochs])
    group, slot = np.arange(len(day)), slot.ravel()
    if not by_day:
        alike = np.column_stack([open_sets.astype(np.int64), approval])
        _, first, group = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        slot, open_sets, approval = group.ravel()[slot], open_sets[first], approval[first]
    largest = float(rows.amount.max(initial=0))
    weights = LimitWeights(columns, len(open_sets))
    room = room_by_day(releases, mandates, int(day.max(initial=0)))
    for limit in list_limits(mandates):
        if limit.kind is LimitKind.TOTAL:
            _add_total(weights, limit, mandates, day if by_day else None, room[limit.column])
        else:
            add_limit(weights, limit, mandates, day, group.ravel() if by_day else None, largest)
    return Problem(
        columns, rows, slot.astype(np.int64), open_sets, approval, *weights.arrays(),
        mix_bound=np.full(len(columns.mix_bound), largest),
    ), tuple(weights.number)  # fmt: skip


def _add_total(
    weights: LimitWeights, limit: Limit, mandates: Mandates, day: I64 | None,
    room: dict[int, int],
) -> None:  # fmt: skip
    """A total budget with all that comes back; and, until each day it does, without the rest."""
    every, bound = np.arange(weights.slots), float(total_bound(mandates, limit))
    for each in sorted(room):
        if day is not None and (day < each).any():
            weights.of_column(0, limit.column, np.flatnonzero(day < each), bound)
        bound += room[each]
    weights.of_column(limit.number, limit.column, every, bound)


def _planned(
    rows: Rows, moments: I64, mandates: Mandates, columns: SourceColumns, releases: Releases,
    numbers: tuple[int, ...],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """Prices from a linear programme over the whole stream, put together to few rows."""
    coarse, short = whole_problem(rows, moments, mandates, columns, releases, by_day=False)
    near = None
    for most in PLAN_ROWS:
        few, slot = aggregate(rows, coarse.slot, columns, most)
        solved = solve(replace(coarse, rows=few, slot=slot), near)
        near = solved.prices, solved.mix_prices
        if len(few.amount) < most:
            break
    assert near is not None
    # What only holds until something comes back has no number and begins without a price.
    by_number = {**dict(zip(short, near[0], strict=True)), 0: 0.0}
    return np.array([by_number[number] for number in numbers]), near[1]


def open_columns(mandates: Mandates, day: int, events: int) -> NDArray[np.uint64]:
    """The mandates in force on a day after so many events, as a set."""
    today, gone = from_day(day), set[int]()
    for event in mandates.events[:events]:
        if event.kind is EventKind.LEAVES:
            gone.add(event.source)
        elif event.kind is EventKind.RETURNS:
            gone.discard(event.source)
    rows = mandates.mandates
    kept = [
        column
        for column, each in enumerate(rows)
        if each.valid_from <= today <= each.valid_to and each.source not in gone
    ]
    return bit_set(kept, len(rows))


def approvals(mandates: Mandates, columns: SourceColumns, events: int) -> I64:
    """Approval rates after so many events, parts per million."""
    rates = columns.approval.copy()
    for event in mandates.events[:events]:
        if event.kind is EventKind.APPROVAL_RATE:
            rates[columns.source == event.source] = event.value
    return rates


def total_bound(mandates: Mandates, limit: Limit) -> int:
    """The largest the total budget of a mandate ever is."""
    source = mandates.mandates[limit.column].source
    changed = (
        event.value
        for event in mandates.events
        if event.kind is EventKind.TOTAL_BUDGET and event.source == source
    )
    return max([limit.bound, *changed])


def add_limit(
    weights: LimitWeights, limit: Limit, mandates: Mandates, day: I64, group: I64 | None,
    largest: float,
) -> None:  # fmt: skip
    """One limit; a daily or monthly budget for each of its days or months, or for their sum."""
    kind, column, every = limit.kind, limit.column, np.arange(weights.slots)
    if kind is LimitKind.TOTAL:
        weights.of_column(limit.number, column, every, float(total_bound(mandates, limit)))
    elif kind in BUDGETS:
        month = np.array([to_month(from_day(int(each))) for each in day])
        key = day if kind is LimitKind.DAY else month
        if group is None:
            bound = float(limit.bound) * len(np.unique(key))
            weights.of_column(limit.number, column, every, bound)
            return
        for each in np.unique(key):
            here = np.flatnonzero(key == each)
            weights.of_column(limit.number, column, here, float(limit.bound))
    elif kind is LimitKind.MINIMUM:
        take: Any = mandates.mandates[column].minimum_take
        most = float(take.shortfall_fee_ppm) * (PPB // PPM)
        bound = float(limit.bound)
        weights.of_column(limit.number, column, every, bound, least=True, most_price=most)
    elif kind in PLATFORM_ROOMS:
        used = weights.columns.rooms[PLATFORM_ROOMS.index(kind)] / PPM
        weights.of_all(limit.number, used, float(limit.bound))
    elif kind is LimitKind.MODEL_MAX:
        shares = model_weights(weights.columns, limit.member, limit.bound)
        weights.of_all(limit.number, shares, largest)
