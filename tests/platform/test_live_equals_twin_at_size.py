"""Live equals twin with faults: answers are lost, notices late and twice, the database dies."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform.databases import with_owner
from tests.platform.live_days import CALLS, LiveDays
from tests.platform.test_live_equals_twin import (
    COMPARED,
    begin,
    compare_postings,
    compare_rows,
    simulated,
)
from tests.twin.test_day_by_day import lively
from usance.platform.client.client import AsyncClient, CallFailed
from usance.platform.commands.loans.payments import BookPayment
from usance.platform.errors import ServerError
from usance.platform.store.database import connection_failures
from usance.platform.store.server import Embedded
from usance.twin.run.run_context import RunContext
from usance.world.incidents import NO_INCIDENTS
from usance.world.scenario.scenario import Scenario

LARGE = (Fraction(1, 6), range(636, 654), 40)
"""Three thousand users over eighteen months, and how often the database is killed."""
FEW = (Fraction(1, 200), range(636, 638), 3)
YEAR = (Fraction(1, 57), range(636, 648))
"""Three hundred users over twelve months."""


def late() -> Scenario:
    """The lively scenario, four of ten notices a day late: no fee is charged in between."""
    given = lively()
    return replace(given, providers=replace(given.providers, late_notice_days=1),
                   incidents=NO_INCIDENTS)  # fmt: skip


def test_a_year_of_three_hundred_users_with_late_notices(server: Embedded, tmp_path: Path) -> None:
    scale, months = YEAR
    book, context = simulated(late(), tmp_path / "run", scale, months), RunContext(late(), scale)
    days = LiveDays(context, book)
    days.connect(begin(server, "a_year", context, book))
    try:
        days.open()
        for month in months:
            days.live(month)
        whole = [months[0] - 1, *months]
        assert sum(book.read("users", month=month).num_rows for month in whole) >= 300
        told = [row for month in months for row in book.read("facts", month=month).to_pylist()]
        assert sum(row["booked_at"].date() > row["effective_on"] for row in told) > 100
        for name in COMPARED:
            compare_rows(book, days, name, months)
        compare_postings(book, days, months)
    finally:
        days.close()


class FaultyDays(LiveDays):
    """The same life on bad lines: one answer of five is lost, one payment of five told twice."""

    def expect(self, sandbox: Any, crashes: int, commands: int) -> None:
        """Crash the database about so often in so many commands."""
        self.chance, self.sandbox = random.Random(7), sandbox
        self.told = self.lost = self.twice = self.crashes = 0
        self.crash_each = max(commands // crashes, 1)

    async def send(self, client: AsyncClient, command: Any) -> Any:
        """The answer that arrives at last; the same key tells what was lost."""
        self.told += 1
        key, call = f"k{self.told}", CALLS[type(command)](command)
        if self.told % self.crash_each == 0:
            sending = asyncio.create_task(self._arrived(client, call, key))
            await asyncio.sleep(self.chance.random() / 50)
            await asyncio.to_thread(self._crash)
            await sending
            self.crashes += 1
        elif self.chance.random() < 0.2:
            await self._arrived(client, call, key)
            self.lost += 1
        answer = await self._arrived(client, call, key)
        if isinstance(command, BookPayment) and self.chance.random() < 0.2:
            again = await self._arrived(client, call, f"{key}/again")
            assert again == answer  # told twice, it is the same payment
            self.twice += 1
        return answer

    async def _arrived(self, client: AsyncClient, call: Any, key: str) -> Any:
        """An answer, asked for until the database is back."""
        for _ in range(400):
            try:
                return await client.send(call, idempotency_key=key)
            except (CallFailed, OSError):
                await asyncio.sleep(0.1)
        raise AssertionError("the lender did not come back")

    def _crash(self) -> None:
        """Kill one process of the database, which then ends all others and recovers."""

        async def victim(connection: asyncpg.Connection) -> int:
            return int(await connection.fetchval(
                "select pid from pg_stat_activity where backend_type = 'checkpointer'"
            ))  # fmt: skip

        os.kill(with_owner(self.sandbox.server, self.sandbox.name, victim), signal.SIGKILL)
        for _ in range(400):
            try:
                with_owner(self.sandbox.server, self.sandbox.name, victim)
            except connection_failures():
                continue
            return


@pytest.mark.parametrize(
    ("scale", "months", "crashes"), [FEW, pytest.param(*LARGE, marks=pytest.mark.nightly)]
)
def test_faults_change_nothing(
    tmp_path: Path, scale: Fraction, months: range, crashes: int
) -> None:
    book = simulated(late(), tmp_path / "run", scale, months)
    server = Embedded(tmp_path / "server")
    try:
        server.start()
    except ServerError as error:
        pytest.skip(f"PostgreSQL cannot start here: {error}")
    context = RunContext(late(), scale)
    days = FaultyDays(context, book)
    try:
        sandbox = begin(server, "faults", context, book)
        days.connect(sandbox)
        rows = sum(book.read(name, month=month).num_rows
                   for name in ("users", "requests", "facts") for month in months)  # fmt: skip
        days.expect(sandbox, crashes, rows)
        days.open()
        for month in months:
            days.live(month)
        assert days.crashes >= crashes // 2
        assert days.lost > rows // 20
        assert days.twice > 0
        for name in COMPARED:
            compare_rows(book, days, name, months)
        compare_postings(book, days, months)
    finally:
        days.close()
        server.stop()
