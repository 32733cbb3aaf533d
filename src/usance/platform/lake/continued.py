"""A lake that goes on from a closed book: a loaded lender keeps the closes it was loaded with.

Its next close is that of the next month, on what the last one carried forward; without this it
would be the first of the ledger and take all history along as one period.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from usance.base.book import Book
from usance.base.dates import format_month
from usance.books.close.closes import controls_of, effective_closes, known_at_of
from usance.platform.commands.control.periods import CLOSED, OPEN
from usance.platform.lake.export import MARK, Mark

if TYPE_CHECKING:
    import asyncpg


async def continue_book(connection: asyncpg.Connection, book: Book, lake: Path) -> int:
    """Begin a lake as a copy of the book that was just loaded; the number of its closes.

    The caller owns the database, in which nothing has happened since. A book whose last month is
    not closed begins no lake.
    """
    closes = effective_closes(book)
    first = await connection.fetchval("select min(period) from usance.periods")
    if not closes or closes[-1].month != first:
        return 0
    shutil.copytree(book.path, lake, ignore=shutil.ignore_patterns("lock", "run.json"))
    watermark = await connection.fetchval(
        "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
    )
    users = await connection.fetchval("select coalesce(max(user_id), 0) from usance.users")
    epoch = await connection.fetchval("select coalesce(max(epoch), 0) from usance.restores")
    made = Book.open(lake)
    with made.held(), made.writing() as step:
        step.use(MARK, json.dumps(asdict(Mark(watermark, users, epoch))).encode())
    last, before = closes[-1], closes[-2].month if len(closes) > 1 else closes[-1].month - 1
    known_at, told = known_at_of(book, last), controls_of(book, last)
    await connection.execute(
        "update usance.periods set state = $2, known_at = $3, closing_at = $3 "
        "where period = $1 and state = $4", last.month, CLOSED, known_at, OPEN,
    )  # fmt: skip
    await connection.execute(  # what is booked before that month has come is dated into it
        "insert into usance.periods (period, state) values ($1, $2) on conflict do nothing",
        last.month + 1, OPEN,
    )  # fmt: skip
    await connection.execute(
        "insert into usance.closes (name, close_no, period, first, last, known_at, closed_at, "
        "state, loans, journals, controls) values ($1, $2, $3, $4, $5, $6, $6, 'effective', $7, 0, "
        "$8)", last.name, last.close_no, format_month(last.month), before + 1, last.month, known_at,
        told.get("loans", 0), json.dumps(told["controls"]),
    )  # fmt: skip
    return len(closes)
