"""A small lender for tests: a prepared database with an installation and a few principals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import asyncpg

from tests.platform.databases import with_owner
from usance.platform.commands.command import Services
from usance.platform.commands.registry import COMMANDS
from usance.platform.commands.unit_of_work import Outcome, execute
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault

T = TypeVar("T")
NOW = datetime(2024, 7, 1, 1, tzinfo=UTC)
FIRST = Principal(1, "first", PrincipalKind.CHANNEL, 1, scopes=frozenset({"channel"}))
SECOND = Principal(2, "second", PrincipalKind.CHANNEL, 2, scopes=frozenset({"channel"}))
STAFF = Principal(3, "staff", PrincipalKind.OPERATOR, scopes=frozenset({"operations"}))


def prepare(server: Embedded, name: str) -> str:
    """Make a fresh database a lender's."""

    async def fill(connection: asyncpg.Connection) -> None:
        await connection.execute(
            "insert into usance.installation values (true, 0, 0, 'UTC', '2024-07-01', $1)", NOW
        )
        await connection.executemany(
            "insert into usance.principals (principal_id, name, kind, party, scopes) "
            "values ($1, $2, $3, $4, $5)",
            [(p.principal_id, p.name, p.kind, p.party, list(p.scopes))
             for p in (FIRST, SECOND, STAFF)],
        )  # fmt: skip
        await connection.execute("insert into usance.limit_usage values ('bank/day', 100)")

    asyncio.run(Database(server, name).prepare())
    with_owner(server, name, fill)
    return name


def within(server: Embedded, name: str, work: Callable[[Database], Awaitable[T]]) -> T:
    """What some work gives on an opened database."""

    async def opened() -> T:
        database = Database(server, name)
        try:
            return await work(database)
        finally:
            await database.close()

    return asyncio.run(opened())


def seen(server: Embedded, name: str, by: Principal, sql: str) -> Any:
    """A value as a principal sees it."""

    async def read(database: Database) -> Any:
        async with database.transaction(by.principal_id) as transaction:
            return await transaction.fetchval(sql)

    return within(server, name, read)


def do(
    server: Embedded, name: str, by: Principal, command: str, what: Any, **options: Any
) -> Outcome:
    """The outcome of one command."""
    spec = COMMANDS[command]
    return within(
        server,
        name,
        lambda database: execute(
            database, by, spec, what, services=Services(Vault(bytes(32))), **options
        ),
    )
