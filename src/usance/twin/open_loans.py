"""Loans that are still open in a shard: terms, states and what the next month needs, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.loan.batch import States
from usance.loan.columns import TermColumns
from usance.loan.kernel.fold import SLOTS
from usance.twin.month_kernel import W_DAY, WATCH

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
        watches = np.zeros((len(states), WATCH), np.int64)
        watches[:, W_DAY] = -1
        return cls(exact, states, watches)

    @classmethod
    def none(cls) -> OpenLoans:
        """No loans."""
        kinds: dict[str, Any] = {**KEPT, **TERMS}
        empty = {name: np.empty(0, kind) for name, kind in kinds.items()}
        return cls.of(empty, np.empty((0, SLOTS), np.int64))

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def take(self, rows: NDArray[Any]) -> OpenLoans:
        """Some of the loans, by row or mask."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return OpenLoans(columns, self.states[rows], self.watches[rows])

    def joined(self, other: OpenLoans) -> OpenLoans:
        """These loans and others, in order of id."""
        if not len(other):
            return self
        order = np.argsort(np.concatenate((self["loan_id"], other["loan_id"])), kind="stable")
        return OpenLoans(
            {name: np.concatenate((self[name], other[name]))[order] for name in self.columns},
            np.concatenate((self.states, other.states))[order],
            np.concatenate((self.watches, other.watches))[order],
        )

    def terms(self) -> TermColumns:
        """Their terms as the kernel takes them."""
        columns: dict[str, Any] = {name: self.columns[name] for name in TERMS}
        return TermColumns(**columns)

    def states_at(self, day: int) -> States:
        """Their states, stepped to a day."""
        return States(self.terms(), self.states, np.full(len(self), day, np.int32))
