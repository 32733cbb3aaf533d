"""A single loan's own journals, made again from what each close held of it and the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from usance.base.book import Book
from usance.base.columns import arrays
from usance.base.errors import IdError
from usance.base.ids import parse_id
from usance.base.parquet import check_unchanged
from usance.books.chart import load_chart
from usance.books.close.closes import CloseRef, effective_closes
from usance.books.close.scope import shares_of
from usance.books.errors import TapeError
from usance.books.loans.amounts import AMOUNTS
from usance.books.loans.cells import CellIndex, cell_index
from usance.books.loans.co_funding import parts_of
from usance.books.policy_files import read_policies
from usance.books.postings import post
from usance.books.rules import load_rules
from usance.books.tape.book import holds_tape, tape_cell


@dataclass(frozen=True, slots=True)
class LoanLine:
    """One line of a loan's journal at a close."""

    close: str
    rule: int
    amount: str
    """The posting amount behind it."""
    entity: int
    tag: int
    account: str
    amount_minor: int


def find_loan(book: Book, given: str) -> tuple[int, str]:
    """A loan by the reference its tape brought, its printed id or its number; and that reference.

    A reference comes first: where a tape calls a loan 12, that loan is meant.
    """
    refs = book.read("refs").to_pydict()
    own = dict(zip(refs["loan_ref"], refs["loan_id"], strict=True))
    if given in own:
        return own[given], given
    if not given.isdecimal() and not given.startswith("ln_") and own:
        near = get_close_matches(given, own, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"It has {', '.join([*own][:5])} …"
        raise IdError(f"the book has no loan {given!r}", where="LOAN", fix=hint)
    number = int(given) if given.isdecimal() else parse_id(given, "ln", where="LOAN")
    return number, next((ref for ref, each in own.items() if each == number), "")


def loan_journal(book: Book, loan_id: int) -> Iterator[LoanLine]:
    """Lines of one loan, close by close; closes that moved nothing have none."""
    closes = effective_closes(book)
    last_day = max((close.day for close in closes), default=date.max)
    platform = read_policies(book, None, last_day).entities.platform.number
    rules, chart, index = load_rules(), load_chart(), cell_index(book)
    shares = shares_of(book, index).get(loan_id, {})
    rows = np.array(list(shares), np.intp) if shares else _cell(book, loan_id, index)
    cells = index.cells.take(rows)
    names = {rule.number: rule.amount for rule in rules}
    before = np.zeros((len(rows), len(AMOUNTS)), np.int64)
    for close in closes:
        now = _held(book, close, loan_id)
        if now is None:
            continue  # not there yet, or fully settled: it has not moved
        if shares:
            weights = np.array(list(shares.values()), np.int64)
            now = parts_of(now, np.zeros(len(rows), np.int64), rows.astype(np.int64), weights)
        lines = post(now - before, cells, rules, platform)
        for rule, entity, tag, account, amount in zip(
            lines.rule.tolist(), lines.entity.tolist(), lines.tag.tolist(),
            lines.account.tolist(), lines.amount.tolist(), strict=True,
        ):  # fmt: skip
            name = chart.by_number[account].name
            yield LoanLine(close.name, rule, names[rule], entity, tag, name, amount)
        before = now


def _cell(book: Book, loan_id: int, index: CellIndex) -> NDArray[np.intp]:
    """The row of a loan's cell."""
    if holds_tape(book):
        found = np.flatnonzero(index.cells.cell == tape_cell(book, loan_id))
    else:
        heads = arrays(book.read("loans", ["loan_id", "model", "product", "source"]))
        rows = np.flatnonzero(heads["loan_id"] == loan_id)[:1]
        found = index.of({name: values[rows] for name, values in heads.items()}).astype(np.intp)
    if len(found) == 0:
        raise TapeError("the book has no such loan", where=f"loan {loan_id}", fix="Check its id")
    return found


def _held(
    book: Book, close: CloseRef, loan_id: int
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]] | None:
    """The cumulative amounts of a loan at a close, if that has a row of it."""
    for file in book.files("subledger", folder=close.folder):
        if not file.first or not int(file.first[1]) <= loan_id <= int(file.last[1]):
            continue
        check_unchanged(book.path / file.path, file.sha256)
        found = pq.read_table(book.path / file.path, filters=pc.field("loan_id") == loan_id)
        if found.num_rows:
            return np.array([[found[name][0].as_py() for name in AMOUNTS]], np.int64)
    return None
