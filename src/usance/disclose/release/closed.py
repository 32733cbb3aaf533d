"""Closed books as a release reads them: which days stand, which periods they tell in full."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property

import pyarrow as pa

from usance.base.book import Book
from usance.base.dates import first_of_month, from_day, last_of_month
from usance.base.parameters import Parameters
from usance.books.close.closes import CloseRef, effective_closes, known_at_of, postings_of
from usance.books.close.group import GroupClose
from usance.books.errors import PeriodError
from usance.books.group.facts import GroupFact
from usance.books.periods import ClosePeriod
from usance.books.policy_files import read_policies
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.ledger import BEGINNING

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Closed:
    """A book up to the close of a period."""

    book: Book
    closes: tuple[CloseRef, ...]
    books: GroupBooks
    facts: tuple[GroupFact, ...]
    postings: pa.Table = field(repr=False)

    @cached_property
    def days(self) -> tuple[date, ...]:
        """The days the books stand at: the opening, then the end of every close."""
        return (self.opening, *(close.day for close in self.closes))

    @cached_property
    def opening(self) -> date:
        """The evening the books begin from: that of opening balances, or before the first close."""
        ledger = self.books.ledger
        stated = ledger.take(ledger.period == BEGINNING)
        if len(stated):
            return from_day(int(stated.day.max()))
        return first_of_month(self.closes[0].month) - DAY

    @property
    def is_carried_over(self) -> bool:
        """Whether the books begin with balances of an earlier life."""
        return BEGINNING in self.books.ledger.period

    def tells(self, first: date, last: date) -> bool:
        """Whether the flows from one day to another are all in the books, and no others."""
        before = first - DAY
        begins = before in self.days or (before < self.opening and not self.is_carried_over)
        return begins and last in self.days[1:]

    def stands(self, day: date) -> bool:
        """Whether there is a balance sheet of a day."""
        return day in self.days[1:] or (day == self.opening and self.is_carried_over)


def closed_books(book: Book, period: ClosePeriod) -> Closed:
    """The books of a period, which must be closed."""
    closes = tuple(close for close in effective_closes(book) if close.month <= period.last_month)
    if not closes or closes[-1].month != period.last_month:
        fix = f"Close it first: usance close {period.label} --book {book.path}"
        raise PeriodError(f"{period.label} is not closed", where=str(book.path), fix=fix)
    entities = read_policies(book, None, period.last_day).entities
    known_at = known_at_of(book, closes[-1])
    group = GroupClose.of(book, entities, period.last_day, known_at, Parameters.load())
    postings = postings_of(book, closes)
    made = Closed(book, closes, group.books(postings), tuple(group.seen), postings)
    first = first_of_month(period.months[0])
    if not made.tells(first, last_of_month(period.last_month)):
        known = ", ".join(str(day) for day in made.days)
        what = f"the books do not tell {period.label} from its first day; they stand at {known}"
        fix = "Choose a period between two of these days"
        raise PeriodError(what, where=str(book.path), fix=fix)
    return made
