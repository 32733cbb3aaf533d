"""How cost is spread: the standards' own examples, and what holds for every award."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.capital.attribution import (
    Part,
    costs,
    cumulative,
    differences,
    expected_to_vest,
    graded,
    parts,
    retained_share,
    share_of,
    straight_line,
    straight_line_with_floor,
    units_granted,
    vested,
)
from usance.capital.errors import AwardError

SPREADS = (straight_line, straight_line_with_floor, graded)


def ratios(highest: int, parts_of: int) -> st.SearchStrategy[Fraction]:
    return st.integers(0, highest).map(lambda number: Fraction(number, parts_of))


awards = st.lists(
    st.builds(Part, ratios(10**8, 97), st.integers(0, 40)),
    min_size=1, max_size=6,
)  # fmt: skip


def total(award: list[Part]) -> Fraction:
    return sum((part.value for part in award), Fraction(0))


def test_four_quarters_are_25_13_7_and_3_forty_eighths() -> None:
    quarters = [(Fraction(1, 4), year) for year in (1, 2, 3, 4)]
    assert costs(parts(quarters, 48), graded) == [25, 13, 7, 3]
    assert costs(parts(quarters, 100), straight_line) == [25] * 4


def test_the_floor_of_asc_718_is_what_has_vested() -> None:
    award = parts([(Fraction(1, 2), 1), (Fraction(1, 4), 2), (Fraction(1, 4), 3)], 1000)
    assert cumulative(award, straight_line) == [Fraction(1000, 3), Fraction(2000, 3), 1000]
    assert cumulative(award, straight_line_with_floor) == [500, 750, 1000]


def test_ifrs_2_example_1_with_a_constant_estimate() -> None:
    award = parts([(units_granted(500, 100), 3)], 15)
    assert costs(expected_to_vest(award, [retained_share(20)]), graded) == [200_000] * 3


def test_ifrs_2_example_1a_with_changing_estimates() -> None:
    award = parts([(50_000, 3)], 15)
    shares = [Fraction(85, 100), Fraction(88, 100), share_of(44_300, 50_000)]
    due = [
        graded(expected_to_vest(award, [share]), year) for year, share in enumerate(shares, start=1)
    ]
    assert differences(due) == [212_500, 227_500, 224_500]


@given(awards)
def test_every_spread_ends_at_the_whole_value(award: list[Part]) -> None:
    last = max(part.span for part in award)
    for spread in SPREADS:
        assert spread(award, last) == spread(award, last + 1000) == total(award)
        assert spread(award, -1) == 0


@given(awards)
def test_a_spread_never_falls_and_lies_between_nothing_and_the_whole(award: list[Part]) -> None:
    for spread in SPREADS:
        due = [spread(award, elapsed) for elapsed in range(42)]
        assert due == sorted(due)
        assert due[0] >= 0
        assert due[-1] <= total(award)


@given(awards, st.integers(0, 45))
def test_graded_is_never_behind_the_line_nor_behind_what_has_vested(
    award: list[Part], elapsed: int
) -> None:
    # Each part is earned over a time no longer than the whole award's.
    assert graded(award, elapsed) >= straight_line_with_floor(award, elapsed)
    assert straight_line_with_floor(award, elapsed) >= vested(award, elapsed)


@given(awards)
def test_costs_are_the_steps_of_what_is_due(award: list[Part]) -> None:
    for spread in SPREADS:
        due = cumulative(award, spread)
        assert sum(costs(award, spread), Fraction(0)) == (due[-1] if due else 0)


@given(awards, ratios(50, 50), st.integers(0, 45))
def test_an_expectation_scales_the_cost(award: list[Part], share: Fraction, at: int) -> None:
    for spread in SPREADS:
        assert spread(expected_to_vest(award, [share]), at) == share * spread(award, at)


def test_a_part_cannot_vest_before_the_grant() -> None:
    with pytest.raises(AwardError, match="before it is granted"):
        parts([(1, -1)], 10)


def test_expectations_are_one_or_one_for_each_part() -> None:
    with pytest.raises(AwardError, match="2 expectations for 3 parts"):
        expected_to_vest(parts([(1, 1), (1, 2), (1, 3)], 10), [1, 1])
