"""The register and its averages, against a count day by day."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import usance.capital
from usance.capital.awards import Source, UnitChange, UnitKind
from usance.capital.errors import PerShareError, RegisterError
from usance.capital.prices import daily_average, weighted_average, whole
from usance.capital.register import Balances, Register, ShareChange, ShareKind, delivery

FIRST = date(2024, 1, 1)


def after(days: int) -> date:
    return FIRST + timedelta(days=days)


def change(kind: ShareKind, days: int, shares: int, amount: int = 0) -> ShareChange:
    return ShareChange(kind, after(days), shares, "USD", amount)


@st.composite
def registers(draw: st.DrawFn) -> Register:
    """An opening, and moves that never take more than is there."""
    opening = draw(st.integers(10_000, 10**9))
    moves = [change(ShareKind.ISSUED, -1, opening)]
    treasury = 0
    for days in sorted(draw(st.lists(st.integers(0, 400), max_size=12))):
        kind = draw(st.sampled_from([ShareKind.ISSUED, ShareKind.REPURCHASED, ShareKind.RETIRED]))
        size = draw(st.integers(1, 800))
        if kind is ShareKind.RETIRED and size > treasury:
            continue
        treasury += {ShareKind.REPURCHASED: size, ShareKind.RETIRED: -size}.get(kind, 0)
        moves.append(change(kind, days, size, size * 7 if kind is ShareKind.REPURCHASED else 0))
    return Register(tuple(draw(st.permutations(moves))))


@given(registers(), st.integers(0, 300), st.integers(0, 100))
def test_the_average_is_the_mean_of_every_day(register: Register, start: int, length: int) -> None:
    days = [after(start + k) for k in range(length + 1)]
    held = [register.outstanding(day) for day in days]
    found = register.average(days[0], days[-1])
    assert found == Fraction(sum(held), len(held))
    assert min(held) <= found <= max(held)
    assert abs(register.average_shares(days[0], days[-1]) - found) <= Fraction(1, 2)


@given(registers())
def test_a_sound_register_has_no_problems_and_a_treasury_at_cost(register: Register) -> None:
    assert list(register.problems()) == []
    end = after(500)
    # Every share was bought at 7, so whatever was retired, the rest is still at 7.
    assert register.treasury_cost_minor(end) == 7 * register.at(end).treasury


def test_ias_33_example_2_by_months() -> None:
    assert whole(weighted_average([(1_700, 5), (2_500, 6), (2_250, 1)])) == 2_146


def test_a_change_counts_from_its_own_day() -> None:
    register = Register((change(ShareKind.ISSUED, -1, 100), change(ShareKind.ISSUED, 9, 100)))
    assert register.average(after(0), after(9)) == 110


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        (ShareKind.ISSUED, Source.NEW, Balances(110, 20, 30)),
        (ShareKind.RESERVED, Source.NEW, Balances(110, 20, 40)),
        (ShareKind.REPURCHASED, Source.NEW, Balances(100, 30, 30)),
        (ShareKind.DELIVERED, Source.NEW, Balances(110, 20, 30)),
        (ShareKind.DELIVERED, Source.RESERVED, Balances(100, 20, 20)),
        (ShareKind.DELIVERED, Source.TREASURY, Balances(100, 10, 30)),
        (ShareKind.REISSUED, Source.NEW, Balances(100, 10, 30)),
        (ShareKind.RETIRED, Source.NEW, Balances(90, 10, 30)),
    ],
)
def test_what_each_change_does(kind: ShareKind, source: Source, expected: Balances) -> None:
    opening = (change(ShareKind.ISSUED, 0, 70), change(ShareKind.RESERVED, 0, 30),
               change(ShareKind.REPURCHASED, 0, 20))  # fmt: skip
    moved = ShareChange(kind, after(1), 10, "USD", source=source)
    register = Register((*opening, moved))
    assert register.at(after(0)) == Balances(100, 20, 30)
    assert register.at(after(1)) == expected
    assert register.outstanding(after(1)) == sum(expected) - 2 * (expected[1] + expected[2])


def test_treasury_leaves_at_its_average_cost_rounded_half_up() -> None:
    moves = (
        change(ShareKind.ISSUED, 0, 100),
        change(ShareKind.REPURCHASED, 1, 2, 100),
        change(ShareKind.REPURCHASED, 2, 1, 51),
        change(ShareKind.RETIRED, 2, 1),
        change(ShareKind.REISSUED, 3, 2, 500),
    )
    register = Register(moves)
    assert [register.treasury_cost_minor(after(k)) for k in range(4)] == [0, 100, 101, 0]


def test_taking_more_than_there_is_is_named() -> None:
    register = Register(
        (
            change(ShareKind.ISSUED, 0, 100),
            change(ShareKind.RETIRED, 1, 5),
            ShareChange(ShareKind.DELIVERED, after(2), 3, "USD", source=Source.RESERVED),
            change(ShareKind.REPURCHASED, 3, 200),
        )
    )
    assert [error.what for error in register.problems()] == [
        "5 shares retired, 5 more than were in treasury",
        "3 shares delivered, 3 more than were reserved",
        "200 shares repurchased, 97 more than were outstanding",
    ]


def test_awards_deliver_shares_when_they_vest_or_are_exercised() -> None:
    used = UnitChange(UnitKind.EXERCISED, "g", FIRST, 7, Source.TREASURY)
    shares = delivery(used, "USD")
    assert shares is not None
    assert shares.effect == Balances(0, -7, 0)
    assert delivery(UnitChange(UnitKind.FORFEITED, "g", FIRST, 7), "USD") is None


def test_impossible_changes_and_periods_are_refused() -> None:
    with pytest.raises(RegisterError):
        change(ShareKind.ISSUED, 0, 0)
    with pytest.raises(RegisterError, match="issued from treasury"):
        ShareChange(ShareKind.ISSUED, FIRST, 1, "USD", source=Source.TREASURY)
    with pytest.raises(PerShareError, match="no time"):
        daily_average(lambda _: 1, [], after(1), after(0))


def test_the_public_names_of_the_room() -> None:
    assert set(usance.capital.__all__) <= set(dir(usance.capital))
    assert all(getattr(usance.capital, name) is not None for name in usance.capital.__all__)
