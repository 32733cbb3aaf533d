"""Share of fee instalments not yet due that is expected to be lost to prepayment, by segment.

It is re-set at each close from the loans that have ended without a default: their fees less the
part collected. A loan that has stopped earning keeps the share of the close it stopped in, so
earlier shares are kept with the estimates of each close.

>>> fees = np.array([[500, 10_000, 9_200], [3, 100, 10]])
>>> lost_shares(fees, assumed_ppm=100_000).tolist()
[80000, 100000]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.arrays import I64
from usance.base.columns import arrays
from usance.base.rates import PPM
from usance.books.close.closes import CloseRef

NAME = "fee_instalments_lost"
MIN_LOANS = 100
"""Ended loans from which a share is taken; fewer say too little."""


def lost_shares(fees: I64, assumed_ppm: int) -> I64:
    """The share of each segment in ppm; `fees` has count, scheduled and collected by segment."""
    count, scheduled, collected = fees.T
    shares = np.full(len(fees), assumed_ppm, np.int64)
    known = (count >= MIN_LOANS) & (scheduled > 0)
    lost = (scheduled - collected)[known].tolist()
    whole = scheduled[known].tolist()
    shares[known] = [
        min(PPM, max(0, (2 * PPM * part + all_) // (2 * all_)))
        for part, all_ in zip(lost, whole, strict=True)
    ]
    return shares


def by_month(
    now: I64, segments: I64, period_months: Sequence[int],
    earlier: Sequence[tuple[CloseRef, pa.Table]],
) -> tuple[I64, int]:  # fmt: skip
    """Shares [segment, month] and the first month: each month has that of the close it fell in."""
    first = min([*period_months, *(close.month for close, _ in earlier)])
    shares = np.tile(now[:, None], (1, period_months[-1] - first + 1))
    for close, rows in sorted(earlier, key=lambda pair: pair[0].month, reverse=True):
        found = arrays(rows.filter(pc.equal(rows["name"], NAME)))
        place = np.searchsorted(segments, found["segment"]).clip(0, len(segments) - 1)
        known = segments[place] == found["segment"]
        shares[place[known], : close.month - first + 1] = found["value"][known, None]
    return shares, first
