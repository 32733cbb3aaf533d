"""The ledger: all lines of the books as columns, of loans and of facts of the group."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import date
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import Currency
from usance.base.columns import arrays, order_of
from usance.base.dates import from_day, to_day, to_month
from usance.books.chart import Chart, load_chart
from usance.books.group.entities import Entities
from usance.books.group.exchange_rates import Rates
from usance.books.group.lines import GroupLines, at_historical_rate
from usance.books.group.rules import OPENING

_COLUMNS = [
    "entity", "basis", "tag", "account", "currency", "rule", "period", "effective_on",
    "amount_minor",
]  # fmt: skip
BEGINNING = -(2**15)
"""The period of opening balances: before every other."""


class Key(NamedTuple):
    """The key of a balance."""

    entity: int
    basis: int
    tag: int
    account: int
    currency: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """Lines as columns; `period` is the month of the close that posted them."""

    entity: I64
    basis: I64
    tag: I64
    account: I64
    currency: I64
    rule: I64
    period: I64
    day: I64
    amount: I64

    def __len__(self) -> int:
        return len(self.amount)

    @classmethod
    def of_postings(cls, table: pa.Table) -> Ledger:
        """Lines of a `postings` table."""
        columns = {
            name: values.astype(np.int64) for name, values in arrays(table.select(_COLUMNS)).items()
        }
        opening = columns["rule"] == OPENING
        columns["period"] = np.where(opening, BEGINNING, columns["period"])
        return cls(*columns.values())

    @classmethod
    def of_group(cls, moved: GroupLines, day: date) -> Ledger:
        """Movements in the group, posted by the close of a day."""
        period = np.full(len(moved), to_month(day), np.int64)
        return cls(
            moved.entity, moved.basis, moved.tag, moved.account, moved.currency, moved.rule,
            np.where(moved.rule == OPENING, BEGINNING, period), moved.day, moved.amount,
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Iterable[Ledger]) -> Ledger:
        """Several ledgers as one."""
        given = list(parts)
        columns = [[getattr(part, column.name) for part in given] for column in fields(cls)]
        empty = np.empty(0, np.int64)
        return cls(*(np.concatenate(column) if column else empty for column in columns))

    def take(self, rows: NDArray[np.bool_]) -> Ledger:
        """Some of the lines."""
        return Ledger(*(getattr(self, column.name)[rows] for column in fields(self)))

    def through(self, period: int) -> Ledger:
        """The lines of a period and all before."""
        return self.take(self.period <= period)

    def between(self, before: int, last: int) -> Ledger:
        """The lines of the periods after one up to another."""
        return self.take((self.period > before) & (self.period <= last))

    def without(self, rules: Iterable[int]) -> Ledger:
        """The lines of all rules but some."""
        return self.take(~np.isin(self.rule, list(rules)))

    def sums(self, by: Callable[[Ledger], list[I64]]) -> dict[tuple[int, ...], int]:
        """Amounts summed by columns, zeros left out."""
        if not len(self):
            return {}
        columns = by(self)
        order = order_of(columns)
        keys = np.stack(columns)[:, order]
        starts = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)))
        # Sums in 64-bit integers: numpy's own weights would be floats.
        totals = np.add.reduceat(self.amount[order], starts)
        rows = zip(keys[:, starts].T.tolist(), totals.tolist(), strict=True)
        return {tuple(key): total for key, total in rows if total}

    def balances(self) -> dict[Key, int]:
        """Balances by entity, basis, tag, account and currency."""
        summed = self.sums(lambda own: [own.entity, own.basis, own.tag, own.account, own.currency])
        return {Key(*key): total for key, total in summed.items()}

    def periods(self) -> list[int]:
        """The closes that posted, in order."""
        return [period for period in np.unique(self.period).tolist() if period != BEGINNING]


def own_balances(
    ledger: Ledger, entities: Entities, rates: Rates, day: date, chart: Chart | None = None
) -> dict[tuple[int, int], dict[str, int]]:
    """Trial balances by entity and tag, in the entity's own currency at the rates of a day."""
    accounts = (chart or load_chart()).by_number
    summed = ledger.sums(
        lambda own: [own.entity, own.tag, own.account, own.currency, _rate_days(own, day)]
    )
    found: dict[tuple[int, int], dict[str, int]] = {}
    for (entity, tag, number, currency, on), minor in summed.items():
        account = accounts[number]
        own = entities[entity].currency
        if account.name == "exchange_position":
            continue  # what it stands for is converted itself
        worth = rates.convert(minor, Currency(currency), own, from_day(on))
        balances = found.setdefault((entity, tag), {})
        balances[account.name] = balances.get(account.name, 0) + worth
    return found


def _rate_days(ledger: Ledger, day: date) -> I64:
    """The day of each line's exchange rate: its own for non-monetary accounts."""
    kept = [account.number for account in load_chart() if at_historical_rate(account)]
    return np.where(np.isin(ledger.account, kept), ledger.day, to_day(day))
