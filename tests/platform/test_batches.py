"""Micro-batches: written together, answered each for itself, and the same as one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import GOOD
from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_concurrency import many
from tests.platform.test_loan_states import differences
from usance.base.ids import print_id
from usance.platform.commands import batches
from usance.platform.commands.lending.drawdowns import Draw
from usance.platform.commands.loans.payments import BookPayment
from usance.platform.errors import NotFound
from usance.platform.live import Platform
from usance.platform.principals import Principal
from usance.platform.store.server import Embedded

TOGETHER = 16
DAY, LATER = date(2024, 7, 5), "2024-07-06T01:00:00Z"
Batch = list[batches.Waiting]


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the batches that were written, in their order; those undone are below zero."""
    seen: list[int] = []
    real: Callable[[Batch], Awaitable[Any]] = batches._commit

    async def commit(batch: Batch) -> Any:
        seen.append(-len(batch))
        made = await real(batch)
        seen[-1] = len(batch)
        return made

    monkeypatch.setattr(batches, "_commit", commit)
    return seen


async def at_once(platform: Platform, commands: list[tuple[Principal, Any]]) -> list[Any]:
    """Answers or errors of commands that are asked for at the same time."""
    made = await asyncio.gather(
        *(platform.do(who, command, key=f"{n}/{command}"[:255])
          for n, (who, command) in enumerate(commands)),
        return_exceptions=True,
    )  # fmt: skip
    return [each if isinstance(each, BaseException) else each.answer for each in made]


def draws(users: list[str]) -> Callable[[Platform], Awaitable[list[Any]]]:
    async def work(platform: Platform) -> list[Any]:
        channel = await platform.principal("channel")
        commands = [(channel, Draw(user, "instalment", 100_000, 6)) for user in users]
        return await at_once(platform, commands)

    return work


def payments(loans: list[str], amount: int = 20_000) -> Callable[[Platform], Awaitable[list[Any]]]:
    async def work(platform: Platform) -> list[Any]:
        provider = await platform.principal("provider")
        return await at_once(
            platform, [(provider, BookPayment(amount, "CNY", DAY, f"{amount}/{n}", loan))
                       for n, loan in enumerate(loans)],
        )  # fmt: skip

    return work


def contents(sandbox: Sandbox) -> list[Any]:
    """Rows that commands leave, without their order within a batch."""

    async def work(platform: Platform) -> list[Any]:
        async with platform.database.transaction(0) as transaction:
            return [
                sorted(map(tuple, await transaction.fetch(sql)))
                for sql in (
                    "select loan_id, kind, ref, amount_minor from usance.facts",
                    "select loan_id, rule, account, amount_minor from usance.postings",
                    "select loan_id, attempt, source, outcome from usance.routing",
                    "select name, held_minor, taken_minor, freed_minor from usance.limit_usage",
                    "select loan_id, state, posted from usance.loan_states",
                )
            ]

    return sandbox.within(work)


def test_batches_write_what_single_commands_write(
    server: Embedded, template: str, sizes: list[int]
) -> None:
    together, alone = (Sandbox(server, fresh(server, name, template)) for name in ("one", "many"))
    users = many(together, TOGETHER)
    assert many(alone, TOGETHER) == users
    made = together.within(draws(users))
    assert [each["state"] for each in made] == ["active"] * TOGETHER
    loans = [each["loan"] for each in made]
    together.do("control", "clock.advance", {"to": LATER})
    paid = together.within(payments(loans))
    assert sizes == [TOGETHER, TOGETHER]
    assert [each["unallocated_minor"] for each in paid] == [0] * TOGETHER
    for user in users:
        alone.within(draws([user]))
    alone.do("control", "clock.advance", {"to": LATER})
    for n, loan in enumerate(loans):
        body = {"loan": loan, "amount_minor": 20_000, "currency": "CNY",
                "effective_on": DAY.isoformat(), "ref": f"20000/{n}"}  # fmt: skip
        alone.do("provider", "payment.book", body)
    assert contents(together) == contents(alone)
    assert differences(together) == []


@pytest.mark.parametrize("guard", [True, False])
def test_a_foreign_loan_in_a_batch_fails_alone(
    server: Embedded, template: str, sizes: list[int], guard: bool
) -> None:
    sandbox = Sandbox(server, fresh(server, f"foreign_{guard}", template))
    users = many(sandbox, TOGETHER - 1)

    async def other(connection: asyncpg.Connection) -> None:
        if not guard:
            await connection.execute(
                "create or replace function usance.check_owners(owners usance.owner[]) "
                "returns void language plpgsql as 'begin end'"
            )
        await connection.execute(
            "insert into usance.parties (kind, party, name) values ('channel', 9, 'other')"
        )
        await connection.execute(
            "insert into usance.principals (principal_id, name, kind, party, scopes) "
            "values (99, 'other', 'channel', 9, '{channel}')"
        )

    with_owner(sandbox.server, sandbox.name, other)

    async def work(platform: Platform) -> list[Any]:
        own, foreign = await platform.principal("channel"), await platform.principal("other")
        body = {"client_ref": "x", "region": 1}
        theirs = str((await platform.do(own, "user.register", body)).answer["user"])
        applied = {"user": theirs, "product": "instalment", "inputs": GOOD}
        await platform.do(own, "application.decide", applied)
        commands = [(own, Draw(user, "instalment", 100_000, 6)) for user in users]
        commands.insert(7, (foreign, Draw(theirs, "instalment", 100_000, 6)))
        return await at_once(platform, commands)

    made = sandbox.within(work)
    foreign = made.pop(7)
    assert [each["state"] for each in made] == ["active"] * (TOGETHER - 1)
    if guard:
        assert isinstance(foreign, NotFound)
        assert sizes == [-TOGETHER]
    else:
        assert foreign["state"] == "active"  # nothing else keeps a channel from it


def test_a_key_that_is_known_leaves_its_batch(sandbox: Sandbox, sizes: list[int]) -> None:
    users = many(sandbox, 4)
    first = sandbox.within(draws(users))
    again = sandbox.within(draws(users))
    assert [each["loan"] for each in again] == [each["loan"] for each in first]
    assert sizes == [4, 4]
    assert sandbox.sql("operations", "select count(*) from usance.loans") == 4


def test_a_user_is_in_a_batch_once(sandbox: Sandbox, sizes: list[int]) -> None:
    users = many(sandbox, 2)
    made = sandbox.within(draws([users[0], users[1], users[0], users[0]]))
    assert [each["state"] for each in made] == ["active"] * 4
    assert sizes == [2]


def test_a_payment_that_is_refused_leaves_the_others(sandbox: Sandbox, sizes: list[int]) -> None:
    loans = [each["loan"] for each in sandbox.within(draws(many(sandbox, 4)))]
    sandbox.do("control", "clock.advance", {"to": LATER})
    made = sandbox.within(payments([*loans, print_id("ln", 99 << 14)]))
    assert isinstance(made[-1], NotFound)
    assert [each["amount_minor"] for each in made[:-1]] == [20_000] * 4
    assert sizes == [4, 5]
    refused = "select count(*) from usance.audit where outcome = 'platform.not_found'"
    assert sandbox.sql("operations", refused) == 1
