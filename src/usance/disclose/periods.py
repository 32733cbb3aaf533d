"""The columns of a filing: an instant (`2024-03-31`) or a duration (`2024Q1`, `2024H1`, `FY2024`).

>>> half = parse_period("2024H1")
>>> half.start.isoformat(), half.end.isoformat(), half.days
('2024-01-01', '2024-06-30', 182)
>>> half.opens_on == parse_period("2023-12-31").end
True
>>> parse_period("9M2024").name, parse_period("2024").name, parse_period("2024Q5")
('2024M9', 'FY2024', None)

A release shows its period, the year to date, and their comparatives.

>>> from usance.books.periods import parse_close_period
>>> [each.written for each in reporting_periods(parse_close_period("2024Q2")).columns()]
['2023Q2', '2024Q2', '2023H1', '2024H1']
>>> period_of_months(range(648, 657)).written
'9M2024'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache

from usance.base.dates import first_of_month, last_of_month, to_month
from usance.base.periods import period_label
from usance.books.periods import ClosePeriod

_DAY = timedelta(days=1)

# How each duration is written, with its first and last month. Nine months have no settled
# spelling, so the usual ones are all read.
_DURATIONS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?P<year>\d{4})Q(?P<quarter>[1-4])"), "quarter"),
    (re.compile(r"(?P<year>\d{4})H(?P<half>[12])"), "half"),
    (re.compile(r"(?:FY)?(?P<year>\d{4})|(?P<late>\d{4})FY"), "year"),
    (
        re.compile(
            r"(?P<year>\d{4})[-_ ]?(?:9M|M9|YTD|YTDQ3|Q1[-_]?Q?3|Q3[-_ ]?YTD|NM|M0?1[-_]M?0?9)"
            r"|(?:9M|M9|NM|YTD)[-_ ]?(?P<late>\d{4})(?:Q3)?"
        ),
        "nine",
    ),
)
_RANGE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:/|\.\.| to )(\d{4}-\d{2}-\d{2})")


@dataclass(frozen=True, slots=True)
class Period:
    """A day, or the days from `start` to `end`; for an instant both are the same.

    `name` is one for all ways to write it, `written` is how the cell was.
    """

    name: str
    start: date
    end: date
    instant: bool
    written: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "written", self.written or self.name)

    @property
    def days(self) -> int:
        """The number of days it covers."""
        return (self.end - self.start).days + 1

    @property
    def opens_on(self) -> date:
        """The instant whose balances a duration starts from."""
        return self.start - _DAY

    def year_before(self) -> date:
        """The end of the same duration one year earlier."""
        month = to_month(self.end) - 12
        return last_of_month(month)


@lru_cache(maxsize=1024)
def parse_period(text: str) -> Period | None:
    """The period a cell is written for, or nothing if the text is none."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            day = date.fromisoformat(text)
            return Period(text, day, day, instant=True)
        if found := _RANGE.fullmatch(text):
            first, last = (date.fromisoformat(part) for part in found.groups())
            return Period(text, first, last, instant=False) if first <= last else None
        return _duration(text)
    except ValueError:
        return None


def _duration(text: str) -> Period | None:
    for pattern, kind in _DURATIONS:
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            year = int(parts.get("year") or parts["late"])
            first, last = _months(kind, parts)
            end = date(year, 12, 31) if last == 12 else date(year, last + 1, 1) - _DAY
            name = {"nine": f"{year}M9", "year": f"FY{year}"}.get(kind, text)
            return Period(name, date(year, first, 1), end, instant=False, written=text)
    return None


def _months(kind: str, parts: dict[str, str | None]) -> tuple[int, int]:
    if kind == "quarter":
        quarter = int(parts["quarter"] or 0)
        return 3 * quarter - 2, 3 * quarter
    if kind == "half":
        half = int(parts["half"] or 0)
        return 6 * half - 5, 6 * half
    return (1, 9) if kind == "nine" else (1, 12)


def partitions(whole: Period, parts: Iterable[Period]) -> Iterator[tuple[Period, ...]]:
    """Every way to make up a duration from two or more shorter ones, in order.

    >>> parts = [parse_period(name) for name in ("2024Q1", "2024Q2", "2024H1", "2024Q3")]
    >>> [
    ...     [part.name for part in partition]
    ...     for partition in partitions(parse_period("9M2024"), parts)
    ... ]
    [['2024Q1', '2024Q2', '2024Q3'], ['2024H1', '2024Q3']]
    """
    shorter = sorted(
        {part for part in parts if not part.instant and part.days < whole.days},
        key=lambda part: (part.start, part.end, part.name),
    )

    def follow(start: date) -> Iterator[tuple[Period, ...]]:
        if start > whole.end:
            yield ()
            return
        for part in shorter:
            if part.start == start and part.end <= whole.end:
                for rest in follow(part.end + _DAY):
                    yield (part, *rest)

    yield from follow(whole.start)


@dataclass(frozen=True, slots=True)
class ReportingPeriods:
    """The periods of one release."""

    current: Period
    year_ago: Period
    year_to_date: Period
    prior_year_to_date: Period
    preceding: Period

    def columns(self) -> list[Period]:
        """The periods with a column in the tables, each after its comparative."""
        listed = (self.year_ago, self.current, self.prior_year_to_date, self.year_to_date)
        return list(dict.fromkeys(listed))


def reporting_periods(period: ClosePeriod) -> ReportingPeriods:
    """The periods a release of one period shows."""
    months = period.months
    year = range(to_month(period.last_day.replace(month=1)), months[-1] + 1)
    listed = (months, _earlier(months, 12), year, _earlier(year, 12), _earlier(months, len(months)))
    return ReportingPeriods(*map(period_of_months, listed))


def period_of_months(months: Iterable[int]) -> Period:
    """A run of months under the name a filing gives it."""
    given = list(months)
    period = parse_period(_name(given[0], len(given)))
    assert period is not None
    return period


def _earlier(months: Iterable[int], by: int) -> list[int]:
    return [month - by for month in months]


def _name(first: int, count: int) -> str:
    label = period_label(first, count)
    if label and count > 1:
        return f"FY{label}" if count == 12 else label
    start, end = first_of_month(first), last_of_month(first + count - 1)
    return f"9M{end.year}" if count == 9 and start.month == 1 else f"{start}..{end}"
