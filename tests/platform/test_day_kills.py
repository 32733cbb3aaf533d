"""A day or a close whose machine dies: killed at random and taken up again, it ends like any other.

The day has something of everything: a late fee, a compensation, a debit run, an offer that runs
out, batches for institutions, cases, export, seals and the comparison of all caches.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_orders import advance
from usance.base.book import Book
from usance.base.codes import FactKind
from usance.books.close.closes import effective_closes
from usance.books.periods import parse_close_period
from usance.platform.closing.day_end import end_day, finish_day
from usance.platform.closing.month_end import LiveClose
from usance.platform.lake.verify import verify
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault

DAY = date(2024, 8, 9)
"""A Friday: first loans are compensated, later ones charged, the last ones debited."""
MARKS = {"migrations", "seals", "jobs", "business_days", "money_runs", "audit", "told_audit",
         "order_events"}  # fmt: skip
"""Tables that say when and how often something was done, or asked about, not what came of it."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+Z]+")


@pytest.fixture(scope="module")
def eve(server: Embedded, template: str) -> str:
    """A lender on the day before, its name."""
    sandbox = Sandbox(server, fresh(server, "eve_of_a_day", template))
    text = sandbox_document()["mandates"].replace("regions: [1, 2, 3, 4, 5, 6, 7, 8]",
                                                  "regions: [8]", 1)  # fmt: skip
    text = text.replace("trigger_days: 80", "trigger_days: 7")
    waits = sandbox.do("administrator", "mandate.put", {"text": text, "valid_from": "2024-07-01"})
    sandbox.do("controller", "approval.approve", {"approval": waits.answer["approval"]})
    for day, name, regions in ((1, "first", (3, 9)), (5, "later", (3, 3)), (9, "last", (3, 3))):
        advance(sandbox, f"2024-07-{day:02}T02:00:00Z")
        for number, region in enumerate(regions):
            user = borrower(sandbox, f"{name}{number}", region)
            account = {"user": user, "bank": "ICBC", "number": "6222000000001234",
                       "holder": "Anna", "debit": name == "last"}  # fmt: skip
            sandbox.do("channel", "account.add", account)
            drawn(sandbox, user)
        for each in sandbox.read("institution", "offers", "open"):
            sandbox.do("institution", "offer.answer", {"offer": each["offer"], "approved": True})
    advance(sandbox, "2024-08-09T02:00:00Z")
    drawn(sandbox, borrower(sandbox, "waits", 9))
    return sandbox.name


def opened(server: Embedded, name: str, home: Path) -> Platform:
    return Platform.of_database(Database(server, name), Vault(bytes(32)), home)


Life = Callable[[Platform, Path], Awaitable[object]]


def begun(server: Embedded, name: str, home: Path, life: Life) -> int:
    """A machine of its own that lives the day or closes: a process, so that it can be killed.

    A day is lived by a copy of this process, which is quick. A close begins by itself: a copy would
    wait for ever for the threads of libraries that measure.
    """
    if life is the_close:
        words = [str(server.home), name, str(home)]
        code = "import sys; from tests.platform.test_day_kills import closed; closed(*sys.argv[1:])"
        process = subprocess.Popen([sys.executable, "-c", code, *words])
        process.returncode = 0  # it is waited for by its number
        return process.pid
    if copy := os.fork():
        return copy
    is_over = False
    try:
        asyncio.run(_live(server, name, home, life))
        is_over = True
    finally:  # whatever happens, this process does not go on with the tests
        if not is_over:
            traceback.print_exc()
        os._exit(not is_over)


def closed(folder: str, name: str, home: str) -> None:
    """Close in this process what another one has begun."""
    asyncio.run(_live(Embedded(Path(folder)), name, Path(home), the_close))


async def _live(server: Embedded, name: str, home: Path, life: Life) -> None:
    platform = opened(server, name, home)
    try:
        await life(platform, home)
    finally:
        await platform.close()


def the_day(platform: Platform, home: Path) -> Awaitable[object]:
    return end_day(platform, home, DAY)


def the_close(platform: Platform, home: Path) -> Awaitable[object]:
    return LiveClose(platform, home, parse_close_period("2024-07"), time.monotonic).run()


def lived(server: Embedded, name: str, home: Path, life: Life) -> float:
    """Live it undisturbed; the seconds it took."""
    start = time.monotonic()
    _, status = os.waitpid(begun(server, name, home, life), 0)
    assert status == 0
    return time.monotonic() - start


def came_of_it(server: Embedded, name: str, home: Path) -> dict[str, list[Any]]:
    """Every row of every table, without moments, transactions and what is random; all of it ties.

    Whatever was killed after its day was over has left only the end of the day to be done again.
    """

    async def rows(connection: asyncpg.Connection) -> dict[str, list[Any]]:
        columns = await connection.fetch(
            "select table_name, array_agg(format('%I', column_name)) as names "
            "from information_schema.columns where table_schema = 'usance' and data_type not in "
            "('timestamp with time zone', 'xid8', 'bytea', 'ARRAY') "
            "and column_name not in ('xid', 'event_id', 'entry_id', 'through_xid') "
            "group by 1 order by 1"
        )
        found = {}
        await connection.execute("set role usance_loader")
        for each in columns:
            if each["table_name"] not in MARKS:
                sql = f"select {', '.join(each['names'])} from usance.{each['table_name']}"
                sql += " where user_id > 0" if each["table_name"] == "outbox" else ""
                made = [MOMENT.sub("", str(tuple(row))) for row in await connection.fetch(sql)]
                found[each["table_name"]] = sorted(made)
        return found

    async def ties() -> tuple[list[str], list[str]]:
        platform = opened(server, name, home)
        try:
            made = await finish_day(platform, home, DAY)
            async with platform.database.loader() as connection:
                return made.differences, [str(e) for e in await verify(connection, home / "lake")]
        finally:
            await platform.close()

    assert asyncio.run(ties()) == ([], [])
    return with_owner(server, name, rows)


def killed(
    server: Embedded, template: str, folder: Path, life: Life, kills: int
) -> Iterator[tuple[str, Path]]:
    """Lenders whose machine died at random moments, three times or less, then went on to the end.

    The first one's did not.
    """
    chance, made, number = random.Random(kills), 0, 0
    label = f"{life.__name__}_{kills}"
    name = fresh(server, f"whole_{label}", template)
    seconds = lived(server, name, folder / "whole", life)
    yield name, folder / "whole"
    while made < kills:
        number += 1
        name, home = fresh(server, f"killed_{label}_{number}", template), folder / str(number)
        for _ in range(min(3, kills - made)):
            process = begun(server, name, home, life)
            time.sleep(chance.uniform(0, seconds))
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            made += os.WIFSIGNALED(status)
        lived(server, name, home, life)
        yield name, home


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.nightly)])
def test_a_day_that_was_killed_ends_like_any_other(
    server: Embedded, eve: str, tmp_path: Path, kills: int
) -> None:
    wanted = None
    for name, home in killed(server, eve, tmp_path, the_day, kills):
        found = came_of_it(server, name, home)
        wanted = wanted or found
        for table, rows in wanted.items():
            assert found[table] == rows, table
        assert {"compensated", "fee_charged"} <= kinds(server, name)


@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=pytest.mark.nightly)])
def test_a_close_that_was_killed_ends_like_any_other(
    server: Embedded, eve: str, tmp_path: Path, kills: int
) -> None:
    """Rows, the book's tables and what is published are those of a close that was not."""
    wanted = None
    for name, home in killed(server, eve, tmp_path, the_close, kills):
        rows = came_of_it(server, name, home)
        book = Book.open(home / "lake")
        assert book.check() == []
        assert [each.name for each in effective_closes(book)] == ["2024-07.1"]
        published = {
            path.relative_to(home): path.read_bytes()
            for path in sorted((home / "releases").rglob("*.csv"))
        }
        assert published
        sizes = {name: book.rows(name) for name in book.manifest.tables}
        wanted = wanted or (rows, sizes, published.keys())
        for table, own in wanted[0].items():
            assert rows[table] == own, table
        assert (sizes, published.keys()) == wanted[1:]


def kinds(server: Embedded, name: str) -> set[str]:
    sql = "select array_agg(distinct kind) from usance.facts"
    return {FactKind(each).label for each in Sandbox(server, name).sql("operations", sql)}
