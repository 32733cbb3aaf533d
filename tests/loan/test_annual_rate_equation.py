"""The solver against an oracle that shares nothing with it, and on the edges of what has a rate."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.money import half_up
from usance.loan.rates.equation import Equation, RateNotFound, RateNotUnique, TimedFlow
from usance.loan.rates.solver import Timeline, solve


def oracle(amounts: list[int], per_year: int, parts: int) -> int:
    """Whole periods only: bisection of the balance in exact fractions, then one rounding."""

    def balance(rate: Fraction) -> Fraction:
        total = Fraction(0)
        for amount in amounts:
            total = total * (1 + rate) + amount
        return total

    low, high = Fraction(-1), Fraction(10**6)
    while (high - low) * per_year * parts > Fraction(1, 10**6):
        # Dyadic rates keep the fractions short.
        middle = (low + high) / 2
        low, high = (middle, high) if balance(middle) < 0 else (low, middle)
    annual = (low + high) / 2 * per_year * parts
    return half_up(annual.numerator, annual.denominator)


def timed(amounts: list[int]) -> list[TimedFlow]:
    return [TimedFlow(amount, k) for k, amount in enumerate(amounts)]


@given(
    principal=st.integers(1_000, 10**7),
    payments=st.lists(st.integers(100, 10**6), min_size=1, max_size=8),
    per_year=st.sampled_from([1, 2, 12, 52]),
    parts=st.sampled_from([100, 10_000, 10**9]),
)
def test_solution_is_the_oracles(
    principal: int, payments: list[int], per_year: int, parts: int
) -> None:
    amounts = [principal, *(-minor for minor in payments)]
    assert solve(timed(amounts), per_year, parts) == oracle(amounts, per_year, parts)


@pytest.mark.parametrize(("over", "ppb"), [(1, 1), (-1, -1), (3, 2), (-3, -2), (0, 0), (2, 1)])
def test_an_exact_tie_goes_away_from_zero(over: int, ppb: int) -> None:
    """Rates of 0.5, -0.5, 1.5 and -1.5 ppb to the last digit, and two that are no tie."""
    assert solve([TimedFlow(2 * 10**9, 0), TimedFlow(-(2 * 10**9 + over), 1)], 1) == ppb


def test_a_hair_beside_a_tie_is_not_a_tie() -> None:
    scale = 10**80  # beyond the 60 digits of the first sign check
    tie = 2 * 10**9 * scale
    assert solve([TimedFlow(tie, 0), TimedFlow(-(tie + scale - 1), 1)], 1) == 0
    assert solve([TimedFlow(tie, 0), TimedFlow(-(tie + scale), 1)], 1) == 1


def test_fractions_of_a_period_bear_simple_interest() -> None:
    half = [TimedFlow(100, 0), TimedFlow(-106, 0, Fraction(1, 2))]
    assert solve(half, per_year=1) == 120_000_000
    both = [TimedFlow(1000, 0), TimedFlow(-1155, 1, Fraction(1, 2))]  # 1.1 × 1.05
    assert solve(both, per_year=1) == 100_000_000


def test_flows_at_one_time_are_one_and_order_does_not_matter() -> None:
    plain = timed([1000, -600, -600])
    split = [TimedFlow(-100, 2), TimedFlow(990, 0), TimedFlow(10, 0), TimedFlow(-600, 1)]
    assert solve([*split, TimedFlow(-500, 2), TimedFlow(0, 7)], 12) == solve(plain, 12)


@pytest.mark.parametrize(
    ("amounts", "ppb"),
    [
        ([1000, -1010, 1000, -1010], 10_000_000),  # two loans in a row, nothing owed between
        ([1000, -100, 1000, -100, -2200], 66_011_411),  # a second advance after a payment
        ([1000, 0, 0, -900], -34_510_615),
        ([10**9, -1], -999_999_999),
        ([1, -(10**9)], 999_999_999_000_000_000),
        ([10**30, -1], -1_000_000_000),  # all but nothing is lost
    ],
)
def test_unusual_loans_have_a_rate(amounts: list[int], ppb: int) -> None:
    assert solve(timed(amounts), 1) == ppb


@pytest.mark.parametrize(
    "amounts",
    [
        [1000, -2300, 1320],  # 10 % and 20 % both fit
        [1000, -3000, 2500],  # none fits
        [1000, -1100, 1, -1],
        [100, -200, 10, -1, 0, 500, -10],
    ],
)
def test_a_borrower_who_turns_lender_has_no_single_rate(amounts: list[int]) -> None:
    with pytest.raises(RateNotUnique, match="change sign") as caught:
        solve(timed(amounts), 1)
    assert isinstance(caught.value, RateNotFound)


@pytest.mark.parametrize(
    ("flows", "why"),
    [
        ([], "only receives or pays"),
        (timed([1]), "fall on one day"),
        (timed([1, 2]), "only receives or pays"),
        (timed([-1, 2]), "first flow is a payment"),
        ([TimedFlow(1, -1), TimedFlow(-1, 0)], "a flow at -1 periods"),
        ([TimedFlow(1, 0), TimedFlow(-1, 0, Fraction(3, 2))], "fraction of 3/2"),
        ([TimedFlow(1000, 0), TimedFlow(-100, 0, Fraction(1, 2))], "too small to balance"),
        (timed([1, -(10**10 + 2)]), "above 920,000,000,000 %"),
    ],
)
def test_no_rate_says_why(flows: list[TimedFlow], why: str) -> None:
    with pytest.raises(RateNotFound, match=why):
        solve(flows, 1)


def test_long_loans_and_large_amounts_stay_exact() -> None:
    flows = timed([10**15, *[-(6 * 10**12)] * 360])
    assert solve(flows, 12) == oracle([f.amount for f in flows], 12, 10**9)


def test_position_falls_once_over_random_histories_with_many_advances() -> None:
    """The guarantee behind the search: of all rates, low ones come first."""
    draw = random.Random(5)
    for _ in range(300):
        amounts = [draw.randint(1, 100)] + [draw.randint(-60, 30) for _ in range(6)] + [-50]
        equation = Equation.of(timed(amounts))
        signs = [equation.position(Fraction(k, 20)) for k in range(-19, 60)]
        assert signs == sorted(signs)


def test_what_is_owed_to_the_borrower_on_the_way_decides_in_fractions_too() -> None:
    """At 10 % nothing is owed after the second flow, to the last digit; then it turns."""
    assert Equation.of(timed([100, -110, -5, 300, -1])).position(Fraction(1, 10)) == -1


def test_compare_says_on_which_side_a_rate_lies() -> None:
    year = Timeline([TimedFlow(100, 0), TimedFlow(-124, 1)], Fraction(1))
    assert [year.compare(Fraction(k, 100)) for k in (23, 24, 25)] == [-1, 0, 1]
