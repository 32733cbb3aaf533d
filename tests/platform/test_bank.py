"""The bank test: eight workers move money at random, readers see totals that never move."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable
from datetime import date

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_concurrency import without_versions
from tests.platform.test_loan_states import differences
from usance.platform.commands.loans.payments import BookPayment, ReversePayment
from usance.platform.errors import StaleRead
from usance.platform.live import Platform
from usance.platform.principals import Principal

WORKERS, LOANS, MOVES = 8, 2, 6
MAX_TRIES, ROUNDS = 200, 10
PAID_ON = date(2024, 8, 2)
SEEN = (
    "select coalesce(sum(amount_minor), 0)::bigint as total, "
    "(select count(*) from (select 1 from usance.postings group by journal_id, entity, basis, "
    "currency having sum(amount_minor) <> 0) u) as unbalanced, "
    "(select count(*) from usance.facts where kind = 4) "
    "- (select count(*) from usance.payments) as halves from usance.postings"
)


async def settled(platform: Platform, who: Principal, command: BookPayment | ReversePayment) -> str:
    """The payment of a command, which is given again while others are faster."""
    for _ in range(MAX_TRIES):
        try:
            return str((await platform.do(who, command)).answer["payment"])
        except StaleRead:
            await asyncio.sleep(0)
    raise AssertionError("a payment never settled")


async def moved(
    platform: Platform, number: int, loans: list[str], reversed_share: float
) -> dict[str, int]:
    """Payments of one worker that stayed, with their amounts; others were reversed at once."""
    chance, who = random.Random(number), await platform.principal("operations")
    kept: dict[str, int] = {}
    for move in range(MOVES):
        amount, loan = chance.randint(100, 9_000), chance.choice(loans)
        command = BookPayment(amount, "CNY", PAID_ON, f"{number}-{move}", loan, None, "psp_a")
        payment = await settled(platform, who, command)
        if chance.random() < reversed_share:
            await settled(platform, who, ReversePayment(payment, "returned"))
        else:
            kept[payment] = amount
    return kept


def bank(
    sandbox: Sandbox, loans: list[str], reversed_share: float = 0.5, first_number: int = 0
) -> tuple[dict[str, int], list[tuple[int, ...]]]:
    """The payments that stayed and the totals that readers saw meanwhile."""

    async def run(first: Platform) -> tuple[dict[str, int], list[tuple[int, ...]]]:
        workers = [first, *(Platform.of_database(first.database, first.services.vault)
                            for _ in range(WORKERS - 1))]  # fmt: skip
        seen: list[tuple[int, ...]] = []
        over = asyncio.Event()

        async def read() -> None:
            while not over.is_set():
                async with first.database.transaction(0) as transaction:
                    seen.append(tuple(await transaction.fetchrow(SEEN)))

        reader = asyncio.create_task(read())
        try:
            kept = await asyncio.gather(*(
                moved(each, number, loans, reversed_share)
                for number, each in enumerate(workers, first_number)
            ))  # fmt: skip
        finally:
            over.set()
            await reader
        return {key: amount for each in kept for key, amount in each.items()}, seen

    return sandbox.within(run)


def balances(sandbox: Sandbox) -> dict[str, int]:
    """Balances that are not zero, by entity and account."""
    found: Counter[str] = Counter()
    for each in sandbox.read("finance", "balances"):
        found[f"{each['entity']}/{each['account_name']}"] += each["balance_minor"]
    return {name: amount for name, amount in found.items() if amount}


def take_back(sandbox: Sandbox, payments: Iterable[str]) -> None:
    """Reverse payments one after the other."""

    async def run(platform: Platform) -> None:
        who = await platform.principal("operations")
        for payment in payments:
            await platform.do(who, ReversePayment(payment, "returned"))

    sandbox.within(run)


@pytest.fixture
def loans(sandbox: Sandbox) -> list[str]:
    """Loans of some users, some days before they are paid."""
    made = [str(drawn(sandbox, borrower(sandbox, f"u{n}")).answer["loan"]) for n in range(LOANS)]
    sandbox.do("control", "clock.advance", {"to": "2024-08-05T01:00:00Z"})
    return made


def test_money_moves_and_totals_stay(sandbox: Sandbox, loans: list[str]) -> None:
    before = balances(sandbox)
    kept, seen = bank(sandbox, loans)
    assert set(seen) == {(0, 0, 0)}
    assert len(seen) > WORKERS
    assert differences(sandbox) == []
    held = {name: amount for name, amount in balances(sandbox).items() if "providers" in name}
    assert sum(held.values()) == sum(kept.values())
    take_back(sandbox, kept)
    assert balances(sandbox) == before


def test_without_versions_money_is_lost(sandbox: Sandbox, loans: list[str]) -> None:
    """Negative control: what two workers paid at once is in the ledger, one of them in the loan."""
    with_owner(sandbox.server, sandbox.name, without_versions)
    for first in range(0, ROUNDS * WORKERS, WORKERS):  # two workers need not meet in one round
        bank(sandbox, loans, 0, first)
        if differences(sandbox):
            return
    raise AssertionError("nothing was lost")
