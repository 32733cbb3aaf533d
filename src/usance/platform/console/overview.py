"""The screen *Overview*: what happens today."""

from __future__ import annotations

from datetime import datetime, time

from starlette.responses import Response

from usance.platform.console.frame import Visit
from usance.platform.reads.today import today


async def show(visit: Visit) -> Response:
    """Counts of the business day."""
    async with visit.platform.reading(visit.operator.principal) as read:
        clock = await read.clock()
        zone = read.moment.lender.zone
        begin = datetime.combine(read.moment.business_date, time(), zone)
        counts = await today(read.transaction, begin)
    tiles = [(visit.texts[name], f"{count:,}") for name, count in counts.items()]
    return visit.page("overview", "overview", visit.texts["overview"], tiles=tiles, clock=clock)
