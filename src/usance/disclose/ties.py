"""A tie: one published figure that follows from others, and how well it does.

A formula is `scale x (sum of terms / sum of terms) + offset`; sums, translations, ratios, changes
and per-share figures are all of this form. What a tie is called depends on the rule that made it,
never on one tolerance:

| kind | meaning |
|---|---|
| exact | the figure is the formula's value |
| rounded | it is the value rounded at the precision the rule prints; a half may go either way |
| interval | its terms are printed rounded, and some values that print like them give it |
| plug | it carries the residue that lets a translated column close |
| restated | two documents print one line and period differently |
| broken | none of these |

>>> round_to(Fraction(12345, 10), Fraction(1), "half_up"), round_to(Fraction(-5, 2), Fraction(1))
(Fraction(1235, 1), Fraction(-3, 1))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from usance.base.money import half_even, half_up
from usance.disclose.facts import Fact

Read = Callable[[Fact], Fraction]
Term = tuple[Fact, int]
_ROUND = {"half_up": half_up, "half_even": half_even}


class TieKind(StrEnum):
    """The kinds of ties, by how well they hold."""

    EXACT = "exact"
    ROUNDED = "rounded"
    INTERVAL = "interval"
    PLUG = "plug"
    RESTATED = "restated"
    BROKEN = "broken"


def round_to(value: Fraction, step: Fraction, method: str = "half_up") -> Fraction:
    """A value at the nearest multiple of a step."""
    units = value / step
    return _ROUND[method](units.numerator, units.denominator) * step


def printed(fact: Fact) -> Fraction:
    """A fact's own value: how formulas are read unless something else is asked."""
    return fact.value


@dataclass(frozen=True, slots=True, eq=False)
class Tie:
    """A target, the formula it follows from, and the rule that says so."""

    rule: str
    target: Fact
    top: tuple[Term, ...]
    bottom: tuple[Term, ...] = ()
    scale: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    step: Fraction | None = None  # the precision it is rounded at; none: exact
    interval: bool = False
    check_only: bool = False  # not a way to make the figure, only to check it
    method: str = "half_up"
    over: str = ""  # the duration of a roll-forward
    otherwise: TieKind = TieKind.BROKEN  # what it is called when it does not hold

    @property
    def facts(self) -> Iterator[Fact]:
        """The target, then every term."""
        yield self.target
        for fact, _ in self.top:
            yield fact
        for fact, _ in self.bottom:
            yield fact

    def value(self, read: Read = printed) -> Fraction | None:
        """The value of the formula before rounding; None when it would divide by zero."""
        above = _sum(self.top, read)
        if self.bottom:
            below = _sum(self.bottom, read)
            if not below:
                return None
            above /= below
        if self.scale != 1:
            above *= self.scale
        return above + self.offset if self.offset else above

    def expected(self, read: Read = printed) -> Fraction | None:
        """The value that should be printed."""
        value = self.value(read)
        if value is None or self.step is None:
            return value
        return round_to(value, self.step, self.method)

    def printed_for(self, value: Fraction, found: Fraction) -> Fraction:
        """The printed form of a value; a half is the figure found, if that is next to it.

        289,427,077 / 2 is 144,713,538 in one filing and would be 144,713,539 in another: a tie
        that is exact under either rounding says nothing against the figure. Where terms are
        printed rounded themselves, their interval tells.
        """
        if self.step is None:
            return value
        is_half = 2 * abs(value - found) == self.step and (found / self.step).denominator == 1
        if is_half and not self.interval:
            return found
        return round_to(value, self.step, self.method)

    def judge(self, read: Read = printed) -> TieKind:
        """The kind of the tie, from the facts as they are read."""
        value, found = self.value(read), read(self.target)
        if value == found:
            return TieKind.EXACT
        if value is not None and self.printed_for(value, found) == found:
            return TieKind.ROUNDED
        if self.interval and self._reaches(found, read):
            return TieKind.INTERVAL
        return self.otherwise

    def _reaches(self, found: Fraction, read: Read) -> bool:
        bounds = self.bounds(read)
        half = (self.step or self.target.step) / 2
        return bounds is not None and bounds[0] <= found + half and found - half <= bounds[1]

    def bounds(self, read: Read = printed) -> tuple[Fraction, Fraction] | None:
        """The least and the most the formula gives when each term is anything that prints so."""
        low, high = _span(self.top, read)
        if self.bottom:
            least, most = _span(self.bottom, read)
            if least <= 0 <= most:
                return None
            ends = [one / other for one in (low, high) for other in (least, most)]
            low, high = min(ends), max(ends)
        ends = [low * self.scale + self.offset, high * self.scale + self.offset]
        return min(ends), max(ends)

    def solve(self, fact: Fact, read: Read = printed) -> Fraction | None:
        """The value of one fact, at its printed precision, with which the tie would hold."""
        if fact is self.target:
            value = self.expected(read)
            return None if value is None else round_to(value, fact.step)
        aim = (read(self.target) - self.offset) / self.scale
        above, below = _sum(self.top, read), _sum(self.bottom, read)
        if self.bottom and any(term is fact for term, _ in self.bottom):
            times = sum(times for term, times in self.bottom if term is fact)
            value = (above / aim - below) / times + read(fact) if aim else None
        else:
            times = sum(times for term, times in self.top if term is fact)
            reach = aim * below if self.bottom else aim
            value = (reach - above) / times + read(fact) if times else None
        return None if value is None else round_to(value, fact.step)


def _sum(terms: tuple[Term, ...], read: Read) -> Fraction:
    total = Fraction(0)
    for fact, times in terms:
        value = read(fact)
        total += value if times == 1 else value * times
    return total


def _span(terms: tuple[Term, ...], read: Read) -> tuple[Fraction, Fraction]:
    middle = _sum(terms, read)
    slack = sum((fact.step * abs(times) for fact, times in terms), Fraction(0)) / 2
    return middle - slack, middle + slack
