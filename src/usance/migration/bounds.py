"""Bounds of numbers and days in files of source systems, checked before anything is computed.

>>> minor(Decimal("12.34"), 2), plain_day("2024-02-29").isoformat()
(1234, '2024-02-29')
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

MAX_INSTALMENTS = 600  # a plan of more takes this arithmetic minutes
MAX_EVERY = 366
MAX_DECIMALS = 6
MAX_AMOUNT = 10**15
MAX_RATE_PCT = 10_000
MAX_STEPS = 1_000
FIRST_YEAR, LAST_YEAR = 1970, 2100

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?")


def plain_day(text: str) -> date:
    """A day written as YYYY-MM-DD."""
    if not _DAY.fullmatch(text):
        raise ValueError(f"{text!r} is no date")
    return in_years(date.fromisoformat(text))


def in_years(day: date) -> date:
    """The same day, if loans can have it."""
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise ValueError(f"{day} is not within {FIRST_YEAR} and {LAST_YEAR}")
    return day


def plain_decimal(text: str) -> Decimal:
    """A number written with digits and at most one point."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no number")
    return Decimal(text)


def whole(number: Decimal, least: int, most: int) -> int:
    """A whole number within bounds."""
    if not least <= number <= most or number != int(number):
        raise ValueError(f"{number} is no whole number within {least} and {most}")
    return int(number)


def minor(amount: Decimal, decimals: int) -> int:
    """An amount in minor units; what is finer or out of bounds is refused."""
    if not 0 <= amount <= MAX_AMOUNT:
        raise ValueError(f"{amount} is not within 0 and {MAX_AMOUNT}")
    scaled = amount.scaleb(decimals)
    if scaled != int(scaled):
        raise ValueError(f"{amount} is finer than the minor unit")
    return int(scaled)
