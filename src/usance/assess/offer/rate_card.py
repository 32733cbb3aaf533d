"""A rate card: for each segment and tenor the price that earns most, inside the rate cap.

A price above the cap is refused, never trimmed: it is simply not on the card.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from usance.assess.errors import WrongInput
from usance.assess.offer.profit import Economics, ExpectedProfit, Offers, expected_profit


@dataclass(frozen=True, slots=True)
class Segment:
    """Users priced alike."""

    name: str
    grade: int
    pd_ppm: int
    line_minor: int


@dataclass(frozen=True, slots=True)
class SegmentPrice:
    """One cell of the rate card; a price of 0 says that no price inside the cap earns anything."""

    segment: str
    months: int
    rate_ppm: int
    profit_minor: int
    break_even_ppm: int
    """The lowest price on the list that earns anything, 0 if none does."""


def rate_card(
    economics: Economics, segments: Sequence[Segment], tenors: Sequence[int],
    prices_ppm: Sequence[int], funding_ppm: Mapping[int, int], cap_ppm: int,
) -> list[SegmentPrice]:  # fmt: skip
    """The best price of each segment and tenor; `funding_ppm` is by tenor, from treasury."""
    named = Counter(segment.name for segment in segments)
    if twice := [name for name, count in named.items() if count > 1]:
        fix = "Give every segment its own name"
        raise WrongInput(f"segment '{twice[0]}' is there twice", where="segments", fix=fix)
    allowed = within_cap(prices_ppm, cap_ppm)
    missing = [months for months in tenors if months not in funding_ppm]
    if missing:
        fix = "Give the cost of funds of every tenor"
        raise WrongInput(f"no cost of funds for {missing[0]} months", where="funding", fix=fix)
    return [
        _segment_price(economics, segment, months, allowed, funding_ppm[months])
        for segment in segments
        for months in tenors
    ]


def within_cap(prices_ppm: Sequence[int], cap_ppm: int) -> list[int]:
    """The prices that may be offered, lowest first."""
    allowed = sorted(price for price in prices_ppm if price <= cap_ppm)
    if not allowed:
        fix = f"List a price of at most {cap_ppm} ppm"
        raise WrongInput("every price is above the cap", where="prices", fix=fix)
    return allowed


def _segment_price(
    economics: Economics, segment: Segment, months: int, prices: Sequence[int], funding: int
) -> SegmentPrice:
    found = _expected(economics, segment, months, prices, funding).profit_minor
    best = int(np.argmax(found))
    earning = [price for price, profit in zip(prices, found, strict=True) if profit > 0]
    if not earning:
        return SegmentPrice(segment.name, months, 0, 0, 0)
    return SegmentPrice(segment.name, months, prices[best], int(found[best]), earning[0])


def _expected(
    economics: Economics, segment: Segment, months: int, prices: Sequence[int], funding: int
) -> ExpectedProfit:
    count = len(prices)
    offers = Offers.of([segment.line_minor] * count, prices, [months] * count)
    return expected_profit(
        economics, offers, [segment.pd_ppm] * count, [segment.grade] * count, [funding] * count
    )
