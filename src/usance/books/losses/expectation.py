"""Arithmetic of expected losses in exact fractions: each step of an estimate is one of these.

>>> expected_loss(1_000_000, Decimal("0.005"), Decimal("0.25"))
Fraction(1250, 1)
>>> float(discounted_shortfalls([400, 400], Decimal("0.1")))
694.2148760330579
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, repeat
from typing import TypeAlias

Number: TypeAlias = int | Decimal | Fraction


def expected_loss(exposure: Number, pd: Number, lgd: Number = 1) -> Fraction:
    """Exposure × probability of default × loss given default."""
    return Fraction(exposure) * Fraction(pd) * Fraction(lgd)


def loss_rate(loss: Number, exposure: Number, members: int = 1) -> Fraction:
    """A loss as a share of the exposure of all members; nothing exposed, nothing lost.

    >>> loss_rate(600, 200, members=1000)
    Fraction(3, 1000)
    """
    base = Fraction(exposure) * members
    return Fraction(loss) / base if base else Fraction(0)


def adjusted_rate(history: Number, *adjustments: Number) -> Fraction:
    """A historical rate plus forward-looking adjustments.

    >>> adjusted_rate(Decimal("0.015"), Decimal("0.001"), Decimal("0.0005"))
    Fraction(33, 2000)
    """
    return sum((Fraction(each) for each in adjustments), Fraction(history))


def shortfall(base: Number, whole: Number, reached: Number) -> Fraction:
    """The open part of a base: a lifetime rate less the one to date, a coupon less a yield.

    >>> shortfall(10_000, Decimal("0.10"), Decimal("0.06"))
    Fraction(400, 1)
    """
    return Fraction(base) * (Fraction(whole) - Fraction(reached))


def remaining_losses(losses: Sequence[Number], elapsed: int) -> Fraction:
    """The losses of a vintage after its first `elapsed` periods.

    >>> remaining_losses([80, 140, 190, 70], 2)
    Fraction(260, 1)
    """
    # Whole numbers are added as such: a close sums many thousands of them.
    later = (each if isinstance(each, int) else Fraction(each) for each in losses[elapsed:])
    return Fraction(sum(later))


def discounted_shortfalls(shortfalls: Iterable[Number], rate: Number) -> Fraction:
    """Cash that will not come at the end of period 1, 2, 3 …, at its value today."""
    amounts = [Fraction(each) for each in shortfalls]
    growth = accumulate(repeat(1 + Fraction(rate), len(amounts)), lambda one, more: one * more)
    return sum((cash / grown for cash, grown in zip(amounts, growth, strict=True)), Fraction(0))
