"""What is still to come: how many requests, and what they look like, from forecast and experience.

The forecast says how many requests each day brings. What was seen so far corrects its level, and
the latest requests say what demand looks like now; the fewer were seen, the more the forecast's
own segments count. Without a forecast every day of the period is expected to be like those seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usance.base.dates import from_day, to_month
from usance.match.demand import Demand
from usance.match.requests import DAY_SECONDS
from usance.match.rows import Rows, make_rows
from usance.match.source_columns import SourceColumns

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
HOURS = 24
# The latest requests that prices are made from.
WINDOW = 50_000
# Requests after which what was seen counts as much as the forecast: for what demand looks like,
# and for how much of it there is.
FORECAST_WORTH, LEVEL_WORTH = 6_000, 2_000


@dataclass(frozen=True)
class Ahead:
    """Requests still expected: to the end of the period, of the month, of the day."""

    period: float
    month: float
    day: float
    whole: float
    """From the first day of the period to the last."""


class Outlook:
    """The expectation at a moment of the period; `see` moves it on."""

    def __init__(
        self,
        demand: Demand | None,
        first_day: int,
        last_day: int,
        columns: SourceColumns,
        zone: str,
    ) -> None:
        self.first_day, self.last_day = first_day, last_day
        days = np.arange(first_day, last_day + 1)
        self._months = np.array([to_month(from_day(int(each))) for each in days])
        self._hours = np.ones(HOURS)
        self._worth = LEVEL_WORTH if demand is not None else 0
        self._by_day = np.ones(len(days))
        self._demand = demand
        if demand is not None:
            self._by_day = np.full(len(days), demand.total_requests / len(days))
            if demand.by_day:
                inside = (demand.day >= first_day) & (demand.day <= last_day)
                counts = np.bincount(
                    demand.day[inside] - first_day, demand.requests[inside], len(days)
                )
                self._by_day = counts.astype(np.float64)
            self._segments = make_rows(demand.segments, columns, zone)

    def see(self, rows: Rows, start: int, stop: int) -> None:
        """Learn at which hours requests come."""
        self._hours += np.bincount(rows.second[start:stop] // 3600, minlength=HOURS)[:HOURS]

    def ahead(self, seen: int, day: int, second: int) -> Ahead:
        """Requests still expected at a moment, after so many were seen."""
        today = min(max(day - self.first_day, 0), len(self._by_day) - 1)
        left = self._left_of_day(second)
        gone = float(self._by_day[:today].sum() + (1 - left) * self._by_day[today])
        level = (seen + self._worth) / max(gone + self._worth, 1e-9)
        this_day = level * left * float(self._by_day[today])
        later = level * self._by_day[today + 1 :]
        same = self._months[today + 1 :] == self._months[today]
        period = max(this_day + float(later.sum()), 1.0)
        month = max(this_day + float(later[same].sum()), 1.0)
        whole = max(level * float(self._by_day.sum()), period)
        return Ahead(period, month, max(this_day, 1.0), whole)

    def sample(self, rows: Rows, seen: int, day: int, second: int) -> Rows:
        """Requests that stand for what is to come; their weights sum to one."""
        recent = rows.take(slice(max(0, seen - WINDOW), seen))
        count = len(recent.amount)
        trust = FORECAST_WORTH / (FORECAST_WORTH + seen) if self._demand is not None else 0.0
        recent = recent._replace(weight=np.full(count, (1 - trust) / max(count, 1)))
        if trust < 0.01:
            return recent
        segments = self._still_expected(day, second)
        segments = segments._replace(weight=segments.weight * (trust if count else 1.0))
        return Rows(*(np.concatenate(pair) for pair in zip(recent, segments, strict=True)))

    def _still_expected(self, day: int, second: int) -> Rows:
        assert self._demand is not None
        weight = self._demand.requests.astype(np.float64)
        if self._demand.by_day:
            weight = np.where(self._demand.day < day, 0.0, weight)
            weight[self._demand.day == day] *= self._left_of_day(second)
        if not weight.any():
            weight = self._demand.requests.astype(np.float64)
        kept = weight > 0
        rows = self._segments.take(kept)
        # Forecast rows have no hour of their own; noon is when everyone is open.
        noon = np.full(len(rows.amount), DAY_SECONDS // 2, np.int64)
        whole = rows._replace(weight=weight[kept] / weight[kept].sum(), second=noon)
        return _merged(whole)

    def _left_of_day(self, second: int) -> float:
        hour = min(second // 3600, HOURS - 1)
        shares = self._hours / self._hours.sum()
        return float(shares[hour + 1 :].sum() + shares[hour] * (1 - (second % 3600) / 3600))


def _merged(rows: Rows) -> Rows:
    """Rows that are alike put together."""
    key = np.stack([rows.product, rows.region, rows.grade, rows.channel, rows.months, rows.amount,
                    rows.rate])  # fmt: skip
    _, first, group = np.unique(key, axis=1, return_index=True, return_inverse=True)
    weight = np.bincount(group.ravel(), rows.weight, len(first)).astype(np.float64)
    return rows.take(first)._replace(weight=weight)
