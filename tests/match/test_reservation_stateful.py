"""Any interleaving of requests, answers, silence and retries: never oversold, always as modelled.

Two independent observers watch every step. The *auditor* believes only what the outside was told,
adds up who holds what, and cries when one is reserved above its ceiling. The *model* is a second
machine without counters: it looks through all requests each time. The same test, with one check
taken out of the machine, must fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from usance.match.reservation import reservation
from usance.match.reservation.events import (
    Answered,
    Candidate,
    Freed,
    LimitSet,
    Outcome,
    Requested,
    ReservationEvent,
    Result,
    State,
    Waited,
    Withdrawn,
    log_line,
    read_log,
)
from usance.match.reservation.reservation import overdue, rebuild, relevant_state, step

START = datetime(2024, 6, 3, 9, tzinfo=UTC)
LIMITS = {"bank/day": 100, "bank/total": 180, "trust/day": 90, "platform": 150}
PAUSES = st.sampled_from([0, 1, 0, 0, 2, 0, 0, 30])
"""Seconds between two events; most waits are longer than most pauses."""
SEEN: Counter[Result] = Counter()
Told = tuple[Result, tuple[int, ...]]


class Oversold(AssertionError):
    """Quota was reserved above a ceiling."""


class Differs(AssertionError):
    """The machine and the model do not agree."""


@dataclass
class Auditor:
    """Who holds what, from what was asked for and told, and from nothing else."""

    ceilings: dict[str, int] = field(default_factory=dict)
    freed: dict[str, int] = field(default_factory=dict)
    wanted: dict[str, Requested] = field(default_factory=dict)
    holds: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)

    def used(self) -> dict[str, int]:
        sums = {name: -self.freed.get(name, 0) for name in self.ceilings}
        for uses in self.holds.values():
            for name, amount in uses:
                sums[name] += amount
        return sums

    def hear(self, event: ReservationEvent, outcomes: tuple[Outcome, ...]) -> None:
        if isinstance(event, Requested):
            self.wanted.setdefault(event.key, event)
        if isinstance(event, LimitSet):
            self.ceilings[event.limit] = event.ceiling_minor
        if isinstance(event, Freed) and not outcomes:
            self.freed[event.limit] = self.freed.get(event.limit, 0) + event.difference_minor
        for each in outcomes:
            if each.result == Result.REPEATED:
                break  # what follows was told before
            self._hear_one(each)

    def _hear_one(self, outcome: Outcome) -> None:
        if outcome.result == Result.RESERVED:
            assert outcome.key not in self.holds, "asked while another holds"
            wanted = self.wanted[outcome.key].candidates
            uses = next(each.uses for each in wanted if each.sources == outcome.sources)
            self.holds[outcome.key] = uses
            used = self.used()
            for name, _ in uses:
                if used[name] > self.ceilings[name]:
                    raise Oversold(f"{name}: {used[name]} of {self.ceilings[name]}")
        elif outcome.result in (Result.DECLINED, Result.TIMED_OUT, Result.RELEASED):
            del self.holds[outcome.key]


@dataclass
class Order:
    """One request as the model has it."""

    request: Requested
    tried: list[int] = field(default_factory=list)
    standing: str = "open"
    deadline: datetime = START
    yes: set[int] = field(default_factory=set)
    heard: dict[tuple[int, int], tuple[bool, list[Told]]] = field(default_factory=dict)
    first: list[Told] = field(default_factory=list)

    @property
    def uses(self) -> dict[str, int]:
        holding = self.tried and self.standing in ("open", "approved")
        return dict(self.request.candidates[self.tried[-1]].uses) if holding else {}

    @property
    def sources(self) -> tuple[int, ...]:
        return self.request.candidates[self.tried[-1]].sources if self.tried else ()


@dataclass
class Model:
    """The protocol said again without counters: every sum is made anew from all requests."""

    ceilings: dict[str, int] = field(default_factory=dict)
    freed: dict[str, int] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)

    def lent(self, name: str, *standings: str) -> int:
        orders = (each for each in self.orders.values() if each.standing in standings)
        return sum(order.uses.get(name, 0) for order in orders)

    def used(self, name: str) -> int:
        return self.lent(name, "open", "approved") - self.freed.get(name, 0)

    def expect(self, event: ReservationEvent) -> list[Told]:
        if isinstance(event, LimitSet):
            self.ceilings[event.limit] = event.ceiling_minor
            return []
        if isinstance(event, Freed):
            return self._free(event)
        order = self.orders.get(event.key)
        if isinstance(event, Requested) and order is None:
            order = self.orders[event.key] = Order(event)
            order.standing = "asking"
            order.first = self._ask(order, 0, event.at)
            return order.first
        assert order is not None
        if isinstance(event, Requested):
            same = event.candidates == order.request.candidates
            told = [(Result.REPEATED, order.sources), *order.first]
            return told if same else [(Result.REFUSED, order.sources)]
        if isinstance(event, Withdrawn):
            return self._withdraw(order)
        if isinstance(event, Waited):
            return self._expire(order, event.at)
        return self._answer(order, event)

    def _free(self, event: Freed) -> list[Told]:
        self.freed[event.limit] = self.freed.get(event.limit, 0) + event.difference_minor
        return []

    def _ask(self, order: Order, start: int, at: datetime) -> list[Told]:
        told: list[Told] = []
        for place, candidate in enumerate(order.request.candidates):
            if place < start:
                continue
            if any(
                self.used(name) + amount > self.ceilings[name] for name, amount in candidate.uses
            ):
                told.append((Result.NO_HEADROOM, candidate.sources))
                continue
            order.tried.append(place)
            order.standing, order.yes = "open", set()
            order.deadline = at + candidate.wait
            return [*told, (Result.RESERVED, candidate.sources)]
        order.standing = "none"
        return [*told, (Result.NO_SOURCE, ())]

    def _next(self, order: Order, ended: Result, at: datetime) -> list[Told]:
        sources = order.sources
        order.standing = "asking"
        return [(ended, sources), *self._ask(order, order.tried[-1] + 1, at)]

    def _expire(self, order: Order, at: datetime) -> list[Told]:
        is_over = order.standing == "open" and at >= order.deadline
        return self._next(order, Result.TIMED_OUT, at) if is_over else []

    def _withdraw(self, order: Order) -> list[Told]:
        if order.standing == "none":
            return [(Result.REFUSED, order.sources)]
        if order.standing == "released":
            return [(Result.REPEATED, order.sources)]
        order.standing = "released"
        return [(Result.RELEASED, order.sources)]

    def _answer(self, order: Order, event: Answered) -> list[Told]:
        slot, own = (event.attempt, event.source), (event.source,)
        if slot in order.heard:
            before, told = order.heard[slot]
            if before == event.approved:
                return [(Result.REPEATED, own), *told]
            return [(Result.CONTRADICTED, own)]
        asked = [order.request.candidates[place].sources for place in order.tried]
        if not 0 < event.attempt <= len(asked) or event.source not in asked[event.attempt - 1]:
            return [(Result.REFUSED, own)]
        expired = self._expire(order, event.at)
        if order.standing != "open" or event.attempt != len(order.tried):
            told = [(Result.LATE, own)]
        elif not event.approved:
            told = self._next(order, Result.DECLINED, event.at)
        else:
            order.yes.add(event.source)
            whole = order.yes == set(order.sources)
            told = [(Result.APPROVED, order.sources) if whole else (Result.PART_APPROVED, own)]
            order.standing = "approved" if whole else "open"
        order.heard[slot] = (event.approved, told)
        return [*expired, *told]


def candidates() -> st.SearchStrategy[tuple[Candidate, ...]]:
    """Up to three ways to fund a loan of 1 to 70, no two with the same sources."""
    amounts, waits = (
        st.integers(1, 70),
        st.integers(5, 40).map(lambda each: timedelta(seconds=each)),
    )

    def ways(amount: int, wait: timedelta) -> dict[str, Candidate]:
        day, total, trust, whole = LIMITS
        lead = amount // 2 + 1
        return {
            "bank": Candidate((7,), ((day, amount), (total, amount), (whole, amount)), wait),
            "trust": Candidate((8,), ((trust, amount), (whole, amount)), wait),
            "both": Candidate(
                (7, 8), ((day, lead), (total, lead), (trust, amount), (whole, amount)), wait
            ),
            "free": Candidate((9,), (), wait),
        }

    names = st.permutations(["bank", "trust", "both"])
    chosen = st.tuples(names, st.sampled_from([1, 2, 3, 3, 3, 0]), st.sampled_from("nnnny"))
    return st.tuples(chosen, amounts, waits).map(
        lambda drawn: tuple(
            ways(drawn[1], drawn[2])[name]
            for name in [*drawn[0][0][: drawn[0][1]], *(["free"] if drawn[0][2] == "y" else [])]
        )
    )


class Desk(RuleBasedStateMachine):
    """Everything the outside can do, in any order, with time that only goes forward."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.state, self.live = State(), State()
        self.auditor, self.model = Auditor(), Model()
        self.log: list[ReservationEvent] = []
        self.requests: list[Requested] = []
        self.answers: list[Answered] = []
        for name, ceiling in LIMITS.items():
            self.send(LimitSet(self.now, name, ceiling))

    def send(self, event: ReservationEvent) -> None:
        self.sound = False
        self.log.append(event)
        self.state, outcomes = step(self.state, event)
        self.auditor.hear(event, outcomes)
        expected = self.model.expect(event)
        told = [(each.result, each.sources) for each in outcomes]
        SEEN.update(each.result for each in outcomes)
        if told != expected:
            raise Differs(f"{event}: told {told}, expected {expected}")
        used = {name: limit.used_minor for name, limit in self.state.limits.items()}
        if used != {name: self.model.used(name) for name in used} or used != self.auditor.used():
            raise Differs(f"{event}: counters {used}, auditor {self.auditor.used()}")
        taken = {name: limit.taken_minor for name, limit in self.state.limits.items()}
        if taken != {name: self.model.lent(name, "approved") for name in taken}:
            raise Differs(f"{event}: taken {taken}")
        self.send_live(event, outcomes)
        self.sound = True

    def send_live(self, event: ReservationEvent, outcomes: tuple[Outcome, ...]) -> None:
        """The same event on the live path, which sees only the rows it is about."""
        changed, same = step(relevant_state(self.live, event), event)
        assert same == outcomes
        self.live = State(
            {**self.live.limits, **changed.limits}, {**self.live.placements, **changed.placements}
        )

    def later(self, seconds: int) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now

    @rule(seconds=PAUSES, wanted=candidates())
    def request(self, seconds: int, wanted: tuple[Candidate, ...]) -> None:
        event = Requested(self.later(seconds), f"k{len(self.requests)}", len(self.requests), wanted)
        self.requests.append(event)
        self.send(event)

    @precondition(lambda self: self.requests)
    @rule(data=st.data(), seconds=PAUSES, wanted=st.none() | candidates())
    def request_again(
        self, data: st.DataObject, seconds: int, wanted: tuple[Candidate, ...] | None
    ) -> None:
        event = replace(data.draw(st.sampled_from(self.requests)), at=self.later(seconds))
        self.send(event if wanted is None else replace(event, candidates=wanted))

    def standing(self, *standings: str) -> list[Order]:
        return [each for each in self.model.orders.values() if each.standing in standings]

    @precondition(lambda self: self.standing("open"))
    @rule(data=st.data(), seconds=PAUSES, approved=st.sampled_from([True, True, False]))
    def answer(self, data: st.DataObject, seconds: int, approved: bool) -> None:
        """In time, to the latest attempt, by someone who has not answered yet."""
        order = data.draw(st.sampled_from(self.standing("open")))
        silent = [each for each in order.sources if each not in order.yes]
        source = data.draw(st.sampled_from(silent))
        self.hear(order, seconds, len(order.tried), source, approved)

    @precondition(lambda self: self.requests)
    @rule(
        data=st.data(),
        seconds=PAUSES,
        back=st.integers(-1, 2),
        source=st.integers(7, 9),
        approved=st.booleans(),
    )
    def answer_oddly(
        self, data: st.DataObject, seconds: int, back: int, source: int, approved: bool
    ) -> None:
        """Late, to an attempt long past or never made, or from a source nobody asked."""
        order = self.model.orders[data.draw(st.sampled_from(self.requests)).key]
        self.hear(order, seconds, len(order.tried) - back, source, approved)

    def hear(self, order: Order, seconds: int, attempt: int, source: int, approved: bool) -> None:
        event = Answered(self.later(seconds), order.request.key, attempt, source, approved)
        self.answers.append(event)
        self.send(event)

    @precondition(lambda self: self.answers)
    @rule(data=st.data(), seconds=PAUSES, differently=st.booleans())
    def answer_again(self, data: st.DataObject, seconds: int, differently: bool) -> None:
        event = data.draw(st.sampled_from(self.answers))
        self.send(replace(event, at=self.later(seconds), approved=event.approved ^ differently))

    @precondition(lambda self: self.requests)
    @rule(data=st.data(), seconds=PAUSES)
    def wait(self, data: st.DataObject, seconds: int) -> None:
        key = data.draw(st.sampled_from(self.requests)).key
        self.send(Waited(self.later(seconds), key))

    @rule(seconds=PAUSES)
    def wait_for_all(self, seconds: int) -> None:
        for event in overdue(self.state, self.later(seconds)):
            self.send(event)
        assert not overdue(self.state, self.now)

    @precondition(lambda self: self.requests)
    @rule(data=st.data(), seconds=PAUSES)
    def withdraw(self, data: st.DataObject, seconds: int) -> None:
        orders = self.standing("approved") or list(self.model.orders.values())
        key = data.draw(st.sampled_from(orders)).request.key
        self.send(Withdrawn(self.later(seconds), key))

    @rule(name=st.sampled_from(list(LIMITS)), ceiling=st.sampled_from([150, 100, 250, 60, 0]))
    def change_ceiling(self, name: str, ceiling: int) -> None:
        self.send(LimitSet(self.now, name, ceiling))

    @precondition(lambda self: self.standing("approved"))
    @rule(name=st.sampled_from(list(LIMITS)), moved=st.integers(-40, 60))
    def free(self, name: str, moved: int) -> None:
        """A payment, or its reversal: also more than was lent under the limit."""
        self.send(Freed(self.now, name, moved))

    def teardown(self) -> None:
        """The log alone gives the same state, and so does the live path."""
        if not self.sound:
            return  # a check has failed already and says why
        assert rebuild(read_log(log_line(event) for event in self.log)) == self.state
        assert self.live == self.state


def run_desk(examples: int, *phases: Phase) -> None:
    nightly = settings().max_examples > 100
    run_state_machine_as_test(
        Desk,
        settings=settings(
            max_examples=1_000 if nightly else examples,
            stateful_step_count=40,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_no_interleaving_oversells_or_leaves_the_model() -> None:
    SEEN.clear()
    run_desk(300, Phase.generate, Phase.shrink)
    assert min(SEEN[result] for result in Result) > 10, SEEN  # every way was walked, and often


def _no_check(*_: Any) -> str:
    return ""


def _never_over(*_: Any) -> Iterator[Outcome]:
    return iter(())


def _forgetful(self: Any, key: str, **changes: Any) -> None:
    changes.pop("answers", None)
    self.placements[key] = replace(self.placements[key], **changes)


@pytest.mark.parametrize(
    ("name", "broken", "cry"),
    [
        ("binding_limit", _no_check, Oversold),
        ("_Reservations._expire", _never_over, Differs),
        ("_Reservations._update", _forgetful, Differs),
    ],
)
def test_without_a_check_the_same_test_fails(
    monkeypatch: pytest.MonkeyPatch, name: str, broken: Callable[..., Any], cry: type[Exception]
) -> None:
    monkeypatch.setattr(f"{reservation.__name__}.{name}", broken)
    with pytest.raises(cry):
        run_desk(300, Phase.generate)  # that it fails is enough, the shortest way need not be found
