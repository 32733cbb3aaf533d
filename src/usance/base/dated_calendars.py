"""Calendars of business days as dated parameters: one value a year, each with its source.

The parameter `calendars.NAME` is a `CalendarRule` in words. A rule with days of a year holds for
the year that it begins in and no longer: whoever asks for a day beyond it is told so, since a
holiday that nobody has published yet cannot be known. A `yearly` rule holds until the next.

>>> banks = DatedCalendar.of("banks", Parameters.load())
>>> str(banks.add_business_days(date(2024, 9, 30), 1)), banks.last_day(date(2024, 9, 30))
('2024-10-08', datetime.date(2026, 12, 31))
>>> banks.is_business(date(2031, 1, 2))
Traceback (most recent call last):
usance.base.errors.ParameterError: calendars.banks: has no days of 2031: they end with 2026-12-31. \
Put the days of 2031 in force from 2031-01-01 with their source, also those it shares with 2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from usance.base.calendars import BusinessDays, CalendarRule
from usance.base.errors import ParameterError, unknown
from usance.base.parameters import CALENDAR, Parameters

GROUP = "calendars."
WEEKENDS = "weekends"
"""The calendar without holidays."""


@dataclass(frozen=True, slots=True)
class DatedCalendar(BusinessDays):
    """A calendar by its name, whose days are those of its dated values."""

    name: str
    parameters: Parameters

    @classmethod
    def of(cls, name: str, parameters: Parameters, *, where: str = "calendar") -> DatedCalendar:
        """The calendar of that name."""
        known = [each.removeprefix(GROUP) for each, parameter in parameters.by_name.items()
                 if each.startswith(GROUP) and parameter.unit == CALENDAR]  # fmt: skip
        if name not in known:
            raise unknown("calendar", name, known, where=where)
        return cls(name, parameters)

    def is_business(self, day: date) -> bool:
        """True on business days; a day that no value speaks of is an error."""
        value = self.parameters.at(f"calendars.{self.name}", day)
        rule = _rule(str(value.value))
        if not rule.is_yearly and value.valid_from.year != day.year:
            year, last = day.year, value.valid_from.year
            raise ParameterError(
                f"has no days of {year}: they end with {last}-12-31", where=GROUP + self.name,
                fix=f"Put the days of {year} in force from {year}-01-01 with their source, also "
                f"those it shares with {last}",
            )  # fmt: skip
        return rule.of_year(day.year, where=f"{value.name} from {value.valid_from}").is_business(
            day
        )

    def last_day(self, day: date) -> date | None:
        """The last day that is known without a gap from a day on; none if it never ends."""
        entries = self.parameters.by_name[GROUP + self.name].entries
        begin = {each.valid_from for each in entries}
        of_year = {each.valid_from.year: each for each in entries}
        own = [each for each in entries if each.valid_from <= day] or entries[:1]
        year = own[-1].valid_from.year
        while not _rule(str(of_year[year].value)).is_yearly:
            if date(year + 1, 1, 1) not in begin:
                return date(year, 12, 31)
            year += 1
        return None


@lru_cache(maxsize=1024)
def _rule(words: str) -> CalendarRule:
    return CalendarRule.parse(words)
