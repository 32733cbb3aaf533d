"""Unit-periods of Regulation Z (12 CFR 1026), appendix J (b)(3) to (b)(5).

The unit-period is the interval that occurs most often between advances and between payments;
each date is then so many whole unit-periods and a fraction from the start.

>>> month = UnitPeriod.parse("1 month")
>>> month.measure(date(1978, 2, 10), date(1978, 4, 1))
(1, Fraction(19, 30))
>>> UnitPeriod.parse("1/2 month").measure(date(1978, 2, 23), date(1978, 3, 1)), month.per_year
((0, Fraction(2, 5)), Fraction(12, 1))
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from usance.base.errors import CodeError
from usance.loan.rates.equation import RateNotFound
from usance.loan.rates.month_counts import anchor_of, months_back, months_before, whole_months

_TEXT = re.compile(r"(?:(\d{1,4}) +)?(day|week|semi-?month|month|quarter|year)s?")
# Adjectives people use for a unit-period.
_NAMES = {
    "daily": "1 day",
    "weekly": "1 week",
    "biweekly": "2 weeks",
    "semimonthly": "1/2 month",
    "monthly": "1 month",
    "quarterly": "3 months",
    "semiannual": "6 months",
    "annual": "1 year",
    "yearly": "1 year",
}
_HALF_MONTH = re.compile(r"(?:1/2|0\.5|half(?: a)?) +month")
# Two dates a month that are about half a month apart, as the 1st and 16th or 15th and last.
_SEMIMONTH_DAYS = range(13, 18)


class Unit(IntEnum):
    """Base unit of a unit-period; the number is its length in days, a month being 30."""

    DAY = 1
    WEEK = 7
    SEMIMONTH = 15
    MONTH = 30
    YEAR = 365


@dataclass(frozen=True, slots=True)
class UnitPeriod:
    """A unit-period: so many days, weeks or months, half a month, or a year."""

    unit: Unit
    count: int = 1

    @classmethod
    def of(cls, unit: Unit, count: int) -> UnitPeriod:
        """The same length under its plainest name: 12 months are a year, 14 days two weeks."""
        if unit is Unit.MONTH and count >= 12:
            return cls(Unit.YEAR)
        if unit is Unit.DAY and count >= 365:
            return cls(Unit.YEAR)
        if unit is Unit.DAY and count % 7 == 0:
            return cls(Unit.WEEK, count // 7)
        return cls(unit, count)

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> UnitPeriod:
        """Read `1 month`, `1/2 month`, `4 weeks`, `quarterly`, `255 days`, `1 year`."""
        given = text.strip().lower().removeprefix("every ")
        given = _NAMES.get(given, given)
        match = _TEXT.fullmatch(given)
        if _HALF_MONTH.fullmatch(given) or (match and match[2].startswith("semi")):
            return cls(Unit.SEMIMONTH)
        if not match or match[1] == "0":
            raise CodeError(
                f"unknown unit-period {text!r}",
                where=where,
                fix="Write a number and a unit, such as 1 month, 1/2 month, 4 weeks or 1 year",
            )
        count, name = int(match[1] or 1), match[2]
        if name == "quarter":
            count, name = 3 * count, "month"
        return cls.of(Unit[name.upper()], count)

    @property
    def per_year(self) -> Fraction:
        """Unit-periods in a year."""
        in_year = {Unit.DAY: 365, Unit.WEEK: 52, Unit.SEMIMONTH: 24, Unit.MONTH: 12, Unit.YEAR: 1}
        return Fraction(in_year[self.unit], self.count)

    def measure(self, start: date, end: date, anchor: int | None = None) -> tuple[int, Fraction]:
        """Whole unit-periods and the fraction of one between two dates, (b)(5)(ii) to (v)."""
        if self.unit in (Unit.DAY, Unit.WEEK):
            return _split((end - start).days, self.unit * self.count)
        months, days = months_back(start, end, anchor)
        if self.unit is Unit.YEAR:
            return _in_years(start, end, months, days, anchor)
        return _split(30 * months + days, self.unit * self.count)

    def __str__(self) -> str:
        """The text `parse` reads back."""
        if self.unit is Unit.SEMIMONTH:
            return "1/2 month"
        return f"{self.count} {self.unit.name.lower()}{'s' if self.count > 1 else ''}"


def choose_unit_period(
    start: date, advances: Sequence[date], payments: Sequence[date]
) -> UnitPeriod:
    """The unit-period of a transaction, (b)(4).

    >>> monthly = [date(1978, month, 10) for month in range(2, 9)]
    >>> str(choose_unit_period(date(1978, 1, 10), [date(1978, 1, 10)], monthly))
    '1 month'
    >>> str(choose_unit_period(date(1978, 1, 3), [date(1978, 1, 3)], [date(1978, 9, 15)]))
    '255 days'
    """
    gaps = [
        Gap(before, after, anchor_of(set(days)))
        for days in (advances, payments)
        for before, after in pairwise(sorted({start, *days}))
    ]
    if not gaps:
        raise RateNotFound(
            "no rate: all flows fall on one day", fix="Give a payment on a later day"
        )
    if len(gaps) == 1:
        return _term(gaps[0])
    return _most_common(gaps, _is_semimonthly(payments)) or _average(gaps)


class Gap(NamedTuple):
    """The time between two neighbouring dates of a series, and the series' day of the month."""

    start: date
    end: date
    anchor: int | None

    @property
    def days(self) -> int:
        """Days between the two."""
        return (self.end - self.start).days

    @property
    def months(self) -> int:
        """Months between the two if they are whole, else 0."""
        return whole_months(*self) or 0


def _term(gap: Gap) -> UnitPeriod:
    """One advance and one payment: the term itself, at most a year; (b)(4)(ii), (b)(5)(vi)."""
    if gap.months:
        return UnitPeriod.of(Unit.MONTH, gap.months)
    if months_back(*gap)[0] >= 12:
        return UnitPeriod(Unit.YEAR)
    return UnitPeriod(Unit.DAY, gap.days)


def _most_common(gaps: Sequence[Gap], semimonthly: bool) -> UnitPeriod | None:
    """The interval that occurs most often, more than once, and not above a year.

    One gap can be read in several ways (28 days may be a month); the reading that makes most gaps
    alike wins, months before days before half-months. Of equally frequent ones the shorter wins.
    """
    best: tuple[int, UnitPeriod] | None = None
    for reading in (_in_months, _in_days, *([_in_semimonths] if semimonthly else [])):
        counts = Counter(map(reading, gaps))
        within = [period for period in counts if _days(period) <= Unit.YEAR]
        top = max(within, key=lambda period: (counts[period], -_days(period)), default=None)
        if top and counts[top] > 1 and (best is None or counts[top] > best[0]):
            best = counts[top], UnitPeriod.of(top.unit, top.count)
    return best and best[1]


def _average(gaps: Sequence[Gap]) -> UnitPeriod:
    """No interval occurs twice: the standard interval nearest to their average, (b)(4)(i)(B)."""
    if all(gap.months for gap in gaps):
        mean_months = Fraction(sum(gap.months for gap in gaps), len(gaps))
        return UnitPeriod.of(Unit.MONTH, math.ceil(mean_months - Fraction(1, 2)))
    mean = Fraction(sum(gap.days for gap in gaps), len(gaps))
    return min(_standard_intervals(), key=lambda each: (abs(_days(each) - mean), _days(each)))


def _standard_intervals() -> Iterator[UnitPeriod]:
    yield UnitPeriod(Unit.DAY)
    yield UnitPeriod(Unit.SEMIMONTH)
    yield from (UnitPeriod(Unit.WEEK, count) for count in range(1, 52))
    yield from (UnitPeriod.of(Unit.MONTH, count) for count in range(1, 13))


def _days(period: UnitPeriod) -> Fraction:
    """The average length in days."""
    if period.unit in (Unit.DAY, Unit.WEEK):
        return Fraction(period.unit * period.count)
    return 365 / period.per_year


def _in_months(gap: Gap) -> UnitPeriod:
    return UnitPeriod(Unit.MONTH, gap.months) if gap.months else _in_days(gap)


def _in_days(gap: Gap) -> UnitPeriod:
    return UnitPeriod(Unit.DAY, gap.days)


def _in_semimonths(gap: Gap) -> UnitPeriod:
    return UnitPeriod(Unit.SEMIMONTH) if gap.days in _SEMIMONTH_DAYS else _in_months(gap)


def _is_semimonthly(payments: Sequence[date]) -> bool:
    """True if payments keep to two days of the month, half a month apart."""
    kept = {day.day if day.day < 28 else 30 for day in payments}
    return len(kept) == 2 and max(kept) - min(kept) in _SEMIMONTH_DAYS


def _split(days: int, length: int) -> tuple[int, Fraction]:
    return days // length, Fraction(days % length, length)


def _in_years(
    start: date, end: date, months: int, days: int, anchor: int | None
) -> tuple[int, Fraction]:
    """Whole years, then months of twelve, or days of 365 where months do not suffice; (b)(5)(v)."""
    years, rest = divmod(months, 12)
    if not days:
        return years, Fraction(rest, 12)
    left = (months_before(end, 12 * years, anchor) - start).days
    return years + left // 365, Fraction(left % 365, 365)
