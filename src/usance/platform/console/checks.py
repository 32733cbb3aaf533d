"""The part *Checks* of applications and borrowers: hits of screening, requests about data."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.responses import Response

from usance.platform.console.frame import HOME, Visit, form, redirect
from usance.platform.errors import InvalidField, PlatformError
from usance.platform.reads.people.data_rights import queue
from usance.platform.reads.people.screening import hits

SHOWN = 100
CHECKS = "checks"
"""The last part of its address, below either screen."""


def parts_of(visit: Visit) -> list[tuple[str, str]]:
    """Parts of *Applications* with their addresses."""
    t, home = visit.texts, f"{HOME}/applications"
    return [(t["applications"], home), (t["checks"], f"{home}/{CHECKS}")]


def borrower_parts(visit: Visit) -> list[tuple[str, str]]:
    """Parts of *Borrowers* with their addresses."""
    t, home = visit.texts, f"{HOME}/borrowers"
    return [(t["borrowers"], home), (t["part_help"], f"{home}/help"),
            (t["checks"], f"{home}/{CHECKS}")]  # fmt: skip


async def show(visit: Visit, error: str = "", status: int = 200) -> Response:
    """Open hits with what is decided by them, and open requests with their days."""
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await hits(read.transaction, read.moment.vault, "open", 0, SHOWN)
        asked = await queue(read.transaction, "open", 0, SHOWN)
    here = visit.request.url.path
    screen = here.split("/")[-2]
    parts = parts_of(visit) if screen == "applications" else borrower_parts(visit)
    return visit.page(
        screen, CHECKS, visit.texts["checks"], status, hits=found, asked=asked,
        error=error, parts_of=parts, here=here, key=secrets.token_urlsafe(18),
        may_decide=visit.may("screening.decide"), may_correct=visit.may("correction.answer"),
    )  # fmt: skip


async def act(visit: Visit) -> Response:
    """Clear or confirm a hit, or answer a request for a correction."""
    given = await form(visit.request)
    command, body = _command(given)
    try:
        await visit.do(command, body, key=given.get("key", ""))
    except PlatformError as error:
        return await show(visit, str(error), error.http_status)
    return redirect(visit.request.url.path)


def _command(given: dict[str, str]) -> tuple[str, dict[str, Any]]:
    if given.get("hit"):
        cleared = given.get("answer") == "clear"
        return "screening.decide", {"hit": given["hit"], "cleared": cleared,
                                    "reason": given.get("reason", "")}  # fmt: skip
    if given.get("correction"):
        return "correction.answer", {
            "correction": given["correction"], "granted": given.get("answer") == "grant",
            "answer": given.get("reason", ""),
        }  # fmt: skip
    raise InvalidField("names nothing", where="body", fix="Use the buttons")
