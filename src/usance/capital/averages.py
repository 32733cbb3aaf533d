"""Averages over time: exact, by the days a quantity held.

IAS 33 IE Example 2, by months: 1,700 shares for five, 2,500 for six, 2,250 for one.

>>> weighted_average([(1_700, 5), (2_500, 6), (2_250, 1)])
Fraction(12875, 6)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from fractions import Fraction

from usance.capital.errors import PerShareError


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
