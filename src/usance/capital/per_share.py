"""Earnings per share: basic, and diluted by the treasury-stock method.

Holders of options and unvested shares are taken to bring their exercise price and, for pay in
shares, the cost not yet recognised (ASC 260-10-45-28A to -31, IAS 33.45 to 47A); the company is
taken to buy back shares with it at the average price of the period. The rest dilutes. What does
not dilute is left out, tested from the most to the least dilutive (ASC 260-10-45-18, IAS 33.44).

Shares bought back are exact ratios: neither standard rounds them, so nothing is rounded before the
figure is printed. Printed, shares bought back are whole, and the rest is what remains of the units.

>>> dilution([option_shares(999, 10)], 13)
Dilution(bought_back=Fraction(9990, 13), incremental=Fraction(2997, 13))
>>> dilution([option_shares(999, 10)], 13).printed
(768, 231)
>>> found = earnings_per_share(600_000, 200_000, [option_shares(12_000, 30)], 36)
>>> str(rounded(found.basic, 2)), str(rounded(found.diluted, 2))
('3.00', '2.97')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from usance.capital.errors import PerShareError
from usance.capital.prices import Number, exact, rounded, whole

DECIMALS = 2
"""Figures per share are printed in cents."""


@dataclass(frozen=True, slots=True)
class PotentialShares:
    """Shares that may come into being, what their holders would bring, and the income they cost.

    `shares` is the average number over the period; `income` is what a conversion would add to
    income (the interest of a convertible note), zero for options and unvested shares.
    """

    name: str
    shares: Fraction
    proceeds: Fraction
    income: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.shares < 0 or self.proceeds < 0 or self.income < 0:
            what = f"potential shares {self.name!r} have a part below zero"
            raise PerShareError(what, fix="Give shares, proceeds and income of zero or more")

    def bought_back(self, average_price: Number) -> Fraction:
        """Shares the company could buy with what the holders bring."""
        if average_price <= 0:
            fix = "Give the average market price of the period"
            raise PerShareError(f"an average price of {average_price}", fix=fix)
        return self.proceeds / exact(average_price)

    def incremental(self, average_price: Number) -> Fraction:
        """Shares added on balance; zero when the holders would pay more than the market."""
        return max(self.shares - self.bought_back(average_price), Fraction(0))


def option_shares(
    shares: Number, exercise_price: Number, unrecognised: Number = 0, name: str = ""
) -> PotentialShares:
    """Options, warrants or (at a price of zero) unvested shares, with their unrecognised cost."""
    proceeds = exact(shares) * exact(exercise_price) + exact(unrecognised)
    return PotentialShares(name, exact(shares), proceeds)


@dataclass(frozen=True, slots=True)
class Dilution:
    """Shares bought back and added by what dilutes, all together."""

    bought_back: Fraction
    incremental: Fraction

    @property
    def printed(self) -> tuple[int, int]:
        """Both in whole shares that add up to the units."""
        back = whole(self.bought_back)
        return back, whole(self.bought_back + self.incremental) - back


def dilution(potentials: Sequence[PotentialShares], average_price: Number) -> Dilution:
    """The treasury-stock method over everything that is in the money."""
    inside = [each for each in potentials if each.incremental(average_price) > 0]
    back = sum((each.bought_back(average_price) for each in inside), Fraction(0))
    added = sum((each.incremental(average_price) for each in inside), Fraction(0))
    return Dilution(back, added)


@dataclass(frozen=True, slots=True)
class PerShare:
    """Income per share, before rounding, with the shares it was divided by."""

    basic: Fraction
    diluted: Fraction
    weighted_shares: Fraction
    dilution: Dilution
    antidilutive: tuple[str, ...]

    @property
    def diluted_shares(self) -> Fraction:
        """The shares behind the diluted figure."""
        return self.weighted_shares + self.dilution.incremental


def earnings_per_share(
    income: Number,
    weighted_shares: Number,
    potentials: Sequence[PotentialShares] = (),
    average_price: Number = 1,
) -> PerShare:
    """Basic and diluted income per share, in the unit of the income; a loss is never diluted."""
    shares = exact(weighted_shares)
    if shares <= 0:
        fix = "Give the weighted average of the shares outstanding"
        raise PerShareError(f"{weighted_shares} weighted shares", fix=fix)
    basic = exact(income) / shares
    total, count, included = exact(income), shares, list[PotentialShares]()
    for each in _most_dilutive_first(potentials, average_price):
        added = each.incremental(average_price)
        if each.income / added >= total / count:
            break  # whatever follows dilutes still less
        total, count = total + each.income, count + added
        included.append(each)
    names = tuple(each.name for each in potentials if each not in included)
    return PerShare(basic, total / count, shares, dilution(included, average_price), names)


def per_share_printed(income: Number, shares: Number) -> Decimal:
    """A figure per share as it is printed, half-up in cents."""
    return rounded(exact(income) / exact(shares), DECIMALS)


def per_ads_printed(per_share: Decimal, ads_ratio: int) -> Decimal:
    """The figure per ADS: the printed figure per share times the ratio, never made anew.

    >>> str(per_ads_printed(Decimal("3.65"), 2))
    '7.30'
    """
    return per_share * ads_ratio


def _most_dilutive_first(
    potentials: Sequence[PotentialShares], average_price: Number
) -> list[PotentialShares]:
    inside = [each for each in potentials if each.incremental(average_price) > 0]
    return sorted(inside, key=lambda each: each.income / each.incremental(average_price))
