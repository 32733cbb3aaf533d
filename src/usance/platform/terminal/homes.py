"""The platform of a home that has one, for commands beside a server or without it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from usance.platform.errors import NotInstalled
from usance.platform.live import Platform
from usance.platform.store.database import Database, server_of
from usance.platform.store.server import Embedded
from usance.platform.vault import unlock

T = TypeVar("T")


def on_platform(home: Path, work: Callable[[Platform], Awaitable[T]]) -> T:
    """The result of some work on the lender of a home."""

    async def opened() -> T:
        async with installed(home) as platform:
            return await work(platform)

    return asyncio.run(opened())


@asynccontextmanager
async def installed(home: Path) -> AsyncIterator[Platform]:
    """The lender that a home has; its server is adopted if it runs, else started for the while."""
    server = server_of(home)
    if isinstance(server, Embedded):
        if not server.data.exists():
            raise NotInstalled("has no lender", where=str(home), fix="Run 'usance up' there first")
        server.start()
    database = Database(server)
    try:
        yield Platform.of_database(database, await unlock(database, home), home)
    finally:
        await database.close()
        if isinstance(server, Embedded):
            server.stop()
