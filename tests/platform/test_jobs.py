"""Jobs are done, once each, whatever becomes of their workers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import asyncpg
import pytest

from tests.platform.databases import fresh
from tests.platform.lender import within
from tests.platform.sandbox import Sandbox
from usance.cli import main
from usance.platform.errors import LeaseLost, UnknownJob, WrongJobState
from usance.platform.jobs import queue
from usance.platform.jobs.queue import Job, JobState, NewJob, enqueue, job_by_id, take
from usance.platform.jobs.worker import JobKind, Renewal, Work, run_jobs
from usance.platform.live import Platform
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded

T = TypeVar("T")


def in_sandbox(sandbox: Sandbox, work: Callable[[Database], Awaitable[T]]) -> T:
    return within(sandbox.server, sandbox.name, work)


def queued(sandbox: Sandbox, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    """What some work with the queue gives, in one transaction."""

    async def run(database: Database) -> T:
        async with database.transaction(0) as transaction:
            return await work(transaction)

    return in_sandbox(sandbox, run)


def numbered(count: int, **given: Any) -> list[NewJob]:
    return [NewJob("count", f"count/{n}", {"n": n}, **given) for n in range(count)]


def test_the_same_work_is_enqueued_once(sandbox: Sandbox) -> None:
    first = queued(sandbox, lambda c: enqueue(c, numbered(3)))
    again = queued(sandbox, lambda c: enqueue(c, numbered(4)))
    assert (len(first), len(again)) == (3, 1)


def test_the_most_urgent_come_first_and_then_the_oldest(sandbox: Sandbox) -> None:
    urgent = NewJob("count", "urgent", priority=5)
    queued(sandbox, lambda c: enqueue(c, [*numbered(2), urgent]))
    taken = queued(sandbox, lambda c: take(c, "me", ["count"], 3))
    assert [job.key for job in taken] == ["urgent", "count/0", "count/1"]
    assert queued(sandbox, lambda c: take(c, "me", ["count"], 3)) == []


async def _race(database: Database, taking: Callable[..., Awaitable[list[Any]]]) -> Counter[str]:
    """Jobs by how often they were taken by four workers that all look before any commits."""
    looked = asyncio.Barrier(4)

    async def worker(name: str) -> list[str]:
        async with database.transaction(0) as transaction:
            keys = [job["key"] if isinstance(job, dict) else job.key
                    for job in await taking(transaction, name)]  # fmt: skip
            await looked.wait()
        return keys

    found = await asyncio.gather(*(worker(f"w{n}") for n in range(4)))
    return Counter(key for keys in found for key in keys)


def test_no_job_is_taken_by_two_workers(sandbox: Sandbox) -> None:
    queued(sandbox, lambda c: enqueue(c, numbered(40)))
    taken = in_sandbox(sandbox, lambda d: _race(d, lambda c, name: take(c, name, ["count"], 10)))
    assert len(taken) == 40
    assert set(taken.values()) == {1}


def test_without_the_lock_they_would_be(sandbox: Sandbox) -> None:
    """Negative control: the same look without FOR UPDATE SKIP LOCKED."""
    queued(sandbox, lambda c: enqueue(c, numbered(40)))

    async def unguarded(connection: asyncpg.Connection, name: str) -> list[Any]:
        rows = await connection.fetch(
            "select key, $1::text as worker from usance.jobs where state = 'waiting' limit 10", name
        )
        return [dict(row) for row in rows]

    taken = in_sandbox(sandbox, lambda d: _race(d, unguarded))
    assert max(taken.values()) > 1


def expire(sandbox: Sandbox) -> None:
    async def move(connection: asyncpg.Connection) -> None:
        await connection.execute(
            "update usance.jobs set lease_until = clock_timestamp() - interval '1 second',"
            " not_before = clock_timestamp() - interval '1 second'"
        )

    queued(sandbox, move)


def test_what_a_dead_worker_left_behind_is_taken_again(sandbox: Sandbox) -> None:
    queued(sandbox, lambda c: enqueue(c, numbered(1)))
    (left,) = queued(sandbox, lambda c: take(c, "dead", ["count"]))
    assert queued(sandbox, lambda c: take(c, "other", ["count"])) == []
    expire(sandbox)
    (found,) = queued(sandbox, lambda c: take(c, "other", ["count"]))
    assert (found.key, found.attempts) == (left.key, 2)
    for late in (
        lambda c: queue.report(c, left, 1, 2),
        lambda c: queue.finish(c, left, {}),
    ):
        with pytest.raises(LeaseLost):
            queued(sandbox, late)
    queued(sandbox, lambda c: queue.finish(c, found, {"sum": 7}))
    done = queued(sandbox, lambda c: job_by_id(c, found.job_id))
    assert (done.state, done.result) == (JobState.DONE, {"sum": 7})


def test_a_failed_job_waits_longer_each_time_and_is_then_set_aside(sandbox: Sandbox) -> None:
    queued(sandbox, lambda c: enqueue(c, numbered(1)))
    states = []
    for _ in range(queue.MAX_ATTEMPTS):
        (job,) = queued(sandbox, lambda c: take(c, "me", ["count"]))
        states.append(queued(sandbox, partial(queue.fail, job=job, error="no data")))
        assert queued(sandbox, lambda c: take(c, "me", ["count"])) == []
        expire(sandbox)
    assert states == [JobState.WAITING] * (queue.MAX_ATTEMPTS - 1) + [JobState.FAILED]
    aside = queued(sandbox, lambda c: job_by_id(c, job.job_id))
    assert aside.error == "no data"
    assert queued(sandbox, lambda c: queue.retry(c, job.job_id)) == JobState.WAITING
    (again,) = queued(sandbox, lambda c: take(c, "me", ["count"]))
    assert again.attempts == 1


def worked(
    sandbox: Sandbox, handler: Any, version: int = 1,
    renewals: Mapping[int, Renewal] = MappingProxyType({}),
) -> dict[str, Job]:  # fmt: skip
    """All jobs by key after a worker has done what was due."""
    kinds = {"count": JobKind(handler, version, renewals)}

    async def run(database: Database) -> list[Job]:
        await run_jobs(database, kinds, worker="me", until_empty=True)
        async with database.transaction(0) as transaction:
            return await queue.jobs(transaction)

    return {job.key: job for job in in_sandbox(sandbox, run)}


def test_one_bad_job_does_not_stop_the_others(sandbox: Sandbox) -> None:
    queued(sandbox, lambda c: enqueue(c, numbered(3)))

    async def handler(work: Work) -> Mapping[str, Any]:
        await work.report(1, 2)
        return {"share": 6 // (work.job.payload["n"] - 1)}

    found = worked(sandbox, handler)
    assert [found[f"count/{n}"].state for n in range(3)] == ["done", "waiting", "done"]
    assert found["count/1"].error == "ZeroDivisionError: integer division or modulo by zero"
    assert (found["count/2"].result, found["count/2"].done_count) == ({"share": 6}, 1)


def test_a_job_of_an_older_version_is_set_aside_and_renewed_by_asking_again(
    sandbox: Sandbox,
) -> None:
    queued(sandbox, lambda c: enqueue(c, numbered(2)))

    async def handler(work: Work) -> Mapping[str, Any]:
        return {"told": work.job.payload["number"]}

    found = worked(sandbox, handler, version=2)
    assert {job.state for job in found.values()} == {JobState.FAILED}
    assert "version 1" in found["count/0"].error
    assert "enqueue it again" in found["count/0"].error
    newer = [NewJob("count", f"count/{n}", {"number": n}, version=2) for n in range(2)]
    assert len(queued(sandbox, lambda c: enqueue(c, newer))) == 2
    assert queued(sandbox, lambda c: enqueue(c, [*numbered(2), *newer])) == []  # never back
    again = worked(sandbox, handler, version=2)
    assert {job.key: job.result for job in again.values()} == {
        "count/0": {"told": 0}, "count/1": {"told": 1},
    }  # fmt: skip
    newest = [NewJob("count", "count/0", {"number": 9}, version=3)]
    assert queued(sandbox, lambda c: enqueue(c, newest)) == []  # what is done stays done


def test_a_job_of_an_older_version_is_done_where_a_way_leads_to_the_new_form(
    sandbox: Sandbox,
) -> None:
    queued(sandbox, lambda c: enqueue(c, numbered(1)))

    async def handler(work: Work) -> Mapping[str, Any]:
        await work.report(1, 1)
        return dict(work.job.payload)

    renewals = {1: lambda old: {"number": old["n"]}, 2: lambda old: {**old, "unit": "day"}}
    found = worked(sandbox, handler, version=3, renewals=renewals)["count/0"]
    assert (found.state, found.result) == (JobState.DONE, {"number": 0, "unit": "day"})


def test_a_job_of_a_newer_version_waits_for_a_program_that_knows_it(sandbox: Sandbox) -> None:
    queued(sandbox, lambda c: enqueue(c, [*numbered(1), NewJob("count", "new", version=2)]))

    async def handler(_: Work) -> Mapping[str, Any]:
        return {}

    old = worked(sandbox, handler)
    assert {key: job.state for key, job in old.items()} == {"count/0": "done", "new": "waiting"}
    assert worked(sandbox, handler, version=2)["new"].state == JobState.DONE


def test_a_running_job_is_cancelled_at_its_next_report(sandbox: Sandbox) -> None:
    queued(sandbox, lambda c: enqueue(c, numbered(1)))

    async def handler(work: Work) -> Mapping[str, Any]:
        async with work.database.transaction(0) as transaction:
            await queue.cancel(transaction, work.job.job_id)
        await work.report(1, 2)
        raise AssertionError("not reached")

    assert worked(sandbox, handler)["count/0"].state == JobState.CANCELLED


def test_waiting_jobs_are_cancelled_at_once_and_ended_ones_not(sandbox: Sandbox) -> None:
    (job_id,) = queued(sandbox, lambda c: enqueue(c, numbered(1)))
    assert queued(sandbox, lambda c: queue.cancel(c, job_id)) == JobState.CANCELLED
    with pytest.raises(WrongJobState, match="is cancelled and cannot be cancelled"):
        queued(sandbox, lambda c: queue.cancel(c, job_id))
    with pytest.raises(UnknownJob):
        queued(sandbox, lambda c: queue.retry(c, 999))


def test_a_job_whose_workers_keep_dying_is_set_aside(sandbox: Sandbox) -> None:
    queued(sandbox, lambda c: enqueue(c, numbered(1)))
    for _ in range(queue.MAX_ATTEMPTS):
        queued(sandbox, lambda c: take(c, "dead", ["count"]))
        expire(sandbox)

    async def handler(_: Work) -> Mapping[str, Any]:
        raise AssertionError("not reached")

    assert "ended each time" in worked(sandbox, handler)["count/0"].error


def test_a_worker_outlives_its_connections(sandbox: Sandbox) -> None:
    """The server ends every connection, as a restart does; the worker goes on with the next job."""
    done: list[str] = []

    async def handler(work: Work) -> Mapping[str, Any]:
        done.append(work.job.key)
        return {}

    async def work(platform: Platform) -> None:
        stop, kinds = asyncio.Event(), {"count": JobKind(handler)}
        working = asyncio.create_task(run_jobs(platform.database, kinds, stop=stop))
        async with asyncio.timeout(240):
            for number in range(3):
                async with platform.database.loader() as owner:
                    await owner.execute("reset role")
                    await owner.execute(
                        "select pg_terminate_backend(pid) from pg_stat_activity "
                        "where datname = current_database() and pid <> pg_backend_pid()"
                    )
                    await enqueue(owner, numbered(number + 1)[-1:])
                while len(done) <= number:
                    await asyncio.sleep(0.02)
        stop.set()
        await working

    sandbox.within(work)
    assert done == ["count/0", "count/1", "count/2"]


def test_the_commands_list_cancel_and_retry(
    server: Embedded, template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sandbox = Sandbox(server, fresh(server, "usance", template))
    queued(sandbox, lambda c: enqueue(c, numbered(2)))
    home = ["--home", str(server.home)]
    assert main(["jobs", "cancel", "jb_00000000001", *home]) == 0
    assert main(["jobs", "retry", "jb_00000000001", *home]) == 0
    assert capsys.readouterr().out.split() == ["cancelled", "waiting"]
    assert main(["jobs", "list", *home]) == 0
    assert "count/1" in capsys.readouterr().out
    assert main(["jobs", "list", "--failed", "--json", *home]) == 0
    assert json.loads(capsys.readouterr().out) == {"data": [], "notes": []}
    assert main(["jobs", "show", "jb_00000000002", "--json", *home]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["state"] == "waiting"
    assert main(["jobs", "show", "jb_00000000009", *home]) == 2
    assert main(["jobs", "cancel", "ln_00000000G01", *home]) == 2
