"""Business days: which days count, and where a date goes that does not.

A `Calendar` lists its days off. A `CalendarRule` says them for one year or for every year, as the
dated parameters `calendars.*` do (`usance.base.dated_calendars`).

>>> china = Calendar(
...     holidays=frozenset({date(2024, 5, 1), date(2024, 5, 2), date(2024, 5, 3)}),
...     workdays=frozenset({date(2024, 5, 11)}),
... )
>>> str(china.roll(date(2024, 5, 1), Roll.FOLLOWING)), china.is_business(date(2024, 5, 11))
('2024-05-06', True)
>>> str(china.add_business_days(date(2024, 4, 30), 1))
'2024-05-06'
>>> target = CalendarRule.parse("saturday sunday yearly 01-01 easter-2 easter+1 05-01 12-25..12-26")
>>> str(target.of_year(2025).add_business_days(date(2025, 4, 17), 1))
'2025-04-22'
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import lru_cache

from usance.base.dates import add_days, parse_date
from usance.base.errors import CodeError, DateError, unknown

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SATURDAY, SUNDAY = 5, 6

# Longer gaps than this are mistakes in a holiday file, not holidays.
_LONGEST_GAP_DAYS = 60
_DAYS = re.compile(r"(\d\d-\d\d)(?:\.\.(\d\d-\d\d))?")
_FROM_EASTER = re.compile(r"easter([+-]\d{1,3})?")
_LEAP_YEAR = 2000
_YEARLY, _BUT = "yearly", "but"


class Roll(StrEnum):
    """The rule that moves a date that is no business day."""

    NONE = "none"
    FOLLOWING = "following"
    MODIFIED_FOLLOWING = "modified_following"
    """Following, but back instead when that would leave the month."""
    PRECEDING = "preceding"

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> Roll:
        """The roll of that name."""
        for roll in cls:
            if roll.value == text:
                return roll
        raise unknown("roll", str(text), (roll.value for roll in cls), where=where)


class BusinessDays(ABC):
    """Days that count, however they are known."""

    __slots__ = ()

    @abstractmethod
    def is_business(self, day: date) -> bool:
        """True on business days."""

    def roll(self, day: date, rule: Roll) -> date:
        """The business day a date moves to."""
        if rule is Roll.NONE:
            return day
        if rule is Roll.PRECEDING:
            return self._seek(day, -1)
        later = self._seek(day, 1)
        if rule is Roll.MODIFIED_FOLLOWING and later.month != day.month:
            return self._seek(day, -1)
        return later

    def add_business_days(self, day: date, count: int) -> date:
        """The business day `count` business days later, or earlier if negative."""
        step = 1 if count >= 0 else -1
        for _ in range(abs(count)):
            day = self._seek(add_days(day, step), step)
        return day

    def _seek(self, day: date, step: int) -> date:
        for distance in range(_LONGEST_GAP_DAYS + 1):
            found = add_days(day, step * distance)
            if self.is_business(found):
                return found
        raise DateError(
            f"no business day within {_LONGEST_GAP_DAYS} days of {day}", fix="Check the holidays"
        )


@dataclass(frozen=True, slots=True)
class Calendar(BusinessDays):
    """A weekend, days off, and weekend days that are worked all the same."""

    weekend: frozenset[int] = frozenset({SATURDAY, SUNDAY})
    holidays: frozenset[date] = frozenset()
    workdays: frozenset[date] = frozenset()

    def __post_init__(self) -> None:
        if len(self.weekend) >= len(WEEKDAYS):
            raise DateError("every day of the week is a weekend", fix="Leave a day to work")
        if both := self.holidays & self.workdays:
            raise DateError(
                f"{min(both)} is both a holiday and a workday", fix="Take it out of one list"
            )

    @classmethod
    def from_document(cls, document: Mapping[str, object], *, where: str = "") -> Calendar:
        """A calendar from the lists `weekend`, `holidays`, `workdays` of a people's file."""
        for name in document.keys() - {"weekend", "holidays", "workdays"}:
            raise unknown("entry", name, ["weekend", "holidays", "workdays"], where=where)
        weekend = _items(document, "weekend", where) or list(WEEKDAYS[SATURDAY:])
        return cls(
            frozenset(_weekday(name, where) for name in weekend),
            frozenset(parse_date(day, where=where) for day in _items(document, "holidays", where)),
            frozenset(parse_date(day, where=where) for day in _items(document, "workdays", where)),
        )

    def is_business(self, day: date) -> bool:
        """True on business days."""
        if day in self.workdays:
            return True
        return day.weekday() not in self.weekend and day not in self.holidays


@dataclass(frozen=True, slots=True)
class CalendarRule:
    """Days off in words: of the week, of the year (month-day), spans of them, from Easter.

    After `but` come the days that are worked all the same. Days of the year hold for one year, or
    for every year of a `yearly` rule.
    """

    weekend: frozenset[int]
    off: tuple[tuple[str, str], ...] = ()
    """First and last day of each span."""
    from_easter: frozenset[int] = frozenset()
    worked: tuple[tuple[str, str], ...] = ()
    is_yearly: bool = True
    """False of a rule that one year alone has."""

    @classmethod
    def parse(cls, words: str, *, where: str = "") -> CalendarRule:
        """The rule in words, such as `saturday sunday 01-01 02-10..02-17 but 02-04 02-18`."""
        weekend, from_easter = set(), set()
        spans: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
        is_worked = is_yearly = False
        for word in words.lower().split():
            if word == _BUT:
                is_worked = True
            elif word == _YEARLY:
                is_yearly = True
            elif word in WEEKDAYS and not is_worked:
                weekend.add(WEEKDAYS.index(word))
            elif found := _DAYS.fullmatch(word):
                span = found[1], found[2] or found[1]
                _span(*span, _LEAP_YEAR, where)
                spans[is_worked].append(span)
            elif (found := _FROM_EASTER.fullmatch(word)) and not is_worked:
                from_easter.add(int(found[1] or 0))
            else:
                fix = ("Write days of the week, of the year as 01-31 or 02-10..02-17, from Easter "
                       "as easter+1, and after 'but' the days that are worked")  # fmt: skip
                raise DateError(f"{word!r} is no day off", where=where, fix=fix)
        is_yearly = is_yearly or not (*spans[0], *spans[1], *from_easter)
        made = cls(frozenset(weekend), tuple(spans[0]), frozenset(from_easter), tuple(spans[1]),
                   is_yearly)  # fmt: skip
        made.of_year(_LEAP_YEAR)
        return made

    def of_year(self, year: int, *, where: str = "") -> Calendar:
        """The days of a year."""
        return _calendar(self, year, where)


@lru_cache(maxsize=1024)
def _calendar(rule: CalendarRule, year: int, where: str) -> Calendar:
    off = {day for span in rule.off for day in _span(*span, year, where)}
    off |= {easter(year) + timedelta(days=days) for days in rule.from_easter}
    worked = {day for span in rule.worked for day in _span(*span, year, where)}
    return Calendar(rule.weekend, frozenset(off), frozenset(worked))


def _span(first: str, last: str, year: int, where: str) -> Iterator[date]:
    begin, end = (parse_date(f"{year:04d}-{each}", where=where) for each in (first, last))
    if end < begin:
        raise DateError(f"{first}..{last} ends before it begins", where=where,
                        fix="Write the days of each year by themselves")  # fmt: skip
    return map(date.fromordinal, range(begin.toordinal(), end.toordinal() + 1))


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar: the Sunday after the full moon of its tables.

    >>> easter(2024), easter(2025), easter(2038)
    (datetime.date(2024, 3, 31), datetime.date(2025, 4, 20), datetime.date(2038, 4, 25))
    """
    century = year // 100
    golden = year % 19
    # Age of the moon on 1 January, with the leap years left out and the moon's own drift.
    epact = (11 * golden + 8 - century + century // 4 + (8 * century + 13) // 25) % 30
    if epact == 24 or (epact == 25 and golden > 10):
        epact += 1
    full_moon = date(year, 3, 1) + timedelta(days=(44 - epact if epact <= 23 else 74 - epact) - 1)
    return full_moon + timedelta(days=7 - (full_moon.weekday() + 1) % 7)


def _items(document: Mapping[str, object], name: str, where: str) -> list[str]:
    items = document.get(name) or []
    if not isinstance(items, list):
        raise CodeError(f"{name} is not a list", where=where, fix="Write one '- item' a line")
    return items


def _weekday(name: str, where: str) -> int:
    if name not in WEEKDAYS:
        raise unknown("weekday", str(name), WEEKDAYS, where=where)
    return WEEKDAYS.index(name)
