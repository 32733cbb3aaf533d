"""Jobs that nobody waits for any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.jobs.queue import cancel, job_answer, job_by_id
from usance.platform.principals import Principal
from usance.platform.records.user_record import read_id

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class CancelJob:
    """A job is cancelled: at once if it waits, at its next step if it runs."""

    job: str


async def cancel_job(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: CancelJob
) -> Decided:
    """Cancel a job; the dry run of it is undone with its transaction."""
    number = read_id(command.job, "jb", "job")
    await cancel(transaction, number)
    answer = job_answer(await job_by_id(transaction, number))
    return Decided(answer, command.job, status=DONE)
