"""The pause of a restored lender: nothing goes out and no time goes by until its release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.platform.errors import LenderPaused

if TYPE_CHECKING:
    import asyncpg


async def is_paused(transaction: asyncpg.Connection) -> bool:
    """True from a restore until somebody releases the lender."""
    return bool(await transaction.fetchval("select usance.is_paused()"))


async def check_released(transaction: asyncpg.Connection) -> None:
    """Refuse what would send something, or let time go by, in a lender that is paused."""
    if await is_paused(transaction):
        raise LenderPaused(
            "was restored and is paused", where="the lender",
            fix="Ask the providers about its orders and let it go on: usance db release --home DIR",
        )  # fmt: skip
