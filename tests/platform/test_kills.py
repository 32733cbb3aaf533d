"""Kills under load: whatever was answered is there once, nothing is half, all caches hold."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox, installed
from tests.platform.test_concurrency import many
from tests.platform.test_loan_states import differences
from usance.platform.commands.lending.drawdowns import Draw
from usance.platform.errors import ServerError
from usance.platform.ledger.seals import seal, verify
from usance.platform.live import Platform
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded

FEW, MANY = 2, 50  # few: one of each victim, since a worker takes 3 s of CPU to load
MOMENT = datetime(2024, 7, 6, tzinfo=UTC)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox in a server of its own, which may crash."""
    server = Embedded(tmp_path / "server")
    try:
        server.start()
    except ServerError as error:
        pytest.skip(f"PostgreSQL cannot start here: {error}")
    try:
        sandbox = Sandbox(server, installed(server, "killed"))
        yield sandbox
    finally:
        server.stop()


def storm(sandbox: Sandbox, users: int, stop_after: int, victim: str) -> dict[str, str]:
    """Answers that a worker got before it, or the database under it, was killed."""
    command = [sys.executable, "-m", "tests.platform.storm_worker", str(sandbox.server.home),
               sandbox.name, str(users)]  # fmt: skip
    told: dict[str, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT,
                          text=True) as worker:  # fmt: skip
        assert worker.stdout is not None
        for line in worker.stdout:
            key, answer = line.split()
            told[key] = answer
            if len(told) == stop_after:
                if victim == "worker":
                    worker.kill()
                else:
                    crash(sandbox)
    return told


def crash(sandbox: Sandbox) -> None:
    """Kill one process of the database, which then ends all others and recovers."""

    async def backend(connection: asyncpg.Connection) -> int:
        return int(await connection.fetchval(
            "select pid from pg_stat_activity where backend_type = 'checkpointer'"
        ))  # fmt: skip

    os.kill(with_owner(sandbox.server, sandbox.name, backend), signal.SIGKILL)


def wait_until_up(sandbox: Sandbox) -> None:
    async def nothing(connection: asyncpg.Connection) -> None:
        await connection.execute("select 1")

    for _ in range(200):
        try:
            return with_owner(sandbox.server, sandbox.name, nothing)
        except (OSError, asyncpg.PostgresError):
            subprocess.run(["sleep", "0.1"], check=True)
    raise AssertionError("the database did not come back")


def checked(sandbox: Sandbox, users: int, told: dict[str, str]) -> None:
    """Everything answered is there, once, as answered; caches, totals and seals hold."""

    async def look(platform: Platform) -> list[Any]:
        async with platform.database.transaction(0) as transaction:
            keys = await transaction.fetch(
                "select i.key, o.data->>'loan' as loan, o.data->>'payment' as payment "
                "from usance.idempotency i join usance.outbox o using (event_id)"
            )
            counts = await transaction.fetchrow(
                "select (select count(*) from usance.loans) as loans, "
                "(select count(*) from usance.payments) as payments, "
                "(select count(*) from usance.facts) as facts, "
                "(select sum(amount_minor)::bigint from usance.postings) as total, "
                "(select sum(principal_minor)::bigint from usance.loans) as lent, "
                "(select sum(taken_minor)::bigint from usance.limit_usage "
                "where name like '%/day/%') as taken"
            )
            await seal(transaction, MOMENT)
            return [keys, counts, await verify(transaction)]

    with_owner(sandbox.server, sandbox.name, see_all_keys)
    keys, counts, broken = sandbox.within(look)
    stored = {row["key"]: row["payment"] or row["loan"] for row in keys}
    assert told.items() <= stored.items()
    assert len(told) == 2 * users
    assert dict(counts) == {
        "loans": users, "payments": users, "facts": 2 * users, "total": 0,
        "lent": users * 100_000, "taken": users * 100_000,
    }  # fmt: skip
    assert broken == []
    assert differences(sandbox) == []


async def see_all_keys(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "create policy all_keys on usance.idempotency for select to usance_application using (true)"
    )


@pytest.mark.parametrize(
    ("users", "kills"),
    [(24, FEW), pytest.param(400, MANY, marks=pytest.mark.nightly)],
)
def test_kills_lose_and_double_nothing(own: Sandbox, users: int, kills: int) -> None:
    chance = random.Random(kills)
    many(own, users)
    own.do("control", "clock.advance", {"to": "2024-07-06T01:00:00Z"})
    told: dict[str, str] = {}
    for number in range(kills):
        after = chance.randint(1, 2 * users)
        got = storm(own, users, after, ("worker", "database")[number % 2])
        assert all(told.get(key, answer) == answer for key, answer in got.items())
        told |= got
        wait_until_up(own)
    told |= storm(own, users, -1, "worker")
    checked(own, users, told)


@pytest.mark.parametrize("together", [1, 4])
def test_a_connection_lost_in_commit_is_told_by_the_key(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    users = many(sandbox, together)

    def losing(real: Callable[..., Any]) -> Callable[..., Any]:
        @asynccontextmanager
        async def lost(self: Database, *given: Any) -> AsyncIterator[asyncpg.Connection]:
            async with real(self, *given) as transaction:
                yield transaction
            raise ConnectionResetError("the answer to the commit never came")

        return lost

    async def work(platform: Platform) -> list[list[Any]]:
        channel = await platform.principal("channel")

        async def draws() -> list[Any]:
            return await asyncio.gather(
                *(platform.do(channel, Draw(user, "instalment", 100_000, 6), key=user)
                  for user in users), return_exceptions=True,
            )  # fmt: skip

        with monkeypatch.context() as patched:
            for name in ("transaction", "batch"):
                patched.setattr(Database, name, losing(getattr(Database, name)))
            first = await draws()
        return [first, await draws()]

    first, second = sandbox.within(work)
    assert all(isinstance(each, ConnectionResetError) for each in first)
    assert all(each.is_replay for each in second)
    assert sandbox.sql("operations", "select count(*) from usance.loans") == together
