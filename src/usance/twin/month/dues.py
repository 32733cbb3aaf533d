"""Sums of dues by day and cell, kept until their thirtieth day has passed.

The dues of a month are written at its end, and again at the ends of the next two: what is paid of
a missed due is known only thirty days later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.columns import arrays, make
from usance.twin.month import month_kernel as m
from usance.twin.month.month_arrays import DueTotals
from usance.world.population import month_days

SUMS = ("due", "overdue", "collected30", "first", "first_unpaid7", "first_unpaid30")
DAYS, KEPT = 31, 3
_OWN = (m.DUE, m.OVERDUE, m.FIRST)
_OWN_SUMS, _LATER_SUMS = (0, 1, 3), (2, 4, 5)


def _empty(cells: int) -> I64:
    return np.zeros((DAYS, cells + 1, len(SUMS)), np.int64)


@dataclass
class DueSums:
    """Sums by month that are final, and those at a month's end that may still change."""

    cells: int
    final: dict[int, I64] = field(default_factory=dict)
    open: dict[int, I64] = field(default_factory=dict)

    def add(self, dues: I64, cell: NDArray[np.int16], month: int, *, sign: int = 1) -> None:
        """Add what loans add in a month, or take it back; open sums count only now."""
        rows = np.flatnonzero(dues[:, m.DUE_ON] >= 0)
        for source, place in zip(_OWN, _OWN_SUMS, strict=True):
            self._put(self.final, dues[rows, m.DUE_ON], cell[rows], place,
                      sign * dues[rows, source], month)  # fmt: skip
        for day, first, done in (
            (m.OLD_DAY, m.OLD_PAID, m.OLD_DONE),
            (m.DUE_ON, m.NEW_PAID, m.NEW_DONE),
        ):
            missed = np.flatnonzero(
                (dues[:, day] >= 0) & (dues[:, first : first + 3] != 0).any(axis=1)
            )
            for is_done, where in ((1, self.final), (0, self.open)):
                rows = missed[dues[missed, done] == is_done]
                for step, place in enumerate(_LATER_SUMS):
                    self._put(where, dues[rows, day], cell[rows], place,
                              sign * dues[rows, first + step], month)  # fmt: skip

    def _put(
        self, where: dict[int, I64], days: I64, cell: NDArray[np.int16], place: int, amounts: I64,
        month: int,
    ) -> None:  # fmt: skip
        for each in range(month - KEPT + 1, month + 1):
            first, last = month_days(each)
            rows = np.flatnonzero((days >= first) & (days <= last))
            if len(rows):
                sums = where.setdefault(each, _empty(self.cells))
                np.add.at(sums[:, :, place], (days[rows] - first, cell[rows]), amounts[rows])

    def add_rows(
        self, dues: pa.Table, names: Sequence[str], chosen: NDArray[np.bool_], month: int, *,
        is_final: bool = True,
    ) -> None:  # fmt: skip
        """Add some sums of some rows of a table of dues, of a month or the two before."""
        where, columns = self.final if is_final else self.open, arrays(dues)
        day, cell = columns["due_on"][chosen].astype(np.int64), columns["cell"][chosen]
        for name in names:
            self._put(where, day, cell, SUMS.index(name), columns[f"{name}_minor"][chosen], month)

    @staticmethod
    def space(cells: int) -> I64:
        """Sums of three months, the last one last, for a kernel to add to."""
        return np.zeros((KEPT, DAYS, cells + 1, len(SUMS)), np.int64)

    def add_totals(self, totals: DueTotals, month: int) -> None:
        """Add the sums of three months up to one, and of the last those met on their day.

        The arrays are used up: they may become a part of these sums.
        """
        totals.final[-1, :, :, SUMS.index("due")] += totals.met
        for where, sums in ((self.final, totals.final), (self.open, totals.open)):
            for place, each in enumerate(range(month - KEPT + 1, month + 1)):
                if sums[place].any():
                    where[each] = where[each] + sums[place] if each in where else sums[place]

    def join(self, other: DueSums) -> None:
        """Add the sums of another shard."""
        for mine, theirs in ((self.final, other.final), (self.open, other.open)):
            for month, sums in theirs.items():
                mine[month] = mine[month] + sums if month in mine else sums

    def begin(self, month: int) -> None:
        """Drop open sums, and months that nothing can be added to any more."""
        self.open = {}
        self.final = {each: sums for each, sums in self.final.items() if each > month - KEPT}

    def table(self, month: int) -> pa.Table:
        """The rows of a month's dues as they are known now."""
        sums = self.final.get(month, _empty(self.cells)) + self.open.get(month, 0)
        day, cell = np.nonzero(sums.any(axis=2))
        first, _ = month_days(month)
        columns = {f"{name}_minor": sums[day, cell, n] for n, name in enumerate(SUMS)}
        return make("dues", due_on=(day + first).astype(np.int32), cell=cell, **columns)
