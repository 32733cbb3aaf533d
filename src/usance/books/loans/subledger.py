"""Amounts of loans at a close: the rows it wrote, and the last rows of loans settled before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.columns import arrays
from usance.books.close.closes import CloseRef, effective_closes
from usance.books.loans.amounts import SUBLEDGER


def written(book: Book, close: CloseRef, names: Sequence[str]) -> tuple[I64, I64]:
    """The loans a close has rows of, rising, and some of their amounts."""
    rows = arrays(book.read(SUBLEDGER, ["loan_id", *names], folder=close.folder))
    order = np.argsort(rows["loan_id"], kind="stable")
    columns = np.stack([rows[name].astype(np.int64) for name in names], axis=1)
    return rows["loan_id"].astype(np.int64)[order], columns[order]


def held(book: Book, close: CloseRef, names: Sequence[str], ids: I64) -> I64:
    """Amounts of some loans at a close; a loan without a row has not moved since its last."""
    found, left = np.zeros((len(ids), len(names)), np.int64), np.ones(len(ids), np.bool_)
    for each in reversed([each for each in effective_closes(book) if each <= close]):
        if not left.any():
            break
        own, rows = written(book, each, names)
        place = np.searchsorted(own, ids).clip(0, max(0, len(own) - 1))
        here = left & (own[place] == ids) if len(own) else np.zeros_like(left)
        found[here] = rows[place[here]]
        left &= ~here
    return found
