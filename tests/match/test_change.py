"""Plans made anew when demand changes: soon after it does, not while it stays, also resumed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from usance.base.dates import from_day
from usance.match.backtest.streams import Stream, StreamKind, make_stream
from usance.match.router.requests import Requests
from usance.match.router.router import CHANGE, route
from usance.match.router.state import ENGINE

REQUESTS = 1_500


@pytest.fixture(scope="module")
def steady() -> Stream:
    return make_stream(StreamKind.STEADY, seed=41, requests=REQUESTS, sources=8, segments=30)


def turned(requests: Requests) -> Requests:
    """The same requests, those of good grades first."""
    order = np.argsort(requests.grade, kind="stable")
    moved = requests.take(order)
    return replace(moved, requested_at=requests.requested_at, loan_id=requests.loan_id,
                   decision_id=requests.decision_id)  # fmt: skip


def changes(made: Stream, requests: Requests) -> list[int]:
    found = route(requests, made.mandates, ENGINE)
    return [plan.request for plan in found.plans if plan.reason == CHANGE]


def test_demand_that_stays_is_no_change(steady: Stream) -> None:
    assert changes(steady, steady.requests) == []


def test_requests_before_the_period_begin_it(steady: Stream) -> None:
    days = steady.requests.requested_at // 86_400_000_000
    first, last = from_day(int(days[0])), from_day(int(days[-1]) + 1)

    def margin(begin: date) -> int:
        mandates = replace(steady.mandates, period=(begin, last))
        return int(route(steady.requests, mandates, ENGINE).decisions.margin.sum())

    middle = from_day(int(days[REQUESTS // 2]))
    assert margin(middle) == pytest.approx(margin(first), rel=0.01)


def test_every_turn_of_the_mix_is_seen_within_two_days(steady: Stream) -> None:
    requests = turned(steady.requests)
    seen = changes(steady, requests)
    day = requests.requested_at // 86_400_000_000
    turns = 1 + np.flatnonzero(np.diff(requests.grade))
    large = [turn for turn in turns if 200 <= turn <= REQUESTS - 200]
    assert large
    for turn in large:
        assert any(turn < at and day[at] - day[turn] <= 2 for at in seen), (turn, seen)


def test_a_resumed_router_knows_when_demand_changed(steady: Stream) -> None:
    requests = turned(steady.requests)
    whole = route(requests, steady.mandates, ENGINE)
    at = next(plan.request for plan in whole.plans if plan.reason == CHANGE) + 100
    rows = np.arange(REQUESTS)
    first = route(requests.take(rows[:at]), steady.mandates, ENGINE)
    rest = route(requests.take(rows[at:]), steady.mandates, ENGINE, checkpoint=first.checkpoint)
    for name in ("asked", "outcome", "margin"):
        both = [getattr(each.decisions, name) for each in (first, rest)]
        assert np.array_equal(np.concatenate(both), getattr(whole.decisions, name))
