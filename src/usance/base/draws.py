"""Random numbers as a pure function: same seed, same stream, same entity, same counter, same draw.

>>> hex(draw(1, 2, 3, 4))
'0x3a095bf2044d24fa'
>>> happens(draw(1, 2, 3, 4), threshold("0.25"))
True
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from usance.base.errors import RateError
from usance.base.money import half_even

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
CERTAIN = 1 << 53

USES_PER_MONTH = 256


def mix(z: int) -> int:
    """The splitmix64 finaliser: 64 bits in, 64 well-stirred bits out."""
    z = ((z ^ (z >> 30)) * MULTIPLIERS[0]) & MASK
    z = ((z ^ (z >> 27)) * MULTIPLIERS[1]) & MASK
    return z ^ (z >> 31)


def draw(seed: int, stream: int, entity: int, counter: int) -> int:
    """Sixty-four random bits that depend on these four numbers and nothing else."""
    z = 0
    for k in (seed, stream, entity, counter):
        z = mix((z + GOLDEN * (k + 1)) & MASK)
    return z


def counter(month: int, k: int) -> int:
    """The counter of the k-th use in a month.

    >>> counter(653, 0)
    167168
    """
    return month * USES_PER_MONTH + k


def threshold(probability: str | Decimal | Fraction) -> int:
    """A probability as the integer a draw is compared with: round(p × 2^53), ties to even."""
    exact = Fraction(probability)
    if not 0 <= exact <= 1:
        raise RateError(f"probability {probability}", fix="Give one between 0 and 1")
    return half_even(exact.numerator * CERTAIN, exact.denominator)


def happens(drawn: int, limit: int) -> bool:
    """True if an event with that `threshold` happens at this draw; integers are compared."""
    return drawn >> 11 < limit
