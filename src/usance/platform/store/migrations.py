"""Migrations: numbered SQL files, each applied once, in order, in a transaction of its own.

A file that was applied never changes: its checksum is kept beside its number and compared before
anything else happens. One process migrates at a time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from usance.platform.errors import MigrationError
from usance.platform.store.locks import Lock

if TYPE_CHECKING:
    import asyncpg

FOLDER = Path(__file__).with_name("migrations")
_NAME = re.compile(r"(\d{4})_(\w+)\.sql")
_CREATE = """
create schema if not exists usance;
create table if not exists usance.migrations (
    number integer primary key,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now()
)
"""


@dataclass(frozen=True)
class Migration:
    """One step of the schema: its number, its name and its SQL."""

    number: int
    name: str
    sql: str

    @property
    def title(self) -> str:
        """The name in messages."""
        return f"migration {self.number:04d}_{self.name}"

    @property
    def sha256(self) -> str:
        """The checksum that the database keeps of it."""
        return sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True)
class Status:
    """The schema of a database beside the one of this version."""

    applied: tuple[Migration, ...]
    pending: tuple[Migration, ...]

    @property
    def is_current(self) -> bool:
        """True when nothing is left to apply."""
        return not self.pending


def shipped(folder: Path = FOLDER) -> tuple[Migration, ...]:
    """The migrations of this version in order, numbered 1, 2, 3 … without a gap."""
    found: list[Migration] = []
    for path in sorted(folder.glob("*.sql")):
        parts = _NAME.fullmatch(path.name)
        if parts is None or int(parts[1]) != len(found) + 1:
            wanted = f"{len(found) + 1:04d}_name.sql"
            raise MigrationError("is out of order", where=str(path), fix=f"Name it {wanted}")
        found.append(Migration(int(parts[1]), parts[2], path.read_text(encoding="utf-8")))
    return tuple(found)


async def status(
    connection: asyncpg.Connection, migrations: Sequence[Migration] | None = None
) -> Status:
    """The migrations that a database has and lacks; one it has that differs is an error."""
    own = tuple(shipped() if migrations is None else migrations)
    if await connection.fetchval("select to_regclass('usance.migrations')") is None:
        return Status((), own)
    rows = await connection.fetch("select number, name, sha256 from usance.migrations order by 1")
    for row in rows:
        _check_applied(own, row["number"], row["name"], row["sha256"])
    return Status(own[: len(rows)], own[len(rows) :])


async def migrate(
    connection: asyncpg.Connection, migrations: Sequence[Migration] | None = None
) -> tuple[Migration, ...]:
    """Apply what is pending, as the owner of the database; gives what was applied.

    A migration that fails leaves the database as the one before left it.
    """
    await connection.execute("select pg_advisory_lock($1)", Lock.MIGRATIONS)
    try:
        await connection.execute(_CREATE)
        pending = (await status(connection, migrations)).pending
        for each in pending:
            await _apply(connection, each)
    finally:
        await connection.execute("select pg_advisory_unlock($1)", Lock.MIGRATIONS)
    return pending


async def _apply(connection: asyncpg.Connection, migration: Migration) -> None:
    import asyncpg

    try:
        async with connection.transaction():
            await connection.execute(migration.sql)
            await connection.execute(
                "insert into usance.migrations (number, name, sha256) values ($1, $2, $3)",
                migration.number, migration.name, migration.sha256,
            )  # fmt: skip
    except asyncpg.PostgresError as error:
        raise MigrationError(
            f"cannot be applied: {error}", where=migration.title,
            fix="The database is as it was; mend the cause and run 'usance db migrate' again",
        ) from error  # fmt: skip


def _check_applied(own: Sequence[Migration], number: int, name: str, checksum: str) -> None:
    where = f"migration {number:04d}_{name}"
    if number > len(own):
        raise MigrationError(
            "was applied by a later version of Usance", where=where,
            fix="Use that version, or restore a backup from before it",
        )  # fmt: skip
    if own[number - 1].sha256 != checksum:
        raise MigrationError(
            "has changed since it was applied", where=where,
            fix="Restore the file as it was; changes go into a new migration",
        )  # fmt: skip
