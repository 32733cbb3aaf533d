"""Curves: drawn from vintages, completed, moved by the economy; bad ones refused by place."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.books.loss_books import AS_OF, LossBook, assumptions, loss_books, parameters
from usance.base.rates import PPB
from usance.books.losses.assumptions import (
    Assumptions,
    Claim,
    Drivers,
    Framework,
    Scenario,
    macro_factors,
    scenario_problems,
)
from usance.books.losses.curves import (
    Curve,
    completed_curve,
    curve_problems,
    development_factor,
    increments,
    lifetime,
    observed_curve,
)
from usance.books.losses.errors import ScenarioError

curves = st.lists(st.integers(0, 60_000_000), min_size=1, max_size=30).map(
    lambda steps: tuple(np.minimum(np.cumsum(steps), PPB).tolist())
)


def seen_of(book: LossBook, segment: int, window: int, minimum: int) -> list[Fraction]:
    triangle = book.triangle
    defaulted = triangle.compensated_minor[segment] + triangle.charged_off_minor[segment]
    at_end = triangle.originated_minor[segment, np.arange(len(triangle.cohorts)), triangle.limits]
    return observed_curve(defaulted, at_end, triangle.limits, window=window, minimum=minimum)


@given(loss_books(), st.integers(1, 30), st.integers(1, 5))
def test_the_seen_curve_is_the_vintages_average_month_by_month(
    book: LossBook, window: int, minimum: int
) -> None:
    triangle = book.triangle
    seen = seen_of(book, 0, window, minimum)
    defaulted = (triangle.compensated_minor + triangle.charged_off_minor)[0].tolist()
    total, expected = Fraction(0), []
    for age in range(len(triangle.cohorts)):
        rows = [
            row
            for row in range(len(triangle.cohorts))
            if age <= len(triangle.cohorts) - 1 - row and triangle.originated_minor[0, row, age]
        ][-window:]
        if len(rows) < minimum:
            break
        base = sum(int(triangle.originated_minor[0, row, age]) for row in rows)
        for row in rows:
            step = defaulted[row][age] - (defaulted[row][age - 1] if age else 0)
            total += Fraction(step, base)
        expected.append(total)
    assert seen == expected


@given(curves)
def test_without_history_the_curve_is_the_given_one(prior: Curve) -> None:
    assert completed_curve(prior, []) == prior
    assert sum(increments(prior)) == prior[-1]


@given(curves, st.lists(st.integers(0, 30_000_000), max_size=40))
def test_a_completed_curve_begins_as_seen_and_never_falls(prior: Curve, steps: list[int]) -> None:
    seen = [Fraction(int(each), PPB) for each in np.cumsum(steps)]
    seen = [min(each, Fraction(1)) for each in seen]
    curve = completed_curve(prior, seen)
    assert len(curve) == max(len(prior), len(seen))
    assert curve[: len(seen)] == tuple(int(each * PPB) for each in seen)
    assert not curve_problems([(value, "") for value in curve])


@given(curves, st.integers(0, 40), st.fractions(0, 1, max_denominator=10**6))
def test_a_lifetime_lies_between_the_curve_and_the_vintages_own_pace(
    curve: Curve, age: int, seen: Fraction
) -> None:
    """Benktander's estimate lies between Bornhuetter-Ferguson's and the chain ladder's."""
    here, end = curve[min(age, len(curve) - 1)], curve[-1]
    by_curve = seen * PPB + end - here
    found = lifetime(curve, seen, age)
    if here:
        by_pace = seen * PPB * end / here
        assert min(by_curve, by_pace) <= found <= max(by_curve, by_pace)
    elif end:
        assert found == seen * PPB + development_factor(curve, seen, age) * end


def test_a_vintage_on_its_curve_ends_where_the_curve_does() -> None:
    curve = (0, 0, 10_000_000, 25_000_000, 40_000_000)
    assert [int(lifetime(curve, Fraction(curve[age], PPB), age)) for age in range(5)] == [
        40_000_000
    ] * 5


def test_every_bad_point_is_named() -> None:
    points = [(0, "m0"), (2 * PPB, "m1"), (PPB // 2, "m2"), (PPB // 4, "m3"), (-1, "m4")]
    found = [(problem.where, problem.what) for problem in curve_problems(points)]
    assert found == [
        ("m1", "a cumulative rate of 200%"),
        ("m4", "a cumulative rate of -0.0000001%"),
        ("m3", "the cumulative curve falls from 50% to 25%"),
    ]


DRIVERS = Drivers(Decimal(1), Decimal("0.02"), Decimal("-6.7"), Decimal("0.85"))


def test_the_economy_holds_over_the_horizon_and_fades_after() -> None:
    worse = Scenario("worse", 1_000_000, (20_000,), (830_000,))
    moved = macro_factors((worse,), DRIVERS, horizon=3, reversion=4, months=9)
    assert moved == (
        1_134_000_000, 1_134_000_000, 1_134_000_000,
        1_100_500_000, 1_067_000_000, 1_033_500_000, PPB, PPB, PPB,
    )  # fmt: skip
    assert macro_factors((worse,), DRIVERS, horizon=1, reversion=0, months=2) == (
        1_134_000_000,
        PPB,
    )
    assert macro_factors((), DRIVERS, horizon=3, reversion=4, months=2) == (PPB, PPB)


def test_weights_mix_the_scenarios_and_no_month_goes_below_zero() -> None:
    good = Scenario("good", 250_000, (10_000, 20_000), (850_000,))
    bad = Scenario("bad", 750_000, (40_000, 20_000), (850_000,))
    mixed = macro_factors((good, bad), DRIVERS, horizon=2, reversion=1, months=2)
    assert mixed == (PPB - 2_500_000 + 15_000_000, PPB)
    boom = Scenario("boom", 1_000_000, (20_000,), (1_000_000,))
    assert macro_factors((boom,), DRIVERS, horizon=1, reversion=1, months=1) == (0,)


def test_weights_that_do_not_sum_to_one_are_refused() -> None:
    half = Scenario("half", 500_000, (0,), (0,))
    below = Scenario("half", -100_000, (0,), (0,))
    found = [problem.what for problem in scenario_problems([half, below])]
    assert found == [
        "the weight is below zero", "there is another scenario 'half'", "the weights sum to 40%",
    ]  # fmt: skip
    with pytest.raises(ScenarioError, match="sum to 50%"):
        Assumptions.at(parameters(), AS_OF, scenarios=[half])


def test_shipped_curves_hold_the_interest_of_the_institution() -> None:
    given = assumptions()
    assert given.prior(Framework.US_GAAP, Claim.PAYOUT, 7)[-1] == 35_626_500
    assert given.prior(Framework.US_GAAP, Claim.CHARGE_OFF, 7)[-1] == 31_980_000
    assert given.max_loss_rate(Claim.PAYOUT) == Fraction(1015, 1000)
