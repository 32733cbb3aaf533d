"""Consolidation: the books of every entity translated, added up, and intercompany balances out.

Assets and liabilities of a foreign entity take the closing rate, its income the average of the
period of its close, its equity the rate of its own day; the difference is other comprehensive
income. Intercompany balances cancel in every currency before translation
(`intercompany_differences` names those that do not), so their elimination loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from usance.base.codes import Currency, IfrsAdjustment
from usance.base.dates import first_of_month, from_day, last_of_month, to_month
from usance.books.chart import Account, AccountKind, Chart, load_chart
from usance.books.group.entities import Entities
from usance.books.group.exchange_rates import Rates, converted_at
from usance.books.statements.ledger import BEGINNING, Ledger

Column = dict[str, int]
"""Amounts by account, debit positive, in the group's currency."""


class IntercompanyDifference(NamedTuple):
    """An intercompany balance that does not cancel."""

    account: str
    tag: IfrsAdjustment
    currency: Currency
    minor: int


@dataclass(frozen=True)
class Consolidated:
    """The group at the end of a day: a column for each entity and tag, and their sum."""

    day: date
    entities: Entities
    columns: Mapping[tuple[int, IfrsAdjustment], Column]
    chart: Chart

    @cached_property
    def eliminations(self) -> dict[IfrsAdjustment, Column]:
        """Eliminations of intercompany balances; rounding of translation goes to equity."""
        found: dict[IfrsAdjustment, Column] = {}
        for (_, tag), column in self.columns.items():
            taken = found.setdefault(tag, {})
            for name, minor in column.items():
                if self.chart[name].within_group:
                    taken[name] = taken.get(name, 0) - minor
                    rest = taken.get("other_comprehensive", 0) + minor
                    taken["other_comprehensive"] = rest
        return found

    @cached_property
    def totals(self) -> dict[IfrsAdjustment, Column]:
        """The group by tag: the sum of its entities and the eliminations."""
        found: dict[IfrsAdjustment, Column] = {}
        parts = [(tag, column) for (_, tag), column in self.columns.items()]
        for tag, column in [*parts, *self.eliminations.items()]:
            total = found.setdefault(tag, {})
            for name, minor in column.items():
                total[name] = total.get(name, 0) + minor
        return found

    def amount(self, name: str, *tags: IfrsAdjustment) -> int:
        """The group's balance of an account, under US GAAP unless tags are given."""
        return sum(self.totals.get(tag, {}).get(name, 0) for tag in tags or (IfrsAdjustment.NONE,))


@dataclass(frozen=True)
class GroupBooks:
    """All lines of the group, consolidated on any day."""

    ledger: Ledger
    entities: Entities
    rates: Rates
    _seen: dict[date, Consolidated] = field(default_factory=dict, compare=False, repr=False)

    def at(self, day: date) -> Consolidated:
        """The group at the end of a period."""
        if day not in self._seen:
            self._seen[day] = self._at(day)
        return self._seen[day]

    def _at(self, day: date) -> Consolidated:
        columns: dict[tuple[int, IfrsAdjustment], Column] = {}
        seen = self.ledger.through(to_month(day))
        for (entity, tag, _), name, minor in self.translated(seen, day):
            column = columns.setdefault((entity, tag), {})
            column[name] = column.get(name, 0) + minor
        for column in columns.values():
            rest = column.get("other_comprehensive", 0) - sum(column.values())
            column["other_comprehensive"] = rest
        return Consolidated(day, self.entities, columns, load_chart())

    def translated(
        self, ledger: Ledger, day: date
    ) -> Iterator[tuple[tuple[int, IfrsAdjustment, int], str, int]]:
        """Lines in the group's currency by entity, tag and rule, without translation differences.

        Balances that take the rate of a day have rule 0: they are translated as one.
        """
        accounts = load_chart().by_number
        for key, minor in _summed(ledger).items():
            account = accounts[key.account]
            if account.name == "exchange_position":
                continue  # what it stands for is translated itself
            rate = self._rate(account, key, day)
            yield (
                (key.entity, IfrsAdjustment(key.tag), key.rule),
                account.name,
                converted_at(minor, rate),
            )

    def _rate(self, account: Account, key: _Part, day: date) -> Fraction:
        currency = Currency(key.currency)
        if not _at_historical_rate(account):
            # What an entity opened with is worth that, also in a year that began before it did.
            return self.rates.at(currency, max(day, self._opened.get(key.entity, day)))
        if account.kind is AccountKind.EQUITY or key.period == BEGINNING or account.within_group:
            return self.rates.at(currency, from_day(key.day))
        return self.rates.average(currency, *self.span(key.period))

    @cached_property
    def _opened(self) -> dict[int, date]:
        """By entity, the last day of its opening balances."""
        opening = self.ledger.take(self.ledger.period == BEGINNING)
        days: dict[int, int] = {}
        for entity, day in zip(opening.entity.tolist(), opening.day.tolist(), strict=True):
            days[entity] = max(day, days.get(entity, day))
        return {entity: from_day(day) for entity, day in days.items()}

    def span(self, period: int) -> tuple[date, date]:
        """First and last day of a close: from the end of the one before, or the opening."""
        return self._spans[period], last_of_month(period)

    @cached_property
    def _spans(self) -> dict[int, date]:
        starts, before = {}, None
        opening = self.ledger.take(self.ledger.period == BEGINNING)
        if len(opening):
            before = from_day(int(opening.day.max()))
        for period in self.ledger.periods():
            own = first_of_month(period)
            starts[period] = before + timedelta(days=1) if before else own
            before = last_of_month(period)
        return starts


class _Part(NamedTuple):
    entity: int
    tag: int
    account: int
    currency: int
    rule: int
    period: int
    day: int


def _at_historical_rate(account: Account) -> bool:
    """True for accounts translated at the rate of their day or period: equity, income, holdings."""
    lasting = account.kind not in (AccountKind.ASSET, AccountKind.LIABILITY)
    return lasting or account.name == "subsidiaries"


def _summed(ledger: Ledger) -> dict[_Part, int]:
    """Sums by the columns that decide the rate; only historical rates need rule, period and day."""
    kept = [account.number for account in load_chart() if _at_historical_rate(account)]
    own = np.isin(ledger.account, kept)
    profit = [each.number for each in load_chart() if not each.kind.on_balance_sheet]
    dated = own & ~(np.isin(ledger.account, profit) & (ledger.period != BEGINNING))
    summed = ledger.sums(
        lambda book: [
            book.entity, book.tag, book.account, book.currency, np.where(own, book.rule, 0),
            np.where(own, book.period, 0), np.where(dated, book.day, 0),
        ]
    )  # fmt: skip
    return {_Part(*key): minor for key, minor in summed.items()}


def intercompany_differences(ledger: Ledger) -> list[IntercompanyDifference]:
    """Balances within the group that do not cancel over its entities; there should be none."""
    chart = load_chart()
    found: dict[tuple[str, IfrsAdjustment, Currency], int] = {}
    for key, minor in ledger.balances().items():
        account = chart.by_number[key.account]
        if account.within_group and account.name != "exchange_position":
            place = account.name, IfrsAdjustment(key.tag), Currency(key.currency)
            found[place] = found.get(place, 0) + minor
    return [
        IntercompanyDifference(*place, minor) for place, minor in sorted(found.items()) if minor
    ]


def trial_balance(ledger: Ledger) -> dict[tuple[int, int, int], int]:
    """Sums of all balances by entity, tag and currency that are not zero; there should be none."""
    found: dict[tuple[int, int, int], int] = {}
    for key, minor in ledger.balances().items():
        place = key.entity, key.tag, key.currency
        found[place] = found.get(place, 0) + minor
    return {place: minor for place, minor in found.items() if minor}
