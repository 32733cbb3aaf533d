"""The commands of the queue: `usance jobs …`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from usance.base.command_line import (
    AsJson,
    print_answer,
    print_line,
    print_pairs,
    print_table,
    show_help,
)

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.jobs.queue import Job
    from usance.platform.store.database import Database

T = TypeVar("T")

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

Home = Annotated[
    Path, typer.Option("--home", metavar="DIR", envvar="USANCE_HOME", help="The platform's folder.")
]
_MISSING = {"ended_at": "the job has not ended", "error": "the job has not failed"}
JobId = Annotated[str, typer.Argument(metavar="JOB", help="A job, such as jb_00000000001.")]


@app.callback()
def jobs(ctx: typer.Context) -> None:
    """Work that the live platform's machines do."""
    show_help(ctx)


@app.command("list")
def list_command(
    home: Home,
    failed: Annotated[bool, typer.Option("--failed", help="Only those set aside.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the latest jobs, newest first."""
    from usance.platform.jobs.queue import JobState
    from usance.platform.jobs.queue import jobs as latest

    states = (JobState.FAILED,) if failed else tuple(JobState)
    found = _queued(home, lambda connection: latest(connection, states, limit))
    if as_json:
        print_answer([_plain(each) for each in found], missing=_MISSING)
        return
    rows = [[_printed(each), each.key, each.state, _progress(each), each.error] for each in found]
    print_table(["job", "key", "state", "progress", "error"], rows)


@app.command()
def show(job: JobId, home: Home, as_json: AsJson = False) -> None:
    """Show one job."""
    from usance.platform.jobs.queue import job_by_id

    found = _plain(_queued(home, lambda connection: job_by_id(connection, _number(job))))
    if as_json:
        print_answer(found, missing=_MISSING)
    else:
        pairs = found.items()
        print_pairs([(name, str(value)) for name, value in pairs if value is not None])


@app.command()
def cancel(job: JobId, home: Home, as_json: AsJson = False) -> None:
    """Cancel a job: at once if it waits, at its next step if it runs."""
    from usance.platform.jobs import queue

    state = _queued(home, lambda connection: queue.cancel(connection, _number(job)))
    if as_json:
        print_answer({"job": job, "state": str(state)})
        return
    print_line("cancelled" if state == queue.JobState.CANCELLED else "will stop at its next step")


@app.command()
def retry(job: JobId, home: Home, as_json: AsJson = False) -> None:
    """Put a job that failed or was cancelled back into the queue."""
    from usance.platform.jobs import queue

    _queued(home, lambda connection: queue.retry(connection, _number(job)))
    if as_json:
        print_answer({"job": job, "state": "waiting"})
        return
    print_line("waiting")


@app.command()
def work(home: Home, as_json: AsJson = False) -> None:
    """Do what is due in the queue, and end."""
    from usance.platform.jobs.kinds import kinds_of
    from usance.platform.jobs.worker import run_jobs
    from usance.platform.live import Platform
    from usance.platform.store.home import with_database
    from usance.platform.vault import unlock

    async def run(database: Database) -> int:
        platform = Platform.of_database(database, await unlock(database, home), home)
        return await run_jobs(database, kinds_of(platform), until_empty=True)

    done = with_database(home, run)
    if as_json:
        print_answer({"jobs": done})
        return
    print_line(f"{done} jobs were worked on")


def _queued(home: Path, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    from usance.platform.store.home import with_database

    async def run(database: Database) -> T:
        async with database.transaction(0) as transaction:
            return await work(transaction)

    return with_database(home, run)


def _number(job: str) -> int:
    from usance.base.ids import parse_id

    return parse_id(job, "jb", where="JOB")


def _printed(job: Job) -> str:
    from usance.base.ids import print_id

    return print_id("jb", job.job_id)


def _progress(job: Job) -> str:
    return f"{job.done_count:,} of {job.whole_count:,}" if job.whole_count else ""


def _plain(job: Job) -> dict[str, Any]:
    return {
        "job": _printed(job), "kind": job.kind, "key": job.key, "state": str(job.state),
        "attempts": job.attempts, "done": job.done_count, "whole": job.whole_count,
        "error": job.error or None, "result": dict(job.result), "payload": dict(job.payload),
        "made_at": job.made_at.isoformat(),
        "ended_at": job.ended_at.isoformat() if job.ended_at else None,
    }  # fmt: skip
