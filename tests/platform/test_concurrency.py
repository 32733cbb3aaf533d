"""Many at once: limits and lines are never oversold, a payment is undone once, totals stay.

Each guard has a negative control: with the guard off the same storm breaks the promise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import suppress
from datetime import date
from typing import Any, TypeVar

import asyncpg
import pytest

from tests.platform.applicants import GOOD, borrower, drawn
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_loan_states import differences
from usance.loan.errors import ReversalError
from usance.platform.commands.lending.drawdowns import Draw
from usance.platform.commands.loans.payments import BookPayment, ReversePayment
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import PlatformError, StaleRead
from usance.platform.live import Platform
from usance.platform.principals import Principal
from usance.platform.refusals import AlreadyReversed

T = TypeVar("T")
PAID_ON = date(2024, 8, 2)
ROOM = 10
"""Loans that fit under the limit of the storm; half of those who ask."""
AMOUNT = 100_000


def storm(
    sandbox: Sandbox, users: list[str], amount_minor: int = AMOUNT, who: str = "channel"
) -> list[str]:
    """States of one drawdown of each user, all asked for at once by four workers."""

    async def run(first: Platform) -> list[str]:
        workers = four(first)
        asking = await first.principal(who)
        for worker in workers:  # each has its router before anybody draws, and knows its own alone
            async with worker.database.transaction(0) as transaction:
                lender = (await now(transaction, worker.services)).lender
                await worker.services.router.open(transaction, lender)

        async def one(number: int, user: str) -> str:
            command = Draw(user, "instalment", amount_minor, 6)
            return str((await workers[number % 4].do(asking, command)).answer["state"])

        return list(await asyncio.gather(*(one(n, user) for n, user in enumerate(users))))

    return sandbox.within(run)


def four(first: Platform) -> list[Platform]:
    """Four workers on one database, each with queues and a router of its own."""
    return [first, *(Platform.of_database(first.database, first.services.vault)
                     for _ in range(3))]  # fmt: skip


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


UNVERSIONED = """
do $$
begin
    execute replace(
        regexp_replace(pg_get_functiondef('usance.apply_changes'::regproc),
            'perform from usance.user_counters.*(?=update usance.loan_states)', ''),
        'and l.version = s.expected', '');
end
$$;
create sequence usance.numbers;
grant usage on sequence usance.numbers to public;
alter table usance.user_counters rename to numbered_users;
create view usance.user_counters as
select user_id, version, nextval('usance.numbers')::smallint + decisions as decisions, lines,
    nextval('usance.numbers')::smallint + requests as requests,
    nextval('usance.numbers')::integer + journals as journals, borrowed, worst_days, held_minor,
    nextval('usance.numbers')::integer + records as records
from usance.numbered_users;
grant select on usance.user_counters
    to usance_application, usance_batch_writer, usance_reader, usance_writer;
"""


async def without_versions(connection: asyncpg.Connection) -> None:
    """Write whatever was decided, also on what has moved since.

    Numbers come from a sequence: it is not a key taken twice that stands in the way.
    """
    await connection.execute(UNVERSIONED)


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


@pytest.mark.parametrize("count", [40, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_payments_reversed_twice_leave_no_trace(sandbox: Sandbox, count: int) -> None:
    """Told by four workers at once, each reversed by two of them: all is as before."""
    loans = [str(drawn(sandbox, user).answer["loan"]) for user in many(sandbox, count // 20)]
    sandbox.do("control", "clock.advance", {"to": "2024-08-05T01:00:00Z"})
    before = sandbox.within(standing)
    assert sandbox.within(lambda platform: undone_twice(platform, loans, count)) == count
    assert sandbox.within(standing) == before
    assert differences(sandbox) == []
    sums = sandbox.read("finance", "balances")
    paid = [each for each in sums if each["account_name"].startswith("providers")]
    assert all(each["balance_minor"] == 0 for each in paid)


def test_without_its_mark_a_reversal_is_refused_by_the_facts_alone(sandbox: Sandbox) -> None:
    """Negative control: the mark of what was reversed is lost; no second reversal is an answer."""
    loans = [str(drawn(sandbox, user).answer["loan"]) for user in many(sandbox, 2)]
    sandbox.do("control", "clock.advance", {"to": "2024-08-05T01:00:00Z"})

    async def forget(connection: asyncpg.Connection) -> None:
        await connection.execute(
            "create rule forget as on insert to usance.payment_reversals do instead nothing"
        )

    with_owner(sandbox.server, sandbox.name, forget)
    with pytest.raises(ReversalError, match="is already reversed"):
        sandbox.within(lambda platform: undone_twice(platform, loans, 40))


async def undone_twice(platform: Platform, loans: list[str], count: int) -> int:
    """Book payments by four workers, reverse each by two; the reversals that were done."""
    workers, operations = four(platform), await platform.principal("operations")

    async def pay(number: int) -> str:
        loan = loans[number % len(loans)]
        command = BookPayment(100 + number, "CNY", PAID_ON, str(number), loan, None, "psp_a")
        return str((await until_settled(workers[number % 4], operations, command))["payment"])

    async def undo(number: int, payment: str) -> bool:
        command = ReversePayment(payment, "returned")
        try:
            await until_settled(workers[number % 4], operations, command)
        except AlreadyReversed:
            return False
        return True

    payments = await at_most_64(pay(number) for number in range(count))
    return sum(await at_most_64(undo(n, each) for n, each in enumerate([*payments, *payments])))


async def until_settled(
    worker: Platform, who: Principal, command: BookPayment | ReversePayment
) -> Mapping[str, Any]:
    """The answer of a command, given again while others on its loan are faster."""
    for _ in range(200):
        with suppress(StaleRead):
            return (await worker.do(who, command)).answer
    raise AssertionError("a command never settled")


async def at_most_64(work: Iterable[Awaitable[T]]) -> list[T]:
    """Results of some work in its order, 64 at a time: connections wait no longer than they may."""
    turns = asyncio.Semaphore(64)

    async def one(each: Awaitable[T]) -> T:
        async with turns:
            return await each

    return list(await asyncio.gather(*(one(each) for each in work)))


async def standing(platform: Platform) -> list[list[tuple[Any, ...]]]:
    """Balances, limits, loans and lines: everything that a reversal has to leave as it was."""
    async with platform.database.transaction(0) as transaction:
        return [[tuple(row) for row in await transaction.fetch(sql)] for sql in STANDING]


STANDING = (
    """select * from (select entity, account, sum(amount_minor)::bigint as total
    from usance.postings group by 1, 2) balances where total <> 0 order by 1, 2""",
    "select name, held_minor, taken_minor, freed_minor from usance.limit_usage order by 1",
    "select loan_id, is_open, terms, state, posted from usance.loan_states order by 1",
    "select user_id, borrowed, held_minor from usance.user_counters order by 1",
)


def test_the_same_payment_told_by_many_is_booked_once(sandbox: Sandbox) -> None:
    loan = str(drawn(sandbox, borrower(sandbox)).answer["loan"])
    sandbox.do("control", "clock.advance", {"to": "2024-08-05T01:00:00Z"})

    async def run(platform: Platform) -> set[str]:
        provider = await platform.principal("provider")
        command = BookPayment(5_000, "CNY", PAID_ON, "same", loan)

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
