"""The last change of a record, told to whoever acts on it after somebody else was quicker."""

from __future__ import annotations

from usance.platform.console.frame import Visit
from usance.platform.reads.control.latest import last_done

LOOKED_AT = 5_000
"""Entries of the audit that are looked through: somebody was quicker a moment ago."""


async def with_last_change(visit: Visit, error: Exception, *subjects: str) -> str:
    """A refusal, with who changed the record last, how and when."""
    async with visit.platform.reading(visit.operator.principal) as read:
        last = await last_done(read.transaction, [each for each in subjects if each], LOOKED_AT)
        zone = read.moment.lender.zone
    if last is None:
        return str(error)
    at = last["at"].astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    changed = visit.texts["changed_by"].format(last["name"], last["command"], at)
    return f"{error} {changed}"
