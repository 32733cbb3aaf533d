"""Promises by what was paid, placements by what the contract allows, channels that fail."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.service import (
    AgencyContract,
    AgencyPayment,
    Channel,
    ChannelBoard,
    LocalChannel,
    Payment,
    PlacementBook,
    PlacementError,
    Promise,
    PromiseError,
    PromiseState,
    check_promise,
    settle,
)
from usance.service.collections.channels import FALLBACKS

JULY = date(2024, 7, 1)


def day(number: int) -> date:
    return JULY + timedelta(days=number)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 50)), max_size=5),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 60)), max_size=5),
    st.integers(0, 25),
)
def test_no_payment_counts_twice_and_states_follow_from_amounts(  # type: ignore[no-untyped-def]
    made, paid, today
) -> None:
    promises = [Promise(n, day(a), day(a + b), amount) for n, (a, b, amount) in enumerate(made)]
    payments = [Payment(day(a), amount) for a, amount in paid]
    settled = settle(promises, payments, day(today))
    known = sum(each.amount_minor for each in payments if each.paid_on <= day(today))
    assert sum(each.paid_minor for each in settled) <= known
    for each in settled:
        over = day(today) > each.promise.due_on + timedelta(days=1)
        full = each.paid_minor == each.promise.amount_minor
        assert each.paid_minor <= each.promise.amount_minor
        assert (each.state is PromiseState.KEPT) == full
        assert (each.state is PromiseState.OPEN) == (not full and not over)
        assert (each.state is PromiseState.BROKEN) == (over and each.paid_minor == 0)


def test_a_payment_a_day_late_still_keeps_it_and_two_days_do_not() -> None:
    promise = [Promise(1, JULY, day(4), 100)]
    assert settle(promise, [Payment(day(5), 100)], day(9))[0].state is PromiseState.KEPT
    assert settle(promise, [Payment(day(6), 100)], day(9))[0].state is PromiseState.BROKEN


@pytest.mark.parametrize(("due", "amount"), [(4, 0), (4, 501), (-1, 100), (31, 100)])
def test_a_promise_that_cannot_be_meant_is_refused(due: int, amount: int) -> None:
    with pytest.raises(PromiseError):
        check_promise(Promise(1, JULY, day(due), amount), 500)
    check_promise(Promise(1, JULY, day(30), 500), 500)


def book() -> PlacementBook:
    contracts = [AgencyContract(name, 200_000, tail_days=3, max_cases=3)
                 for name in ("north", "south")]  # fmt: skip
    made = PlacementBook(contracts)
    made.place("north", [1, 2], JULY, target_ppm=100_000, owed_minor=[100_00, 300_00])
    return made


def test_a_case_is_with_one_agency_and_a_batch_is_whole_or_nothing() -> None:
    made = book()
    with pytest.raises(PlacementError, match="case 2 is with north"):
        made.place("south", [2, 3], JULY, target_ppm=0, owed_minor=[1, 1])
    with pytest.raises(PlacementError, match="above 3"):
        made.place("north", [3, 4], JULY, target_ppm=0, owed_minor=[1, 1])
    with pytest.raises(PlacementError, match="case 9 is with no agency"):
        made.recall([1, 9], JULY)
    assert [(each.user_id, each.recalled_on) for each in made.placements] == [(1, None), (2, None)]


def test_commission_follows_the_case_over_recall_and_the_next_agency() -> None:
    made = book()
    made.recall([1], day(10))
    made.place("south", [1], day(12), target_ppm=100_000, owed_minor=[80_00])
    paid = [AgencyPayment(1, f"p{n}", day(n), 10_00) for n in (5, 11, 12, 20)]
    paid += [AgencyPayment(2, "q", day(40), 1), AgencyPayment(3, "r", day(5), 99)]
    north = made.statement("north", JULY, day(30), paid, ["p5", "p12"])
    south = made.statement("south", JULY, day(30), paid)
    assert [each.reference for each in north.payments] == ["p5", "p11"]
    assert [each.reference for each in south.payments] == ["p12", "p20"]
    assert (north.commission_minor, north.target_minor) == (4_00, 40_00)
    assert (north.unknown_reports, north.unreported) == (("p12",), ("p11",))


def test_a_channel_that_is_down_gives_its_work_away_at_once() -> None:
    ports = {each: LocalChannel() for each in Channel}
    board = ChannelBoard(ports)
    noon = datetime(2024, 7, 1, 12, tzinfo=UTC)
    consents = frozenset({Channel.VOICE, Channel.AI_VOICE, Channel.MESSAGE})
    assert board.route(Channel.VOICE, consents) is Channel.VOICE
    board.mark_down(Channel.VOICE, noon, "carrier")
    board.mark_down(Channel.VOICE, noon, "carrier")
    assert board.route(Channel.VOICE, consents) is Channel.AI_VOICE
    board.mark_down(Channel.AI_VOICE, noon, "same carrier")
    assert board.route(Channel.VOICE, consents) is Channel.MESSAGE
    board.mark_down(Channel.MESSAGE, noon, "same carrier")
    assert board.route(Channel.VOICE, consents) is None
    board.mark_up(Channel.VOICE, noon + timedelta(hours=4))
    assert board.route(Channel.VOICE, consents) is Channel.VOICE
    assert [each.ended is None for each in board.outages] == [False, True, True]


def test_no_channel_falls_back_to_itself() -> None:
    assert set(FALLBACKS) == set(Channel)
    assert all(each not in FALLBACKS[each] for each in Channel)
