"""Money as whole minor units of one currency, and the few roundings the platform allows.

>>> price = Money.parse("9000.00", "CNY")
>>> price, str(price)
(Money(minor=900000, currency='CNY'), '9000.00 CNY')
>>> [str(part) for part in price.split([1, 1, 1, 4])]
['1285.72 CNY', '1285.71 CNY', '1285.71 CNY', '5142.86 CNY']
>>> vat_in(25440, 60_000)
1440
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from usance.base.codes import Currency, parse
from usance.base.errors import AmountError, CurrencyMismatch

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
MILLION = 1_000_000
MAX_DIGITS = 40

_PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount: `minor` units (fen, cents) of an ISO currency."""

    minor: int
    currency: str

    def __post_init__(self) -> None:
        checked_int64(self.minor)
        parse(Currency, self.currency)

    @classmethod
    def parse(cls, amount: str | Decimal | int, currency: str, *, where: str = "") -> Money:
        """Read an amount in major units, such as `9000.00`.

        >>> Money.parse("500", "JPY").minor
        500
        """
        exponent = parse(Currency, currency, where=where).exponent
        minor = _exact(amount, where) * 10**exponent
        if minor.denominator != 1:
            places = f"at most {exponent} decimals" if exponent else "no decimals"
            raise AmountError(
                f"amount {amount} is finer than the smallest unit of {currency}",
                where=where,
                fix=f"Give {places}",
            )
        if not INT64_MIN <= minor <= INT64_MAX:
            raise AmountError(
                f"{amount} is too large: it does not fit into 64 bits",
                where=where,
                fix=f"Give at most {cls(INT64_MAX, currency)}",
            )
        return cls(int(minor), currency)

    @property
    def number(self) -> str:
        """The amount in major units without its currency."""
        exponent = Currency[self.currency].exponent
        whole, rest = divmod(abs(self.minor), 10**exponent)
        sign = "-" if self.minor < 0 else ""
        return f"{sign}{whole}.{rest:0{exponent}}" if exponent else f"{sign}{whole}"

    def __str__(self) -> str:
        """The amount as people write it, currency last."""
        return f"{self.number} {self.currency}"

    def __add__(self, other: Money) -> Money:
        return Money(self.minor + self._same(other), self.currency)

    def __sub__(self, other: Money) -> Money:
        return Money(self.minor - self._same(other), self.currency)

    def __neg__(self) -> Money:
        return Money(-self.minor, self.currency)

    def __mul__(self, times: int) -> Money:
        if type(times) is not int:
            raise AmountError(
                f"money times {times!r}", fix="Multiply by an int, or round a share with half_up"
            )
        return Money(self.minor * times, self.currency)

    __rmul__ = __mul__

    def __lt__(self, other: Money) -> bool:
        return self.minor < self._same(other)

    def __le__(self, other: Money) -> bool:
        return self.minor <= self._same(other)

    def __gt__(self, other: Money) -> bool:
        return self.minor > self._same(other)

    def __ge__(self, other: Money) -> bool:
        return self.minor >= self._same(other)

    def __bool__(self) -> bool:
        return self.minor != 0

    def split(self, weights: Sequence[int]) -> tuple[Money, ...]:
        """Share the whole amount by weights, by largest remainder; nothing is lost."""
        return tuple(Money(part, self.currency) for part in split(self.minor, weights))

    def _same(self, other: Money) -> int:
        if not isinstance(other, Money):
            raise AmountError(f"{self} meets {other!r}", fix="Make both Money")
        if other.currency != self.currency:
            raise CurrencyMismatch(
                f"{self} meets {other}", fix="Convert one with a dated exchange rate first"
            )
        return other.minor


def checked_int64(value: int, *, where: str = "") -> int:
    """The value itself if it is an int that 64 bits can hold.

    >>> checked_int64(2**63)
    Traceback (most recent call last):
    usance.base.errors.AmountError: 9223372036854775808 does not fit into 64 bits. \
Give an amount between -9223372036854775808 and 9223372036854775807 minor units.
    """
    if type(value) is not int:
        raise AmountError(
            f"{value!r} is not a whole number of minor units",
            where=where,
            fix="Give an int, or read text with Money.parse",
        )
    if not INT64_MIN <= value <= INT64_MAX:
        raise AmountError(
            f"{value} does not fit into 64 bits",
            where=where,
            fix=f"Give an amount between {INT64_MIN} and {INT64_MAX} minor units",
        )
    return value


def half_up(numerator: int, denominator: int) -> int:
    """The nearest integer to a fraction, ties away from zero.

    >>> [half_up(n, 2) for n in (-3, -1, 1, 3, 4)]
    [-2, -1, 1, 2, 2]
    """
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    size = (2 * abs(numerator) + denominator) // (2 * denominator)
    return size if numerator >= 0 else -size


def half_even(numerator: int, denominator: int) -> int:
    """The nearest integer to a fraction, ties to the even one.

    >>> [half_even(n, 2) for n in (-3, -1, 1, 3, 5)]
    [-2, 0, 0, 2, 2]
    """
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1))


def split(total: int, weights: Sequence[int]) -> list[int]:
    """Integer shares that sum to the total, each within one of its exact share.

    What flooring leaves over goes to the largest remainders, the earliest first.

    >>> split(100, [1, 1, 1]), split(-100, [1, 1, 1])
    ([34, 33, 33], [-34, -33, -33])
    """
    whole = sum(weights)
    if whole <= 0 or min(weights) < 0:
        raise AmountError(
            f"cannot split by weights {list(weights)}", fix="Give weights >= 0, one of them above"
        )
    shares = [divmod(abs(total) * weight, whole) for weight in weights]
    left = abs(total) - sum(floor for floor, _ in shares)
    order = sorted(range(len(shares)), key=lambda i: -shares[i][1])
    lucky = set(order[:left])
    sign = -1 if total < 0 else 1
    return [sign * (floor + (i in lucky)) for i, (floor, _) in enumerate(shares)]


def spread(total: int, k: int, n: int) -> int:
    """The amount due after `k` of `n` equal parts: a cumulative share, rounded once, so no drift.

    >>> [spread(100, k, 3) - spread(100, k - 1, 3) for k in (1, 2, 3)]
    [33, 34, 33]
    """
    return half_up(total * k, n)


def vat_in(gross: int, vat_ppm: int) -> int:
    """The tax inside an amount that includes it, half-up: gross × v / (1 + v)."""
    return half_up(gross * vat_ppm, MILLION + vat_ppm)


def _exact(amount: str | Decimal | int, where: str) -> Fraction:
    plain = isinstance(amount, str) and _PLAIN.fullmatch(amount)
    large = type(amount) is int and abs(amount) >= 10**MAX_DIGITS
    if large or (plain and len(str(amount)) > MAX_DIGITS):
        what = f"an amount of more than {MAX_DIGITS} digits is too large or too fine"
        raise AmountError(what, where=where, fix="Write it in fewer digits")
    if plain or type(amount) is int or is_plain(amount):
        return Fraction(amount)
    fix = "Write a plain decimal such as 9000.00, without separators, spaces or currency"
    raise AmountError(f"{amount!r} is not an amount", where=where, fix=fix)


def is_plain(value: object) -> bool:
    """True for a finite Decimal of a size one can write out (1E+999999 is not)."""
    return isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < MAX_DIGITS
