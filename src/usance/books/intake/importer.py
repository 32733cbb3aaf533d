"""A file taken into a book: whole, or refused with its problems; the same file again adds nothing.

Facts are filed by the month they were booked, loans by the month they were drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from usance.base.book import Book
from usance.base.columns import make, sort
from usance.base.dates import to_day, to_month
from usance.base.tables import table
from usance.books.group.facts import GroupFact, table_of_facts
from usance.books.intake.fact_intake import new_facts
from usance.books.intake.group_fact_intake import new_facts_of_document, new_group_facts
from usance.books.intake.loan_intake import new_loans
from usance.books.intake.mapping import IntakeMapping
from usance.books.intake.rows import Row


class IntakeResult(NamedTuple):
    """Rows that a file added, and rows that were there already."""

    table: str
    added: int
    known: int


def import_rows(book: Book, path: Path, mapping: IntakeMapping | None) -> IntakeResult:
    """Take a file into a book, in one step; without a mapping it is a document of group facts."""
    given = mapping.currency if mapping else None
    if given is not None and given.label != book.manifest.currency:
        from usance.base.fields import check_currency

        check_currency(given.label, book.manifest.currency, str(path))
    with book.held():
        return _write(book, _read(book, path, mapping))


def import_first_rows(folder: Path, path: Path, mapping: IntakeMapping | None) -> IntakeResult:
    """Take a file into a new book; one that is refused leaves no book behind."""
    currency = mapping.currency.label if mapping and mapping.currency else None
    given = _read(Book.in_memory(folder, currency=currency), path, mapping)
    return _write(Book.create(folder, currency=currency), given)


class _Given(NamedTuple):
    """Rows of a file by month, to be added to a book, and the own names of its loans."""

    result: IntakeResult
    by_month: dict[int, pa.Table]
    refs: pa.Table | None = None


def _write(book: Book, given: _Given) -> IntakeResult:
    if given.by_month:
        with book.writing() as step:
            for month, rows in sorted(given.by_month.items()):
                step.add(given.result.table, rows, month=month)
            if given.refs is not None:
                step.add("refs", given.refs, instead=True)
    return given.result


def _loans(book: Book, path: Path, mapping: IntakeMapping) -> _Given:
    rows, names, known = new_loans(book, path, mapping)
    by_month = defaultdict[int, list[Row]](list)
    for row in rows:
        by_month[to_month(row["disbursed_on"])].append(row)
    new = make("refs", loan_id=list(names.values()), loan_ref=list(names))
    refs = sort(pa.concat_tables([book.read("refs"), new]), table("refs"))
    tables = {month: _table("loans", given) for month, given in by_month.items()}
    return _Given(IntakeResult("loans", len(rows), known), tables, refs)


def _facts(book: Book, path: Path, mapping: IntakeMapping) -> _Given:
    rows, known = new_facts(book, path, mapping)
    by_month = defaultdict[int, list[Row]](list)
    for row in rows:
        by_month[to_month(row["booked_at"].date())].append(row)
    tables = {month: _table("facts", given) for month, given in by_month.items()}
    return _Given(IntakeResult("facts", len(rows), known), tables)


def _group_facts(book: Book, path: Path, mapping: IntakeMapping) -> _Given:
    return _by_month(*new_group_facts(book, path, mapping))


def _by_month(facts: Sequence[GroupFact], known: int) -> _Given:
    tables = {
        month: table_of_facts([each for each in facts if to_month(each.booked_at.date()) == month])
        for month in sorted({to_month(each.booked_at.date()) for each in facts})
    }
    return _Given(IntakeResult("group_facts", len(facts), known), tables)


_READ = {"loan": _loans, "fact": _facts, "group_fact": _group_facts}
"""How the rows of a file are read, by what they are."""


def _read(book: Book, path: Path, mapping: IntakeMapping | None) -> _Given:
    if mapping is None:
        return _by_month(*new_facts_of_document(book, path))
    return _READ[mapping.rows](book, path, mapping)


def _table(name: str, rows: Sequence[Row]) -> pa.Table:
    spec = table(name)
    days = {column.name for column in spec.columns if column.type == "day"}
    columns = {
        key: [to_day(row[key]) if key in days else row[key] for row in rows] for key in rows[0]
    }
    return sort(make(name, **columns), spec)
