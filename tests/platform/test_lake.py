"""The lake follows the database: nothing lost, nothing twice, whatever commits when."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import asyncpg
import pyarrow as pa
import pytest

from tests.platform.databases import fresh, with_owner
from tests.platform.lender import prepare
from usance.base.book import Book
from usance.base.columns import make
from usance.base.errors import UsanceError, refusal
from usance.base.tables import table
from usance.cli import main
from usance.platform.errors import LakeError, NotInstalled
from usance.platform.lake.export import compact, export, mark_of
from usance.platform.lake.verify import verify
from usance.platform.store.bulk import load_rows
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded

T = TypeVar("T")
JULY, DAY_US = 1_719_792_000_000_000, 86_400_000_000
"""The first moment of July 2024 in UTC."""


def facts(*refs: int, day: int = 19_905, booked: int = JULY) -> pa.Table:
    """Payments of the first loan, told apart by their reference."""
    return make(
        "facts", loan_id=[16_385] * len(refs), effective_on=[day] * len(refs),
        kind=[4] * len(refs), ref=sorted(refs), amount_minor=[5] * len(refs),
        arg=[0] * len(refs), booked_at=[booked] * len(refs),
    )  # fmt: skip


def users(first: int, last: int) -> pa.Table:
    numbers = range(first, last + 1)
    one = [1] * len(numbers)
    return make("users", user_id=list(numbers), registered_on=[19_905] * len(numbers),
                channel=one, region=one, kind=[0] * len(numbers),
                client_ref=[f"u{n}" for n in numbers])  # fmt: skip


def lender(server: Embedded, database: str) -> str:
    """A lender of three users, two of whom are in the lake's first export."""
    prepare(server, database)

    async def fill(connection: asyncpg.Connection) -> None:
        await connection.execute("set role usance_loader")
        await load_rows(connection, table("users"), users(1, 2))
        await load_rows(connection, table("facts"), facts(1, 2))

    with_owner(server, database, fill)
    return database


@asynccontextmanager
async def connections(
    server: Embedded, database: str, count: int
) -> AsyncIterator[list[asyncpg.Connection]]:
    async with AsyncExitStack() as stack:
        loaders = [Database(server, database).loader() for _ in range(count)]
        yield [await stack.enter_async_context(each) for each in loaders]


def as_loader(
    server: Embedded, database: str, work: Callable[[asyncpg.Connection], Awaitable[T]]
) -> T:
    async def run() -> T:
        async with Database(server, database).loader() as connection:
            return await work(connection)

    return asyncio.run(run())


def test_an_export_adds_what_is_new_and_both_sides_agree(
    server: Embedded, database: str, tmp_path: Path
) -> None:
    lender(server, database)

    async def days(connection: asyncpg.Connection) -> list[dict[str, int]]:
        first = await export(connection, tmp_path / "book")
        await load_rows(connection, table("users"), users(3, 3))
        await load_rows(connection, table("facts"), facts(3, booked=JULY + 40 * DAY_US))
        second = await export(connection, tmp_path / "book")
        third = await export(connection, tmp_path / "book")
        assert await verify(connection, tmp_path / "book") == []
        return [dict(each.rows) for each in (first, second, third)]

    assert as_loader(server, database, days) == [
        {"users": 2, "facts": 2}, {"users": 1, "facts": 1}, {},
    ]  # fmt: skip
    months = {file.month for file in Book.open(tmp_path / "book").files("facts")}
    assert months == {654, 655}


def test_what_commits_behind_the_mark_is_in_the_next_export(
    server: Embedded, database: str, tmp_path: Path
) -> None:
    lender(server, database)
    added = asyncio.run(_late_commit(server, database, tmp_path / "book"))
    assert added == [2, 2, 1]


async def _late_commit(server: Embedded, database: str, folder: Path) -> list[int]:
    async with connections(server, database, 3) as (slow, quick, exporter):
        late = slow.transaction()
        await late.start()
        await load_rows(slow, table("facts"), facts(10))
        await load_rows(quick, table("facts"), facts(11))  # a later transaction, over before
        counts = [(await export(exporter, folder)).rows["facts"]]
        await late.commit()
        counts.append((await export(exporter, folder)).rows["facts"])
        await load_rows(quick, table("facts"), facts(12))
        counts.append((await export(exporter, folder)).rows["facts"])
        assert await verify(exporter, folder) == []
        return counts


@pytest.mark.parametrize(
    "steps", [150, pytest.param(10_000, marks=pytest.mark.nightly)], ids=["some", "many"]
)
def test_no_interleaving_of_writers_and_exports_loses_or_doubles_a_row(
    server: Embedded, database: str, tmp_path: Path, steps: int
) -> None:
    lender(server, database)
    kept = asyncio.run(_interleaved(server, database, tmp_path / "book", steps))
    refs = Book.open(tmp_path / "book").read("facts").column("ref").to_pylist()
    assert sorted(refs) == sorted({1, 2} | kept)


async def _interleaved(server: Embedded, database: str, folder: Path, steps: int) -> set[int]:
    """Begin, commit and roll back on three connections at random, with exports in between."""
    chance = random.Random(7)
    begun: dict[int, tuple[asyncpg.transaction.Transaction, int]] = {}
    kept: set[int] = set()
    async with connections(server, database, 4) as (exporter, *writers):
        for ref in range(100, 100 + steps):
            who = chance.randrange(4)
            if who == 3:
                await export(exporter, folder)
            elif who in begun:
                transaction, written = begun.pop(who)
                if chance.random() < 0.8:
                    await transaction.commit()
                    kept.add(written)
                else:
                    await transaction.rollback()
            else:
                transaction = writers[who].transaction()
                await transaction.start()
                await load_rows(writers[who], table("facts"), facts(ref))
                begun[who] = transaction, ref
            if ref % 500 == 0:
                compact(folder, before=700)
        for transaction, _ in begun.values():
            await transaction.rollback()
        await export(exporter, folder)
        assert await verify(exporter, folder) == []
    return kept


def test_compaction_joins_the_files_of_past_months(
    server: Embedded, database: str, tmp_path: Path
) -> None:
    lender(server, database)

    async def days(connection: asyncpg.Connection) -> None:
        for ref in range(3, 6):
            await export(connection, tmp_path)
            await load_rows(connection, table("facts"), facts(ref))
        await load_rows(connection, table("facts"), facts(9, booked=JULY + 40 * DAY_US))
        await export(connection, tmp_path)
        before = Book.open(tmp_path)
        assert compact(tmp_path, before=655) == 4
        after = Book.open(tmp_path)
        assert after.digest("facts") == before.digest("facts")
        assert [file.month for file in after.files("facts")] == [655, 654]
        assert compact(tmp_path, before=655) == 0
        assert await verify(connection, tmp_path) == []

    as_loader(server, database, days)


@pytest.mark.parametrize("damage", ["cut", "gone", "edited"])
def test_a_damaged_file_is_named_and_nothing_is_published(
    server: Embedded, database: str, tmp_path: Path, damage: str
) -> None:
    lender(server, database)

    async def spoil(connection: asyncpg.Connection) -> None:
        for ref in (3, 4):
            await export(connection, tmp_path)
            await load_rows(connection, table("facts"), facts(ref))
        book = Book.open(tmp_path)
        file = tmp_path / book.files("facts")[0].path
        content = file.read_bytes()
        match damage:
            case "cut":
                file.write_bytes(content[:-20])
            case "gone":
                file.unlink()
            case _:
                file.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
        found = await verify(connection, tmp_path)
        assert [file.name in each.what for each in found] == [True]
        manifest = (tmp_path / "manifest.json").read_bytes()
        with pytest.raises(UsanceError, match=file.name):
            await export(connection, tmp_path)
        with pytest.raises(UsanceError, match=file.name):
            compact(tmp_path, before=700)
        assert (tmp_path / "manifest.json").read_bytes() == manifest

    as_loader(server, database, spoil)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_fills_leaves_the_book_as_it_was(
    server: Embedded, database: str, disk: Path
) -> None:
    """With a page more room each time, the disk fills at one file after the other."""
    lender(server, database)
    book = disk / "book"
    as_loader(server, database, lambda connection: export(connection, book))
    before = (book / "manifest.json").read_bytes()

    async def add(connection: asyncpg.Connection) -> None:
        await load_rows(connection, table("users"), users(3, 3))
        await load_rows(connection, table("facts"), facts(3, booked=JULY + 40 * DAY_US))

    as_loader(server, database, add)
    filler, failed = disk / "filler", 0
    for pages in range(64):
        filler.write_bytes(b"")
        filler.write_bytes(bytes(max(0, shutil.disk_usage(disk).free - pages * 4096)))
        try:
            made = as_loader(server, database, lambda connection: export(connection, book))
        except OSError as error:
            refused = refusal(error)
            assert refused is not None
            assert "Make room" in refused.fix
            assert (book / "manifest.json").read_bytes() == before
            assert Book.open(book).check() == []
            failed += 1
        else:
            break
    assert failed >= 3
    assert made.rows == {"users": 1, "facts": 1}
    assert as_loader(server, database, lambda connection: verify(connection, book)) == []


def test_a_database_that_lost_rows_is_told_by_the_table(
    server: Embedded, database: str, tmp_path: Path
) -> None:
    lender(server, database)
    as_loader(server, database, lambda connection: export(connection, tmp_path))

    async def lose(connection: asyncpg.Connection) -> None:
        await connection.execute("alter table usance.facts disable trigger append_only")
        await connection.execute("alter table usance.facts no force row level security")
        await connection.execute("delete from usance.facts where ref = 1")

    with_owner(server, database, lose)
    found = as_loader(server, database, lambda connection: verify(connection, tmp_path))
    assert [each.what for each in found] == ["facts"]
    assert "2:" in found[0].problem
    assert "1:" in found[0].problem


def test_a_book_of_a_later_database_is_refused(
    server: Embedded, database: str, tmp_path: Path
) -> None:
    lender(server, database)
    as_loader(server, database, lambda connection: export(connection, tmp_path))
    book = Book.open(tmp_path)
    with book.writing() as step:
        step.use("lake/exported", b'{"transaction": 1000000000, "user_id": 2}')

    with pytest.raises(LakeError, match="restored to an earlier moment"):
        as_loader(server, database, lambda connection: export(connection, tmp_path))
    assert mark_of(Book.open(tmp_path)).transaction == 1_000_000_000


def test_an_empty_database_has_nothing_to_export(server: Embedded, tmp_path: Path) -> None:
    name = fresh(server, "nothing")
    asyncio.run(Database(server, name).prepare())
    with pytest.raises(NotInstalled, match="usance up"):
        as_loader(server, name, lambda connection: export(connection, tmp_path / "book"))
    assert not (tmp_path / "book").exists()


def test_the_commands_export_and_compare(
    server: Embedded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh(server, "usance")
    lender(server, "usance")
    home, book = str(server.home), str(tmp_path / "book")
    assert main(["lake", "export", book, "--home", home, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["rows"] == {"users": 2, "facts": 2}
    assert main(["lake", "export", book, "--home", home]) == 0
    assert "everything" in capsys.readouterr().out
    assert main(["lake", "verify", book, "--home", home]) == 0
    Path(book, Book.open(book).files("facts")[0].path).unlink()
    assert main(["lake", "verify", book, "--home", home, "--json"]) == 1
    capsys.readouterr()
    for command in (["compact", book, "--before", "2024-08"], ["export", book, "--home", home]):
        assert main(["lake", *command]) == 2
        assert "facts" in capsys.readouterr().err
    assert main(["lake", "export", book, "--home", str(tmp_path / "nowhere")]) == 2
    assert "Name its --home" in capsys.readouterr().err
