"""Cumulative default curves: checked, drawn from history, and completed where history ends.

A curve has the defaults by month on book, cumulative, in parts per billion of originated
principal; month 0 is the month of origination.

A vintage is completed by Benktander's method: with U the curve's lifetime rate and F the part of
it that the curve has behind it at the vintage's age, what is still to come is (1 - F) × (seen +
(1 - F) × U). So a vintage without a history follows the curve, and its own experience weighs more
the more of it there is. Unlike link ratios this needs no default to have happened yet.

>>> curve = (0, 0, 10_000_000, 25_000_000, 40_000_000)
>>> [str(development_factor(curve, Fraction(seen, 1000), age=2)) for seen in (10, 20)]
['1', '5/4']
>>> completed_curve(curve, [Fraction(0), Fraction(0), Fraction(20, 1000)])
(0, 0, 20000000, 38750000, 57500000)
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from usance.base.errors import UsanceError
from usance.base.rates import PPB, to_ppb
from usance.books.losses.errors import CurveError
from usance.books.losses.expectation import loss_rate

Curve: TypeAlias = tuple[int, ...]


def curve_problems(values: Sequence[tuple[int, str]]) -> list[UsanceError]:
    """Every point (parts per billion, place) outside 0 to 1 or below the one before."""
    problems: list[UsanceError] = []
    for value, where in values:
        if not 0 <= value <= PPB:
            what = f"a cumulative rate of {_shown(value)}"
            problems.append(CurveError(what, where=where, fix="Give 0% to 100%"))
    for (before, _), (value, where) in pairwise(values):
        if 0 <= value < before <= PPB:
            what = f"the cumulative curve falls from {_shown(before)} to {_shown(value)}"
            fix = "Give what has defaulted by then, all months together"
            problems.append(CurveError(what, where=where, fix=fix))
    return problems


def increments(curve: Curve) -> list[int]:
    """Monthly increments of a cumulative curve."""
    return [curve[0], *(after - before for before, after in pairwise(curve))]


def rate_at(curve: Curve, age: int) -> int:
    """The curve at an age; flat after its end."""
    return curve[min(age, len(curve) - 1)]


def development_factor(curve: Curve, seen: Fraction, age: int) -> Fraction:
    """Benktander's factor on the curve's later months, given the rate observed at an age."""
    lifetime = curve[-1]
    if not lifetime:
        return Fraction(0)
    return (seen * PPB + lifetime - rate_at(curve, age)) / lifetime


def lifetime(curve: Curve, seen: Fraction, age: int) -> Fraction:
    """A vintage's lifetime rate in parts per billion, by the curve and its observed rate.

    >>> int(lifetime((0, 0, 10_000_000, 25_000_000, 40_000_000), Fraction(20, 1000), age=2))
    57500000
    """
    return seen * PPB + development_factor(curve, seen, age) * (curve[-1] - rate_at(curve, age))


def observed_curve(
    defaulted_minor: NDArray[np.int64],
    originated_minor: NDArray[np.int64],
    limits: NDArray[np.int16],
    *,
    window: int,
    minimum: int,
) -> list[Fraction]:
    """The average cumulative curve of the vintages, as far as enough of them reach.

    Each month is the defaults of the latest `window` vintages that have reached it over their
    originated principal; ages that fewer than `minimum` have reached are left out.
    """
    seen: list[Fraction] = []
    total = Fraction(0)
    for age in range(defaulted_minor.shape[1]):
        reached = np.flatnonzero((limits >= age) & (originated_minor > 0))[-window:]
        if len(reached) < minimum:
            break
        month = defaulted_minor[reached, age].sum()
        before = defaulted_minor[reached, age - 1].sum() if age else 0
        total += loss_rate(int(month - before), int(originated_minor[reached].sum()))
        # A reversal can make a month negative; a cumulative curve never falls.
        seen.append(min(max(total, seen[-1] if seen else Fraction(0)), Fraction(1)))
    return seen


def completed_curve(prior: Curve, seen: Sequence[Fraction]) -> Curve:
    """The observed curve, continued by the prior curve's months times the development factor."""
    if not seen:
        return prior
    last = len(seen) - 1
    stretch = development_factor(prior, seen[-1], last)
    base = rate_at(prior, last)
    tail = [seen[-1] + Fraction(value - base, PPB) * stretch for value in prior[len(seen) :]]
    return tuple(to_ppb(min(value, Fraction(1))) for value in (*seen, *tail))


def _shown(ppb: int) -> str:
    return f"{Decimal(ppb).scaleb(-7).normalize():f}%"
