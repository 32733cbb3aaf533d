"""Prices of one share, option or ADS: exact decimals in major units.

A price is finer than the smallest coin (an option may be worth 8.6525), so it is no amount of
money. It becomes one when it is multiplied by a number of shares, and is rounded then, once.

>>> amount_minor(1_001, Decimal("8.6525"), "USD")
866115
>>> str(rounded(Fraction(113_000, 54_000), 2))
'2.09'
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from usance.base.codes import Currency
from usance.base.money import half_up

Number = int | Decimal | Fraction
"""An exact number; never a float."""


def exact(number: Number) -> Fraction:
    """A number as an exact ratio."""
    return Fraction(number)


def to_minor(amount: Number, currency: str) -> int:
    """An exact amount in major units as minor units, half-up."""
    scaled = exact(amount) * 10 ** Currency[currency].exponent
    return half_up(scaled.numerator, scaled.denominator)


def amount_minor(quantity: Number, price: Number, currency: str) -> int:
    """So many at that price, in minor units, half-up."""
    return to_minor(exact(quantity) * exact(price), currency)


def whole(number: Number) -> int:
    """The nearest whole number of shares, ties away from zero."""
    value = exact(number)
    return half_up(value.numerator, value.denominator)


def rounded(number: Number, decimals: int) -> Decimal:
    """A number as it is printed: half-up at so many decimals."""
    value = exact(number) * 10**decimals
    return Decimal(half_up(value.numerator, value.denominator)).scaleb(-decimals)
