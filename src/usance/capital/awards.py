"""An award of options or restricted shares: what was granted, and what became of it.

A grant may cover many people on the same terms. Those who leave give up what has not vested; so
`forfeited` states unvested units, and the leavers' share of the grant follows: it is that number
over all units that had not vested on the day. What happened is a `UnitChange`, what is expected
an `Estimate`, each with its day; nothing is ever changed in place.

>>> grant = Grant(
...     "2024",
...     Award.RESTRICTED,
...     date(2024, 1, 1),
...     "USD",
...     Decimal("20.00"),
...     (Tranche(date(2025, 1, 1), 600), Tranche(date(2026, 1, 1), 400)),
... )
>>> left = UnitChange(UnitKind.FORFEITED, "2024", date(2025, 6, 30), 100)
>>> held = Holding(grant, changes=(left,))
>>> [str(held.unvested(day)) for day in (date(2024, 6, 30), date(2025, 1, 1), date(2025, 6, 30))]
['1000', '400', '300']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import ceil

from usance.base.errors import UsanceError, raise_all
from usance.base.money import MILLION
from usance.capital.attribution import Part, parts, share_of
from usance.capital.errors import AwardError


class Award(Enum):
    """The kind of award, by what a unit of it becomes."""

    OPTION = "option"
    RESTRICTED = "restricted"


class CostFunction(Enum):
    """The line of the statement of operations that bears a cost."""

    FACILITATION = "facilitation_origination_and_servicing"
    MARKETING = "sales_and_marketing"
    ADMINISTRATION = "general_and_administrative"


class UnitKind(Enum):
    """An event in the life of award units; the order is that within a day."""

    VESTED = "vested"
    """Restricted shares were delivered."""
    EXERCISED = "exercised"
    """Vested options became shares."""
    LAPSED = "lapsed"
    """Vested options expired unused; their cost stays."""
    FORFEITED = "forfeited"
    """Unvested units were given up by those who left."""


class Source(Enum):
    """The origin of delivered shares."""

    NEW = "new"
    RESERVED = "reserved"
    TREASURY = "treasury"


@dataclass(frozen=True, slots=True)
class Tranche:
    """Units that vest on one day."""

    vests_on: date
    units: int


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant: its units, and their value each on the day of the grant."""

    name: str
    award: Award
    granted_on: date
    currency: str
    fair_value: Decimal
    tranches: tuple[Tranche, ...]
    exercise_price: Decimal = Decimal(0)
    functions_ppm: tuple[tuple[CostFunction, int], ...] = ((CostFunction.ADMINISTRATION, MILLION),)
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        raise_all(list(self._problems()), where=self.where)

    @property
    def units(self) -> int:
        """All units granted."""
        return sum(tranche.units for tranche in self.tranches)

    @property
    def parts(self) -> list[Part]:
        """The tranches as their value in major units and their days from grant to vesting."""
        sizes = [(each.units, self.elapsed(each.vests_on)) for each in self.tranches]
        return parts(sizes, self.fair_value)

    def elapsed(self, day: date) -> int:
        """Days from the grant."""
        return (day - self.granted_on).days

    def _problems(self) -> Iterator[UsanceError]:
        def wrong(what: str, fix: str) -> AwardError:
            return AwardError(f"grant {self.name!r}: {what}", where=self.where, fix=fix)

        days = [tranche.vests_on for tranche in self.tranches]
        if not days or min(tranche.units for tranche in self.tranches) <= 0:
            yield wrong("nothing vests", "Give at least one vesting day with units above zero")
        if days != sorted(set(days)):
            yield wrong("vesting days are out of order", "List each day once, the earliest first")
        if days and min(days) < self.granted_on:
            yield wrong("a part vests before the grant", f"Give {self.granted_on} or a later day")
        if self.fair_value < 0 or self.exercise_price < 0:
            yield wrong("a price is below zero", "Give zero or more")
        if self.award is Award.RESTRICTED and self.exercise_price:
            yield wrong("restricted shares have an exercise price", "Leave it out, or say option")
        shares = [ppm for _, ppm in self.functions_ppm]
        if sum(shares) != MILLION or min(shares) < 0:
            yield wrong("the functions do not bear the whole cost", "Make their shares sum to 100%")


@dataclass(frozen=True, slots=True)
class Estimate:
    """From a day on, the share of the grant expected to vest: one, or one for each tranche."""

    grant: str
    on: date
    shares: tuple[Fraction, ...]
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.shares or not all(0 <= share <= 1 for share in self.shares):
            what = f"the expectation for grant {self.grant!r} is not between 0% and 100%"
            raise AwardError(what, where=self.where, fix="Give the share expected to vest")


@dataclass(frozen=True, slots=True)
class UnitChange:
    """So many units vested, were exercised, lapsed or were forfeited."""

    kind: UnitKind
    grant: str
    on: date
    units: int
    source: Source = Source.NEW
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.units <= 0:
            what = f"{self.units} units {self.kind.value}"
            raise AwardError(what, where=self.where, fix="Give a number above zero")


@dataclass(frozen=True, slots=True)
class Holding:
    """A grant with everything that is known to have happened to it and is expected of it."""

    grant: Grant
    changes: tuple[UnitChange, ...] = ()
    estimates: tuple[Estimate, ...] = ()

    def leavers(self, day: date) -> list[tuple[date, Fraction]]:
        """Leavers by a day: when they left, and their share of the grant."""
        return [
            (change.on, share_of(change.units, unvested))
            for change in self._ordered()
            if change.kind is UnitKind.FORFEITED and change.on <= day
            if (unvested := self._after(change.on))
        ]

    def remaining(self, day: date) -> Fraction:
        """The share of the grant held by those who have not left."""
        return 1 - sum((share for _, share in self.leavers(day)), Fraction(0))

    def unvested(self, day: date) -> Fraction:
        """Units that may still vest."""
        return self._after(day) * self.remaining(day)

    def vested(self, day: date) -> Fraction:
        """Units that have vested; who leaves on a vesting day has vested."""
        return sum((tranche.units * self._kept(tranche, day) for tranche in self.grant.tranches
                    if tranche.vests_on <= day), Fraction(0))  # fmt: skip

    def outstanding(self, day: date) -> Fraction:
        """Units that can still become shares: unvested, and vested options not yet used."""
        if day < self.grant.granted_on:
            return Fraction(0)
        if self.grant.award is Award.RESTRICTED:
            return self.unvested(day)
        used = self.units(day, UnitKind.EXERCISED, UnitKind.LAPSED)
        return self.unvested(day) + self.vested(day) - used

    def units(self, day: date, *kinds: UnitKind) -> int:
        """Units to which this has happened by a day."""
        return sum(each.units for each in self.changes if each.on <= day and each.kind in kinds)

    def expected(self, day: date) -> list[Fraction]:
        """For each tranche, the share of it that vested or is expected to, as seen on a day.

        An expectation that more have already left than was foreseen is out of date: nobody is
        expected to vest who is no longer there. Without one, all who are there are expected to.
        """
        known = [estimate for estimate in self.estimates if estimate.on <= day]
        latest = max(known, key=lambda estimate: estimate.on).shares if known else (Fraction(1),)
        each = latest if len(latest) > 1 else latest * len(self.grant.tranches)
        here = self.remaining(day)
        return [
            self._kept(tranche, day) if tranche.vests_on <= day else min(share, here)
            for tranche, share in zip(self.grant.tranches, each, strict=True)
        ]

    def problems(self) -> Iterator[UsanceError]:
        """Everything that happened to more units than there were."""
        for estimate in self.estimates:
            if len(estimate.shares) not in (1, len(self.grant.tranches)):
                what = f"{len(estimate.shares)} expectations, {len(self.grant.tranches)} tranches"
                fix = "Give one share for the grant, or one for each tranche"
                yield AwardError(what, where=estimate.where, fix=fix)
        for index, change in enumerate(self._ordered()):
            before = Holding(self.grant, tuple(self._ordered()[:index]))
            there = before.available(change.kind, change.on)
            # Leavers' units are spread evenly over tranches, people's own are whole.
            if change.units > ceil(there):
                what = f"{change.units} units {change.kind.value}, of {ceil(there)} that could be"
                fix = "Correct the number, the day or the grant"
                yield AwardError(what, where=change.where, fix=fix)

    def available(self, kind: UnitKind, day: date) -> Fraction:
        """Units to which this could happen on a day."""
        options = self.grant.award is Award.OPTION
        if kind is UnitKind.FORFEITED:
            return self.unvested(day) if day >= self.grant.granted_on else Fraction(0)
        if kind is UnitKind.VESTED:
            return Fraction(0) if options else self.vested(day) - self.units(day, kind)
        used = self.units(day, UnitKind.EXERCISED, UnitKind.LAPSED)
        return self.vested(day) - used if options else Fraction(0)

    def _ordered(self) -> list[UnitChange]:
        ranks = list(UnitKind)
        return sorted(self.changes, key=lambda change: (change.on, ranks.index(change.kind)))

    def _after(self, day: date) -> int:
        return sum(each.units for each in self.grant.tranches if each.vests_on > day)

    def _kept(self, tranche: Tranche, day: date) -> Fraction:
        left = (share for on, share in self.leavers(day) if on < tranche.vests_on)
        return 1 - sum(left, Fraction(0))
