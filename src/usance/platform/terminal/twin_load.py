"""`usance twin load`: a finished twin as a lender's database, from which life goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import typer

from usance.base.book import Book
from usance.base.command_line import AsJson, print_answer, print_pairs
from usance.base.dates import first_of_month
from usance.base.tables import TABLES
from usance.books.policy_files import NAMES
from usance.platform.closing.month_end import LAKE
from usance.platform.errors import PlatformError
from usance.platform.installation import install, is_installed
from usance.platform.lake.continued import continue_book
from usance.platform.lender import sandbox_document
from usance.platform.store.bulk import load_rows
from usance.platform.store.database import Database, server_of
from usance.platform.store.server import Embedded
from usance.platform.terminal.up import Home
from usance.platform.twin_load import LOADED, last_moment, load_book
from usance.platform.vault import vault_of

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class AlreadyInstalled(PlatformError):
    """A home that has a lender already; a twin is loaded into an empty one."""

    code = "platform.already_installed"
    http_status = 409


@app.callback()
def twin() -> None:
    """A twin in a lender's database."""


@app.command("load")
def load(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a finished run.")],
    home: Home,
    as_json: AsJson = False,
) -> None:
    """Load a finished twin into the database of an empty home."""
    counts = asyncio.run(load_home(Book.open(folder), home))
    if as_json:
        print_answer(counts)
    else:
        print_pairs([(name, str(rows)) for name, rows in counts.items()])


async def load_home(
    book: Book, home: Path, document: Mapping[str, Any] | None = None, *, keeps_closes: bool = False
) -> dict[str, int]:
    """Load a finished twin into an empty home, as the lender that a document describes.

    With its closes kept, the next one is that of the month that follows.
    """
    server = server_of(home)
    if isinstance(server, Embedded):
        server.start()
    try:
        database = Database(server)
        await database.prepare()
        vault_of(home)
        owner = await database.owner()
        try:
            counts = await _fill(owner, book, home, document or sandbox_document())
            if keeps_closes:
                await continue_book(owner, book, home / LAKE)
            return counts
        finally:
            await owner.close()
    finally:
        if isinstance(server, Embedded):
            server.stop()


def _policies(book: Book) -> dict[str, str]:
    """The policies that the closes of a book used."""
    found = {name: book.used(f"policies/{name}") for name in NAMES}
    return {name: content.decode() for name, content in found.items() if content is not None}


async def _fill(
    owner: asyncpg.Connection, book: Book, home: Path, lender: Mapping[str, Any]
) -> dict[str, int]:
    if await is_installed(owner):
        raise AlreadyInstalled("has a lender", where=str(home), fix="Give a --home that is empty")
    tables = (book.manifest.tables[name].files for name in LOADED if name in book.manifest.tables)
    months = sorted({each.month for files in tables for each in files if each.month is not None})
    document = {**lender, "time_zone": book.manifest.time_zone,
                "currency": book.manifest.currency, "group_facts": ""}  # fmt: skip
    document["policies"] = _policies(book) or document.get("policies", {})
    first = first_of_month(max(months))
    await install(owner, document, clock=last_moment(book, months), first_day=first)
    cells = book.read("cells")
    if cells.num_rows:
        await owner.execute("delete from usance.cells")
        await load_rows(owner, TABLES["cells"], cells)
    sources = book.read("sources").to_pylist()
    if sources:
        await load_sources(owner, book)
    return await load_book(
        owner,
        book,
        months,
        {row["source"]: row["trigger_days"] for row in sources},
        {row["source"]: row["fee_ppm"] for row in sources},
    )


async def load_sources(owner: asyncpg.Connection, book: Book) -> None:
    """Load the terms of a book's sources; those of the lender hold from the day after the last."""
    installed = [dict(row) for row in await owner.fetch("select * from usance.sources")]
    await owner.execute("delete from usance.sources")
    await load_rows(owner, TABLES["sources"], book.read("sources"))
    last = {row["source"]: row for row in await owner.fetch(
        "select source, max(version) as version, max(valid_to) as until from usance.sources "
        "group by source"
    )}  # fmt: skip
    for row in installed:
        if row["source"] in last:
            known = last[row["source"]]
            row["version"] += known["version"]
            row["valid_from"] = max(row["valid_from"], known["until"] + timedelta(days=1))
        if row["valid_from"] <= row["valid_to"]:
            await owner.execute(
                "insert into usance.sources select * from "
                "jsonb_populate_record(null::usance.sources, $1)", json.dumps(row, default=str),
            )  # fmt: skip
