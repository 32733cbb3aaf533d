"""Rates as exact whole parts per million; never a float.

>>> Rate.parse("18%"), str(Rate.parse("0.1825")), Rate.parse("0.18").fraction
(Rate(ppm=180000), '18.25%', Fraction(9, 50))
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from usance.base.errors import RateError
from usance.base.money import half_up, is_plain

PPM = 1_000_000
PPB = 1_000_000_000
INT32_MAX = 2**31 - 1

_TEXT = re.compile(r"(-?[0-9]{1,9}(?:\.[0-9]{1,18})?)( ?%)?")


@dataclass(frozen=True, slots=True, order=True)
class Rate:
    """A rate (annual unless its name says otherwise) in parts per million."""

    ppm: int

    def __post_init__(self) -> None:
        if type(self.ppm) is not int:
            raise RateError(
                f"{self.ppm!r} is not a whole number of ppm", fix="Read text with Rate.parse"
            )
        if abs(self.ppm) > INT32_MAX:
            raise RateError(f"rate of {self.ppm} ppm", fix="Give a rate below 214700%")

    @classmethod
    def parse(cls, given: str | Decimal | int, *, where: str = "") -> Rate:
        """Read `18%` or `0.18`.

        >>> Rate.parse("18")
        Traceback (most recent call last):
        usance.base.errors.RateError: rate 18 could mean 18% or 1800%. Write 18% or 0.18.
        """
        value, percent = _decimal(given, where)
        if not percent and abs(value) >= 1:
            raise RateError(
                f"rate {given} could mean {given}% or {value * 100}%",
                where=where,
                fix=f"Write {given}% or {value / 100}",
            )
        ppm = Fraction(value) * PPM / (100 if percent else 1)
        if ppm.denominator != 1:
            raise RateError(
                f"rate {given} is finer than one part per million",
                where=where,
                fix="Round it to six decimals (0.0001%) yourself",
            )
        return cls(int(ppm))

    @property
    def fraction(self) -> Fraction:
        """The exact value, 18% being 9/50."""
        return Fraction(self.ppm, PPM)

    @property
    def ppb(self) -> int:
        """The same rate in parts per billion."""
        return self.ppm * (PPB // PPM)

    def __str__(self) -> str:
        """The rate in per cent, as short as it is exact."""
        whole, rest = divmod(abs(self.ppm), PPM // 100)
        decimals = f"{rest:04}".rstrip("0")
        return f"{'-' if self.ppm < 0 else ''}{whole}{'.' if decimals else ''}{decimals}%"


def to_ppb(solved: Fraction | Decimal) -> int:
    """A solved rate in parts per billion, rounded half-up here and nowhere else.

    >>> to_ppb(Fraction(1, 3))
    333333333
    """
    exact = Fraction(solved)
    return half_up(exact.numerator * PPB, exact.denominator)


def _decimal(given: str | Decimal | int, where: str) -> tuple[Decimal, bool]:
    if isinstance(given, str) and (match := _TEXT.fullmatch(given)):
        return Decimal(match[1]), match[2] is not None
    if type(given) is int or is_plain(given):
        return Decimal(given), False
    raise RateError(f"{given!r} is not a rate", where=where, fix="Write a rate such as 18% or 0.18")


def percent_of(ppm: int | None) -> str:
    """Parts per million for people, in per cent; nothing where there is none.

    >>> percent_of(123_456), percent_of(None)
    ('12.35%', '')
    """
    return "" if ppm is None else f"{ppm / 10_000:.2f}%"
