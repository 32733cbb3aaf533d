"""Amounts and days as files write them, with the place in every refusal.

>>> minor_units("1234.5", "CNY", "s.xml line 3"), minor_units("-7", "JPY", "s.xml line 3")
(123450, -7)
>>> minor_units("1.234", "CNY", "s.xml line 3, column 9")
Traceback (most recent call last):
usance.service.errors.BankFileError: s.xml line 3, column 9: '1.234' is no amount in CNY. \
Ask for the whole file again; nothing of it was taken.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from usance.base.codes import Currency
from usance.base.money import INT64_MAX
from usance.service.errors import BankFileError

_AMOUNT = re.compile(r"([-+]?)([0-9]{1,18})(?:\.([0-9]{0,5}))?")
_EXPONENTS = {each.label: each.exponent for each in Currency}
_AGAIN = "Ask for the whole file again; nothing of it was taken"


def minor_units(text: str, currency: str, where: object) -> int:
    """An amount with a decimal point in whole minor units; more decimals must be zeros."""
    found = _AMOUNT.fullmatch(text)
    exponent = _EXPONENTS.get(currency)
    if exponent is None:
        fix = "Add the currency to those the books know, or ask for another account's file"
        raise BankFileError(f"unknown currency {currency!r}", where=str(where), fix=fix)
    if found:
        sign, whole, decimals = found[1], found[2], found[3] or ""
        if not decimals[exponent:].strip("0"):
            minor = int(whole + decimals[:exponent].ljust(exponent, "0"))
            if minor <= INT64_MAX:
                return -minor if sign == "-" else minor
    raise BankFileError(f"{text!r} is no amount in {currency}", where=str(where), fix=_AGAIN)


@lru_cache(maxsize=1024)
def _day(text: str) -> date:
    return date.fromisoformat(text)


def day_of(text: str, where: object) -> date:
    """The day of an ISO date or moment, as it is written there."""
    try:
        return _day(text[:10])  # a file has few days
    except ValueError:
        raise BankFileError(f"{text!r} is no day", where=str(where), fix=_AGAIN) from None
