"""Results of an estimate: rates by pool, their targets, rows of the `estimates` table.

>>> made = Estimates(
...     1,
...     653,
...     np.array([1]),
...     np.array([652, 653]),
...     np.arange(20).reshape(2, 10),
...     {},
...     (Row("payout_curve", 1, 0, 0),),
...     (),
... )
>>> made.rates(np.array([1, 1]), np.array([653, 652])).tolist()[0]
[10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.columns import make, sort
from usance.base.dates import format_month
from usance.base.money import half_up
from usance.base.tables import table
from usance.books.kernel.policy_layout import RATE_COUNT
from usance.books.losses.errors import ExposureError

ALL = -1
"""The segment of a row that holds for all of them."""

NAMES = (
    "loan_allowance", "contingent", "receivable", "contract",
    *(f"ifrs_loan_allowance_{stage}" for stage in (1, 2, 3)),
    *(f"ifrs_contingent_{stage}" for stage in (1, 2, 3)),
)  # fmt: skip
"""The rates of a pool, in their places."""

assert len(NAMES) == RATE_COUNT


class Row(NamedTuple):
    """A row of the `estimates` table without its close; every value is in parts per billion."""

    name: str
    segment: int
    age: int
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The estimate of one close."""

    close_no: int
    month: int
    segments: NDArray[Any]
    cohorts: NDArray[Any]
    rates_ppb: NDArray[np.int64]
    """Loss rates [pool, place] in the order of `NAMES`, in parts per billion of exposure."""
    targets: Mapping[str, list[list[Fraction]]]
    """By estimate, segment and cohort, the exact amount the rate stands for, in minor units."""
    details: tuple[Row, ...]
    notes: tuple[str, ...]
    """Notes for a reader: pools without exposure, caps, floors, segments without history."""

    def rates(self, segment: NDArray[Any], cohort: NDArray[Any]) -> NDArray[np.int64]:
        """The rates of each loan's pool [loan, place], by segment and month of origination."""
        return self.rates_ppb[self._pools(segment, cohort)]

    def _pools(self, segment: NDArray[Any], cohort: NDArray[Any]) -> NDArray[np.int64]:
        """The row of `rates_ppb` for each loan, by its segment and month of origination."""
        row = np.searchsorted(self.segments, segment).clip(0, max(len(self.segments) - 1, 0))
        column = np.asarray(cohort, np.int64) - int(self.cohorts[0]) if len(self.cohorts) else 0
        strange = np.full(len(segment), not self.rates_ppb.size)
        if not strange.any():
            strange = (self.segments[row] != segment) | (column < 0)
            strange |= column >= len(self.cohorts)
        if strange.any():
            first = int(np.argmax(strange))
            what = f"loan {first + 1} of {len(segment)} is in no pool"
            where = f"segment {segment[first]}, vintage {format_month(int(cohort[first]))}"
            fix = "Make the triangle from the same loans"
            raise ExposureError(what, where=where, fix=fix)
        return np.asarray(row * len(self.cohorts) + column, np.int64)

    def target_minor(self, name: str) -> NDArray[np.int64]:
        """The targets of an estimate [segment, cohort], in whole minor units."""
        shape = len(self.segments), len(self.cohorts)
        whole = [
            half_up(each.numerator, each.denominator)
            for row in self.targets.get(name, [])
            for each in row
        ]
        return np.array(whole, np.int64).reshape(shape) if whole else np.zeros(shape, np.int64)

    def rows(self) -> pa.Table:
        """The `estimates` table: a pool's age is the close's month less its own."""
        pools = len(self.rates_ppb)
        ages = self.month - np.tile(self.cohorts, len(self.segments)).astype(np.int64)
        names = [*(row.name for row in self.details), *np.repeat(NAMES, pools).tolist()]
        shown = {
            "segment": np.tile(np.repeat(self.segments, len(self.cohorts)), RATE_COUNT),
            "age": np.tile(ages, RATE_COUNT),
            "value": self.rates_ppb.T.reshape(-1),
        }
        for key, values in shown.items():
            first = np.array([getattr(row, key) for row in self.details], np.int64)
            shown[key] = np.concatenate([first, values])
        closes = np.full(len(names), self.close_no)
        return sort(make("estimates", close_no=closes, name=names, **shown), table("estimates"))
