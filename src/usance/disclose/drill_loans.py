"""The loans behind a journal, and the facts behind a loan.

A close posts by cell what moved in the cumulative amounts of its loans. The same rules on the same
amounts, loan by loan, give back each loan's share of every journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.book import Book
from usance.base.codes import Kind, Tag
from usance.base.columns import arrays
from usance.books.amounts import AMOUNTS, SUBLEDGER
from usance.books.closes import CloseRef
from usance.books.co_funding import parts_of
from usance.books.group.entities import Entities
from usance.books.loan_books import cell_index
from usance.books.loan_close import shares_of
from usance.books.postings import Lines, post
from usance.books.rules import load_rules
from usance.books.tape_book import holds_tape

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LoanShare:
    """A loan's part of one line of a journal."""

    loan_id: int
    amount_minor: int


@dataclass
class LoanShares:
    """Every loan's own lines, close by close, made when first asked for."""

    book: Book
    closes: tuple[CloseRef, ...]
    entities: Entities
    _made: dict[int, tuple[Lines, I64]] = field(default_factory=dict)

    def of(
        self, close_no: int, rule: int, entity: int, cell: int, account: int, tag: Tag,
        loan_id: int = 0,
    ) -> tuple[LoanShare, ...]:  # fmt: skip
        """The loans that make up one line of a journal; a journal of one loan names it."""
        lines, ids = self._lines(close_no)
        rows = (
            (lines.rule == rule) & (lines.entity == entity) & (lines.account == account)
            & (lines.tag == int(tag)) & (lines.cell == cell)
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

    def _lines(self, close_no: int) -> tuple[Lines, I64]:
        if close_no not in self._made:
            place = [close.close_no for close in self.closes].index(close_no)
            before = self.closes[place - 1] if place else None
            self._made[close_no] = self._posted(self.closes[place], before)
        return self._made[close_no]

    def _posted(self, close: CloseRef, before: CloseRef | None) -> tuple[Lines, I64]:
        ids, now = self._held(close)
        then_ids, then = self._held(before) if before else (ids[:0], now[:0])
        everyone = np.union1d(ids, then_ids)
        amounts = [_spread(everyone, own, held) for own, held in ((ids, now), (then_ids, then))]
        rows = _cells(self.book, everyone)
        index = cell_index(self.book)
        shares = shares_of(self.book, index)
        loans, cells, weights = _split(everyone, rows, shares)
        parts = [parts_of(each, loans, cells, weights) if shares else each for each in amounts]
        lines = post(
            parts[0] - parts[1], index.cells.take(cells.astype(np.intp)), load_rules(),
            self.entities.platform.number,
        )  # fmt: skip
        return lines, everyone[loans]

    def _held(self, close: CloseRef) -> tuple[I64, I64]:
        table = arrays(self.book.read_close(SUBLEDGER, close.name))
        order = np.argsort(table["loan_id"], kind="stable")
        columns = np.stack([table[name].astype(np.int64) for name in AMOUNTS], axis=1)
        return table["loan_id"].astype(np.int64)[order], columns[order]


def _spread(everyone: I64, own: I64, held: I64) -> I64:
    """Amounts of some loans as rows of all of them."""
    found = np.zeros((len(everyone), len(AMOUNTS)), np.int64)
    found[np.searchsorted(everyone, own)] = held
    return found


def _cells(book: Book, ids: I64) -> I64:
    """The row of each loan's cell."""
    index = cell_index(book)
    if holds_tape(book):
        rows = arrays(book.read("tape", ["loan_id", "cell"]))
        known, first = np.unique(rows["loan_id"], return_index=True)
        cell = rows["cell"][first][np.searchsorted(known, ids)]
        order = np.argsort(index.cells.cell, kind="stable")
        return np.asarray(order[np.searchsorted(index.cells.cell[order], cell)], np.int64)
    heads = arrays(book.read("loans", ["loan_id", "model", "product", "source"]))
    known, first = np.unique(heads["loan_id"], return_index=True)
    at = first[np.searchsorted(known, ids)]
    return index.of({name: values[at] for name, values in heads.items()}).astype(np.int64)


def _split(
    ids: I64, cells: I64, shares: dict[int, dict[int, int]]
) -> tuple[I64, I64, I64]:  # fmt: skip
    """The row of a loan, the cell and the weight of every share; a loan with none is its own."""
    loans: list[int] = []
    own: list[int] = []
    weights: list[int] = []
    if not shares:
        return np.arange(len(ids)), cells, np.ones(len(ids), np.int64)
    for row, (loan_id, cell) in enumerate(zip(ids.tolist(), cells.tolist(), strict=True)):
        for place, weight in shares.get(loan_id, {cell: 1}).items():
            loans.append(row)
            own.append(place)
            weights.append(weight)
    return np.array(loans, np.int64), np.array(own, np.int64), np.array(weights, np.int64)


def facts_of_loans(
    book: Book, ids: list[int], day: date, known_at: datetime
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What is known of some loans by a close: each fact, and the decision behind the loan."""
    if holds_tape(book):
        return
    decisions = book.read("loans", ["loan_id", "decision_id"]).to_pydict()
    decision = dict(zip(decisions["loan_id"], decisions["decision_id"], strict=True))
    wanted = set(ids)
    columns = ["loan_id", "effective_on", "kind", "ref", "amount_minor", "booked_at"]
    found: dict[int, list[dict[str, Any]]] = {loan_id: [] for loan_id in ids}
    for row in book.read("facts", columns).to_pylist():
        seen = row["effective_on"] <= day and row["booked_at"] <= known_at
        if row["loan_id"] in wanted and seen:
            found[row.pop("loan_id")].append({
                **row, "kind": Kind(row["kind"]).label, "booked_at": row["booked_at"].isoformat()
            })  # fmt: skip
    for loan_id in ids:
        yield loan_id, {"decision_id": decision.get(loan_id, 0), "facts": found[loan_id]}
