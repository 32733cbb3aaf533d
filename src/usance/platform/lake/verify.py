"""The lake compared with the database: digests of every table, made again from both.

The book's side is what its manifest names, with every file compared with its SHA-256; the
database's side are the rows up to the mark of the last export, read again piece by piece.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from usance.base.book import Book
from usance.base.digest import Digest, digest
from usance.base.ids import USER_SHIFT
from usance.platform.lake.export import Mark, mark_of
from usance.platform.lake.tables import APPENDED, CONFIGURATION, USERS, LakeTable
from usance.platform.store.bulk import read_rows

if TYPE_CHECKING:
    import asyncpg

USERS_A_PIECE = 1 << 16
"""Users read at a time, which bounds the memory."""


class Difference(NamedTuple):
    """A table whose rows are not the same in the database and in the book, or a damaged file."""

    what: str
    problem: str


async def verify(connection: asyncpg.Connection, folder: Path) -> list[Difference]:
    """Differences of a book from the database up to its mark; none if it is whole."""
    book = Book.open(folder)
    found = [Difference(error.where or "", str(error)) for error in book.damaged()]
    mark = mark_of(book)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        for each in (USERS, *APPENDED, *CONFIGURATION):
            there = Digest()
            async for piece in _pieces(connection, each, mark):
                there += piece
            here = book.digest(each.name)
            if there != here:
                found.append(Difference(
                    each.name, f"the database has {there}, the book {here} (rows:digest)"
                ))  # fmt: skip
    return found


async def _pieces(
    connection: asyncpg.Connection, each: LakeTable, mark: Mark
) -> AsyncIterator[Digest]:
    spec = each.declared
    if each in CONFIGURATION:
        yield digest(await read_rows(connection, spec), spec)
        return
    if not each.owner:
        yield digest(await read_rows(connection, spec, _BELOW, mark.transaction), spec)
        return
    shift = 0 if each is USERS else USER_SHIFT
    for first in range(0, mark.user_id + 1, USERS_A_PIECE):
        ends = first << shift, (first + USERS_A_PIECE) << shift
        if each is USERS:
            rows = await read_rows(connection, spec, _OF_USERS, *ends, mark.user_id)
        else:
            rows = await read_rows(connection, spec, _OWNED[each.owner], *ends, mark.transaction)
        yield digest(rows, spec)


_BELOW = "xid::text::bigint < $1"
_OF_USERS = "user_id >= $1 and user_id < $2 and user_id <= $3"
_OWNED = {
    owner: f"{owner} >= $1 and {owner} < $2 and xid::text::bigint < $3"
    for owner in ("decision_id", "line_id", "loan_id")
}
