"""Clearing on the platform: each evening has posted what has arrived by then, and no more."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.platform.sandbox import Sandbox
from tests.platform.test_business_day import DUE, advance, pay
from tests.platform.test_closing import balances, book_balances, close_month, loans
from usance.base.book import Book
from usance.books.chart import load_chart
from usance.platform.closing.caches import compare_caches
from usance.platform.commands.money.clearing import CLEARED, CLEARING_RULES, PostClearing
from usance.platform.ledger.fact_postings import FACT_RULES
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM

START = date(2024, 7, 1)
WITH_PROVIDERS = [load_chart()[name].number for name in CLEARED]


@pytest.fixture
def lent(sandbox: Sandbox) -> tuple[Sandbox, list[str]]:
    return sandbox, loans(sandbox, 3)


async def by_cell(
    platform: Platform, rules: frozenset[int], until: date
) -> Counter[tuple[int, ...]]:
    """Sums on the accounts of cash with providers, by cell and account, up to a day."""
    async with platform.database.transaction(0) as transaction:
        rows = await transaction.fetch(
            "select cell, account, sum(amount_minor)::bigint as amount from usance.postings "
            "where account = any($1) and rule = any($2) and effective_on <= $3 group by 1, 2",
            WITH_PROVIDERS, sorted(rules), until,
        )  # fmt: skip
    return Counter({(row["cell"], row["account"]): row["amount"] for row in rows if row["amount"]})


async def lags(platform: Platform) -> dict[int, int]:
    async with platform.database.transaction(0) as transaction:
        rows = await transaction.fetch(
            "select c.cell, s.settlement_lag as lag from usance.cells c "
            "join usance.sources s using (source)"
        )
    return {row["cell"]: row["lag"] for row in rows}


async def check(platform: Platform, day: date) -> None:
    """What was cleared is what was received by so many days before, cell by cell."""
    cleared = await by_cell(platform, CLEARING_RULES, date.max)
    days = await lags(platform)
    for cell, account in (await by_cell(platform, FACT_RULES, day)).keys() | cleared.keys():
        received = await by_cell(platform, FACT_RULES, day - timedelta(days=days.get(cell, 1)))
        assert -cleared[cell, account] == received[cell, account], (day, cell, account)


def test_every_evening_has_cleared_what_is_due(lent: tuple[Sandbox, list[str]]) -> None:
    """Payments in time, late by weeks and reversed: each evening posts the difference."""
    sandbox, names = lent
    random = Random(7)

    async def lived(platform: Platform) -> None:
        operations, control = [await platform.principal(each) for each in ("operations", "control")]
        booked: list[str] = []
        for number in range(45):
            day = START + timedelta(days=number)
            if random.random() < 0.4:
                on = max(day - timedelta(days=random.choice((0, 0, 0, 2, 20))), START)
                body = {"loan": random.choice(names), "amount_minor": random.randint(1, 60_000),
                        "currency": "CNY", "provider": "psp_a", "effective_on": on.isoformat(),
                        "ref": f"p{number}"}  # fmt: skip
                made = await platform.do(operations, "payment.book", body)
                booked.append(made.answer["payment"])
            if booked and random.random() < 0.15:
                gone = {"payment": booked.pop(random.randrange(len(booked))), "reason": "bounced"}
                await platform.do(operations, "payment.reverse", gone)
            to = f"{day + timedelta(days=1)}T00:30:00Z"
            await platform.do(control, "clock.advance", {"to": to})
            await check(platform, day)
        again = await platform.do(SYSTEM, PostClearing(day))
        assert not again.is_new
        report = await compare_caches(platform)
        assert report.differences == []

    sandbox.within(lived)
    assert sandbox.sql("finance", "select count(*) from usance.clearing_days") > 10


def test_two_at_once_clear_once(lent: tuple[Sandbox, list[str]]) -> None:
    sandbox, names = lent
    pay(sandbox, names[0], 30_000, "2024-07-01")

    async def twice(platform: Platform) -> list[Any]:
        late = START + timedelta(days=5)
        both = (platform.do(SYSTEM, PostClearing(late)) for _ in range(2))
        return list(await asyncio.gather(*both))

    made = sandbox.within(twice)
    assert sum(each.answer["cleared_minor"] for each in made) == 30_000


def test_a_close_adds_what_evenings_have_not_posted(
    lent: tuple[Sandbox, list[str]], tmp_path: Path
) -> None:
    """Payments of the last days, told after the close, and one reversed: ledger and book agree."""
    sandbox, names = lent
    advance(sandbox, "2024-08-02")
    pay(sandbox, names[0], DUE, "2024-07-31")
    pay(sandbox, names[1], DUE, "2024-07-15", "2")
    advance(sandbox, "2024-08-04")
    close_month(sandbox, tmp_path, "2024-07")
    pay(sandbox, names[2], DUE, "2024-07-30", "late")
    advance(sandbox, "2024-09-02")
    close_month(sandbox, tmp_path, "2024-08")
    book = Book.open(tmp_path / "lake")
    for month in (654, 655):
        assert balances(sandbox, month) == book_balances(book, month)
    held = {key: amount for key, amount in balances(sandbox, 655).items()
            if key[3] in WITH_PROVIDERS}  # fmt: skip
    assert not held, "everything has arrived by the end of August"
