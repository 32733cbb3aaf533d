"""Integrity of a book: its files, its rows and its chain of journals, each compared again.

A file is compared with its SHA-256, the rows of a file with their published digest, and a journal
with its hash, which covers its lines and the journal before.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import chain

from usance.base.book import Book
from usance.base.compiled import available_cores
from usance.base.concurrency import parallel_map
from usance.base.digest import digest
from usance.base.errors import CorruptFile, UsanceError
from usance.base.manifest import FileEntry
from usance.base.schemas import Table
from usance.base.tables import TABLES
from usance.books.close.closes import (
    all_closes,
    controls_of,
    known_at_of,
    last_hash,
    previous_close,
)
from usance.books.journal import CloseHead, check_chain
from usance.books.loans.amounts import SUBLEDGER, SUMS
from usance.books.tape.book import TAPE, holds_tape


def integrity_findings(book: Book) -> list[UsanceError]:
    """A finding for each file, digest and journal that is not as it was published."""
    findings = book.check()
    damaged = {finding.where for finding in findings}
    return [*findings, *_changed_rows(book, damaged), *_changed_journals(book, damaged)]


def _changed_rows(book: Book, damaged: Set[str]) -> Iterator[UsanceError]:
    """Files whose rows do not give their digest."""
    files = [
        (spec, file)
        for spec in _tables(book)
        for file in book.files(spec.name)
        if str(book.path / file.path) not in damaged
    ]

    def found(given: tuple[Table, FileEntry]) -> list[UsanceError]:
        spec, file = given
        try:
            rows = book.read_file(spec, file, verify=False)
        except UsanceError as error:
            return [error]
        if str(digest(rows, spec)) == file.digest:
            return []
        where, fix = str(book.path / file.path), "Restore it from a copy of the book"
        return [CorruptFile("has rows that were not published", where=where, fix=fix)]

    return chain.from_iterable(parallel_map(found, files, available_cores()))


def _tables(book: Book) -> Iterator[Table]:
    """The tables of a book, with their columns of amounts; not those of another schema."""
    extended = [SUBLEDGER, SUMS, *([TAPE] if holds_tape(book) else [])]
    declared = {**TABLES, **{spec.name: spec for spec in extended}}
    for name, entry in book.manifest.tables.items():
        if name in declared and declared[name].number == entry.schema:
            yield declared[name]


def _changed_journals(book: Book, damaged: Set[str]) -> Iterator[UsanceError]:
    """Journals of all closes, also superseded ones, that do not give their hash."""
    for close in all_closes(book):
        folder = str(book.path / close.folder)
        if any(path.startswith(f"{folder}/") for path in damaged):
            continue  # is named already
        try:
            actor = controls_of(book, close)["actor"]
            previous = last_hash(book, previous_close(book, close))
        except CorruptFile:
            continue  # of the close before, likewise
        head = CloseHead(close.close_no, close.month, close.day, known_at_of(book, close), actor)
        postings = book.read("postings", folder=close.folder)
        journals = book.read("journals", folder=close.folder)
        yield from check_chain(postings, journals, head, previous)
