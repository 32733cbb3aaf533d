"""Capital figures of a period: share-based compensation by function, and amounts per share.

>>> from decimal import Decimal
>>> from usance.capital.awards import Award, Grant, Tranche
>>> from usance.capital.pay import IFRS, US_GAAP
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
>>> cost = pay_by_function(capital, US_GAAP, *quarter, "USD")
>>> {function.value: amount for function, amount in cost.items() if amount}
{'general_and_administrative': 182000}
>>> found = income_per_share(capital, US_GAAP, *quarter, Decimal("5000.00"), Decimal("25.00"))
>>> str(rounded(found.basic, 4)), str(rounded(found.diluted, 4)), found.dilution.printed
('0.5000', '0.4876', (476, 255))
"""

from __future__ import annotations

from datetime import date, timedelta

from usance.capital.awards import CostFunction
from usance.capital.dilution import potential_shares
from usance.capital.pay import Policy, cost_by_function
from usance.capital.per_share import PerShare, earnings_per_share
from usance.capital.prices import Number
from usance.capital.records import Capital


def pay_by_function(
    capital: Capital, policy: Policy, first: date, last: date, currency: str
) -> dict[CostFunction, int]:
    """The cost of awards in one currency over a period, both days included, in minor units."""
    awards = [held for held in capital.holdings if held.grant.currency == currency]
    before = cost_by_function(awards, policy, first - timedelta(days=1), currency)
    after = cost_by_function(awards, policy, last, currency)
    return {function: after[function] - before[function] for function in CostFunction}


def income_per_share(
    capital: Capital, policy: Policy, first: date, last: date, income: Number, average_price: Number
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
