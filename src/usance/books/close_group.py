"""The group's part of a close: entries of its facts, tax, outside holders, statements, controls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.book import Book
from usance.base.errors import UsanceError
from usance.base.parameters import Parameters
from usance.books.chart import load_chart
from usance.books.closes import CloseRef, known_at_of
from usance.books.group.checks import group_fact_problems
from usance.books.group.entities import Entities
from usance.books.group.exchange import Rates
from usance.books.group.facts import GroupFact, facts_of_table, visible
from usance.books.group.ledger import group_lines
from usance.books.group.rules import activities
from usance.books.group_journals import group_postings, ledger_postings
from usance.books.journal import CloseHead
from usance.books.rules import Activity
from usance.books.statements.cash import cash_flows
from usance.books.statements.closing import closing_ledger
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.controls import group_controls
from usance.books.statements.ledger import Ledger
from usance.books.statements.matrix import balance_sheet_matrix, operations_matrix
from usance.books.statements.primary import (
    Row,
    balance_sheet,
    comprehensive_income,
    movement,
    operations,
)

I64 = NDArray[np.int64]
ACTIVITY_CODES = {
    Activity.NONE: 0,
    Activity.OPERATING: 1,
    Activity.INVESTING: 2,
    Activity.FINANCING: 3,
}


def activity_codes(rule: I64, account: I64) -> I64:
    """The activity of every cash line, 0 of the others."""
    known = activities()
    cash = np.isin(account, [each.number for each in load_chart() if each.is_cash])
    codes = np.array([ACTIVITY_CODES[known[each]] for each in rule.tolist()], np.int64)
    return np.where(cash, codes, 0)


@dataclass(frozen=True, slots=True)
class GroupClose:
    """What the group's steps of a close look at."""

    facts: list[GroupFact]
    entities: Entities
    day: date
    known_at: datetime
    parameters: Parameters

    @classmethod
    def of(
        cls, book: Book, entities: Entities, day: date, known_at: datetime, parameters: Parameters
    ) -> GroupClose:
        """The facts of a book."""
        return cls(facts_of_table(book.read("group_facts")), entities, day, known_at, parameters)

    @property
    def seen(self) -> list[GroupFact]:
        """The facts true and known at the close."""
        return visible(self.facts, self.day, self.known_at)

    @property
    def rates(self) -> Rates:
        """The rates of exchange they state."""
        return Rates.of(self.seen, self.entities.currency)

    def refusals(self, book: Book, before: CloseRef | None) -> list[UsanceError]:
        """What people wrote that cannot be posted: unbalanced, twice, or into a closed period."""
        known = [fact for fact in self.facts if fact.booked_at <= self.known_at]
        if before is None:
            return list(group_fact_problems(known, None, None))
        return list(group_fact_problems(known, before.month, known_at_of(book, before)))

    def entries(self, book: Book, before: CloseRef | None, head: CloseHead) -> pa.Table:
        """The journals of what moved in the facts since the close before."""
        lines = group_lines(
            self.facts, self.entities, self.day, self.known_at, parameters=self.parameters
        )
        if before is not None:
            known = known_at_of(book, before)
            lines = lines - group_lines(
                self.facts, self.entities, before.day, known, parameters=self.parameters
            )
        return group_postings(lines, head, activity_codes(lines.rule, lines.account))

    def rest(self, everything: pa.Table, head: CloseHead) -> pa.Table:
        """Value-added tax paid, tax on income, and the share of outside holders."""
        ledger = Ledger.of_postings(everything)
        lines, _ = closing_ledger(ledger, self.seen, self.entities, self.rates, self.day)
        return ledger_postings(lines, head, activity_codes(lines.rule, lines.account))

    def books(self, everything: pa.Table) -> GroupBooks:
        """The group's books after all postings."""
        return GroupBooks(Ledger.of_postings(everything), self.entities, self.rates)

    def problems(self, books: GroupBooks, before: date) -> dict[str, list[UsanceError]]:
        """Every control of the group by name, with what does not hold."""
        return group_controls(books, self.seen, before, self.day)


def statements(books: GroupBooks, before: date, day: date, period: str) -> list[Row]:
    """All statements of a period, both frameworks: `before` is the day its opening stands at."""
    start, end = books.at(before), books.at(day)
    moved = movement(start, end)
    return [
        *balance_sheet(end),
        *operations(moved, period),
        *comprehensive_income(moved, period),
        *cash_flows(books, before, day).rows(period),
        *operations_matrix(start, end, period),
        *balance_sheet_matrix(end),
    ]


def opening_day(first_day: date) -> date:
    """The evening before a period."""
    return first_day - timedelta(days=1)
