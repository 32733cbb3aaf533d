"""Migrations: in order, once, each whole or not at all; and the contract in the database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform.databases import with_owner
from usance.base.tables import TABLES
from usance.platform.errors import MigrationError
from usance.platform.store.ddl import TYPES
from usance.platform.store.migrations import Migration, migrate, shipped, status
from usance.platform.store.server import Embedded

FIRST = Migration(1, "first", "create table usance.first (x int)")
SECOND = Migration(2, "second", "create table usance.second (x int)")
BROKEN = Migration(2, "second", "create table usance.second (x int); select 1 / 0")


def run(server: Embedded, database: str, *migrations: Migration) -> tuple[Migration, ...]:
    return with_owner(server, database, lambda connection: migrate(connection, migrations))


def tables(server: Embedded, database: str) -> set[str]:
    async def names(connection: asyncpg.Connection) -> set[str]:
        rows = await connection.fetch("select tablename from pg_tables where schemaname = 'usance'")
        return {row["tablename"] for row in rows}

    return with_owner(server, database, names)


def test_pending_ones_are_applied_once(server: Embedded, database: str) -> None:
    assert run(server, database, FIRST) == (FIRST,)
    assert run(server, database, FIRST, SECOND) == (SECOND,)
    assert run(server, database, FIRST, SECOND) == ()
    assert tables(server, database) == {"migrations", "first", "second"}


def test_status_tells_without_changing(server: Embedded, database: str) -> None:
    def look(*migrations: Migration) -> Any:
        return with_owner(server, database, lambda connection: status(connection, migrations))

    assert look(FIRST, SECOND).pending == (FIRST, SECOND)
    assert tables(server, database) == set()
    run(server, database, FIRST)
    assert look(FIRST, SECOND).applied == (FIRST,)
    assert look(FIRST).is_current


def test_one_that_fails_leaves_the_schema_before_it_working(
    server: Embedded, database: str
) -> None:
    with pytest.raises(MigrationError, match="division by zero") as caught:
        run(server, database, FIRST, BROKEN)
    assert "0002_second" in caught.value.where
    assert tables(server, database) == {"migrations", "first"}
    assert run(server, database, FIRST, SECOND) == (SECOND,)


def test_an_applied_file_that_changed_is_refused(server: Embedded, database: str) -> None:
    run(server, database, FIRST)
    changed = Migration(1, "first", FIRST.sql + " -- changed")
    with pytest.raises(MigrationError, match="has changed since it was applied"):
        run(server, database, changed, SECOND)
    assert tables(server, database) == {"migrations", "first"}


def test_a_database_of_a_later_version_is_refused(server: Embedded, database: str) -> None:
    run(server, database, FIRST, SECOND)
    with pytest.raises(MigrationError, match="a later version of Usance"):
        run(server, database, FIRST)


def test_several_that_migrate_at_once_apply_each_step_once(server: Embedded, database: str) -> None:
    async def all_at_once() -> list[tuple[Migration, ...]]:
        target: dict[str, Any] = server.connection(database=database)
        connections = [await asyncpg.connect(**target) for _ in range(4)]
        try:
            work = (migrate(each, [FIRST, SECOND]) for each in connections)
            return await asyncio.gather(*work)
        finally:
            for each in connections:
                await each.close()

    applied = asyncio.run(all_at_once())
    assert sorted(applied, key=len) == [(), (), (), (FIRST, SECOND)]


def test_files_are_numbered_without_a_gap(tmp_path: Path) -> None:
    (tmp_path / "0001_first.sql").write_text("select 1")
    (tmp_path / "0003_third.sql").write_text("select 1")
    with pytest.raises(MigrationError, match="out of order") as caught:
        shipped(tmp_path)
    assert "0002_" in caught.value.fix


def test_the_database_has_the_tables_of_the_contract(server: Embedded, database: str) -> None:
    run(server, database, *shipped())

    async def columns(connection: asyncpg.Connection) -> dict[str, list[tuple[str, str, bool]]]:
        rows = await connection.fetch(
            "select c.relname, a.attname, format_type(a.atttypid, null) as type, a.attnotnull "
            "from pg_attribute a join pg_class c on c.oid = a.attrelid "
            "join pg_namespace n on n.oid = c.relnamespace "
            "where n.nspname = 'usance' and c.relkind = 'r' and a.attnum > 0 order by 1, a.attnum"
        )
        found: dict[str, list[tuple[str, str, bool]]] = {}
        for table, name, kind, filled in rows:
            found.setdefault(table, []).append((name, kind, filled))
        return found

    there = with_owner(server, database, columns)
    shared = [name for name in there if name in TABLES]
    assert len(shared) == 15
    for name in shared:
        declared = [
            (each.name, TYPES[each.type], not (each.optional and each.default is None))
            for each in TABLES[name].columns
        ]
        names = [name for name, _, _ in declared]  # later columns stand behind `xid`
        assert [each for each in there[name] if each[0] in names] == declared, name


def test_rows_that_were_added_cannot_be_changed(server: Embedded, database: str) -> None:
    run(server, database, *shipped())

    async def tamper(connection: asyncpg.Connection) -> None:
        await connection.execute(
            "insert into usance.facts values (16385, '2024-01-01', 0, 1, 100, 0, now())"
        )
        with pytest.raises(asyncpg.PostgresError, match="facts is append-only"):
            await connection.execute("update usance.facts set amount_minor = 200")
        with pytest.raises(asyncpg.PostgresError, match="facts is append-only"):
            await connection.execute("delete from usance.facts")
        with pytest.raises(asyncpg.PostgresError, match="facts is append-only"):
            await connection.execute("truncate usance.facts")

    with_owner(server, database, tamper)


@pytest.mark.parametrize(("credit", "entity"), [(-99, 1), (-100, 2)])
def test_journals_that_do_not_balance_are_refused(
    server: Embedded, database: str, credit: int, entity: int
) -> None:
    run(server, database, *shipped())
    text = (
        "insert into usance.postings values "
        "(7, $1, $2, 0, 0, 1001, 648, '2024-01-31', 1, 0, 0, $3), "
        "(7, $4, $5, 0, 0, 2001, 648, '2024-01-31', 1, 0, 0, $6)"
    )

    async def post(connection: asyncpg.Connection) -> None:
        await connection.execute("insert into usance.periods values (648, 0)")
        await connection.execute(text, 1, 1, 100, 2, 1, -100)
        with pytest.raises(asyncpg.PostgresError, match="journal 7 does not balance"):
            await connection.execute(text, 3, 1, 100, 4, entity, credit)

    with_owner(server, database, post)
