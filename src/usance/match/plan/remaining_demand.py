"""Remaining demand of a period, by number and by kind, estimated from forecast and experience.

The forecast gives the requests of each day. Requests seen so far correct its level, and the latest
ones show the kinds of demand now; the fewer were seen, the more the forecast's own segments count.
Without a forecast every day of the period is expected to be like those seen, and a `share` of them
is counted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import F64, I64
from usance.base.dates import from_day, to_month
from usance.match.mandates.columns import SourceColumns
from usance.match.plan.demand_file import Demand
from usance.match.router.request_rows import RequestRows, make_request_rows
from usance.match.router.requests import DAY_SECONDS, Requests

HOURS = 24
# Prices are planned from the latest requests: a whole week, since weekends differ, or so many if
# that is longer; beyond twice as many only every second, fourth, eighth … is used.
WINDOW, WEEK = 50_000, 7
# Requests after which experience counts as much as the forecast: for the kinds of demand, and for
# its level.
FORECAST_WEIGHT, LEVEL_WEIGHT = 6_000, 2_000


# Demand has changed when the requests of the last day differ from those before by so many standard
# deviations in the mix of one of these; at least so many requests are compared.
CHANGE_DEVIATIONS, CHANGE_REQUESTS = 6.0, 60
CHANGE_MEASURES = ("grade", "region", "product", "channel")


@dataclass(frozen=True)
class RemainingDemand:
    """Requests still expected."""

    period: float
    """To the end of the period."""
    total: F64
    """By column: to its last day within the period, and within the month."""
    month: F64
    day: float
    whole_period: float
    """From the first day of the period to the last."""


class DemandEstimator:
    """Estimate of the remaining demand at a moment of the period; `observe` moves it on."""

    def __init__(
        self,
        demand: Demand | None,
        first_day: int,
        last_day: int,
        columns: SourceColumns,
        zone: str,
        *,
        share: float = 1.0,
    ) -> None:
        self._columns, self._zone, self._share, self._demand = columns, zone, share, demand
        self.seen, self._period_seen = 0, 0
        self._stride, self._changed_at = 1, 0
        self._recent = np.zeros((len(Requests.__slots__) + 1, 0), np.int64)
        self._recent_rows = make_request_rows(Requests(*self._recent[1:]), columns, zone)
        self._hours = np.ones(HOURS)
        self._forecast_weight = LEVEL_WEIGHT if demand is not None else 0
        if demand is not None:
            self._segments = make_request_rows(demand.segments, columns, zone)
        self._set_period(first_day, last_day)

    def _set_period(self, first_day: int, last_day: int) -> None:
        """Expect demand from one day to another."""
        self.first_day, self.last_day, demand = first_day, last_day, self._demand
        self._ends = np.minimum(self._columns.last_day, last_day) - first_day
        days = np.arange(first_day, last_day + 1)
        self._months = np.array([to_month(from_day(int(each))) for each in days])
        self._by_day = np.ones(len(days))
        if demand is not None:
            self._by_day = np.full(len(days), demand.total_requests / len(days))
            if demand.by_day:
                inside = (demand.day >= first_day) & (demand.day <= last_day)
                counts = np.bincount(
                    demand.day[inside] - first_day, demand.requests[inside], len(days)
                )
                if counts.any():
                    self._by_day = counts.astype(np.float64)

    @property
    def has_no_forecast(self) -> bool:
        """True without a forecast."""
        return self._demand is None

    def to_arrays(
        self, requests: Requests, rows: RequestRows, seen: int
    ) -> dict[str, NDArray[Any]]:
        """Experience as named arrays: the latest requests, the rest as counts."""
        before, here = self._latest(rows, seen, int(rows.day[seen - 1]) if seen else self.first_day)
        columns = [getattr(requests, name)[here] for name in Requests.__slots__]
        latest = np.stack([here + self.seen, *columns])
        return {
            "hours": self._hours.copy(),
            "seen": np.array(self.seen + seen),
            "period": np.array([self.first_day, self.last_day]),
            "period_seen": np.array(self._period_seen + seen),
            "stride": np.array(self._stride),
            "changed_at": np.array(self._changed_at),
            "recent": np.concatenate([self._recent[:, before], latest], axis=1),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Resume from earlier experience; the level of demand only within one period."""
        self._hours, self.seen = arrays["hours"].copy(), int(arrays["seen"])
        self._stride, self._recent = int(arrays["stride"]), arrays["recent"]
        self._changed_at = int(arrays.get("changed_at", 0))  # earlier versions kept none
        self._recent_rows = make_request_rows(
            Requests(*self._recent[1:]), self._columns, self._zone
        )
        first, last = arrays["period"].tolist()
        if last == self.last_day and first <= self.first_day:
            self._set_period(first, last)
            self._period_seen = int(arrays["period_seen"])

    def observe(self, rows: RequestRows, start: int, stop: int) -> None:
        """Count requests by hour; the period begins with the first, if that comes before it."""
        if stop > start and rows.day[start] < self.first_day:
            self._set_period(int(rows.day[start]), self.last_day)
        counts = np.bincount(rows.second[start:stop] // 3600, minlength=HOURS)[:HOURS]
        self._hours = self._hours + counts  # another array: copies of this object keep theirs

    def remaining(self, seen: int, day: int, second: int) -> RemainingDemand:
        """Requests still expected at a moment, after so many were seen."""
        today = min(max(day - self.first_day, 0), len(self._by_day) - 1)
        left = self._part_of_day_left(second)
        passed = float(self._by_day[:today].sum() + (1 - left) * self._by_day[today])
        level = (self._period_seen + seen + self._forecast_weight) / max(
            passed + self._forecast_weight, 1e-9
        )
        this_day = level * left * float(self._by_day[today])
        until = this_day + level * np.cumsum(np.append(0.0, self._by_day[today + 1 :]))
        month_end = int(np.flatnonzero(self._months == self._months[today])[-1])
        last = np.clip(self._ends - today, 0, len(until) - 1)
        total, month = (
            np.maximum(until[days], 1.0) for days in (last, np.minimum(last, month_end - today))
        )
        period = max(float(until[-1]), 1.0)
        whole_period = max(level * float(self._by_day.sum()), period)
        period, total, month = (
            np.maximum(each * self._share, 1.0) for each in (period, total, month)
        )
        return RemainingDemand(float(period), total, month, max(this_day, 1.0), whole_period)

    def notes_change(self, rows: RequestRows, seen: int, day: int) -> bool:
        """True if demand is no longer like before; from now on only requests since then count."""
        before, here = self._latest(rows, seen, day)

        def latest(name: str) -> I64:
            kept, now = getattr(self._recent_rows, name)[before], getattr(rows, name)[here]
            return np.concatenate([kept, now]).astype(np.int64)[known:]

        at, known = np.concatenate([self._recent[0, before], here + self.seen]), 0
        known = int(np.searchsorted(at, self._changed_at))
        last = max(int((latest("day") >= day - 1).sum()), CHANGE_REQUESTS)
        start = len(at) - known - last
        if start < CHANGE_REQUESTS:
            return False
        rate = latest("rate")
        columns = [*map(latest, CHANGE_MEASURES), (rate > np.median(rate[:start])).astype(np.int64)]
        deviations = max(mix_deviations(column[:start], column[start:]) for column in columns)
        if deviations > CHANGE_DEVIATIONS:
            self._changed_at = int(at[known + start])
        return deviations > CHANGE_DEVIATIONS

    def sample(self, rows: RequestRows, seen: int, day: int, second: int) -> RequestRows:
        """Requests that represent the remaining demand; their weights sum to one."""
        self.thin(rows, seen, day)
        before, here = self._latest(rows, seen, day)
        before, here = (
            before[self._recent[0, before] >= self._changed_at],
            here[here + self.seen >= self._changed_at],
        )
        recent = concatenated(self._recent_rows.take(before), rows.take(here))
        count, total_seen = len(recent.amount), self.seen + seen
        forecast_share = FORECAST_WEIGHT / (FORECAST_WEIGHT + total_seen)
        if self._demand is None:
            forecast_share = 0.0
        recent = recent._replace(weight=np.full(count, (1 - forecast_share) / max(count, 1)))
        if forecast_share < 0.01:
            return recent
        segments = self._still_expected(day, second)
        segments = segments._replace(weight=segments.weight * (forecast_share if count else 1.0))
        return concatenated(recent, segments)

    def thin(self, rows: RequestRows, seen: int, day: int) -> None:
        """Use only every second, fourth, eighth … of the latest requests while there are many."""
        while sum(map(len, self._latest(rows, seen, day))) > 2 * WINDOW:
            self._stride *= 2

    def _latest(self, rows: RequestRows, seen: int, day: int) -> tuple[I64, I64]:
        """Positions of the latest requests: among those kept from before, and among these."""
        since = int(np.searchsorted(rows.day[:seen], day - WEEK))
        first = min(since, seen - WINDOW)
        at, day_of = self._recent[0], self._recent_rows.day
        is_latest = (day_of >= day - WEEK) | (at >= self.seen + first)
        here = np.arange(max(first, 0), seen)
        return (
            np.flatnonzero(is_latest & (at % self._stride == 0)),
            here[(here + self.seen) % self._stride == 0],
        )

    def _still_expected(self, day: int, second: int) -> RequestRows:
        assert self._demand is not None
        weight = self._demand.requests.astype(np.float64)
        if self._demand.by_day:
            weight = np.where(self._demand.day < day, 0.0, weight)
            weight[self._demand.day == day] *= self._part_of_day_left(second)
        if not weight.any():
            weight = self._demand.requests.astype(np.float64)
        kept = weight > 0
        rows = self._segments.take(kept)
        # Forecast rows have no hour of their own; noon is when everyone is open.
        noon = np.full(len(rows.amount), DAY_SECONDS // 2, np.int64)
        return _merge_alike(rows._replace(weight=weight[kept] / weight[kept].sum(), second=noon))

    def _part_of_day_left(self, second: int) -> float:
        hour = min(second // 3600, HOURS - 1)
        shares = self._hours / self._hours.sum()
        return float(shares[hour + 1 :].sum() + shares[hour] * (1 - (second % 3600) / 3600))


def mix_deviations(first: I64, second: I64) -> float:
    """Distance of two mixes in standard deviations: chi-square, made normal as by Wilson-Hilferty.

    >>> many = np.repeat([0, 1], [500, 500])
    >>> round(mix_deviations(np.repeat([0, 1], [80, 20]), many), 1)
    5.1
    """
    size = int(max(first.max(), second.max())) + 1
    counts = np.stack([np.bincount(each, minlength=size) for each in (first, second)])
    counts = counts[:, counts.sum(axis=0) > 0]
    freedom = counts.shape[1] - 1
    if not freedom:
        return 0.0
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0)[None, :] / counts.sum()
    square = float(((counts - expected) ** 2 / expected).sum())
    spread = 2 / (9 * freedom)
    return float(((square / freedom) ** (1 / 3) - (1 - spread)) / spread**0.5)


def concatenated(first: RequestRows, second: RequestRows) -> RequestRows:
    """Rows one after the other."""
    return RequestRows(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def _merge_alike(rows: RequestRows) -> RequestRows:
    """Rows with equal terms, merged."""
    key = np.stack([rows.product, rows.region, rows.grade, rows.channel, rows.months, rows.amount,
                    rows.rate, rows.attributes])  # fmt: skip
    _, first, group = np.unique(key, axis=1, return_index=True, return_inverse=True)
    weight = np.bincount(group.ravel(), rows.weight, len(first)).astype(np.float64)
    return rows.take(first)._replace(weight=weight)
