"""The write call: all or nothing, on what was read, never beyond a limit."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime
from typing import Any

import asyncpg
import pytest

from tests.platform.databases import with_owner
from usance.platform.errors import NoHeadroom, StaleRead
from usance.platform.store.migrations import migrate
from usance.platform.store.server import Embedded
from usance.platform.store.write_set import NEW, Event, LimitChange, UserChange, WriteSet, write

NOW = datetime(2024, 7, 1, 1, tzinfo=UTC)


@pytest.fixture
def live(server: Embedded, database: str) -> str:
    async def prepare(connection: asyncpg.Connection) -> None:
        await migrate(connection)
        await connection.execute(
            "insert into usance.installation values (true, 0, 0, 'UTC', '2024-07-01', $1)",
            NOW,
        )
        await connection.execute("insert into usance.limit_usage values ('bank/day', 100)")

    with_owner(server, database, prepare)
    return database


def user(number: int, expected: int = NEW, **counters: int) -> WriteSet:
    changes = WriteSet(user_changes=[UserChange(number, expected, **counters)])
    if expected == NEW:
        changes.add("users", user_id=number, registered_on=date(2024, 7, 1), channel=1, region=1,
                    kind=0, client_ref=f"c{number}")  # fmt: skip
        changes.events.append(Event("user.registered", f"us_{number}", number, "{}"))
    return changes


def run(server: Embedded, database: str, changes: WriteSet) -> None:
    with_owner(server, database, lambda connection: write(connection, NOW, 0, changes))


def value(server: Embedded, database: str, sql: str) -> Any:
    return with_owner(server, database, lambda connection: connection.fetchval(sql))


def test_rows_changes_and_events_are_written_together(server: Embedded, live: str) -> None:
    run(server, live, WriteSet.joined([user(1), user(2)]))
    assert value(server, live, "select array_agg(user_id order by 1) from usance.users") == [1, 2]
    assert value(server, live, "select count(*) from usance.outbox") == 2


def test_what_has_moved_since_it_was_read_is_refused(server: Embedded, live: str) -> None:
    run(server, live, user(1))
    run(server, live, user(1, expected=0, requests=1))
    with pytest.raises(StaleRead, match="a user has changed"):
        run(server, live, WriteSet.joined([user(2), user(1, expected=0, requests=1)]))
    assert value(server, live, "select count(*) from usance.users") == 1
    assert value(server, live, "select requests from usance.user_counters") == 1


def test_a_limit_is_never_oversold(server: Embedded, live: str) -> None:
    async def draw(pool: asyncpg.Pool) -> bool:
        async with pool.acquire() as connection, connection.transaction():
            try:
                change = WriteSet(limit_changes=[LimitChange("bank/day", held_minor=1)])
                await write(connection, NOW, 0, change)
            except NoHeadroom:
                return False
        return True

    async def all_at_once() -> list[bool]:
        target: dict[str, Any] = server.connection(database=live)
        async with asyncpg.create_pool(**target, min_size=8, max_size=8) as pool:
            return list(await asyncio.gather(*(draw(pool) for _ in range(200))))

    assert sum(asyncio.run(all_at_once())) == 100
    assert value(server, live, "select held_minor from usance.limit_usage") == 100
