"""The difference between two runs of a pair, over several pairs, with its noise.

Both runs of a pair share their random numbers, so most of what chance does is the same in both and
leaves the difference. What is left of it shows from pair to pair: the standard error of the mean
difference is the standard deviation of the differences over the square root of their number. No
assumption about ratios, estimates or rounding is needed, since each pair is a whole pair of runs.

>>> found = difference([Fraction(10), Fraction(12)], [Fraction(13), Fraction(14)])
>>> str(found.difference), found.error, round(found.reach, 2), found.is_beyond
('5/2', 0.5, 6.35, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import atan, cos, pi, sin, sqrt

CONFIDENCE = 0.95
"""Share of intervals, mean difference plus or minus reach, that hold the true difference."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Means over pairs, and how far chance alone may have moved their difference."""

    base: Fraction
    other: Fraction
    error: float | None
    """The standard error of the mean difference; none with fewer than two pairs."""
    pairs: int

    @property
    def difference(self) -> Fraction:
        """Other less base."""
        return self.other - self.base

    @property
    def relative(self) -> Fraction | None:
        """The difference as a share of the base."""
        return self.difference / abs(self.base) if self.base else None

    @property
    def reach(self) -> float | None:
        """Half of the width of the interval around the difference."""
        return None if self.error is None else self.error * student_quantile(self.pairs - 1)

    @property
    def is_beyond(self) -> bool | None:
        """True if the difference lies beyond its noise; none where there is no measure of noise."""
        return None if self.reach is None else abs(self.difference) > self.reach


def difference(base: Sequence[Fraction], other: Sequence[Fraction]) -> Difference:
    """The difference of a figure, told pair by pair."""
    count = len(base)
    apart = [second - first for first, second in zip(base, other, strict=True)]
    mean = sum(apart, Fraction(0)) / count
    error = None
    if count > 1:
        squares = sum(((each - mean) ** 2 for each in apart), Fraction(0))
        error = sqrt(squares / (count * (count - 1)))
    return Difference(sum(base, Fraction(0)) / count, sum(other, Fraction(0)) / count, error, count)


@cache
def student_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Quantile of Student's distribution: standard errors that hold a mean so often.

    >>> [round(student_quantile(degrees), 3) for degrees in (1, 2, 4, 30)]
    [12.706, 4.303, 2.776, 2.042]
    """
    low, high = 0.0, 1.0
    while _inside(high, degrees) < confidence:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _inside(middle, degrees) > confidence else (middle, high)
    return high


def _inside(reach: float, degrees: int) -> float:
    """The chance to lie within a reach: Student's finite sums, for odd and even degrees."""
    angle = atan(reach / sqrt(degrees))
    odd = degrees % 2
    term = cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for n in range(2 + odd, degrees - 1, 2):
        term *= cos(angle) ** 2 * (n - 1) / n
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
