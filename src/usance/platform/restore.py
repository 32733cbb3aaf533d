"""A lender after a restore: paused, in a new epoch, until somebody releases it.

What happened between the moment it was restored to and the end is not in it. Providers know of
payments that it does not: orders from two days before that moment on are asked about first, and one
that does not look sent is not sent before its provider has said that it never had it. Numbers that
the lost history may have given are not given again. Who was erased after that moment is erased
again, before anybody can look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from usance.base.atomic_files import lock, sync
from usance.platform.errors import OrdersNotAsked
from usance.platform.partners.dispatch import ask_orders
from usance.platform.pause import is_paused
from usance.platform.principals import SYSTEM
from usance.platform.store.backup import (
    BaseBackup,
    base_for,
    check_base,
    check_empty,
    restore,
)
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.live import Platform

RESTORING, WHOLE_LOG = "restoring", "whole-log"
"""Folders of a home: the one a lender is restored in until it is paused, and the one in which the
log is replayed to its end."""
ASK_BACK = timedelta(days=2)
"""Orders so long before the moment of a restore may have moved on at their provider."""
MAX_NAMED = 10
"""Orders that an error names one by one."""


def restore_home(backup: Path, server: Embedded, target: datetime | None = None) -> BaseBackup:
    """Restore a lender into the empty home of a server, paused and in a new epoch.

    It is the home's when all that is done: one that was cut off has left nothing that could be
    taken for a lender.
    """
    check_empty(server)
    check_base(base_for(backup, target).folder)
    server.home.mkdir(parents=True, exist_ok=True)
    new = Embedded(server.home / RESTORING)
    with lock(server.home / f"{RESTORING}.lock"):
        new.remove()
        try:
            erased = Erased() if target is None else _erased(backup, server.home)
            base = restore(backup, new, target)
            with new:
                asyncio.run(_begin_epoch(new, target, erased))
            check_empty(server)
            server.take_place_of(new)
            sync(server.home)
        finally:
            new.remove()
    return base


class Erased(NamedTuple):
    """Everybody who was erased: users, moments, and who did it."""

    users: Sequence[int] = ()
    moments: Sequence[datetime] = ()
    principals: Sequence[int] = ()


def _erased(backup: Path, home: Path) -> Erased:
    """Everybody whom the log erased up to its end, also after the moment that is restored to.

    The log is replayed to its end in a folder of its own, which is deleted then.
    """
    whole = Embedded(home / WHOLE_LOG)
    whole.remove()
    try:
        restore(backup, whole)
        with whole:
            return asyncio.run(_read_erased(whole))
    finally:
        whole.remove()


async def _read_erased(server: Embedded) -> Erased:
    async with Database(server).loader() as loader:
        row = await loader.fetchrow(
            "select array_agg(user_id) as users, array_agg(at) as moments, "
            "array_agg(principal_id) as principals from usance.erasures"
        )
    return Erased(*(value or () for value in row.values()))


async def _begin_epoch(server: Embedded, target: datetime | None, erased: Erased) -> None:
    database = Database(server)
    await database.prepare()
    owner = await database.owner()
    try:
        if erased.users:
            await owner.execute("select usance.erase_again($1, $2, $3)", *map(list, erased))
        await owner.execute("select set_config('usance.principal', '0', false)")
        await owner.execute("select usance.skip_numbers()")
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


async def release(platform: Platform, *, unasked: bool = False) -> int:
    """Ask providers about orders, then let a restored lender go on; the number of those orders.

    While a provider is silent it stays paused, unless its orders are to be asked about later.
    """
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        orders = await orders_to_ask_about(transaction) if await is_paused(transaction) else []
    silent = await ask_orders(platform, orders, also_silent=unasked)
    if silent and not unasked:
        raise OrdersNotAsked(
            f"nobody says what became of {', '.join(silent[:MAX_NAMED])}"
            + (f" and {len(silent) - MAX_NAMED} more" if len(silent) > MAX_NAMED else ""),
            where="the lender",
            fix="Release it when their provider answers, or with --unasked: they are then asked "
            "about by the clock, and none is sent before its provider has answered",
        )  # fmt: skip
    owner = await platform.database.owner()
    try:
        await owner.execute(
            "update usance.restores set released_at = clock_timestamp() where released_at is null"
        )
    finally:
        await owner.close()
    return len(orders)
