"""Databases for tests: one embedded server a session, a fresh database for whoever asks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import asyncpg

from usance.platform.store.server import Embedded

T = TypeVar("T")


def with_owner(
    server: Embedded, database: str, work: Callable[[asyncpg.Connection], Awaitable[T]]
) -> T:
    """What some work gives, done as the owner of a database."""
    return asyncio.run(_with(server.connection(database=database), work))


async def _with(target: dict[str, Any], work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    connection = await asyncpg.connect(**target)
    try:
        return await work(connection)
    finally:
        await connection.close()


def fresh(server: Embedded, name: str, template: str = "template1") -> str:
    """The name of a new database: empty, or a copy of another."""
    name = re.sub(r"\W", "_", name.lower())[:60]

    async def create(connection: asyncpg.Connection) -> None:
        await connection.execute(f'drop database if exists "{name}" with (force)')
        await connection.execute(f'create database "{name}" template "{template}"')

    with_owner(server, "postgres", create)
    return name
