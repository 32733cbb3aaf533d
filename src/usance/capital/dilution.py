"""Awards as potential shares: what each adds to the diluted count of a period.

Units are the average over the days of the period, so that what was granted, exercised or given up
in between counts for its days only (IAS 33.38); the unrecognised cost is the mean of the
beginning and the end (ASC 260-10-45-29). Prices are per ordinary share.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from fractions import Fraction

from usance.capital.averages import daily_average
from usance.capital.awards import Holding
from usance.capital.pay import Policy, unrecognised
from usance.capital.per_share import Potential, option


def potential_shares(
    holdings: Iterable[Holding], policy: Policy, first: date, last: date
) -> list[Potential]:
    """Each award as the options and unvested shares it stood for in a period."""
    return [potential(held, policy, first, last) for held in holdings]


def potential(held: Holding, policy: Policy, first: date, last: date) -> Potential:
    """One award as potential shares of a period."""
    units = average_units(held, first, last)
    before = first - timedelta(days=1)
    mean = (unrecognised(held, policy, before) + unrecognised(held, policy, last)) / 2
    return option(units, held.grant.exercise_price, mean, held.grant.name)


def average_units(held: Holding, first: date, last: date) -> Fraction:
    """The average number of units outstanding over the days of a period."""
    grant = held.grant
    days = [grant.granted_on, *(each.vests_on for each in grant.tranches)]
    days += [change.on for change in held.changes]
    return daily_average(held.outstanding, days, first, last)
