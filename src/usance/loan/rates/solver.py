"""Annual rates solved once and rounded once.

A float search finds the neighbourhood; the digit that is published is decided by the exact sign
of the equation at the two half-way points.

>>> month = [TimedFlow(1_000_00, 0), TimedFlow(-1_010_00, 1)]
>>> solve(month, per_year=12)  # parts per billion: 12 %
120000000
>>> solve(month, per_year=12, parts=100)  # whole per cent
12
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from usance.base.rates import PPB
from usance.loan.rates.equation import Equation, RateNotFound, RateNotUnique, TimedFlow

# A rate in ppb has to fit into 64 bits: about 920 billion per cent a year.
MAX_RATE = 9_200_000_000
# ln(1 + i) at the bottom of the search; what lies below is -100 % at any printed precision.
MIN_LOG = -40.0
# What is left of a unit after a period at a rate that only a flow without compounding survives.
MIN_STEP = Fraction(1, 10**20_000)
# Newton's steps before the search only halves; halving 80 times exhausts a float.
NEWTON_STEPS, ALL_STEPS = 40, 120


@dataclass(frozen=True, slots=True)
class Timeline:
    """Flows on a time axis, and how many of its periods make a year."""

    flows: Sequence[TimedFlow]
    per_year: Fraction

    def rate(self, parts: int = PPB) -> int:
        """The annual rate in whole `parts` of one, rounded half-up."""
        return solve(self.flows, self.per_year, parts)

    def compare(self, rate: Fraction) -> int:
        """1, 0 or -1: whether an annual rate is above, at or below the one of these flows.

        >>> Timeline([TimedFlow(100, 0), TimedFlow(-112, 1)], Fraction(1)).compare(
        ...     Fraction(12, 100)
        ... )
        0
        """
        return Equation.of(self.flows).position(rate / self.per_year)


def solve(flows: Sequence[TimedFlow], per_year: Fraction | int, parts: int = PPB) -> int:
    """The annual rate i × per_year in whole `parts` of one, rounded half-up."""
    equation = Equation.of(flows)
    scale = parts * Fraction(per_year)  # annual parts in a rate of one a period
    guess = _nearest(_search(equation, Fraction(per_year)), scale)
    rate = _largest(lambda n: equation.position(_half(n, scale)) <= 0, guess)
    if equation.turns > 1:
        _require_root(equation, rate, scale)
    # Half-up is away from zero, so a negative rate on the half goes down.
    on_tie = rate <= 0 and equation.position(_half(rate, scale)) == 0
    return rate - on_tie


def _require_root(equation: Equation, rate: int, scale: Fraction) -> None:
    below = equation.value_sign(_half(rate, scale)) <= 0
    if not below or equation.value_sign(_half(rate + 1, scale)) < 0:
        raise RateNotUnique(
            f"no single rate: the flows change sign {equation.turns} times and the borrower is "
            "owed money on the way",
            fix="Leave out what is not part of the loan, or compute its parts as separate loans",
        )


def _half(n: int, scale: Fraction) -> Fraction:
    """The period's rate half a part below n parts a year."""
    return Fraction(2 * n - 1, 2) / scale


def _nearest(log_growth: float, scale: Fraction) -> int:
    return round(Fraction(math.expm1(log_growth)) * scale)


def _largest(holds: Callable[[int], bool], guess: int) -> int:
    """The largest n that holds, where all smaller ones do and all larger ones do not."""
    step = 1
    low = guess
    while not holds(low):
        low, step = low - step, 2 * step
    high = low + 1
    while holds(high):
        low, high = high, high + step
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _search(equation: Equation, per_year: Fraction) -> float:
    """ln(1 + i) as a float: Newton's steps inside a bracket that halves when they leave it."""
    times = [(float(flow.periods), float(flow.fraction)) for flow in equation.flows]
    amounts = [flow.amount / equation.flows[0].amount for flow in equation.flows]
    low, high = bottom, top = MIN_LOG, math.log1p(MAX_RATE / float(per_year))
    y = 0.0
    for count in range(ALL_STEPS):
        value, slope = _value(amounts, times, y, checked=equation.turns > 1)
        low, high = (low, y) if value > 0 else (y, high)
        newton = y - value / slope if slope > 0 and count < NEWTON_STEPS else math.nan
        after = newton if low < newton < high else (low + high) / 2
        if abs(after - y) <= 1e-15 + 1e-14 * abs(y):
            break
        y = after
    if not bottom + 1 < y < top - 1e-3:
        _require_between(equation, per_year)
    return y


def _require_between(equation: Equation, per_year: Fraction) -> None:
    if equation.position(MAX_RATE / per_year) < 0:
        raise RateNotFound(
            f"no rate: it would be above {MAX_RATE * 100:,} % a year",
            fix="Check the dates and amounts of the payments",
        )
    if equation.position(MIN_STEP - 1) > 0:
        raise RateNotFound(
            "no rate: the payments are too small to balance even at -100 % a period",
            fix="Check the amounts of the payments",
        )


def _value(
    amounts: Sequence[float], times: Sequence[tuple[float, float]], y: float, checked: bool
) -> tuple[float, float]:
    """Value of the flows and its slope by y = ln(1 + i), up to a positive factor.

    Discounted to the start when y is positive, carried to the end when it is negative, so that
    nothing overflows. `checked` makes the value -inf where the borrower would be owed money.
    """
    rate = math.expm1(y)
    total = slope = 0.0
    base = times[-1][0] if y < 0 else 0.0
    for amount, (periods, fraction) in zip(amounts, times, strict=True):
        odd = 1 + fraction * rate
        value = amount * math.exp((base - periods) * y) / odd
        total += value
        slope -= value * (periods - base + fraction * (1 + rate) / odd)
        if checked and total < 0 and periods < times[-1][0]:
            return -math.inf, 0.0
    return total, slope
