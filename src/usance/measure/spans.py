"""Periods that metrics are measured over, and their names.

>>> span = Span.of("2024Q2")
>>> str(span.start), str(span.end), str(span.previous())
('2024-04-01', '2024-06-30', '2024Q1')
>>> str(Span.containing(date(2024, 5, 31), "quarter"))
'2024-04-01/2024-05-31'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from usance.base.dates import first_of_month, last_of_month, to_month
from usance.base.errors import DateError

MONTHS = {"month": 1, "quarter": 3, "half_year": 6, "year": 12}
_NAME = re.compile(r"([0-9]{4})(?:-(0[1-9]|1[0-2])|Q([1-4])|H([12]))?")


@dataclass(frozen=True, slots=True)
class Span:
    """Days from `start` to `end`."""

    start: date
    end: date

    @classmethod
    def of(cls, name: str, *, where: str = "") -> Span:
        """The span called `2024-06`, `2024Q2`, `2024H1` or `2024`."""
        found = _NAME.fullmatch(name)
        if found is None:
            fix = "Write 2024-06, 2024Q2, 2024H1 or 2024"
            raise DateError(f"{name!r} is no period", where=where, fix=fix)
        year = (int(found[1]) - 1970) * 12
        if found[2]:
            return cls._months(year + int(found[2]) - 1, 1)
        if found[3]:
            return cls._months(year + 3 * int(found[3]) - 3, 3)
        return cls._months(year + 6 * int(found[4]) - 6, 6) if found[4] else cls._months(year, 12)

    @classmethod
    def containing(cls, day: date, over: str) -> Span:
        """From the first day of the month, quarter, half or year of a day to that day."""
        size = MONTHS[over]
        return cls(first_of_month(to_month(day) // size * size), day)

    @classmethod
    def _months(cls, first: int, count: int) -> Span:
        return cls(first_of_month(first), last_of_month(first + count - 1))

    def previous(self) -> Span:
        """As many months before this one."""
        first, count = to_month(self.start), to_month(self.end) - to_month(self.start) + 1
        return Span._months(first - count, count)

    def __str__(self) -> str:
        first, count = to_month(self.start), to_month(self.end) - to_month(self.start) + 1
        whole = self == Span._months(first, count)
        year, month = divmod(first, 12)
        if not whole or count not in MONTHS.values() or month % count:
            return f"{self.start}/{self.end}"
        if count == 1:
            return f"{year + 1970}-{month + 1:02}"
        part = {3: f"Q{month // 3 + 1}", 6: f"H{month // 6 + 1}", 12: ""}[count]
        return f"{year + 1970}{part}"
