"""The screen *Matching*: the flow of loans, limits now, mandates with versions and a tester."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from usance.base.codes import RoutingOutcome
from usance.base.errors import UsanceError
from usance.match.mandates.file import parse_mandates
from usance.pages.numbers import ppm
from usance.platform.console.amounts import printed
from usance.platform.console.closed_books import names_of_sources, part
from usance.platform.console.frame import HOME, Visit, form, redirect
from usance.platform.errors import PlatformError
from usance.platform.lender import Lender
from usance.platform.mandate_texts import mandates_text
from usance.platform.reads.control.institutions import limit_rows, mandate_rows, routing_of
from usance.platform.reads.control.mandate_tester import tried
from usance.platform.records.user_record import read_id

FLOW, LIMITS, MANDATES = "", "/limits", "/mandates"


def _parts(visit: Visit) -> list[tuple[str, str]]:
    t = visit.texts
    return [(t["flow"], f"{HOME}/matching"), (t["limits"], f"{HOME}/matching{LIMITS}"),
            (t["mandates"], f"{HOME}/matching{MANDATES}")]  # fmt: skip


async def show(visit: Visit) -> Response:
    """One loan explained, and the flow of the closed book with its prices of limits."""
    asked = visit.request.query_params.get("loan", "").strip()
    async with visit.platform.reading(visit.operator.principal) as read:
        lender = read.moment.lender
        ways = await routing_of(read.transaction, read_id(asked, "ln", "loan")) if asked else []
    explained = [
        {"attempt": way["attempt"], "source": lender.source_name(way["source"]) or "–",
         "outcome": RoutingOutcome(way["outcome"]).label,
         "score": printed(way["score_minor"], lender.currency),
         "runner_up": lender.source_name(way["runner_up"]) or "–",
         "runner_up_score": printed(way["runner_up_minor"], lender.currency)}
        for way in ways
    ]  # fmt: skip
    closed = part(visit, "matching.html", await names_of_sources(visit))
    return visit.page("matching", "matching", visit.texts["matching"], asked=asked,
                      explained=explained, closed=closed[1] if closed else "",
                      tabs=_parts(visit))  # fmt: skip


async def limits(visit: Visit) -> Response:
    """Limits in use as they are now, the fullest first."""
    async with visit.platform.reading(visit.operator.principal) as read:
        lender = read.moment.lender
        rows = [_limit(lender, row) for row in await limit_rows(read.transaction)]
    rows.sort(key=lambda each: -each["share"])
    return visit.page("matching", "limits", visit.texts["limits"], rows=rows, tabs=_parts(visit),
                      money=lambda minor: printed(minor, lender.currency))  # fmt: skip


def _limit(lender: Lender, row: Mapping[str, Any]) -> dict[str, Any]:
    """A limit by the name of its source, with the part of it that is used."""
    source, _, rest = str(row["name"]).partition("/")
    used = row["held_minor"] + row["taken_minor"] - row["freed_minor"]
    ceiling = row["ceiling_minor"]
    name = lender.source_name(int(source)) if source.isdigit() else ""
    return {**row, "source": name or source, "what": rest.replace("/", " · "), "used": used,
            "available": ceiling - used, "share": used / ceiling if ceiling else 1.0}  # fmt: skip


async def mandates(
    visit: Visit, error: str = "", status: int = 200, typed: str = "",
    found: Sequence[Mapping[str, Any]] = (),
) -> Response:  # fmt: skip
    """Mandates in force, or all versions, with the form that proposes others."""
    with_all = visit.request.query_params.get("versions") == "all"
    async with visit.platform.reading(visit.operator.principal) as read:
        lender, today = read.moment.lender, read.moment.business_date.isoformat()
        rows = await mandate_rows(read.transaction, lender, None)
        pending = [each for each in await read.approvals("pending") if
                   each["command"] == "mandate.put"]  # fmt: skip
        typed = typed or await mandates_text(read.transaction, read.moment.business_date)
    rows = [{**row, "coupon": ppm(row["coupon_ppm"])} for row in rows]
    if not with_all:
        rows = list({row["source"]: row for row in rows if row["valid_from"] <= today}.values())
    return visit.page(
        "matching", "mandates", visit.texts["mandates"], status, rows=rows, pending=pending,
        error=error, typed=typed, today=today, with_all=with_all, found=found, tabs=_parts(visit),
        key=secrets.token_urlsafe(18), may_put=visit.may("mandate.put"),
        money=lambda minor: printed(minor, lender.currency),
    )  # fmt: skip


async def put(visit: Visit) -> Response:
    """Propose mandates, which wait for a second person; or try them on past loans."""
    given = await form(visit.request)
    text = given.get("text", "")
    if given.get("step") == "test":
        try:
            parsed = parse_mandates(text)
        except UsanceError as error:
            return await mandates(visit, str(error), 400, text)
        async with visit.platform.reading(visit.operator.principal) as read:
            found = await tried(read.transaction, parsed)
        return await mandates(visit, "", 200, text, found)
    body = {"text": text, "valid_from": given.get("valid_from", "")}
    try:
        await visit.do("mandate.put", body,
                                key=given.get("key", ""))  # fmt: skip
    except PlatformError as error:
        return await mandates(visit, str(error), error.http_status, text)
    return redirect(f"{HOME}/matching{MANDATES}")
