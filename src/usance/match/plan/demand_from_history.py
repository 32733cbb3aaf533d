"""Expected demand from a history of requests: segments, their means, requests by day.

A segment is a product, region, grade, channel and tenor; its amount is the mean of its requests,
its rate the mean weighted by amount, since that is what margins follow. Expected requests are
rounded along each segment's days, so that rare segments are not rounded away.

>>> from usance.match.router.requests import from_columns
>>> hours = np.arange(240, dtype=np.int64)
>>> history = from_columns(
...     requested_at=hours * 3_600_000_000, loan_id=hours + 1, product=hours % 2,
...     amount_minor=100 + hours % 2, months=hours * 0 + 12, rate_ppm=hours * 0 + 200_000,
...     grade=hours * 0 + 3, region=hours * 0 + 1, channel=hours * 0,
... )  # fmt: skip
>>> expected = forecast_demand(history, "UTC", days=5)
>>> expected.demand.over_period().requests.tolist(), expected.requests
([60, 60], 120)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.base.atomic_files import check_writable, naming_failures
from usance.base.dates import from_day
from usance.match.errors import ForecastError
from usance.match.mandates.file import read_mandates
from usance.match.mandates.mandate import Mandates
from usance.match.plan.demand_file import Demand, demand_of, write_demand
from usance.match.plan.time_series import daily, forecast
from usance.match.router.request_rows import local_seconds
from usance.match.router.requests import DAY_SECONDS, Requests, read_requests

SEGMENT_KEYS = ("product", "region", "grade", "channel", "months", "attributes")
# Requests are counted in thousandths, so that a segment with one a week is still one a week.
THOUSANDTHS = 1_000


@dataclass(frozen=True, slots=True)
class DemandForecast:
    """A forecast by segment and day, and its sum with an interval."""

    demand: Demand
    segments: int
    first_day: int
    last_day: int
    requests: int
    requests_low: int
    requests_high: int

    def as_dict(self) -> dict[str, Any]:
        """The answer of `match forecast --json`."""
        return {
            "from": from_day(self.first_day).isoformat(),
            "to": from_day(self.last_day).isoformat(),
            "segments": self.segments,
            "requests": self.requests,
            "requests_low": self.requests_low,
            "requests_high": self.requests_high,
        }


def forecast_file(
    history: Path, out: Path, *, days: int, mandates_file: Path | None = None
) -> DemandForecast:
    """Read a history, write its forecast; names are those of the mandates, if given."""
    check_writable(out)
    mandates = read_mandates(mandates_file) if mandates_file else Mandates(())
    requests = read_requests(history, mandates)
    if not len(requests):
        fix = "Give at least one day of requests"
        raise ForecastError("holds no request", where=str(history), fix=fix)
    made = forecast_demand(requests, mandates.time_zone, days=days)
    with naming_failures(out):
        write_demand(out, made.demand)
    return made


def forecast_demand(history: Requests, time_zone: str, *, days: int) -> DemandForecast:
    """Expected requests of the days after a history, which ends with its last whole day."""
    day = local_seconds(history.requested_at, time_zone) // DAY_SECONDS
    first, last = int(day.min()), int(day.max())
    keys, segment = np.unique(
        np.stack([getattr(history, name) for name in SEGMENT_KEYS]), axis=1, return_inverse=True
    )
    segment = segment.ravel()
    count = keys.shape[1]
    one = np.full(len(day), THOUSANDTHS, np.int64)
    past = daily(day, segment, one, first=first, last=last, count=count)
    coming = _whole_requests(forecast(past, first, horizon=days).day)
    row, offset = np.nonzero(coming)
    amount, rate = _means(history, segment, count)
    columns: dict[str, Any] = {name: keys[place][row] for place, name in enumerate(SEGMENT_KEYS)}
    demand = demand_of(
        day=last + 1 + offset, amount_minor=amount[row], rate_ppm=rate[row],
        requests=coming[row, offset], **columns,
    )  # fmt: skip
    together = forecast(past.sum(axis=0, keepdims=True), first, horizon=days)
    low, high = (int(each[0]) // THOUSANDTHS for each in (together.total_low, together.total_high))
    return DemandForecast(demand, count, last + 1, last + days, int(coming.sum()), low, high)


def demand_of_requests(requests: Requests, time_zone: str) -> Demand:
    """The demand that a stream turned out to be: what a perfect forecast would have said of it."""
    day = local_seconds(requests.requested_at, time_zone) // DAY_SECONDS
    keys, segment = np.unique(
        np.stack([getattr(requests, name) for name in SEGMENT_KEYS]), axis=1, return_inverse=True
    )
    amount, rate = _means(requests, segment.ravel(), keys.shape[1])
    rows, count = np.unique(np.stack([day, segment.ravel()]), axis=1, return_counts=True)
    row = rows[1]
    columns: dict[str, Any] = {name: keys[place][row] for place, name in enumerate(SEGMENT_KEYS)}
    return demand_of(
        day=rows[0], requests=count, amount_minor=amount[row], rate_ppm=rate[row], **columns
    )


def _whole_requests(fine: I64) -> I64:
    """Thousandths as whole requests: each sum up to a day, segment after segment, is rounded."""
    ends = np.cumsum(fine.ravel())
    return np.diff((ends + THOUSANDTHS // 2) // THOUSANDTHS, prepend=0).reshape(fine.shape)


def _means(history: Requests, segment: I64, count: int) -> tuple[I64, I64]:
    """Mean amount and mean rate by amount of each segment, half-up, in whole numbers."""
    requests, amount = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(requests, segment, 1)
    np.add.at(amount, segment, history.amount_minor)
    # In Python's integers: a year of amounts × a million does not fit into 64 bits.
    interest = np.zeros(count, object)
    np.add.at(interest, segment, history.amount_minor.astype(object) * history.rate_ppm)
    rate = (2 * interest + amount) // (2 * amount.astype(object))
    return (2 * amount + requests) // (2 * requests), rate.astype(np.int64)
