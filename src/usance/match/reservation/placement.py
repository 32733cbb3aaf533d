"""Placement of one request: candidates ranked by the router, quota reserved with each in turn.

The router ranks candidates and scores them; reservations hold quota, take the answers and go on to
the next. The outcome is rows of `routing`. Every limit is reserved, under the names of
`limit_names`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from usance.base.codes import RoutingOutcome
from usance.base.dates import from_day
from usance.base.rates import PPB, PPM
from usance.match.errors import RequestRefused
from usance.match.mandates.mandate import MICROSECONDS
from usance.match.reservation.events import (
    Answered,
    Candidate,
    LimitSet,
    Outcome,
    Requested,
    Result,
    State,
    Waited,
)
from usance.match.reservation.limit_names import LimitRequest, NamedLimits
from usance.match.reservation.reservation import step
from usance.match.router.router import Router

WAIT = timedelta(seconds=30)
ENDED = (Result.APPROVED, Result.DECLINED, Result.TIMED_OUT, Result.RELEASED)

Answer = Callable[[int, int], bool | None]
"""Answer of a source to an attempt: approved, declined, or none before the deadline."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A request to reserve for, with the router's scores of its candidates."""

    requested: Requested
    amount_minor: int
    score_minor: tuple[int, ...]
    """By candidate: approval × (margin − prices)."""
    runner_up: int
    runner_up_minor: int
    plan_no: int
    numbers: Mapping[str, int] = field(default_factory=dict)
    """Number of each limit by its name."""


def ceilings(router: Router, row: int) -> list[LimitSet]:
    """Every ceiling to set on the day of a request; setting one again changes nothing."""
    at, limits, request = _moment(router, row), NamedLimits(router.mandates), _request(router, row)
    found = {
        each.name: LimitSet(at, each.name, each.ceiling, each.whole, each.ramp_minor)
        for column in range(len(router.mandates.mandates))
        for each in limits.of(column, request)
    }
    return list(found.values())


def offer(router: Router, row: int, *, wait: timedelta = WAIT) -> Offer:
    """The candidates of a request at its moment, best first; earlier requests are routed."""
    ranked, columns = router.ranked(row), router.columns
    amount, loan = int(router.rows.amount[row]), int(router.rows.loan_id[row])
    limits, request = NamedLimits(router.mandates), _request(router, row)
    draws = [limits.of(column, request) for column, _ in ranked]
    candidates = tuple(
        Candidate(_sources(router, column), tuple((e.name, e.amount) for e in own), wait)
        for (column, _), own in zip(ranked, draws, strict=True)
    )
    scores = [
        amount * (worth * int(columns.approval[column]) // PPM) // PPB for column, worth in ranked
    ]
    second = ranked[1][0] if len(ranked) > 1 else -1
    return Offer(
        Requested(_moment(router, row), str(loan), loan, candidates),
        amount,
        tuple(scores),
        int(columns.source[second]) if second >= 0 else 0,
        scores[1] if second >= 0 else 0,
        router.progress.plan_no,
        {each.name: each.number for own in draws for each in own},
    )


def place(state: State, requested: Requested, answer: Answer) -> tuple[State, tuple[Outcome, ...]]:
    """Ask one candidate after the other until one approves or none is left."""
    state, new = step(state, requested)
    outcomes, at = list(new), requested.at
    while (placement := state.placements.get(requested.key)) and placement.until is not None:
        asked = placement.candidate(placement.attempt).sources
        source = next(each for each in asked if each not in placement.approved_by)
        approved = answer(source, placement.attempt)
        if source != asked[0]:  # a partner that does not answer does not lend
            approved = bool(approved)
        if approved is None:
            at = placement.until
            state, new = step(state, Waited(at, requested.key))
        else:
            event = Answered(at, requested.key, placement.attempt, source, approved)
            state, new = step(state, event)
        outcomes += new
    return state, tuple(outcomes)


def routing_rows(offered: Offer, outcomes: Sequence[Outcome]) -> Any:
    """Rows of `routing`: one for each attempt that ended, or one for "no source"."""
    from usance.base.columns import make

    refused = [each for each in outcomes if each.result is Result.REFUSED]
    if refused:
        fix = "Set its limits first, and use a key of its own"
        raise RequestRefused(refused[0].reason, where=f"request {refused[0].key}", fix=fix)
    ended = [each for each in outcomes if each.result in ENDED]
    without = [each for each in outcomes if each.result is Result.NO_SOURCE and not each.attempt]
    rows = ended or without
    full = next((each.limit for each in outcomes if each.result is Result.NO_HEADROOM), "")
    places = {each.sources: n for n, each in enumerate(offered.requested.candidates)}
    at = int(offered.requested.at.timestamp() * MICROSECONDS)
    return make(
        "routing",
        loan_id=[offered.requested.loan_id for _ in rows],
        attempt=[max(each.attempt, 1) for each in rows],
        at=[at for _ in rows],
        source=[each.sources[0] if each.sources else 0 for each in rows],
        outcome=[int(RoutingOutcome(int(each.result))) for each in rows],
        score_minor=[
            offered.score_minor[places[each.sources]] if each.sources else 0 for each in rows
        ],
        runner_up=[offered.runner_up for _ in rows],
        runner_up_minor=[offered.runner_up_minor for _ in rows],
        binding_limit=[offered.numbers.get(full, 0) for _ in rows],
        plan_no=[offered.plan_no for _ in rows],
    )


def _sources(router: Router, column: int) -> tuple[int, ...]:
    """The source of a mandate, and its partner if it has one."""
    mandate = router.mandates.mandates[column]
    partner = (mandate.co_funding.partner,) if mandate.co_funding else ()
    return mandate.source, *partner


def _moment(router: Router, row: int) -> datetime:
    micro = int(router.result.requests.requested_at[row])
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micro)


def _request(router: Router, row: int) -> LimitRequest:
    """A request as limits see it; its user stands for the person."""
    requests, rows = router.log.requests, router.rows
    return LimitRequest(
        int(rows.user[row]), int(rows.amount[row]), from_day(int(rows.day[row])),
        int(requests.product[row]), int(requests.region[row]), int(requests.grade[row]),
        int(requests.rate_ppm[row]),
    )  # fmt: skip
