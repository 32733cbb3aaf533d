"""Business days of the parties of a lender: those of a dated calendar, or of a list of their own.

A contract names a calendar (`calendar: banks`), else the lender does, else weekends alone are off.
A calendar that lacks a year is named before that year begins and, from then on, by every step that
needs it; the steps of other parties go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple

from usance.base.calendars import BusinessDays, Calendar
from usance.base.dated_calendars import GROUP, WEEKENDS, DatedCalendar
from usance.base.errors import ParameterError
from usance.platform.lender import Lender

WARN_DAYS = 31
"""A calendar that ends within so many days is told each evening."""
CONTRACTS = {"institution": "institutions", "provider": "providers"}
"""Kinds of parties that have a calendar, and the part of the lender's document that says it."""


@dataclass(frozen=True, slots=True)
class ListedDays(BusinessDays):
    """A list of days off in a contract; with holidays it ends with the last year of them."""

    name: str
    """The party whose contract it is in."""
    days: Calendar

    def is_business(self, day: date) -> bool:
        """True on business days; a day after the last year of the list is an error."""
        last = self.last_day(day)
        if last is not None and day > last:
            raise ParameterError(
                f"the list of days off has none of {day.year}", where=f"calendar of {self.name}",
                fix=f"Name a dated calendar in its contract, such as banks, or put "
                f"{GROUP}{self.name} in force",
            )  # fmt: skip
        return self.days.is_business(day)

    def last_day(self, _day: date) -> date | None:
        """The last day that it speaks of; none without holidays."""
        listed = self.days.holidays | self.days.workdays
        return date(max(listed).year, 12, 31) if listed else None


class CalendarEnd(NamedTuple):
    """A calendar that ends, its last day, and who goes by it."""

    calendar: str
    last_day: date
    parties: tuple[str, ...]

    def __str__(self) -> str:
        year = self.last_day.year + 1
        return (
            f"calendar {self.calendar} of {', '.join(self.parties)} ends with {self.last_day}: put "
            f"{GROUP}{self.calendar} in force from {year}-01-01 with the days of {year}"
        )


def business_days(lender: Lender, kind: str, party: str) -> DatedCalendar | ListedDays:
    """The business days of an institution or a provider."""
    given = _contract(lender, kind, party).get(
        "calendar", lender.document.get("calendar", WEEKENDS)
    )
    if isinstance(given, Mapping):
        return ListedDays(party, Calendar.from_document(given, where=party))
    return DatedCalendar.of(str(given), lender.parameters, where=f"calendar of {party}")


def calendar_ends(lender: Lender, day: date) -> list[CalendarEnd]:
    """Calendars of a lender's parties that end soon after a day, or have ended."""
    found: dict[tuple[str, date], list[str]] = {}
    for kind, party in sorted(lender.parties):
        if kind in CONTRACTS:
            days = business_days(lender, kind, party)
            last = days.last_day(day)
            if last is not None and last < day + timedelta(days=WARN_DAYS):
                found.setdefault((days.name, last), []).append(party)
    return [CalendarEnd(*key, tuple(parties)) for key, parties in found.items()]


def _contract(lender: Lender, kind: str, party: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = lender.document.get(CONTRACTS[kind], {}).get(party, {})
    return found
