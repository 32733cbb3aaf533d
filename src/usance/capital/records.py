"""Everything that was said of a company's capital, put together: awards, shares, dividends.

A record is one thing that happened or was decided. Records come in any order; checks look at all
of them and name each that cannot be true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TypeVar

from usance.base.errors import UsanceError, unknown
from usance.base.money import Money
from usance.capital import repurchases
from usance.capital.awards import Estimate, Grant, Holding, UnitChange
from usance.capital.dividends import Dividend, DividendPaid
from usance.capital.errors import CapitalError, DividendError
from usance.capital.register import Register, ShareChange, delivery
from usance.capital.repurchases import Programme

Record = Grant | Estimate | UnitChange | ShareChange | Dividend | DividendPaid | Programme
"""One fact about capital."""

R = TypeVar("R", Grant, Estimate, UnitChange, ShareChange, Dividend, DividendPaid, Programme)


@dataclass(frozen=True)
class Capital:
    """The records of one entity."""

    entity: int
    records: tuple[Record, ...] = ()

    @cached_property
    def holdings(self) -> tuple[Holding, ...]:
        """Each grant with what happened to it and what is expected of it."""
        changes, estimates = self.of(UnitChange), self.of(Estimate)
        return tuple(
            Holding(
                grant,
                tuple(change for change in changes if change.grant == grant.name),
                tuple(estimate for estimate in estimates if estimate.grant == grant.name),
            )
            for grant in self.of(Grant)
        )

    @cached_property
    def register(self) -> Register:
        """The share register, with the shares delivered for awards."""
        currency = {grant.name: grant.currency for grant in self.of(Grant)}
        delivered = (delivery(change, currency.get(change.grant, ""))
                     for change in self.of(UnitChange))  # fmt: skip
        return Register((*self.of(ShareChange), *filter(None, delivered)))

    def of(self, kind: type[R]) -> tuple[R, ...]:
        """The records of one kind, as they were given."""
        return tuple(record for record in self.records if isinstance(record, kind))

    def problems(self) -> list[UsanceError]:
        """Everything that cannot be true of these records together."""
        return [*self._names(), *self._references(), *self._awards(), *self.register.problems(),
                *self._repurchases(), *self._payments()]  # fmt: skip

    def _names(self) -> Iterator[UsanceError]:
        yield from _twice(self.of(Grant))
        yield from _twice(self.of(Dividend))
        yield from _twice(self.of(Programme))

    def _references(self) -> Iterator[UsanceError]:
        grants = [grant.name for grant in self.of(Grant)]
        about: list[UnitChange | Estimate] = [*self.of(UnitChange), *self.of(Estimate)]
        for record in about:
            if record.grant not in grants:
                yield unknown("grant", record.grant, grants, where=record.where)
        programmes = [programme.name for programme in self.of(Programme)]
        for change in self.of(ShareChange):
            if change.programme and change.programme not in programmes:
                yield unknown("programme", change.programme, programmes, where=change.where)
        dividends = [dividend.name for dividend in self.of(Dividend)]
        for payment in self.of(DividendPaid):
            if payment.dividend not in dividends:
                yield unknown("dividend", payment.dividend, dividends, where=payment.where)

    def _awards(self) -> Iterator[UsanceError]:
        for held in self.holdings:
            yield from held.problems()

    def _repurchases(self) -> Iterator[UsanceError]:
        for programme in self.of(Programme):
            yield from repurchases.problems(programme, self.of(ShareChange))

    def _payments(self) -> Iterator[UsanceError]:
        for dividend in self.of(Dividend):
            paid = 0
            for payment in sorted(self.of(DividendPaid), key=lambda each: each.on):
                if payment.dividend == dividend.name:
                    paid += payment.amount_minor
                    yield from self._payment(dividend, payment, paid)

    def _payment(
        self, dividend: Dividend, payment: DividendPaid, paid_minor: int
    ) -> Iterator[UsanceError]:
        if payment.currency != dividend.currency:
            what = f"dividend {dividend.name!r} was declared in {dividend.currency}"
            fix = "Give the amount in that currency; what was exchanged is another fact"
            yield DividendError(what, where=payment.where, fix=fix)
            return
        owed = dividend.declared_minor(self.register, payment.on)
        if paid_minor > owed:
            beyond = Money(paid_minor - owed, dividend.currency)
            what = f"{beyond} more is paid for dividend {dividend.name!r} than is owed"
            fix = "Correct the amount or the day, or complete the share register"
            yield DividendError(what, where=payment.where, fix=fix)


def day_of(record: Record) -> date:
    """The day a record takes effect."""
    match record:
        case Grant():
            return record.granted_on
        case Dividend():
            return record.declared_on
        case Programme():
            return record.opens_on
        case _:
            return record.on


def _twice(named: Iterable[Grant | Dividend | Programme]) -> Iterator[UsanceError]:
    seen: Counter[str] = Counter()
    for record in named:
        seen[record.name] += 1
        if seen[record.name] == 2:
            kind = type(record).__name__.lower()
            what = f"two records are called {kind} {record.name!r}"
            yield CapitalError(what, where=record.where, fix="Give each its own name")
