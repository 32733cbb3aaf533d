"""The kinds of jobs that a platform's worker knows, each with its handler."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from usance.books.periods import parse_close_period
from usance.platform.commands.control.periods import CLOSE_JOB
from usance.platform.commands.loans.servicing import ServeLoan
from usance.platform.commands.people.retention import ApplyRetention
from usance.platform.day import SERVE_JOB
from usance.platform.deal_dates import DEAL_JOB, pay_dates
from usance.platform.errors import NotInstalled
from usance.platform.jobs.worker import Handler, JobKind, Work
from usance.platform.partners.provider_files import JOB as FILE_JOB
from usance.platform.partners.provider_files import read_file
from usance.platform.principals import SYSTEM
from usance.platform.rescreening import SCREEN_JOB, screen_all
from usance.platform.router_plans import PLAN_JOB, make_plan
from usance.platform.scheduler import DAY_JOB, RETENTION_JOB
from usance.platform.security.sandbox_access import FILE

if TYPE_CHECKING:
    from usance.platform.live import Platform

WORLD_JOB, EXPORT_JOB = "world.days", "list.export"


def kinds_of(platform: Platform) -> dict[str, JobKind]:
    """Handlers on an opened platform."""

    async def serve_loan(work: Work) -> Mapping[str, Any]:
        """A loan that could not be served on its day is served now."""
        given = work.job.payload
        day = date.fromisoformat(given["day"])
        outcome = await platform.do(SYSTEM, ServeLoan(given["loan"], day, given["part"]))
        return {"facts": len(outcome.answer["facts"])}

    async def live_days(work: Work) -> Mapping[str, Any]:
        """Days go by in a demo: its world acts through the API of this very server."""
        from usance.platform.demo.world import World

        if platform.home is None or not (platform.home / FILE).exists():
            raise NotInstalled("has no world of its own", where="the sandbox",
                               fix="Run 'usance demo'")  # fmt: skip
        world = World.of_home(platform, platform.home, work.job.payload["url"])
        try:
            told = await world.live(int(work.job.payload["days"]), work.report)
        finally:
            await world.close()
        return {each.day: each.counts for each in told}

    async def close_period(work: Work) -> Mapping[str, Any]:
        """A period is closed with everything that belongs to it."""
        # Statements, metrics and pages are loaded by the first close, not by every server.
        from usance.platform.closing.month_end import CLOSE_STEPS, LiveClose, as_answer

        done = count(1)

        async def told(_step: str) -> None:
            await work.report(next(done), CLOSE_STEPS)

        period = parse_close_period(work.job.payload["period"])
        home = platform.need_home()
        return as_answer(await LiveClose(platform, home, period, monotonic, told).run())

    async def read_provider_file(work: Work) -> Mapping[str, Any]:
        """A file that a provider has sent is booked line by line."""
        return await read_file(platform, work)

    async def pay_deal(work: Work) -> Mapping[str, Any]:
        """Every payment date of a deal that has come is paid, one after the other."""
        return {"periods": await pay_dates(platform, work.job.payload["deal"])}

    handlers: dict[str, Handler] = {
        SERVE_JOB: serve_loan, WORLD_JOB: live_days, CLOSE_JOB: close_period,
        FILE_JOB: read_provider_file, DEAL_JOB: pay_deal, DAY_JOB: partial(_end_day, platform),
        EXPORT_JOB: partial(_export, platform), PLAN_JOB: partial(make_plan, platform),
        SCREEN_JOB: partial(screen_all, platform), RETENTION_JOB: partial(_retain, platform),
    }  # fmt: skip
    return {name: JobKind(handler) for name, handler in handlers.items()}


async def _end_day(platform: Platform, work: Work) -> Mapping[str, Any]:
    """A day is exported, sealed, signed, and its caches are compared."""
    from usance.platform.closing.day_end import DAY_STEPS, end_day_apart

    done = count()

    async def told(_step: str) -> None:
        await work.report(next(done), len(DAY_STEPS))

    return await end_day_apart(platform, date.fromisoformat(work.job.payload["day"]), told)


async def _retain(platform: Platform, work: Work) -> Mapping[str, Any]:
    """Rows that retention no longer allows are deleted."""
    command = ApplyRetention(date.fromisoformat(work.job.payload["day"]))
    return (await platform.do(SYSTEM, command)).answer


async def _export(platform: Platform, work: Work) -> Mapping[str, Any]:
    """A list of the console is written into a file for whoever asked."""
    from usance.platform.console.exports import export_list

    return await export_list(platform, work)
