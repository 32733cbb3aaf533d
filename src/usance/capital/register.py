"""The share register: every change of the shares in issue, and what is outstanding on any day.

Shares are ordinary shares; an ADS stands for so many of them (`capital.ads_ratio`). Outstanding
are the shares in issue without those bought back and kept (treasury) and those issued in advance
for awards (reserved). A change counts from its own day on: averages take each day as it ended.

>>> register = Register(
...     (
...         ShareChange(ShareKind.ISSUED, date(2024, 1, 1), 1_000, "USD"),
...         ShareChange(ShareKind.REPURCHASED, date(2024, 1, 31), 310, "USD", 6_200_00),
...     )
... )
>>> register.at(date(2024, 1, 31))
Balances(issued=1000, treasury=310, reserved=0)
>>> register.outstanding(date(2024, 1, 31)), register.average(date(2024, 1, 1), date(2024, 1, 31))
(690, Fraction(990, 1))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from usance.base.errors import UsanceError
from usance.base.money import half_up
from usance.capital.awards import Source, UnitChange, UnitKind
from usance.capital.errors import RegisterError
from usance.capital.prices import daily_average, whole


class ShareKind(Enum):
    """A kind of share change; the order is that within a day."""

    ISSUED = "issued"
    """New shares for money, or those there at the opening."""
    RESERVED = "reserved"
    """New shares kept ready for awards; not outstanding yet."""
    REPURCHASED = "repurchased"
    """Outstanding shares bought back into treasury."""
    DELIVERED = "delivered"
    """Shares handed over for an award that vested or was exercised."""
    REISSUED = "reissued"
    """Treasury shares sold again."""
    RETIRED = "retired"
    """Treasury shares cancelled."""


class Balances(NamedTuple):
    """The register at the end of a day."""

    issued: int
    treasury: int
    reserved: int

    @property
    def outstanding(self) -> int:
        """Shares in issue that are held by others."""
        return self.issued - self.treasury - self.reserved


_EFFECTS: dict[tuple[ShareKind, Source], Balances] = {
    (ShareKind.ISSUED, Source.NEW): Balances(1, 0, 0),
    (ShareKind.RESERVED, Source.NEW): Balances(1, 0, 1),
    (ShareKind.REPURCHASED, Source.NEW): Balances(0, 1, 0),
    (ShareKind.DELIVERED, Source.NEW): Balances(1, 0, 0),
    (ShareKind.DELIVERED, Source.RESERVED): Balances(0, 0, -1),
    (ShareKind.DELIVERED, Source.TREASURY): Balances(0, -1, 0),
    (ShareKind.REISSUED, Source.NEW): Balances(0, -1, 0),
    (ShareKind.RETIRED, Source.NEW): Balances(-1, -1, 0),
}


@dataclass(frozen=True, slots=True)
class ShareChange:
    """So many ordinary shares, and the money paid for them (commissions included)."""

    kind: ShareKind
    on: date
    shares: int
    currency: str
    amount_minor: int = 0
    programme: str = ""
    source: Source = Source.NEW
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.shares <= 0 or self.amount_minor < 0:
            what = f"{self.shares} shares {self.kind.value} for {self.amount_minor}"
            fix = "Give shares above zero, and an amount of zero or more"
            raise RegisterError(what, where=self.where, fix=fix)
        if (self.kind, self.source) not in _EFFECTS:
            what = f"shares {self.kind.value} from {self.source.value}"
            fix = "Only shares delivered for awards name a source"
            raise RegisterError(what, where=self.where, fix=fix)

    @property
    def effect(self) -> Balances:
        """The change of each balance."""
        return Balances(*(each * self.shares for each in _EFFECTS[self.kind, self.source]))


def delivery(change: UnitChange, currency: str) -> ShareChange | None:
    """The shares handed over for units of an award, one for each; None if there are none."""
    if change.kind not in (UnitKind.VESTED, UnitKind.EXERCISED):
        return None
    return ShareChange(ShareKind.DELIVERED, change.on, change.units, currency,
                       source=change.source, where=change.where)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Register:
    """All changes of a company's shares, in any order."""

    changes: tuple[ShareChange, ...] = ()

    def at(self, day: date) -> Balances:
        """The balances at the end of a day."""
        effects = [change.effect for change in self.changes if change.on <= day]
        return Balances(*map(sum, zip(*effects, strict=True))) if effects else Balances(0, 0, 0)

    def outstanding(self, day: date) -> int:
        """Shares outstanding at the end of a day."""
        return self.at(day).outstanding

    def average(self, first: date, last: date) -> Fraction:
        """The average number outstanding over a period, both days included, exact."""
        return daily_average(self.outstanding, (each.on for each in self.changes), first, last)

    def average_shares(self, first: date, last: date) -> int:
        """The average as it is printed: the nearest whole share, halves up."""
        return whole(self.average(first, last))

    def treasury_cost_minor(self, day: date) -> int:
        """The cost of treasury shares, each at the average of its time."""
        return sum(cost for change, cost in self.treasury_moves() if change.on <= day)

    def problems(self) -> Iterator[UsanceError]:
        """Every change that takes more shares than there are, at the end of its day."""
        for change in self.changes:
            names = ("in issue", "in treasury", "reserved")
            short = [(name, held) for name, held, moved in
                     zip(names, self.at(change.on), change.effect, strict=True)
                     if moved < 0 and held < 0]  # fmt: skip
            if change.kind is ShareKind.REPURCHASED and self.outstanding(change.on) < 0:
                short.append(("outstanding", self.outstanding(change.on)))
            for name, held in short:
                what = f"{change.shares} shares {change.kind.value}, {-held} more than were {name}"
                fix = "Correct the number or the day, or add the shares that were there before"
                yield RegisterError(what, where=change.where, fix=fix)

    def treasury_moves(self) -> Iterator[tuple[ShareChange, int]]:
        """The change of the cost of treasury shares by each share change, in order of time."""
        ranks, shares, cost = list(ShareKind), 0, 0
        for change in sorted(self.changes, key=lambda each: (each.on, ranks.index(each.kind))):
            moved = change.effect.treasury
            bought = change.amount_minor if moved > 0 else 0
            sold = half_up(cost * -moved, shares) if moved < 0 < shares else 0
            shares, cost = shares + moved, cost + bought - sold
            yield change, bought - sold
