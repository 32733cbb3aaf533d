"""A book that was tampered with is found out by its files, its rows or its chain of journals."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from usance.base.book import Book
from usance.base.digest import digest
from usance.base.manifest import FileEntry, TableEntry
from usance.base.tables import table
from usance.books.close.checklist import close
from usance.books.close.closes import reopen
from usance.books.integrity import integrity_findings
from usance.books.periods import parse_close_period
from usance.books.sample import sample_book


@pytest.fixture
def book(tmp_path: Path) -> Book:
    made = sample_book(tmp_path / "book")
    for period in ("2023Q4", "2024Q1"):
        close(made, parse_close_period(period), clock=perf_counter)
    return made


def tamper(book: Book, name: str, column: str, changed: pa.Array, *, fix_digest: bool) -> FileEntry:
    """Change a column of a table's last file, and its hash in the manifest; else its digest too."""
    *others, file = book.files(name)
    path = book.path / file.path
    rows = pq.read_table(path)
    rows = rows.set_column(rows.column_names.index(column), rows.field(column).name, changed)
    pq.write_table(rows, path)
    entry = replace(file, sha256=sha256(path.read_bytes()).hexdigest())
    if fix_digest:
        entry = replace(entry, digest=str(digest(rows, table(name))))
    tables = dict(book.manifest.tables)
    tables[name] = TableEntry(tables[name].schema, (*others, entry))
    manifest = replace(book.manifest, tables=tables)
    (book.path / "manifest.json").write_bytes(manifest.to_bytes())
    return entry


def column_of(book: Book, name: str, column: str) -> pa.Array:
    rows = pq.read_table(book.path / book.files(name)[-1].path)
    return rows[column].combine_chunks()


def test_a_book_as_it_was_published_has_no_findings(book: Book) -> None:
    reopen(book, parse_close_period("2024Q1"), ["Ann", "Bo"])
    close(book, parse_close_period("2024Q1"), clock=perf_counter)
    assert integrity_findings(book) == []


@pytest.mark.parametrize(
    ("name", "column"),
    [("facts", "amount_minor"), ("subledger", "disbursed"), ("sums", "overpaid")],
)
def test_a_row_that_was_changed_with_its_file_hash_is_found(
    book: Book, name: str, column: str
) -> None:
    values = column_of(book, name, column)
    file = tamper(book, name, column, pc.add(values, 1), fix_digest=False)
    again = Book.open(book.path)
    assert again.check() == []
    (finding,) = integrity_findings(again)
    assert finding.where == str(book.path / file.path)


def test_a_journal_that_was_changed_with_hash_and_digest_is_found(book: Book) -> None:
    journal = column_of(book, "postings", "journal_id")
    values = column_of(book, "postings", "amount_minor")
    chosen = journal[len(journal) // 2]
    moved = pc.if_else(pc.equal(journal, chosen), pc.multiply(values, 2), values)
    tamper(book, "postings", "amount_minor", moved, fix_digest=True)
    again = Book.open(book.path)
    assert again.check() == []
    first, *later = integrity_findings(again)
    assert first.where == f"journal {chosen}"
    assert len(later) == pc.count_distinct(journal.filter(pc.greater(journal, chosen))).as_py()


@pytest.mark.parametrize("column", ["hash", "previous_hash"])
def test_a_chain_that_was_cut_is_found(book: Book, column: str) -> None:
    values = column_of(book, "journals", column).to_pylist()
    cut = pa.array([*values[:-1], "0" * 64], pa.string())
    tamper(book, "journals", column, cut, fix_digest=True)
    again = Book.open(book.path)
    assert again.check() == []
    (finding,) = integrity_findings(again)
    assert finding.where == f"journal {column_of(book, 'journals', 'journal_id')[-1]}"
