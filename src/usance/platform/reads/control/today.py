"""Counts of the business day: what came in, what waits."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from usance.base.codes import FactKind

if TYPE_CHECKING:
    import asyncpg


async def today(transaction: asyncpg.Connection, begin: datetime) -> dict[str, int]:
    """Counts since the beginning of a business day, and of what waits now."""
    row = await transaction.fetchrow(
        "select"
        " (select count(*) from usance.users u where u.registered_on = $1::date) as registrations,"
        " (select count(*) from usance.decisions where booked_at >= $2) as decisions,"
        " (select count(*) from usance.requests where requested_at >= $2) as drawdowns,"
        " (select count(*) from usance.facts where kind = $3 and booked_at >= $2) as payments,"
        " (select count(*) from usance.offers where state = 'open') as offers_open,"
        " (select count(*) from usance.breaks where state = 'open') as breaks,"
        " (select count(*) from usance.cases where closed_on is null) as cases_open,"
        " (select count(*) from usance.jobs where state = 'waiting') as jobs_waiting,"
        " (select count(*) from usance.jobs where state = 'failed') as jobs_failed",
        begin.date(), begin, int(FactKind.PAID),
    )  # fmt: skip
    return dict(row)
