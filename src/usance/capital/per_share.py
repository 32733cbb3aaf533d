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

Awards are the potential shares that dilute the income of a period. Units are the average over the
days of the period, so that what was granted, exercised or given up in between counts for its days
only (IAS 33.38); the unrecognised cost is the mean of the beginning and the end (ASC 260-10-45-29).
Prices are per ordinary share.

>>> from decimal import Decimal
>>> from usance.capital.awards import Award, Grant, Tranche
>>> from usance.capital.share_based_compensation import US_GAAP, compensation_by_function
>>> from usance.capital.register import ShareChange, ShareKind
>>> capital = Capital(
...     1,
...     (
...         ShareChange(ShareKind.ISSUED, date(2023, 12, 31), 10_000, "USD"),
...         Grant(
...             "2024",
...             Award.RESTRICTED,
...             date(2024, 1, 1),
...             "USD",
...             Decimal("20.00"),
...             (Tranche(date(2025, 1, 1), 366), Tranche(date(2026, 1, 1), 365)),
...         ),
...     ),
... )
>>> quarter = date(2024, 4, 1), date(2024, 6, 30)
>>> cost = compensation_by_function(capital, US_GAAP, *quarter, "USD")
>>> {function.value: amount for function, amount in cost.items() if amount}
{'general_and_administrative': 182000}
>>> found = income_per_share(capital, US_GAAP, *quarter, Decimal("5000.00"), Decimal("25.00"))
>>> str(rounded(found.basic, 4)), str(rounded(found.diluted, 4)), found.dilution.printed
('0.5000', '0.4876', (476, 255))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from usance.capital.awards import Holding
from usance.capital.errors import PerShareError
from usance.capital.prices import Number, daily_average, exact, rounded, whole
from usance.capital.records import Capital
from usance.capital.share_based_compensation import RecognitionPolicy, unrecognised

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


def potential_shares(
    holdings: Iterable[Holding], policy: RecognitionPolicy, first: date, last: date
) -> list[PotentialShares]:
    """Each award as the options and unvested shares it stood for in a period."""
    return [award_potential(held, policy, first, last) for held in holdings]


def award_potential(
    held: Holding, policy: RecognitionPolicy, first: date, last: date
) -> PotentialShares:
    """One award as potential shares of a period."""
    units = average_units(held, first, last)
    before = first - timedelta(days=1)
    mean = (unrecognised(held, policy, before) + unrecognised(held, policy, last)) / 2
    return option_shares(units, held.grant.exercise_price, mean, held.grant.name)


def average_units(held: Holding, first: date, last: date) -> Fraction:
    """The average number of units outstanding over the days of a period."""
    grant = held.grant
    days = [grant.granted_on, *(each.vests_on for each in grant.tranches)]
    days += [change.on for change in held.changes]
    return daily_average(held.outstanding, days, first, last)


def income_per_share(
    capital: Capital,
    policy: RecognitionPolicy,
    first: date,
    last: date,
    income: Number,
    average_price: Number,
) -> PerShare:
    """Income per ordinary share over a period; income, prices and awards are in one currency.

    A year to date is a period like any other: its dilution is computed anew, not averaged.
    """
    return earnings_per_share(
        income,
        capital.register.average(first, last),
        potential_shares(capital.holdings, policy, first, last),
        average_price,
    )
