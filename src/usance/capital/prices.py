"""Prices of one share, option or ADS: exact decimals in major units.

A price is finer than the smallest coin (an option may be worth 8.6525), so it is no amount of
money. It becomes one when it is multiplied by a number of shares, and is rounded then, once.

>>> amount_minor(1_001, Decimal("8.6525"), "USD")
866115
>>> str(rounded(Fraction(113_000, 54_000), 2))
'2.09'

Averages over time are exact, by the days a quantity held. IAS 33 IE Example 2, by months: 1,700
shares for five, 2,500 for six, 2,250 for one.

>>> weighted_average([(1_700, 5), (2_500, 6), (2_250, 1)])
Fraction(12875, 6)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction

from usance.base.codes import Currency
from usance.base.money import half_up
from usance.capital.errors import PerShareError

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


def weighted_average(levels: Iterable[tuple[int | Fraction, int]]) -> Fraction:
    """The average of quantities, each with the time it held."""
    held = list(levels)
    time = sum(weight for _, weight in held)
    if time <= 0:
        raise PerShareError("an average over no time", fix="Give a period of at least a day")
    return sum((Fraction(level) * weight for level, weight in held), Fraction(0)) / time


def daily_average(
    at: Callable[[date], int | Fraction], changes: Iterable[date], first: date, last: date
) -> Fraction:
    """The average of a quantity over a period, both days included, each day as it ended.

    `changes` are the days on which the quantity may have moved; between them it stays.
    """
    starts = sorted({first, *(day for day in changes if first < day <= last)})
    ends = [*(day.toordinal() for day in starts[1:]), last.toordinal() + 1]
    return weighted_average(
        (at(start), end - start.toordinal()) for start, end in zip(starts, ends, strict=True)
    )
