"""The database of a home, for a command of the terminal, whether the platform runs or not.

A server that another process started is used and left running; one that has to be started is
stopped again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from usance.platform.errors import NotInstalled
from usance.platform.store.database import Database, server_of
from usance.platform.store.server import Embedded

T = TypeVar("T")


def with_database(home: Path, work: Callable[[Database], Awaitable[T]]) -> T:
    """The result of some work on the database of a platform that was started here before."""
    server = server_of(home)
    if isinstance(server, Embedded) and not server.data.exists():
        raise NotInstalled("no platform was started here", where=str(home), fix="Name its --home")

    async def run() -> T:
        database = Database(server)
        try:
            return await work(database)
        finally:
            await database.close()

    with server if isinstance(server, Embedded) else nullcontext():
        return asyncio.run(run())
