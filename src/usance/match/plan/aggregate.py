"""Many requests as few rows: those that every mandate treats alike are merged.

Two requests are alike when product, region, grade, channel, tenor, attributes, the hours that
matter and the bounds on amounts are the same and their rates lie in the same percent. The row has
their mean amount and rate.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64
from usance.match.mandates.columns import SourceColumns
from usance.match.router.request_rows import RequestRows

RATE_STEP_PPM = 10_000


def aggregate(
    rows: RequestRows, slot: I64, columns: SourceColumns, max_rows: int
) -> tuple[RequestRows, I64]:
    """At most so many rows with their slots; if there are more, a systematic sample by volume."""
    amounts = np.unique(np.concatenate([columns.min_amount, columns.max_amount + 1]))
    hours = np.unique(np.concatenate([columns.opens, columns.cut_off]))
    key = np.stack([
        slot, rows.product, rows.region, rows.grade, rows.channel, rows.months, rows.attributes,
        rows.blacklisted, rows.rate // RATE_STEP_PPM,
        np.searchsorted(amounts, rows.amount, side="right"),
        np.searchsorted(hours, rows.second, side="right"),
    ])  # fmt: skip
    code = np.zeros(len(rows.amount), np.int64)
    for part in key:
        _, place = np.unique(part, return_inverse=True)
        _, code = np.unique(code * (int(place.max(initial=0)) + 1) + place, return_inverse=True)
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    weight = np.bincount(group, rows.weight, len(first)).astype(np.float64)
    total = np.bincount(group, rows.weight * rows.amount, len(first))
    rate = np.bincount(group, rows.weight * rows.amount * rows.rate, len(first)) / total
    amount = np.maximum(np.rint(total / weight), 1.0)
    merged = rows.take(first)._replace(
        weight=total / amount,
        amount=amount.astype(np.int64),
        rate=np.rint(rate).astype(np.int64),
    )
    return _systematic_sample(merged, np.ascontiguousarray(slot[first]), max_rows)


def _systematic_sample(rows: RequestRows, slot: I64, max_rows: int) -> tuple[RequestRows, I64]:
    """A systematic sample: rows in order, each picked in proportion to its volume."""
    if len(rows.amount) <= max_rows:
        return rows, slot
    volume = rows.weight * rows.amount
    ends = np.cumsum(volume)
    marks = (np.arange(max_rows) + 0.5) * ends[-1] / max_rows
    picked, times = np.unique(np.searchsorted(ends, marks), return_counts=True)
    kept = rows.take(picked)
    weight = times * ends[-1] / max_rows / kept.amount
    return kept._replace(weight=weight), np.ascontiguousarray(slot[picked])
