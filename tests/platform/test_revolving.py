"""Revolving budgets: what comes back is lent again, by whoever asks and after any restart."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest

from tests.platform.databases import fresh
from tests.platform.sandbox import Sandbox
from tests.platform.test_concurrency import four, many
from tests.platform.test_limit_storms import AMOUNT, MANDATE
from usance.base.dates import to_day
from usance.base.ids import print_id
from usance.platform.commands.lending.drawdowns import Draw
from usance.platform.commands.loans.payments import BookPayment
from usance.platform.commands.unit_of_work import now
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.principals import Principal
from usance.platform.store.server import Embedded

ROOM = 2
REVOLVES = "    structure: {revolving_until: 2030-12-31}"
PAID_ON = date(2024, 8, 2)


@pytest.fixture
def lender(server: Embedded, request: pytest.FixtureRequest) -> Sandbox:
    """A sandbox whose one source revolves, with room for two loans, and users with lines."""
    sandbox = Sandbox(server, fresh(server, request.node.name))
    text = MANDATE.format(platform="", source=REVOLVES, total=ROOM * AMOUNT // 100)

    async def install(platform: Platform) -> None:
        await platform.database.prepare()
        await platform.install({**sandbox_document(), "mandates": text})

    sandbox.within(install)
    many(sandbox, 3 * ROOM)
    return sandbox


def asked(sandbox: Sandbox, first: int, count: int) -> list[str]:
    """States of drawdowns of some users, one after the other, by a worker that has just begun."""

    async def run(platform: Platform) -> list[str]:
        channel = await platform.principal("channel")
        return [await drawn(platform, channel, number) for number in range(first, first + count)]

    return sandbox.within(run)


async def drawn(worker: Platform, channel: Principal, number: int) -> str:
    command = Draw(print_id("us", number), "instalment", AMOUNT, 6)
    return str((await worker.do(channel, command)).answer["state"])


async def repaid(worker: Platform, number: int) -> None:
    """More than the first loan of a user can owe: the rest is nobody's yet."""
    provider = await worker.principal("provider")
    loan = print_id("ln", (number << 14) + 1)
    await worker.do(provider, BookPayment(2 * AMOUNT, "CNY", PAID_ON, f"p{number}", loan))


def headroom(sandbox: Sandbox) -> int:
    """Room in the budget as the router of a worker that has just begun knows it today."""

    async def run(platform: Platform) -> int:
        async with platform.database.transaction(0) as transaction:
            moment = await now(transaction, platform.services)
            router = await platform.services.router.open(transaction, moment.lender)
        router.release(to_day(moment.business_date))
        return int(router.state.total[0])

    return sandbox.within(run)


def test_a_worker_that_has_just_begun_knows_what_came_back(lender: Sandbox) -> None:
    assert headroom(lender) == ROOM * AMOUNT
    assert asked(lender, 1, ROOM + 1) == ["active", "active", "no_source"]
    assert headroom(lender) == 0
    lender.do("control", "clock.advance", {"to": "2024-08-03T01:00:00Z"})
    lender.within(lambda platform: repaid(platform, 1))
    assert headroom(lender) == AMOUNT
    payment = int(lender.sql("operations", "select payment_id from usance.payments"))
    gone = {"payment": print_id("pm", payment), "reason": "returned"}
    lender.do("operations", "payment.reverse", gone)
    assert headroom(lender) == 0


def test_what_one_worker_took_back_the_others_lend(lender: Sandbox) -> None:
    async def run(first: Platform) -> list[str]:
        channel, (one, other, *_) = await first.principal("channel"), four(first)
        states = [await drawn(one, channel, 1), await drawn(one, channel, 2)]
        states.append(await drawn(other, channel, 3))
        await later(first, "2024-08-03T01:00:00Z")
        await repaid(other, 1)
        await later(first, "2024-08-05T01:00:00Z")
        return [*states, *await asyncio.gather(*(drawn(one, channel, n) for n in (4, 5)))]

    assert lender.within(run) == ["active", "active", "no_source", "active", "no_source"]


async def later(platform: Platform, to: str) -> None:
    await platform.do(await platform.principal("control"), "clock.advance", {"to": to})


def test_the_database_judges_what_a_router_believes(lender: Sandbox) -> None:
    async def run(first: Platform) -> list[str]:
        channel, workers = await first.principal("channel"), four(first)
        asking = (drawn(workers[n % 4], channel, n + 1) for n in range(3 * ROOM))
        return sorted(await asyncio.gather(*asking))

    assert lender.within(run) == ["active"] * ROOM + ["no_source"] * 2 * ROOM
