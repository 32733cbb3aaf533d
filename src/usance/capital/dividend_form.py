"""The exchange's form for a cash dividend, field by field, as it is printed.

The form says what the dividend says, so it takes amounts and dates from there; it adds only what
the exchange asks beyond. `Not applicable` is printed for what is not there.

>>> printed_day(date(2024, 3, 3)), or_none(None)
('3 March 2024', 'Not applicable')
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date
from enum import Enum


class Status(Enum):
    """The status of an announcement: the first of its dividend, or a later one."""

    NEW = "New announcement"
    UPDATE = "Update to previous announcement"


class DividendType(Enum):
    """The period a dividend is paid for."""

    INTERIM = "Interim"
    SEMI_ANNUAL = "Interim (Semi-annual)"
    QUARTERLY = "Interim (Quarterly)"
    FINAL = "Final"
    OTHER = "Other"


class Nature(Enum):
    """The nature of a dividend: ordinary or special."""

    ORDINARY = "Ordinary"
    SPECIAL = "Special"


@dataclass(frozen=True, slots=True)
class DividendForm:
    """Particulars the exchange asks for beyond amount and dates."""

    issuer: str
    stock_code: str
    title: str
    announced_on: date
    year_end: date
    period_end: date
    registrar: str
    registrar_address: str
    status: Status = Status.NEW
    dividend_type: DividendType = DividendType.SEMI_ANNUAL
    nature: Nature = Nature.ORDINARY
    counters: str | None = None
    related_codes: str | None = None
    approved_on: date | None = None
    withholding: str | None = None
    warrants: str | None = None
    other: str | None = None
    directors: str | None = None


def printed_day(day: date) -> str:
    """A day as the form prints it."""
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


def or_none(text: str | None) -> str:
    """The value, or the form's words for nothing."""
    return text or "Not applicable"
