"""Rows of a few loans out of a book's tables, one file in memory at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from usance.base.book import Book
from usance.base.manifest import FileEntry
from usance.base.schemas import Table
from usance.base.tables import table

Rows = list[dict[str, Any]]


def rows_of(book: Book, name: str, key: str, ids: Sequence[int]) -> Rows:
    """Every row of a table whose key is one of some ids, in order of the table's key."""
    spec, found = table(name), Rows()
    wanted = pc.field(key).isin(pa.array(list(ids), pa.int64()))
    for file in book.files(name):
        if _may_hold(file, spec, key, ids):
            found += book.read_file(spec, file).filter(wanted).to_pylist()
    return sorted(found, key=lambda row: tuple(row[each] for each in spec.key))


def _may_hold(file: FileEntry, spec: Table, key: str, ids: Sequence[int]) -> bool:
    """True unless the first and last key of a file rule out all of some ids."""
    if not file.first or spec.key[0] != key:
        return bool(ids)
    return any(int(file.first[0]) <= each <= int(file.last[0]) for each in ids)


def group_by(rows: Rows, key: str) -> dict[int, Rows]:
    """Rows by the value of one of their columns."""
    found: dict[int, Rows] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found
