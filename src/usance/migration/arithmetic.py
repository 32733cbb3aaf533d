"""Decimal arithmetic of a fixed number of significant digits, and rounding to minor units.

Other systems do not compute with fractions: every product and quotient is rounded to so many
digits. To reproduce their cents we round where they do.

>>> nineteen = Arithmetic(19, Rounding.HALF_EVEN)
>>> nineteen.over(Decimal(1), Decimal(3))
Decimal('0.3333333333333333333')
>>> nineteen.whole(Decimal("2.5")), nineteen.multiple(1250, 100)
(2, 1200)

The last of equal parts takes the rounding difference.

>>> parts = equal_parts(nineteen, 100, 3)
>>> [parts.part(index) for index in range(3)]
[33, 33, 34]
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from usance.loan.convention import Rounding

_MODES = {
    Rounding.HALF_EVEN: ROUND_HALF_EVEN,
    Rounding.HALF_UP: ROUND_HALF_UP,
    Rounding.UP: ROUND_CEILING,
    Rounding.DOWN: ROUND_FLOOR,
}
_ONE = Decimal(1)
_WIDE = 80  # digits in which sums and integers of this domain are exact


class Arithmetic:
    """Products, quotients and sums of so many digits."""

    def __init__(self, digits: int, rounding: Rounding) -> None:
        mode = _MODES[rounding]
        context = Context(prec=digits, rounding=mode)
        self.times, self.over, self.plus = context.multiply, context.divide, context.add
        wide = Context(prec=_WIDE, rounding=mode)
        self.add_exactly = wide.add
        self._quantize = wide.quantize
        self._scale = Decimal((0, (1,), -digits))

    def whole(self, amount: Decimal) -> int:
        """The amount in whole units."""
        return int(self._quantize(amount, _ONE))

    def factor(self, value: Decimal) -> Decimal:
        """A rate factor, which keeps as many decimals as the arithmetic has digits."""
        return self._quantize(value, self._scale)

    def part(self, amount: int, count: int) -> int:
        """One of `count` equal parts, rounded."""
        return self.whole(self.over(Decimal(amount), Decimal(count)))

    def multiple(self, amount: int, of: int) -> int:
        """The nearest multiple; the amount itself where that would be none of it."""
        if of <= 1:
            return amount
        return self.whole(Decimal(amount) / of) * of or amount


@lru_cache(maxsize=16)
def arithmetic(digits: int, rounding: Rounding) -> Arithmetic:
    """The arithmetic of these options, made once."""
    return Arithmetic(digits, rounding)


@dataclass(frozen=True, slots=True)
class EqualParts:
    """So many parts of one size, but for the last."""

    each: int
    total: int
    count: int

    def part(self, index: int) -> int:
        """One of the parts; where the last would be negative, the last ones are none."""
        if self.total < self.each * (self.count - 1):
            return min(self.each, max(0, self.total - self.each * index))
        if index == self.count - 1:
            return self.total - self.each * (self.count - 1)
        return self.each


def equal_parts(math: Arithmetic, total: int, count: int) -> EqualParts:
    """An amount in equal parts."""
    return EqualParts(math.part(total, count), total, count)
