"""Bulk in and out: tables of the data contract as Arrow, by PostgreSQL's binary COPY.

Rows of fixed width and without nulls are one NumPy record array, whichever way they go; tables
with text or lists go row by row. `xid` is left to the database: it is the loading transaction's.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.columns import arrays, arrow_schema, make
from usance.base.schemas import Column, Table
from usance.platform.errors import PlatformError
from usance.platform.store.ddl import quoted

if TYPE_CHECKING:
    import asyncpg

_FIXED = {
    "i8": ">i2", "i16": ">i2", "i32": ">i4", "i64": ">i8", "f64": ">f8", "day": ">i4",
    "moment": ">i8",
}  # fmt: skip
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
EPOCH_DAY = 10_957
_EPOCH = {"day": EPOCH_DAY, "moment": 946_684_800_000_000}
"""PostgreSQL counts days and microseconds from 2000, Arrow from 1970."""


def is_fixed(declared: Table) -> bool:
    """True for a table whose rows all have one width: no text, no lists, no nulls.

    >>> from usance.base.tables import TABLES
    >>> [name for name in ("facts", "loans", "users", "journals") if is_fixed(TABLES[name])]
    ['facts', 'loans']
    """
    return all(
        each.type in _FIXED and (not each.optional or each.default is not None)
        for each in declared.columns
    )


async def read_rows(
    connection: asyncpg.Connection, declared: Table, where: str = "true", *arguments: Any
) -> pa.Table:
    """The rows of a table that a condition of our own names, in the order of its key."""
    if not is_fixed(declared):
        found = await connection.fetch(_select(declared, where), *arguments)
        return _from_records(declared, found)
    content = BytesIO()
    await connection.copy_from_query(
        _select(declared, where), *arguments, output=content, format="binary"
    )
    return _from_binary(declared, content.getbuffer())


async def copied_records(
    connection: asyncpg.Connection, sql: str, columns: Sequence[tuple[str, Any]], *arguments: Any
) -> NDArray[Any]:
    """The rows of a query of our own whose columns have these types, all of one width."""
    content = BytesIO()
    await connection.copy_from_query(sql, *arguments, output=content, format="binary")
    fields: list[tuple[str, Any]] = [("fields", ">i2")]
    for name, kind in columns:
        fields += [(f"{name} length", ">i4"), (name, kind)]
    body = content.getbuffer()[len(_HEADER) : -len(_TRAILER)]
    return np.frombuffer(body, np.dtype(fields))


async def load_rows(connection: asyncpg.Connection, declared: Table, rows: pa.Table) -> None:
    """Append rows to a table; the caller may write it, and all of them go in or none."""
    if not is_fixed(declared):
        await connection.copy_records_to_table(
            declared.name, records=_records(declared, rows), columns=declared.names,
            schema_name="usance",
        )  # fmt: skip
        return
    await connection.copy_to_table(
        declared.name, source=BytesIO(_to_binary(declared, rows)), columns=declared.names,
        schema_name="usance", format="binary",
    )  # fmt: skip


def _select(declared: Table, where: str) -> str:
    columns, key = _listed(declared.names), _listed(declared.key)
    return f"select {columns} from usance.{declared.name} where {where} order by {key}"  # noqa: S608


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def _record(declared: Table) -> np.dtype[Any]:
    """A row on the wire: the count of fields, then each field behind its length."""
    fields = [("fields", ">i2")]
    for each in declared.columns:
        fields += [(f"{each.name} length", ">i4"), (each.name, _FIXED[each.type])]
    return np.dtype(fields)


def _from_binary(declared: Table, content: memoryview) -> pa.Table:
    kind = _record(declared)
    body = content[len(_HEADER) : len(content) - len(_TRAILER)]
    rows = np.frombuffer(body, kind)
    for each in declared.columns:
        if (rows[f"{each.name} length"] != kind[each.name].itemsize).any():
            raise PlatformError(
                f"{each.name} is missing in a row", where=declared.name,
                fix="Run 'usance doctor': the table is not as the migrations made it",
            )  # fmt: skip
    return make(declared, **{each.name: _read(each, rows[each.name]) for each in declared.columns})


def _read(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    native = values.astype(values.dtype.newbyteorder("="))
    return native + native.dtype.type(_EPOCH[column.type]) if column.type in _EPOCH else native


def _to_binary(declared: Table, rows: pa.Table) -> bytes:
    kind, values = _record(declared), arrays(rows)
    packed = np.zeros(rows.num_rows, kind)
    packed["fields"] = len(declared.columns)
    for each in declared.columns:
        packed[f"{each.name} length"] = kind[each.name].itemsize
        packed[each.name] = values[each.name] - _EPOCH.get(each.type, 0)
    return _HEADER + packed.tobytes() + _TRAILER


def _from_records(declared: Table, found: Sequence[Any]) -> pa.Table:
    inputs = next((each.name for each in declared.columns if each.type == "inputs"), "")
    width = len(found[0][inputs]) if inputs and found else 0
    schema = arrow_schema(declared, width)
    return pa.Table.from_arrays(
        [pa.array([row[each.name] for row in found], each.type) for each in schema], schema=schema
    )


def _records(declared: Table, rows: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(rows.column(name).to_pylist() for name in declared.names), strict=True))
