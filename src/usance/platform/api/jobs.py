"""Routes of jobs: how far they are, and the end of one that nobody waits for any more."""

from __future__ import annotations

from typing import Any

from usance.base.ids import parse_id
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import JobState
from usance.platform.api.groups import Group
from usance.platform.jobs.queue import job_answer, job_by_id
from usance.platform.principals import PrincipalKind
from usance.platform.reads.reading import Reading
from usance.platform.records.user_record import not_found

READERS = ("control", "finance", "operations", "provider")
group = Group("Jobs", *READERS)


async def one_job(read: Reading, call: Call) -> Any:
    """A job and how far it is."""
    job = await job_by_id(read.transaction, parse_id(call.path["job"], "jb"))
    who = call.principal
    if who.kind is PrincipalKind.PROVIDER and job.payload.get("provider") != who.party:
        raise not_found("jb", job.job_id)
    return job_answer(job)


group.read("/jobs/{job}", JobState, one_job)
group.command("/jobs/{job}/cancel", "job.cancel", {200: JobState})
