"""The kinds of jobs that a platform's worker knows, each with its handler."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.platform.commands.servicing import ServeLoan
from usance.platform.day import SERVE_JOB
from usance.platform.jobs.worker import JobKind, Work
from usance.platform.principals import SYSTEM

if TYPE_CHECKING:
    from usance.platform.live import Platform


def kinds_of(platform: Platform) -> dict[str, JobKind]:
    """Handlers on an opened platform."""

    async def serve_loan(work: Work) -> Mapping[str, Any]:
        """A loan that could not be served on its day is served now."""
        given = work.job.payload
        day = date.fromisoformat(given["day"])
        outcome = await platform.do(SYSTEM, ServeLoan(given["loan"], day, given["part"]))
        return {"facts": len(outcome.answer["facts"])}

    return {SERVE_JOB: JobKind(serve_loan)}
