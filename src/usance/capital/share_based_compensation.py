"""The cost of share-based compensation by a day, under US GAAP and IFRS, by function.

A policy is two choices: how the cost of one award is spread, and what becomes of those who leave.
US GAAP here is a straight line that never falls below what has vested, with forfeitures counted
as they occur (ASC 718-10-35-3 and -8); IFRS takes each tranche by itself and expects leavers
(IFRS 2.19 to 21). Amounts are cumulative and rounded once, so the cost of a period is a
difference and the whole life adds up to the value that vested.

>>> from decimal import Decimal
>>> from usance.capital.awards import Award, Grant, Tranche
>>> grant = Grant(
...     "2022",
...     Award.RESTRICTED,
...     date(2022, 1, 1),
...     "USD",
...     Decimal("10.00"),
...     (Tranche(date(2023, 1, 1), 500), Tranche(date(2024, 1, 1), 500)),
... )
>>> held = Holding(grant)
>>> cost_minor(held, US_GAAP, date(2023, 1, 1)), cost_minor(held, IFRS, date(2023, 1, 1))
(500000, 750000)
>>> cost_minor(held, US_GAAP, date(2024, 1, 1)), cost_minor(held, IFRS, date(2024, 1, 1))
(1000000, 1000000)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from fractions import Fraction

from usance.base.errors import CurrencyMismatch
from usance.base.money import split
from usance.capital.attribution import (
    expected_to_vest,
    graded,
    straight_line_with_floor,
    vested,
)
from usance.capital.awards import CostFunction, Holding
from usance.capital.prices import to_minor
from usance.capital.records import Capital


class Attribution(Enum):
    """The method of spreading the cost of an award over time."""

    STRAIGHT_LINE = "straight_line"
    GRADED = "graded"


class Forfeitures(Enum):
    """The treatment of forfeitures: estimated, or counted when holders have left."""

    AS_THEY_OCCUR = "as_they_occur"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class RecognitionPolicy:
    """The policy for recognising share-based compensation."""

    attribution: Attribution
    forfeitures: Forfeitures


US_GAAP = RecognitionPolicy(Attribution.STRAIGHT_LINE, Forfeitures.AS_THEY_OCCUR)
IFRS = RecognitionPolicy(Attribution.GRADED, Forfeitures.ESTIMATED)

_SPREAD = {
    Attribution.STRAIGHT_LINE: straight_line_with_floor,
    Attribution.GRADED: graded,
}


def cost(held: Holding, policy: RecognitionPolicy, day: date) -> Fraction:
    """The cost due by a day, in major units, exact."""
    grant, spread = held.grant, _SPREAD[policy.attribution]
    elapsed = grant.elapsed(day)
    if policy.forfeitures is Forfeitures.ESTIMATED:
        return spread(expected_to_vest(grant.parts, held.expected(day)), elapsed)
    stayers = held.remaining(day) * spread(grant.parts, elapsed)
    # Of those who left, what had vested stays; everything else is as if never promised.
    left = (share * vested(grant.parts, grant.elapsed(on)) for on, share in held.leavers(day))
    return stayers + sum(left, Fraction(0))


def cost_minor(held: Holding, policy: RecognitionPolicy, day: date) -> int:
    """The cost due by a day in minor units, rounded half-up once."""
    return to_minor(cost(held, policy, day), held.grant.currency)


def unrecognised(held: Holding, policy: RecognitionPolicy, day: date) -> Fraction:
    """The cost still to come of units not given up, in major units."""
    if day < held.grant.granted_on:
        return Fraction(0)
    at_most = held.remaining(day) * sum((part.value for part in held.grant.parts), Fraction(0))
    left = (share * vested(held.grant.parts, held.grant.elapsed(on))
            for on, share in held.leavers(day))  # fmt: skip
    return max(at_most + sum(left, Fraction(0)) - cost(held, policy, day), Fraction(0))


def cost_by_function(
    holdings: Iterable[Holding], policy: RecognitionPolicy, day: date, currency: str
) -> dict[CostFunction, int]:
    """The cost due by a day for each function, all awards together, in minor units."""
    total = dict.fromkeys(CostFunction, 0)
    for held in holdings:
        grant = held.grant
        if grant.currency != currency:
            what = f"grant {grant.name!r} is in {grant.currency} where costs are in {currency}"
            raise CurrencyMismatch(what, where=grant.where, fix="Ask for each currency by itself")
        weights = [ppm for _, ppm in grant.functions_ppm]
        shares = split(cost_minor(held, policy, day), weights)
        for (function, _), share in zip(grant.functions_ppm, shares, strict=True):
            total[function] += share
    return total


def compensation_by_function(
    capital: Capital, policy: RecognitionPolicy, first: date, last: date, currency: str
) -> dict[CostFunction, int]:
    """The cost of awards in one currency over a period, both days included, in minor units."""
    awards = [held for held in capital.holdings if held.grant.currency == currency]
    before = cost_by_function(awards, policy, first - timedelta(days=1), currency)
    after = cost_by_function(awards, policy, last, currency)
    return {function: after[function] - before[function] for function in CostFunction}
