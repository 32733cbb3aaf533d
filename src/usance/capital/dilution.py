"""Income per share of a period, and awards as the potential shares that dilute it.

Units are the average over the days of the period, so that what was granted, exercised or given up
in between counts for its days only (IAS 33.38); the unrecognised cost is the mean of the
beginning and the end (ASC 260-10-45-29). Prices are per ordinary share.

>>> from decimal import Decimal
>>> from usance.capital.awards import Award, Grant, Tranche
>>> from usance.capital.share_based_compensation import US_GAAP, compensation_by_function
>>> from usance.capital.prices import rounded
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

from collections.abc import Iterable
from datetime import date, timedelta
from fractions import Fraction

from usance.capital.averages import daily_average
from usance.capital.awards import Holding
from usance.capital.per_share import PerShare, PotentialShares, earnings_per_share, option_shares
from usance.capital.prices import Number
from usance.capital.records import Capital
from usance.capital.share_based_compensation import RecognitionPolicy, unrecognised


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
