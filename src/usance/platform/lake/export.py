"""The export: what the database holds below its watermark, appended to a book folder.

Below the oldest transaction that is still running nothing can be added any more. An export takes
what lies between the mark of the last one and that watermark, and publishes rows and mark in one
step of the book: what commits late is in the next export, and nothing is there twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from usance.base.book import Book, is_empty
from usance.base.book_step import Step
from usance.base.codes import Currency
from usance.base.columns import sort
from usance.base.digest import digest
from usance.base.errors import raise_all
from usance.platform.errors import LakeError, NotInstalled
from usance.platform.lake.tables import APPENDED, CONFIGURATION, USERS, LakeTable, partitions
from usance.platform.store.bulk import read_rows

if TYPE_CHECKING:
    import asyncpg

MARK = "lake/exported"
BETWEEN = "xid::text::bigint >= $1 and xid::text::bigint < $2"


@dataclass(frozen=True)
class Mark:
    """How far a book follows the database: its transactions and users up to these are in it."""

    transaction: int = 0
    """Everything of transactions below this one."""
    user_id: int = 0
    epoch: int = 0
    """The restores that the database had; after another one it is not the same history."""


@dataclass(frozen=True)
class Exported:
    """An export: the mark it reached, and the rows it added to each table."""

    mark: Mark
    rows: Mapping[str, int]


async def export(connection: asyncpg.Connection, folder: Path) -> Exported:
    """Append what is new below the watermark; the connection sees every row and has no transaction.

    The book is made if the folder is empty. One that is damaged is refused, file by file.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        lender = await connection.fetchrow("select currency, time_zone from usance.installation")
        if lender is None:
            raise NotInstalled(
                "has no lender", where="the database", fix="Run 'usance up --sandbox'"
            )
        zone: str = lender["time_zone"]
        if is_empty(folder):
            name = Currency(lender["currency"]).name
            Book.create(folder, currency=name, time_zone=zone)
        book = Book.open(folder)
        with book.held():
            check_whole(book)
            return await _append(connection, book, zone)


def check_whole(book: Book) -> None:
    """Refuse a book that lacks files or has damaged ones: nothing is added to it."""
    raise_all(book.damaged(), where=str(book.path))


async def _append(connection: asyncpg.Connection, book: Book, zone: str) -> Exported:
    before = mark_of(book)
    watermark = await connection.fetchval(
        "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
    )
    epoch = await connection.fetchval("select coalesce(max(epoch), 0) from usance.restores")
    if before.transaction and epoch != before.epoch:
        raise LakeError(
            f"the book follows epoch {before.epoch} of the database, which is in epoch {epoch}",
            where=str(book.path),
            fix="The database was restored to an earlier moment: export into a new folder",
        )
    if watermark < before.transaction:
        raise LakeError(
            f"the book follows transactions up to {before.transaction}, the database has "
            f"{watermark}", where=str(book.path),
            fix="The database was restored to an earlier moment: export into a new folder",
        )  # fmt: skip
    added: Counter[str] = Counter()
    with book.writing() as step:
        users = await read_rows(connection, USERS.declared, "user_id > $1", before.user_id)
        _file(step, USERS, users, zone, added)
        for each in APPENDED:
            rows = await read_rows(
                connection, each.declared, BETWEEN, before.transaction, watermark
            )
            _file(step, each, rows, zone, added)
        for each in CONFIGURATION:
            rows = await read_rows(connection, each.declared)
            if rows.num_rows and digest(rows, each.declared) != book.digest(each.name):
                step.add(each.declared, rows, instead=True)
                added[each.name] = rows.num_rows
        last = users.column("user_id")[-1].as_py() if users.num_rows else before.user_id
        mark = Mark(watermark, last, epoch)
        step.use(MARK, json.dumps(asdict(mark)).encode())
    return Exported(mark, added)


def _file(step: Step, each: LakeTable, rows: pa.Table, zone: str, added: Counter[str]) -> None:
    for (month, shard), part in partitions(each, rows, zone).items():
        step.add(each.declared, part, month=None if month < 0 else month, shard=shard)
        added[each.name] += part.num_rows


def mark_of(book: Book) -> Mark:
    """How far a book follows the database; nothing yet in a new one."""
    content = book.used(MARK)
    return Mark() if content is None else Mark(**json.loads(content))


def compact(folder: Path, before: int) -> int:
    """Join the files of each month before one into one a shard; the number of files that went.

    A reader that opened the book earlier must open it again.
    """
    book = Book.open(folder)
    gone: list[Path] = []
    with book.held(), book.writing() as step:
        check_whole(book)
        for each in (USERS, *APPENDED):
            files = Counter((file.month, file.shard) for file in book.files(each.name))
            for (month, shard), many in files.items():
                if many > 1 and (month is None or month < before):
                    gone += [book.path / file.path
                             for file in book.files(each.name, month=month, shard=shard)
                             if file.month == month]  # fmt: skip
                    _join(book, step, each, month, shard)
    for path in gone:
        path.unlink(missing_ok=True)
    return len(gone)


def _join(book: Book, step: Step, each: LakeTable, month: int | None, shard: int) -> None:
    spec = each.declared
    parts = [
        book.read_file(spec, file)
        for file in book.files(each.name, month=month, shard=shard)
        if file.month == month
    ]
    step.add(spec, sort(pa.concat_tables(parts), spec), month=month, shard=shard, instead=True)
