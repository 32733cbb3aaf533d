"""Many at once: limits and lines are never oversold, a payment is undone once, totals stay.

Each guard has a negative control: with the guard off the same storm breaks the promise.
"""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import GOOD, borrower, drawn
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from usance.platform.commands.drawdowns import Draw
from usance.platform.commands.payments import BookPayment, ReversePayment
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import PlatformError, StaleRead
from usance.platform.live import Platform
from usance.platform.refusals import AlreadyReversed

ROOM = 10
"""Loans that fit under the limit of the storm; half of those who ask."""
AMOUNT = 100_000


def storm(sandbox: Sandbox, users: list[str]) -> list[str]:
    """States of one drawdown of each user, all asked for at once by four workers."""

    async def run(first: Platform) -> list[str]:
        workers = [first, *(Platform.of_database(first.database, first.services.vault)
                            for _ in range(3))]  # fmt: skip
        channel = await first.principal("channel")
        for worker in workers:  # each has its router before anybody draws, and knows its own alone
            async with worker.database.transaction(0) as transaction:
                lender = (await now(transaction, worker.services)).lender
                await worker.services.desk.open(transaction, lender)

        async def one(number: int, user: str) -> str:
            command = Draw(user, "instalment", AMOUNT, 6)
            return str((await workers[number % 4].do(channel, command)).answer["state"])

        return list(await asyncio.gather(*(one(n, user) for n, user in enumerate(users))))

    return sandbox.within(run)


def many(sandbox: Sandbox, count: int) -> list[str]:
    """Users with a line each."""

    async def run(platform: Platform) -> list[str]:
        channel, made = await platform.principal("channel"), []
        for number in range(count):
            body = {"client_ref": f"u{number}", "region": 3}
            user = (await platform.do(channel, "user.register", body)).answer["user"]
            applied = {"user": user, "product": "instalment", "inputs": GOOD}
            await platform.do(channel, "application.decide", applied)
            made.append(str(user))
        return made

    return sandbox.within(run)


def narrow(sandbox: Sandbox, guard: bool = True) -> None:
    """Leave room for some loans alone on the day, whatever the mandates say; or no guard at all."""

    async def change(connection: asyncpg.Connection) -> None:
        await connection.execute(
            "create or replace function usance.narrow() returns trigger language plpgsql as $$ "
            "begin new.ceiling_minor := least(new.ceiling_minor, tg_argv[0]::bigint); "
            "return new; end $$"
        )
        await connection.execute(
            "create trigger narrow before insert or update on usance.limit_usage for each row "
            f"when (new.name like '%/day/%') execute function usance.narrow('{ROOM * AMOUNT // 2}')"
        )
        if not guard:
            await connection.execute(
                "create or replace function usance.broken_limit(changes usance.limit_change[]) "
                "returns text language sql stable as 'select null::text'"
            )

    with_owner(sandbox.server, sandbox.name, change)


def taken(sandbox: Sandbox) -> int:
    sql = "select sum(taken_minor)::bigint from usance.limit_usage where name like '%/day/%'"
    return int(sandbox.sql("operations", sql))


@pytest.mark.parametrize("guard", [True, False])
def test_a_limit_is_never_oversold_by_four_workers(sandbox: Sandbox, guard: bool) -> None:
    narrow(sandbox, guard)
    users = many(sandbox, 2 * ROOM)
    states = storm(sandbox, users)
    if guard:
        assert states.count("active") == ROOM  # two sources, each with room for half of them
        assert states.count("no_source") == ROOM
        assert taken(sandbox) == ROOM * AMOUNT
    else:
        assert taken(sandbox) > ROOM * AMOUNT


def test_a_line_is_never_oversold(sandbox: Sandbox) -> None:
    user = borrower(sandbox)  # a line of 22,200.00
    sql = "select sum(principal_minor)::bigint from usance.loans"

    async def run(platform: Platform) -> list[str]:
        channel = await platform.principal("channel")
        command = Draw(user, "instalment", 500_000, 6)
        made = await asyncio.gather(*(platform.do(channel, command) for _ in range(8)))
        return [str(each.answer["state"]) for each in made]

    states = sandbox.within(run)
    assert states.count("active") == 4
    assert states.count("declined") == 4
    assert sandbox.sql("operations", sql) == 2_000_000


def test_payments_reversed_twice_leave_no_trace(sandbox: Sandbox) -> None:
    loan = str(drawn(sandbox, borrower(sandbox)).answer["loan"])
    sandbox.do("control", "clock.advance", {"to": "2024-08-05T01:00:00Z"})
    before = sandbox.read("operations", "loan", loan)

    async def run(platform: Platform) -> list[Any]:
        operations = await platform.principal("operations")

        async def pay(number: int) -> str:
            day = platform_day
            command = BookPayment(100 + number, "CNY", day, str(number), loan, None, "psp_a")
            return str((await platform.do(operations, command)).answer["payment"])

        async def undo(payment: str) -> bool:
            try:
                await platform.do(operations, ReversePayment(payment, "returned"))
            except AlreadyReversed:
                return False
            return True

        from datetime import date

        platform_day = date(2024, 8, 2)
        payments = await asyncio.gather(*(pay(number) for number in range(12)))
        return list(await asyncio.gather(*(undo(each) for each in list(payments) * 2)))

    undone = sandbox.within(run)
    assert sum(undone) == 12
    assert sandbox.read("operations", "loan", loan) == before
    sums = sandbox.read("finance", "balances")
    assert sum(each["balance_minor"] for each in sums) == 0
    paid = [each for each in sums if each["account_name"].startswith("providers")]
    assert all(each["balance_minor"] == 0 for each in paid)


def test_the_same_payment_told_by_many_is_booked_once(sandbox: Sandbox) -> None:
    loan = str(drawn(sandbox, borrower(sandbox)).answer["loan"])
    sandbox.do("control", "clock.advance", {"to": "2024-08-05T01:00:00Z"})

    async def run(platform: Platform) -> set[str]:
        from datetime import date

        provider = await platform.principal("provider")
        command = BookPayment(5_000, "CNY", date(2024, 8, 1), "same", loan)

        async def tell() -> str:
            for _ in range(100):
                try:
                    return str((await platform.do(provider, command)).answer["payment"])
                except StaleRead:
                    continue
            raise AssertionError("a payment never settled")

        return set(await asyncio.gather(*(tell() for _ in range(16))))

    assert len(sandbox.within(run)) == 1
    assert sandbox.sql("operations", "select count(*) from usance.facts where kind = 4") == 1
    assert issubclass(StaleRead, PlatformError)
