"""The value of an option at its grant, by Black and Scholes with a dividend yield.

This is the only place with floating numbers: the answer is rounded half-up, once, to four
decimals, and is an exact decimal from there on.

>>> hull = Pricing(Decimal(42), Decimal(40), Decimal("0.2"), Decimal("0.5"), Decimal("0.1"))
>>> str(option_value(hull))
'4.7594'
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import erfc, exp, log, sqrt

from usance.base.errors import UsanceError, raise_all
from usance.capital.errors import PricingError
from usance.capital.prices import rounded

DECIMALS = 4
"""A hundredth of a cent: finer than any published fair value, coarser than any library's error."""


@dataclass(frozen=True, slots=True)
class Pricing:
    """The inputs of an option's value; rates are annual and compound continuously."""

    share_price: Decimal
    exercise_price: Decimal
    volatility: Decimal
    years: Decimal
    rate: Decimal
    dividend_yield: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        raise_all(self._problems())

    def _problems(self) -> list[UsanceError]:
        named = (
            ("share price", self.share_price), ("exercise price", self.exercise_price),
            ("volatility", self.volatility), ("expected life", self.years),
        )  # fmt: skip
        found: list[UsanceError] = [
            PricingError(f"the {name} is {value}", fix="Give zero or more")
            for name, value in named
            if not value.is_finite() or value < 0
        ]
        # Beyond these the exponentials leave the range of a float; no real award comes near.
        wild = [self.volatility > 10, self.years > 100, abs(self.rate) > 1]
        if any(wild) or abs(self.dividend_yield) > 1:
            fix = "Give a volatility up to 1000%, a life up to 100 years, and rates within 100%"
            found.append(PricingError("the assumptions are out of range", fix=fix))
        return found


def option_value(pricing: Pricing) -> Decimal:
    """The value of one call option at its grant, to four decimals."""
    spot, strike = float(pricing.share_price), float(pricing.exercise_price)
    years = float(pricing.years)
    held = spot * exp(-float(pricing.dividend_yield) * years)
    owed = strike * exp(-float(pricing.rate) * years)
    spread = float(pricing.volatility) * sqrt(years)
    if spread == 0 or held == 0 or owed == 0:
        value = max(held - owed, 0.0)
    else:
        d1 = log(held / owed) / spread + spread / 2
        value = held * _normal(d1) - owed * _normal(d1 - spread)
    return rounded(Fraction(max(value, 0.0)), DECIMALS)


def _normal(x: float) -> float:
    """The cumulative normal distribution; `erfc` keeps its digits in the lower tail."""
    return erfc(-x / sqrt(2)) / 2
