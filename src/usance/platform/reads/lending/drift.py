"""Drift: how far scores and features of late decisions are from those of the months before.

Only features that lie open are read: what a borrower told is sealed under a key of their own.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from usance.assess.model_quality import psi

if TYPE_CHECKING:
    import asyncpg

RECENT, BEFORE = timedelta(days=30), timedelta(days=90)
"""The span that is looked at, and the span before it that it is compared with."""
WATCH, ACT = 0.1, 0.25
"""Stability indices from which one looks closer, and from which one acts: rules of thumb."""
_DECISIONS = (
    "select booked_at >= $2 as is_recent, score / 20 * 20 as score, grade, "
    "pd_ppm / 10000 as pd, approved, line_minor / 500000 as line, count(*) as count "
    "from usance.decisions where booked_at >= $1 and booked_at < $3 group by 1, 2, 3, 4, 5, 6"
)
_REQUESTS = (
    "select requested_at >= $2 as is_recent, product, months, channel, region, "
    "amount_minor / 200000 as amount, count(*) as count from usance.requests "
    "where requested_at >= $1 and requested_at < $3 group by 1, 2, 3, 4, 5, 6"
)

_FEATURES = {
    _DECISIONS: ("score", "grade", "pd", "approved", "line"),
    _REQUESTS: ("product", "months", "channel", "region", "amount"),
}


async def drift_rows(transaction: asyncpg.Connection, now: datetime) -> list[dict[str, Any]]:
    """The stability index of each feature, the largest first."""
    spans = now - RECENT - BEFORE, now - RECENT, now + timedelta(microseconds=1)
    found = []
    for query, names in _FEATURES.items():
        rows = await transaction.fetch(query, *spans)
        found += [_feature(name, rows) for name in names]
    return sorted(found, key=lambda each: -each["psi"])


def _feature(name: str, rows: list[Any]) -> dict[str, Any]:
    """One feature with its distribution in both spans."""
    sides: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
    for row in rows:
        sides[row["is_recent"]][row[name]] += row["count"]
    bins = sorted({*sides[True], *sides[False]})
    before, recent = ([sides[side][each] for each in bins] for side in (False, True))
    is_known = sum(before) > 0 and sum(recent) > 0
    index = psi(before, recent) if is_known else 0.0
    return {
        "feature": name, "psi": index, "bins": bins, "before": before, "recent": recent,
        "is_known": is_known,
        "mark": "" if index < WATCH else "watch" if index < ACT else "act",
    }  # fmt: skip
