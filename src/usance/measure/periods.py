"""Periods that metrics are measured over, and their names.

>>> period = MetricPeriod.of("2024Q2")
>>> str(period.start), str(period.end), str(period.previous())
('2024-04-01', '2024-06-30', '2024Q1')
>>> str(MetricPeriod.containing(date(2024, 5, 31), "quarter"))
'2024-04-01/2024-05-31'
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from usance.base.dates import first_of_month, last_of_month, to_month
from usance.base.periods import MONTHS, parse_period, period_label


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

    def __str__(self) -> str:
        first, count = to_month(self.start), to_month(self.end) - to_month(self.start) + 1
        label = period_label(first, count) if self == MetricPeriod.of_months(first, count) else ""
        return label or f"{self.start}/{self.end}"
