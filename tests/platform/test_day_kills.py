"""A day whose machine dies: killed at random moments and taken up again, it ends as if it had not.

The day has something of everything: a late fee, a compensation, a debit run, an offer that runs
out, batches for institutions, cases, export, seals and the comparison of all caches.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import time
import traceback
from datetime import date
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_orders import advance
from usance.base.codes import FactKind
from usance.platform.closing.day_end import DayEnd, end_day, finish_day
from usance.platform.lake.verify import verify
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault

DAY = date(2024, 8, 9)
"""A Friday: first loans are compensated, later ones charged, the last ones debited."""
MARKS = {"migrations", "seals", "jobs", "business_days", "money_runs", "audit", "order_events"}
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


def begun(server: Embedded, name: str, home: Path) -> int:
    """A machine of its own that lives the day: a process, so that it can be killed."""
    if process := os.fork():
        return process
    is_over = False
    try:
        asyncio.run(_live(server, name, home))
        is_over = True
    finally:  # whatever happens, this process does not go on with the tests
        if not is_over:
            traceback.print_exc()
        os._exit(not is_over)


async def _live(server: Embedded, name: str, home: Path) -> DayEnd:
    platform = opened(server, name, home)
    try:
        return await end_day(platform, home, DAY)
    finally:
        await platform.close()


def lived(server: Embedded, name: str, home: Path) -> float:
    """Live the day undisturbed; the seconds it took."""
    start = time.monotonic()
    _, status = os.waitpid(begun(server, name, home), 0)
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


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.nightly)])
def test_a_day_that_was_killed_ends_like_any_other(
    server: Embedded, eve: str, tmp_path: Path, kills: int
) -> None:
    chance, made, life = random.Random(kills), 0, 0
    whole = fresh(server, f"whole_day_{kills}", eve)
    seconds = lived(server, whole, tmp_path / "whole")
    wanted = came_of_it(server, whole, tmp_path / "whole")
    assert {"compensated", "fee_charged"} <= kinds(server, whole)
    while made < kills:
        life += 1
        name, home = fresh(server, f"killed_day_{kills}_{life}", eve), tmp_path / str(life)
        for _ in range(min(3, kills - made)):
            process = begun(server, name, home)
            time.sleep(chance.uniform(0, seconds))
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            made += os.WIFSIGNALED(status)
        lived(server, name, home)
        found = came_of_it(server, name, home)
        for table, rows in wanted.items():
            assert found[table] == rows, table


def kinds(server: Embedded, name: str) -> set[str]:
    sql = "select array_agg(distinct kind) from usance.facts"
    return {FactKind(each).label for each in Sandbox(server, name).sql("operations", sql)}
