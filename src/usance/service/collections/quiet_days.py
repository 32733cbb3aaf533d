"""Days on which nobody is contacted: days of the week, of the year, and those that follow Easter.

>>> quiet = parse_quiet_days("sunday 12-25 easter+1")
>>> [quiet.is_quiet(date(2024, *each)) for each in ((3, 31), (4, 1), (4, 2), (12, 25))]
[True, True, False, True]
>>> parse_quiet_days("none").is_quiet(date(2024, 12, 25))
False
>>> parse_quiet_days("sundays")
Traceback (most recent call last):
usance.service.errors.ContactError: collections.quiet_days: 'sundays' is no day. Write days of the \
week, such as sunday, days of the year, such as 12-25, and days from Easter, such as easter+1.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from usance.base.calendars import WEEKDAYS, easter
from usance.service.errors import ContactError

_NONE = "none"
_DAY_OF_YEAR = re.compile(r"(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_FROM_EASTER = re.compile(r"easter(?:([+-]\d{1,3}))?")


class QuietDays(NamedTuple):
    """Days of the week by number from Monday, of the year by month and day, and from Easter."""

    weekdays: frozenset[int]
    of_year: frozenset[tuple[int, int]]
    from_easter: frozenset[int]

    def is_quiet(self, day: date) -> bool:
        """True on a day on which nobody is contacted."""
        return (
            day.weekday() in self.weekdays
            or (day.month, day.day) in self.of_year
            or (bool(self.from_easter) and (day - easter(day.year)).days in self.from_easter)
        )


NO_QUIET_DAYS = QuietDays(frozenset(), frozenset(), frozenset())


def parse_quiet_days(text: str) -> QuietDays:
    """Quiet days as the parameter `collections.quiet_days` writes them."""
    weekdays, of_year, from_easter = set(), set(), set()
    for each in text.lower().split():
        if each in WEEKDAYS:
            weekdays.add(WEEKDAYS.index(each))
        elif found := _DAY_OF_YEAR.fullmatch(each):
            of_year.add((int(found[1]), int(found[2])))
        elif found := _FROM_EASTER.fullmatch(each):
            from_easter.add(int(found[1] or 0))
        elif each != _NONE:
            fix = ("Write days of the week, such as sunday, days of the year, such as 12-25, and "
                   "days from Easter, such as easter+1")  # fmt: skip
            raise ContactError(f"'{each}' is no day", where="collections.quiet_days", fix=fix)
    return QuietDays(frozenset(weekdays), frozenset(of_year), frozenset(from_easter))
