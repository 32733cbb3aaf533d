"""Amounts as people read and type them."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from usance.base.codes import Currency
from usance.platform.errors import InvalidField


def printed(minor: int, currency: Currency) -> str:
    """An amount as people read it, with a true minus.

    >>> printed(-123456, Currency.CNY)
    '−1,234.56'
    """
    whole, rest = divmod(abs(minor), 10**currency.exponent)
    decimals = f".{rest:0{currency.exponent}}" if currency.exponent else ""
    return ("\N{MINUS SIGN}" if minor < 0 else "") + f"{whole:,}{decimals}"


def minor_of(text: str, currency: Currency) -> int:
    """An amount as people type it, in minor units, exactly.

    >>> minor_of("1,234.5", Currency.CNY)
    123450
    """
    fix = "Give one such as 1,234.56"
    try:
        major = Decimal(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))
        minor = major.scaleb(currency.exponent)
        if not major.is_finite() or minor != minor.to_integral_value() or abs(minor) >= 2**53:
            raise InvalidOperation
    except (InvalidOperation, ValueError):
        raise InvalidField(f"{text[:20]!r} is no amount", where="body.amount_minor",
                           fix=fix) from None  # fmt: skip
    return int(minor)
