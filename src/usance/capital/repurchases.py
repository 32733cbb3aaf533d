"""Repurchase programmes: what may be spent, in which window, and how much of it has been used.

>>> from usance.capital.prices import rounded
>>> from usance.capital.register import ShareChange, ShareKind
>>> programme = Programme("2024", "USD", 350_000_000_00, date(2024, 4, 1), date(2025, 3, 31))
>>> bought = [ShareChange(ShareKind.REPURCHASED, date(2024, 5, 2), 400, "USD", 3_860_00, "2024")]
>>> used = utilisation(programme, bought, date(2024, 5, 17))
>>> used.shares, used.amount_minor, str(rounded(used.average_price(2), 2))
(400, 386000, '19.30')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from usance.base.codes import Currency
from usance.base.errors import UsanceError
from usance.base.money import Money
from usance.capital.errors import RepurchaseError
from usance.capital.register import ShareChange, ShareKind


@dataclass(frozen=True, slots=True)
class Programme:
    """Leave to buy back shares up to an amount between two days, both included."""

    name: str
    currency: str
    limit_minor: int
    opens_on: date
    closes_on: date
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.limit_minor <= 0 or self.opens_on > self.closes_on:
            what = f"programme {self.name!r} has no limit, or closes before it opens"
            fix = "Give an amount above zero, and the first day before the last"
            raise RepurchaseError(what, where=self.where, fix=fix)


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Purchases under a programme by a day, commissions included."""

    programme: Programme
    shares: int
    amount_minor: int

    @property
    def remaining_minor(self) -> int:
        """The amount that may still be spent."""
        return self.programme.limit_minor - self.amount_minor

    def average_price(self, ads_ratio: int = 1) -> Fraction:
        """The average paid for one ADS (or one share) in major units, exact; 0 before any."""
        scale = 10 ** Currency[self.programme.currency].exponent
        paid = self.amount_minor * ads_ratio
        return Fraction(paid, self.shares * scale) if self.shares else Fraction(0)


def utilisation(programme: Programme, changes: Iterable[ShareChange], day: date) -> Utilisation:
    """The utilisation of a programme by a day."""
    bought = [each for each in _bought(programme, changes) if each.on <= day]
    shares = sum(each.shares for each in bought)
    return Utilisation(programme, shares, sum(each.amount_minor for each in bought))


def problems(programme: Programme, changes: Iterable[ShareChange]) -> Iterator[UsanceError]:
    """Each repurchase outside its programme's window, currency or limit."""
    spent = 0
    for each in sorted(_bought(programme, changes), key=lambda change: change.on):
        spent += each.amount_minor
        name = f"programme {programme.name!r}"
        if not programme.opens_on <= each.on <= programme.closes_on:
            what = f"a repurchase on {each.on} outside {name}"
            fix = f"Give a day from {programme.opens_on} to {programme.closes_on}"
            yield RepurchaseError(what, where=each.where, fix=fix)
        if each.currency != programme.currency:
            what = f"a repurchase in {each.currency} under {name} in {programme.currency}"
            yield RepurchaseError(what, where=each.where, fix=f"Give it in {programme.currency}")
        elif spent > programme.limit_minor:
            beyond = Money(spent - programme.limit_minor, programme.currency)
            what = f"with this repurchase {name} is exceeded by {beyond}"
            fix = "Correct the amount, or name the programme that covers it"
            yield RepurchaseError(what, where=each.where, fix=fix)


def _bought(programme: Programme, changes: Iterable[ShareChange]) -> list[ShareChange]:
    return [each for each in changes
            if each.kind is ShareKind.REPURCHASED and each.programme == programme.name]  # fmt: skip
