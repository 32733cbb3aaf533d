"""Labels of calendar periods: `2024-06`, `2024Q2`, `2024H1`, `2024`; months are numbers (`dates`).

>>> parse_period("2024Q2"), period_label(651, 3), quarter_label(653)
(range(651, 654), '2024Q2', '2024Q2')
>>> period_label(648, 12), period_label(653, 1), period_label(649, 3)
('2024', '2024-06', '')

The periods that metrics are measured over may be cut short.

>>> period = MetricPeriod.of("2024Q2")
>>> str(period.start), str(period.end), str(period.previous())
('2024-04-01', '2024-06-30', '2024Q1')
>>> str(MetricPeriod.containing(date(2024, 5, 31), "quarter"))
'2024-04-01/2024-05-31'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from usance.base.dates import first_of_month, format_month, last_of_month, to_month
from usance.base.errors import DateError

MONTHS = {"month": 1, "quarter": 3, "half_year": 6, "year": 12}
_LABEL = re.compile(r"([0-9]{4})(?:-(0[1-9]|1[0-2])|Q([1-4])|H([12]))?")
_LETTERS = {3: "Q", 6: "H"}


def parse_period(text: str, *, where: str = "") -> range:
    """The months of a period by its label."""
    found = _LABEL.fullmatch(text)
    if found is None or found[1] == "0000":
        fix = "Write a month, quarter, half or year: 2024-06, 2024Q2, 2024H1 or 2024"
        raise DateError(f"{text!r} is no period", where=where, fix=fix)
    year, month, quarter, half = (int(each or 0) for each in found.groups())
    length = 1 if month else 3 if quarter else 6 if half else 12
    first = (year - 1970) * 12 + ((month or quarter or half or 1) - 1) * length
    return range(first, first + length)


def period_label(first: int, count: int) -> str:
    """The label of so many months, or empty if they are no month, quarter, half or year."""
    if count not in MONTHS.values() or first % count:
        return ""
    if count == 1:
        return format_month(first)
    letter = _LETTERS.get(count)
    return f"{1970 + first // 12:04}" + (f"{letter}{first % 12 // count + 1}" if letter else "")


def quarter_label(month: int) -> str:
    """The label of the quarter a month lies in."""
    return period_label(month // 3 * 3, 3)


@dataclass(frozen=True, slots=True)
class MetricPeriod:
    """The days from `start` to `end`."""

    start: date
    end: date

    @classmethod
    def of(cls, name: str, *, where: str = "") -> MetricPeriod:
        """The period called `2024-06`, `2024Q2`, `2024H1` or `2024`."""
        months = parse_period(name, where=where)
        return cls.of_months(months.start, len(months))

    @classmethod
    def containing(cls, day: date, over: str) -> MetricPeriod:
        """From the first day of the month, quarter, half or year of a day to that day."""
        size = MONTHS[over]
        return cls(first_of_month(to_month(day) // size * size), day)

    @classmethod
    def of_months(cls, first: int, count: int) -> MetricPeriod:
        """So many whole months from a first one."""
        return cls(first_of_month(first), last_of_month(first + count - 1))

    def previous(self) -> MetricPeriod:
        """As many months before this one."""
        first, count = to_month(self.start), to_month(self.end) - to_month(self.start) + 1
        return MetricPeriod.of_months(first - count, count)

    def year_before(self) -> MetricPeriod:
        """The same months a year before, whole.

        >>> str(MetricPeriod.of("2024Q2").year_before())
        '2023Q2'
        """
        first, count = to_month(self.start), to_month(self.end) - to_month(self.start) + 1
        return MetricPeriod.of_months(first - MONTHS["year"], count)

    def __str__(self) -> str:
        first, count = to_month(self.start), to_month(self.end) - to_month(self.start) + 1
        label = period_label(first, count) if self == MetricPeriod.of_months(first, count) else ""
        return label or f"{self.start}/{self.end}"
