"""Loans that are still open in a shard: terms, states and what the next month needs, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import in_threads
from usance.loan.batch import States
from usance.loan.columns import TermColumns
from usance.loan.kernel.arrays import TermArrays
from usance.loan.kernel.state import SLOTS
from usance.twin.month.merge_facts_kernel import merge_rows
from usance.twin.month.month_arrays import LoanArrays
from usance.twin.month.month_kernel import W_DAY, WATCH

TERMS = {
    "principal_minor": np.int64, "rate_ppm": np.int32, "coupon_ppm": np.int32,
    "instalments": np.int16, "disbursed_on": np.int32, "first_due_on": np.int32,
    "flat_fee_minor": np.int64, "guarantee_fee_minor": np.int64, "convention": np.int16,
}  # fmt: skip
KEPT = {
    "loan_id": np.int64, "model": np.int8, "source": np.int16, "product": np.int16,
    "cell": np.int16, "trigger": np.int16, "hazard": np.int32, "cohort": np.int16,
    "worst": np.int16, "bucket": np.int8, "dpd": np.int16, "owed_minor": np.int64,
}  # fmt: skip
"""`worst` is the most days past due ever, `bucket`, `dpd` and `owed_minor` those of the last month
end; bucket -1 is a loan that was not on the book then."""

NO_WATCH = np.array([-1 if place == W_DAY else 0 for place in range(WATCH)], np.int64)
"""The watch of a loan that has missed no due."""
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class OpenLoans:
    """Loans in order of id."""

    columns: dict[str, NDArray[Any]]
    states: NDArray[np.int64]
    watches: NDArray[np.int64]
    """Dues that were missed and are not thirty days old; see `month_kernel`."""

    @classmethod
    def of(cls, columns: Columns, states: NDArray[np.int64]) -> OpenLoans:
        """Loans without a watch, from columns that may be wider."""
        kinds: dict[str, Any] = {**KEPT, **TERMS}
        exact = {name: np.ascontiguousarray(columns[name], kinds[name]) for name in kinds}
        return cls(exact, states, np.tile(NO_WATCH, (len(states), 1)))

    @classmethod
    def none(cls) -> OpenLoans:
        """No loans."""
        kinds: dict[str, Any] = {**KEPT, **TERMS}
        empty = {name: np.empty(0, kind) for name, kind in kinds.items()}
        return cls.of(empty, np.empty((0, SLOTS), np.int64))

    def __len__(self) -> int:
        return len(self.states)

    def put(self, rows: NDArray[np.int64], others: OpenLoans) -> None:
        """Replace some rows by other loans."""
        for name, values in others.columns.items():
            self.columns[name][rows] = values
        self.states[rows], self.watches[rows] = others.states, others.watches

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def take(self, rows: NDArray[Any], *, workers: int | None = None) -> OpenLoans:
        """Some of the loans, by row or mask."""
        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return self._merged(self._none, places, workers)

    def joined(
        self, other: OpenLoans, kept: NDArray[np.bool_] | None = None, *, workers: int | None = None
    ) -> OpenLoans:
        """These loans, or those of them that are kept, and others, in order of id."""
        if not len(other) and kept is None:
            return self
        order = np.argsort(np.concatenate((self["loan_id"], other["loan_id"])), kind="stable")
        if kept is not None:
            order = order[np.concatenate((kept, np.ones(len(other), np.bool_)))[order]]
        return self._merged(other, order, workers)

    @property
    def _none(self) -> OpenLoans:
        columns = {name: values[:0] for name, values in self.columns.items()}
        return OpenLoans(columns, self.states[:0], self.watches[:0])

    def _merged(
        self, other: OpenLoans, places: NDArray[np.int64], workers: int | None
    ) -> OpenLoans:
        """Loans by place, those of another after these; one pass over the memory."""
        columns = {
            name: (np.concatenate((values, other[name])) if len(other) else values).take(places)
            for name, values in self.columns.items()
        }
        tables = ((self.states, other.states), (self.watches, other.watches))
        merged = [np.empty((len(places), one.shape[1]), np.int64) for one, _ in tables]

        def rows(start: int, stop: int) -> None:
            for (one, second), out in zip(tables, merged, strict=True):
                merge_rows(start, stop, places, one, second, out)

        in_threads(rows, len(places), workers, 1 << 16)
        return OpenLoans(columns, *merged)

    def states_at(self, day: int) -> States:
        """Their states, stepped to a day."""
        terms: dict[str, Any] = {name: self.columns[name] for name in TERMS}
        return States(TermColumns(**terms), self.states, np.full(len(self), day, np.int32))

    @property
    def arrays(self) -> LoanArrays:
        """Arrays for the kernels of a month, which change states, watches and worst days."""
        names = ("loan_id", "model", "trigger", "hazard", "source", "cell", "worst")
        columns = (self.columns[name] for name in names)
        return LoanArrays(self.term_arrays, self.states, self.watches, *columns)

    @property
    def term_arrays(self) -> TermArrays:
        """Their terms as kernels take them; they were checked when the loans were booked."""
        columns: Any = (self.columns[name] for name in TERMS)
        return TermArrays(*columns)
