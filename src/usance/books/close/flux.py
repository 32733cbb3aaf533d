"""Flux: lines of the statement of operations that moved much against the period before."""

from __future__ import annotations

from usance.base.dates import first_of_month, last_of_month
from usance.base.money import Money
from usance.books.close.group import opening_day
from usance.books.periods import ClosePeriod
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.primary import movement, operations

PERCENT = 25
"""A change of at least this share of the line is worth a sentence …"""
OF_REVENUE = 20
"""… if it is also more than one part in so many of revenue."""


def flux_notes(books: GroupBooks, period: ClosePeriod) -> list[str]:
    """A sentence for each line that changed much, none where there is no period before."""
    length = len(period.months)
    first = period.months[0]
    if first - length < min(books.ledger.periods(), default=first):
        return []
    now = _lines(books, first, period.last_month)
    before = _lines(books, first - length, first - 1)
    revenue = abs(now["Total net revenue"])
    currency = books.entities.currency.label
    notes = []
    for line, minor in now.items():
        change = minor - before[line]
        if abs(change) * 100 >= PERCENT * abs(before[line]) and abs(change) * OF_REVENUE > revenue:
            was, is_ = (Money(each, currency).number for each in (before[line], minor))
            notes.append(f"{line}: {is_} after {was} in the period before")
    return notes


def _lines(books: GroupBooks, first: int, last: int) -> dict[str, int]:
    start, end = opening_day(first_of_month(first)), last_of_month(last)
    moved = movement(books.at(start), books.at(end))
    return {row.line: row.amount_minor for row in operations(moved, "")}
