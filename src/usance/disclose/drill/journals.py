"""The journals behind an account: rows of postings, with the loans or the fact each came from.

A close posts by cell what moved in the cumulative amounts of its loans. The same rule on the same
amount, loan by loan, gives back each loan's share of a journal; only that amount is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import IfrsAdjustment
from usance.base.columns import arrays
from usance.base.dates import to_month
from usance.books.chart import load_chart
from usance.books.close.closes import CloseRef
from usance.books.close.scope import shares_of
from usance.books.closed_books import ClosedBooks, amounts_at, subledger_rows
from usance.books.group.entities import Entities
from usance.books.group.rules import OPENING, load_group_rules
from usance.books.journal import JournalKind
from usance.books.loans.amounts import AMOUNTS
from usance.books.loans.cells import cell_index
from usance.books.loans.co_funding import parts_of
from usance.books.postings import Lines, post
from usance.books.rules import load_rules
from usance.books.tape.book import holds_tape
from usance.disclose.drill.composition import AccountEntries


@dataclass(frozen=True, slots=True)
class LoanShare:
    """A loan's part of one line of a journal."""

    loan_id: int
    amount_minor: int


@dataclass
class LoanShares:
    """Every loan's own lines by close and rule, made when first asked for."""

    book: Book
    closes: tuple[CloseRef, ...]
    entities: Entities
    _posted_by_rule: dict[tuple[int, int], tuple[Lines, I64]] = field(default_factory=dict)

    def of(
        self, close_no: int, rule: int, entity: int, cell: int, account: int, tag: IfrsAdjustment,
        loan_id: int = 0,
    ) -> tuple[LoanShare, ...]:  # fmt: skip
        """The loans that make up one line of a journal; a journal of one loan names it."""
        lines, ids = self.lines(close_no, rule)
        rows = (
            (lines.entity == entity) & (lines.account == account) & (lines.tag == int(tag))
            & (lines.cell == cell)
        )  # fmt: skip
        if loan_id:
            rows &= ids[lines.row] == loan_id
        found = np.flatnonzero(rows)
        return tuple(
            LoanShare(loan, minor)
            for loan, minor in zip(
                ids[lines.row[found]].tolist(), lines.amount[found].tolist(), strict=True
            )
        )

    def lines(self, close_no: int, rule: int) -> tuple[Lines, I64]:
        """The postings of one rule at a close for each loan, and the loan of every row."""
        key = close_no, rule
        if key not in self._posted_by_rule:
            place = [close.close_no for close in self.closes].index(close_no)
            before = self.closes[place - 1] if place else None
            self._posted_by_rule[key] = self._posted(self.closes[place], before, rule)
        return self._posted_by_rule[key]

    @cached_property
    def _co_funded(self) -> dict[int, dict[int, int]]:
        return shares_of(self.book, cell_index(self.book))

    def _posted(self, close: CloseRef, before: CloseRef | None, number: int) -> tuple[Lines, I64]:
        (rule,) = [each for each in load_rules() if each.number == number]
        # The parts of a co-funded loan depend on all of its amounts.
        names = AMOUNTS if self._co_funded else (rule.amount,)
        everyone, now = subledger_rows(self.book, close, names)
        then = amounts_at(self.book, before, names, everyone) if before else np.zeros_like(now)
        amounts = [now, then]
        cells = self._cells(everyone)
        if not self._co_funded:
            moved = (amounts[0] - amounts[1])[:, 0]
            some = np.flatnonzero(moved)
            # One column stands for all: the rule asks for no other.
            movement = np.broadcast_to(moved[some, None], (len(some), len(AMOUNTS)))
            loans, cells = some, cells[some]
        else:
            loans, cells, weights = _split(everyone, cells, self._co_funded)
            parts = [parts_of(each, loans, cells, weights) for each in amounts]
            movement = parts[0] - parts[1]
        own_cells = cell_index(self.book).cells.take(cells.astype(np.intp))
        lines = post(movement, own_cells, [rule], self.entities.platform.number)
        return lines, everyone[loans]

    def _cells(self, ids: I64) -> I64:
        """The row of each loan's cell."""
        known, rows = self._all_cells
        return rows[np.searchsorted(known, ids)]

    @cached_property
    def _all_cells(self) -> tuple[I64, I64]:
        book, index = self.book, cell_index(self.book)
        if holds_tape(book):
            rows = arrays(book.read("tape", ["loan_id", "cell"]))
            known, first = np.unique(rows["loan_id"], return_index=True)
            order = np.argsort(index.cells.cell, kind="stable")
            found = order[np.searchsorted(index.cells.cell[order], rows["cell"][first])]
            return known.astype(np.int64), found.astype(np.int64)
        heads = arrays(book.read("loans", ["loan_id", "model", "product", "source"]))
        known, first = np.unique(heads["loan_id"], return_index=True)
        some = {name: values[first] for name, values in heads.items()}
        return known.astype(np.int64), index.of(some).astype(np.int64)


def _split(
    ids: I64, cells: I64, shares: dict[int, dict[int, int]]
) -> tuple[I64, I64, I64]:  # fmt: skip
    """The row of a loan, the cell and the weight of every share; a loan with none is its own."""
    loans: list[int] = []
    own: list[int] = []
    weights: list[int] = []
    for row, (loan_id, cell) in enumerate(zip(ids.tolist(), cells.tolist(), strict=True)):
        for place, weight in shares.get(loan_id, {cell: 1}).items():
            loans.append(row)
            own.append(place)
            weights.append(weight)
    return np.array(loans, np.int64), np.array(own, np.int64), np.array(weights, np.int64)


_NAMES = (
    "journal_id", "entity", "tag", "account", "period", "rule", "cell", "loan_id",
    "amount_minor", "currency", "fact_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Journal:
    """One line of a journal on an account, with the loans behind it."""

    journal_id: int
    close_no: int
    kind: JournalKind
    rule: int
    amount: str
    """The posting amount that moved."""
    entity: int
    cell: int
    fact_id: int
    is_foreign: bool
    amount_minor: int
    loans: tuple[LoanShare, ...] = ()


@dataclass(frozen=True)
class Journals:
    """The postings of closed books, found by account."""

    closed: ClosedBooks
    shares: LoanShares

    @cached_property
    def _columns(self) -> Mapping[str, I64]:
        found = arrays(self.closed.postings.select(list(_NAMES)))
        return {name: values.astype(np.int64) for name, values in found.items()}

    @cached_property
    def _amounts(self) -> dict[int, str]:
        rules: list[Any] = [*load_rules(), *load_group_rules()]
        return {rule.number: rule.amount for rule in rules}

    def of(self, part: AccountEntries) -> Iterator[Journal]:
        """The journals of a part, in order."""
        for row in np.flatnonzero(self._mask(part)).tolist():
            yield self._journal({name: int(self._columns[name][row]) for name in _NAMES}, part)

    def _mask(self, part: AccountEntries) -> NDArray[np.bool_]:
        columns = self._columns
        opening = columns["rule"] == OPENING
        mask = columns["account"] == load_chart()[part.account].number
        mask &= columns["tag"] == int(part.tag)
        mask &= opening | (columns["period"] <= to_month(part.day))
        if part.before is not None:
            mask &= ~opening & (columns["period"] > to_month(part.before))
        if part.rules is not None:
            mask &= np.isin(columns["rule"], list(part.rules))
        return np.asarray(mask)

    def _journal(self, row: Mapping[str, int], part: AccountEntries) -> Journal:
        kind = JournalKind(row["journal_id"] >> 24 & 15)
        own = int(self.closed.books.entities.currency)
        loans: tuple[LoanShare, ...] = ()
        if kind is JournalKind.LOANS:
            loans = self.shares.of(
                row["journal_id"] >> 28, row["rule"], row["entity"], row["cell"],
                load_chart()[part.account].number, part.tag, row["loan_id"],
            )  # fmt: skip
        return Journal(
            row["journal_id"], row["journal_id"] >> 28, kind, row["rule"],
            self._amounts.get(row["rule"], ""), row["entity"], row["cell"], row["fact_id"],
            row["currency"] != own, row["amount_minor"], loans,
        )  # fmt: skip


def tag_name(tag: IfrsAdjustment) -> str:
    """The name of a tag; entries without one are those of US GAAP."""
    return "us_gaap" if tag is IfrsAdjustment.NONE else tag.label
