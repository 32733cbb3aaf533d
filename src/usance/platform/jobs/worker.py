"""The worker: takes jobs from the queue and hands each to the handler of its kind.

A handler is `(Work) → result`. It reports its progress, which keeps the lease; its own writes are
idempotent, since a job whose worker died runs again from the beginning.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from usance.base.errors import UsanceError
from usance.platform.errors import JobCancelled, LeaseLost
from usance.platform.jobs import queue
from usance.platform.jobs.queue import Job
from usance.platform.store.database import Database, connection_failures

if TYPE_CHECKING:
    import asyncpg

POLL_SECONDS = 0.5
"""Time between two looks at an empty queue; polling needs no lock at commit, as NOTIFY does."""
LOG = logging.getLogger("usance.jobs")


@dataclass(frozen=True)
class Work:
    """One job in the hands of a worker."""

    job: Job
    database: Database

    reached: list[int] = field(default_factory=lambda: [0, 0])
    """How far the job is, and how far it goes."""

    async def report(self, done_count: int, whole_count: int) -> None:
        """Tell how far the job is; raises when it was cancelled or taken away."""
        self.reached[:] = done_count, whole_count
        async with self.database.transaction(0) as transaction:
            await queue.report(transaction, self.job, done_count, whole_count)

    async def keep_lease(self) -> None:
        """Say from time to time that the worker lives, whatever one step of the job takes."""
        while True:
            await asyncio.sleep(queue.LEASE_SECONDS / 3)
            await self.report(*self.reached)


Handler = Callable[[Work], Awaitable[Mapping[str, Any]]]
Renewal = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""A payload in the form that follows."""


@dataclass(frozen=True)
class JobKind:
    """A kind of job: the handler, and the version of the payload that it understands."""

    handler: Handler
    version: int = 1
    renewals: Mapping[int, Renewal] = field(default_factory=dict)
    """From an older version to the one after it."""

    def renewed(self, job: Job) -> Job | None:
        """A job in the version that the handler understands; none where no way leads there."""
        while job.version < self.version:
            renewal = self.renewals.get(job.version)
            if renewal is None:
                return None
            job = replace(job, version=job.version + 1, payload=renewal(job.payload))
        return job if job.version == self.version else None


def worker_name() -> str:
    """A name of this process that no other has now.

    >>> worker_name() == worker_name()
    True
    """
    return f"{socket.gethostname()}/{os.getpid()}"


async def run_jobs(
    database: Database, kinds: Mapping[str, JobKind], *, worker: str = "",
    until_empty: bool = False, stop: asyncio.Event | None = None,
) -> int:  # fmt: skip
    """Work until told to stop, or until nothing is due; the number of jobs that were worked on.

    A database that is away or was restarted is waited for: whatever was lost with it is taken again
    when its lease is over.
    """
    name, worked = worker or worker_name(), 0
    while stop is None or not stop.is_set():
        try:
            count = await _work_once(database, kinds, name)
        except connection_failures() as error:
            if until_empty:
                raise
            LOG.warning("jobs wait for the database: %s", error)
            count = 0
        worked += count
        if not count:
            if until_empty:
                break
            await asyncio.sleep(POLL_SECONDS)
    return worked


async def _work_once(database: Database, kinds: Mapping[str, JobKind], name: str) -> int:
    """Take what is due and do it; the number of jobs."""
    async with database.transaction(0) as transaction:
        known = {each: kind.version for each, kind in kinds.items()}
        taken = await queue.take(transaction, name, known)
    for job in taken:
        await _work(database, kinds[job.kind], job)
    return len(taken)


async def _work(database: Database, kind: JobKind, job: Job) -> None:
    """Do one job and end it; whatever happens to it, the next one is taken."""
    form = kind.renewed(job)
    if form is None or job.attempts > queue.MAX_ATTEMPTS:
        reason = "its worker ended each time before it was done" if form else (
            f"was enqueued in version {job.version} of its form, this program has {kind.version}: "
            "enqueue it again, which renews it, or let the program do it that enqueued it"
        )  # fmt: skip
        await _end(database, lambda connection: queue.fail(connection, job, reason, is_final=True))
        return
    try:
        result = await _handled(kind, Work(form, database))
        await _end(database, lambda connection: queue.finish(connection, job, result))
    except JobCancelled:
        await _end(database, lambda connection: queue.cancelled(connection, job))
    except LeaseLost:
        LOG.warning("job %s was taken by another worker", job.key)
    except Exception as error:
        LOG.warning("job %s failed", job.key, exc_info=not isinstance(error, UsanceError))
        message = f"{type(error).__name__}: {error}"
        await _end(database, lambda connection: queue.fail(connection, job, message))


async def _handled(kind: JobKind, work: Work) -> Mapping[str, Any]:
    """The result of a handler, which is stopped when its job is taken away or cancelled."""
    handling = asyncio.ensure_future(kind.handler(work))
    keeping = asyncio.create_task(work.keep_lease())
    try:
        await asyncio.wait((handling, keeping), return_when=asyncio.FIRST_COMPLETED)
        if handling.done():
            return await handling
        handling.cancel()
        await asyncio.wait((handling,))
        await keeping
        raise AssertionError("a lease is kept until it is lost")
    finally:
        keeping.cancel()
        handling.cancel()


async def _end(database: Database, end: Callable[[asyncpg.Connection], Awaitable[object]]) -> None:
    async with database.transaction(0) as transaction:
        await end(transaction)
