"""Expected lives of loans on the balance sheet: survival curves by close and origination month.

IFRS solves a loan's effective rate once, on the flows expected at origination, and values it at
that rate on the flows expected now. So a close keeps its curves among its estimates, and a later
one finds there those of each loan's month.

>>> from datetime import date
>>> from usance.base.dates import to_day
>>> now = {9: (1_000_000, 400_000)}
>>> then = life_rows(5280, {9: (1_000_000, 0)})
>>> lives = expected_lives(now, np.array([9]), [651, 652, 653], [(CloseRef(650, 1), then)])
>>> expected = lives.of(np.array([0, 0]), np.array([to_day(date(2024, m, 9)) for m in (3, 4)]))
>>> expected.made.ppm[expected.made.segments].tolist(), expected.now.ppm.tolist()
([[1000000, 0], [1000000, 400000]], [[1000000, 400000]])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.columns import arrays, make
from usance.base.rates import PPM
from usance.books.close.closes import CloseRef
from usance.books.effective_interest.loans import Survival

Curves = Mapping[int, tuple[int, ...]]
"""By segment, the share of loans (ppm) outstanding after each instalment; all if none is given."""

NAME = "expected_life"


class Expected(NamedTuple):
    """Survival of some loans as expected at origination, and as expected now."""

    made: Survival
    now: Survival


@dataclass(frozen=True, slots=True)
class ExpectedLives:
    """The curves of a close, and those that were in force in the months before."""

    now: Survival
    made: Survival
    curve: I64
    """By segment and month, the row of `made`."""
    first_month: int

    @classmethod
    def always(cls, ppm: I64) -> ExpectedLives:
        """Curves by segment that have never changed."""
        rows = np.arange(len(ppm), dtype=np.int64)[:, None]
        return cls(Survival(ppm), Survival(ppm), rows, 0)

    def of(self, segment: I64, drawn: NDArray[Any]) -> Expected:
        """The curves of loans by the row of their segment and the day they were drawn."""
        month = drawn.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        column = (month - self.first_month).clip(0, self.curve.shape[1] - 1)
        made = replace(self.made, segments=self.curve[segment, column])
        return Expected(made, replace(self.now, segments=segment))


def expected_lives(
    now: Curves, segments: I64, period_months: Sequence[int],
    earlier: Sequence[tuple[CloseRef, pa.Table]],
) -> ExpectedLives | None:  # fmt: skip
    """The curves of a close and of those before it, by rows of `estimates`; none if none has any.

    A month has the curve of the close it fell in; months before the first close have that one's.
    """
    by_month = sorted((close.month, _curves_of(rows)) for close, rows in earlier)
    by_month.append((period_months[-1], now))
    width = max((len(curve) for _, curves in by_month for curve in curves.values()), default=0)
    if not width:
        return None
    tables = [_table(curves, segments, width) for _, curves in by_month]
    made, place = np.unique(np.concatenate(tables), axis=0, return_inverse=True)
    by_close = place.reshape(len(by_month), len(segments))
    first = by_month[0][0]
    curve = np.empty((len(segments), period_months[-1] - first + 1), np.int64)
    for (month, _), rows in zip(reversed(by_month), reversed(by_close), strict=True):
        curve[:, : month - first + 1] = rows[:, None]
    return ExpectedLives(Survival(tables[-1]), Survival(made), curve, first)


def life_rows(close_no: int, curves: Curves) -> pa.Table:
    """The curves as rows of the `estimates` table: instalments by age, in ppm."""
    rows = [
        (segment, age, share)
        for segment, curve in sorted(curves.items())
        for age, share in enumerate(curve, start=1)
    ]
    segment, age, value = zip(*rows, strict=True) if rows else ((), (), ())
    return make(
        "estimates", close_no=[close_no] * len(rows), name=[NAME] * len(rows),
        segment=list(segment), age=list(age), value=list(value),
    )  # fmt: skip


def _curves_of(rows: pa.Table) -> Curves:
    found = arrays(rows.filter(pc.equal(rows["name"], NAME)))
    return {
        int(segment): tuple(found["value"][found["segment"] == segment].tolist())
        for segment in np.unique(found["segment"])
    }


def _table(curves: Curves, segments: I64, width: int) -> I64:
    given = [curves.get(int(each)) or (PPM,) for each in segments]
    return np.array([[*curve, *curve[-1:] * (width - len(curve))] for curve in given], np.int64)
