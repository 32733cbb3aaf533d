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
from usance.books.group.facts import table_of_facts
from usance.books.intake.fact_intake import new_facts
from usance.books.intake.group_fact_intake import new_group_facts
from usance.books.intake.loan_intake import new_loans
from usance.books.intake.mapping import IntakeMapping
from usance.books.intake.rows import Row


class IntakeResult(NamedTuple):
    """Rows that a file added, and rows that were there already."""

    table: str
    added: int
    known: int


def import_rows(book: Book, path: Path, mapping: IntakeMapping) -> IntakeResult:
    """Take a file into a book, in one step."""
    if mapping.currency is not None and mapping.currency.label != book.manifest.currency:
        from usance.base.fields import check_currency

        check_currency(mapping.currency.label, book.manifest.currency, str(path))
    with book.held():
        if mapping.rows == "loan":
            return _loans(book, path, mapping)
        if mapping.rows == "fact":
            return _facts(book, path, mapping)
        return _group_facts(book, path, mapping)


def _loans(book: Book, path: Path, mapping: IntakeMapping) -> IntakeResult:
    rows, refs, known = new_loans(book, path, mapping)
    by_month = defaultdict[int, list[Row]](list)
    for row in rows:
        by_month[to_month(row["disbursed_on"])].append(row)
    if rows:
        before = book.read("refs")
        new = make("refs", loan_id=list(refs.values()), loan_ref=list(refs))
        with book.writing() as step:
            for month, given in sorted(by_month.items()):
                step.add("loans", _table("loans", given), month=month)
            step.add("refs", sort(pa.concat_tables([before, new]), table("refs")), instead=True)
    return IntakeResult("loans", len(rows), known)


def _facts(book: Book, path: Path, mapping: IntakeMapping) -> IntakeResult:
    rows, known = new_facts(book, path, mapping)
    by_month = defaultdict[int, list[Row]](list)
    for row in rows:
        by_month[to_month(row["booked_at"].date())].append(row)
    if rows:
        with book.writing() as step:
            for month, given in sorted(by_month.items()):
                step.add("facts", _table("facts", given), month=month)
    return IntakeResult("facts", len(rows), known)


def _group_facts(book: Book, path: Path, mapping: IntakeMapping) -> IntakeResult:
    facts, known = new_group_facts(book, path, mapping)
    months = sorted({to_month(each.booked_at.date()) for each in facts})
    if facts:
        with book.writing() as step:
            for month in months:
                booked = [each for each in facts if to_month(each.booked_at.date()) == month]
                step.add("group_facts", table_of_facts(booked), month=month)
    return IntakeResult("group_facts", len(facts), known)


def _table(name: str, rows: Sequence[Row]) -> pa.Table:
    spec = table(name)
    days = {column.name for column in spec.columns if column.type == "day"}
    columns = {
        key: [to_day(row[key]) if key in days else row[key] for row in rows] for key in rows[0]
    }
    return sort(make(name, **columns), spec)
