"""Metrics of the book of a release, over the release's own periods.

A small book with loans and facts but no tape gets one here, in memory; a large book has its own,
made month by month.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from usance.base.book import Book
from usance.base.codes import code_lists
from usance.base.dates import first_of_month, last_of_month, to_month
from usance.books.closed_books import ClosedBooks
from usance.disclose.periods import Period

if TYPE_CHECKING:
    from usance.measure.inputs import Inputs
    from usance.measure.metrics import Result

MAX_LOANS = 20_000
"""Loans of a book whose tape is made here; a tape of more takes longer than a release should."""

Segments = tuple[tuple[str, tuple[int, ...]], ...]
"""Segments by dimension; empty for all."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A metric over one period: its sums, and the results they were added from."""

    numerator: int
    denominator: int
    is_complete: bool
    results: tuple[Result, ...] = field(repr=False)

    @property
    def value(self) -> Fraction | None:
        """The figure, exact; none where there is no data."""
        return Fraction(self.numerator, self.denominator) if self.denominator else None


@dataclass
class BookMetrics:
    """The metrics of one book as of one day, each period measured once."""

    inputs: Inputs
    as_of: date
    names: tuple[tuple[str, str], ...]
    """The metrics of the release, each with the dimension it is divided by, or none."""
    _found: dict[tuple[str, date, date], list[Result]] = field(default_factory=dict)

    def at(self, metric: str, period: Period, where: Segments = ()) -> Measurement:
        """A metric over a period, of some segments."""
        by = where[0][0] if where else ""
        found = [each for each in self._results(by, period) if each.definition.name == metric]
        if where:
            found = [each for each in found if dict(each.by).get(by, -1) in where[0][1]]
            rows = sum(each.denominator for each in found)
            # Sums of counts and amounts: a segment without rows adds nothing to the others.
            return Measurement(
                sum(each.numerator for each in found),
                min(rows, 1),
                _all_complete(found),
                tuple(found),
            )
        (one,) = found
        return Measurement(one.numerator, one.denominator, one.complete, (one,))

    def curves(self, metric: str, period: Period) -> list[Result]:
        """The figures of a metric that runs along its own keys."""
        return [each for each in self._results("", period) if each.definition.name == metric]

    def _results(self, by: str, period: Period) -> list[Result]:
        from usance.base.periods import MetricPeriod
        from usance.measure.metrics import AS_REPORTED, measure

        key = by, period.start, period.end
        if key not in self._found:
            names = list(dict.fromkeys(name for name, along in self.names if along == by))
            results = measure(
                self.inputs, names, as_of=self.as_of, period=MetricPeriod(period.start, period.end),
                by=[by] if by else [],
            )  # fmt: skip
            self._found[key] = [each for each in results if each.series == AS_REPORTED]
        return self._found[key]


def metric_inputs(closed: ClosedBooks, last: date, as_of: date, known_at: datetime) -> Inputs:
    """The tables of a book to measure, with a tape and dues made from its facts if it has none."""
    import pyarrow as pa

    from usance.measure.book_tape import cells_table, dues_between, tape_month
    from usance.measure.inputs import Inputs
    from usance.measure.positions import Portfolio

    book = closed.book
    given = Inputs.of_book(book)
    if not _needs_tape(book, given):
        return given
    loans = book.read("loans")
    cells = book.read("cells") if "cells" in given else cells_table(loans)
    portfolio = Portfolio.of(loans, book.read("facts"), known_at)
    first = to_month(min(loans["disbursed_on"].to_pylist()))
    tape = pa.concat_tables(
        [tape_month(portfolio, month, cells) for month in range(first, to_month(last) + 1)]
    )
    end = last_of_month(to_month(last))
    dues = dues_between(portfolio, first_of_month(first), end, cells, as_of)
    made = {"tape": tape, "dues": dues, "cells": cells}
    return Inputs(
        {**given.tables, **made}, given.snapshot, given.time_zone, published=given.published,
        told_until=given.told_until,
    )  # fmt: skip


def _needs_tape(book: Book, given: Inputs) -> bool:
    has = "loans" in given and "facts" in given and "tape" not in given
    return has and 0 < book.rows("loans") <= MAX_LOANS


def parse_segments(given: dict[str, list[str]]) -> Segments:
    """Segments as data names them, by their numbers.

    >>> parse_segments({"model": ["ice", "tech_solutions"]})
    (('model', (3, 4)),)
    """
    return tuple(
        (name, tuple(code_lists()[name][label] for label in labels))
        for name, labels in given.items()
    )


def _all_complete(found: list[Result]) -> bool:
    return all(each.complete for each in found)
