"""Every limit under a storm: twice as many ask as there is room for, from four workers.

Workers rank on what each of them has seen; what they decide is judged where it is written.
With that judgement off, the same storm breaks the limit.
"""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import GOOD, borrower
from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_concurrency import storm, without_versions
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded

AMOUNT = 100_000
"""The principal of each drawdown of a storm, 1,000.00."""
MANDATE = """
currency: CNY
time_zone: Asia/Shanghai
platform:
  service_cost: 0%
  expected_loss: {{1: 0.1%, 2: 0.1%, 3: 0.1%, 4: 0.1%, 5: 0.1%, 6: 0.1%, 7: 0.1%, 8: 0.1%}}
{platform}
sources:
  - source: 1
    name: sandbox_microcredit
    institution: 3
    entity: 2
    valid: {{from: 2024-01-01, to: 2099-12-31}}
    approved_by: [risk, treasury]
    model: on_balance_sheet
    coupon: 4.3%
    budgets: {{total: {total}}}
{source}
"""
LIMITS = {
    "total": ("", "", lambda major: major),
    "concentration": (
        "",
        "    ramp: {ramp}\n    concentration_limits: [{{product: instalment, share: 40%}}]",
        None,
    ),
    "person": ("", "    borrower_limit: {room}", None),
    "model share": (
        "  ramp: {ramp}\n  model_shares: [{{model: on_balance_sheet, most: 40%}}]",
        "",
        None,
    ),
}


@pytest.fixture(scope="module")
def migrated(server: Embedded) -> str:
    """A database without a lender, to be copied."""
    name = fresh(server, "storm_template")
    asyncio.run(Database(server, name).prepare())
    return name


def lender(copied: Sandbox, limit: str, room_minor: int, *, guard: bool) -> Sandbox:
    """A sandbox with one source, whose limit leaves room for some principal."""
    platform, source, total = LIMITS[limit]
    major = room_minor // 100
    text = MANDATE.format(
        platform=platform.format(ramp=major), source=source.format(ramp=major, room=major),
        total=total(major) if total else 1_000_000_000,
    )  # fmt: skip

    async def install(platform: Platform) -> None:
        await platform.install({**sandbox_document(), "mandates": text})

    copied.within(install)
    if not guard:
        with_owner(copied.server, copied.name, without_judgement)
    return copied


async def without_judgement(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "create or replace function usance.broken_limit(changes usance.limit_change[]) "
        "returns text language sql stable as 'select null::text'"
    )


def borrowers(sandbox: Sandbox, count: int) -> list[str]:
    """Users with a line each, made many at once."""

    async def run(platform: Platform) -> list[str]:
        channel = await platform.principal("channel")

        async def one(number: int) -> str:
            body = {"client_ref": f"u{number}", "region": 3}
            user = str((await platform.do(channel, "user.register", body)).answer["user"])
            applied: dict[str, Any] = {"user": user, "product": "instalment", "inputs": GOOD}
            await platform.do(channel, "application.decide", applied)
            return user

        return [await one(number) for number in range(count)]

    return sandbox.within(run)


def placed(sandbox: Sandbox) -> int:
    return int(sandbox.sql("operations", "select count(*) from usance.loans"))


ADA = {"name": "Ada", "national_id": "11010519491231002X", "phone": "13800000000"}


def asking(sandbox: Sandbox, limit: str, count: int) -> list[str]:
    """Users of as many drawdowns: one each, or two of one person who is known in two channels."""
    if limit != "person":
        return borrowers(sandbox, count)
    users = [borrower(sandbox, "ada", channel=channel) for channel in ("channel", "channel_2")]
    for user, channel in zip(users, ("channel", "channel_2"), strict=True):
        sandbox.do(channel, "person.set", {"user": user, **ADA})
    return users * (count // 2)


@pytest.mark.parametrize(
    ("limit", "room"),
    [*((limit, 8) for limit in LIMITS), ("total", 100),
     *(pytest.param(limit, 100, marks=pytest.mark.nightly) for limit in LIMITS
       if limit != "total")],
)  # fmt: skip
def test_a_limit_is_never_oversold(server: Embedded, migrated: str, limit: str, room: int) -> None:
    copied = Sandbox(server, fresh(server, f"storm_{limit}_{room}", migrated))
    amount = AMOUNT if limit != "person" else AMOUNT // 10  # so that both lines are wide enough
    sandbox = lender(copied, limit, room * amount, guard=True)
    states = storm(sandbox, asking(sandbox, limit, 2 * room), amount, "administrator")
    assert (states.count("active"), states.count("no_source")) == (room, room)
    assert placed(sandbox) == room


@pytest.mark.parametrize("limit", LIMITS)
def test_without_its_judgement_the_limit_is_oversold(
    server: Embedded, migrated: str, limit: str
) -> None:
    copied = Sandbox(server, fresh(server, f"unjudged_{limit}", migrated))
    sandbox = lender(copied, limit, 4 * AMOUNT, guard=False)
    storm(sandbox, asking(sandbox, limit, 8), who="administrator")
    assert placed(sandbox) > 4


@pytest.mark.parametrize("room", [8, pytest.param(100, marks=pytest.mark.nightly)])
def test_a_line_is_never_oversold_by_four_workers(sandbox: Sandbox, room: int) -> None:
    user = borrower(sandbox)  # a line of 22,200.00
    states = storm(sandbox, [user] * 2 * room, 2_220_000 // room)
    assert (states.count("active"), states.count("declined")) == (room, room)
    assert placed(sandbox) == room


def test_without_versions_the_line_is_oversold(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    with_owner(sandbox.server, sandbox.name, without_versions)
    storm(sandbox, [user] * 8, 2_220_000)
    assert placed(sandbox) > 1
