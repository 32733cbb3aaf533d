"""Plans of a live lender's router: made by a job, stored, and taken between requests.

No request waits for a plan. A worker whose router finds one due goes on by the prices that it has
and asks for a job; the job folds the history of all workers, makes the plan beside the requests and
stores it, and each worker takes it within seconds. A plan that cannot be solved is no plan: the job
fails by name, and requests go on by the plan before it and by the use of budgets.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.errors import UsanceError
from usance.match.plan.replan import LimitPrices, RoutePlan
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import PlanUnsolved
from usance.platform.jobs.queue import NewJob, enqueue
from usance.platform.principals import SYSTEM
from usance.platform.router import fold, mandates_hash, read_history
from usance.platform.store.database import connection_failures

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.jobs.worker import Work
    from usance.platform.live import Platform

LOG = logging.getLogger("usance.plans")
PLAN_JOB = "router.plan"
POLL_SECONDS = 1.0
_LATEST = "select * from usance.router_plans where mandates = $1 order by number desc limit 1"
_WHOLE = ("by_column", "largest")
"""Prices that are whole numbers."""


async def plan_loop(platform: Platform, stop: asyncio.Event) -> None:
    """Ask for plans that are due and take those that were made, until told to stop.

    A sandbox plans inside its requests: what it does follows from its commands alone.
    """
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        if (await now(transaction, platform.services)).lender.is_sandbox:
            return
    platform.services.router.plans_itself = False
    while not stop.is_set():
        try:
            await follow_plans(platform)
        except UsanceError:
            LOG.warning("plans wait", exc_info=True)
        except connection_failures() as error:
            LOG.warning("plans wait for the database: %s", error)
        await asyncio.sleep(POLL_SECONDS)


async def follow_plans(platform: Platform) -> None:
    """Line up a job for the plan that this worker's router found due; take the latest one."""
    shared = platform.services.router
    if not shared.mandates:
        return
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        row = await transaction.fetchrow(_LATEST, shared.mandates)
        if row is not None and (shared.plan is None or row["number"] > shared.plan.number):
            shared.plan, shared.wanted = plan_of(row), ""
        if shared.wanted:
            moment = await now(transaction, platform.services)
            last = 0 if row is None else row["number"]
            # A plan that failed is asked for again in the next hour, as the schedule has it.
            key = f"{PLAN_JOB}/{shared.mandates[:16]}/{last}/{moment.at:%Y%m%dT%H}"
            job = NewJob(PLAN_JOB, key, {"reason": shared.wanted})
            if not await transaction.fetchval(_IS_KNOWN, job.key):
                await enqueue(transaction, [job])
            shared.wanted = ""


_IS_KNOWN = "select exists (select from usance.jobs where key = $1)"


async def make_plan(platform: Platform, work: Work) -> Mapping[str, Any]:
    """Make a plan from every request so far, and store it."""
    async with platform.database.transaction(SYSTEM.principal_id, one_moment=True) as transaction:
        moment = await now(transaction, platform.services)
        mandates = mandates_hash(moment.lender)
        history = await read_history(transaction)
        row = await transaction.fetchrow(_LATEST, mandates)
    before = None if row is None else plan_of(row).prices

    def made() -> RoutePlan:
        router = fold(history, moment.lender, platform.services.router.policy)
        router.prices = before
        return router.plan_at(moment.at, work.job.payload["reason"])

    plan = await asyncio.to_thread(made)  # requests are answered meanwhile
    if not plan.is_solved:
        raise PlanUnsolved(
            f"no plan was found for {len(moment.lender.mandates.mandates)} mandates and "
            f"{plan.segments} segments of demand", where="the router",
            fix="Requests go on by the plan before. 'usance match check' and 'usance match plan' "
            "on these mandates name the limits that stand against each other",
        )  # fmt: skip
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        number = await _store(transaction, mandates, moment.at, plan)
    return {"plan": number, "reason": plan.reason, "requests": plan.seen,
            "segments": plan.segments}  # fmt: skip


async def _store(transaction: asyncpg.Connection, mandates: str, at: Any, plan: RoutePlan) -> int:
    """Append a plan under the next number; two jobs at once come one after the other."""
    await transaction.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", PLAN_JOB)
    number: int = await transaction.fetchval(
        "insert into usance.router_plans select coalesce(max(number), 0) + 1, $1, $2, $3, $4, $5, "
        "$6, $7, $8 from usance.router_plans returning number",
        mandates, at, plan.reason, plan.day, plan.second, plan.seen, plan.segments,
        _written(plan.prices),
    )  # fmt: skip
    return number


def _written(prices: LimitPrices | None) -> str | None:
    if prices is None:
        return None
    return json.dumps({name: values.tolist() for name, values in asdict(prices).items()})


def plan_of(row: Mapping[str, Any]) -> RoutePlan:
    """A plan as it was stored; the numbers are the same to the last bit."""
    prices = None
    if row["prices"] is not None:
        given: dict[str, Any] = {
            name: np.array(values, np.int64 if name in _WHOLE else np.float64)
            for name, values in json.loads(row["prices"]).items()
        }
        prices = LimitPrices(**given)
    return RoutePlan(row["number"], row["reason"], row["day"], row["second"], row["seen"],
                     row["segments"], prices)  # fmt: skip
