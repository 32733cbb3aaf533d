"""Due dates and interest periods of the exact form, for every unit, day count and calendar.

Days are proleptic ordinals (`date.toordinal`) throughout the exact form; a day runs from its own
date to the next, so a period from `start` to `end` has `end - start` days.

>>> from datetime import date
>>> from usance.loan.convention import CONVENTIONS
>>> terms = Terms(
...     principal_minor=9_000_00,
...     rate_ppm=180_000,
...     instalments=3,
...     disbursed_on=date(2024, 1, 31),
...     first_due_on=date(2024, 2, 29),
... )
>>> [str(date.fromordinal(period.end)) for period in periods(terms)]
['2024-02-29', '2024-03-31', '2024-04-30']
"""

from __future__ import annotations

from calendar import isleap
from collections.abc import Callable, Mapping
from datetime import date
from typing import NamedTuple

from usance.base.calendars import Calendar, Roll
from usance.base.daycount import DayCount as BaseDayCount
from usance.base.daycount import year_fraction
from usance.base.errors import unknown
from usance.base.money import half_even, half_up
from usance.loan.convention import (
    Convention,
    DayCount,
    MonthEnd,
    PeriodUnit,
    Rounding,
)
from usance.loan.errors import TermsDateError
from usance.loan.terms import Terms

CALENDARS: Mapping[str, Calendar] = {"weekends": Calendar()}
"""Calendars known without being given: Saturdays and Sundays off, no holidays."""

_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_STEP_DAYS = {PeriodUnit.DAYS: 1, PeriodUnit.WEEKS: 7}
_STEP_MONTHS = {PeriodUnit.MONTHS: 1, PeriodUnit.YEARS: 12}
_YEAR_DAYS = {DayCount.ACTUAL_360: 360, DayCount.ACTUAL_364: 364, DayCount.ACTUAL_365: 365}
_BASE_RULES = {
    DayCount.THIRTY_360: BaseDayCount.THIRTY_360,
    DayCount.THIRTY_E_360: BaseDayCount.THIRTY_E_360,
    DayCount.ACTUAL_ACTUAL: BaseDayCount.ACT_ACT_ISDA,
}

Round = Callable[[int, int], int]
"""A division of whole numbers that are not negative, rounded to a whole number."""


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _down(numerator: int, denominator: int) -> int:
    return numerator // denominator


ROUND: Mapping[Rounding, Round] = {
    Rounding.HALF_UP: half_up,
    Rounding.HALF_EVEN: half_even,
    Rounding.UP: _up,
    Rounding.DOWN: _down,
}
"""Division by each rounding rule."""


class Period(NamedTuple):
    """An interest period that ends on a due date, and its length in years as two fractions.

    `num / den` is the true length; `regular_num / regular_den` the one principal is planned with,
    which differs in an odd first period of a monthly day count.
    """

    number: int
    start: int
    end: int
    num: int
    den: int
    regular_num: int
    regular_den: int


def periods(
    terms: Terms, start: date | None = None, calendars: Mapping[str, Calendar] = CALENDARS
) -> list[Period]:
    """The periods of all instalments, the first from `start` (or the disbursement)."""
    convention = terms.convention
    begin = terms.disbursed_on if start is None else start
    regular = terms.first_due_on == _steps(convention, begin, begin, 1)
    due = _due_dates(terms, begin if regular else terms.first_due_on)
    if convention.calendar:
        due = _rolled(due, convention, begin, calendars)
    if convention.day_count is DayCount.MONTHLY:
        return _monthly(due, begin, regular, step_months(convention))
    result = []
    for number, end in enumerate(due, start=1):
        num, den = _fraction(begin, end, convention.day_count)
        result.append(Period(number, begin.toordinal(), end.toordinal(), num, den, num, den))
        begin = end
    return result


def step_months(convention: Convention) -> int:
    """Months from one instalment to the next; 0 where they are counted in days or weeks."""
    return _STEP_MONTHS.get(convention.unit, 0) * convention.every


def nominal_step(convention: Convention) -> tuple[int, int]:
    """The part of a year between two instalments, whatever the calendar says.

    >>> from usance.loan.convention import CONVENTIONS
    >>> weekly = CONVENTIONS["level_daily"].named(
    ...     "weekly", unit=PeriodUnit.WEEKS, day_count=DayCount.ACTUAL_364
    ... )
    >>> nominal_step(CONVENTIONS["level_daily"]), nominal_step(weekly)
    ((1, 12), (7, 364))
    """
    months = step_months(convention)
    if months:
        return months, 12
    thirty = convention.day_count in (DayCount.THIRTY_360, DayCount.THIRTY_E_360)
    days_a_year = 360 if thirty else _YEAR_DAYS.get(convention.day_count, 365)
    return convention.every * _STEP_DAYS[convention.unit], days_a_year


def span_fraction(convention: Convention, start: int, end: int) -> tuple[int, int]:
    """The day-count fraction between two ordinals."""
    return _fraction(date.fromordinal(start), date.fromordinal(end), convention.day_count)


def _due_dates(terms: Terms, anchor: date) -> list[date]:
    convention, first = terms.convention, terms.first_due_on
    return [_steps(convention, first, anchor, k) for k in range(terms.instalments)]


def _steps(convention: Convention, origin: date, anchor: date, count: int) -> date:
    """The date `count` steps after `origin`, on the day of the month of `anchor`."""
    months = step_months(convention)
    if not months:
        days = count * convention.every * _STEP_DAYS[convention.unit]
        return date.fromordinal(origin.toordinal() + days)
    year, month = divmod(origin.year * 12 + origin.month - 1 + count * months, 12)
    last = _last_day(year, month)
    stays_last = convention.month_end is MonthEnd.LAST_DAY
    if stays_last and anchor.day == _last_day(anchor.year, anchor.month - 1):
        return date(year, month + 1, last)
    return date(year, month + 1, min(anchor.day, last))


def _last_day(year: int, month: int) -> int:
    return 29 if month == 1 and isleap(year) else _MONTH_DAYS[month]


def _rolled(
    due: list[date], convention: Convention, begin: date, calendars: Mapping[str, Calendar]
) -> list[date]:
    if convention.calendar not in calendars:
        raise unknown("calendar", convention.calendar, calendars, where="convention.calendar")
    calendar, roll = calendars[convention.calendar], convention.roll
    rolled = [calendar.roll(day, roll) for day in due] if roll is not Roll.NONE else due
    if rolled[0] <= begin:
        raise TermsDateError(
            f"the first due date {due[0]} moves to {rolled[0]}, not after {begin}",
            where="first_due_on",
            fix="Choose a later first due date or another roll",
        )
    return rolled


def _monthly(due: list[date], begin: date, regular: bool, months: int) -> list[Period]:
    result, start = [], begin.toordinal()
    for number, day in enumerate(due, start=1):
        end = day.toordinal()
        result.append(Period(number, start, end, months, 12, months, 12))
        start = end
    if not regular:
        num, den = _fraction(begin, due[0], DayCount.THIRTY_E_360)
        result[0] = result[0]._replace(num=num, den=den)
    return result


def _fraction(start: date, end: date, day_count: DayCount) -> tuple[int, int]:
    basis = _YEAR_DAYS.get(day_count)
    if basis:
        return end.toordinal() - start.toordinal(), basis
    if day_count is DayCount.MONTHLY:
        day_count = DayCount.THIRTY_E_360
    years = year_fraction(start, end, _BASE_RULES[day_count])
    return years.numerator, years.denominator
