"""The screen *Overview*: what happens today."""

from __future__ import annotations

from datetime import datetime, time

from starlette.responses import Response

from usance.platform.console.closed_books import part
from usance.platform.console.frame import Visit
from usance.platform.reads.today import today


async def show(visit: Visit) -> Response:
    """Counts of the business day."""
    async with visit.platform.reading(visit.operator.principal) as read:
        clock = await read.clock()
        zone = read.moment.lender.zone
        begin = datetime.combine(read.moment.business_date, time(), zone)
        counts = await today(read.transaction, begin)
        waiting = len(await read.approvals("pending"))
    tiles = [(visit.texts[name], f"{count:,}") for name, count in counts.items()]
    tiles.append((visit.texts["approvals_waiting"], f"{waiting:,}"))
    closed = part(visit, "index.html")
    return visit.page("overview", "overview", visit.texts["overview"], tiles=tiles, clock=clock,
                      closed=closed[1] if closed else "")  # fmt: skip
