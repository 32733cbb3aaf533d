"""The group's part of a close: entries, tax, non-controlling interests, statements, controls, flux.

The flux names lines of the statement of operations that moved much against the period before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import Currency, parse
from usance.base.columns import arrays
from usance.base.dates import first_of_month, last_of_month
from usance.base.errors import UsanceError
from usance.base.money import Money
from usance.base.parameters import Parameters
from usance.books.chart import load_chart
from usance.books.close.closes import CloseRef, effective_closes, known_at_of, postings_of
from usance.books.group.checks import group_fact_problems
from usance.books.group.entities import Entities
from usance.books.group.exchange_rates import Rates
from usance.books.group.facts import GroupFact, facts_of_table, visible_facts
from usance.books.group.lines import GroupLines
from usance.books.group.posting import group_lines, group_postings, ledger_postings
from usance.books.group.receivables import LoanFees
from usance.books.group.rules import activities
from usance.books.journal import CloseHead
from usance.books.loans.amounts import AMOUNTS, SUMS
from usance.books.periods import ClosePeriod
from usance.books.rules import Activity
from usance.books.statements.cash import cash_flows
from usance.books.statements.closing_entries import closing_ledger
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.controls import group_controls
from usance.books.statements.ifrs_reconciliation import balance_sheet_matrix, operations_matrix
from usance.books.statements.ifrs_transition import transition_lines
from usance.books.statements.ledger import Ledger
from usance.books.statements.primary import (
    Row,
    balance_sheet,
    comprehensive_income,
    movement,
    operations,
)

_FEES = ("usage_fee", "referral_fee")
ACTIVITY_CODES = {
    Activity.NONE: 0,
    Activity.OPERATING: 1,
    Activity.INVESTING: 2,
    Activity.FINANCING: 3,
}

FLUX_PERCENT = 25
"""A change of at least this share of the line is worth a sentence …"""
FLUX_OF_REVENUE = 20
"""… if it is also more than one part in so many of revenue."""


def activity_codes(rule: I64, account: I64) -> I64:
    """The activity of every cash line, 0 of the others."""
    known = activities()
    cash = np.isin(account, [each.number for each in load_chart() if each.is_cash])
    codes = np.array([ACTIVITY_CODES[known[each]] for each in rule.tolist()], np.int64)
    return np.where(cash, codes, 0)


@dataclass(frozen=True, slots=True)
class GroupClose:
    """The facts of the group as a close knows them, and the steps that post them."""

    facts: list[GroupFact]
    entities: Entities
    day: date
    known_at: datetime
    parameters: Parameters
    loan_fees: tuple[LoanFees, ...] = ()
    """Fees of institutions that loans tell, close by close."""

    @classmethod
    def of(
        cls, book: Book, entities: Entities, day: date, known_at: datetime, parameters: Parameters,
        loan_fees: Sequence[LoanFees] = (),
    ) -> GroupClose:  # fmt: skip
        """The facts of a book."""
        facts = facts_of_table(book.read("group_facts"))
        return cls(facts, entities, day, known_at, parameters, tuple(loan_fees))

    @property
    def visible_facts(self) -> list[GroupFact]:
        """The facts true and known at the close."""
        return visible_facts(self.facts, self.day, self.known_at)

    @property
    def rates(self) -> Rates:
        """The rates of exchange they state."""
        return Rates.of(self.visible_facts, self.entities.currency)

    def refusals(self, book: Book, before: CloseRef | None) -> list[UsanceError]:
        """Facts that cannot be posted: unbalanced, twice, or in a closed period."""
        known = [fact for fact in self.facts if fact.booked_at <= self.known_at]
        if before is None:
            return list(group_fact_problems(known, None, None))
        posted = set(postings_of(book, effective_closes(book))["fact_id"].to_pylist())
        return list(group_fact_problems(known, before.month, known_at_of(book, before), posted))

    def entries(self, book: Book, before: CloseRef | None, head: CloseHead) -> pa.Table:
        """The journals of what moved in the facts since the close before."""
        lines = self._lines(self.day, self.known_at)
        if before is not None:
            lines = lines - self._lines(before.day, known_at_of(book, before))
        return group_postings(lines, head, activity_codes(lines.rule, lines.account))

    def _lines(self, day: date, known_at: datetime) -> GroupLines:
        by_close = [each for each in self.loan_fees if each.on <= day]
        return group_lines(
            self.facts, self.entities, day, known_at, parameters=self.parameters, of_loans=by_close
        )

    def closing_entries(
        self, everything: pa.Table, head: CloseHead, before: CloseRef | None
    ) -> pa.Table:
        """Transition to new parameters, VAT paid, tax on income, non-controlling interests."""
        ledger = Ledger.of_postings(everything)
        began = self._transition(ledger, before)
        lines, _ = closing_ledger(
            Ledger.joined([ledger, began]), self.visible_facts, self.entities, self.rates, self.day,
            self.parameters,
        )  # fmt: skip
        made = Ledger.joined([began, lines])
        return ledger_postings(made, head, activity_codes(made.rule, made.account))

    def _transition(self, ledger: Ledger, before: CloseRef | None) -> Ledger:
        if before is None:
            return Ledger.joined([])
        lines = transition_lines(
            ledger.through(before.month), self.entities, self.rates, self.parameters, before.day,
            self.day,
        )  # fmt: skip
        return Ledger.of_group(lines, self.day)

    def books(self, everything: pa.Table) -> GroupBooks:
        """The group's books after all postings."""
        return GroupBooks(Ledger.of_postings(everything), self.entities, self.rates)

    def problems(self, books: GroupBooks, before: date) -> dict[str, list[UsanceError]]:
        """Every control of the group by name, with what does not hold."""
        return group_controls(books, self.visible_facts, before, self.day)


def fees_of_loans(
    book: Book, entities: Entities, closes: Sequence[CloseRef], now: tuple[date, I64]
) -> Iterator[LoanFees]:
    """Fees of institutions that loans added in each close and in the one being made.

    `now` has its day and the sums of all amounts. The platform company is owed all of them.
    """
    currency = parse(Currency, book.manifest.currency)
    by_close = [(close.day, _fees_held(book, close)) for close in closes]
    by_close.append((now[0], [int(now[1][AMOUNTS.index(name)]) for name in _FEES]))
    before = [0, 0]
    for day, held in by_close:
        usage, referral = (new - old for new, old in zip(held, before, strict=True))
        if usage or referral:
            yield LoanFees(entities.platform.number, currency, day, usage, referral)
        before = held


def _fees_held(book: Book, close: CloseRef) -> list[int]:
    rows = arrays(book.read(SUMS, folder=close.folder))
    return [int(rows[name].sum()) for name in _FEES]


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


def flux_notes(books: GroupBooks, period: ClosePeriod) -> list[str]:
    """A sentence for each line that changed much, none where there is no period before."""
    length = len(period.months)
    first = period.months[0]
    if first - length < min(books.ledger.periods(), default=first):
        return []
    now = _operations(books, first, period.last_month)
    before = _operations(books, first - length, first - 1)
    revenue = abs(now["Total net revenue"])
    currency = books.entities.currency.label
    notes = []
    for line, minor in now.items():
        change = minor - before[line]
        is_much = abs(change) * 100 >= FLUX_PERCENT * abs(before[line])
        if is_much and abs(change) * FLUX_OF_REVENUE > revenue:
            was, is_ = (Money(each, currency).number for each in (before[line], minor))
            notes.append(f"{line}: {is_} after {was} in the period before")
    return notes


def _operations(books: GroupBooks, first: int, last: int) -> dict[str, int]:
    start, end = opening_day(first_of_month(first)), last_of_month(last)
    moved = movement(books.at(start), books.at(end))
    return {row.line: row.amount_minor for row in operations(moved, "")}
