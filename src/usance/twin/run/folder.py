"""The folder of a run: one process works in it, and only on files that are as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from usance.base.book import Book
from usance.base.errors import FULL, raise_all
from usance.base.step import MANIFEST
from usance.books.close.closes import controls_of, effective_closes
from usance.twin.errors import DiskFull, OtherRun
from usance.twin.run.quarter_close import ACTOR
from usance.world.scenario.scenario import Scenario


@contextmanager
def book_in(folder: Path, scenario: Scenario) -> Iterator[Book]:
    """The book of the run, a new one or the one that is there, to write alone inside the block."""
    with _room_in(folder):
        book = _book(folder, scenario)
        with book.held():
            _check(book)
            yield book


def _book(folder: Path, scenario: Scenario) -> Book:
    if (folder / MANIFEST).exists():
        return Book.open(folder)
    return Book.create(folder, currency=scenario.currency, time_zone=scenario.time_zone)


def _check(book: Book) -> None:
    """Compare the files of an earlier run once, so that nothing is built on a damaged one."""
    found = book.damaged()
    for each in found:
        each.fix = "Restore it from a copy, or run again with another --out"
    raise_all(found, where=str(book.path))
    by_hand = [
        each.name for each in effective_closes(book) if controls_of(book, each)["actor"] != ACTOR
    ]
    if by_hand:
        fix = "Work on a copy of a run, and run again with another --out"
        raise OtherRun(f"{by_hand[0]} was closed by hand", where=str(book.path), fix=fix)


@contextmanager
def _room_in(folder: Path) -> Iterator[None]:
    """A disk that is full is said as such."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        fix = "Make room, and run the same command again: it goes on where it was"
        raise DiskFull("the disk is full", where=str(folder), fix=fix) from error
