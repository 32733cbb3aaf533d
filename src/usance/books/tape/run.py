"""`usance books run`: the books of a portfolio that someone brings, a close a month or quarter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path

from usance.base.atomic_files import check_folder_place
from usance.base.book import Book
from usance.base.book_step import MANIFEST
from usance.base.column_files import ColumnNames
from usance.base.dates import format_month
from usance.base.errors import unknown
from usance.base.packs import CountryPack
from usance.base.parameters import Parameters
from usance.base.periods import quarter_label
from usance.base.progress import tell
from usance.books.close.checklist import Closing, close
from usance.books.close.closes import effective_closes
from usance.books.close.scope import Progress
from usance.books.errors import PeriodError, TapeError
from usance.books.periods import ClosePeriod, parse_close_period
from usance.books.policy_files import read_policies
from usance.books.tape.book import file_portfolio, read_portfolio, tape_moments
from usance.books.tape.loans import TapeLoans

EVERY = ("month", "quarter")
"""Choices of how often books are closed."""


def run_tape(
    path: Path, *, out: Path, policies: Path | None = None, every: str = "month",
    currency: str | None = None, pack: CountryPack | None = None, clock: Callable[[], float],
    progress: Progress = tell, parameters: Parameters | None = None,
    mapping: Path | None = None,
) -> list[Closing]:  # fmt: skip
    """Put a tape into a book folder and close every period of it that is over.

    A folder that holds the same portfolio up to an earlier month goes on from there. A tape that
    is refused leaves nothing behind. `mapping` is a file with its own names of columns.
    """
    if every not in EVERY:
        raise unknown("period", every, EVERY, where="--every")
    check_folder_place(out, "--out")
    book = _opened(out, currency, pack)
    rules = pack or book.pack
    known = parameters or rules.parameters
    platform = read_policies(book, policies, date.min).entities.platform.number
    names = ColumnNames.read(mapping) if mapping else None
    given = read_portfolio(
        book, path, policies=policies, platform=platform, parameters=known, names=names
    )
    periods = list(periods_of(given.months, every))
    if not periods:
        fix = "Give a longer tape, or close every month"
        raise PeriodError(f"no {every} of the tape is over", where=str(path), fix=fix)
    if not (out / MANIFEST).exists():
        book = Book.create(out, currency=book.manifest.currency, pack=rules)
    file_portfolio(book, given)
    tape = TapeLoans(book, given.notes)
    return [
        close(
            book, period, policies=policies, known_at=_known(book, period), actor="books run",
            clock=clock, progress=progress, parameters=known, tape=tape,
        )
        for period in periods
        if _is_open(book, period)
    ]  # fmt: skip


def _opened(out: Path, currency: str | None, pack: CountryPack | None) -> Book:
    """The book to go on with; an empty one that is not on disk yet where there is none."""
    if not (out / MANIFEST).exists():
        return Book.in_memory(out, currency=currency, pack=pack)
    book = Book.open(out)
    if book.files("loans"):
        fix = "Close it with usance close, or name another folder"
        raise TapeError("this book keeps its loans with their facts", where=str(out), fix=fix)
    if currency not in (None, book.manifest.currency):
        fix = "Name another folder, or leave --currency out"
        what = f"the book is in {book.manifest.currency}, not in {currency}"
        raise TapeError(what, where=str(out), fix=fix)
    if pack is not None and pack.name != book.manifest.pack:
        fix = "Name another folder, or leave --pack out"
        what = f"the book has the pack {book.manifest.pack}, not {pack.name}"
        raise TapeError(what, where=str(out), fix=fix)
    return book


def periods_of(months: range, every: str) -> Iterator[ClosePeriod]:
    """The months of a tape, or the quarters that are over with it."""
    for month in months:
        if every == "month":
            yield parse_close_period(format_month(month))
        elif month % 3 == 2:
            yield parse_close_period(quarter_label(month))


def _known(book: Book, period: ClosePeriod) -> datetime:
    """The moment the last of its months was over."""
    return max(each for each in tape_moments(book) if each.date() <= period.last_day)


def _is_open(book: Book, period: ClosePeriod) -> bool:
    return all(close.month < period.last_month for close in effective_closes(book))
