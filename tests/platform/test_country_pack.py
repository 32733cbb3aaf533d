"""A lender takes currency, time zone and cap from its country pack."""

from __future__ import annotations

import asyncio
from datetime import date

from usance.base.codes import Currency
from usance.platform.lender import Lender, read_lender, sandbox_document
from usance.platform.live import Platform
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded


def test_a_lender_of_another_country(server: Embedded, database: str) -> None:
    async def installed() -> Lender:
        store = Database(server, database)
        await store.prepare()
        await Platform.of_database(store).install({**sandbox_document(), "pack": "nl"})
        async with store.loader() as connection:
            return await read_lender(connection)

    lender = asyncio.run(installed())
    assert (lender.currency, str(lender.zone)) == (Currency.EUR, "Europe/Amsterdam")
    cap = lender.parameters.at("pricing.rate_cap", date(2024, 6, 30))
    assert str(cap.value) == "15%"
