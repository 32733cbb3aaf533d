"""Settlement days in the institution portal: its batches with files and differences, day by day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from usance.platform.console.amounts import printed
from usance.platform.console.lists import FORMATS, PAGE, file_of
from usance.platform.console.money_desk import file_answer
from usance.platform.reads.money import money_lists as reads
from usance.platform.reads.settlement.portfolio import days_of, own_sources

if TYPE_CHECKING:
    from usance.platform.console.portal import PortalVisit

DAYS = ("day", "lent_minor", "paid_minor", "facts")
BATCHES = ("settlement", "day", "settled_through", "lines", "total_minor", "corrections_minor",
           "carried_minor", "state", "answered_at")  # fmt: skip


async def settlements(visit: PortalVisit) -> Response:
    """Batches, newest first, and days with what was lent by the institution and paid to it."""
    given = visit.request.query_params
    before, kind = given.get("before", ""), given.get("format", "")
    async with visit.platform.reading(visit.principal) as read:
        lender = read.moment.lender
        batches = await reads.settlement_rows(read.transaction, lender, "", "", before, PAGE + 1)
        sources = await own_sources(read.transaction, visit.principal.party)
        days = await days_of(read.transaction, sources, read.moment.business_date)
    rows = [{**{name: row[name] for name in BATCHES}, "differing": len(row["differences"])}
            for row in batches]  # fmt: skip
    if kind in FORMATS:
        if given.get("of") == "batches":
            return file_of("batches", [*BATCHES, "differing"], rows, kind)
        return file_of("settlements", DAYS, days, kind)
    return await visit.page(
        "portal_settlements", visit.texts["settlements"], rows=days, batches=rows[:PAGE],
        after=rows[PAGE - 1]["settlement"] if len(rows) > PAGE else "",
        money=lambda minor: printed(minor, lender.currency),
    )  # fmt: skip


async def batch(visit: PortalVisit) -> Response:
    """One batch with its lines and the differences that the institution told, under its ids."""
    async with visit.platform.reading(visit.principal) as read:
        found: dict[str, Any] = await read.settlement(visit.request.path_params["settlement"])
        currency = read.moment.lender.currency
    shown = visit.ids.encode(found)
    return await visit.page(
        "portal_batch", f"{visit.texts['column_settlement']} {found['day']}", batch=shown,
        money=lambda minor: printed(minor, currency),
    )  # fmt: skip


async def batch_file(visit: PortalVisit) -> Response:
    """The file of a batch in the institution's layout."""
    async with visit.platform.reading(visit.principal) as read:
        return await file_answer(read, visit.request.path_params["settlement"])
