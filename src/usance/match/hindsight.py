"""The best anyone could have earned, had they known every request: a certificate, not an answer.

The bound knows all requests, every change of a mandate and the approval rates, not the draws. It
is the dual at the best prices found, summed over every request, so no solver needs to be trusted:
whoever doubts it evaluates it again at the same prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.dates import from_day, to_month
from usance.base.rates import PPB
from usance.match.limit_weights import LimitWeights, model_weights
from usance.match.limits import BUDGETS, PLATFORM_ROOMS, Limit, LimitKind, list_limits
from usance.match.mandate import EventKind, Mandates
from usance.match.prices import Point, Problem, descend, evaluate
from usance.match.requests import MICROSECONDS
from usance.match.rows import Rows
from usance.match.source_columns import SourceColumns, bit_set

Numbers = NDArray[np.int64]
SAMPLE = 20_000
# Steps of the descent, in parts per billion of the amount: about a tenth of a usual margin first.
FIRST_STEP, LAST_STEP = 2_000_000.0, 20_000.0


@dataclass(frozen=True)
class Hindsight:
    """The bound, and the prices that certify it."""

    bound_minor: int
    point: Point
    problem: Problem
    numbers: tuple[int, ...]
    """The number of each limit that has a price."""


def hindsight(
    rows: Rows, moments: Numbers, mandates: Mandates, columns: SourceColumns, *, steps: int = 30
) -> Hindsight:
    """The bound on what these requests could have earned."""
    problem, numbers = whole_problem(rows, moments, mandates, columns)
    every = max(1, len(rows.amount) // SAMPLE)
    sample = _sampled(problem, every)
    prices, mix = np.zeros(len(problem.bound)), np.zeros(len(problem.mix_bound))
    _, prices, mix = descend(sample, prices, mix, steps=200, first=FIRST_STEP, last=LAST_STEP)
    best = evaluate(problem, prices, mix)
    if every > 1 or steps:
        small = FIRST_STEP / 20
        found, mean, mix_mean = descend(
            problem, prices, mix, steps=steps, first=small, last=LAST_STEP / 2
        )
        best = min(best, found, evaluate(problem, mean, mix_mean), key=lambda point: point.bound)
    return Hindsight(int(np.ceil(best.bound)), best, problem, numbers)


def whole_problem(
    rows: Rows, moments: Numbers, mandates: Mandates, columns: SourceColumns
) -> tuple[Problem, tuple[int, ...]]:
    """All requests and every limit of the file, in slots of one day between two events."""
    changes = np.array([int(e.at.timestamp()) * MICROSECONDS for e in mandates.events], np.int64)
    epoch = np.searchsorted(changes, moments, side="right")
    pairs = np.stack([rows.day, epoch])
    slots, slot = np.unique(pairs, axis=1, return_inverse=True)
    day, epochs = slots
    open_sets = np.stack(
        [open_columns(mandates, int(d), int(e)) for d, e in zip(day, epochs, strict=True)]
    )
    approval = np.stack([approvals(mandates, columns, int(e)) for e in epochs])
    largest = float(rows.amount.max(initial=0))
    weights = LimitWeights(columns, len(day))
    for limit in list_limits(mandates):
        _add(weights, limit, mandates, day, largest)
    return Problem(
        columns, rows, slot.ravel().astype(np.int64), open_sets, approval, *weights.arrays(),
        mix_bound=np.full(len(columns.mix_bound), largest),
    ), tuple(weights.number)  # fmt: skip


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


def approvals(mandates: Mandates, columns: SourceColumns, events: int) -> Numbers:
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


def _add(
    weights: LimitWeights, limit: Limit, mandates: Mandates, day: Numbers, largest: float
) -> None:
    kind, column = limit.kind, limit.column
    if kind is LimitKind.TOTAL:
        bound = float(total_bound(mandates, limit))
        weights.of_column(limit.number, column, np.arange(len(day)), bound)
    elif kind in BUDGETS:
        month = np.array([to_month(_date(each)) for each in day])
        key = day if kind is LimitKind.DAY else month
        for each in np.unique(key):
            here = np.flatnonzero(key == each)
            weights.of_column(limit.number, column, here, float(limit.bound))
    elif kind is LimitKind.MINIMUM:
        take: Any = mandates.mandates[column].minimum_take
        most = float(take.shortfall_fee_ppm) * (PPB // 1_000_000)
        slots = np.arange(len(day))
        weights.of_column(
            limit.number, column, slots, float(limit.bound), least=True, most_price=most
        )
    elif kind in PLATFORM_ROOMS:
        used = weights.columns.rooms[PLATFORM_ROOMS.index(kind)] / 1_000_000
        weights.of_all(limit.number, used, float(limit.bound))
    elif kind is LimitKind.MODEL_MOST:
        shares = model_weights(weights.columns, limit.member, limit.bound)
        weights.of_all(limit.number, shares, largest)


def _date(day: Any) -> date:
    return from_day(int(day))


def _sampled(problem: Problem, every: int) -> Problem:
    """Each n-th request, standing for n."""
    from dataclasses import replace

    rows = problem.rows.take(slice(None, None, every))
    count = len(problem.rows.amount)
    scale = count / max(len(rows.amount), 1)
    return replace(
        problem, rows=rows._replace(weight=rows.weight * scale), slot=problem.slot[::every].copy()
    )
