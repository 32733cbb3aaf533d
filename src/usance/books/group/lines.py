"""Lines of the group as columns: cumulative, debit positive, zero for each rule, fact and entity.

A fact gives rise to `Amount`s; a rule turns an amount into lines. If its two sides are in different
entities, intercompany balances join them. If a fact's currency is not that of the entity, monetary
items stay in it, everything else is converted at the rate of the day, and the exchange position
takes the counter-values, so that each currency sums to zero by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import Currency, IfrsAdjustment
from usance.base.dates import to_day
from usance.base.errors import UsanceError
from usance.books.chart import Account, AccountKind, Chart, load_chart
from usance.books.errors import GroupFactError
from usance.books.group.entities import Entities
from usance.books.group.exchange_rates import Rates
from usance.books.group.facts import GroupFact
from usance.books.group.rules import OWN, GroupRule, basis_of, group_rules_of

AT_HISTORICAL_RATE = frozenset({
    "prepaid", "property", "land_use_rights", "intangibles", "goodwill", "subsidiaries",
    "group_dividends",
})  # fmt: skip
"""Non-monetary assets, and the dividends they pay: they keep the rate of their day."""


def at_historical_rate(account: Account) -> bool:
    """True for a non-monetary account: it keeps the rate of the day of an entry."""
    sheet = account.kind in (AccountKind.ASSET, AccountKind.LIABILITY)
    return not sheet or account.name in AT_HISTORICAL_RATE


@dataclass(frozen=True, slots=True)
class Amount:
    """A cumulative amount of a fact, with the accounts and entities it names for the rules."""

    name: str
    fact: GroupFact
    minor: int
    day: date
    """The day of its exchange rate."""
    accounts: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    in_currency: Currency | None = None
    """Its currency, if not the fact's."""

    @property
    def currency(self) -> Currency:
        """The currency of the amount."""
        return self.fact.currency if self.in_currency is None else self.in_currency


class Line(NamedTuple):
    """One line: a rule at work on a fact in an entity."""

    rule: int
    entity: int
    basis: int
    tag: int
    account: int
    currency: int
    party: int
    fact_id: int
    day: int
    amount: int


@dataclass(frozen=True, slots=True)
class GroupLines:
    """Lines as columns, sorted, without zeros."""

    rule: I64
    entity: I64
    basis: I64
    tag: I64
    account: I64
    currency: I64
    party: I64
    fact_id: I64
    day: I64
    amount: I64

    def __len__(self) -> int:
        return len(self.amount)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> GroupLines:
        """Lines as columns; equal ones are summed."""
        total: dict[tuple[int, ...], int] = {}
        for line in lines:
            total[line[:-1]] = total.get(line[:-1], 0) + line.amount
        rows = sorted((*key, amount) for key, amount in total.items() if amount)
        table = np.array(rows, np.int64).reshape(-1, len(Line._fields))
        return cls(*(np.ascontiguousarray(column) for column in table.T))

    def __iter__(self) -> Iterator[Line]:
        columns = (getattr(self, name).tolist() for name in Line._fields)
        return map(Line._make, zip(*columns, strict=True))

    def __add__(self, other: GroupLines) -> GroupLines:
        return GroupLines.of([*self, *other])

    def __sub__(self, before: GroupLines) -> GroupLines:
        """Movements since an earlier day; accruals are dated when they were last counted."""
        days: dict[Line, int] = {}
        moved = [*self, *(line._replace(amount=-line.amount) for line in before)]
        for line in moved:
            key = line._replace(day=0, amount=0)
            days[key] = max(days.get(key, line.day), line.day)
        return GroupLines.of(
            line._replace(day=days[line._replace(day=0, amount=0)]) for line in moved
        )


@dataclass(frozen=True, slots=True)
class Poster:
    """Turns amounts into lines."""

    entities: Entities
    rates: Rates
    chart: Chart = field(default_factory=load_chart)

    def lines(self, amount: Amount) -> Iterator[Line]:
        """The lines of an amount under every rule that it moves."""
        for rule in group_rules_of(amount.name):
            if amount.minor and rule.debit and _fits(rule, amount):
                yield from self._of_rule(rule, amount)

    def _of_rule(self, rule: GroupRule, amount: Amount) -> Iterator[Line]:
        legs: dict[int, list[tuple[Account, int]]] = {}
        for name, place, sign in rule.sides:
            entity = amount.fact.entity if place == OWN else amount.places[place[1:]]
            account = self._account(name, amount)
            legs.setdefault(entity, []).append((account, sign * amount.minor))
        within = self.chart["within_group"]
        for entity, own in legs.items():
            rest = sum(minor for _, minor in own)
            joined = [*own, (within, -rest)] if rest else own
            yield from self.entry(
                rule.number, rule.tag, amount.fact, entity, joined, amount.day, amount.currency
            )

    def _account(self, name: str, amount: Amount) -> Account:
        account = self.chart[amount.accounts[name[1:]] if name.startswith("$") else name]
        if account.related and amount.fact.party in self.entities.related:
            return self.chart[account.related]
        return account

    def entry(
        self, rule: int, tag: IfrsAdjustment, fact: GroupFact, entity: int,
        legs: Iterable[tuple[Account, int]], day: date, given: Currency,
    ) -> Iterator[Line]:  # fmt: skip
        """Lines in one entity from legs in a given currency that sum to zero."""
        own = self.entities[entity].currency
        sums = {own: 0, given: 0}
        for account, minor in legs:
            stays = account.within_group or not at_historical_rate(account)
            currency = given if stays else own
            signed = minor if stays else self.converted(minor, given, own, day, fact)
            sums[currency] += signed
            yield self.line(rule, tag, fact, entity, account, currency, signed, day)
        position = self.chart["exchange_position"]
        for currency, total in sums.items():
            if total:
                yield self.line(rule, tag, fact, entity, position, currency, -total, day)

    def worth(self, fact: GroupFact) -> int:
        """A fact's amount in its entity's own currency, at the rate of its day."""
        own = self.entities[fact.entity].currency
        return self.converted(fact.amount_minor, fact.currency, own, fact.effective_on, fact)

    def converted(
        self, minor: int, given: Currency, own: Currency, day: date, fact: GroupFact
    ) -> int:
        """An amount in another currency; the fact is named where there is no rate."""
        try:
            return self.rates.convert(minor, given, own, day)
        except UsanceError as error:
            raise GroupFactError(error.what, where=fact.where, fix=error.fix) from None

    def line(
        self, rule: int, tag: IfrsAdjustment, fact: GroupFact, entity: int, account: Account,
        currency: Currency, minor: int, day: date,
    ) -> Line:  # fmt: skip
        """One line as it is."""
        return Line(rule, entity, int(basis_of(tag)), int(tag), account.number, int(currency),
                    fact.party, fact.fact_id, to_day(day), minor)  # fmt: skip


def _fits(rule: GroupRule, amount: Amount) -> bool:
    detail = amount.fact.detail
    return all(_shown(detail.get(key)) == value for key, value in rule.when.items())


def _shown(value: object) -> str:
    return str(getattr(value, "value", value))
