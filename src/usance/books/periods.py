"""Periods that can be closed: a month, a quarter, a half or a year; each ends with a month.

>>> parse_close_period("2024Q2").months, str(parse_close_period("2024Q2").last_day)
((651, 652, 653), '2024-06-30')
>>> parse_close_period("2024-06").close_no(2)
65302
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from usance.base.dates import last_of_month
from usance.base.periods import parse_period

MAX_CLOSES = 100
"""Closes of one period; their number is two digits of a close number."""


@dataclass(frozen=True, slots=True)
class ClosePeriod:
    """A run of months that is closed at once."""

    label: str
    months: tuple[int, ...]

    @property
    def last_month(self) -> int:
        """The month it ends with."""
        return self.months[-1]

    @property
    def last_day(self) -> date:
        """The day of its balance sheet."""
        return last_of_month(self.last_month)

    def close_no(self, version: int) -> int:
        """A number for that close that no other has."""
        return self.last_month * MAX_CLOSES + version


def parse_close_period(text: str, *, where: str = "period") -> ClosePeriod:
    """A period from `2024-06`, `2024Q2`, `2024H1` or `2024`."""
    return ClosePeriod(text, tuple(parse_period(text, where=where)))
