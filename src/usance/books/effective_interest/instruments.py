"""An instrument at amortised cost: acquisition cost, flows, effective rate and table.

>>> from usance.books.effective_interest.contract import bullet
>>> bond = at_amortised_cost(acquisition_cost(995, 5), bullet(59, 1_250, 5))
>>> bond.rate_pct, [round(year.closing) for year in bond.table]
(Fraction(99953187, 10000000), [1041, 1086, 1136, 1190, 0])
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from usance.base.errors import AmountError
from usance.base.rates import PPB
from usance.books.effective_interest.contract import (
    MAX_PERIODS,
    CostPeriod,
    Growth,
    Number,
    Step,
    amortised_cost,
    as_fraction,
    by_dates,
    compound,
    effective_rate_ppb,
    level,
)


class AtAmortisedCost(NamedTuple):
    """An instrument with its effective rate and every period of its life."""

    cost: Fraction
    rate_ppb: int
    table: list[CostPeriod]

    @property
    def rate_pct(self) -> Fraction:
        """The effective rate in per cent."""
        return Fraction(self.rate_ppb * 100, PPB)

    @property
    def first_interest(self) -> Fraction:
        """Interest of the first period."""
        return self.table[0].interest


def at_amortised_cost(
    cost: Number, steps: Sequence[Step], growth: Growth = compound
) -> AtAmortisedCost:
    """The rate of an instrument, and its table at that rate."""
    rate_ppb = effective_rate_ppb(cost, steps, growth)
    table = amortised_cost(cost, steps, as_fraction(rate_ppb), growth)
    return AtAmortisedCost(Fraction(cost), rate_ppb, table)


def acquisition_cost(price: Number, costs: Number) -> Fraction:
    """The initial carrying amount of an instrument: price plus transaction costs.

    An issuer's costs lower its proceeds, so they are below zero.
    """
    return Fraction(price) + Fraction(costs)


def net_investment(principal: Number, fee: Number, direct_costs: Number) -> Fraction:
    """The initial carrying amount of a loan: principal less fee plus direct origination costs."""
    return Fraction(principal) - Fraction(fee) + Fraction(direct_costs)


def discount_at_issue(par: Number, price: Number) -> Fraction:
    """Par less price; a premium is below zero."""
    return Fraction(par) - Fraction(price)


def coupon_of(par: Number, coupon_rate: Number, a_year: int = 1) -> Fraction:
    """The coupon of a bond on each payment day: an annual rate on its par."""
    return Fraction(par) * Fraction(coupon_rate) / a_year


def dated_bond(acquired: date, days: Sequence[date], coupon: Number, face: Number) -> list[Step]:
    """Flows of a bond that pays a coupon on each day and its face on the last."""
    last = Fraction(coupon) + Fraction(face)
    return by_dates(acquired, [*((day, coupon) for day in days[:-1]), (days[-1], last)])


def level_until_repaid(principal: Number, stated_rate: Number, payment: Number) -> list[Step]:
    """As many level payments as a loan at a stated rate needs.

    >>> len(level_until_repaid(100_000, Fraction(1, 10), 16_275))
    10
    """
    balance, stated, paid = Fraction(principal), Fraction(stated_rate), Fraction(payment)
    if paid <= balance * stated:
        what = f"a payment of {payment} never repays {principal} at {stated_rate}"
        raise AmountError(what, fix="Give a payment above the first interest")
    count = 0
    while balance > 0 and count <= MAX_PERIODS:
        balance += balance * stated - paid
        count += 1
    return level(payment, count)
