"""The queue of jobs: enqueued once for a key, taken under a lease, retried, cancelled, kept.

A worker takes jobs that wait, or whose lease has run out because their worker died; `SKIP LOCKED`
lets many workers take at once without waiting for each other. A job that fails is tried again,
later each time; after its last attempt it is set aside with its error until somebody retries it.

A job carries the version of its kind's form. One of a newer form waits for a program that knows it;
one of an older form that was not done is renewed when the same work is enqueued in the newer one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.errors import JobCancelled, LeaseLost, UnknownJob, WrongJobState
from usance.platform.reads.shapes import moment_text

if TYPE_CHECKING:
    import asyncpg

LEASE_SECONDS = 30
"""A worker that says nothing for so long is taken for dead."""
MAX_ATTEMPTS = 5
MAX_VERSION = 32_767
FIRST_WAIT_SECONDS, WAIT_FACTOR = 2, 4
"""Waits between attempts: 2, 8, 32 and 128 seconds."""


class JobState(StrEnum):
    """States of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class NewJob:
    """Work to be done: its kind, the key it is known by, and what its handler needs."""

    kind: str
    key: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    version: int = 1


@dataclass(frozen=True)
class Job:
    """A job as the queue holds it."""

    job_id: int
    kind: str
    version: int
    key: str
    payload: Mapping[str, Any]
    priority: int
    state: JobState
    attempts: int
    worker: str
    done_count: int
    whole_count: int
    error: str
    result: Mapping[str, Any]
    made_at: datetime
    ended_at: datetime | None


async def enqueue(connection: asyncpg.Connection, jobs: Sequence[NewJob]) -> list[int]:
    """The ids of the jobs that are new, in order; those whose key is known are left out.

    A job that is known in an older form, and neither runs nor is done, is renewed in this one.
    """
    first = await connection.fetchval("select usance.next_jobs($1)", len(jobs))
    rows = await connection.fetch(
        "insert into usance.jobs"
        " (job_id, kind, version, key, payload, priority, not_before, made_at)"
        " select $1 + n - 1, kind, version, key, payload, priority, clock_timestamp(),"
        " clock_timestamp() from unnest($2::text[], $3::smallint[], $4::text[], $5::jsonb[],"
        " $6::smallint[]) with ordinality j (kind, version, key, payload, priority, n)"
        " on conflict (key) do update set version = excluded.version, payload = excluded.payload,"
        " priority = excluded.priority, state = 'waiting', attempts = 0, error = '', worker = '',"
        " is_cancel_asked = false, not_before = excluded.not_before, ended_at = null"
        " where jobs.version < excluded.version"
        " and jobs.state in ('waiting', 'failed', 'cancelled') returning job_id",
        first, [each.kind for each in jobs], [each.version for each in jobs],
        [each.key for each in jobs], [json.dumps(each.payload) for each in jobs],
        [each.priority for each in jobs],
    )  # fmt: skip
    return [row["job_id"] for row in rows]


async def take(
    connection: asyncpg.Connection, worker: str, kinds: Sequence[str] | Mapping[str, int],
    count: int = 1,
) -> list[Job]:  # fmt: skip
    """Jobs of some kinds for a worker, the most urgent first; none if nothing is to be done.

    Kinds may come with the newest version of each that the worker knows.
    """
    known = kinds if isinstance(kinds, Mapping) else dict.fromkeys(kinds, MAX_VERSION)
    rows = await connection.fetch(
        "with next as (select job_id from usance.jobs"
        " where not usance.is_paused() and exists (select from unnest($2::text[], $5::smallint[])"
        " k (kind, newest) where k.kind = jobs.kind and jobs.version <= k.newest)"
        " and (state = 'waiting' and not_before <= clock_timestamp()"
        " or state = 'running' and lease_until < clock_timestamp())"
        " order by priority desc, job_id limit $3 for update skip locked)"
        " update usance.jobs j set state = 'running', worker = $1, attempts = attempts + 1,"
        " lease_until = clock_timestamp() + make_interval(secs => $4),"
        " started_at = coalesce(started_at, clock_timestamp())"
        " from next where j.job_id = next.job_id returning j.*",
        worker, list(known), count, float(LEASE_SECONDS), list(known.values()),
    )  # fmt: skip
    return sorted((_job(row) for row in rows), key=lambda job: (-job.priority, job.job_id))


async def report(
    connection: asyncpg.Connection, job: Job, done_count: int = 0, whole_count: int = 0
) -> None:
    """Tell how far a job is and keep its lease; raises when it was taken away or cancelled."""
    asked = await connection.fetchval(
        "update usance.jobs set done_count = $3, whole_count = $4,"
        " lease_until = clock_timestamp() + make_interval(secs => $5)"
        " where job_id = $1 and worker = $2 and attempts = $6 and state = 'running'"
        " returning is_cancel_asked",
        job.job_id, job.worker, done_count, whole_count, float(LEASE_SECONDS), job.attempts,
    )  # fmt: skip
    if asked is None:
        raise LeaseLost(
            "another worker has this job now", where=job.key,
            fix="Leave it to that worker; what this one did is kept once",
        )  # fmt: skip
    if asked:
        raise JobCancelled(
            "was cancelled", where=job.key, fix="Enqueue it again to do it after all"
        )


async def finish(connection: asyncpg.Connection, job: Job, result: Mapping[str, Any]) -> None:
    """End a job with its result; in the transaction of its last step, it is done exactly once."""
    await _end(connection, job, JobState.DONE, result=result)


async def cancelled(connection: asyncpg.Connection, job: Job) -> None:
    """End a job that was asked to stop."""
    await _end(connection, job, JobState.CANCELLED)


async def fail(
    connection: asyncpg.Connection, job: Job, error: str, *, is_final: bool = False
) -> JobState:
    """Put a failed job back for a later attempt, or set it aside after the last one."""
    if is_final or job.attempts >= MAX_ATTEMPTS:
        await _end(connection, job, JobState.FAILED, error=error)
        return JobState.FAILED
    wait = FIRST_WAIT_SECONDS * WAIT_FACTOR ** (job.attempts - 1)
    await connection.execute(
        "update usance.jobs set state = 'waiting', worker = '', lease_until = null, error = $4,"
        " not_before = clock_timestamp() + make_interval(secs => $5)"
        " where job_id = $1 and worker = $2 and attempts = $3 and state = 'running'",
        job.job_id, job.worker, job.attempts, error, float(wait),
    )  # fmt: skip
    return JobState.WAITING


async def cancel(connection: asyncpg.Connection, job_id: int) -> JobState:
    """Cancel a job: at once if it waits, at its next report if it runs."""
    state = await connection.fetchval(
        "update usance.jobs set is_cancel_asked = true,"
        " state = case state when 'waiting' then 'cancelled' else state end,"
        " ended_at = case state when 'waiting' then clock_timestamp() else ended_at end"
        " where job_id = $1 and state in ('waiting', 'running') returning state",
        job_id,
    )  # fmt: skip
    return JobState(state) if state else await _refuse(connection, job_id, "cancelled")


async def retry(connection: asyncpg.Connection, job_id: int) -> JobState:
    """Put a job that failed or was cancelled back into the queue, with all its attempts."""
    state = await connection.fetchval(
        "update usance.jobs set state = 'waiting', attempts = 0, worker = '', lease_until = null,"
        " is_cancel_asked = false, not_before = clock_timestamp(), ended_at = null"
        " where job_id = $1 and state in ('failed', 'cancelled') returning state",
        job_id,
    )  # fmt: skip
    return JobState(state) if state else await _refuse(connection, job_id, "retried")


async def job_by_id(connection: asyncpg.Connection, job_id: int) -> Job:
    """One job, whatever its state."""
    row = await connection.fetchrow("select * from usance.jobs where job_id = $1", job_id)
    if row is None:
        raise UnknownJob("there is no such job", where=print_id("jb", job_id),
                         fix="See 'usance jobs list'")  # fmt: skip
    return _job(row)


async def job_by_key(connection: asyncpg.Connection, key: str) -> Job:
    """The job of a key, which was enqueued before."""
    row = await connection.fetchrow("select * from usance.jobs where key = $1", key)
    if row is None:
        raise UnknownJob("there is no such job", where=key, fix="See 'usance jobs list'")
    return _job(row)


def job_answer(job: Job) -> dict[str, Any]:
    """A job as answers show it."""
    return {
        "job": print_id("jb", job.job_id), "kind": job.kind, "state": str(job.state),
        "done": job.done_count, "whole": job.whole_count, "error": job.error or None,
        "result": dict(job.result), "made_at": moment_text(job.made_at),
        "ended_at": moment_text(job.ended_at) if job.ended_at else None,
    }  # fmt: skip


async def jobs(
    connection: asyncpg.Connection, states: Sequence[JobState] = tuple(JobState), limit: int = 50
) -> list[Job]:
    """The latest jobs in some states, newest first."""
    rows = await connection.fetch(
        "select * from usance.jobs where state = any($1) order by job_id desc limit $2",
        [str(each) for each in states], limit,
    )  # fmt: skip
    return [_job(row) for row in rows]


async def jobs_of(
    connection: asyncpg.Connection, kind: str, payload: Mapping[str, Any], limit: int
) -> list[Job]:
    """The latest jobs of a kind whose payload holds some values, newest first."""
    rows = await connection.fetch(
        "select * from usance.jobs where kind = $1 and payload @> $2::jsonb "
        "order by job_id desc limit $3", kind, json.dumps(payload), limit,
    )  # fmt: skip
    return [_job(row) for row in rows]


async def _end(
    connection: asyncpg.Connection, job: Job, state: JobState, *, error: str = "",
    result: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    ended = await connection.fetchval(
        "update usance.jobs set state = $4, error = $5, result = $6, lease_until = null,"
        " ended_at = clock_timestamp()"
        " where job_id = $1 and worker = $2 and attempts = $3 and state = 'running' returning 1",
        job.job_id, job.worker, job.attempts, str(state), error, json.dumps(result or {}),
    )  # fmt: skip
    if ended is None:
        raise LeaseLost(
            "another worker has this job now", where=job.key,
            fix="Leave it to that worker; what this one did is kept once",
        )  # fmt: skip


async def _refuse(connection: asyncpg.Connection, job_id: int, verb: str) -> JobState:
    found = await job_by_id(connection, job_id)
    raise WrongJobState(
        f"is {found.state} and cannot be {verb}", where=found.key,
        fix="Waiting and running jobs are cancelled, failed and cancelled ones retried",
    )  # fmt: skip


def _job(row: Any) -> Job:
    values = {each.name: row[each.name] for each in fields(Job)}
    values["payload"] = json.loads(row["payload"])
    values["result"] = json.loads(row["result"])
    values["state"] = JobState(row["state"])
    return Job(**values)
