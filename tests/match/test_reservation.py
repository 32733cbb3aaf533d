"""One request's way: reserve, decide, keep or give back, next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from usance.base.codes import RoutingOutcome
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
)
from usance.match.reservation.reservation import overdue, rebuild, relevant_state, step

NINE = datetime(2024, 6, 3, 9, tzinfo=UTC)
HALF_MINUTE = timedelta(seconds=30)
LIMITS = [LimitSet(NINE, "bank", 100), LimitSet(NINE, "trust", 100), LimitSet(NINE, "all", 150)]


def at(seconds: int) -> datetime:
    return NINE + timedelta(seconds=seconds)


def candidate(*sources: int, **uses: int) -> Candidate:
    return Candidate(sources, tuple(uses.items()), HALF_MINUTE)


BANK = candidate(7, bank=60, all=60)
TRUST = candidate(8, trust=60, all=60)
BOTH = candidate(7, 8, bank=40, trust=20, all=60)


def request(*candidates: Candidate, key: str = "a") -> Requested:
    return Requested(NINE, key, 16385, candidates)


def run(*events: ReservationEvent) -> tuple[State, list[Outcome]]:
    """The state after these events and what the last one came to."""
    state = rebuild(LIMITS)
    outcomes: tuple[Outcome, ...] = ()
    for event in events:
        state, outcomes = step(state, event)
    return state, list(outcomes)


def results(outcomes: list[Outcome]) -> list[Result]:
    return [each.result for each in outcomes]


def rooms(state: State) -> dict[str, int]:
    return {name: limit.headroom_minor for name, limit in state.limits.items()}


FREE = {"bank": 100, "trust": 100, "all": 150}


def test_the_first_results_are_the_outcomes_of_routing() -> None:
    assert [(each.name, each.value) for each in RoutingOutcome] == [
        (each.name, each.value) for each in Result
    ][: len(RoutingOutcome)]


def test_a_yes_keeps_the_quota() -> None:
    state, outcomes = run(request(BANK, TRUST), Answered(at(1), "a", 1, 7, approved=True))
    assert results(outcomes) == [Result.APPROVED]
    assert rooms(state) == {"bank": 40, "trust": 100, "all": 90}
    assert (state.limits["bank"].held_minor, state.limits["bank"].taken_minor) == (0, 60)


def test_a_no_gives_it_back_and_asks_the_next() -> None:
    state, outcomes = run(request(BANK, TRUST), Answered(at(1), "a", 1, 7, approved=False))
    assert results(outcomes) == [Result.DECLINED, Result.RESERVED]
    assert (outcomes[1].attempt, outcomes[1].sources, outcomes[1].until) == (2, (8,), at(31))
    assert rooms(state) == {"bank": 100, "trust": 40, "all": 90}


def test_the_last_no_ends_without_a_source() -> None:
    state, outcomes = run(request(BANK), Answered(at(1), "a", 1, 7, approved=False))
    assert results(outcomes) == [Result.DECLINED, Result.NO_SOURCE]
    assert rooms(state) == FREE


def test_a_full_limit_is_named_and_the_next_asked() -> None:
    _, outcomes = run(request(BANK, key="a"), request(BANK, TRUST, key="b"))
    assert [(each.result, each.sources, each.limit) for each in outcomes] == [
        (Result.NO_HEADROOM, (7,), "bank"),
        (Result.RESERVED, (8,), ""),
    ]
    assert outcomes[1].attempt == 1  # nobody was asked before


def test_without_room_anywhere_every_binding_limit_is_named() -> None:
    _, outcomes = run(
        request(BANK, key="a"), request(TRUST, key="b"), request(BANK, TRUST, key="c")
    )
    assert [(each.result.label, each.limit) for each in outcomes] == [
        ("no_headroom", "bank"), ("no_headroom", "trust"), ("no_source", ""),
    ]  # fmt: skip


def test_silence_ends_at_the_deadline_not_before() -> None:
    state, outcomes = run(request(BANK, TRUST), Waited(at(29), "a"))
    assert outcomes == []
    assert overdue(state, at(29)) == []
    assert overdue(state, at(30)) == [Waited(at(30), "a")]
    state, outcomes = run(request(BANK, TRUST), Waited(at(30), "a"))
    assert results(outcomes) == [Result.TIMED_OUT, Result.RESERVED]


def test_an_answer_at_the_deadline_is_late_whoever_noticed_first() -> None:
    state, outcomes = run(request(BANK, TRUST), Answered(at(30), "a", 1, 7, approved=True))
    assert results(outcomes) == [Result.TIMED_OUT, Result.RESERVED, Result.LATE]
    assert rooms(state) == {"bank": 100, "trust": 40, "all": 90}
    _, outcomes = run(
        request(BANK, TRUST), Waited(at(30), "a"), Answered(at(31), "a", 1, 7, approved=True)
    )
    assert results(outcomes) == [Result.LATE]


def test_a_late_yes_does_not_take_what_another_source_has() -> None:
    state, outcomes = run(
        request(BANK, TRUST),
        Waited(at(30), "a"),
        Answered(at(31), "a", 2, 8, approved=True),
        Answered(at(32), "a", 1, 7, approved=True),
    )
    assert results(outcomes) == [Result.LATE]
    assert rooms(state) == {"bank": 100, "trust": 40, "all": 90}


@pytest.mark.parametrize("approved", [True, False])
def test_the_same_answer_twice_is_told_and_changes_nothing(approved: bool) -> None:
    answer = Answered(at(1), "a", 1, 7, approved)
    before, first = run(request(BANK, TRUST), answer)
    after, again = run(request(BANK, TRUST), answer, replace(answer, at=at(300)))
    assert again == [replace(again[0], result=Result.REPEATED), *first]
    assert after == before


@pytest.mark.parametrize("approved", [True, False])
def test_another_answer_on_retry_is_told_and_the_first_stands(approved: bool) -> None:
    answer = Answered(at(1), "a", 1, 7, approved)
    before, _ = run(request(BANK, TRUST), answer)
    after, outcomes = run(request(BANK, TRUST), answer, replace(answer, approved=not approved))
    assert results(outcomes) == [Result.CONTRADICTED]
    assert after == before


def test_the_same_request_gets_the_same_answer() -> None:
    before, first = run(request(BANK, TRUST))
    after, again = run(request(BANK, TRUST), replace(request(BANK, TRUST), at=at(9)))
    assert results(again) == [Result.REPEATED, Result.RESERVED]
    assert again[1:] == first
    assert after == before


def test_the_same_key_with_another_body_is_refused() -> None:
    before, _ = run(request(BANK, TRUST))
    after, outcomes = run(request(BANK, TRUST), request(TRUST))
    assert results(outcomes) == [Result.REFUSED]
    assert outcomes[0].reason == "this key belongs to another request"
    assert after == before


def test_co_funding_needs_every_yes() -> None:
    yes = [Answered(at(1), "a", 1, source, approved=True) for source in (8, 7)]
    state, outcomes = run(request(BOTH), yes[0])
    assert results(outcomes) == [Result.PART_APPROVED]
    assert state.limits["all"].held_minor == 60
    state, outcomes = run(request(BOTH), *yes)
    assert results(outcomes) == [Result.APPROVED]
    assert outcomes[0].sources == (7, 8)
    assert rooms(state) == {"bank": 60, "trust": 80, "all": 90}


def test_one_no_of_several_gives_all_back() -> None:
    state, outcomes = run(
        request(BOTH, BANK),
        Answered(at(1), "a", 1, 8, approved=True),
        Answered(at(2), "a", 1, 7, approved=False),
    )
    assert results(outcomes) == [Result.DECLINED, Result.RESERVED]
    assert rooms(state) == {"bank": 40, "trust": 100, "all": 90}


def test_a_yes_to_one_attempt_counts_for_no_other() -> None:
    """Source 8 agreed to the first attempt; the second asks it again."""
    _, outcomes = run(
        request(BOTH, replace(BOTH, sources=(8, 9))),
        Answered(at(1), "a", 1, 8, approved=True),
        Answered(at(2), "a", 1, 7, approved=False),
        Answered(at(3), "a", 2, 9, approved=True),
    )
    assert results(outcomes) == [Result.PART_APPROVED]


@pytest.mark.parametrize("answers", [[], [Answered(at(1), "a", 1, 7, approved=True)]])
def test_withdrawing_gives_back_what_is_held_or_taken(answers: list[ReservationEvent]) -> None:
    state, outcomes = run(request(BANK, TRUST), *answers, Withdrawn(at(2), "a"))
    assert results(outcomes) == [Result.RELEASED]
    assert rooms(state) == FREE
    state, outcomes = run(
        request(BANK, TRUST), *answers, Withdrawn(at(2), "a"), Withdrawn(at(3), "a")
    )
    assert results(outcomes) == [Result.REPEATED]
    assert rooms(state) == FREE


def test_an_answer_after_a_withdrawal_is_late() -> None:
    state, outcomes = run(
        request(BANK), Withdrawn(at(1), "a"), Answered(at(2), "a", 1, 7, approved=True)
    )
    assert results(outcomes) == [Result.LATE]
    assert rooms(state) == FREE


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Answered(at(1), "b", 1, 7, approved=True), "no request has this key"),
        (Answered(at(1), "a", 1, 8, approved=True), "it was not asked"),
        (Answered(at(1), "a", 2, 8, approved=True), "it was not asked"),
        (Answered(at(1), "a", 0, 7, approved=True), "it was not asked"),
        (Waited(at(1), "b"), "no request has this key"),
        (Withdrawn(at(1), "b"), "no request has this key"),
        (request(candidate(7, bnk=1), key="b"), "candidate 1 uses the unknown limit bnk"),
        (request(candidate(7, bank=0), key="b"), "candidate 1 uses 0 of bank"),
        (request(BANK, candidate(bank=1), key="b"), "candidate 2 needs sources, each once"),
        (request(candidate(7, 7, bank=1), key="b"), "candidate 1 needs sources, each once"),
        (
            request(Candidate((7,), (("bank", 1), ("bank", 2)), HALF_MINUTE), key="b"),
            "candidate 1 names a limit twice",
        ),
        (request(replace(BANK, wait=timedelta(0)), key="b"), "candidate 1 waits for nobody"),
        (LimitSet(NINE, "bank", -1), "a ceiling is below zero"),
        (Freed(NINE, "bnk", 1), "no such limit"),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_changes_nothing(
    event: ReservationEvent, reason: str
) -> None:
    before, _ = run(request(BANK, TRUST))
    after, outcomes = run(request(BANK, TRUST), event)
    assert [(each.result, each.reason) for each in outcomes] == [(Result.REFUSED, reason)]
    assert after == before


def test_nothing_is_withdrawn_where_nothing_is_held() -> None:
    _, outcomes = run(request(), Withdrawn(at(1), "a"))
    assert [(each.result, each.reason) for each in outcomes] == [
        (Result.REFUSED, "it holds nothing")
    ]


def test_a_lowered_ceiling_keeps_what_stands_and_lets_nothing_new_in() -> None:
    state, outcomes = run(
        request(BANK, key="a"),
        LimitSet(at(1), "bank", 50),
        request(candidate(7, bank=1), key="b"),
    )
    assert results(outcomes) == [Result.NO_HEADROOM, Result.NO_SOURCE]
    assert state.limits["bank"].headroom_minor == -10
    _, outcomes = run(
        request(BANK, key="a"),
        LimitSet(at(1), "bank", 50),
        Answered(at(2), "a", 1, 7, approved=True),
    )
    assert results(outcomes) == [Result.APPROVED]


def test_principal_that_comes_back_and_goes_again_moves_headroom_both_ways() -> None:
    lent: list[ReservationEvent] = [request(BANK), Answered(at(1), "a", 1, 7, approved=True)]
    cases: list[tuple[list[ReservationEvent], int, list[Result]]] = [
        ([Freed(at(2), "bank", 25)], 65, []),
        ([Freed(at(2), "bank", 25), Freed(at(3), "bank", 35)], 100, []),
        ([Freed(at(2), "bank", 25), Freed(at(3), "bank", -25)], 40, []),
        ([Freed(at(2), "bank", -50)], -10, []),
        ([Freed(at(2), "bank", 61)], 101, []),
        ([Freed(at(2), "bank", 25), Withdrawn(at(3), "a")], 125, [Result.RELEASED]),
    ]
    for events, room, told in cases:
        state, outcomes = run(*lent, *events)
        assert (state.limits["bank"].headroom_minor, results(outcomes)) == (room, told)


def test_the_part_an_event_is_about_is_all_that_a_step_needs() -> None:
    state, _ = run(request(BANK, key="a"), request(TRUST, key="b"))
    answer = Answered(at(1), "a", 1, 7, approved=True)
    small = relevant_state(state, answer)
    assert (set(small.limits), set(small.placements)) == ({"bank", "all"}, {"a"})
    whole, outcomes = step(state, answer)
    less, same = step(small, answer)
    assert same == outcomes
    assert less.placements["a"] == whole.placements["a"]
    assert {name: whole.limits[name] for name in less.limits} == less.limits
    assert relevant_state(state, Waited(at(1), "unknown")) == State()
    assert set(relevant_state(state, Freed(at(1), "all", 1)).limits) == {"all"}
