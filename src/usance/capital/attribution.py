"""Attribution of an award's cost to time: evenly, evenly with a floor, or part by part.

An award is a row of parts, each with its value and the time over which it is earned. Time is
counted from the grant, in days, years or any other unit, as long as all counts use the same.
Everything is *cumulative due*, an exact ratio; the cost of a period is a difference.

>>> quarters = parts([(Fraction(1, 4), year) for year in (1, 2, 3, 4)], 48)
>>> [int(cost) for cost in costs(quarters, graded)]
[25, 13, 7, 3]
>>> [int(cost) for cost in costs(quarters, straight_line)]
[12, 12, 12, 12]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from usance.capital.errors import AwardError
from usance.capital.prices import Number, exact


@dataclass(frozen=True, slots=True)
class Part:
    """A part that vests at one time: its value at the grant, and the time until it vests."""

    value: Fraction
    span: int

    def __post_init__(self) -> None:
        if self.span < 0:
            fix = "Give a day on or after the grant"
            raise AwardError("a part vests before it is granted", fix=fix)


Attribute = Callable[[Sequence[Part], int], Fraction]
"""The cost due once so much time has passed."""


def parts(tranches: Iterable[tuple[Number, int]], each: Number) -> list[Part]:
    """The parts of an award: shares of it, or numbers of units, times what one of them is worth."""
    return [Part(exact(size) * exact(each), span) for size, span in tranches]


def straight_line(award: Sequence[Part], elapsed: int) -> Fraction:
    """All parts together, evenly from the grant to the last vesting."""
    total, span = _total(award), _span(award)
    if elapsed < 0:
        return Fraction(0)
    return total if elapsed >= span else total * elapsed / span


def vested(award: Sequence[Part], elapsed: int) -> Fraction:
    """The value of the parts that have vested."""
    return _total([part for part in award if part.span <= elapsed])


def straight_line_with_floor(award: Sequence[Part], elapsed: int) -> Fraction:
    """Evenly, but never less than the value that has vested (ASC 718-10-35-8).

    >>> front_loaded = parts([(5, 1), (3, 2), (2, 3)], 100)
    >>> [int(straight_line_with_floor(front_loaded, year)) for year in (0, 1, 2, 3)]
    [0, 500, 800, 1000]
    """
    return max(straight_line(award, elapsed), vested(award, elapsed))


def graded(award: Sequence[Part], elapsed: int) -> Fraction:
    """Each part evenly over its own time, as if it were an award by itself (IFRS 2 IG11)."""
    return sum((straight_line([part], elapsed) for part in award), Fraction(0))


def expected_to_vest(award: Sequence[Part], shares: Sequence[Number]) -> list[Part]:
    """The award as far as it is expected to vest: one share for all parts, or one for each."""
    if len(shares) not in (1, len(award)):
        what = f"{len(shares)} expectations for {len(award)} parts"
        raise AwardError(what, fix="Give one for the whole award, or one for each part")
    each = shares if len(shares) == len(award) else [shares[0]] * len(award)
    return [Part(part.value * exact(share), part.span)
            for part, share in zip(award, each, strict=True)]  # fmt: skip


def cumulative(award: Sequence[Part], attribute: Attribute) -> list[Fraction]:
    """The cost due at the end of each unit of time until the last vesting."""
    return [attribute(award, elapsed) for elapsed in range(1, _span(award) + 1)]


def differences(due: Iterable[Fraction]) -> list[Fraction]:
    """The cost of each period: the amount due at its end, less that due before it."""
    costs, recognised = [], Fraction(0)
    for amount in due:
        costs.append(amount - recognised)
        recognised = amount
    return costs


def costs(award: Sequence[Part], attribute: Attribute) -> list[Fraction]:
    """The cost of each unit of time until the last vesting."""
    return differences(cumulative(award, attribute))


def units_granted(holders: int, units_each: int) -> int:
    """The units of an award that gives each holder the same."""
    return holders * units_each


def share_of(units: Number, granted: Number) -> Fraction:
    """Some units as a share of those they are part of."""
    return exact(units) / exact(granted)


def retained_share(leavers_pct: Number) -> Fraction:
    """The share of an award that vests when so many per cent are expected to leave before."""
    return 1 - exact(leavers_pct) / 100


def _total(award: Sequence[Part]) -> Fraction:
    return sum((part.value for part in award), Fraction(0))


def _span(award: Sequence[Part]) -> int:
    return max((part.span for part in award), default=0)
