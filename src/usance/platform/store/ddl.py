"""The data contract as PostgreSQL tables: DDL made from the declarations in `base`.

Migrations hold this text as it was when they were written; a test compares the tables of a migrated
database with the declarations, so that the two cannot drift apart.

>>> from usance.base.tables import TABLES
>>> print(create_table(TABLES["shares"]))
create table usance.shares (
    loan_id bigint not null,
    source smallint not null,
    principal_minor bigint not null,
    primary key (loan_id, source)
);
"""

from __future__ import annotations

from usance.base.schemas import Column, Table

TYPES = {
    "i8": "smallint",
    "i16": "smallint",
    "i32": "integer",
    "i64": "bigint",
    "f64": "double precision",
    "day": "date",
    "moment": "timestamp with time zone",
    "text": "text",
    "inputs": "double precision[]",
}
"""PostgreSQL has no integer of one byte; code lists are held by the rooms that write them."""


def create_table(table: Table) -> str:
    """The statement that creates a declared table, with its key."""
    lines = [f"    {_column(column)}," for column in table.columns]
    return "\n".join(
        [f"create table usance.{table.name} (", *lines,
         f"    primary key ({', '.join(map(quoted, table.key))})", ");"]
    )  # fmt: skip


def _column(column: Column) -> str:
    null = "" if column.optional and column.default is None else " not null"
    default = "" if column.default is None else f" default {column.default}"
    return f"{quoted(column.name)} {TYPES[column.type]}{null}{default}"


def quoted(name: str) -> str:
    """A column's name, in quotes where SQL has the word for itself."""
    return f'"{name}"' if name in _RESERVED else name


_RESERVED = {"limit"}
