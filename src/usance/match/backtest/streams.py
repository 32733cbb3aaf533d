"""Made-up streams: steady, seasonal, drifting, adversarial, and with a source that leaves.

A lender tries mandates and policies on them without data of its own; benchmarks use the same. A
stream follows from its kind, seed and size: requests over 30 days, the mandates of its sources, and
the forecast that a planner would have had, which does not know the drift, the source that leaves,
nor the late demand of the adversarial kind: the last requests, from a region that the tight sources
alone serve, at rates that earn 1.5 to 2 times what an ordinary request earns with them.

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
from usance.base.codes import Product
from usance.base.dates import to_day
from usance.base.ids import PER_USER
from usance.base.rates import PPM
from usance.match.backtest.stream_sources import (
    DAYS,
    FIRST,
    RATE_CAP_PPM,
    REGIONS,
    StreamSegments,
    amounts_around,
    make_segments,
    make_sources,
    rates_around,
)
from usance.match.draws import ARRIVALS, draw_column, uniform_integers, weighted_choice
from usance.match.mandates.file import parse_mandates
from usance.match.mandates.mandate import MICROSECONDS, Mandates
from usance.match.mandates.margins import margin_tables
from usance.match.plan.demand_file import Demand, demand_of, write_demand
from usance.match.router.requests import (
    DAY_SECONDS,
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
    """Behaviour of demand over the days of a stream."""

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
    demand_segments = make_segments(seed, segments)
    by_day = day_weights(kind)
    late = requests * LATE_PERCENT // 100 if kind is StreamKind.ADVERSARIAL else 0
    expected = _expected(kind, demand_segments, _foreseen(kind, by_day), requests - late)
    content = make_sources(seed, sources, demand_segments, expected.sum(axis=0))
    if kind is StreamKind.SOURCE_LEAVES:
        content["events"] = [_leaving(content)]
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    mandates = parse_mandates(text, where="MANDATES.yaml")
    day, at = _arrivals(kind, seed, requests, by_day)
    columns = _drawn_requests(kind, seed, demand_segments, day, at)
    if late:
        late_requests(columns, requests - late, seed, mandates, demand_segments)
    loans = _loans(seed, requests)
    columns["loan_id"] = loans[np.lexsort((loans, at))]
    columns["decision_id"] = columns["loan_id"]
    drawn_requests = from_columns(requested_at=at, **columns)
    return Stream(drawn_requests, text, mandates, _forecast(demand_segments, expected))


def day_weights(kind: StreamKind) -> I64:
    """Weight of each day: weekends quieter, the last three days of the month busier."""
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


def _expected(kind: StreamKind, segments: StreamSegments, by_day: I64, total: int) -> I64:
    """Requests expected by day and segment: whole numbers that sum to the total."""
    weights = by_day[:, None] * _day_shares(kind, segments)
    ends = np.cumsum(weights.ravel())
    counts: I64 = np.diff(ends * total // ends[-1], prepend=0).reshape(weights.shape)
    return counts


def _day_shares(kind: StreamKind, segments: StreamSegments) -> I64:
    """The weight of each segment on each day that a forecast knows of."""
    shares = np.tile(segments.weight * _FINE, (DAYS, 1))
    if kind is StreamKind.SEASONAL:
        weekend = [(FIRST + timedelta(days=number)).weekday() >= 5 for number in range(DAYS)]
        pocket = segments.product == 0
        shares[np.ix_(weekend, pocket)] = shares[np.ix_(weekend, pocket)] * 3 // 2
    return shares


def _forecast(segments: StreamSegments, expected: I64) -> Demand:
    day, row = np.nonzero(expected)
    names = ("product", "region", "grade", "channel", "months", "amount_minor", "rate_ppm")
    columns: dict[str, Any] = {name: getattr(segments, name)[row] for name in names}
    return demand_of(day=to_day(FIRST) + day, requests=expected[day, row], **columns)


def _arrivals(kind: StreamKind, seed: int, count: int, by_day: I64) -> tuple[I64, I64]:
    """Day (from 0) and moment of each request, in order."""
    rows = np.arange(count, dtype=np.int64)
    day = weighted_choice(draw_column(seed, ARRIVALS, rows, 0), by_day)
    second = uniform_integers(draw_column(seed, ARRIVALS, rows, 1), 0, DAY_SECONDS - 1)
    if kind is StreamKind.SEASONAL:
        hours = np.array([1, 1, 1, 1, 1, 2, 3, 4, 5, 7, 8, 8, 7, 6, 6, 6, 6, 6, 7, 8, 9, 8, 5, 2])
        hour = weighted_choice(draw_column(seed, ARRIVALS, rows, 2), hours)
        second = hour * 3600 + second % 3600
    order = np.lexsort((second, day))
    day, second = day[order], second[order]
    seconds = (to_day(FIRST) + day) * DAY_SECONDS - _OFFSET_SECONDS + second
    return day, seconds * MICROSECONDS


def _drawn_requests(
    kind: StreamKind, seed: int, segments: StreamSegments, day: I64, at: I64
) -> dict[str, I64]:
    rows = np.arange(len(day), dtype=np.int64)
    rolls = draw_column(seed, ARRIVALS, rows, 3)
    row = np.empty(len(day), np.int64)
    shares = _day_shares(kind, segments)
    if kind is StreamKind.DRIFTING:
        shares = _drifted(shares)
    for number in np.unique(day):
        here = day == number
        row[here] = weighted_choice(rolls[here], shares[number])
    names = ("product", "region", "grade", "channel", "months")
    columns = {name: getattr(segments, name)[row] for name in names}
    columns["amount_minor"] = amounts_around(
        segments.amount_minor[row], draw_column(seed, ARRIVALS, rows, 4)
    )
    columns["rate_ppm"] = rates_around(segments.rate_ppm[row], draw_column(seed, ARRIVALS, rows, 5))
    assert len(at) == len(day)
    return columns


def _drifted(shares: I64) -> I64:
    """Every second segment grows by half to the last day, the others shrink by half."""
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
    users = uniform_integers(draw_column(seed, ARRIVALS, rows, 6), 1, max(count // 2, 1))
    order = np.argsort(users, kind="stable")
    starts = np.r_[True, users[order][1:] != users[order][:-1]]
    first = np.maximum.accumulate(np.where(starts, np.arange(count), 0))
    number = np.empty(count, np.int64)
    number[order] = np.arange(count) - first + 1
    return users * PER_USER + number


MONTHS = 12


def late_requests(
    columns: dict[str, I64], first: int, seed: int, mandates: Mandates, segments: StreamSegments
) -> None:
    """Make every request from position `first` on a late one, in place."""
    special = len(REGIONS) + 1
    tight = tuple(each for each in mandates.mandates if special in each.eligibility.regions)
    losses = mandates.platform.losses
    grades = np.array(sorted(losses), np.int64)
    loss_ppm = np.array([losses[int(grade)] for grade in grades], np.int64)
    tables = margin_tables(tight, mandates.platform, np.arange(64, dtype=np.int64), loss_ppm)
    base, slope = (table.sum(axis=2) // len(tight) for table in tables)
    usual = base[segments.months, segments.grade - 1] + (
        slope[segments.months, segments.grade - 1] * segments.rate_ppm // PPM
    )
    earning = usual > 0
    ordinary = int((usual * segments.weight)[earning].sum() // segments.weight[earning].sum())
    rows = np.arange(first, len(columns["grade"]), dtype=np.int64)
    # Every tight source takes grades 3 to 6 whatever its own range is; 3 loses least of them.
    grade = np.full(len(rows), 3, np.int64)
    wanted = ordinary * uniform_integers(draw_column(seed, ARRIVALS, rows, 7), 150, 200) // 100
    line = base[MONTHS, grade - 1], slope[MONTHS, grade - 1]
    rate_ppm = np.clip((wanted - line[0]) * PPM // line[1] // 1000 * 1000, 0, RATE_CAP_PPM)
    for name, value in {
        "product": int(Product.INSTALMENT), "region": special, "months": MONTHS,
    }.items():  # fmt: skip
        columns[name][rows] = value
    columns["grade"][rows] = grade
    columns["rate_ppm"][rows] = rate_ppm
