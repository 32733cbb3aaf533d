"""One request through the reservation desk, with the candidates that the router ranks.

The router says whom to ask in which order and what each is worth; the desk holds quota, hears the
answers and goes on to the next. What comes out are rows of `routing`. Budgets and the platform's
rooms are limits of the desk, named by their number in `list_limits` and the month or day they are
for; borrowers, shares and averages are kept by the router's filter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from usance.base.codes import RoutingOutcome
from usance.base.dates import from_day
from usance.base.rates import PPB, PPM
from usance.match.errors import RequestRefused
from usance.match.mandates.limits import BUDGETS, PLATFORM_ROOMS, Limit, LimitKind, list_limits
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
from usance.match.reservation.reservation import step
from usance.match.router.requests import MICROSECONDS
from usance.match.router.router import Router

WAIT = timedelta(seconds=30)
ENDED = (Result.APPROVED, Result.DECLINED, Result.TIMED_OUT, Result.RELEASED)

Answer = Callable[[int, int], bool | None]
"""What a source says to an attempt: yes, no, or nothing until its time is over."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A request as the desk takes it, with what the router thinks of each candidate."""

    requested: Requested
    amount_minor: int
    score_minor: tuple[int, ...]
    """By candidate: approval × (margin − prices)."""
    runner_up: int
    runner_up_minor: int
    plan_no: int


def ceilings(router: Router, row: int) -> list[LimitSet]:
    """Every ceiling that the desk needs on the day of a request; those it has stay as they are."""
    day, mandates = from_day(int(router.rows.day[row])), router.mandates
    at = _moment(router, row)
    kept = (each for each in list_limits(mandates) if each.kind in (*BUDGETS, *PLATFORM_ROOMS))
    return [LimitSet(at, _name(limit, day), limit.bound) for limit in kept]


def offer(router: Router, row: int, *, wait: timedelta = WAIT) -> Offer:
    """The candidates of a request at its moment, best first; earlier requests are routed."""
    ranked, columns = router.ranked(row), router.columns
    amount, loan = int(router.rows.amount[row]), int(router.rows.loan_id[row])
    candidates = tuple(
        Candidate((int(columns.source[column]),), _uses(router, row, column), wait)
        for column, _ in ranked
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
        router.clockwork.plan_no,
    )


def place(state: State, requested: Requested, answer: Answer) -> tuple[State, tuple[Outcome, ...]]:
    """Ask one candidate after the other until one says yes or none is left."""
    state, said = step(state, requested)
    told, at = list(said), requested.at
    while (placement := state.placements.get(requested.key)) and placement.until is not None:
        asked = placement.candidate(placement.attempt).sources
        source = next(each for each in asked if each not in placement.approved_by)
        yes = answer(source, placement.attempt)
        if yes is None:
            at = placement.until
            state, said = step(state, Waited(at, requested.key))
        else:
            event = Answered(at, requested.key, placement.attempt, source, yes)
            state, said = step(state, event)
        told += said
    return state, tuple(told)


def routing_rows(offered: Offer, told: Sequence[Outcome]) -> Any:
    """Rows of `routing`: one for each attempt that ended, or one for "no source"."""
    from usance.base.columns import make

    refused = [each for each in told if each.result is Result.REFUSED]
    if refused:
        fix = "Set its limits first, and use a key of its own"
        raise RequestRefused(refused[0].why, where=f"request {refused[0].key}", fix=fix)
    ended = [each for each in told if each.result in ENDED]
    without = [each for each in told if each.result is Result.NO_SOURCE and not each.attempt]
    rows = ended or without
    full = next((each.limit for each in told if each.result is Result.NO_ROOM), "")
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
        binding_limit=[int(full.partition("/")[0] or 0) for _ in rows],
        plan_no=[offered.plan_no for _ in rows],
    )


def _moment(router: Router, row: int) -> datetime:
    micro = int(router.done.requests.requested_at[row])
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micro)


def _name(limit: Limit, day: date) -> str:
    if limit.kind is LimitKind.DAY:
        return f"{limit.number}/{day.isoformat()}"
    if limit.kind is LimitKind.MONTH:
        return f"{limit.number}/{day:%Y-%m}"
    return str(limit.number)


def _uses(router: Router, row: int, column: int) -> tuple[tuple[str, int], ...]:
    """What a loan with a mandate uses of each limit it has."""
    day, amount = from_day(int(router.rows.day[row])), int(router.rows.amount[row])
    lent = router.mandates.mandates[column].takes_minor(amount)
    uses = []
    for limit in list_limits(router.mandates):
        if limit.kind in BUDGETS and limit.column == column:
            uses.append((_name(limit, day), lent))
        elif limit.kind in PLATFORM_ROOMS:
            share = int(router.columns.rooms[PLATFORM_ROOMS.index(limit.kind), column])
            uses.append((_name(limit, day), amount * share // PPM))
    return tuple((name, used) for name, used in uses if used)
