"""Streams to judge a router by: steady, seasonal, drifting, adversarial, a source that leaves.

All of a stream follows from its kind, seed and size: requests over 30 days, the mandates of its
sources, and the forecast that a planner would have had. What the forecast does not know:
the drift, the source that leaves, the late demand of the adversarial kind.

>>> stream = make_stream(StreamKind.STEADY, seed=1, requests=2000, sources=16, segments=40)
>>> len(stream.requests), stream.demand.total_requests
(2000, 2000)
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from usance.base.arrays import I64
from usance.base.dates import to_day
from usance.base.ids import PER_USER
from usance.match.backtest.stream_late import late_requests
from usance.match.backtest.stream_sources import DAYS, FIRST, make_sources
from usance.match.backtest.stream_types import Types, around, make_types, rates_around
from usance.match.chance import ARRIVALS, between, chosen, drawn
from usance.match.mandates.file import parse_mandates
from usance.match.mandates.mandate import Mandates
from usance.match.plan.demand import Demand, demand_of, write_demand
from usance.match.router.requests import (
    DAY_SECONDS,
    MICROSECONDS,
    Requests,
    from_columns,
    write_requests,
)

SEGMENTS = 400
# The business day of Asia/Shanghai begins eight hours before that of UTC.
_OFFSET_SECONDS = 8 * 3600
_FINE = 10_000
LATE_PERCENT = 15


class StreamKind(StrEnum):
    """How demand behaves."""

    STEADY = "steady"
    SEASONAL = "seasonal"
    DRIFTING = "drifting"
    ADVERSARIAL = "adversarial"
    SOURCE_LEAVES = "source-leaves"


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests, the mandates they meet, and the forecast of them."""

    requests: Requests
    mandates_yaml: str
    mandates: Mandates
    demand: Demand

    def write(self, folder: Path) -> None:
        """STREAM.csv, MANDATES.yaml and DEMAND.csv."""
        folder.mkdir(parents=True, exist_ok=True)
        write_requests(folder / "STREAM.csv", self.requests)
        (folder / "MANDATES.yaml").write_text(self.mandates_yaml, encoding="utf-8")
        write_demand(folder / "DEMAND.csv", self.demand)


def make_stream(
    kind: StreamKind, *, seed: int, requests: int, sources: int, segments: int = SEGMENTS
) -> Stream:
    """The stream of a kind, seed and size."""
    types = make_types(seed, segments)
    by_day = day_weights(kind)
    late = requests * LATE_PERCENT // 100 if kind is StreamKind.ADVERSARIAL else 0
    expected = _expected(kind, types, _foreseen(kind, by_day), requests - late)
    content = make_sources(seed, sources, types, expected.sum(axis=0))
    if kind is StreamKind.SOURCE_LEAVES:
        content["events"] = [_leaving(content)]
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    mandates = parse_mandates(text, where="MANDATES.yaml")
    day, at = _arrivals(kind, seed, requests, by_day)
    columns = _drawn_requests(kind, seed, types, day, at)
    if late:
        late_requests(columns, requests - late, seed, mandates, types)
    loans = _loans(seed, requests)
    columns["loan_id"] = loans[np.lexsort((loans, at))]
    columns["decision_id"] = columns["loan_id"]
    drawn_requests = from_columns(requested_at=at, **columns)
    return Stream(drawn_requests, text, mandates, _forecast(types, expected))


def day_weights(kind: StreamKind) -> I64:
    """How busy each day is: weekends quieter, the last three days of the month busier."""
    days = [FIRST + timedelta(days=number) for number in range(DAYS)]
    if kind is not StreamKind.SEASONAL:
        return np.full(DAYS, 100, np.int64)
    return np.array([_busy(each) for each in days], np.int64)


def _foreseen(kind: StreamKind, by_day: I64) -> I64:
    """The same as far as a forecast knows: nothing of the last days of an adversarial stream."""
    if kind is not StreamKind.ADVERSARIAL:
        return by_day
    known = np.clip(DAYS * (100 - LATE_PERCENT) - 100 * np.arange(DAYS), 0, 100)
    return by_day * known // 100


def _busy(day: date) -> int:
    weekend = day.weekday() >= 5
    return (70 if weekend else 100) + (50 if day.day > DAYS - 3 else 0)


def _expected(kind: StreamKind, types: Types, by_day: I64, total: int) -> I64:
    """Requests expected by day and type: whole numbers that sum to the total."""
    weights = by_day[:, None] * _day_shares(kind, types)
    ends = np.cumsum(weights.ravel())
    counts: I64 = np.diff(ends * total // ends[-1], prepend=0).reshape(weights.shape)
    return counts


def _day_shares(kind: StreamKind, types: Types) -> I64:
    """The weight of each type on each day that a forecast knows of."""
    shares = np.tile(types.weight * _FINE, (DAYS, 1))
    if kind is StreamKind.SEASONAL:
        weekend = [(FIRST + timedelta(days=number)).weekday() >= 5 for number in range(DAYS)]
        pocket = types.product == 0
        shares[np.ix_(weekend, pocket)] = shares[np.ix_(weekend, pocket)] * 3 // 2
    return shares


def _forecast(types: Types, expected: I64) -> Demand:
    day, row = np.nonzero(expected)
    names = ("product", "region", "grade", "channel", "months", "amount_minor", "rate_ppm")
    columns: dict[str, Any] = {name: getattr(types, name)[row] for name in names}
    return demand_of(day=to_day(FIRST) + day, requests=expected[day, row], **columns)


def _arrivals(kind: StreamKind, seed: int, count: int, by_day: I64) -> tuple[I64, I64]:
    """Day (from 0) and moment of each request, in order."""
    rows = np.arange(count, dtype=np.int64)
    day = chosen(drawn(seed, ARRIVALS, rows, 0), by_day)
    second = between(drawn(seed, ARRIVALS, rows, 1), 0, DAY_SECONDS - 1)
    if kind is StreamKind.SEASONAL:
        hours = np.array([1, 1, 1, 1, 1, 2, 3, 4, 5, 7, 8, 8, 7, 6, 6, 6, 6, 6, 7, 8, 9, 8, 5, 2])
        hour = chosen(drawn(seed, ARRIVALS, rows, 2), hours)
        second = hour * 3600 + second % 3600
    order = np.lexsort((second, day))
    day, second = day[order], second[order]
    seconds = (to_day(FIRST) + day) * DAY_SECONDS - _OFFSET_SECONDS + second
    return day, seconds * MICROSECONDS


def _drawn_requests(kind: StreamKind, seed: int, types: Types, day: I64, at: I64) -> dict[str, I64]:
    rows = np.arange(len(day), dtype=np.int64)
    rolls = drawn(seed, ARRIVALS, rows, 3)
    row = np.empty(len(day), np.int64)
    shares = _day_shares(kind, types)
    if kind is StreamKind.DRIFTING:
        shares = _drifted(shares)
    for number in np.unique(day):
        here = day == number
        row[here] = chosen(rolls[here], shares[number])
    names = ("product", "region", "grade", "channel", "months")
    columns = {name: getattr(types, name)[row] for name in names}
    columns["amount_minor"] = around(types.amount_minor[row], drawn(seed, ARRIVALS, rows, 4))
    columns["rate_ppm"] = rates_around(types.rate_ppm[row], drawn(seed, ARRIVALS, rows, 5))
    assert len(at) == len(day)
    return columns


def _drifted(shares: I64) -> I64:
    """Every second type grows by half to the last day, the others shrink by half."""
    days = np.arange(DAYS, dtype=np.int64)[:, None]
    sign = np.where(np.arange(shares.shape[1]) % 2 == 0, 1, -1)[None, :]
    return shares + sign * shares * days // (2 * (DAYS - 1))


def _leaving(content: dict[str, Any]) -> dict[str, Any]:
    """The largest source leaves at noon of day 10."""
    largest = max(content["sources"], key=lambda each: int(each["budgets"]["total"]))
    noon = f"{FIRST + timedelta(days=9)}T12:00:00+08:00"
    return {"at": noon, "source": largest["source"], "event": "leaves"}


def _loans(seed: int, count: int) -> I64:
    """Loan ids: half as many users as requests, each with loans numbered from 1."""
    rows = np.arange(count, dtype=np.int64)
    users = between(drawn(seed, ARRIVALS, rows, 6), 1, max(count // 2, 1))
    order = np.argsort(users, kind="stable")
    starts = np.r_[True, users[order][1:] != users[order][:-1]]
    first = np.maximum.accumulate(np.where(starts, np.arange(count), 0))
    number = np.empty(count, np.int64)
    number[order] = np.arange(count) - first + 1
    return users * PER_USER + number
