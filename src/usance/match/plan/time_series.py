"""Time series of demand by segment: level × weekday × month end, with an interval.

Whole numbers in (requests or minor units a day), whole numbers out. A segment's weekday and month
ends lean on those of all segments together where its own history says little; its level follows
its latest days. The interval comes from its own past errors, and says what share of days it can
promise to cover: a short history promises less. Holidays are not known here.

>>> days = 19_723 + np.arange(84)  # 2024-01-01, a Monday, and twelve weeks
>>> weekend = (days + 3) % 7 >= 5
>>> made = forecast(np.where(weekend, 50, 100)[None, :], 19_723, horizon=7)
>>> made.day, made.total
(array([[100, 100, 100, 100, 100,  50,  50]]), array([600]))
>>> made.day_low[0, :2].tolist(), made.day_high[0, :2].tolist(), made.promised_ppm
([100, 100], [100, 100], 900000)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import F64, I64
from usance.base.rates import PPB, PPM
from usance.match.errors import ForecastError

WEEK = 7
END_DAYS = 3
"""The last days of a month that have an effect of their own, each apart."""
LEAN_DAYS = 4
"""All segments' effect counts as much as this many days of a segment's own."""
_MAX = 2.0**62  # of a wild history the bound is cut, not turned around
_TINY = 1e-9  # effects are zero only where nothing was ever asked for


class Forecast(NamedTuple):
    """By segment (row): each coming day (column) and their sum, each with its interval."""

    day: I64
    day_low: I64
    day_high: I64
    total: I64
    total_low: I64
    total_high: I64
    promised_ppm: int
    """The share of days inside the interval that this much history can promise."""


def daily(days: I64, segments: I64, amounts: I64, *, first: int, last: int, count: int) -> I64:
    """Rows of a stream as demand by segment (0 … count − 1) and day, zero where there was none.

    >>> daily(
    ...     np.array([5, 5, 7]), np.array([0, 0, 1]), np.array([3, 4, 9]), first=5, last=7, count=2
    ... )
    array([[7, 0, 0],
           [0, 0, 9]])
    """
    demand = np.zeros((count, last - first + 1), np.int64)
    inside = (days >= first) & (days <= last)
    np.add.at(demand, (segments[inside], days[inside] - first), amounts[inside])
    return demand


def forecast(
    demand: I64,
    first: int,
    *,
    horizon: int,
    coverage_ppm: int = 900_000,
    half_life_days: int = 28,
) -> Forecast:
    """Demand of each segment on the `horizon` days after its history.

    `demand` has a row for each segment and a column for each day from `first` (days since
    1970-01-01). A day's weight in the level halves every `half_life_days`.
    """
    _check(demand, horizon, coverage_ppm, half_life_days)
    past = demand.shape[1]
    factors = _factors(demand, first + np.arange(past + horizon))
    decay = round(0.5 ** (1 / half_life_days) * PPB) / PPB  # rounded: the same on every machine
    levels = _levels(demand, factors, decay)
    day = levels[:, -1:] * factors[:, past:]
    errors = _errors(demand, levels, factors)
    low, high, promised_ppm = _bounds(errors, coverage_ppm)
    total, wide = _sum(day)[:, 0], _width(day, errors, decay, past, coverage_ppm)
    return Forecast(
        *(_whole(day), _whole(day * low), _whole(day * high)),
        *(_whole(total), _whole(np.maximum(total - wide, 0)), _whole(total + wide)),
        promised_ppm,
    )


def _check(demand: I64, horizon: int, coverage_ppm: int, half_life_days: int) -> None:
    if demand.ndim != 2 or not demand.shape[1] or demand.dtype.kind not in "iu":
        fix = "Give whole numbers, a row for each segment and a column for each day"
        raise ForecastError(f"a history of shape {demand.shape}, {demand.dtype}", fix=fix)
    if demand.size and demand.min() < 0:
        segment, day = np.unravel_index(int(np.argmin(demand)), demand.shape)
        what = f"segment {segment} has {demand.min()} on day {day} of its history"
        raise ForecastError(what, fix="Give zero or more")
    if horizon < 1 or half_life_days < 1 or not 0 < coverage_ppm < PPM:
        what = f"horizon {horizon}, half-life {half_life_days}, coverage {coverage_ppm} ppm"
        raise ForecastError(what, fix="Give at least one day each, and a coverage inside 0 to 100%")


def _factors(demand: I64, days: I64) -> F64:
    """Weekday × month-end effect of every day, past and coming."""
    past = demand.shape[1]
    weekday, left = days % WEEK, _days_left(days)
    usual, is_end = left[:past] >= END_DAYS, left < END_DAYS
    plain = demand[:, usual]
    level = np.broadcast_to(_ratio(_sum(plain), np.array([[plain.shape[1]]])), plain.shape)
    factors = _effect(plain, level, weekday[:past][usual], WEEK)[:, weekday]
    known = factors[:, :past]
    expected = _ratio(_sum(plain), _sum(known[:, usual])) * known[:, ~usual]
    by_end = _effect(demand[:, ~usual], expected, left[:past][~usual], END_DAYS)
    factors[:, is_end] *= by_end[:, left[is_end]]
    return factors


def _effect(demand: I64, expected: F64, groups: I64, count: int) -> F64:
    """Demand over expected by segment and group of days; 1 unless all were seen twice."""
    masks = [groups == group for group in range(count)]
    sizes = np.array([mask.sum() for mask in masks])
    own, wanted, all_own, all_wanted = (
        np.concatenate([_sum(values[:, mask]) for mask in masks], axis=1)
        for values in (demand, expected, _over(demand), _over(expected))
    )
    pooled = _ratio(all_own, all_wanted, otherwise=1)
    ratio = np.where(wanted > 0, _ratio(own, wanted), pooled)
    replan_weight = sizes / (sizes + LEAN_DAYS)
    mixed = replan_weight * ratio + (1 - replan_weight) * pooled
    return mixed if sizes.min() >= 2 else np.ones_like(mixed)


def _levels(demand: I64, factors: F64, decay: float) -> F64:
    """The level after each day of history: weighted demand over weighted effects."""
    levels = np.empty(demand.shape)
    above, below = np.zeros(len(demand)), np.zeros(len(demand))
    for day in range(demand.shape[1]):
        above = above * decay + demand[:, day]
        below = below * decay + factors[:, day]
        levels[:, day] = above / np.maximum(below, _TINY)
    return levels


def _errors(demand: I64, levels: F64, factors: F64) -> F64:
    """Demand over its forecast of the evening before, in rising order."""
    past = demand.shape[1]
    start = min(WEEK, past // 2) or past  # a level of the first few days is no forecast
    expected = levels[:, start - 1 : -1] * factors[:, start:past]
    # Before a segment's first demand there is no error to learn from.
    return np.sort(_ratio(demand[:, start:], expected, otherwise=1), axis=1)


def _bounds(errors: F64, coverage_ppm: int) -> tuple[F64, F64, int]:
    """The errors that leave half of the rest outside on each side, and what that promises.

    A new error falls between any two neighbours of n earlier ones with a chance of 1 in n + 1.
    """
    seen = errors.shape[1]
    if not seen:
        return np.ones((len(errors), 1)), np.ones((len(errors), 1)), 0
    outside = max(1, (seen + 1) * (PPM - coverage_ppm) // (2 * PPM))
    promised_ppm = min(coverage_ppm, (seen + 1 - 2 * outside) * PPM // (seen + 1))
    low, high = errors[:, outside - 1, None], errors[:, seen - outside, None]
    return np.minimum(low, 1), np.maximum(high, 1), max(promised_ppm, 0)


def _width(day: F64, errors: F64, decay: float, past: int, coverage_ppm: int) -> F64:
    """Half-width of the interval of a sum of days; their daily errors are independent."""
    from statistics import NormalDist

    weights = np.cumprod(np.full(past, decay))
    shared = (weights * weights).cumsum()[-1] / weights.cumsum()[-1] ** 2
    variance = _sum((errors - 1) ** 2)[:, 0] / max(errors.shape[1], 1)
    times = round(NormalDist().inv_cdf((1 + coverage_ppm / PPM) / 2), 9)
    spread = _sum(day * day)[:, 0] + _sum(day)[:, 0] ** 2 * shared
    return np.asarray(times * np.sqrt(variance * spread))


def _days_left(days: I64) -> I64:
    """Days to the month's last: 0 on it."""
    dates = days.astype("datetime64[D]")
    return (dates.astype("datetime64[M]") + 1).astype("datetime64[D]").astype(np.int64) - days - 1


def _sum(values: NDArray[Any]) -> NDArray[Any]:
    """Sums over days, one after the other, so that no machine adds in another order."""
    return values.cumsum(axis=1)[:, -1:] if values.shape[1] else np.zeros((len(values), 1))


def _over(values: NDArray[Any]) -> NDArray[Any]:
    """All segments together."""
    return values.cumsum(axis=0)[-1:] if len(values) else np.zeros((1, values.shape[1]))


def _ratio(above: NDArray[Any], below: NDArray[Any], otherwise: float = 0) -> F64:
    shape = np.broadcast_shapes(above.shape, below.shape)
    out: F64 = np.full(shape, otherwise, np.float64)
    np.divide(above, below, out=out, where=np.broadcast_to(below > 0, shape))
    return out


def _whole(values: F64) -> I64:
    return np.rint(np.minimum(values, _MAX)).astype(np.int64)
