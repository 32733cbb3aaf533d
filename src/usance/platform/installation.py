"""Installation of a lender in an empty database: once, by its owner, from one document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from string import Template
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from usance.base.codes import DEFAULT_PACK, Currency, FundingModel, Product, parse
from usance.base.dates import to_month
from usance.base.packs import CountryPack
from usance.base.tables import TABLES
from usance.books.chart import load_chart
from usance.books.group.documents import parse_facts
from usance.books.group.facts import table_of_facts
from usance.match.mandates.file import parse_mandates
from usance.match.mandates.mandate import Mandates
from usance.platform.errors import WrongMode
from usance.platform.lender import LIVE, SANDBOX
from usance.platform.store.bulk import load_rows

if TYPE_CHECKING:
    import asyncpg

FIRST_MOMENT = datetime(2024, 7, 1, 1, tzinfo=UTC)
"""The clock of a fresh sandbox, if none is given."""
FIRST_DAY = date(2024, 1, 1)
PRODUCTS = len(Product)


async def is_installed(connection: asyncpg.Connection) -> bool:
    """True if a database has a lender."""
    return bool(await connection.fetchval("select exists (select from usance.installation)"))


async def check_mode(connection: asyncpg.Connection, mode: int) -> None:
    """Refuse to open a sandbox as live, or a live lender as a sandbox."""
    own = await connection.fetchval("select mode from usance.installation")
    if own != mode:
        names = {SANDBOX: "a sandbox", LIVE: "live"}
        raise WrongMode(f"this lender is {names[own]} and stays so", where="usance up",
                        fix="Take another folder for the other mode")  # fmt: skip


async def install(
    connection: asyncpg.Connection, document: Mapping[str, Any], *,
    clock: datetime = FIRST_MOMENT, mode: int = SANDBOX, first_day: date = FIRST_DAY,
) -> None:  # fmt: skip
    """Make a migrated database the lender that a document describes.

    Currency and time zone that it does not state are those of its country pack.
    """
    pack = CountryPack.load(document.get("pack", DEFAULT_PACK))
    zone = document.get("time_zone") or pack.time_zone(clock.date())
    currency, mandates = (
        document.get("currency", pack.currency),
        parse_mandates(document["mandates"]),
    )
    today = clock.astimezone(ZoneInfo(zone)).date()
    async with connection.transaction():
        await connection.execute(
            "insert into usance.installation (mode, currency, time_zone, business_date, clock) "
            "values ($1, $2, $3, $4, $5)",
            mode, int(parse(Currency, currency)), zone, today, clock,
        )  # fmt: skip
        await connection.executemany(
            "insert into usance.periods (period, state) values ($1, 0)",
            [(month,) for month in range(to_month(first_day), to_month(today) + 1)],
        )
        await _add_parties(connection, document)
        rest = {key: value for key, value in document.items() if key not in _STATED}
        await connection.executemany(
            "insert into usance.settings (kind, name, version, valid_from, document) "
            "values ($1, $2, 1, $3, $4)",
            [("lender", "lender", first_day, json.dumps(rest)),
             ("mandates", "mandates", first_day, json.dumps({"text": document["mandates"]})),
             ("flow", document["flow"], first_day, json.dumps({"shipped": document["flow"]}))],
        )  # fmt: skip
        await add_sources(connection, mandates)
        if document.get("group_facts"):
            eve = today.replace(day=1) - timedelta(days=1)
            stated = Template(document["group_facts"]).substitute(eve=eve)
            await _add_group_facts(connection, stated)


_STATED = ("mandates", "group_facts")
"""Parts of a document that are kept elsewhere than with the lender."""


async def _add_group_facts(connection: asyncpg.Connection, text: str) -> None:
    """Add the facts a group begins with; those that are stated later are numbered after them."""
    facts = parse_facts(text, where="group_facts")
    await connection.execute("select usance.next_ids('group_fact', $1)", len(facts))
    await connection.execute("set local role usance_loader")
    await load_rows(connection, TABLES["group_facts"], table_of_facts(facts))
    await connection.execute("reset role")


async def _add_parties(connection: asyncpg.Connection, document: Mapping[str, Any]) -> None:
    parties = {
        (kind, name): number
        for kind, names in document["parties"].items()
        for number, name in enumerate(names, start=1)
    }
    await connection.executemany(
        "insert into usance.parties (kind, party, name, globally_numbered) values ($1, $2, $3, $4)",
        [(kind, number, name, name in document.get("globally_numbered", ()))
         for (kind, name), number in parties.items()],
    )  # fmt: skip
    await connection.executemany(
        "insert into usance.principals (principal_id, name, kind, party, scopes) "
        "values ($1, $2, $3, $4, $5)",
        [(number, name, given["kind"], parties.get((given["kind"], given.get("party", "")), 0),
          given["scopes"])
         for number, (name, given) in enumerate(document.get("principals", {}).items(), start=1)],
    )  # fmt: skip


async def add_sources(connection: asyncpg.Connection, mandates: Mandates) -> None:
    """Add sources and the cells of their loans, as mandates state them."""
    for row in source_rows(mandates):
        await connection.execute(
            "insert into usance.sources select * from "
            "jsonb_populate_record(null::usance.sources, $1)", json.dumps(row, default=str),
        )  # fmt: skip
    for row in cell_rows(mandates):
        await connection.execute(
            "insert into usance.cells select * from "
            "jsonb_populate_record(null::usance.cells, $1) on conflict do nothing",
            json.dumps(row),
        )  # fmt: skip


def source_rows(mandates: Mandates) -> list[dict[str, Any]]:
    """Rows of `sources`, one for each version of a mandate."""
    return [
        {"source": each.source, "version": each.version, "valid_from": each.valid_from,
         "valid_to": each.valid_to, "institution": each.institution, "entity": each.entity,
         "model": int(each.model), "coupon_ppm": each.coupon_ppm, "fee_ppm": each.fee_ppm,
         "trigger_days": each.guarantee.trigger_days, "guarantor": each.guarantee.guarantor,
         "co_share_ppm": each.co_share_ppm, "settlement_lag": each.settlement_lag}
        for each in mandates.mandates
    ]  # fmt: skip


def cell_of(source: int, product: int) -> int:
    """The cell of a loan: sources one after the other, each with all products."""
    return (source - 1) * PRODUCTS + product + 1


def product_of_cell(cell: int) -> int:
    """The product of a cell's loans.

    >>> product_of_cell(cell_of(3, 2))
    2
    """
    return (cell - 1) % PRODUCTS


def cell_rows(mandates: Mandates) -> list[dict[str, Any]]:
    """Rows of `cells`: every source with every product."""
    chart = load_chart()
    restricted, cash = chart["restricted_cash"].number, chart["cash"].number
    return [
        {"cell": cell_of(each.source, product), "model": int(each.model), "product": product,
         "source": each.source, "entity": each.entity, "related": 0,
         "fund_cash": restricted if each.model is FundingModel.ON_BALANCE_SHEET else cash,
         "payout_cash": cash}
        for each in mandates.mandates
        for product in range(PRODUCTS)
    ]  # fmt: skip
