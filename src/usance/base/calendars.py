"""Business days: which days count, and where a date goes that does not.

>>> china = Calendar(
...     holidays=frozenset({date(2024, 5, 1), date(2024, 5, 2), date(2024, 5, 3)}),
...     workdays=frozenset({date(2024, 5, 11)}),
... )
>>> str(china.roll(date(2024, 5, 1), Roll.FOLLOWING)), china.is_business(date(2024, 5, 11))
('2024-05-06', True)
>>> str(china.add_business_days(date(2024, 4, 30), 1))
'2024-05-06'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum

from usance.base.dates import add_days, parse_date
from usance.base.errors import CodeError, DateError, unknown

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SATURDAY, SUNDAY = 5, 6

# Longer gaps than this are mistakes in a holiday file, not holidays.
_LONGEST_GAP_DAYS = 60


class Roll(Enum):
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


@dataclass(frozen=True, slots=True)
class Calendar:
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


def _items(document: Mapping[str, object], name: str, where: str) -> list[str]:
    items = document.get(name) or []
    if not isinstance(items, list):
        raise CodeError(f"{name} is not a list", where=where, fix="Write one '- item' a line")
    return items


def _weekday(name: str, where: str) -> int:
    if name not in WEEKDAYS:
        raise unknown("weekday", str(name), WEEKDAYS, where=where)
    return WEEKDAYS.index(name)
