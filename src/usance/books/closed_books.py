"""Looking at closed books: statements, roll-forwards and the journals of single loans."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from usance.base.book import Book
from usance.base.codes import Currency, parse
from usance.base.dates import first_of_month
from usance.base.parameters import Parameters
from usance.books.close.closes import controls_of, effective_closes, known_at_of, postings_of
from usance.books.close.group import GroupClose, opening_day, statements
from usance.books.errors import PeriodError
from usance.books.group.facts import GroupFact
from usance.books.loans.journal import LoanLine, loan_journal
from usance.books.periods import ClosePeriod
from usance.books.policy_files import read_policies
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.notes import more_rows
from usance.books.statements.per_share import ShareRow
from usance.books.statements.primary import Row
from usance.books.statements.roll_forward import RollForward
from usance.books.statements.roll_forwards import roll_forwards


@dataclass(frozen=True, slots=True)
class Look:
    """A period of closed books."""

    books: GroupBooks
    period: ClosePeriod
    currency: str
    facts: tuple[GroupFact, ...] = ()
    """The facts of the group its close knew."""

    def statements(self) -> tuple[list[Row], str]:
        """All statements, and their currency."""
        before = opening_day(first_of_month(self.period.months[0]))
        rows = statements(self.books, before, self.period.last_day, self.period.label)
        return rows, self.currency

    def notes(self) -> list[Row | ShareRow]:
        """Changes in equity, the tax rate explained, awards to come, and figures per share."""
        before = opening_day(first_of_month(self.period.months[0]))
        return more_rows(self.books, self.facts, before, self.period.last_day, self.period.label)

    def roll_forwards(self) -> tuple[list[RollForward], str]:
        """All roll-forwards, and their currency."""
        number = int(parse(Currency, self.currency))
        first, last = self.period.months[0], self.period.last_month
        return roll_forwards(self.books.ledger, first, last, currency=number), self.currency


def looked_at(book: Book, period: ClosePeriod) -> Look:
    """The books of a period, which must be closed."""
    closes = [close for close in effective_closes(book) if close.month <= period.last_month]
    if not closes or closes[-1].month != period.last_month:
        fix = f"Close it first: usance close {period.label}"
        raise PeriodError(f"{period.label} is not closed", where=str(book.path), fix=fix)
    entities = read_policies(book, None, period.last_day).entities
    known_at = known_at_of(book, closes[-1])
    group = GroupClose.of(book, entities, period.last_day, known_at, Parameters.load())
    books = group.books(postings_of(book, closes))
    return Look(books, period, book.manifest.currency, tuple(group.seen))


def losses_of(book: Book, period: ClosePeriod) -> tuple[dict[str, Any], str]:
    """What the close of a period said about losses, and its currency."""
    looked_at(book, period)
    (close,) = [each for each in effective_closes(book) if each.month == period.last_month]
    return controls_of(book, close)["losses"], book.manifest.currency


def journal_of(book: Book, loan_id: int) -> tuple[list[LoanLine], str]:
    """A loan's own journals, and their currency."""
    day = max((close.day for close in effective_closes(book)), default=date.max)
    entities = read_policies(book, None, day).entities
    return list(loan_journal(book, loan_id, entities.platform.number)), book.manifest.currency
