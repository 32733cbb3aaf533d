"""The router fed one request at a time does what the whole stream's router does, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.base.codes import FundingModel, RoutingOutcome
from usance.base.dates import to_day
from usance.base.draws import draw
from usance.base.errors import UsanceError
from usance.match.backtest.streams import Stream, StreamKind, make_stream
from usance.match.draws import ANSWERS
from usance.match.errors import NotFound
from usance.match.mandates.columns import thresholds
from usance.match.mandates.events import approval_rates
from usance.match.mandates.mandate import ModelShare, Platform, Structure
from usance.match.plan.replan import RoutePlan
from usance.match.router.checkpoint import RouterCheckpoint
from usance.match.router.live_router import LiveRouter
from usance.match.router.releases import Releases, releases_of
from usance.match.router.router import route
from usance.match.router.routing_table import routing_table
from usance.match.router.state import ENGINE, GREEDY, MIRROR, Policy

SEED = 9
RELEASES = releases_of(
    day=[to_day(date(2024, 6, day)) for day in (3, 9, 9, 14)],
    source=[1, 2, 3, 1], principal_minor=[9_000_000, 8_000_000, 7_000_000, 6_000_000],
)  # fmt: skip
Row = dict[str, Any]


def stream_of(kind: StreamKind, seed: int = 4, requests: int = 400) -> Stream:
    made = make_stream(kind, seed=seed, requests=requests, sources=10, segments=25)
    rows = tuple(
        replace(
            each,
            eligibility=replace(each.eligibility, borrower_minor=1_500_000),
            budgets=replace(each.budgets, day_minor=each.budgets.total_minor // 8),
            structure=Structure(revolving_until=date(2024, 6, 20)),
        )
        for each in made.mandates.mandates
    )
    platform = Platform(
        guarantee_minor=90_000_000,
        model_shares=(ModelShare(FundingModel.CAPITAL_HEAVY, 0, 500_000),),
    )
    return replace(made, mandates=replace(made.mandates, mandates=rows, platform=platform))


def answers(router: LiveRouter, loan: int, source: int) -> bool:
    """What the kernel's draws say, with the approval rates of the moment."""
    rates = approval_rates(router.mandates, router.columns, router.events)
    column = int(np.flatnonzero(router.columns.source == source)[0])
    return bool(draw(SEED, ANSWERS, loan, source) >> 11 < int(thresholds(rates)[column]))


def serve(router: LiveRouter, *, reserve: bool) -> Iterator[Row]:
    """Rank the next request and ask its candidates one after the other."""
    ranked = router.rank()
    if not ranked.candidates:
        yield ranked.row(1, None, RoutingOutcome.NO_SOURCE)
    for attempt, each in enumerate(ranked.candidates, start=1):
        if reserve:
            router.learn(ranked.loan_id, each.source, RoutingOutcome.RESERVED)
        yes = answers(router, ranked.loan_id, each.source)
        outcome = RoutingOutcome.APPROVED if yes else RoutingOutcome.DECLINED
        router.learn(ranked.loan_id, each.source, outcome)
        yield ranked.row(attempt, each, outcome)
        if yes:
            return


def whole(made: Stream, policy: Policy = ENGINE) -> tuple[list[Row], RouterCheckpoint]:
    result = route(
        made.requests, made.mandates, policy, demand=made.demand, seed=SEED, releases=RELEASES
    )
    assert result.checkpoint is not None
    rows = routing_table(result)
    at = np.asarray(rows["at"].cast("int64"))
    return [{**row, "at": int(when)} for row, when in zip(rows.to_pylist(), at, strict=True)], (
        result.checkpoint
    )


def live(made: Stream, policy: Policy = ENGINE, **given: Any) -> LiveRouter:
    return LiveRouter(
        made.mandates, policy, demand=made.demand, releases=RELEASES,
        **{"plans_itself": True, **given},
    )  # fmt: skip


def same_state(router: LiveRouter, expected: RouterCheckpoint) -> None:
    found = router.snapshot()
    for name, array in expected.arrays.items():
        assert (found[name] == array).all(), name


@pytest.mark.parametrize("kind", list(StreamKind), ids=str)
@pytest.mark.parametrize("policy", [ENGINE, GREEDY, MIRROR], ids=lambda each: each.name)
def test_one_at_a_time_is_the_whole_stream(kind: StreamKind, policy: Policy) -> None:
    made = stream_of(kind)
    expected, state = whole(made, policy)
    router = live(made, policy)
    found = list[Row]()
    for n in range(len(made.requests)):
        router.feed(made.requests.rows(n, n + 1))
        found += serve(router, reserve=n % 2 == 0)
    assert found == expected
    same_state(router, state)
    assert {row["outcome"] for row in found} >= {
        RoutingOutcome.APPROVED, RoutingOutcome.DECLINED, RoutingOutcome.NO_SOURCE,
    }  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(1, 90), min_size=1, max_size=12), st.integers(0, 3), st.booleans())
def test_batches_snapshots_and_failures_leave_no_trace(
    sizes: list[int], restarts: int, fails: bool
) -> None:
    """Fed in any pieces, started again from snapshots, batches failed and rolled back."""
    made = stream_of(StreamKind.SOURCE_LEAVES, requests=240)
    expected, state = whole(made)
    router, at, found = live(made), 0, list[Row]()
    while at < len(made.requests):
        size = sizes[at % len(sizes)]
        part = made.requests.rows(at, min(at + size, len(made.requests)))
        if fails:
            mark = router.mark()
            router.feed(part)
            for _ in range(len(part)):
                list(serve(router, reserve=False))
            router.roll_back(mark)
        router.feed(part)
        for _ in range(len(part)):
            found += serve(router, reserve=True)
        at += len(part)
        if restarts and at % (restarts + 1) == 0:
            router = LiveRouter(
                made.mandates, demand=made.demand, checkpoint=router.snapshot(), plans_itself=True
            )
    assert found == expected
    same_state(router, state)


def followed(made: Stream, log: list[tuple[Row | None, RoutePlan | None]]) -> LiveRouter:
    """Another worker, which reads the routing log and the stored plans."""
    router = LiveRouter(made.mandates, demand=made.demand, releases=RELEASES)
    by_loan: dict[int, list[Row]] = {}
    plans = [plan for _, plan in log if plan]
    for row, _ in log:
        if row:
            by_loan.setdefault(row["loan_id"], []).append(row)
    for n in range(len(made.requests)):
        router.feed(made.requests.rows(n, n + 1))
        rows = by_loan[int(made.requests.loan_id[n])]
        while plans and plans[0].number <= rows[0]["plan_no"]:
            router.take(plans.pop(0))
        router.pace()
        router.skip()
        for row in rows:
            router.learn(row["loan_id"], row["source"], row["outcome"])
    return router


def test_plans_from_outside_and_a_second_worker_follow_the_first() -> None:
    made = stream_of(StreamKind.SEASONAL, requests=300)
    expected, state = whole(made)
    router = live(made, plans_itself=False)
    log: list[tuple[Row | None, RoutePlan | None]] = []
    for n in range(len(made.requests)):
        router.feed(made.requests.rows(n, n + 1))
        if router.plan_due():
            plan = router.plan()
            router.take(plan)
            log.append((None, plan))
        log += [(row, None) for row in serve(router, reserve=True)]
    assert [row for row, _ in log if row] == expected
    same_state(router, state)
    same_state(followed(made, log), state)


def test_a_worker_that_begins_behind_a_request_ranks_like_one_that_saw_it() -> None:
    """Prices of a plan from so little would keep a small budget for what may never come."""
    made = stream_of(StreamKind.STEADY)
    lived, begun = (LiveRouter(made.mandates, plans_itself=True) for _ in range(2))
    for router in (lived, begun):
        router.feed(made.requests.rows(0, 1))
    rows = list(serve(lived, reserve=False))
    begun.skip()
    for row in rows:
        begun.learn(row["loan_id"], row["source"], row["outcome"])
    for router in (lived, begun):
        router.feed(made.requests.rows(1, 2))
    first, second = lived.rank(), begun.rank()
    assert first.candidates
    assert first == second


def test_quota_is_held_while_an_institution_is_asked() -> None:
    made = stream_of(StreamKind.STEADY)
    router = live(made)
    router.feed(made.requests.rows(0, 2))
    before = [each.copy() for each in router.state[1:]]
    first = router.rank()
    source = first.candidates[0].source
    router.learn(first.loan_id, source, RoutingOutcome.RESERVED)
    column = first.candidates[0].column
    assert router.state.total[column] < before[0][column]
    again = LiveRouter(made.mandates, demand=made.demand, checkpoint=router.snapshot())
    assert again.held.keys() == {first.loan_id}
    for each in (router, again):
        each.learn(first.loan_id, source, RoutingOutcome.TIMED_OUT)
        assert (each.state.total == router.state.total).all()
    assert (router.state.total == before[0]).all()
    assert router.state.asked[column] == 1
    assert router.state.approved[column] == 0


def test_an_approved_loan_that_never_began_gives_its_quota_back() -> None:
    made = stream_of(StreamKind.STEADY)
    router = live(made)
    router.feed(made.requests.rows(0, 1))
    ranked = router.rank()
    before = router.state.total.copy()
    router.learn(ranked.loan_id, ranked.candidates[0].source, RoutingOutcome.APPROVED)
    assert (router.state.total != before).any()
    router.withdraw(made.requests.rows(0, 1), ranked.candidates[0].source)
    assert (router.state.total == before).all()


def test_bad_use_is_refused_with_what_to_do() -> None:
    made = stream_of(StreamKind.STEADY)
    router = live(made)
    cases: list[tuple[Callable[[], object], type[UsanceError], str]] = [
        (router.rank, NotFound, "no request waits"),
        (lambda: router.learn(1, 1, RoutingOutcome.APPROVED), NotFound, "was not fed"),
    ]
    for call, kind, text in cases:
        with pytest.raises(kind, match=text):
            call()
    router.feed(made.requests.rows(0, 1))
    loan = int(made.requests.loan_id[0])
    with pytest.raises(UsanceError, match="unknown source"):
        router.learn(loan, 999, RoutingOutcome.APPROVED)


def test_a_reversed_payment_takes_headroom_back() -> None:
    made = stream_of(StreamKind.STEADY)
    day = int(to_day(date(2024, 6, 3)))
    totals = []
    for amounts in ([500_000], [500_000, -500_000], []):
        router = LiveRouter(made.mandates, demand=made.demand, plans_itself=True)
        router.add_releases(_releases(day, amounts))
        late = made.requests.rows(200, 201)
        router.feed(late)
        router.plan_due()
        totals.append(int(router.state.total[0]))
    assert totals[0] == totals[1] + 500_000 == totals[2] + 500_000


def _releases(day: int, amounts: list[int]) -> Releases:
    count = len(amounts)
    return releases_of(day=[day] * count, source=[1] * count, principal_minor=amounts)
