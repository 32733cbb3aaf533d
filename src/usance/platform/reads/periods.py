"""Periods of the books as they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usance.platform.commands.periods import PERIOD_STATES
from usance.platform.reads.ledger import period_text
from usance.platform.reads.shapes import moment_text

if TYPE_CHECKING:
    import asyncpg

MAX_PERIODS = 36


async def periods(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """Periods with their state and the moment their knowledge was fixed, newest first."""
    rows = await transaction.fetch(
        "select * from usance.periods order by period desc limit $1", MAX_PERIODS
    )
    return [
        {"period": period_text(row["period"]), "state": PERIOD_STATES[row["state"]],
         "known_at": moment_text(row["known_at"]) if row["known_at"] else None}
        for row in rows
    ]  # fmt: skip
