"""Quota reservations: hold for a candidate, then take, release, or go to the next.

`step` is a pure function of a state and an event. Quota is held for every limit of a candidate at
once or not at all, before anyone is asked; so whatever order answers come in, late, twice or
never, no ceiling is oversold.

>>> from datetime import UTC, datetime, timedelta
>>> from usance.match.reservation.events import Candidate
>>> nine = datetime(2024, 6, 3, 9, tzinfo=UTC)
>>> bank = Candidate((7,), (("bank/day", 600_00),), timedelta(seconds=30))
>>> replan_weight = Candidate((8,), (("trust/day", 600_00),), timedelta(seconds=30))
>>> state = rebuild([LimitSet(nine, "bank/day", 1_000_00), LimitSet(nine, "trust/day", 1_000_00)])
>>> state, outcomes = step(state, Requested(nine, "a", 16385, (bank, replan_weight)))
>>> [(each.result.label, each.sources) for each in outcomes]
[('reserved', (7,))]
>>> state, outcomes = step(state, Answered(nine, "a", attempt=1, source=7, approved=False))
>>> [(each.result.label, each.sources) for each in outcomes]
[('declined', (7,)), ('reserved', (8,))]
>>> state.limits["bank/day"].headroom_minor, state.limits["trust/day"].headroom_minor
(100000, 40000)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from usance.match.reservation.events import (
    Answered,
    Candidate,
    Freed,
    LimitSet,
    LimitUse,
    Outcome,
    Placement,
    Requested,
    ReservationEvent,
    Result,
    State,
    Waited,
    Withdrawn,
)
from usance.match.reservation.limit_names import breaks_share


def step(state: State, event: ReservationEvent) -> tuple[State, tuple[Outcome, ...]]:
    """The state after one event, and its outcomes; the state given is not changed."""
    reservations = _Reservations(state.limits, state.placements)
    outcomes = tuple(reservations.apply(event))
    return State(reservations.limits, reservations.placements), outcomes


def rebuild(log: Iterable[ReservationEvent]) -> State:
    """The state after a whole log: `step` from nothing, event by event."""
    reservations = _Reservations({}, {})
    for event in log:
        list(reservations.apply(event))
    return State(reservations.limits, reservations.placements)


def overdue(state: State, at: datetime) -> list[Waited]:
    """Events that end every attempt past its deadline, the longest overdue first."""
    late = [
        (placement.until, key)
        for key, placement in state.placements.items()
        if placement.until is not None and placement.until <= at
    ]
    return [Waited(at, key) for _, key in sorted(late)]


def relevant_state(state: State, event: ReservationEvent) -> State:
    """The part of a state that an event concerns: what a live request loads and locks."""
    if isinstance(event, LimitSet | Freed):
        names = {event.limit}
        placements: dict[str, Placement] = {}
    else:
        current = state.placements.get(event.key)
        placements = {} if current is None else {event.key: current}
        request = event if isinstance(event, Requested) else current and current.request
        names = {name for each in request.candidates for name, _ in each.uses} if request else set()
    return State({name: state.limits[name] for name in names & state.limits.keys()}, placements)


def binding_limit(limits: Mapping[str, LimitUse], candidate: Candidate) -> str:
    """The first limit without headroom for a candidate: the check against overselling."""
    drawn = dict(candidate.uses)
    for name, amount_minor in candidate.uses:
        limit = limits[name]
        if not limit.whole:
            if amount_minor > limit.headroom_minor:
                return name
        elif breaks_share(
            limit.used_minor, amount_minor, limit.ceiling_minor, limits[limit.whole].used_minor,
            drawn[limit.whole], limit.ramp_minor,
        ):  # fmt: skip
            return name
    return ""


class _Reservations:
    """Limits and placements while one event is applied; works on its own copies."""

    def __init__(self, limits: Mapping[str, LimitUse], placements: Mapping[str, Placement]) -> None:
        self.limits = dict(limits)
        self.placements = dict(placements)

    def apply(self, event: ReservationEvent) -> Iterator[Outcome]:
        """Apply an event and give its outcomes."""
        if isinstance(event, LimitSet):
            return self._set(event)
        if isinstance(event, Freed):
            return self._free(event)
        placement = self.placements.get(event.key)
        if isinstance(event, Requested):
            return self._request(event) if placement is None else self._repeat(event, placement)
        if placement is None:
            return iter([Outcome(Result.REFUSED, event.key, reason="no request has this key")])
        if isinstance(event, Answered):
            return self._answer(event, placement)
        if isinstance(event, Waited):
            return self._expire(event, placement)
        if isinstance(event, Withdrawn):
            return self._withdraw(event, placement)
        assert_never(event)

    def _set(self, event: LimitSet) -> Iterator[Outcome]:
        if event.ceiling_minor < 0 and not event.whole:
            yield Outcome(Result.REFUSED, limit=event.limit, reason="a ceiling is below zero")
            return
        current = self.limits.get(event.limit, LimitUse(0))
        self.limits[event.limit] = replace(
            current, ceiling_minor=event.ceiling_minor, whole=event.whole,
            ramp_minor=event.ramp_minor,
        )  # fmt: skip

    def _free(self, event: Freed) -> Iterator[Outcome]:
        current = self.limits.get(event.limit)
        if current is None:
            yield Outcome(Result.REFUSED, limit=event.limit, reason="no such limit")
            return
        freed = current.freed_minor + event.difference_minor
        self.limits[event.limit] = replace(current, freed_minor=freed)

    def _request(self, event: Requested) -> Iterator[Outcome]:
        if reason := "; ".join(_problems(event, self.limits)):
            yield Outcome(Result.REFUSED, event.key, event.loan_id, reason=reason)
            return
        outcomes = tuple(self._ask(Placement(event), 0, event.at))
        self._update(event.key, first_outcomes=outcomes)
        yield from outcomes

    def _repeat(self, event: Requested, placement: Placement) -> Iterator[Outcome]:
        if replace(event, at=placement.request.at) == placement.request:
            yield _outcome(placement, Result.REPEATED)
            yield from placement.first_outcomes
        else:
            yield _outcome(placement, Result.REFUSED, reason="this key belongs to another request")

    def _answer(self, event: Answered, placement: Placement) -> Iterator[Outcome]:
        slot = (event.attempt, event.source)
        if slot in placement.answers:
            approved, outcomes = placement.answers[slot]
            same = approved == event.approved
            yield _answer_outcome(
                event, placement, Result.REPEATED if same else Result.CONTRADICTED
            )
            yield from outcomes if same else ()
            return
        made = 1 <= event.attempt <= placement.attempt
        if not made or event.source not in placement.candidate(event.attempt).sources:
            yield _answer_outcome(event, placement, Result.REFUSED, reason="it was not asked")
            return
        yield from self._expire(Waited(event.at, event.key), placement)
        outcomes = tuple(self._decide(event, self.placements[event.key]))
        current = self.placements[event.key].answers
        self._update(event.key, answers={**current, slot: (event.approved, outcomes)})
        yield from outcomes

    def _decide(self, event: Answered, placement: Placement) -> Iterator[Outcome]:
        is_open = placement.status == Result.RESERVED and placement.attempt == event.attempt
        if not is_open:
            yield _answer_outcome(event, placement, Result.LATE)
        elif not event.approved:
            yield from self._close(placement, Result.DECLINED)
            yield from self._ask(placement, placement.asked[-1] + 1, event.at)
        else:
            yield from self._approve(event, placement)

    def _approve(self, event: Answered, placement: Placement) -> Iterator[Outcome]:
        candidate = placement.candidate(placement.attempt)
        agreed = placement.approved_by | {event.source}
        self._update(event.key, approved_by=agreed)
        if agreed != set(candidate.sources):
            yield _answer_outcome(event, placement, Result.PART_APPROVED)
            return
        self._move(candidate, held=-1, taken=1)
        self._update(event.key, status=Result.APPROVED, until=None)
        yield _outcome(placement, Result.APPROVED)

    def _expire(self, event: Waited, placement: Placement) -> Iterator[Outcome]:
        if placement.until is not None and event.at >= placement.until:
            yield from self._close(placement, Result.TIMED_OUT)
            yield from self._ask(placement, placement.asked[-1] + 1, event.at)

    def _withdraw(self, event: Withdrawn, placement: Placement) -> Iterator[Outcome]:
        if placement.status == Result.RELEASED:
            yield _outcome(placement, Result.REPEATED)
        elif placement.status == Result.NO_SOURCE:
            yield _outcome(placement, Result.REFUSED, reason="it holds nothing")
        else:
            yield from self._close(placement, Result.RELEASED)
            self._update(event.key, status=Result.RELEASED)

    def _ask(self, placement: Placement, start: int, at: datetime) -> Iterator[Outcome]:
        """Hold the first candidate from `start` on that fits, or end with no source."""
        key, candidates = placement.request.key, placement.request.candidates
        current = self.placements.get(key, placement)
        for index in range(start, len(candidates)):
            candidate = candidates[index]
            if limit := binding_limit(self.limits, candidate):
                yield replace(
                    _outcome(placement, Result.NO_HEADROOM), sources=candidate.sources, limit=limit
                )
                continue
            self._move(candidate, held=1)
            asked = replace(
                current,
                status=Result.RESERVED,
                asked=(*placement.asked, index),
                until=at + candidate.wait,
                approved_by=frozenset(),
            )
            self.placements[key] = asked
            yield replace(_outcome(asked, Result.RESERVED), until=asked.until)
            return
        self.placements[key] = replace(current, status=Result.NO_SOURCE, until=None)
        yield replace(_outcome(placement, Result.NO_SOURCE), sources=())

    def _close(self, placement: Placement, result: Result) -> Iterator[Outcome]:
        """Release what the latest attempt holds or has taken."""
        candidate = placement.candidate(placement.attempt)
        if placement.status == Result.APPROVED:
            self._move(candidate, taken=-1)
        else:
            self._move(candidate, held=-1)
        self._update(placement.request.key, until=None)
        yield _outcome(placement, result)

    def _move(self, candidate: Candidate, held: int = 0, taken: int = 0) -> None:
        for name, amount_minor in candidate.uses:
            current = self.limits[name]
            self.limits[name] = replace(
                current,
                held_minor=current.held_minor + held * amount_minor,
                taken_minor=current.taken_minor + taken * amount_minor,
            )

    def _update(self, key: str, **changes: object) -> None:
        self.placements[key] = replace(self.placements[key], **changes)  # type: ignore[arg-type]


def _outcome(placement: Placement, result: Result, reason: str = "") -> Outcome:
    request = placement.request
    sources = placement.candidate(placement.attempt).sources if placement.asked else ()
    return Outcome(result, request.key, request.loan_id, placement.attempt, sources, reason=reason)


def _answer_outcome(
    event: Answered, placement: Placement, result: Result, reason: str = ""
) -> Outcome:
    loan_id = placement.request.loan_id
    return Outcome(result, event.key, loan_id, event.attempt, (event.source,), reason=reason)


def _problems(request: Requested, limits: Mapping[str, LimitUse]) -> Iterator[str]:
    """All problems of a request, so that none is half reserved."""
    for number, candidate in enumerate(request.candidates, 1):
        names = [name for name, _ in candidate.uses]
        if not candidate.sources or len(set(candidate.sources)) < len(candidate.sources):
            yield f"candidate {number} needs sources, each once"
        if len(set(names)) < len(names):
            yield f"candidate {number} names a limit twice"
        for name, amount_minor in candidate.uses:
            whole = limits[name].whole if name in limits else ""
            if name not in limits:
                yield f"candidate {number} uses the unknown limit {name}"
            elif whole and whole not in names:
                yield f"candidate {number} uses {name} without {whole}"
            if amount_minor == 0 or (amount_minor < 0 and not whole):
                yield f"candidate {number} uses {amount_minor} of {name}"
        if candidate.wait.total_seconds() <= 0:
            yield f"candidate {number} waits for nobody"
