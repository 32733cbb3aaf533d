"""Orders through a provider that loses, doubles, delays and re-orders, with workers that die.

Workers are cancelled at random moments, also between the wire and the booking of its answer: what
the provider did is then known to it alone. Two quiet days later both books must agree.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.platform.applicants import GOOD
from tests.platform.databases import fresh
from tests.platform.sandbox import Sandbox
from tests.platform.test_kills import crash, own, wait_until_up
from usance.platform.commands.control.clock import AdvanceClock
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.partners.dispatch import take_notices
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault

__all__ = ["own"]
START = datetime(2024, 7, 1, 1, tzinfo=UTC)
FAULTS = {"request_lost": 200_000, "answer_lost": 200_000, "outage": 150_000, "rejected": 150_000,
          "notice_lost": 300_000, "notice_doubled": 300_000}  # fmt: skip


class Killed:
    """A platform whose workers die: each starts anew, with the provider as it was."""

    def __init__(
        self, server: Embedded, name: str, seed: int, *, with_server: bool = False
    ) -> None:
        self.server, self.name, self.chance = server, name, random.Random(seed)
        self.with_server = with_server
        """True where the database dies too, one time in three."""
        self.providers: dict[int, Any] = {}
        self.kills = self.server_kills = 0

    async def open(self, seed: int) -> Platform:
        document = sandbox_document()
        document["providers"] = {
            "psp_a": {"port": "world", "seed": seed, "faults_ppm": FAULTS, "debits": True,
                      "finality_seconds": 4 * 3600, "expires_days": 20}
        }  # fmt: skip
        database = Database(self.server, self.name)
        await database.prepare()
        await Platform.of_database(database).install(document, START)
        return self.started()

    def started(self) -> Platform:
        platform = Platform.of_database(Database(self.server, self.name), Vault(bytes(32)))
        platform.providers = self.providers
        return platform

    async def maybe(self, work: Callable[[Platform], Awaitable[Any]]) -> None:
        """Do some work, and die in the middle of it."""
        platform = self.started()
        task = asyncio.ensure_future(work(platform))
        _, waiting = await asyncio.wait([task], timeout=self.chance.uniform(0.01, 0.4))
        if waiting and self.with_server and self.chance.random() < 1 / 3:
            sandbox = Sandbox(self.server, self.name)
            await asyncio.to_thread(crash, sandbox)
            self.server_kills += 1
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.to_thread(wait_until_up, sandbox)
        elif waiting:
            task.cancel()
            self.kills += 1
        await asyncio.gather(task, return_exceptions=True)
        await platform.close()


async def borrow(platform: Platform, count: int) -> None:
    channel = await platform.principal("channel")
    for number in range(count):
        body = {"client_ref": f"u{number}", "region": 3}
        user = (await platform.do(channel, "user.register", body)).answer["user"]
        account = {"user": user, "bank": "B", "number": "622200000000", "holder": "H",
                   "debit": True}  # fmt: skip
        await platform.do(channel, "account.add", account)
        applied = {"user": user, "product": "instalment", "inputs": GOOD}
        await platform.do(channel, "application.decide", applied)
        draw = {"user": user, "product": "instalment", "amount_minor": 600_000, "months": 6}
        drawn = await platform.do(channel, "drawdown.request", draw)
        assert drawn.answer["state"] == "approved"


async def advance(platform: Platform, to: datetime) -> None:
    await take_notices(platform)
    control = await platform.principal("control")
    await platform.do(control, AdvanceClock(to))


async def lived(killed: Killed, seed: int, users: int, steps: int) -> None:
    """Borrow, live past the first due day with kills, then two quiet days."""
    platform = await killed.open(seed)
    await borrow(platform, users)
    days = 34
    for step in range(1, steps + 1):
        to = START + timedelta(days=days * step / steps)
        await killed.maybe(lambda one, to=to: advance(one, to))  # type: ignore[misc]
    quiet = killed.started()
    await advance(quiet, START + timedelta(days=days + 1))
    await advance(quiet, START + timedelta(days=days + 2))
    await check_books(quiet, killed.providers[1].provider.paid_minor)
    await quiet.close()
    await platform.close()


async def check_books(platform: Platform, paid: dict[str, int]) -> None:
    """None paid twice, none lost or made: our books are the provider's."""
    async with platform.database.transaction(0) as transaction:
        orders = await transaction.fetch("select * from usance.orders")
        ours = {row["own_reference"]: row["amount_minor"] for row in orders
                if row["state"] == "settled"}  # fmt: skip
        assert ours == paid
        assert not [row for row in orders if row["state"] in ("created", "sending", "accepted")]
        out = await transaction.fetchval(
            "select coalesce(sum(amount_minor), 0) from usance.facts where kind = 0"
        )
        assert out == sum(row["amount_minor"] for row in orders
                          if row["kind"] == "payout" and row["state"] == "settled")  # fmt: skip
        received = await transaction.fetchval(
            "select coalesce(sum(amount_minor), 0) from usance.payments"
        )
        assert received == sum(row["amount_minor"] for row in orders
                               if row["kind"] == "debit" and row["state"] == "settled")  # fmt: skip
        assert await transaction.fetchval("select count(*) from usance.breaks") == 0
        unbalanced = await transaction.fetchval("select sum(amount_minor) from usance.postings")
        assert unbalanced == 0


def test_a_few_kills_lose_no_money(server: Embedded) -> None:
    killed = Killed(server, fresh(server, "few_kills"), 7)
    asyncio.run(lived(killed, seed=3, users=3, steps=8))
    assert killed.kills > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_kills_of_the_server_lose_no_money(own: Sandbox, seed: int) -> None:
    """A server of its own, one of whose processes is killed: it ends all others and recovers."""
    killed = Killed(own.server, fresh(own.server, f"server_kills_{seed}"), seed, with_server=True)
    asyncio.run(lived(killed, seed=seed + 20, users=4, steps=24))
    assert killed.server_kills > 2
    assert killed.kills > 2


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_two_hundred_kills_lose_no_money(server: Embedded, seed: int) -> None:
    killed = Killed(server, fresh(server, f"kills_{seed}"), seed)
    asyncio.run(lived(killed, seed=seed + 1, users=8, steps=40))
