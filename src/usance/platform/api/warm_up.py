"""Warming: a short life of a loan in a database of its own, so that the first request is quick.

Kernels are compiled or loaded when they are first called; here that happens before anyone asks.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from usance.platform.commands.unit_of_work import Outcome
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.store.database import Database, Server, connect
from usance.platform.vault import Vault

log = logging.getLogger("usance.warm")
DATABASE = "usance_warm"
APPLICANT = {
    "document_valid": True, "face_match_ppm": 930_000, "card_check": "match", "age_years": 31,
    "occupation": "employee", "monthly_income_minor": 900_000, "requested_minor": 5_000_000,
    "bureau_inquiries_90d": 1, "bureau_open_loans": 2, "bureau_worst_days_24m": 0,
    "bureau_overdue_minor": 0, "bureau_debt_minor": 300_000, "bank_inflow_ppm": None,
    "device_age_days": 400,
}  # fmt: skip
"""Inputs of an application that the sandbox's flow approves."""


@asynccontextmanager
async def warm_database(server: Server) -> AsyncIterator[None]:
    """A sandbox beside the real database, there while workers warm themselves."""
    await _as_owner(server, 'drop database if exists "usance_warm" with (force)')
    await _as_owner(server, 'create database "usance_warm"')
    database = Database(server, DATABASE)
    await database.prepare()
    await Platform.of_database(database).install(sandbox_document())
    try:
        yield
    finally:
        await _as_owner(server, 'drop database if exists "usance_warm" with (force)')


async def _as_owner(server: Server, statement: str) -> None:
    connection = await connect(server.connection(database="postgres"))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def warm(server: Server) -> None:
    """Live a short life: application, quote, drawdown, payment, reversal, reads."""
    begun = asyncio.get_running_loop().time()
    platform = Platform.of_database(Database(server, DATABASE), Vault(secrets.token_bytes(32)))
    try:
        await _live(platform)
    finally:
        await platform.close()
    log.info("warm after %.1f s", asyncio.get_running_loop().time() - begun)


async def _live(platform: Platform) -> None:
    channel, provider = await platform.principal("channel"), await platform.principal("provider")

    async def do(who: str, command: str, **body: object) -> Outcome:
        return await platform.do(channel if who == "channel" else provider, command, body)

    ref = secrets.token_hex(8)
    user = (await do("channel", "user.register", client_ref=ref, region=3)).answer["user"]
    line = {"user": user, "product": "instalment"}
    await do("channel", "application.decide", inputs=APPLICANT, **line)
    wanted = {**line, "amount_minor": 600_000, "months": 6}
    await do("channel", "quote.make", **wanted)
    loan = (await do("channel", "drawdown.request", **wanted)).answer["loan"]
    async with platform.reading(channel) as read:
        clock = await read.clock()
        await read.statement(loan)
    paid = await do(
        "provider", "payment.book", loan=loan, amount_minor=1_000, currency="CNY",
        effective_on=clock["business_date"], provider="psp_a", ref=ref,
    )  # fmt: skip
    await do("provider", "payment.reverse", payment=paid.answer["payment"], reason="warm")
    async with platform.reading(channel) as read:
        await read.lines(user)
        await read.loan(loan)
        await read.settlement_quote(loan)
