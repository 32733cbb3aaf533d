"""The schedule of a platform that is served: what nobody has to ask for.

One worker of all has the turn. It seals what was appended, a few seconds later; in a live lender it
does what falls due and moves the business date; in one that was restored, nothing until its
release. When an evening was served, the end of that day is
put into the queue as a job.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from usance.base.errors import UsanceError
from usance.platform.clock import run_due
from usance.platform.commands.unit_of_work import now
from usance.platform.jobs.queue import NewJob, enqueue
from usance.platform.ledger.seals import seal
from usance.platform.pause import is_paused
from usance.platform.principals import SYSTEM
from usance.platform.rescreening import enqueue_screening
from usance.platform.store.locks import Lock

if TYPE_CHECKING:
    from usance.platform.live import Platform

LOG = logging.getLogger("usance.time")
POLL_SECONDS, SEAL_SECONDS, WAIT_SECONDS = 1.0, 5.0, 30.0
"""Looks at what is due, seals, and the pause after something failed."""
DAY_JOB, RETENTION_JOB = "day.end", "retention.apply"


async def schedule_loop(platform: Platform, stop: asyncio.Event) -> None:
    """Do what time brings until told to stop; what fails is tried again after a while."""
    loop, next_seal = asyncio.get_running_loop(), 0.0
    while not stop.is_set():
        wait = POLL_SECONDS
        try:
            if await take_turn(platform, seals=loop.time() >= next_seal):
                next_seal = loop.time() + SEAL_SECONDS
        except Exception as error:
            LOG.warning("time stands still: %s", error, exc_info=not isinstance(error, UsanceError))
            wait = WAIT_SECONDS
        await _pause(stop, wait)


async def take_turn(platform: Platform, *, seals: bool) -> bool:
    """Take a turn, unless another worker has it; True if it was taken and seals were made."""
    async with platform.database.transaction(SYSTEM.principal_id) as turn:
        if not await turn.fetchval("select pg_try_advisory_xact_lock($1)", Lock.SCHEDULE):
            return False
        if await is_paused(turn):
            return False
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            is_live = not (await now(transaction, platform.services)).lender.is_sandbox
        if is_live:
            await run_due(platform)
        if seals:
            async with platform.database.transaction(SYSTEM.principal_id) as transaction:
                await seal(transaction, datetime.now(UTC))
            await enqueue_screening(platform)
        await end_last_day(platform)
    return seals


async def end_last_day(platform: Platform) -> None:
    """Enqueue the end of the last day whose evening was served, where the lender has a folder."""
    if platform.home is None:
        return
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        day: date | None = await transaction.fetchval(
            "select max(day) from usance.business_days where part = 'evening'"
        )
        if day is not None:
            for kind in (DAY_JOB, RETENTION_JOB):
                job = NewJob(kind, f"{kind}/{day}", {"day": day.isoformat()})
                if not await transaction.fetchval(_IS_KNOWN, job.key, job.version):
                    await enqueue(transaction, [job])


_IS_KNOWN = "select exists (select from usance.jobs where key = $1 and version >= $2)"


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait, but not longer than until the end."""
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
