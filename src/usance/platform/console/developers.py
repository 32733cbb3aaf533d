"""The screen *Developers*: jobs and events."""

from __future__ import annotations

from starlette.responses import Response

from usance.base.errors import IdError
from usance.base.ids import parse_id, print_id
from usance.platform.console.frame import HOME, Visit, form, see
from usance.platform.errors import NotFound
from usance.platform.jobs import queue
from usance.platform.partners.deliveries import event_answer
from usance.platform.reads.latest import latest_events
from usance.platform.reads.shapes import moment_text

ROWS = 25


async def show(visit: Visit) -> Response:
    """The latest jobs and events, and the clock."""
    async with visit.platform.reading(visit.operator.principal) as read:
        clock = await read.clock()
        jobs = await queue.jobs(read.transaction, limit=ROWS)
        events = [event_answer(row) for row in await latest_events(read.transaction, ROWS)]
    rows = [{"id": print_id("jb", job.job_id), "job": job, "made_at": moment_text(job.made_at)}
            for job in jobs]  # fmt: skip
    return visit.page(
        "developers", "developers", visit.texts["developers"], jobs=rows, events=events, clock=clock
    )


async def act(visit: Visit) -> Response:
    """Cancel a job, or put it back into the queue."""
    await form(visit.request)
    given = visit.request.path_params
    does = {"cancel": queue.cancel, "retry": queue.retry}.get(given["action"])
    if does is None:
        raise NotFound("there is no such action", where=given["action"], fix="Use the buttons")
    try:
        number = parse_id(given["job"], "jb")
    except IdError as error:
        raise NotFound("there is no such job", where=given["job"], fix="Use the list") from error
    async with visit.platform.database.transaction(visit.operator.principal.principal_id) as write:
        await does(write, number)
    return see(f"{HOME}/developers")
