"""View of a book for its pages: its closes one after another, and a sample of its loans."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import Currency, FundingModel, Product, parse
from usance.base.columns import arrays
from usance.base.dates import format_month, last_of_month, to_month
from usance.base.manifest import FileEntry
from usance.base.periods import period_label
from usance.base.schemas import Table
from usance.base.tables import table
from usance.books.chart import Chart, load_chart
from usance.books.close.closes import CloseRef
from usance.books.closed_books import ClosedBooks
from usance.books.group.rules import load_group_rules
from usance.books.loans.cells import cell_index
from usance.books.rules import load_rules
from usance.disclose.drill.journals import LoanShares
from usance.disclose.release.exact_amounts import SHEET, ExactAmounts
from usance.pages.numbers import Unit, money, words
from usance.pages.site.loan_sample import sample_loans

RUN = "run.json"
COLUMNS = 6
"""Periods side by side on a page."""
Rows = list[dict[str, Any]]
_POSTING = (
    "journal_id", "entity", "tag", "account", "period", "rule", "cell", "loan_id",
    "amount_minor", "currency", "fact_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Period:
    """The period of one close."""

    label: str
    before: date
    """The evening it begins from."""
    day: date
    close: CloseRef

    @property
    def flows(self) -> bool:
        """False for an opening balance sheet, which has no flows."""
        return self.before < self.day


@dataclass(frozen=True)
class BookView:
    """A book with everything its pages need of it."""

    book: Book
    count: int
    """Number of loans in the sample."""
    amounts: dict[tuple[str, Period], Mapping[tuple[str, str], int]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Lines of statements by period, kept once they are made: many pages ask for them."""

    @cached_property
    def loans(self) -> tuple[int, ...]:
        """The sample of loans, in order of their numbers."""
        return sample_loans(self.book, self.count, self.shares if self.closed else None)

    @cached_property
    def currency(self) -> Currency:
        """The currency of the book."""
        return parse(Currency, self.book.manifest.currency)

    @cached_property
    def closed(self) -> ClosedBooks | None:
        """The closed books, if any period is closed."""
        return ClosedBooks.latest(self.book)

    @property
    def need_closed(self) -> ClosedBooks:
        """The closed books of a book that has them."""
        assert self.closed is not None
        return self.closed

    @cached_property
    def all_periods(self) -> tuple[Period, ...]:
        """Every close that stands, with the period it closed."""
        if self.closed is None:
            return ()
        closes, opening = self.closed.closes, self.closed.opening
        befores = [opening, *(close.day for close in closes[:-1])]
        first = "" if self.closed.has_opening_balances else "until "
        labels = [
            close_label(before, close.day, first if place == 0 else "")
            for place, (before, close) in enumerate(zip(befores, closes, strict=True))
        ]
        return tuple(map(Period, labels, befores, (close.day for close in closes), closes))

    @property
    def periods(self) -> tuple[Period, ...]:
        """The latest periods, oldest first."""
        return self.all_periods[-COLUMNS:]

    @property
    def flow_periods(self) -> tuple[Period, ...]:
        """Those of them in which something moved."""
        return tuple(each for each in self.periods if each.flows)

    @cached_property
    def exact(self) -> ExactAmounts:
        """Every line of the statements, to the minor unit."""
        return ExactAmounts(self.need_closed.books, self.need_closed.opening)

    @cached_property
    def unit(self) -> Unit:
        """The unit of amounts of statements."""
        held = self.exact.balance_sheet(SHEET, self.periods[-1].day) if self.periods else {}
        return Unit.fitting(max(map(abs, held.values()), default=0), self.currency.exponent)

    @property
    def unit_name(self) -> str:
        """The unit in words, such as `CNY thousand`."""
        return f"{self.currency.label} {self.unit.name}".strip()

    def money(self, minor: int) -> str:
        """An exact amount."""
        return money(minor, self.currency.exponent)

    @cached_property
    def name(self) -> str:
        """Name of the lender: the parent of the group, or the folder if it has no entities."""
        return self.closed.books.entities.parent.name if self.closed else self.book.path.name

    @cached_property
    def run(self) -> dict[str, Any]:
        """The facts a run states about itself; empty for a book that is no run."""
        file = self.book.path / RUN
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    @cached_property
    def chart(self) -> Chart:
        """The chart of accounts."""
        return load_chart()

    @cached_property
    def postings(self) -> Mapping[str, I64]:
        """The postings of all closes that stand, as columns."""
        found = arrays(self.need_closed.postings.select(list(_POSTING)))
        return {name: values.astype(np.int64) for name, values in found.items()}

    @cached_property
    def posted(self) -> set[tuple[int, int]]:
        """Month of the close and rule of every journal; what nets to zero in a cell has none."""
        return set(zip(self.postings["period"].tolist(), self.postings["rule"].tolist(),
                       strict=True))  # fmt: skip

    @cached_property
    def shares(self) -> LoanShares:
        """Each loan's part of journals."""
        closed = self.need_closed
        return LoanShares(self.book, closed.closes, closed.books.entities)

    @cached_property
    def amount_of_rule(self) -> dict[int, str]:
        """The posting amount behind each rule."""
        rules: Sequence[Any] = [*load_rules(), *load_group_rules()]
        return {rule.number: rule.amount for rule in rules}

    @cached_property
    def cells(self) -> dict[int, str]:
        """Description of each cell of postings."""
        declared = self.book.read("cells").to_pylist()
        if declared:
            return {
                row["cell"]: f"{words(FundingModel(row['model']).label)} · "
                f"{words(Product(row['product']).label)} · source {row['source']}"
                for row in declared
            }
        found = cell_index(self.book).cells
        pairs = zip(found.cell.tolist(), found.model.tolist(), strict=True)
        return {cell: words(FundingModel(model).label) for cell, model in pairs}

    def model_of_cell(self) -> dict[int, int]:
        """The funding model of every cell."""
        found = cell_index(self.book).cells
        return dict(zip(found.cell.tolist(), found.model.tolist(), strict=True))

    @cached_property
    def tape(self) -> dict[int, Rows]:
        """The rows of the tape of every loan of the sample."""
        return group_by(rows_of(self.book, "tape", "loan_id", self.loans), "loan_id")

    def has(self, name: str) -> bool:
        """True if the book has rows of a table."""
        return self.book.rows(name) > 0


def close_label(before: date, day: date, first: str = "") -> str:
    """The name of the months after one day up to another.

    >>> (
    ...     close_label(date(2024, 3, 31), date(2024, 6, 30)),
    ...     close_label(date(2024, 5, 31), date(2024, 6, 30)),
    ...     close_label(date(2023, 10, 31), date(2023, 12, 31)),
    ... )
    ('2024Q2', '2024-06', '2023-11 to 2023-12')
    """
    begin, end = to_month(before) + 1, to_month(day)
    if first:
        return f"{first}{format_month(end)}"
    if before != last_of_month(begin - 1) or begin > end:
        return format_month(end)
    whole = period_label(begin, end - begin + 1)
    return whole or f"{format_month(begin)} to {format_month(end)}"


def rows_of(book: Book, name: str, key: str, ids: Sequence[int]) -> Rows:
    """Every row of a table whose key is one of some ids, in order of the table's key."""
    spec, found = table(name), Rows()
    wanted = pc.field(key).isin(pa.array(list(ids), pa.int64()))
    for file in book.files(name):
        if _may_hold(file, spec, key, ids):
            found += book.read_file(spec, file).filter(wanted).to_pylist()
    return sorted(found, key=lambda row: tuple(row[each] for each in spec.key))


def _may_hold(file: FileEntry, spec: Table, key: str, ids: Sequence[int]) -> bool:
    """True unless the first and last key of a file rule out all of some ids."""
    if not file.first or spec.key[0] != key:
        return bool(ids)
    return any(int(file.first[0]) <= each <= int(file.last[0]) for each in ids)


def group_by(rows: Rows, key: str) -> dict[int, Rows]:
    """Rows by the value of one of their columns."""
    found: dict[int, Rows] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found
