"""The screen *Close*: periods with their state, closes with their controls, lock and reopen."""

from __future__ import annotations

import secrets

from starlette.responses import Response

from usance.platform.commands.periods import NEXT_STATES
from usance.platform.console.closed_books import part
from usance.platform.console.frame import HOME, Visit, form, see
from usance.platform.errors import PlatformError
from usance.platform.reads.periods import periods


async def show(visit: Visit, error: str = "", status: int = 200) -> Response:
    """Periods, newest first, and the closes of the book with their controls."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await periods(read.transaction)
    for row in rows:
        row["next"] = [to for to, before in NEXT_STATES.items() if row["state"] in before]
        row["key"] = secrets.token_urlsafe(18)
    closed = part(visit, "book.html")
    return visit.page(
        "close", "close", visit.texts["close"], status, periods=rows, error=error,
        may_move=visit.may("period.move"), closed=closed[1] if closed else "",
    )  # fmt: skip


async def move(visit: Visit) -> Response:
    """Ask for the close of a period, lock it, or open it again."""
    given = await form(visit.request)
    body = {"period": given.get("period", "")}
    command = "close.request" if given.get("state") == "closing" else "period.move"
    if command == "period.move":
        body["state"] = given.get("state", "")
    try:
        await visit.platform.do(visit.operator.principal, command, body, key=given.get("key", ""))
    except PlatformError as error:
        return await show(visit, str(error), error.http_status)
    return see(f"{HOME}/close")
