"""Loans on the balance sheet of a book folder, as a deal sees them.

A book is replayed as it was known at a moment, so that a receipt noticed late, or one that was
reversed, changes the date after it was known and none before. What a borrower owes on all loans is
taken from the last month's end on or before the day, as the tape has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import FundingModel
from usance.base.columns import arrays, sort
from usance.base.dates import to_month
from usance.base.ids import PER_USER
from usance.base.tables import table
from usance.fund.errors import PoolError
from usance.fund.loan_tables import LoanTables, among
from usance.fund.pool_columns import PoolColumns
from usance.loan.facts import END_OF_TIME


@dataclass(frozen=True, eq=False)
class BookLoans:
    """Loans of a book on the balance sheet, with every fact of them."""

    book: Book
    loans: LoanTables

    @classmethod
    def of(cls, book: Book, *, source: int = 0, ids: I64 | None = None) -> BookLoans:
        """Loans of one source or of all; or those of a list."""
        parts = [
            _wanted(book.read_file(table("loans"), file), source, ids)
            for file in book.files("loans")
        ]
        if not any(part.num_rows for part in parts):
            told = f"source {source}" if source else "any source"
            raise PoolError(f"no loans of {told} on the balance sheet", where=str(book.path),
                            fix="Name a source whose model is on_balance_sheet")  # fmt: skip
        loans = sort(pa.concat_tables(parts), table("loans"))
        own = np.unique(arrays(loans.select(["loan_id"]))["loan_id"])
        if ids is not None and (missing := np.setdiff1d(ids, own)).size:
            raise PoolError(f"loan {missing[0]} is none of the book's on the balance sheet",
                            where=str(book.path), fix="Leave it out of the pool")  # fmt: skip
        facts = [among(book.read_file(table("facts"), file), own) for file in book.files("facts")]
        known = sort(pa.concat_tables(facts), table("facts")) if facts else book.read("facts")
        return cls(book, LoanTables.of(loans, known))

    def only(self, loans: LoanTables) -> BookLoans:
        """Some of the loans."""
        return BookLoans(self.book, loans)

    def pool(self, day: date, known_at: datetime = END_OF_TIME) -> PoolColumns:
        """Loans that owe principal at the end of a day."""
        return self.loans.pool(
            day, known_at, owed_by=partial(_owed_by_user, self.book, day),
            default_rates=partial(_default_rates, self.book),
        )  # fmt: skip


def _wanted(loans: pa.Table, source: int, ids: I64 | None) -> pa.Table:
    columns = arrays(loans.select(["loan_id", "model", "source"]))
    rows = columns["model"] == int(FundingModel.ON_BALANCE_SHEET)
    if source:
        rows &= columns["source"] == source
    if ids is not None:
        rows &= np.isin(columns["loan_id"], ids)
    return loans.filter(pa.array(rows))


def _default_rates(book: Book, decisions: I64) -> I64:
    """The probability of default of each decision; 0 where the book has none."""
    rates = np.zeros(len(decisions), np.int64)
    for file in book.files("decisions"):
        rows = arrays(book.read_file(table("decisions"), file, ["decision_id", "pd_ppm"]))
        if not len(rows["decision_id"]):
            continue
        order = np.argsort(rows["decision_id"], kind="stable")
        known = rows["decision_id"][order]
        at = np.searchsorted(known, decisions).clip(0, len(known) - 1)
        same = known[at] == decisions
        rates[same] = rows["pd_ppm"][order][at[same]]
    return rates


def _owed_by_user(book: Book, day: date, users: I64) -> I64:
    """Amounts that users owe on all loans, by the tape of the last month's end."""
    month = to_month(day + timedelta(days=1)) - 1
    owed = np.zeros(len(users), np.int64)
    for file in book.files("tape", month=month):
        rows = arrays(book.read_file(table("tape"), file, ["loan_id", "principal_minor"]))
        borrower = rows["loan_id"] // PER_USER
        at = np.searchsorted(users, borrower).clip(0, len(users) - 1)
        mine = users[at] == borrower
        np.add.at(owed, at[mine], rows["principal_minor"][mine])
    return owed
