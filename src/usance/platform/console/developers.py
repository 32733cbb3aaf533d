"""The screen *Developers*: jobs, requests, events, webhooks, keys, the log, a sandbox's clock."""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

from starlette.responses import Response

from usance.base.documents import parse_json
from usance.base.errors import IdError
from usance.base.ids import parse_id, print_id
from usance.platform.console.frame import HOME, Visit, form, redirect
from usance.platform.console.lists import ListPage, ListState
from usance.platform.console.log_tail import TAIL
from usance.platform.console.tasks import buttons, row_buttons
from usance.platform.errors import Forbidden, InvalidField, NotFound
from usance.platform.jobs import queue
from usance.platform.jobs.kinds import WORLD_JOB
from usance.platform.jobs.queue import Job, JobState, NewJob, enqueue
from usance.platform.partners.webhooks import deliveries, partners_webhooks, webhooks
from usance.platform.reads.control.latest import event_page, request_page
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import read_id
from usance.platform.security import access_reads

ROWS, MAX_DAYS = 50, 31
ROTATE = "webhook.rotate"
"""The act that tells a secret: a partner's own is not offered."""
BUSY = (JobState.WAITING, JobState.RUNNING)


def _parts(visit: Visit) -> list[tuple[str, str]]:
    home = f"{HOME}/developers"
    return [(visit.texts["jobs"], home), *((visit.texts[name], f"{home}/{name}") for name in
            ("requests", "events", "webhooks", "keys", "log"))]  # fmt: skip


_DAY_OF_JOB = re.compile(r"/(\d{4}-\d\d(?:-\d\d)?|\d{4}[QHN]\d?)\b")
"""The day or period that a job's key names."""


def job_rows(jobs: list[Job]) -> list[dict[str, Any]]:
    """Jobs as a list of them shows them."""
    return [
        {"id": print_id("jb", job.job_id), "name": job.key, "kind": job.kind,
         "day": next(iter(_DAY_OF_JOB.findall(job.key)), ""), "state": str(job.state),
         "busy": job.state in BUSY, "done": job.done_count, "whole": job.whole_count,
         "error": job.error, "made_at": moment_text(job.made_at)}
        for job in jobs
    ]  # fmt: skip


def may_act(visit: Visit) -> bool:
    """True of those who may put a job back into the queue; an auditor changes nothing."""
    return visit.operator.role != "auditor"


async def show(visit: Visit) -> Response:
    """The latest jobs with their progress, and the clock."""
    asked = ListState.of(visit.request, {"state": ("", *(str(each) for each in JobState))})
    states = [JobState(asked.filters["state"])] if asked.filters["state"] else tuple(JobState)
    async with visit.platform.reading(visit.operator.principal) as read:
        clock = await read.clock()
        jobs = await queue.jobs(read.transaction, states, limit=ROWS)
        may_advance = read.moment.lender.is_sandbox and visit.may("clock.advance")
    return visit.page(
        "developers", "developers", visit.texts["developers"], jobs=job_rows(jobs), clock=clock,
        key=secrets.token_urlsafe(18), asked=asked, may_advance=may_advance, tabs=_parts(visit),
        may_act=may_act(visit),
    )  # fmt: skip


async def requests(visit: Visit) -> ListPage:
    """Requests by idempotency key, id, path and outcome, newest first."""
    asked = ListState.of(visit.request, {"outcome": ("", "fine", "failed")},
                         typed=("key", "request", "path"))  # fmt: skip
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await request_page(read.transaction, {**asked.filters, **asked.texts}, asked.before,
                                  asked.limit + 1)  # fmt: skip
    return ListPage("developers", asked, rows, key="request", links={},
                   title=visit.texts["requests"], numbers=("microseconds",),
                   parts=_parts(visit))  # fmt: skip


async def events(visit: Visit) -> ListPage:
    """Events by name and subject, newest first."""
    asked = ListState.of(visit.request, {}, typed=("event", "subject"))
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await event_page(read.transaction, asked.texts["event"], asked.texts["subject"],
                                asked.before, asked.limit + 1)  # fmt: skip
    return ListPage("developers", asked, rows, key="id", title=visit.texts["events"],
                   links={"id": f"{HOME}/developers/events/"}, parts=_parts(visit))  # fmt: skip


async def event(visit: Visit) -> Response:
    """One event with its payload, as webhooks carry it."""
    name = visit.request.path_params["event"]
    try:
        number = read_id(name, "ev", "event")
    except InvalidField as error:
        raise NotFound("there is no such event", where=name, fix="Use the list") from error
    async with visit.platform.reading(visit.operator.principal) as read:
        row = await read.transaction.fetchrow(
            "select name, subject, at, data from usance.outbox where event_id = $1", number
        )
    if row is None:
        raise NotFound("there is no such event", where=name, fix="Use the list")
    data = parse_json(row["data"]) if isinstance(row["data"], str) else row["data"]
    return visit.page("developers", "event", f"{visit.texts['event']} {name}", found=dict(row),
                      at=moment_text(row["at"]), tabs=_parts(visit),
                      payload=json.dumps(data, ensure_ascii=False, indent=2))  # fmt: skip


async def hooks(visit: Visit) -> Response:
    """Webhooks, and the latest deliveries with the payload of each and the way to resend it."""
    wanted = visit.request.query_params.get("webhook") or None
    async with visit.platform.reading(visit.operator.principal) as read:
        partners = await partners_webhooks(read.transaction)
        rows = [
            {**each, "names": ", ".join(each["names"]) or visit.texts["all_events"],
             "acts": [] if each["state"] != "active" else [
                 act for act in row_buttons(visit, "webhook", each["webhook"])
                 if each["webhook"] not in partners or ROTATE not in act[1]]}
            for each in await webhooks(read.transaction)
        ]  # fmt: skip
        sent = await deliveries(read.transaction, wanted, (0, 0), 1_000)
    return visit.page("developers", "webhooks", visit.texts["webhooks"], rows=rows,
                      sent=sent[::-1][:ROWS], tabs=_parts(visit), key=secrets.token_urlsafe(12),
                      may_resend=visit.may("delivery.resend"),
                      tasks=buttons(visit, "webhooks"))  # fmt: skip


async def resend(visit: Visit) -> Response:
    """Send an event to its webhook again."""
    given = await form(visit.request)
    hook, _, name = str(visit.request.path_params["delivery"]).partition(".")
    await visit.do("delivery.resend",
                            {"webhook": hook, "event": name}, key=given.get("key", ""))  # fmt: skip
    return redirect(f"{HOME}/developers/webhooks")


async def keys(visit: Visit) -> Response:
    """Keys that there are: whose, for what, until when; never what they are."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await access_reads.keys(read.transaction)
    shown = [
        {**each, "scopes": ", ".join(each["scopes"]),
         "acts": [] if each["ended_at"] else row_buttons(visit, "key_id", str(each["id"]))}
        for each in rows
    ]  # fmt: skip
    return visit.page("developers", "table", visit.texts["keys"], rows=shown, tabs=_parts(visit),
                      names=["principal", "kind", "hint", "scopes", "per_minute", "created_at",
                             "expires_at", "ended_at"],
                      tasks=buttons(visit, "keys"))  # fmt: skip


async def log(visit: Visit) -> Response:
    """The last lines of this worker's log; they follow while one looks on."""
    asked = visit.request.query_params.get("q", "").strip().lower()
    lines = [line for line in list(TAIL.lines) if asked in line.lower()]
    return visit.page("developers", "log", visit.texts["log"], lines=lines[::-1], asked=asked,
                      tabs=_parts(visit))  # fmt: skip


async def act(visit: Visit) -> Response:
    """Cancel a job, or put it back into the queue."""
    await form(visit.request)
    if not may_act(visit):
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
    return redirect(f"{HOME}/developers")


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
    back = given.get("back", "")
    return redirect(back if back == f"{HOME}/overview" else f"{HOME}/developers")
