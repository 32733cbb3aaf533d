"""The columns of a release: its period, the year so far, and what both are compared with.

>>> from usance.books.periods import parse_close_period
>>> spans = spans_of(parse_close_period("2024Q2"))
>>> [each.name for each in spans.all]
['2024Q2', '2023Q2', '2024H1', '2023H1', '2024Q1']
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from usance.base.dates import first_of_month, last_of_month, to_month
from usance.base.periods import period_label
from usance.books.periods import ClosePeriod

_PARTS_OF_A_YEAR = (3, 6)


@dataclass(frozen=True, slots=True)
class Span:
    """The days after `before` up to `day`, as a filing names them."""

    name: str
    before: date
    day: date

    @property
    def first(self) -> date:
        """Its first day."""
        return self.before + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Spans:
    """The periods of one release."""

    now: Span
    year_ago: Span
    so_far: Span
    so_far_year_ago: Span
    prior: Span

    @property
    def all(self) -> list[Span]:
        """Each once."""
        listed = (self.now, self.year_ago, self.so_far, self.so_far_year_ago, self.prior)
        return list(dict.fromkeys(listed))

    def tables(self) -> list[Span]:
        """Those that have a column in the tables, each beside what it is compared with."""
        return list(dict.fromkeys((self.year_ago, self.now, self.so_far_year_ago, self.so_far)))


def spans_of(period: ClosePeriod) -> Spans:
    """The periods a release of one period shows."""
    months = period.months
    year = range(to_month(period.last_day.replace(month=1)), months[-1] + 1)
    return Spans(
        span_of(months), span_of(_earlier(months, 12)), span_of(year), span_of(_earlier(year, 12)),
        span_of(_earlier(months, len(months))),
    )  # fmt: skip


def span_of(months: Iterable[int]) -> Span:
    """A run of months under the name a filing gives it."""
    given = list(months)
    first, last = first_of_month(given[0]), last_of_month(given[-1])
    return Span(_name(first, last, len(given)), first - timedelta(days=1), last)


def _earlier(months: Iterable[int], by: int) -> list[int]:
    return [month - by for month in months]


def _name(first: date, last: date, months: int) -> str:
    if months == 12 and first.month == 1:
        return f"FY{last.year}"
    if months == 9 and first.month == 1:
        return f"9M{last.year}"
    label = period_label(to_month(first), months) if months in _PARTS_OF_A_YEAR else ""
    return label or f"{first}..{last}"
