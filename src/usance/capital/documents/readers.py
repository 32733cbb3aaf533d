"""Readers of what capital documents are made of: prices, shares of a whole, times of day.

>>> str(price("0.2900", "")), share("85%", ""), share("443/500", "")
('0.2900', Fraction(17, 20), Fraction(443, 500))
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from usance.base.codes import Currency
from usance.base.dates import parse_date
from usance.base.errors import AmountError, DateError, InputError, Problems
from usance.base.fields import Fields, one_of, rate_of, whole_of
from usance.base.money import INT64_MAX, MILLION

T = TypeVar("T")

count = whole_of(1, INT64_MAX)
"""A number of shares, units or people."""

_PRICE = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")
_RATIO = re.compile(r"([0-9]{1,18})/([1-9][0-9]{0,17})")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})")


def price(given: Any, where: str) -> Decimal:
    """A price of one share in major units, at most twelve digits before and after the point."""
    if not isinstance(given, bool) and _PRICE.fullmatch(str(given)):
        return Decimal(str(given))
    fix = "Write a plain number such as 12.50, with at most twelve decimals"
    raise AmountError(f"{given} is not a price", where=where, fix=fix)


def share(given: Any, where: str) -> Fraction:
    """A share of a whole: `85%`, `0.85`, 1, or a ratio such as `443/500`."""
    ratio = _RATIO.fullmatch(given) if isinstance(given, str) else None
    if ratio and int(ratio[1]) <= int(ratio[2]):
        return Fraction(int(ratio[1]), int(ratio[2]))
    if str(given) == "1":
        return Fraction(1)
    return Fraction(rate_of(0, MILLION)(given, where), MILLION)


def clock(given: Any, where: str) -> datetime:
    """A day and a time of the register's own clock, such as `2024-04-15 16:30`."""
    match = _MOMENT.fullmatch(str(given))
    try:
        if match:
            return datetime.combine(parse_date(match[1], where=where), time.fromisoformat(match[2]))
    except ValueError:
        match = None
    fix = "Write day and time, such as 2024-04-15 16:30"
    raise DateError(f"{given} is no day and time", where=where, fix=fix)


def currency_of(given: Fields, default: str) -> str:
    """The currency of an entry, or that of its document."""
    found = given.take("currency", one_of(Currency))
    return found.label if found is not None else default


def build_or_none(given: Fields, build: Callable[[], T]) -> T | None:
    """The value built, or None with what its own checks found."""
    try:
        return build()
    except Problems as error:
        given.problems.extend(error.errors)
    except InputError as error:
        given.problems.append(error)
    return None
