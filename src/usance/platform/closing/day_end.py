"""The end of a business day: what falls due by rule, export to the lake, seals, caches compared."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from usance.platform.business_calendars import calendar_ends
from usance.platform.clock import run_due
from usance.platform.closing.caches import CacheReport, compare_caches
from usance.platform.closing.month_end import (
    LAKE,
    Progress,
    advance,
    lake_turn,
    over_at,
    silent,
)
from usance.platform.commands.unit_of_work import now
from usance.platform.lake.export import export
from usance.platform.ledger.heads import sign_day
from usance.platform.principals import SYSTEM
from usance.platform.refusals import ClockBackwards
from usance.platform.store.database import Database

if TYPE_CHECKING:
    from usance.platform.live import Platform

LOG = logging.getLogger("usance.day")
DAY_STEPS = "export", "head", "caches"
MAX_TOLD = 20
"""Differences of caches that a job's result names; `usance day` names them all."""


@dataclass
class DayEnd:
    """One or more business days that are over."""

    business_date: date
    halves: list[dict[str, Any]] = field(default_factory=list)
    head: str = ""
    """The file of its signed head; none if it had one before."""
    exported: int = 0
    compared: int = 0
    differences: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Calendars that end soon."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time that each step took."""


async def end_day(platform: Platform, home: Path, last: date | None = None) -> DayEnd:
    """Bring the business date over a day; a sandbox's clock is moved, a live one's waited for.

    A day that has just gone by is finished: whoever ended it may have died before it was exported.
    """
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
    day, begun = last or moment.business_date, monotonic()
    if last is not None and last < moment.business_date - timedelta(days=1):
        raise ClockBackwards(f"{last} is over, it is {moment.business_date}", where="--through",
                             fix="Give the business date or a later day")  # fmt: skip
    if moment.lender.is_sandbox:
        if moment.at < over_at(moment, day):
            await advance(platform, over_at(moment, day))
    else:
        await run_due(platform)
        day = moment.lender.business_date(moment.at) - timedelta(days=1)
    served = monotonic() - begun
    made = await finish_day(platform, home, day)
    made.seconds = {"half days": served, **made.seconds}
    made.halves = await _halves(platform, moment.business_date)
    return made


async def finish_day(
    platform: Platform, home: Path, day: date, progress: Progress = silent
) -> DayEnd:
    """Export what the day brought, seal it, sign its head, and compare every cache."""
    made = DayEnd(day + timedelta(days=1))

    async def exported() -> None:
        async with lake_turn(platform), platform.database.loader() as connection:
            made.exported = sum((await export(connection, home / LAKE)).rows.values())

    async def signed() -> None:
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            head = await sign_day(transaction, home, day, datetime.now(UTC))
            lender = (await now(transaction, platform.services)).lender
            made.notes = [str(each) for each in calendar_ends(lender, day)]
        made.head = head.name if head else ""

    async def compared() -> None:
        report: CacheReport = await compare_caches(platform)
        made.compared, made.differences = report.compared, list(report.differences)

    for name, step in zip(DAY_STEPS, (exported, signed, compared), strict=True):
        await progress(name)
        begun = monotonic()
        await step()
        made.seconds[name] = monotonic() - begun
    return made


async def end_day_apart(
    platform: Platform, day: date, progress: Progress = silent
) -> dict[str, Any]:
    """Finish a day in a thread of its own, so that requests are answered meanwhile; its report."""
    home, loop = platform.need_home(), asyncio.get_running_loop()

    async def tell(step: str) -> None:
        await progress(step)

    async def from_there(step: str) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(tell(step), loop))

    async def finish() -> DayEnd:
        own = type(platform).of_database(
            Database(platform.database.server, platform.database.name),
            platform.services.vault, home,
        )  # fmt: skip
        try:
            return await finish_day(own, home, day, from_there)
        finally:
            await own.close()

    made = await asyncio.to_thread(lambda: asyncio.run(finish()))
    for note in made.notes:
        LOG.warning("%s", note)
    if made.differences:
        LOG.error("%d caches are not what they are made of", len(made.differences))
    told = made.differences[:MAX_TOLD]
    return {"head": made.head, "exported": made.exported, "compared": made.compared,
            "differing": len(made.differences), "differences": told,
            "seconds": {name: round(spent, 3) for name, spent in made.seconds.items()},
            "notes": made.notes}  # fmt: skip


async def _halves(platform: Platform, first: date) -> list[dict[str, Any]]:
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        rows = await transaction.fetch(
            "select day, part, loans, set_aside from usance.business_days where day >= $1 "
            "order by day, part desc", first,
        )  # fmt: skip
    return [dict(row) for row in rows]
