"""A lender after a restore: paused, in a new epoch, until somebody releases it.

What happened between the moment it was restored to and the end is not in it. Providers know of
payments that it does not: orders from two days before that moment on are asked about first.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from usance.platform.store.backup import BaseBackup, restore
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded

if TYPE_CHECKING:
    import asyncpg

ASK_BACK = timedelta(days=2)
"""Orders so long before the moment of a restore may have moved on at their provider."""


def restore_home(backup: Path, server: Embedded, target: datetime | None = None) -> BaseBackup:
    """Restore a lender into the empty home of a server, paused and in a new epoch."""
    base = restore(backup, server, target)
    with server:
        asyncio.run(_begin_epoch(server, target))
    return base


async def _begin_epoch(server: Embedded, target: datetime | None) -> None:
    database = Database(server)
    await database.prepare()
    owner = await database.owner()
    try:
        await owner.execute(
            "insert into usance.restores select coalesce(max(epoch), 0) + 1, $1, $2, null, "
            "pg_current_xact_id()::text::bigint from usance.restores",
            target, datetime.now(UTC),
        )  # fmt: skip
    finally:
        await owner.close()


async def orders_to_ask_about(transaction: asyncpg.Connection) -> list[int]:
    """Orders made from two days before the moment of the last restore on, in their order."""
    rows = await transaction.fetch(
        "select order_id from usance.orders where made_at >= (select coalesce(target, restored_at) "
        "- $1::interval from usance.restores order by epoch desc limit 1) order by order_id",
        ASK_BACK,
    )  # fmt: skip
    return [row["order_id"] for row in rows]


async def release(database: Database) -> int:
    """Let jobs and deliveries of a restored lender begin; the orders to be asked about."""
    owner = await database.owner()
    try:
        async with owner.transaction():
            await owner.execute("set local role usance_loader")
            orders = await orders_to_ask_about(owner)
            await owner.execute("reset role")
            await owner.execute(
                "update usance.restores set released_at = clock_timestamp() "
                "where released_at is null"
            )
    finally:
        await owner.close()
    return len(orders)
