"""The screen *Overview*: the clock, today, the jobs on their way, and the latest closed figures."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, time
from typing import Any

from starlette.responses import Response

from usance.platform.console.closed_books import part
from usance.platform.console.developers import job_rows, may_act
from usance.platform.console.frame import HOME, Visit
from usance.platform.jobs import queue
from usance.platform.jobs.kinds import WORLD_JOB
from usance.platform.jobs.queue import JobState
from usance.platform.reads.control.today import today
from usance.platform.security.roles import Roles

PLACES = {
    "registrations": ("borrowers", "/borrowers"), "decisions": ("applications", "/applications"),
    "drawdowns": ("loans", "/loans"), "payments": ("money", "/money"),
    "offers_open": ("matching", "/matching"), "breaks": ("money", "/money/breaks"),
    "cases_open": ("collections", "/collections"),
    "approvals_waiting": ("control", "/control"), "jobs_waiting": ("developers", "/developers"),
    "jobs_failed": ("developers", "/developers?state=failed"),
}  # fmt: skip
"""The screen behind each count of today, and its address."""


async def show(visit: Visit) -> Response:
    """Counts of the business day, each leading to what it counts."""
    async with visit.platform.reading(visit.operator.principal) as read:
        clock, lender = await read.clock(), read.moment.lender
        begin = datetime.combine(read.moment.business_date, time(), lender.zone)
        counts = await today(read.transaction, begin)
        counts["approvals_waiting"] = len(await read.approvals("pending", limit=200))
        jobs = await queue.jobs(read.transaction, (JobState.WAITING, JobState.RUNNING), limit=5)
        recent = await queue.jobs(read.transaction, (JobState.RUNNING, JobState.DONE), limit=20)
    latest = [each for each in recent if each.kind == WORLD_JOB][:1]
    tiles = [
        (visit.texts[name], f"{count:,}", HOME + path if _shows(visit, screen) else "")
        for name, count in counts.items() for screen, path in [PLACES[name]]
    ]  # fmt: skip
    closed = part(visit, "index.html")
    return visit.page(
        "overview", "overview", visit.texts["overview"], tiles=tiles, clock=clock,
        jobs=job_rows(jobs), may_act=may_act(visit) and _shows(visit, "developers"),
        key=secrets.token_urlsafe(18), closed=closed[1] if closed else "",
        may_advance=lender.is_sandbox and visit.may("clock.advance"),
        happened=_days(latest[0].result) if latest and latest[0].result else None,
    )  # fmt: skip


def _days(result: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Days that went by with what was counted on them, the most frequent first."""
    sums: Counter[str] = Counter()
    for counts in result.values():
        sums.update(counts)
    return {"names": [name for name, _ in sums.most_common()], "days": list(result.items())}


def _shows(visit: Visit, screen: str) -> bool:
    return Roles.load().shows(visit.operator.role, screen)
