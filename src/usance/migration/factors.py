"""Rate factors: the interest that one unit of money bears from one day to another.

There are two. The one a level instalment is found with counts a period as so many whole units;
the one interest is charged with measures how long the period really is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from usance.loan.convention import PeriodUnit
from usance.migration.arithmetic import Arithmetic, arithmetic
from usance.migration.dates import step, units_between
from usance.migration.terms import (
    DaysInMonth,
    DaysInYear,
    InterestBasis,
    LeapYearRule,
    MigratedTerms,
    RateBasis,
    YearSplit,
)

_ONE, _ZERO, _HUNDRED = Decimal(1), Decimal(0), Decimal(100)
_YEAR_DAYS = {DaysInYear.D360: 360, DaysInYear.D364: 364, DaysInYear.D365: 365}
_UNIT_DAYS = {PeriodUnit.DAYS: 1, PeriodUnit.WEEKS: 7, PeriodUnit.MONTHS: 30, PeriodUnit.YEARS: 360}
_UNITS_A_YEAR = {PeriodUnit.WEEKS: 52, PeriodUnit.MONTHS: 12, PeriodUnit.YEARS: 1}


class RateChange(NamedTuple):
    """A new yearly rate, in force from the day after `after`."""

    after: date
    rate_pct: Decimal


class Factors:
    """The rate factors of one loan under its terms."""

    def __init__(self, terms: MigratedTerms) -> None:
        self.terms = terms
        self.changes: list[RateChange] = []
        self.math: Arithmetic = arithmetic(terms.digits, terms.rounding)
        months = 12 if terms.rate_basis is RateBasis.MONTH else 1
        self._agreed_pct = terms.rate_pct * months

    def rate(self, day: date) -> Decimal:
        """The yearly rate in force after a day, as a fraction."""
        rate = self._agreed_pct
        for change in self.changes:
            if change.after <= day:
                rate = change.rate_pct
        return self.math.over(rate, _HUNDRED)

    def change(self, after: date, rate_pct: Decimal) -> None:
        """A new rate from the day after `after`."""
        self.changes.append(RateChange(after, rate_pct))
        self.changes.sort(key=lambda change: change.after)

    def level(self, period: tuple[date, date], start: date, end: date) -> Decimal:
        """The factor a level instalment is found with."""
        return self._factor(period, start, end, Decimal(self.terms.every))

    def interest(self, period: tuple[date, date], start: date, origin: date) -> Decimal:
        """The factor of interest from `start` to the end of its period.

        `origin` is the first day of the loan, from which regular periods are counted.
        """
        units = _ONE
        if self.terms.days_in_month is DaysInMonth.THIRTY:
            units = self._units(period, origin)
        return self._factor(period, start, period[1], units)

    def _factor(self, period: tuple[date, date], start: date, end: date, units: Decimal) -> Decimal:
        terms, rate = self.terms, self.rate(start)
        if not rate or period[0] == period[1]:
            return _ZERO
        days, period_days = Decimal((end - start).days), Decimal((period[1] - period[0]).days)
        if terms.basis is InterestBasis.REPAYMENT_PERIOD and terms.unit in _UNITS_A_YEAR:
            share = self.math.over(Decimal(terms.every), Decimal(_UNITS_A_YEAR[terms.unit]))
            return self._scaled(rate, share, days, period_days)
        if self._is_split(period, start, end):
            return self._scaled(rate, self._years(start, end), _ONE, _ONE)
        year_days = Decimal(self._year_days(period, start))
        if terms.days_in_month is DaysInMonth.ACTUAL:
            return self._scaled(rate, self.math.over(days, year_days), _ONE, _ONE)
        counted = self.math.times(Decimal(_UNIT_DAYS[terms.unit]), units)
        return self._scaled(rate, self.math.over(counted, year_days), days, period_days)

    def _scaled(self, rate: Decimal, share: Decimal, days: Decimal, of: Decimal) -> Decimal:
        math = self.math
        return math.factor(math.over(math.times(math.times(rate, share), days), of))

    def _year_days(self, period: tuple[date, date], start: date) -> int:
        fixed = _YEAR_DAYS.get(self.terms.days_in_year)
        if fixed:
            return fixed
        if not _is_leap(start.year):
            return 365
        full = self.terms.leap_year is LeapYearRule.FULL_LEAP_YEAR
        return 366 if full or _holds_leap_day(period) else 365

    def _is_split(self, period: tuple[date, date], start: date, end: date) -> bool:
        """True if the years on both sides of New Year are counted by themselves."""
        terms = self.terms
        if terms.days_in_year is not DaysInYear.ACTUAL or start.year == end.year:
            return False
        return terms.leap_year is LeapYearRule.FULL_LEAP_YEAR or _holds_leap_day(period)

    def _years(self, start: date, end: date) -> Decimal:
        """The length in years, each year's days over their own number."""
        total, begin = _ZERO, start
        first_day = self.terms.year_split is YearSplit.FIRST_DAY
        for year in range(start.year, end.year + 1):
            border = date(year + 1, 1, 1) if first_day else date(year, 12, 31)
            until = end if year == end.year else border
            days, of = Decimal((until - begin).days), Decimal(366 if _is_leap(year) else 365)
            total = self.math.plus(total, self.math.over(days, of))
            begin = until
        return total

    def _units(self, period: tuple[date, date], origin: date) -> Decimal:
        """Length of a period in units of its calendar."""
        start, end = period
        unit, every = self.terms.unit, self.terms.every
        if unit is PeriodUnit.DAYS:
            return Decimal((end - start).days)
        if step(end, unit, -every) == start and not units_between(origin, end, unit)[1]:
            return Decimal(every)
        count, rest, of = units_between(start, end, unit)
        if not rest:
            return Decimal(count)
        return self.math.over(Decimal(rest), Decimal(of)) + count


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _holds_leap_day(period: tuple[date, date]) -> bool:
    start, end = period
    return any(
        start < date(year, 2, 29) <= end
        for year in range(start.year, end.year + 1)
        if _is_leap(year)
    )


def growth(math: Arithmetic, factors: Sequence[Decimal]) -> tuple[Decimal, Decimal]:
    """Growth of one unit over periods, and of a unit paid at the end of each."""
    one, payments = _ONE, _ONE
    for index, factor in enumerate(factors):
        one = math.times(one, factor)
        if index:
            payments = math.plus(_ONE, math.times(payments, factor))
    return one, payments
