"""Due dates of a migrated loan's plan, and steps in its unit.

>>> step(date(2024, 1, 31), PeriodUnit.MONTHS, 1), step(date(2024, 1, 31), PeriodUnit.WEEKS, 2)
(datetime.date(2024, 2, 29), datetime.date(2024, 2, 14))
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta

from usance.base.errors import DateError
from usance.loan.convention import PeriodUnit
from usance.migration.terms import MigratedTerms

_LAST_YEAR, _MAX_DAYS = 9_000, 1_000_000
_DAYS = {PeriodUnit.DAYS: 1, PeriodUnit.WEEKS: 7}
_MONTHS = {PeriodUnit.MONTHS: 1, PeriodUnit.YEARS: 12}


def step(day: date, unit: PeriodUnit, count: int) -> date:
    """The day `count` units later; a day that a month lacks is its last."""
    if unit in _DAYS:
        if count * _DAYS[unit] > _MAX_DAYS:
            raise _beyond(day)
        return day + timedelta(days=count * _DAYS[unit])
    year, month = divmod(day.year * 12 + day.month - 1 + count * _MONTHS[unit], 12)
    if year > _LAST_YEAR:
        raise _beyond(day)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _beyond(day: date) -> DateError:
    fix = "Check the number of instalments and the time between them"
    return DateError(f"the plan from {day} leaves the calendar", fix=fix)


def due_dates(terms: MigratedTerms) -> list[date]:
    """The day every instalment is due, counted from the disbursement or the first due date."""
    unit, every, start = terms.unit, terms.every, terms.disbursed_on
    if terms.first_due_on:
        due = [step(terms.first_due_on, unit, every * k) for k in range(terms.instalments)]
    else:
        due = [step(start, unit, every * k) for k in range(1, terms.instalments + 1)]
    if terms.fixed_length:
        due[-1] = step(start, unit, terms.fixed_length)
    return due


def units_between(start: date, end: date, unit: PeriodUnit) -> tuple[int, int, int]:
    """Whole units from one day to another, the days left over, and the days of the next unit."""
    if unit in _DAYS:
        count = (end - start).days // _DAYS[unit]
    else:
        count = ((end.year - start.year) * 12 + end.month - start.month) // _MONTHS[unit]
    if step(start, unit, count) > end:
        count -= 1
    whole = step(start, unit, count)
    return count, (end - whole).days, (step(start, unit, count + 1) - whole).days
