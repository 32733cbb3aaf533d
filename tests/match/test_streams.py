"""Streams are what the specification says they are, and follow from their seed alone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from usance.match.backtest.stream_sources import tight_count
from usance.match.backtest.streams import Stream, StreamKind, make_stream
from usance.match.mandates.columns import source_columns
from usance.match.mandates.file import read_mandates
from usance.match.mandates.mandate import EventKind
from usance.match.plan.demand_file import read_demand
from usance.match.plan.linear_program import margins_of
from usance.match.router.request_rows import make_request_rows
from usance.match.router.requests import COLUMNS, read_requests

SIZE = {"seed": 5, "requests": 20_000, "sources": 32, "segments": 200}
FULL = {**SIZE, "sources": 160, "segments": 400}


@pytest.fixture(scope="module")
def steady() -> Stream:
    return make_stream(StreamKind.STEADY, **SIZE)


def eligible(stream: Stream) -> np.ndarray:
    """Which source takes which request, from the mandates alone."""
    requests, mandates = stream.requests, stream.mandates
    columns = [
        np.isin(requests.region, sorted(each.eligibility.regions))
        & np.isin(requests.grade, sorted(each.eligibility.grades))
        & np.isin(requests.channel, sorted(each.eligibility.channels))
        & np.isin(requests.product, [int(p) for p in each.eligibility.products])
        for each in mandates.mandates
    ]
    return np.stack(columns, axis=1)


def test_thirty_percent_of_pairs_and_budgets_of_ninety() -> None:
    steady = make_stream(StreamKind.STEADY, **FULL)
    takes = eligible(steady)
    assert 0.27 < takes.mean() < 0.33
    amount = steady.requests.amount_minor
    even = (amount[:, None] * takes / np.maximum(takes.sum(axis=1), 1)[:, None]).sum(axis=0)
    budgets = np.array([each.budgets.total_minor for each in steady.mandates.mandates])
    tightest_budget = tight_count(160)
    assert tightest_budget == 10
    assert 0.87 < budgets[tightest_budget:].sum() / even[tightest_budget:].sum() < 0.93
    assert 0.27 < budgets[:tightest_budget].sum() / even[:tightest_budget].sum() < 0.33


def test_files_read_back_as_they_were_made(steady: Stream, tmp_path: Path) -> None:
    steady.write(tmp_path)
    mandates = read_mandates(tmp_path / "MANDATES.yaml")
    assert mandates.mandates == steady.mandates.mandates
    back = read_requests(tmp_path / "STREAM.csv", mandates)
    for name in COLUMNS:
        assert (getattr(back, name) == getattr(steady.requests, name)).all()
    demand = read_demand(tmp_path / "DEMAND.csv", mandates)
    assert demand.total_requests == SIZE["requests"]
    assert demand.by_day


def test_same_seed_same_stream_other_seed_another(steady: Stream) -> None:
    again = make_stream(StreamKind.STEADY, **SIZE)
    assert (again.requests.amount_minor == steady.requests.amount_minor).all()
    assert again.mandates_yaml == steady.mandates_yaml
    other = make_stream(StreamKind.STEADY, **{**SIZE, "seed": 6})
    assert other.mandates_yaml != steady.mandates_yaml


def test_seasonal_demand_is_in_the_forecast() -> None:
    stream = make_stream(StreamKind.SEASONAL, **SIZE)
    day = make_request_rows(
        stream.requests, source_columns(stream.mandates), stream.mandates.time_zone
    ).day
    first = int(day.min())
    seen = np.bincount(day - first, minlength=30)
    expected = np.bincount(stream.demand.day - first, stream.demand.requests, 30)
    assert seen[27:].mean() > 1.3 * seen[:27].mean()
    assert np.abs(seen - expected).max() < 6 * np.sqrt(expected.max())


def test_drift_moves_shares_by_half_and_the_forecast_does_not_know() -> None:
    size = {**SIZE, "requests": 60_000, "segments": 20}
    stream = make_stream(StreamKind.DRIFTING, **size)
    plain = make_stream(StreamKind.STEADY, **size)
    assert (stream.demand.requests == plain.demand.requests).all()
    kinds = ("product", "region", "grade", "channel", "months")
    segments = stream.demand.over_period().segments
    key = np.stack([getattr(segments, name) for name in kinds], axis=1)
    late = slice(-4_000, None)
    rows = np.stack([getattr(stream.requests, name)[late] for name in kinds], axis=1)
    before = np.stack([getattr(plain.requests, name)[late] for name in kinds], axis=1)
    ratio = [(rows == k).all(axis=1).sum() / max((before == k).all(axis=1).sum(), 1) for k in key]
    assert min(ratio) < 0.7
    assert max(ratio) > 1.3


def test_late_demand_fits_only_the_tight_and_earns_more() -> None:
    stream = make_stream(StreamKind.ADVERSARIAL, **SIZE)
    takes, tightest_budget = eligible(stream), tight_count(SIZE["sources"])
    late = np.arange(len(stream.requests)) >= SIZE["requests"] * 85 // 100
    assert not takes[late, tightest_budget:].any()
    assert takes[late, :tightest_budget].any(axis=1).mean() > 0.6
    columns = source_columns(stream.mandates)
    rows = make_request_rows(stream.requests, columns, stream.mandates.time_zone)
    row, column = np.nonzero(takes[:, :tightest_budget])
    margin = margins_of(rows, columns, row, column)
    usual = margin[~late[row] & (margin > 0)].mean()
    assert 1.5 < margin[late[row]].mean() / usual < 2.0
    assert not (stream.demand.segments.region == stream.requests.region[-1]).any()
    assert stream.demand.total_requests == SIZE["requests"] * 85 // 100


def test_the_largest_source_leaves_at_noon_of_day_ten() -> None:
    mandates = make_stream(StreamKind.SOURCE_LEAVES, **SIZE).mandates
    (event,) = mandates.events
    largest = max(mandates.mandates, key=lambda each: each.budgets.total_minor)
    assert (event.source, event.kind) == (largest.source, EventKind.LEAVES)
    assert event.at == datetime(2024, 6, 10, 4, tzinfo=UTC)  # noon in China
