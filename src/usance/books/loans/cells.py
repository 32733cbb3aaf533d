"""Cells of a book, by which journals are written, and the terms of its funding sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I32, I64
from usance.base.book import Book
from usance.base.columns import arrays
from usance.base.dates import from_day
from usance.base.segments import cell_key, cell_parts
from usance.books.chart import load_chart
from usance.books.errors import TapeError
from usance.books.postings import Cells

PLATFORM = 1
"""The entity of cells that name none, and of the platform where no entity is declared."""


@dataclass(frozen=True, slots=True)
class CellIndex:
    """Every cell of a book, found by model, product and source."""

    cells: Cells
    keys: I64
    order: I64

    def of(self, loans: Mapping[str, NDArray[Any]]) -> I32:
        """The row of each loan's cell."""
        wanted = cell_key(loans["model"], loans["product"], loans["source"])
        place = np.searchsorted(self.keys, wanted).clip(0, max(0, len(self.keys) - 1))
        strange = np.flatnonzero(self.keys[place] != wanted) if len(self.keys) else wanted
        if len(strange):
            row = int(strange[0])
            raise TapeError(
                f"no cell has the model {loans['model'][row]}, product {loans['product'][row]} and "
                f"source {loans['source'][row]}",
                where=f"loan {loans['loan_id'][row]} (and {len(strange) - 1} more)",
                fix="Add the cell to the table cells",
            )
        return np.asarray(self.order[place], np.int32)


def cell_index(book: Book) -> CellIndex:
    """The cells a book declares, or one for every kind of loan it holds."""
    declared = arrays(book.read("cells"))
    if len(declared["cell"]) == 0:
        declared = _found_cells(book)
    cash = load_chart()["cash"].number
    cells = Cells(
        declared["cell"].astype(np.int64), declared["model"].astype(np.int64),
        _or_else(declared["entity"], PLATFORM), declared["related"] == 1,
        *(_or_else(declared[name], cash) for name in ("fund_cash", "payout_cash")),
    )  # fmt: skip
    keys = cell_key(declared["model"], declared["product"], declared["source"])
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(twice):
        cell = declared["cell"][order[twice[0] + 1]]
        raise TapeError("has the model, product and source of another", where=f"cell {cell}",
                        fix="Leave one of them out")  # fmt: skip
    return CellIndex(cells, keys[order], order.astype(np.int64))


def _or_else(numbers: NDArray[Any], usual: int) -> I64:
    """The numbers a cell states; where it states none, the usual one."""
    return np.where(numbers == 0, usual, numbers).astype(np.int64)


def _found_cells(book: Book) -> dict[str, NDArray[Any]]:
    loans = arrays(book.read("loans", ["model", "product", "source"]))
    keys = np.unique(cell_key(loans["model"], loans["product"], loans["source"]))
    model, product, source = cell_parts(keys)
    zeros = np.zeros(len(keys), np.int16)
    return {
        "cell": np.arange(1, len(keys) + 1), "model": model,
        "entity": np.full(len(keys), PLATFORM), "related": zeros, "fund_cash": zeros,
        "payout_cash": zeros, "product": product, "source": source,
    }  # fmt: skip


_DAY_BITS = 20
"""Bits of a day beside the number of a source: until the year 4840."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Terms of funding sources: fees by version, and days to settle."""

    source: I64
    valid_from: I64
    valid_to: I64
    fee_ppm: I64
    lag_days: I64

    @classmethod
    def of(cls, book: Book) -> Sources:
        """The sources of a book."""
        rows = arrays(book.read("sources"))
        names = ("source", "valid_from", "valid_to", "fee_ppm", "settlement_lag")
        return cls(*(rows[name].astype(np.int64) for name in names))

    def terms_of(self, source: NDArray[Any], drawn: NDArray[Any], lag_days: int) -> tuple[I32, I32]:
        """The fee in force when each loan was drawn, and its days to settlement.

        A loan without a source has no fee; nor has any loan of a book that states no sources.
        """
        if not len(self.source):
            return np.zeros(len(source), np.int32), np.full(len(source), lag_days, np.int32)
        begins = (self.source << _DAY_BITS) + self.valid_from
        order = np.argsort(begins, kind="stable")
        asked = (source.astype(np.int64) << _DAY_BITS) + drawn
        found = order[np.maximum(np.searchsorted(begins[order], asked, side="right") - 1, 0)]
        is_so = (self.source[found] == source) & (self.valid_from[found] <= drawn)
        is_so &= drawn <= self.valid_to[found]
        nameless = np.flatnonzero(~is_so & (source != 0))
        if len(nameless):
            row = int(nameless[0])
            raise TapeError(
                f"the source {source[row]} has no terms on {from_day(int(drawn[row]))}, the day of "
                f"a loan (and {len(nameless) - 1} more), so that its fee is not known",
                where="table sources",
                fix="Add the version of its terms that was in force on that day",
            )
        fee = np.where(is_so, self.fee_ppm[found], 0).astype(np.int32)
        return fee, np.where(is_so, self.lag_days[found], lag_days).astype(np.int32)
