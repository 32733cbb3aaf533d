"""Plans as jobs: no request waits for one, every worker takes it, an unsolved one is named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

from tests.platform.applicants import borrower
from tests.platform.sandbox import Sandbox
from usance.match.plan import replan
from usance.match.plan.linear_program import solve
from usance.match.router import router
from usance.match.router.live_router import LiveRouter
from usance.platform.commands.unit_of_work import now
from usance.platform.jobs.kinds import kinds_of
from usance.platform.jobs.queue import Job, JobState
from usance.platform.jobs.queue import jobs as latest_jobs
from usance.platform.jobs.worker import run_jobs
from usance.platform.live import Platform
from usance.platform.router import folded
from usance.platform.router_plans import PLAN_JOB, follow_plans, plan_loop, plan_of
from usance.platform.store.database import Database
from usance.platform.vault import Vault

T = TypeVar("T")
BORROWERS = 4


@pytest.fixture
def lender(sandbox: Sandbox) -> Sandbox:
    for number in range(BORROWERS):
        borrower(sandbox, f"u{number}")
    return sandbox


def planned(sandbox: Sandbox, work: Callable[[Platform], Awaitable[T]]) -> T:
    """Some work on a platform whose plans are made by jobs."""

    async def run(platform: Platform) -> T:
        platform.services.router.plans_itself = False
        return await work(platform)

    return sandbox.within(run)


async def draw(platform: Platform, number: int, **options: Any) -> str:
    body = {"user": f"us_{number:011}", "product": "instalment", "amount_minor": 60_000,
            "months": 6}  # fmt: skip
    channel = await platform.principal("channel")
    made = await platform.do(channel, "drawdown.request", body, **options)
    return str(made.answer["loan"])


async def plan_numbers(platform: Platform) -> list[int]:
    """The plan that each request was ranked by, in their order."""
    async with platform.database.transaction(0) as transaction:
        rows = await transaction.fetch("select plan_no from usance.routing order by at, loan_id")
        return [row["plan_no"] for row in rows]


async def jobs(platform: Platform) -> list[Job]:
    async with platform.database.transaction(0) as transaction:
        return [job for job in await latest_jobs(transaction) if job.kind == PLAN_JOB]


async def worked(platform: Platform) -> None:
    """Ask for what is due, do it, and take what was made."""
    await follow_plans(platform)
    await run_jobs(platform.database, {PLAN_JOB: kinds_of(platform)[PLAN_JOB]}, until_empty=True)
    await follow_plans(platform)


def test_no_request_waits_for_a_plan_and_the_next_goes_by_it(
    lender: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_router: LiveRouter) -> None:
        raise AssertionError("a request made a plan")

    monkeypatch.setattr(LiveRouter, "plan", never)

    async def lived(platform: Platform) -> None:
        await draw(platform, 1)
        await draw(platform, 2)
        assert platform.services.router.wanted == "start"
        await worked(platform)
        [job] = await jobs(platform)
        assert (job.state, job.result["requests"]) == (JobState.DONE, 2)
        await draw(platform, 3, dry_run=True)  # is rolled back, with the plan it took
        await draw(platform, 3)
        assert await plan_numbers(platform) == [0, 0, 1]
        await worked(platform)
        assert len(await jobs(platform)) == 1  # no other is due

    planned(lender, lived)


def test_every_worker_takes_the_plan_and_a_new_one_begins_with_it(lender: Sandbox) -> None:
    async def lived(platform: Platform) -> None:
        await draw(platform, 1)
        await worked(platform)
        other = Platform.of_database(Database(lender.server, lender.name), Vault(bytes(32)))
        other.services.router.plans_itself = False
        try:
            await draw(other, 2)  # this worker has looked at no plan yet
            await follow_plans(other)
            await draw(other, 3)
            assert await plan_numbers(platform) == [0, 0, 1]
            assert other.services.router.plan is not None
            assert len(await jobs(platform)) == 1
        finally:
            await other.close()

    planned(lender, lived)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are made from the first request on, and not from the fiftieth."""
    monkeypatch.setattr(router, "FIRST_REPLAN_REQUESTS", 1)


@pytest.mark.usefixtures("soon")
def test_the_plan_of_a_job_is_the_one_that_a_request_would_make(lender: Sandbox) -> None:
    async def lived(platform: Platform) -> None:
        for number in (1, 2, 3):
            await draw(platform, number)
        await worked(platform)
        async with platform.database.transaction(0) as transaction:
            moment = await now(transaction, platform.services)
            row = await transaction.fetchrow("select * from usance.router_plans")
            again = await folded(transaction, moment.lender, platform.services.router.policy)
            last = await transaction.fetchrow(
                "select * from usance.requests order by requested_at desc limit 1"
            )
        stored = plan_of(row)
        shared = platform.services.router
        shared.router = again
        # The clock of a sandbox stands still but for a microsecond a command.
        shared.feed([{**last, "loan_id": last["loan_id"] + (1 << 30), "requested_at": moment.at}])
        own = again.plan()
        assert own.prices is not None
        assert stored.prices is not None
        assert (stored.day, stored.second, stored.seen) == (own.day, own.second, own.seen)
        for name in ("budget", "other", "concentration", "by_column", "largest"):
            both = [getattr(each.prices, name) for each in (stored, own)]
            assert np.array_equal(*both), name
            assert both[0].dtype == both[1].dtype

    planned(lender, lived)


@pytest.mark.usefixtures("soon")
def test_a_plan_that_is_not_solved_is_named_and_requests_go_on(
    lender: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lived(platform: Platform) -> None:
        await draw(platform, 1)
        with monkeypatch.context() as broken:
            broken.setattr(replan, "solve", lambda *given: replace(solve(*given), optimal=False))
            await worked(platform)
        [job] = await jobs(platform)
        assert job.state is JobState.WAITING  # and is tried again, later each time
        assert "PlanUnsolved: the router: no plan was found for" in job.error
        assert "usance match plan" in job.error
        await draw(platform, 2)
        assert await plan_numbers(platform) == [0, 0]
        async with platform.database.transaction(0) as transaction:
            assert await transaction.fetchval("select count(*) from usance.router_plans") == 0

    planned(lender, lived)


def test_mandates_that_change_ask_for_a_plan_of_their_own(lender: Sandbox) -> None:
    async def lived(platform: Platform) -> None:
        await draw(platform, 1)
        await worked(platform)
        shared = platform.services.router
        before = shared.mandates
        async with platform.database.transaction(0) as transaction:
            text = (await now(transaction, platform.services)).lender.mandates
        assert text.mandates
        put = {"name": "pricing.rate_cap", "value": "23%", "valid_from": "2024-07-01",
               "source": "us"}  # fmt: skip
        await agreed(platform, "parameter.put", put)
        await draw(platform, 2)
        assert shared.mandates == before  # another setting leaves the plan in force
        assert await plan_numbers(platform) == [0, 1]
        await agreed(platform, "mandate.put", {"text": smaller(), "valid_from": "2024-07-01"})
        await draw(platform, 3)
        assert shared.mandates != before
        await worked(platform)
        await draw(platform, 4)
        assert await plan_numbers(platform) == [0, 1, 0, 2]

    planned(lender, lived)


def smaller() -> str:
    from usance.platform.lender import sandbox_document

    text: str = sandbox_document()["mandates"]
    return text.replace("trigger_days: 80", "trigger_days: 70")


async def agreed(platform: Platform, command: str, body: dict[str, Any]) -> None:
    made = await platform.do(await platform.principal("administrator"), command, body)
    yes = {"approval": made.answer["approval"]}
    await platform.do(await platform.principal("controller"), "approval.approve", yes)


def test_a_sandbox_plans_by_itself(lender: Sandbox) -> None:
    async def lived(platform: Platform) -> bool:
        await asyncio.wait_for(plan_loop(platform, asyncio.Event()), 30)
        await draw(platform, 1)
        await draw(platform, 2)
        assert await plan_numbers(platform) == [1, 1]
        return platform.services.router.plans_itself

    assert lender.within(lived)
