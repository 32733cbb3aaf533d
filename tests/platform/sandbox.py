"""A sandbox lender for tests: commands and reads by name, each test on its own database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tests.platform.databases import fresh
from usance.platform.commands.unit_of_work import Outcome
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault

T = TypeVar("T")


class Sandbox:
    """A sandbox in one database of a running server, in plain calls."""

    def __init__(self, server: Embedded, name: str) -> None:
        self.server, self.name = server, name

    def within(self, work: Callable[[Platform], Awaitable[T]]) -> T:
        """What some work gives on the opened platform."""

        async def opened() -> T:
            platform = Platform.of_database(Database(self.server, self.name), Vault(bytes(32)))
            try:
                return await work(platform)
            finally:
                await platform.close()

        return asyncio.run(opened())

    def do(self, who: str, command: str, body: dict[str, Any], **options: Any) -> Outcome:
        """The outcome of one command of a named principal."""

        async def work(platform: Platform) -> Outcome:
            return await platform.do(await platform.principal(who), command, body, **options)

        return self.within(work)

    def read(self, who: str, what: str, *given: Any, **options: Any) -> Any:
        """One read of a named principal."""

        async def work(platform: Platform) -> Any:
            async with platform.reading(await platform.principal(who)) as reading:
                return await getattr(reading, what)(*given, **options)

        return self.within(work)

    def sql(self, who: str, sql: str) -> Any:
        """A value as a principal sees it."""

        async def work(platform: Platform) -> Any:
            principal = await platform.principal(who)
            async with platform.database.transaction(principal.principal_id) as transaction:
                return await transaction.fetchval(sql)

        return self.within(work)


def installed(server: Embedded, name: str, document: dict[str, Any] | None = None) -> str:
    """The name of a database with a fresh sandbox, or another lender, to be copied by tests."""
    fresh(server, name)

    async def prepare() -> None:
        database = Database(server, name)
        await database.prepare()
        await Platform.of_database(database).install(document or sandbox_document())

    asyncio.run(prepare())
    return name
