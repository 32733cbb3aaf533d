"""The users of a shard as the platform knows them: lines, grades and how often they borrowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import Bools
from usance.base.compiled import in_threads
from usance.world.demand import EligibleUsers
from usance.world.request_kernel import count_rows

COLUMNS: dict[str, Any] = {
    "line_minor": np.int64, "grade": np.int8, "decided": np.int16, "asked": np.int16,
    "borrowed": np.int16, "repaid": np.int16, "worst": np.int16,
}  # fmt: skip
"""The line, 0 without one; the grade; decisions, requests and loans so far; the month a loan was
last repaid; the most days past due a loan ever had, -1 before the first loan."""
_NOTHING = {name: -1 if name == "worst" else 0 for name in COLUMNS}
"""A user who has only registered."""


@dataclass
class Users:
    """Users by position; the first has the number `first`."""

    first: int
    columns: dict[str, NDArray[Any]]

    @classmethod
    def none(cls, first: int) -> Users:
        """No users yet."""
        return cls(first, {name: np.empty(0, kind) for name, kind in COLUMNS.items()})

    @classmethod
    def of_active(cls, first: int, active: Bools, columns: Mapping[str, NDArray[Any]]) -> Users:
        """Users, with the columns of those who have more than registered."""
        rows, made = np.flatnonzero(active), cls(first, {})
        for name, kind in COLUMNS.items():
            made.columns[name] = np.full(len(active), _NOTHING[name], kind)
            made.columns[name][rows] = columns[name]
        return made

    def active(self) -> Bools:
        """True for each user with anything beyond registration."""
        found = np.zeros(len(self), np.bool_)
        for name, values in self.columns.items():
            found |= values != _NOTHING[name]
        return found

    def __len__(self) -> int:
        return len(self.columns["grade"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def grow(self, count: int) -> NDArray[np.int64]:
        """Add users who have nothing yet; their numbers."""
        at = self.first + len(self)
        if count == 0:  # only the last shard grows
            return np.arange(0, dtype=np.int64)
        for name, kind in COLUMNS.items():
            fill = np.full(count, _NOTHING[name], kind)
            self.columns[name] = np.concatenate((self.columns[name], fill))
        return np.arange(at, at + count, dtype=np.int64)

    def rows(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions of user numbers."""
        return numbers - self.first

    def eligible(
        self, overdue: NDArray[np.int8], month: int, *, workers: int | None = None
    ) -> EligibleUsers:
        """Number of users who may ask next month, at the end of this one."""

        def rows(start: int, stop: int) -> NDArray[np.int64]:
            counts = np.zeros(3, np.int64)
            count_rows(
                start, stop, self["line_minor"], self["borrowed"], overdue, self["repaid"], month,
                counts,
            )  # fmt: skip
            return counts

        found = sum(in_threads(rows, len(self), workers, 1 << 18), np.zeros(3, np.int64))
        return EligibleUsers(*(int(each) for each in found))
