"""A twin as a lender's database: the terms of its sources, and those that hold afterwards."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from usance.base.book import Book
from usance.base.columns import make
from usance.base.dates import to_day
from usance.platform.store.server import Embedded
from usance.platform.terminal.twin_load import load_sources

OTHER = ("institution", "entity", "model", "coupon_ppm", "trigger_days", "guarantor",
         "co_share_ppm", "settlement_lag")  # fmt: skip


def of_twin(folder: Path, last: date) -> Book:
    """A book whose source 1 has terms up to a day, with a fee of 10 %."""
    book = Book.create(folder, currency="CNY", time_zone="Asia/Shanghai")
    with book.writing() as step:
        step.add("sources", make(
            "sources", source=[1, 1], version=[1, 3],
            valid_from=[to_day(last) - 900, to_day(last) - 30],
            valid_to=[to_day(last) - 31, to_day(last)],
            fee_ppm=[50_000, 100_000], **{name: [1, 1] for name in OTHER},
        ))  # fmt: skip
    return book


def test_terms_of_the_lender_hold_from_the_day_after_those_of_the_twin(
    server: Embedded, sandbox: Sandbox, tmp_path: Path
) -> None:
    async def load(connection: asyncpg.Connection) -> tuple[list[Any], list[Any]]:
        asked = "select * from usance.sources order by source, version"
        before = await connection.fetch(asked)
        last = next(row["valid_from"] for row in before if row["source"] == 1) + timedelta(days=9)
        await load_sources(connection, of_twin(tmp_path / "book", last))
        return before, await connection.fetch(asked)

    before, after = with_owner(server, sandbox.name, load)
    mine = next(row for row in before if row["source"] == 1)
    last = mine["valid_from"] + timedelta(days=9)

    def fee(day: date) -> list[int]:
        return [row["fee_ppm"] for row in after
                if row["source"] == 1 and row["valid_from"] <= day <= row["valid_to"]]  # fmt: skip

    assert fee(last) == [100_000]
    assert fee(last - timedelta(days=40)) == [50_000]
    assert fee(last + timedelta(days=1)) == fee(mine["valid_to"]) == [mine["fee_ppm"]]
    rest = [row for row in before if row["source"] != 1]
    assert [row for row in after if row["source"] != 1] == rest
