"""The screen *Matching*: mandates and what is left of their limits now; flow of the closed book."""

from __future__ import annotations

import secrets

from starlette.responses import Response

from usance.base.codes import RoutingOutcome
from usance.base.errors import UsanceError
from usance.match.mandates.file import parse_mandates
from usance.platform.console.amounts import printed
from usance.platform.console.closed_books import part
from usance.platform.console.frame import HOME, Visit, form, see
from usance.platform.errors import PlatformError
from usance.platform.reads.institutions import limit_rows, mandate_rows, routing_of
from usance.platform.user_record import read_id


async def show(visit: Visit, error: str = "", status: int = 200, typed: str = "") -> Response:
    """Mandates, limits with their use, one loan explained, and the flow of the closed book."""
    asked = visit.request.query_params.get("loan", "").strip()
    async with visit.platform.reading(visit.operator.principal) as read:
        lender = read.moment.lender
        mandates = await mandate_rows(read.transaction, lender, None)
        limits = await limit_rows(read.transaction)
        ways = await routing_of(read.transaction, read_id(asked, "ln", "loan")) if asked else []
        pending = [each for each in await read.approvals("pending") if
                   each["command"] == "mandate.put"]  # fmt: skip
        today = read.moment.business_date.isoformat()

    def money(minor: int) -> str:
        return printed(minor, lender.currency)

    explained = [
        {"attempt": way["attempt"], "source": lender.source_name(way["source"]) or "–",
         "outcome": RoutingOutcome(way["outcome"]).label, "score": money(way["score_minor"]),
         "runner_up": lender.source_name(way["runner_up"]) or "–",
         "runner_up_score": money(way["runner_up_minor"])}
        for way in ways
    ]  # fmt: skip
    closed = part(visit, "matching.html")
    return visit.page(
        "matching", "matching", visit.texts["matching"], status, mandates=mandates, limits=limits,
        money=money, asked=asked, explained=explained, pending=pending, error=error, typed=typed,
        today=today, key=secrets.token_urlsafe(18), may_put=visit.may("mandate.put"),
        closed=closed[1] if closed else "",
    )  # fmt: skip


async def put(visit: Visit) -> Response:
    """Propose mandates, which wait for a second person; or try whether they can be read."""
    given = await form(visit.request)
    text = given.get("text", "")
    if given.get("step") == "test":
        try:
            found = parse_mandates(text)
        except UsanceError as error:
            return await show(visit, str(error), 400, text)
        return await show(visit, visit.texts["mandates_read"].format(len(found.mandates)), 200,
                          text)  # fmt: skip
    body = {"text": text, "valid_from": given.get("valid_from", "")}
    try:
        await visit.platform.do(visit.operator.principal, "mandate.put", body,
                                key=given.get("key", ""))  # fmt: skip
    except PlatformError as error:
        return await show(visit, str(error), error.http_status, text)
    return see(f"{HOME}/matching")
