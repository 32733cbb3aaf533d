"""Bulk in and out gives back what was put in, table by table, and loads nothing by halves."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import numpy as np
import pyarrow as pa
import pytest

from tests.platform.databases import with_owner
from usance.base.codes import code_lists
from usance.base.columns import make
from usance.base.digest import digest
from usance.base.schemas import Column
from usance.base.tables import TABLES
from usance.platform.store.bulk import is_fixed, load_rows, read_rows
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded

LIVE = (
    "users", "decisions", "decision_inputs", "lines", "sources", "limits", "requests", "routing",
    "loans", "shares", "facts", "cells", "group_facts", "journals",
)  # fmt: skip
ROWS = 5


def values(column: Column) -> Any:
    """Some rows of a column, ends of its range among them."""
    if column.type == "text":
        return [None if column.optional and n == 1 else f"t{n}·文" for n in range(ROWS)]
    if column.type == "inputs":
        return pa.array([[n + 0.5, float("nan") if n == 2 else -0.0] for n in range(ROWS)],
                        pa.list_(pa.float64(), 2))  # fmt: skip
    if column.codes:
        allowed = sorted(code_lists()[column.codes].values())
        return np.array([allowed[n % len(allowed)] for n in range(ROWS)])
    if column.type == "day":
        return np.array([-25_000, 0, 10_957, 19_905, 47_481], np.int32)
    if column.type == "moment":
        return np.array([-1, 0, 946_684_800_000_001, 1_700_000_000_000_001, 2**52])
    bits = {"i8": 7, "i16": 15, "i32": 31, "i64": 63}[column.type]
    return np.array([-(2**bits), -1, 0, 1, 2**bits - 1])


async def _as_loader(connection: asyncpg.Connection) -> None:
    await connection.execute("set role usance_loader")


@pytest.mark.parametrize("name", LIVE)
def test_rows_come_back_as_they_went_in(server: Embedded, shared_database: str, name: str) -> None:
    spec = TABLES[name]
    rows = make(spec, **{each.name: values(each) for each in spec.columns})

    async def there_and_back(connection: asyncpg.Connection) -> pa.Table:
        await _as_loader(connection)
        await load_rows(connection, spec, rows)
        return await read_rows(connection, spec)

    back = with_owner(server, shared_database, there_and_back)
    assert back.num_rows == ROWS
    assert digest(back, spec) == digest(rows, spec)


def test_a_row_that_is_there_already_keeps_all_others_out(
    server: Embedded, shared_database: str
) -> None:
    spec = TABLES["cells"]
    row = {each.name: [1] for each in spec.columns} | {"cell": [7]}
    two = {each.name: [1, 1] for each in spec.columns} | {"cell": [8, 7]}

    async def twice(connection: asyncpg.Connection) -> int:
        await _as_loader(connection)
        await load_rows(connection, spec, make(spec, **row))
        with pytest.raises(asyncpg.UniqueViolationError):
            await load_rows(connection, spec, make(spec, **two))
        found = await read_rows(connection, spec, "cell = any($1::int[])", [7, 8])
        return int(found.num_rows)

    assert with_owner(server, shared_database, twice) == 1


def test_large_tables_have_rows_of_one_width() -> None:
    large = ("decisions", "lines", "requests", "routing", "loans", "facts", "postings")
    assert all(is_fixed(TABLES[name]) for name in large)


@pytest.fixture(scope="module")
def shared_database(server: Embedded) -> str:
    from tests.platform.databases import fresh

    name = fresh(server, "bulk")
    asyncio.run(Database(server, name).prepare())
    return name
