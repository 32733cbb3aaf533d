"""The screen *Close*: periods with their state, closes with their controls, lock and reopen."""

from __future__ import annotations

import secrets

from starlette.responses import Response

from usance.platform.commands.control.periods import CLOSE_JOB, NEXT_STATES
from usance.platform.console.closed_books import part
from usance.platform.console.developers import job_rows
from usance.platform.console.frame import HOME, Visit, form, redirect
from usance.platform.console.tasks import buttons
from usance.platform.errors import PlatformError
from usance.platform.jobs import queue
from usance.platform.reads.money.ledger import periods


async def show(visit: Visit, error: str = "", status: int = 200) -> Response:
    """Periods, newest first, and the closes of the book with their controls."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await periods(read.transaction)
        jobs = [each for each in await queue.jobs(read.transaction, limit=50)
                if each.kind == CLOSE_JOB][:3]  # fmt: skip
        pending = [each for each in await read.approvals("pending")
                   if each["command"] == "period.move"]  # fmt: skip
        current = read.moment.business_date.isoformat()[:7]
    for row in rows:
        row["next"] = [to for to, before in NEXT_STATES.items() if row["state"] in before
                       and (to != "closing" or row["period"] < current)]  # fmt: skip
        row["key"] = secrets.token_urlsafe(18)
    closed = part(visit, "close.html")
    t = visit.texts
    more = [(t["periods"], f"{HOME}/close")]
    if closed:
        more += [(t[f"book_{name}"], f"{HOME}/books/{name}.html") for name in ("close", "book")]
    return visit.page(
        "close", "close", visit.texts["close"], status, periods=rows, error=error,
        may_move=visit.may("period.move"), closed=closed[1] if closed else "",
        more=more, jobs=job_rows(jobs), pending=pending, tasks=buttons(visit, "close"),
    )  # fmt: skip


async def move(visit: Visit) -> Response:
    """Ask for the close of a period, lock it, or open it again."""
    given = await form(visit.request)
    body = {"period": given.get("period", "")}
    command = "close.request" if given.get("state") == "closing" else "period.move"
    if command == "period.move":
        body["state"] = given.get("state", "")
    try:
        await visit.do(command, body, key=given.get("key", ""))
    except PlatformError as error:
        return await show(visit, str(error), error.http_status)
    return redirect(f"{HOME}/close")
