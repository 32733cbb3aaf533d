"""Closed books: the group's ledger up to the close of a period, and the statements it gives.

The one way to open them: commands, releases and pages all begin with `ClosedBooks`.
Amounts of single loans at a close are `amounts_at`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import Currency, parse
from usance.base.columns import arrays
from usance.base.dates import first_of_month, format_month, from_day
from usance.books.close.closes import (
    CloseRef,
    controls_of,
    effective_closes,
    known_at_of,
    postings_of,
)
from usance.books.close.group import GroupClose, opening_day, statements
from usance.books.errors import PeriodError
from usance.books.group.facts import GroupFact
from usance.books.loans.amounts import SUBLEDGER
from usance.books.periods import ClosePeriod
from usance.books.policy_files import read_policies
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.ledger import BEGINNING
from usance.books.statements.notes import ShareRow, note_rows
from usance.books.statements.primary import Row
from usance.books.statements.roll_forwards import RollForward, roll_forwards
from usance.books.tape.book import check_tape_covers

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class ClosedBooks:
    """A book up to the close of a period."""

    book: Book
    period: ClosePeriod
    closes: tuple[CloseRef, ...]
    """The effective closes up to that of the period."""
    books: GroupBooks
    facts: tuple[GroupFact, ...]
    """The facts of the group known to the last of them."""
    postings: pa.Table = field(repr=False)

    @classmethod
    def of(cls, book: Book, period: ClosePeriod) -> ClosedBooks:
        """The books of a period, which must be closed."""
        closes = [each for each in effective_closes(book) if each.month <= period.last_month]
        if not closes or closes[-1].month != period.last_month:
            check_tape_covers(book, period.months)
            fix = f"Close it first: usance close {period.label} --book {book.path}"
            raise PeriodError(f"{period.label} is not closed", where=str(book.path), fix=fix)
        entities = read_policies(book, None, period.last_day).entities
        known_at = known_at_of(book, closes[-1])
        group = GroupClose.of(book, entities, period.last_day, known_at, book.pack.parameters)
        postings = postings_of(book, closes)
        books = group.books(postings)
        return cls(book, period, tuple(closes), books, tuple(group.visible_facts), postings)

    @classmethod
    def covering(cls, book: Book, period: ClosePeriod) -> ClosedBooks:
        """The books of a closed period, which must hold all its flows from its first day on."""
        closed = cls.of(book, period)
        if closed.covers(first_of_month(period.months[0]), period.last_day):
            return closed
        days = ", ".join(map(str, closed.days))
        what = f"the books do not tell {period.label} from its first day; they stand at {days}"
        fix = "Choose a period between two of these days"
        raise PeriodError(what, where=str(book.path), fix=fix)

    @classmethod
    def latest(cls, book: Book) -> ClosedBooks | None:
        """The books up to the latest close, in its month; None where nothing is closed."""
        closes = effective_closes(book)
        if not closes:
            return None
        month = closes[-1].month
        return cls.of(book, ClosePeriod(format_month(month), (month,)))

    def named(self, company: str) -> ClosedBooks:
        """The same books under another name of the parent, if one is given."""
        if not company or company == self.books.entities.parent.name:
            return self
        entities = self.books.entities.with_parent_named(company)
        return replace(self, books=replace(self.books, entities=entities, _seen={}))

    @property
    def currency(self) -> str:
        """The currency of all statements."""
        return self.book.manifest.currency

    @cached_property
    def days(self) -> tuple[date, ...]:
        """The opening day, then the last day of every close."""
        return (self.opening, *(close.day for close in self.closes))

    @cached_property
    def opening(self) -> date:
        """The day of the opening balances; without any, the evening before the first close."""
        ledger = self.books.ledger
        stated = ledger.take(ledger.period == BEGINNING)
        if len(stated):
            return from_day(int(stated.day.max()))
        return first_of_month(self.closes[0].month) - _DAY

    @property
    def has_opening_balances(self) -> bool:
        """Tells books that begin with stated balances from those that begin with nothing."""
        return BEGINNING in self.books.ledger.period

    def covers(self, first: date, last: date) -> bool:
        """True if the flows from one day to another are all in the books, and no others."""
        before = first - _DAY
        begins = before in self.days or (before < self.opening and not self.has_opening_balances)
        return begins and last in self.days[1:]

    def has_balance_sheet(self, day: date) -> bool:
        """True of the last day of a close, and of opening balances."""
        return day in self.days[1:] or (day == self.opening and self.has_opening_balances)

    def statements(self) -> list[Row]:
        """All statements of the period."""
        return statements(self.books, self._before, self.period.last_day, self.period.label)

    def notes(self) -> list[Row | ShareRow]:
        """Changes in equity, the tax rate explained, awards to come, and figures per share."""
        period = self.period
        return note_rows(
            self.books, self.facts, self._before, period.last_day, period.label,
            parameters=self.book.pack.parameters,
        )  # fmt: skip

    def roll_forwards(self) -> list[RollForward]:
        """All roll-forwards of the period."""
        number = int(parse(Currency, self.currency))
        first, last = self.period.months[0], self.period.last_month
        return roll_forwards(self.books.ledger, first, last, currency=number)

    def losses(self) -> dict[str, Any]:
        """Provisions, sensitivity and back-test as the close of the period found them."""
        losses: dict[str, Any] = controls_of(self.book, self.closes[-1])["losses"]
        return losses

    @property
    def _before(self) -> date:
        return opening_day(first_of_month(self.period.months[0]))


def subledger_rows(book: Book, close: CloseRef, names: Sequence[str]) -> tuple[I64, I64]:
    """The loans a close has rows of, rising, and some of their amounts."""
    rows = arrays(book.read(SUBLEDGER, ["loan_id", *names], folder=close.folder))
    order = np.argsort(rows["loan_id"], kind="stable")
    columns = np.stack([rows[name].astype(np.int64) for name in names], axis=1)
    return rows["loan_id"].astype(np.int64)[order], columns[order]


def amounts_at(book: Book, close: CloseRef, names: Sequence[str], ids: I64) -> I64:
    """Amounts of some loans at a close; a loan without a row has not moved since its last."""
    found, left = np.zeros((len(ids), len(names)), np.int64), np.ones(len(ids), np.bool_)
    for each in reversed([each for each in effective_closes(book) if each <= close]):
        if not left.any():
            break
        own, rows = subledger_rows(book, each, names)
        place = np.searchsorted(own, ids).clip(0, max(0, len(own) - 1))
        here = left & (own[place] == ids) if len(own) else np.zeros_like(left)
        found[here] = rows[place[here]]
        left &= ~here
    return found
