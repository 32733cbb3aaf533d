"""Seals: every later change of what was appended is found, with the first seal that it breaks."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg
import pytest

from tests.platform.databases import with_owner
from tests.platform.lender import FIRST, NOW, STAFF, do, prepare, within
from usance.platform.commands.users import RegisterUser
from usance.platform.ledger.seals import BrokenSeal, seal, verify
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded

T = TypeVar("T")
SEALS, ROWS = 5, 40
ADDED = (
    "insert into usance.facts (select loan_id, effective_on, kind, 9999, 1, 0, booked_at, xid"
    " from usance.facts where ref = 85)"
)


@pytest.fixture
def live(server: Embedded, database: str) -> str:
    """A lender with facts in several sealed transactions."""
    name = prepare(server, database)
    for group in range(SEALS):
        with_owner(server, name, lambda connection, group=group: facts(connection, group))  # type: ignore[misc]
        as_staff(server, name, lambda connection: seal(connection, NOW))
    return name


async def facts(connection: asyncpg.Connection, group: int) -> None:
    await connection.execute("set role usance_loader")
    await connection.executemany(
        "insert into usance.facts values (16385, '2024-07-01', 4, $1, $2, 0, $3)",
        [(group * ROWS + n, 100 + n, NOW) for n in range(ROWS)],
    )


def as_staff(server: Embedded, name: str, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    async def inside(database: Database) -> T:
        async with database.transaction(STAFF.principal_id) as transaction:
            return await work(transaction)

    return within(server, name, inside)


def tampered(server: Embedded, name: str, *statements: str) -> list[BrokenSeal]:
    """The seals that are found broken after changes by somebody who owns the database."""

    async def change(connection: asyncpg.Connection) -> None:
        await connection.execute("set session_replication_role = replica")
        for statement in statements:
            await connection.execute("set role usance_loader")
            await connection.execute("reset role")
            await connection.execute("alter table usance.facts no force row level security")
            await connection.execute(statement)
            await connection.execute("alter table usance.facts force row level security")

    with_owner(server, name, change)
    return as_staff(server, name, verify)


def test_what_was_sealed_holds(server: Embedded, live: str) -> None:
    assert as_staff(server, live, verify) == []
    assert as_staff(server, live, lambda connection: seal(connection, NOW)) == {}


def test_commands_are_sealed_by_their_audit(server: Embedded, live: str) -> None:
    do(server, live, FIRST, "user.register", RegisterUser("anna", 1))
    assert as_staff(server, live, lambda connection: seal(connection, NOW)) == {"audit": 1}


@pytest.mark.parametrize(
    "statement",
    [
        "update usance.facts set amount_minor = amount_minor + 1 where ref = 85",
        "delete from usance.facts where ref = 85",
        "update usance.facts set booked_at = booked_at + interval '1 us' where ref = 85",
        ADDED,
    ],
)
def test_a_changed_lost_or_added_row_is_found_with_its_seal(
    server: Embedded, live: str, statement: str
) -> None:
    assert tampered(server, live, statement) == [BrokenSeal("facts", 3, "its rows have changed")]


def test_a_seal_that_is_made_anew_breaks_the_chain(server: Embedded, live: str) -> None:
    statement = "update usance.seals set hash = sha256('x') where no = 2"
    broken = tampered(server, live, statement)
    assert [each.no for each in broken] == [2, 3]
    assert broken[1].problem == "the seal before it is another"


def test_a_lost_seal_is_found(server: Embedded, live: str) -> None:
    broken = tampered(server, live, "delete from usance.seals where no = 2")
    assert broken[0] == BrokenSeal("facts", 3, "a seal before it is missing")


def test_random_tamperings_are_all_found(server: Embedded, live: str) -> None:
    chance = random.Random(7)
    for _ in range(10):
        ref, column = chance.randrange(SEALS * ROWS), chance.choice(["amount_minor", "arg"])
        change = f"update usance.facts set {column} = {column} + 1 where ref = {ref}"
        undo = f"update usance.facts set {column} = {column} - 1 where ref = {ref}"
        assert [each.no for each in tampered(server, live, change)] == [ref // ROWS + 1]
        assert tampered(server, live, undo) == []


def test_what_runs_while_a_seal_is_made_is_in_the_next(server: Embedded, live: str) -> None:
    async def interleaved(database: Database) -> list[dict[str, int]]:
        late = await asyncpg.connect(**server.connection(database=live))
        try:
            async with late.transaction():
                await facts(late, 90)
                async with database.transaction(STAFF.principal_id) as transaction:
                    first = await seal(transaction, NOW)
            async with database.transaction(STAFF.principal_id) as transaction:
                return [first, await seal(transaction, NOW)]
        finally:
            await late.close()

    first, second = within(server, live, interleaved)
    assert first == {}
    assert second == {"facts": SEALS + 1}
    assert as_staff(server, live, verify) == []
