"""Whole months between two dates, counted back from the later one as both rule books do.

Dates of one series share an anchor: the day of the month they are meant for. So 30 January,
28 February, 30 March are whole months apart, and so are the last days of months.

>>> anchor = anchor_of([date(2023, 1, 30), date(2023, 2, 28), date(2023, 3, 30)])
>>> anchor, months_back(date(2023, 1, 30), date(2023, 2, 28), anchor)
(30, (1, 0))
>>> months_back(date(1978, 2, 10), date(1978, 4, 1))  # one month back to 1 March, then 19 days
(1, 19)
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from usance.base.dates import is_month_end, last_of_month, to_month


def anchor_of(days: Collection[date]) -> int | None:
    """The day of the month that two dates or more keep, where the month has it; else None."""
    anchor = max((day.day for day in days), default=0)
    return anchor if len(days) > 1 and all(_on(day, anchor) for day in days) else None


def months_back(start: date, end: date, anchor: int | None = None) -> tuple[int, int]:
    """Whole months from an end back towards a start, and the days then left.

    Without a series' anchor the two dates may share one of their own.

    >>> months_back(date(2024, 12, 31), date(2025, 2, 28))
    (2, 0)
    """
    kept = anchor or anchor_of({start, end})
    months = to_month(end) - to_month(start)
    if months_before(end, months, kept) < start:
        months -= 1
    return months, (months_before(end, months, kept) - start).days


def months_before(end: date, months: int, anchor: int | None = None) -> date:
    """The date so many months earlier in the same series.

    >>> str(months_before(date(2023, 2, 28), 1, anchor=31))
    '2023-01-31'
    """
    day = anchor if anchor and _on(end, anchor) else end.day
    last = last_of_month(to_month(end) - months)
    return last.replace(day=min(day, last.day))


def whole_months(start: date, end: date, anchor: int | None = None) -> int | None:
    """The months between two dates when they are a whole number of months, else None."""
    months, days = months_back(start, end, anchor)
    return None if days else months


def _on(day: date, anchor: int) -> bool:
    return day.day == anchor or (day.day < anchor and is_month_end(day))
