"""The columns of a release: its period, the year to date, and their comparatives.

>>> from usance.books.periods import parse_close_period
>>> periods = reporting_periods(parse_close_period("2024Q2"))
>>> [each.written for each in periods.columns()]
['2023Q2', '2024Q2', '2023H1', '2024H1']
>>> period_of_months(range(648, 657)).written
'9M2024'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from usance.base.dates import first_of_month, last_of_month, to_month
from usance.base.periods import period_label
from usance.books.periods import ClosePeriod
from usance.disclose.periods import Period, parse_period


@dataclass(frozen=True, slots=True)
class ReportingPeriods:
    """The periods of one release."""

    current: Period
    year_ago: Period
    year_to_date: Period
    prior_year_to_date: Period
    preceding: Period

    def columns(self) -> list[Period]:
        """The periods with a column in the tables, each after its comparative."""
        listed = (self.year_ago, self.current, self.prior_year_to_date, self.year_to_date)
        return list(dict.fromkeys(listed))


def reporting_periods(period: ClosePeriod) -> ReportingPeriods:
    """The periods a release of one period shows."""
    months = period.months
    year = range(to_month(period.last_day.replace(month=1)), months[-1] + 1)
    listed = (months, _earlier(months, 12), year, _earlier(year, 12), _earlier(months, len(months)))
    return ReportingPeriods(*map(period_of_months, listed))


def period_of_months(months: Iterable[int]) -> Period:
    """A run of months under the name a filing gives it."""
    given = list(months)
    period = parse_period(_name(given[0], len(given)))
    assert period is not None
    return period


def _earlier(months: Iterable[int], by: int) -> list[int]:
    return [month - by for month in months]


def _name(first: int, count: int) -> str:
    label = period_label(first, count)
    if label and count > 1:
        return f"FY{label}" if count == 12 else label
    start, end = first_of_month(first), last_of_month(first + count - 1)
    return f"9M{end.year}" if count == 9 and start.month == 1 else f"{start}..{end}"
