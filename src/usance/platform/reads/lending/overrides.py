"""Overrides for the monitoring of models: where people decided otherwise, why, and what came of it.

A group is a model and a grade. The model's word on a referred application is an approval; on one
that somebody asked about it is a decline.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from usance.platform.lender import Lender

if TYPE_CHECKING:
    import asyncpg

_ROWS = (
    "select f.model_no, f.grade, f.approved as first, r.approved, r.decision_id, "
    "array[r.reason_1, r.reason_2, r.reason_3, r.reason_4] as codes, "
    "coalesce(c.worst_days, 0) as worst_days, "
    "exists (select from usance.sealed s where s.user_id = r.decision_id / 16384 "
    "and s.kind = 'review' and s.number = r.decision_id) as has_words "
    "from usance.applications a join usance.decisions f using (decision_id) "
    "join usance.decisions r on r.decision_id = a.review_id "
    "left join usance.user_counters c on c.user_id = a.user_id "
    "where a.review_id > 0 and ($1::timestamptz is null or r.booked_at >= $1) "
    "and r.booked_at < $2"
)
_DECIDED = (
    "select model_no, grade, count(*) as decided from usance.decisions "
    "where kind = 0 and ($1::timestamptz is null or booked_at >= $1) and booked_at < $2 "
    "group by 1, 2"
)
BAD_DAYS = 90
"""Days past due from which a borrower counts as bad."""


async def overrides(
    transaction: asyncpg.Connection, lender: Lender, first: date | None, last: date
) -> list[dict[str, Any]]:
    """Groups with their decisions, reviews and overrides in both directions, in order."""
    spans = (
        _start(lender, first) if first else None, _start(lender, last + timedelta(days=1))
    )  # fmt: skip
    decided = {(row["model_no"], row["grade"]): row["decided"]
               for row in await transaction.fetch(_DECIDED, *spans)}  # fmt: skip
    groups: dict[tuple[int, int], list[Any]] = {}
    for row in await transaction.fetch(_ROWS, *spans):
        groups.setdefault((row["model_no"], row["grade"]), []).append(row)
    return [
        _group(key, decided[key], groups.get(key, []))
        for key in sorted(decided, key="{0[0]}/{0[1]}".format)
    ]


def _group(key: tuple[int, int], decided: int, rows: list[Any]) -> dict[str, Any]:
    model, grade = key
    up = [row for row in rows if row["approved"] and row["first"] == 0]
    down = [row for row in rows if not row["approved"] and row["first"] != 0]
    codes = Counter(code for row in (*up, *down) for code in row["codes"] if code)
    reviewed = len(rows)
    return {
        "group": f"{model}/{grade}", "model": model, "grade": grade, "decided": decided,
        "reviewed": reviewed, "approved_against_model": len(up),
        "declined_against_model": len(down),
        "override_ppm": (len(up) + len(down)) * 1_000_000 // decided,
        "reasons": [{"code": code, "count": count} for code, count in sorted(codes.items())],
        "with_words": sum(row["has_words"] for row in rows),
        "bad_after_review": sum(
            row["worst_days"] >= BAD_DAYS for row in rows if row["approved"]),
    }  # fmt: skip


def _start(lender: Lender, day: date) -> datetime:
    return datetime.combine(day, time(), lender.zone).astimezone(UTC)
