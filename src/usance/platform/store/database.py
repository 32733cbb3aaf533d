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
from urllib.parse import parse_qsl, unquote, urlsplit

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
MIN_VERSION = 15
"""The oldest PostgreSQL whose features the schema uses."""
OPTIONS = {"host": "host", "port": "port", "sslmode": "ssl"}
"""Options of an address that are understood, and what the driver calls them."""


def connection_failures() -> tuple[type[Exception], ...]:
    """Failures of a server that is away or was restarted: whoever works on tries again."""
    import asyncpg

    return OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError


class Server(Protocol):
    """A server that can be connected to as a role."""

    def connection(self, role: str = ..., database: str = ...) -> dict[str, Any]:
        """Arguments of a driver to connect."""


@dataclass(frozen=True)
class Given:
    """A server that somebody else runs, by the address of its owner.

    >>> Given("postgresql://boss:secret@db:6432/lender").connection("usance_reader")["user"]
    'usance_reader'
    >>> Given("postgresql://boss@/lender?host=/run/sockets").connection()["host"]
    '/run/sockets'
    """

    url: str

    def connection(self, role: str = "", database: str = "") -> dict[str, Any]:
        """Arguments of a driver to connect as the owner, or as a role of the platform."""
        parts = urlsplit(self.url)
        secret = unquote(parts.password or "")
        options = {OPTIONS[name]: value for name, value in parse_qsl(parts.query)}
        return {
            "host": parts.hostname or "localhost", "port": parts.port or 5432, **options,
            "database": database or unquote(parts.path.lstrip("/")) or DATABASE,
            "user": role or unquote(parts.username or ""),
            "password": role_password(secret, role) if role else secret,
        }  # fmt: skip


@dataclass
class Database:
    """Pools of connections by role, made when they are first asked for."""

    server: Server
    name: str = ""
    """Its name on the server; empty for the server's own."""
    _pools: dict[str, asyncpg.Pool] = field(default_factory=dict, repr=False)

    async def prepare(self) -> None:
        """Create the database if it is missing, bring its schema up to date, let the roles in."""
        import asyncpg

        try:
            owner = await self.owner()
        except asyncpg.InvalidCatalogNameError:
            await self._create()
            owner = await self.owner()
        try:
            _check_version(owner, self.server)
            await migrate(owner)
            for role in ROLES:
                password = self.server.connection(role, self.name)["password"]
                await owner.execute("select usance.set_password($1, $2)", role, password)
        finally:
            await owner.close()

    async def owner(self) -> asyncpg.Connection:
        """A connection of its own as the owner of the database, closed by whoever asked for it."""
        return await connect(self.server.connection(database=self.name))

    async def _create(self) -> None:
        name = self.server.connection(database=self.name)["database"]
        connection = await connect(self.server.connection(database="postgres"))
        try:
            statement = await connection.fetchval(
                "select format('create database %I', $1::text)", name
            )
            await connection.execute(statement)
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
        self, principal_id: int, role: str = APPLICATION, *, one_moment: bool = False
    ) -> AsyncIterator[asyncpg.Connection]:
        """A transaction in which everything is read and written as one principal.

        With `one_moment`, all its reads see what was committed when the first of them began.
        """
        pool = await self.pool(role)
        isolation: Any = "repeatable_read" if one_moment else None
        async with pool.acquire() as connection, connection.transaction(isolation=isolation):
            await connection.execute(
                "select set_config('usance.principal', $1, true)", str(principal_id)
            )
            yield connection

    @asynccontextmanager
    async def batch(self) -> AsyncIterator[asyncpg.Connection]:
        """A transaction of the writer of batches, in which everything is read as the platform."""
        pool = await self.pool(BATCH_WRITER)
        async with pool.acquire() as connection:
            await connection.execute("begin; select set_config('usance.principal', '0', true)")
            try:
                yield connection
            except BaseException:
                await connection.execute("rollback")
                raise
            await connection.execute("commit")

    @asynccontextmanager
    async def loader(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection of its own that reads and appends every row, for bulk work."""
        connection = await self.owner()
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


async def connect(target: dict[str, Any]) -> asyncpg.Connection:
    """A connection to a server; one that cannot be reached, or lets nobody in, is named."""
    import asyncpg

    where = f"{target['user']}@{target['host']}:{target['port']}/{target['database']}"
    try:
        return await asyncpg.connect(**target)
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidPasswordError) as error:
        raise ServerError(f"the server lets nobody in: {error}", where=where,
                          fix=f"Mend name and password in {URL}") from error  # fmt: skip
    except (OSError, TimeoutError, asyncpg.InterfaceError) as error:
        raise ServerError(f"no server answers: {error}", where=where,
                          fix=f"Start it, or mend {URL}") from error  # fmt: skip


def _check_version(connection: asyncpg.Connection, server: Server) -> None:
    major = connection.get_server_version().major
    if major < MIN_VERSION:
        raise ServerError(f"is PostgreSQL {major}", where=str(server.connection()["host"]),
                          fix=f"Use {MIN_VERSION} or later")  # fmt: skip


def server_of(home: Path) -> Embedded | Given:
    """The server that the environment names, else the one embedded in a home."""
    url = os.environ.get(URL)
    if not url:
        return Embedded(home)
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("postgresql", "postgres")
            and parts.username
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        usable = False
    if not usable:
        raise ServerError(
            "is no address of a PostgreSQL server", where=URL,
            fix="Write postgresql://owner:password@host:port/database",
        )  # fmt: skip
    unknown = [name for name, _ in parse_qsl(parts.query) if name not in OPTIONS]
    if unknown:
        raise ServerError(f"has the unknown option {unknown[0]!r}", where=URL,
                          fix=f"Options are {', '.join(OPTIONS)}")  # fmt: skip
    return Given(url)
