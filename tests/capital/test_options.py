"""Black and Scholes against the integral it is the solution of, and its own limits."""

from __future__ import annotations

from decimal import Decimal
from math import exp, pi, sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.base.errors import Problems
from usance.capital.errors import PricingError
from usance.capital.options import Pricing, option_value

STEP = Decimal("0.0001")


def pricing(**changes: Any) -> Pricing:
    plain = {
        "share_price": "100", "exercise_price": "100", "volatility": "0.2", "years": "1",
        "rate": "0.05", "dividend_yield": "0.03",
    }  # fmt: skip
    return Pricing(**{key: Decimal(value) for key, value in (plain | changes).items()})


def by_integration(given: Pricing, steps: int = 4_000) -> float:
    """The discounted mean of the payoff over a lognormal price, by Simpson's rule."""
    spot, strike, sigma, years, rate, dividends = (
        float(value)
        for value in (given.share_price, given.exercise_price, given.volatility, given.years,
                      given.rate, given.dividend_yield)
    )  # fmt: skip
    drift = (rate - dividends - sigma**2 / 2) * years

    def density(z: float) -> float:
        payoff = max(spot * exp(drift + sigma * sqrt(years) * z) - strike, 0)
        return payoff * exp(-z * z / 2) / sqrt(2 * pi)

    width = 24 / steps
    weights = (1 if k in (0, steps) else 4 if k % 2 else 2 for k in range(steps + 1))
    total = sum(weight * density(-12 + k * width) for k, weight in enumerate(weights))
    return exp(-rate * years) * total * width / 3


@given(
    spot=st.integers(1, 200), strike=st.integers(1, 200), volatility=st.integers(5, 90),
    years=st.integers(1, 10), rate=st.integers(-2, 12), dividends=st.integers(0, 10),
)  # fmt: skip
@settings(max_examples=60)
def test_the_formula_is_the_integral(
    spot: int, strike: int, volatility: int, years: int, rate: int, dividends: int
) -> None:
    given = pricing(
        share_price=spot, exercise_price=strike, volatility=Decimal(volatility) / 100, years=years,
        rate=Decimal(rate) / 100, dividend_yield=Decimal(dividends) / 100,
    )  # fmt: skip
    # The kink of the payoff lies inside one step, which costs Simpson about its square.
    assert float(option_value(given)) == pytest.approx(by_integration(given), abs=0.005)


def test_hand_computed_values() -> None:
    assert option_value(pricing()) == Decimal("8.6525")
    assert option_value(pricing(share_price=42, exercise_price=40, years="0.5", rate="0.1",
                                dividend_yield=0)) == Decimal("4.7594")  # fmt: skip


@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 100), st.integers(0, 10))
def test_a_call_is_worth_between_its_forward_value_and_the_share(
    spot: int, strike: int, volatility: int, years: int
) -> None:
    given = pricing(share_price=spot, exercise_price=strike, years=years, dividend_yield=0,
                    volatility=Decimal(volatility) / 100)  # fmt: skip
    value = option_value(given)
    assert value <= spot + STEP
    assert float(value) >= max(spot - strike * exp(-0.05 * years), 0) - 0.0001


def test_without_time_or_motion_a_call_is_worth_what_it_is_in_the_money() -> None:
    assert option_value(pricing(share_price=12, exercise_price=10, years=0)) == 2
    assert option_value(pricing(share_price=8, exercise_price=10, years=0)) == 0
    still = pricing(share_price=12, exercise_price=10, volatility=0, rate=0, dividend_yield=0)
    assert option_value(still) == 2


def test_an_option_for_nothing_is_a_share_without_its_dividends() -> None:
    free = pricing(exercise_price=0)
    assert float(option_value(free)) == pytest.approx(100 * exp(-0.03), abs=0.0001)


def test_everything_wrong_is_named_at_once() -> None:
    with pytest.raises(Problems) as caught:
        pricing(share_price=-1, volatility=-1, years=101)
    assert [type(error) for error in caught.value.errors] == [PricingError] * 3
