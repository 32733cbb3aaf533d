"""Facts on their way from the world to a book: plain columns, in canonical order of each loan."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.columns import make, order_of
from usance.loan.columns import FactColumns
from usance.twin.month.timestamps import END_OF_DAY, timestamps

TYPES: dict[str, Any] = {
    "loan_id": np.int64, "day": np.int32, "kind": np.int8, "ref": np.int64, "amount": np.int64,
    "arg": np.int64, "booked": np.int32,
}  # fmt: skip


class FactRows(NamedTuple):
    """One array a column; `booked` is the day a fact became known."""

    loan_id: I64
    day: NDArray[np.int32]
    kind: NDArray[np.int8]
    ref: I64
    amount: I64
    arg: I64
    booked: NDArray[np.int32]

    @classmethod
    def of(cls, **columns: Any) -> FactRows:
        """From columns of any whole numbers."""
        return cls(*(np.ascontiguousarray(columns[name], kind) for name, kind in TYPES.items()))

    @classmethod
    def none(cls) -> FactRows:
        """No facts."""
        return cls(*(np.empty(0, kind) for kind in TYPES.values()))

    def where(self, rows: NDArray[Any]) -> FactRows:
        """Some of the facts."""
        return FactRows(*(values[rows] for values in self))

    def of_loans(self, loan_ids: I64) -> FactRows:
        """The facts of some loans, if facts and loans are in order."""
        starts = np.searchsorted(self.loan_id, loan_ids, side="left")
        counts = np.searchsorted(self.loan_id, loan_ids, side="right") - starts
        before = np.cumsum(counts) - counts
        return self.where(np.arange(counts.sum()) + np.repeat(starts - before, counts))

    def owned_by(self, loan_ids: I64) -> FactRows:
        """Facts of some loans given in ascending order; the facts are in any order."""
        if not len(loan_ids):
            return FactRows.none()
        places = np.searchsorted(loan_ids, self.loan_id).clip(0, len(loan_ids) - 1)
        return self.where(np.flatnonzero(loan_ids[places] == self.loan_id))

    def merged_with(self, *others: FactRows) -> FactRows:
        """These facts merged with others, by loan in canonical order."""
        parts = [each for each in (self, *others) if len(each.day)]
        if len(parts) < 2:
            return parts[0] if parts else self
        joined = FactRows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        return joined.where(joined.in_order())

    def followed_by(self, others: FactRows, owner: NDArray[Any]) -> FactRows:
        """These facts, one of each loan, each followed by the others of its loan."""
        later = np.arange(len(owner)) + owner + 1
        first = np.ones(len(self.day) + len(owner), np.bool_)
        first[later] = False
        made: dict[str, Any] = {name: np.empty(len(first), kind) for name, kind in TYPES.items()}
        for name, column in made.items():
            column[first], column[later] = getattr(self, name), getattr(others, name)
        return FactRows(**made)

    def in_order(self) -> I64:
        """The places of the facts in canonical order, loan by loan."""
        return order_of([self.loan_id, self.day, self.kind, self.ref])

    def with_inserted(self, others: FactRows) -> FactRows:
        """These facts, in order, with a few more inserted; a known one is dropped."""
        places, kept = [], []
        starts = np.searchsorted(self.loan_id, others.loan_id, side="left")
        stops = np.searchsorted(self.loan_id, others.loan_id, side="right")
        for row, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
            if (self.ref[start:stop] == others.ref[row]).any():
                continue
            mine = zip(self.day[start:stop], self.kind[start:stop], self.ref[start:stop],
                       strict=True)  # fmt: skip
            own = (others.day[row], others.kind[row], others.ref[row])
            places.append(start + sum(each < own for each in mine))
            kept.append(row)
        if not kept:
            return self
        new, at = others.where(np.array(kept)), np.array(places, np.int64)
        return FactRows.of(
            **{name: np.insert(getattr(self, name), at, getattr(new, name)) for name in TYPES}
        )

    def columns_for(self, loan_ids: I64) -> FactColumns:
        """As the kernel takes them, for loans in ascending order that hold every owner."""
        ends = np.searchsorted(self.loan_id, loan_ids, side="right")
        offsets = np.concatenate(([0], ends)).astype(np.int64)
        assert offsets[-1] == len(self.day), "a fact has no loan"
        return FactColumns(offsets, self.day, self.kind, self.amount, self.arg)

    def table(self, zone: str) -> pa.Table:
        """The declared table; a fact is booked at the end of its day of booking."""
        return make(
            "facts", loan_id=self.loan_id, effective_on=self.day, kind=self.kind, ref=self.ref,
            amount_minor=self.amount, arg=self.arg,
            booked_at=timestamps(self.booked, END_OF_DAY, zone),
        )  # fmt: skip
