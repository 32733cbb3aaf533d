"""The screen *Control*: the audit log."""

from __future__ import annotations

from starlette.responses import Response

from usance.platform.console.frame import Visit
from usance.platform.reads.latest import audit_entries

ROWS = 50


async def show(visit: Visit) -> Response:
    """The latest entries of the audit log."""
    async with visit.platform.reading(visit.operator.principal) as read:
        entries = await audit_entries(read.transaction, ROWS)
    return visit.page("control", "control", visit.texts["control"], entries=entries)
