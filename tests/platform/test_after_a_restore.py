"""A lender after a restore: it waits, and what its providers know of its orders is asked first.

What was lost between the moment of the restore and the end is played here by a second database: the
lender goes on in the first, its payouts are made, and the copy from before is the one restored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import asyncpg
import pytest

from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox, installed
from tests.platform.test_orders import debtor, orders
from usance.platform.commands.control.clock import AdvanceClock
from usance.platform.errors import LenderPaused, OrdersNotAsked, OutboundRefused
from usance.platform.jobs.queue import NewJob, enqueue, take
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.partners.dispatch import move_orders, order_loop
from usance.platform.partners.simulated_provider import SimulatedProvider
from usance.platform.principals import SYSTEM
from usance.platform.restore import release
from usance.platform.scheduler import take_turn
from usance.platform.store.server import Embedded
from usance.world.payment_provider import PaymentProvider

T = TypeVar("T")
START = datetime(2024, 7, 1, 1, tzinfo=UTC)
FINALITY = 4


class Wire(SimulatedProvider):
    """The provider, with what goes over its wire; silent when nobody is there."""

    def __init__(self) -> None:
        super().__init__(PaymentProvider(1), START)
        self.sent: list[str] = []
        self.is_away = False

    def send(self, order: Any) -> Any:
        self.sent.append(order.reference)
        return super().send(order)

    def status(self, order: Any) -> Any:
        if self.is_away:
            raise OutboundRefused("is away", where="psp_a", fix="Wait")
        return super().status(order)


class Restored:
    """Two copies of one lender, and the provider that both speak with."""

    def __init__(self, server: Embedded, name: str) -> None:
        self.wire = Wire()
        document = sandbox_document()
        document["providers"] = {"psp_a": {"port": "world", "expires_days": 5,
                                           "finality_seconds": FINALITY * 3600}}  # fmt: skip
        self.before = Sandbox(server, installed(server, name, document))
        debtor(self.before)
        self.lost = Sandbox(server, fresh(server, f"{name}_lost", name))
        with_owner(server, name, self._restore)

    @staticmethod
    async def _restore(connection: asyncpg.Connection) -> None:
        await connection.execute("select usance.skip_numbers()")
        await connection.execute("insert into usance.restores values (1, $1, $1, null, 0)", START)

    def within(self, sandbox: Sandbox, work: Callable[[Platform], Awaitable[T]]) -> T:
        async def wired(platform: Platform) -> T:
            platform.providers = {1: self.wire}
            return await work(platform)

        return sandbox.within(wired)

    def ask_candidates(self) -> None:
        """The history that is lost: the payout is sent and settles."""
        self.within(self.lost, move_orders)
        assert len(self.wire.sent) == 1

    def released(self, **options: Any) -> int:
        return self.within(self.before, lambda platform: release(platform, **options))

    def advanced(self, to: datetime) -> None:
        async def work(platform: Platform) -> None:
            await platform.do(await platform.principal("control"), AdvanceClock(to))

        self.within(self.before, work)

    @property
    def payout(self) -> dict[str, Any]:
        [made] = orders(self.before, "payout")
        return made


@pytest.fixture
def restored(server: Embedded, request: pytest.FixtureRequest) -> Restored:
    return Restored(server, f"restored_{request.node.name}"[:55])


def test_nothing_goes_out_and_no_time_goes_by_before_the_release(restored: Restored) -> None:
    async def served(platform: Platform) -> bool:
        stop = asyncio.Event()
        moving = asyncio.create_task(order_loop(platform, stop))
        had_turn = await take_turn(platform, seals=True)
        await asyncio.sleep(0.5)
        stop.set()
        await moving
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            await enqueue(transaction, [NewJob("a", "a")])
            assert await take(transaction, "w", ["a"]) == []
        return had_turn

    assert not restored.within(restored.before, served)
    assert restored.wire.sent == []
    with pytest.raises(LenderPaused, match="usance db release"):
        restored.advanced(START + timedelta(hours=1))
    assert restored.payout["state"] == "created"


def test_a_payout_of_the_lost_history_is_found_and_not_sent_again(restored: Restored) -> None:
    restored.ask_candidates()
    assert restored.released() == 1
    restored.advanced(START + timedelta(days=2))
    assert len(restored.wire.sent) == 1
    assert restored.payout["state"] == "settled"
    loans = restored.before.sql("operations", "select count(*) from usance.loans")
    assert loans == 1


def test_without_asking_it_would_be_sent_again(restored: Restored) -> None:
    """Negative control: whoever lets the lender go on without asking sends a payout twice."""
    restored.ask_candidates()
    with_owner(restored.before.server, restored.before.name, lambda connection: connection.execute(
        "update usance.restores set released_at = clock_timestamp()"))  # fmt: skip
    restored.within(restored.before, move_orders)
    assert len(restored.wire.sent) == 2


def test_a_payout_that_never_went_out_is_sent_after_finality_alone(restored: Restored) -> None:
    assert restored.released() == 1
    assert restored.payout["state"] == "sending"
    restored.advanced(START + timedelta(hours=FINALITY - 1))
    assert restored.wire.sent == []
    restored.advanced(START + timedelta(days=2))
    assert len(restored.wire.sent) == 1
    assert restored.payout["state"] == "settled"


def test_while_its_provider_is_silent_the_lender_stays_paused(restored: Restored) -> None:
    restored.ask_candidates()
    restored.wire.is_away = True
    with pytest.raises(OrdersNotAsked, match=rf"{restored.payout['order']}.*--unasked"):
        restored.released()
    assert restored.payout["state"] == "created"
    with pytest.raises(LenderPaused):
        restored.advanced(START + timedelta(hours=1))
    assert restored.released(unasked=True) == 1
    restored.wire.is_away = False
    restored.advanced(START + timedelta(days=2))
    assert len(restored.wire.sent) == 1
    assert restored.payout["state"] == "settled"
    assert restored.released() == 0


def test_numbers_of_the_lost_history_are_not_given_again(restored: Restored) -> None:
    for sandbox in (restored.lost, restored.before):
        restored.within(sandbox, _draw)
    first, second = (
        {(each["order"], each["loan"], each["reference"]) for each in orders(sandbox, "payout")}
        for sandbox in (restored.lost, restored.before)
    )
    new = [one ^ (first & second) for one in (first, second)]
    assert len(first) == len(second) == 2
    assert all(not {row[place] for row in new[0]} & {row[place] for row in new[1]}
               for place in range(3))  # fmt: skip


async def _draw(platform: Platform) -> None:
    body = {"user": "us_00000000001", "product": "instalment", "amount_minor": 60_000, "months": 3}
    await platform.do(await platform.principal("channel"), "drawdown.request", body)
