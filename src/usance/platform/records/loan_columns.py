"""Rows of `loan_states` as columns: a hundred thousand loans at a time, by binary COPY.

Those that carry their fold are of one width and come as NumPy arrays; the others (changed terms,
paused interest, rows from before folds were kept) come as ids and are read one by one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I32, I64
from usance.books.loans.amounts import FACT_AMOUNTS
from usance.books.loans.fact_amounts import BookedState
from usance.platform.records.loan_fold import (
    KERNEL,
    STATE_LAYOUT,
    TERMS_LAYOUT,
    booked_columns,
)
from usance.platform.store.bulk import EPOCH_DAY, copied_records

if TYPE_CHECKING:
    import asyncpg

LOANS_A_PIECE = 100_000
_POSTED = np.dtype(("<i8", (len(FACT_AMOUNTS),)))
_COLUMNS = (
    ("loan_id", ">i8"), ("is_open", "?"), ("model", ">i2"), ("source", ">i2"), ("cell", ">i2"),
    ("trigger_days", ">i2"), ("through", ">i4"), ("terms", TERMS_LAYOUT),
    ("state", STATE_LAYOUT), ("posted", _POSTED),
)  # fmt: skip
_WIDTHS = TERMS_LAYOUT.itemsize, STATE_LAYOUT.itemsize, _POSTED.itemsize


@dataclass(frozen=True)
class FoldColumns:
    """Loans in the order of their ids, those with a fold as columns, and the ids of the others."""

    rows: NDArray[Any]
    others: list[int]

    @property
    def loan_ids(self) -> I64:
        """Ids of the loans with a fold."""
        return self.rows["loan_id"].astype(np.int64)

    @property
    def through(self) -> I32:
        """The last day of each loan's facts."""
        days: I32 = self.rows["through"].astype(np.int32) + np.int32(EPOCH_DAY)
        return days

    def booked(self) -> BookedState:
        """The folds as the kernel takes them."""
        models = self.rows["model"].astype(np.int8)
        return booked_columns(self.rows["terms"], self.rows["state"], self.through, models)

    def only(self, which: NDArray[np.bool_]) -> FoldColumns:
        """Some of the loans with a fold, and all the others."""
        return FoldColumns(self.rows[which], self.others)


async def fold_columns(
    connection: asyncpg.Connection, *, open_only: bool, piece: int = LOANS_A_PIECE,
    with_posted: bool = True,
) -> AsyncIterator[FoldColumns]:  # fmt: skip
    """All loans, or the open ones, piece by piece in the order of their ids.

    Whoever posts nothing leaves the posted amounts out: a third of what is read.
    """
    which, columns = 0 if open_only else 1, _COLUMNS if with_posted else _COLUMNS[:-1]
    names = ", ".join(name for name, _ in columns)
    last = 0
    while True:
        end, count = await connection.fetchrow(_END[which], last, piece)
        if end is None:
            return
        rows = await copied_records(
            connection, _ROWS[which].format(names=names), columns, last, end
        )  # fmt: skip
        others = await connection.fetch(_OTHERS[which], last, end) if count > len(rows) else []
        yield FoldColumns(rows, [row["loan_id"] for row in others])
        last = end


_FOLDED = f"form = {KERNEL} and " + " and ".join(
    f"octet_length({name}) = {width}"
    for name, width in zip(("terms", "state", "posted"), _WIDTHS, strict=True)
)
_WHICH = ("is_open and ", "")
_SPAN = "loan_id > $1 and loan_id <= $2"
_END = tuple(
    "select max(loan_id), count(*) from (select loan_id from usance.loan_states "  # noqa: S608
    f"where {which}loan_id > $1 order by loan_id limit $2) piece"
    for which in _WHICH
)
_ROWS = tuple(
    f"select {{names}} from usance.loan_states where {which}{_SPAN} and {_FOLDED} order by loan_id"  # noqa: S608
    for which in _WHICH
)
_OTHERS = tuple(
    f"select loan_id from usance.loan_states where {which}{_SPAN} and not ({_FOLDED}) "  # noqa: S608
    "order by loan_id"
    for which in _WHICH
)
"""Queries of the open loans and of all, from one id to another."""
