"""The folder of a run: one process works in it, and only on files that are as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path

from usance.base.book import Book
from usance.base.errors import raise_all
from usance.base.step import MANIFEST
from usance.twin.errors import NoRoom
from usance.world.scenario import Scenario

FULL = (ENOSPC, EDQUOT, EFBIG)
"""What a disk, a quota or a limit on files says when there is no more room."""


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
    """What an earlier run wrote is compared once, so that nothing is built on a damaged file."""
    found = book.damaged()
    for each in found:
        each.fix = "Restore it from a copy, or run again with another --out"
    raise_all(found, where=str(book.path))


@contextmanager
def _room_in(folder: Path) -> Iterator[None]:
    """A disk that is full is said as such."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        fix = "Make room, and run the same command again: it goes on where it was"
        raise NoRoom("the disk is full", where=str(folder), fix=fix) from error
