"""The platform's database: prepared by its owner, used by roles that own nothing.

Every transaction names its principal, and only inside itself: a pooled connection carries none.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

from usance.platform.errors import ServerError
from usance.platform.store.migrations import migrate
from usance.platform.store.server import DATABASE, Embedded, role_password

if TYPE_CHECKING:
    import asyncpg

URL = "USANCE_DATABASE_URL"
APPLICATION, BATCH_WRITER, READER = "usance_application", "usance_batch_writer", "usance_reader"
ROLES = (APPLICATION, BATCH_WRITER, READER)
MAX_CONNECTIONS = 16
"""Connections of one process as one role."""


class Server(Protocol):
    """A server that can be connected to as a role."""

    def connection(self, role: str = ..., database: str = ...) -> dict[str, Any]:
        """Arguments of a driver to connect."""


@dataclass(frozen=True)
class Given:
    """A server that somebody else runs, by the address of its owner.

    >>> Given("postgresql://boss:secret@db:6432/lender").connection("usance_reader")["user"]
    'usance_reader'
    """

    url: str

    def connection(self, role: str = "", database: str = "") -> dict[str, Any]:
        """Arguments of a driver to connect as the owner, or as a role of the platform."""
        parts = urlsplit(self.url)
        secret = unquote(parts.password or "")
        given = {"host": parts.hostname or "localhost", "port": parts.port or 5432,
                 "database": database or parts.path.lstrip("/") or DATABASE}  # fmt: skip
        if not role:
            return {**given, "user": unquote(parts.username or ""), "password": secret}
        return {**given, "user": role, "password": role_password(secret, role)}


@dataclass
class Database:
    """Pools of connections by role, made when they are first asked for."""

    server: Server
    name: str = DATABASE
    _pools: dict[str, asyncpg.Pool] = field(default_factory=dict, repr=False)

    async def prepare(self) -> None:
        """Create the database if it is missing, bring its schema up to date, let the roles in."""
        import asyncpg

        try:
            owner = await asyncpg.connect(**self.server.connection(database=self.name))
        except asyncpg.InvalidCatalogNameError:
            await self._create()
            owner = await asyncpg.connect(**self.server.connection(database=self.name))
        try:
            await migrate(owner)
            for role in ROLES:
                password = self.server.connection(role, self.name)["password"]
                await owner.execute("select usance.set_password($1, $2)", role, password)
        finally:
            await owner.close()

    async def _create(self) -> None:
        import asyncpg

        connection = await asyncpg.connect(**self.server.connection(database="postgres"))
        try:
            await connection.execute('create database "usance"')
        finally:
            await connection.close()

    async def pool(self, role: str = APPLICATION) -> asyncpg.Pool:
        """The pool of a role."""
        import asyncpg

        if role not in self._pools:
            self._pools[role] = await asyncpg.create_pool(
                **self.server.connection(role, self.name), min_size=0, max_size=MAX_CONNECTIONS,
                reset=_keep_session,
            )  # fmt: skip
        return self._pools[role]

    @asynccontextmanager
    async def transaction(
        self, principal_id: int, role: str = APPLICATION
    ) -> AsyncIterator[asyncpg.Connection]:
        """A transaction in which everything is read and written as one principal."""
        pool = await self.pool(role)
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute(
                "select set_config('usance.principal', $1, true)", str(principal_id)
            )
            yield connection

    @asynccontextmanager
    async def loader(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection of its own that reads and appends every row, for bulk work."""
        import asyncpg

        connection = await asyncpg.connect(**self.server.connection(database=self.name))
        try:
            await connection.execute("set role usance_loader")
            yield connection
        finally:
            await connection.close()

    async def close(self) -> None:
        """Close all pools."""
        for pool in self._pools.values():
            await pool.close()
        self._pools.clear()


async def _keep_session(_connection: asyncpg.Connection) -> None:
    """Nothing to undo: settings and locks of ours end with their transaction."""


def server_of(home: Path) -> Embedded | Given:
    """The server that the environment names, else the one embedded in a home."""
    url = os.environ.get(URL)
    if not url:
        return Embedded(home)
    if urlsplit(url).scheme not in ("postgresql", "postgres"):
        raise ServerError(
            "is no address of a PostgreSQL server", where=URL,
            fix="Write postgresql://owner:password@host:port/database",
        )  # fmt: skip
    return Given(url)
