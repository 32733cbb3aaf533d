"""Day counts: the exact fraction of a year between two dates, by the rule of a contract.

The names are those of the ISDA definitions (2006, section 4.16) where these have one.

>>> year_fraction(date(2024, 1, 31), date(2024, 2, 29), DayCount.THIRTY_E_360)
Fraction(29, 360)
>>> year_fraction(date(2023, 7, 1), date(2024, 7, 1), DayCount.ACT_ACT_ISDA)
Fraction(66887, 66795)
"""

from __future__ import annotations

from calendar import isleap
from datetime import date
from enum import Enum
from fractions import Fraction

from usance.base.dates import MonthEnd, add_months, is_month_end, to_month
from usance.base.errors import DateError, unknown


class DayCount(Enum):
    """The rules; the value is the name people write."""

    THIRTY_360 = "30/360"
    """Bond basis: a first day 31 becomes 30; a last day 31 does so after a first day 30 or 31."""
    THIRTY_U_360 = "30U/360"
    """As bond basis, and the end of February counts as day 30 (US securities)."""
    THIRTY_E_360 = "30E/360"
    """Eurobond basis: any day 31 becomes 30."""
    THIRTY_E_360_ISDA = "30E/360 ISDA"
    """Any month end becomes day 30, except the end of February at the contract's end."""
    MONTHLY = "30/360 monthly"
    """Whole calendar months are a twelfth each, days left over a 360th."""
    ACT_360 = "actual/360"
    ACT_364 = "actual/364"
    ACT_365 = "actual/365"
    """Fixed: 365 also in leap years."""
    ACT_ACT_ISDA = "actual/actual ISDA"
    """Days in leap years over 366 plus the others over 365."""
    ACT_ACT_AFB = "actual/actual AFB"
    """Whole years counted back from the end, the rest over 366 if it holds a 29 February."""

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> DayCount:
        """The rule of that name."""
        for rule in cls:
            if rule.value == text:
                return rule
        raise unknown("day count", str(text), (rule.value for rule in cls), where=where)


def year_fraction(
    start: date, end: date, rule: DayCount, *, termination: date | None = None
) -> Fraction:
    """The part of a year from `start` to `end`; `termination` is the contract's last day."""
    if end < start:
        raise DateError(f"{end} is before {start}", fix="Give the earlier date first")
    if rule in _BASES:
        return Fraction((end - start).days, _BASES[rule])
    if rule is DayCount.ACT_ACT_ISDA:
        return _isda(end) - _isda(start)
    if rule is DayCount.ACT_ACT_AFB:
        return _afb(start, end)
    if rule is DayCount.MONTHLY:
        return Fraction(_monthly_days(start, end), 360)
    return Fraction(_thirty_days(start, end, rule, termination), 360)


_BASES = {DayCount.ACT_360: 360, DayCount.ACT_364: 364, DayCount.ACT_365: 365}


def _isda(day: date) -> Fraction:
    """Years since year 0 on a clock that runs at 1/366 a day in leap years, else 1/365."""
    past = (day - date(day.year, 1, 1)).days
    return day.year + Fraction(past, 366 if isleap(day.year) else 365)


def _afb(start: date, end: date) -> Fraction:
    # Counted back from 28 February, a year ends on 29 February where there is one.
    years = 0
    while add_months(end, -12 * (years + 1), MonthEnd.END_OF_MONTH) >= start:
        years += 1
    rest_end = add_months(end, -12 * years, MonthEnd.END_OF_MONTH)
    leap = any(
        isleap(year) and start <= date(year, 2, 29) < rest_end
        for year in range(start.year, rest_end.year + 1)
    )
    return years + Fraction((rest_end - start).days, 366 if leap else 365)


def _monthly_days(start: date, end: date) -> int:
    months = to_month(end) - to_month(start)
    if is_month_end(start) and is_month_end(end):
        return 30 * months
    if add_months(start, months) > end:
        months -= 1
    return 30 * months + (end - add_months(start, months)).days


def _thirty_days(start: date, end: date, rule: DayCount, termination: date | None) -> int:
    first, last = start.day, end.day
    if rule is DayCount.THIRTY_E_360:
        first, last = min(first, 30), min(last, 30)
    elif rule is DayCount.THIRTY_E_360_ISDA:
        first = 30 if is_month_end(start) else first
        last = 30 if is_month_end(end) and not (end == termination and end.month == 2) else last
    else:
        if rule is DayCount.THIRTY_U_360 and _february_end(start):
            last = 30 if _february_end(end) else last
            first = 30
        first = min(first, 30)
        last = 30 if last == 31 and first == 30 else last
    return 30 * (to_month(end) - to_month(start)) + last - first


def _february_end(day: date) -> bool:
    return day.month == 2 and is_month_end(day)
