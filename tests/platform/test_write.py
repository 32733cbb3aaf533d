"""The write call: all or nothing, on what was read, never beyond a limit, never for another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from typing import Any, TypeVar

import asyncpg
import pytest

from tests.platform.databases import with_owner
from usance.platform.errors import NoHeadroom, NotYours, StaleRead
from usance.platform.store.database import APPLICATION, BATCH_WRITER, Database
from usance.platform.store.server import Embedded
from usance.platform.store.write_set import (
    NEW,
    Event,
    LimitChange,
    Owner,
    UserChange,
    WriteSet,
    write,
)

T = TypeVar("T")
NOW = datetime(2024, 7, 1, 1, tzinfo=UTC)
FIRST, SECOND, STAFF = 1, 2, 3
"""Two channels and an operator."""


@pytest.fixture
def live(server: Embedded, database: str) -> str:
    async def prepare(connection: asyncpg.Connection) -> None:
        await connection.execute(
            "insert into usance.installation values (true, 0, 0, 'UTC', '2024-07-01', $1)", NOW
        )
        await connection.execute(
            "insert into usance.principals (principal_id, name, kind, party) values "
            "(1, 'first', 'channel', 1), (2, 'second', 'channel', 2), (3, 'staff', 'operator', 0)"
        )
        await connection.execute("insert into usance.limit_usage values ('bank/day', 100)")

    asyncio.run(Database(server, database).prepare())
    with_owner(server, database, prepare)
    return database


def user(number: int, expected: int = NEW, by: int = FIRST, **counters: int) -> WriteSet:
    changes = WriteSet(
        user_changes=[UserChange(number, expected, **counters)], owners=[Owner(by, number)]
    )
    if expected == NEW:
        changes.add("users", user_id=number, registered_on=date(2024, 7, 1), channel=1, region=1,
                    kind=0, client_ref=f"c{number}")  # fmt: skip
        changes.events.append(Event("user.registered", f"us_{number}", number, "{}"))
    return changes


def within(server: Embedded, name: str, work: Callable[[Database], Awaitable[T]]) -> T:
    async def opened() -> T:
        database = Database(server, name)
        try:
            return await work(database)
        finally:
            await database.close()

    return asyncio.run(opened())


def run(
    server: Embedded, name: str, changes: WriteSet, by: int = FIRST, role: str = APPLICATION
) -> None:
    async def once(database: Database) -> None:
        async with database.transaction(by, role) as transaction:
            await write(transaction, NOW, 0, changes)

    within(server, name, once)


def seen(server: Embedded, name: str, by: int, sql: str) -> Any:
    async def read(database: Database) -> Any:
        async with database.transaction(by) as transaction:
            return await transaction.fetchval(sql)

    return within(server, name, read)


def test_rows_changes_and_events_are_written_together(server: Embedded, live: str) -> None:
    run(server, live, WriteSet.joined([user(1), user(2)]))
    users = "select array_agg(user_id order by 1) from usance.users"
    assert seen(server, live, FIRST, users) == [1, 2]
    assert seen(server, live, FIRST, "select count(*) from usance.outbox") == 2


def test_what_has_moved_since_it_was_read_is_refused(server: Embedded, live: str) -> None:
    run(server, live, user(1))
    run(server, live, user(1, expected=0, requests=1))
    with pytest.raises(StaleRead, match="a user has changed"):
        run(server, live, WriteSet.joined([user(2), user(1, expected=0, requests=1)]))
    assert seen(server, live, STAFF, "select count(*) from usance.users") == 1
    assert seen(server, live, STAFF, "select requests from usance.user_counters") == 1


def test_a_principal_sees_its_own_rows_alone(server: Embedded, live: str) -> None:
    run(server, live, user(1))
    count = "select count(*) from usance.users"
    assert [seen(server, live, each, count) for each in (FIRST, SECOND, STAFF, 99)] == [1, 0, 1, 0]


def test_a_principal_writes_about_its_own_users_alone(server: Embedded, live: str) -> None:
    run(server, live, user(1))
    with pytest.raises(NotYours, match="belongs to somebody else"):
        run(server, live, user(1, expected=0, by=SECOND), by=SECOND)
    with pytest.raises(NotYours, match="not that of its transaction"):
        run(server, live, user(1, expected=0, by=FIRST), by=SECOND)


def test_a_foreign_user_in_a_batch_is_refused(server: Embedded, live: str) -> None:
    run(server, live, WriteSet.joined([user(each) for each in range(1, 17)]))
    own = [user(each, expected=0, requests=1) for each in range(1, 16)]
    batch = WriteSet.joined([*own, user(16, expected=0, by=SECOND)])
    with pytest.raises(NotYours, match="user 16 belongs to somebody else"):
        run(server, live, batch, by=0, role=BATCH_WRITER)
    stray = WriteSet.joined([*own, WriteSet(user_changes=[UserChange(16, 0)])])
    with pytest.raises(NotYours, match="no command of the batch"):
        run(server, live, stray, by=0, role=BATCH_WRITER)
    run(server, live, WriteSet.joined(own), by=0, role=BATCH_WRITER)


def test_nobody_writes_but_by_the_call(server: Embedded, live: str) -> None:
    run(server, live, user(1))
    for sql in (
        "insert into usance.users values (9, '2024-07-01', 1, 1, 0)",
        "update usance.user_counters set held_minor = 0",
        "delete from usance.outbox",
        "select usance.set_password('usance_reader', 'x')",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            seen(server, live, STAFF, sql)


def test_a_pooled_connection_carries_no_principal(server: Embedded, live: str) -> None:
    run(server, live, user(1))

    async def after(database: Database) -> Any:
        async with database.transaction(STAFF) as transaction:
            assert await transaction.fetchval("select count(*) from usance.users") == 1
        pool = await database.pool()
        async with pool.acquire() as connection:
            return await connection.fetchval("select count(*) from usance.users")

    assert within(server, live, after) == 0


def test_a_limit_is_never_oversold(server: Embedded, live: str) -> None:
    async def draw(database: Database) -> bool:
        try:
            async with database.transaction(STAFF) as transaction:
                change = WriteSet(limit_changes=[LimitChange("bank/day", held_minor=1)])
                await write(transaction, NOW, 0, change)
        except NoHeadroom:
            return False
        return True

    async def all_at_once(database: Database) -> list[bool]:
        return list(await asyncio.gather(*(draw(database) for _ in range(200))))

    assert sum(within(server, live, all_at_once)) == 100
    assert seen(server, live, STAFF, "select held_minor from usance.limit_usage") == 100
