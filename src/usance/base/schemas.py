"""Declarations of tables: a name, a schema number, and columns with exact types.

A declaration is text, one column a line: name, type, marks, what it means.

>>> table = declare(
...     "shares",
...     1,
...     "Who funds a co-funded loan.",
...     '''
...     loan_id          i64      key  the loan
...     source           i16      key  the funding source
...     principal_minor  i64           its part of the principal
... ''',
... )
>>> table.key, table.tag
(('loan_id', 'source'), 'shares/1')
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from usance.base.errors import SchemaError

# Bytes in memory; text and lists of inputs vary and count as none.
TYPES = {
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "f64": 8,
    "day": 4,
    "moment": 8,
    "text": 0,
    "inputs": 0,
}
INTEGERS = ("i8", "i16", "i32", "i64")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its type, what it means."""

    name: str
    type: str
    doc: str
    codes: str = ""
    """The code list its numbers come from, if any."""
    key: bool = False
    optional: bool = False
    """A file may lack it; then every row has the default."""
    default: int | None = None
    sparse: bool = False
    """Mostly zero: differences from row to row would say more than the numbers do."""


@dataclass(frozen=True, slots=True)
class Table:
    """A declared table; rows are sorted by its key, and no key is there twice."""

    name: str
    number: int
    doc: str
    columns: tuple[Column, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """The key columns, also the sort order."""
        return tuple(column.name for column in self.columns if column.key)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns in order."""
        return tuple(column.name for column in self.columns)

    @property
    def tag(self) -> str:
        """The mark `usance.schema` of this table's files."""
        return f"{self.name}/{self.number}"

    def column(self, name: str) -> Column:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(
            f"{self.name} has no column {name!r}", fix=f"Columns: {', '.join(self.names)}"
        )

    def with_amounts(self, names: list[str], *more: Column) -> Table:
        """The same table with one more cumulative amount per name, as a subledger has them."""
        amounts = tuple(
            Column(name, "i64", "a cumulative posting amount", sparse=True) for name in names
        )
        return replace(self, columns=self.columns + amounts + more)


def declare(name: str, number: int, doc: str, lines: str) -> Table:
    """A table from its text; marks are `key`, `null` (may be missing) and `=0` (a default)."""
    columns = tuple(_column(line.split()) for line in lines.strip().splitlines())
    return Table(name, number, doc, columns)


def _column(words: list[str]) -> Column:
    name, kind, *rest = words
    kind, _, codes = kind.partition(":")
    assert kind in TYPES, f"{name} has no known type: {kind}"
    key, optional, default = False, False, None
    while rest and (rest[0] in {"key", "null"} or rest[0].startswith("=")):
        mark = rest.pop(0)
        key = key or mark == "key"
        optional = optional or mark != "key"
        default = int(mark[1:]) if mark.startswith("=") else default
    return Column(name, kind, " ".join(rest), codes, key, optional, default)
