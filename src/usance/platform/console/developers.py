"""The screen *Developers*: jobs, events, keys, requests, webhooks, and the clock of a sandbox."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.responses import Response

from usance.base.errors import IdError
from usance.base.ids import parse_id, print_id
from usance.platform.console.frame import HOME, Visit, form, see
from usance.platform.errors import Forbidden, InvalidField, NotFound
from usance.platform.jobs import queue
from usance.platform.jobs.kinds import WORLD_JOB
from usance.platform.jobs.queue import NewJob, enqueue
from usance.platform.partners.deliveries import event_answer
from usance.platform.partners.webhooks import deliveries, webhooks
from usance.platform.reads.latest import latest_events, latest_requests
from usance.platform.reads.shapes import moment_text
from usance.platform.security import access_reads

ROWS, MAX_DAYS = 25, 31


async def show(visit: Visit) -> Response:
    """The latest jobs, events and requests, keys, webhooks, and the clock."""
    asked = visit.request.query_params.get("key", "").strip()
    async with visit.platform.reading(visit.operator.principal) as read:
        clock = await read.clock()
        jobs = await queue.jobs(read.transaction, limit=ROWS)
        events = [event_answer(row) for row in await latest_events(read.transaction, ROWS)]
        values: dict[str, Any] = {
            "keys": await access_reads.keys(read.transaction),
            "webhooks": await webhooks(read.transaction),
            "deliveries": await deliveries(read.transaction, None, 0, ROWS),
            "requests": await latest_requests(read.transaction, asked, ROWS),
            "may_advance": read.moment.lender.is_sandbox and visit.may("clock.advance"),
        }  # fmt: skip
    rows = [{"id": print_id("jb", job.job_id), "job": job, "made_at": moment_text(job.made_at)}
            for job in jobs]  # fmt: skip
    return visit.page(
        "developers", "developers", visit.texts["developers"], jobs=rows, events=events,
        clock=clock, asked=asked, key=secrets.token_urlsafe(18), **values,
    )  # fmt: skip


async def act(visit: Visit) -> Response:
    """Cancel a job, or put it back into the queue."""
    await form(visit.request)
    if visit.operator.role == "auditor":
        raise Forbidden("an auditor changes nothing", where="jobs", fix="Ask a developer")
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


async def advance(visit: Visit) -> Response:
    """Let days go by in a sandbox: its world acts through the API, as a job."""
    given = await form(visit.request)
    if not visit.may("clock.advance"):
        raise Forbidden(f"{visit.operator.role} may not move the clock", where="clock",
                        fix="Ask a developer")  # fmt: skip
    days = given.get("days", "")
    if not (days.isascii() and days.isdigit() and 1 <= int(days) <= MAX_DAYS):
        raise InvalidField(f"{days[:20]!r} is no number of days", where="days",
                           fix=f"Give 1 to {MAX_DAYS}")  # fmt: skip
    host, port = visit.request.scope["server"]
    payload = {"days": int(days), "url": f"http://{host}:{port}"}
    key = f"{WORLD_JOB}/{given.get('key') or secrets.token_urlsafe(18)}"
    async with visit.platform.database.transaction(visit.operator.principal.principal_id) as write:
        await enqueue(write, [NewJob(WORLD_JOB, key, payload)])
    return see(f"{HOME}/developers")
