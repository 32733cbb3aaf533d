"""Days and months as plain numbers, strict reading of dates, and steps that never drift.

A day is the count of days since 1970-01-01 (Arrow's date32); a month is
(year - 1970) * 12 + month - 1.

>>> to_day(date(2024, 6, 30)), to_month(date(2024, 6, 30))
(19904, 653)
>>> monthly = Frequency.parse("1 month")
>>> [str(monthly.step(date(2023, 12, 31), k)) for k in (1, 2, 3)]
['2024-01-31', '2024-02-29', '2024-03-31']
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING

from usance.base.errors import CodeError, DateError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EPOCH = date(1970, 1, 1).toordinal()
_FIRST_MOMENT, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)

_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_ISO_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_FREQUENCY = re.compile(r"(?:([1-9][0-9]{0,3}) )?(day|week|month|year)s?")


def to_day(day: date) -> int:
    """The day number of a date."""
    return day.toordinal() - EPOCH


def from_day(number: int) -> date:
    """The date of a day number.

    >>> str(from_day(19904))
    '2024-06-30'
    """
    try:
        return date.fromordinal(number + EPOCH)
    except (ValueError, OverflowError):
        raise DateError(
            f"day number {number} is no date", fix="Give days since 1970-01-01, years 1 to 9999"
        ) from None


def to_month(day: date) -> int:
    """The month number a date lies in."""
    return (day.year - 1970) * 12 + day.month - 1


def first_of_month(month: int) -> date:
    """The first day of a month number.

    >>> str(first_of_month(653))
    '2024-06-01'
    """
    return _date(1970 + month // 12, month % 12 + 1, 1)


def last_of_month(month: int) -> date:
    """The last day of a month number.

    >>> str(last_of_month(649))
    '2024-02-29'
    """
    first = first_of_month(month)
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


def is_month_end(day: date) -> bool:
    """True on the last day of a month."""
    return day.day == calendar.monthrange(day.year, day.month)[1]


def parse_date(given: str | date, *, where: str = "") -> date:
    """Read `YYYY-MM-DD`; a date passes, a date with a time does not.

    >>> parse_date("2023-02-30")
    Traceback (most recent call last):
    usance.base.errors.DateError: 2023-02-30 does not exist. February 2023 has 28 days.
    """
    if isinstance(given, date) and not isinstance(given, datetime):
        return given
    match = _ISO.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise DateError(
            f"{given!r} is not a date", where=where, fix="Write YYYY-MM-DD, such as 2024-06-30"
        )
    year, month, day = (int(part) for part in match.groups())
    try:
        return date(year, month, day)
    except ValueError:
        fix = _why_not(year, month)
        raise DateError(f"{given} does not exist", where=where, fix=fix) from None


def parse_month(given: str, *, where: str = "") -> int:
    """Read `YYYY-MM` as a month number.

    >>> parse_month("2024-06")
    653
    """
    match = _ISO_MONTH.fullmatch(str(given))
    if match is None or match[1] == "0000":
        raise DateError(f"{given!r} is not a month", where=where, fix="Write YYYY-MM, like 2024-06")
    return (int(match[1]) - 1970) * 12 + int(match[2]) - 1


def format_month(month: int) -> str:
    """A month number as `YYYY-MM`."""
    return first_of_month(month).isoformat()[:7]


def microseconds(moment: datetime) -> int:
    """A moment as whole microseconds since 1970 in UTC, as tables hold it.

    >>> microseconds(datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC))
    2000000
    """
    return (moment - _FIRST_MOMENT) // _MICROSECOND


def parse_moment(given: str | datetime, *, where: str = "") -> datetime:
    """Read a moment with its offset, such as `2024-06-30T08:00:00+08:00`, as UTC.

    >>> str(parse_moment("2024-06-30T08:00:00+08:00"))
    '2024-06-30 00:00:00+00:00'
    """
    fix = "Write date, time and offset, such as 2024-06-30T08:00:00Z"
    try:
        moment = given if isinstance(given, datetime) else datetime.fromisoformat(given)
    except (TypeError, ValueError):
        raise DateError(f"{given!r} is not a moment", where=where, fix=fix) from None
    if moment.tzinfo is None:
        raise DateError(f"{given} has no offset from UTC", where=where, fix=fix)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        fix = "Stay inside years 1 to 9999"
        raise DateError(f"{given} is out of range in UTC", where=where, fix=fix) from None


class MonthEnd(Enum):
    """The rule for a day that a month does not have, and for a month's last day."""

    CLAMP = "clamp"
    """Keep the anchor's day of month, or the month's last day where that is missing."""
    END_OF_MONTH = "end_of_month"
    """As clamp, but an anchor on a month's last day always gives the last day."""


def add_months(anchor: date, months: int, rule: MonthEnd = MonthEnd.CLAMP) -> date:
    """The date so many months from an anchor; step from the anchor, never from a step.

    >>> str(add_months(date(2024, 2, 29), 1)), str(add_months(date(2024, 1, 31), 1))
    ('2024-03-29', '2024-02-29')
    >>> str(add_months(date(2024, 2, 29), 1, MonthEnd.END_OF_MONTH))
    '2024-03-31'
    """
    last = last_of_month(to_month(anchor) + months)
    if rule is MonthEnd.END_OF_MONTH and is_month_end(anchor):
        return last
    return last.replace(day=min(anchor.day, last.day))


@dataclass(frozen=True, slots=True)
class Frequency:
    """A period such as 1 month or 14 days."""

    count: int
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in {"day", "week", "month", "year"} or self.count < 1:
            raise _no_frequency(f"{self.count} {self.unit}", "")

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> Frequency:
        """Read `month`, `1 month`, `2 weeks`, `14 days`, `1 year`."""
        match = _FREQUENCY.fullmatch(str(text))
        if match is None:
            raise _no_frequency(text, where)
        return cls(int(match[1] or 1), match[2])

    def step(self, anchor: date, k: int, rule: MonthEnd = MonthEnd.CLAMP) -> date:
        """The k-th date counted from an anchor.

        >>> str(Frequency(2, "week").step(date(2024, 1, 1), 3))
        '2024-02-12'
        """
        if self.unit in {"month", "year"}:
            return add_months(anchor, k * self.count * (12 if self.unit == "year" else 1), rule)
        return add_days(anchor, k * self.count * (7 if self.unit == "week" else 1))

    def __str__(self) -> str:
        """The text `parse` reads back."""
        return f"{self.count} {self.unit}{'s' if self.count > 1 else ''}"


def add_days(day: date, days: int) -> date:
    """The date so many days later (or earlier), inside years 1 to 9999."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        raise DateError(f"{day} and {days} days", fix="Stay inside years 1 to 9999") from None


def month_starts(first: int, count: int) -> NDArray[np.int32]:
    """Day numbers of the first days of `count` months: a table for kernels.

    >>> month_starts(653, 2).tolist()
    [19875, 19905]
    """
    import numpy as np

    months = np.arange(first, first + count).astype("datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int32)


def _date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        raise DateError(f"year {year} is out of range", fix="Stay inside years 1 to 9999") from None


def _why_not(year: int, month: int) -> str:
    if not 1 <= month <= 12:
        return "Months go from 01 to 12; write YYYY-MM-DD"
    if year == 0:
        return "Years start at 0001"
    return f"{calendar.month_name[month]} {year} has {calendar.monthrange(year, month)[1]} days"


def _no_frequency(text: object, where: str) -> CodeError:
    fix = "Write a number and a unit (day, week, month, year), such as 1 month or 14 days"
    return CodeError(f"unknown frequency {text!r}", where=where, fix=fix)
