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
    ("loan_id", ">i8"), ("is_folded", "?"), ("is_open", "?"), ("model", ">i2"), ("source", ">i2"),
    ("cell", ">i2"), ("trigger_days", ">i2"), ("through", ">i4"), ("terms", TERMS_LAYOUT),
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
    columns = _COLUMNS if with_posted else _COLUMNS[:-1]
    which = "is_open and " if open_only else ""
    read = ", ".join(_BLANKED.get(name, name) for name, _ in columns)
    last = 0
    while True:
        rows = await copied_records(
            connection, _ROWS.format(columns=read, which=which), columns, last, piece
        )
        if not len(rows):
            return
        last, folded = int(rows["loan_id"][-1]), rows["is_folded"]
        if folded.all():
            yield FoldColumns(rows, [])
        else:
            yield FoldColumns(rows[folded], rows["loan_id"][~folded].tolist())


_BLANKED = {
    name: f"case when is_folded then {name} else decode(repeat('00', {width}), 'hex') end"
    for name, width in zip(("terms", "state", "posted"), _WIDTHS, strict=True)
}
"""Columns of a fold; zeros of their width where there is none, so that all rows have one."""
_FOLDED = f"form = {KERNEL} and " + " and ".join(
    f"octet_length({name}) = {width}"
    for name, width in zip(("terms", "state", "posted"), _WIDTHS, strict=True)
)
_ROWS = (
    f"select {{columns}} from (select *, {_FOLDED} as is_folded from usance.loan_states "  # noqa: S608
    "where {which}loan_id > $1 order by loan_id limit $2) piece order by loan_id"
)
"""A piece of the open loans, or of all, in one pass."""
