"""The desk fed with the router's candidates does what the router's own kernel does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from usance.base.codes import FundingModel, RoutingOutcome
from usance.base.draws import draw
from usance.match.backtest.streams import Stream, StreamKind, make_stream
from usance.match.draws import ANSWERS
from usance.match.errors import RequestRefused
from usance.match.mandates.mandate import ConcentrationLimit, Measure, ModelShare
from usance.match.reservation.events import Outcome, Result, State
from usance.match.reservation.placement import Answer, Offer, ceilings, offer, place, routing_rows
from usance.match.reservation.reservation import rebuild, step
from usance.match.router.router import Router, route
from usance.match.router.routing_table import routing_table
from usance.match.router.state import ENGINE

SEED = 1
COLUMNS = [
    "loan_id", "attempt", "at", "source", "outcome", "score_minor", "runner_up",
    "runner_up_minor", "plan_no",
]  # fmt: skip


@pytest.fixture(scope="module")
def stream() -> Stream:
    """A stream whose mandates state every kind of limit."""
    made = make_stream(StreamKind.SEASONAL, seed=3, requests=250, sources=8, segments=20)
    region, grade = int(made.requests.region[0]), int(made.requests.grade[0])
    shares = (
        ConcentrationLimit(Measure.REGION, 150_000, region),
        ConcentrationLimit(Measure.GRADE, 300_000, grade),
        ConcentrationLimit(Measure.AVERAGE_RATE_MIN, 150_000),
        ConcentrationLimit(Measure.EXPECTED_LOSS, 80_000),
    )
    rows = tuple(
        replace(
            each,
            eligibility=replace(each.eligibility, borrower_minor=1_500_000),
            budgets=replace(each.budgets, day_minor=each.budgets.total_minor // 4),
            concentration_limits=shares,
            ramp_minor=2_000_000,
        )
        for each in made.mandates.mandates
    )
    heavy = ModelShare(FundingModel.CAPITAL_HEAVY, 0, 300_000)
    platform = replace(
        made.mandates.platform, guarantee_minor=60_000_000, model_shares=(heavy,),
        ramp_minor=4_000_000,
    )  # fmt: skip
    return replace(made, mandates=replace(made.mandates, mandates=rows, platform=platform))


@pytest.fixture
def router(stream: Stream) -> Router:
    return Router(stream.requests, stream.mandates, ENGINE, demand=stream.demand, seed=SEED)


def institutions(router: Router, loan: int) -> Answer:
    """Answers by the same draws as the kernel's."""
    stated = {each.source: each.approval_ppm for each in router.mandates.mandates}

    def answer(source: int, _: int) -> bool:
        return draw(SEED, ANSWERS, loan, source) >> 11 < (1 << 53) * stated[source] // 10**6

    return answer


def driven(router: Router) -> Iterator[tuple[State, Offer, tuple[Outcome, ...]]]:
    state = State()
    for row in range(len(router.result.requests)):
        for event in ceilings(router, row):
            state, _ = step(state, event)
        offered = offer(router, row)
        answer = institutions(router, offered.requested.loan_id)
        state, outcomes = place(state, offered.requested, answer)
        router.run(until=row + 1)
        yield state, offered, outcomes


def test_desk_and_kernel_agree_on_every_row(stream: Stream, router: Router) -> None:
    rows = []
    for state, offered, outcomes in driven(router):
        rows += routing_rows(offered, outcomes).select(COLUMNS).to_pylist()
        plain = (limit for limit in state.limits.values() if not limit.whole)
        assert all(limit.headroom_minor >= 0 for limit in plain)
        assert not any(limit.held_minor for limit in state.limits.values())
    whole = route(stream.requests, stream.mandates, ENGINE, demand=stream.demand, seed=SEED)
    assert rows == routing_table(whole).select(COLUMNS).to_pylist()
    assert {row["outcome"] for row in rows} > {RoutingOutcome.APPROVED, RoutingOutcome.DECLINED}
    totals = [limit.taken_minor for name, limit in state.limits.items() if "/total/" in name]
    kinds = {name.split("/")[1] for name, limit in state.limits.items() if limit.taken_minor}
    assert kinds == {
        "total", "day", "borrower", "placed", "region", "grade", "average_rate_min",
        "expected_loss", "guarantee", "model",
    }  # fmt: skip
    lent = [
        stream.mandates.mandates[column].source_part_minor(int(amount))
        for column, amount in zip(whole.column, stream.requests.amount_minor, strict=True)
        if column >= 0
    ]
    assert sum(totals) == sum(lent)


def test_silence_ends_with_the_next_and_a_full_limit_is_named(router: Router) -> None:
    state = rebuild(ceilings(router, 0))
    offered = offer(router, 0)
    first, second = (each.sources[0] for each in offered.requested.candidates[:2])
    _, outcomes = place(
        state, offered.requested, lambda source, _: None if source == first else True
    )
    rows = routing_rows(offered, outcomes).to_pylist()
    assert [(row["source"], row["outcome"], row["attempt"]) for row in rows] == [
        (first, RoutingOutcome.TIMED_OUT, 1),
        (second, RoutingOutcome.APPROVED, 2),
    ]
    shut = rebuild(
        replace(each, ceiling_minor=0 if "/total/" in each.limit else each.ceiling_minor)
        for each in ceilings(router, 0)
    )
    _, outcomes = place(shut, offered.requested, lambda *_: True)
    (row,) = routing_rows(offered, outcomes).to_pylist()
    assert (row["source"], row["outcome"]) == (0, RoutingOutcome.NO_SOURCE)
    assert row["binding_limit"] in offered.numbers.values()


def test_a_request_without_its_limits_is_refused(router: Router) -> None:
    offered = offer(router, 0)
    _, outcomes = place(State(), offered.requested, lambda *_: True)
    assert outcomes[0].result is Result.REFUSED
    with pytest.raises(RequestRefused, match="unknown limit"):
        routing_rows(offered, outcomes)


def test_results_that_end_an_attempt_have_the_numbers_of_routing() -> None:
    for outcome in RoutingOutcome:
        assert Result[outcome.name] == int(outcome)
