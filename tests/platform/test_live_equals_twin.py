"""Live equals twin: the same scenario and seed through PostgreSQL give the same rows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import asyncpg
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.platform.databases import fresh, with_owner
from tests.platform.live_days import LiveDays
from tests.platform.sandbox import Sandbox
from tests.twin.runs import ticking
from tests.twin.test_day_by_day import lively
from usance.base.book import Book
from usance.base.columns import arrays, sort
from usance.base.dates import first_of_month, last_of_month
from usance.base.tables import TABLES
from usance.books.loans.amounts import AMOUNTS, FACT_AMOUNT_PLACES
from usance.books.loans.fact_amounts import booked_loans, fact_amounts, start_booked, step_booked
from usance.books.postings import Cells, post
from usance.books.rules import load_rules
from usance.loan.visible_facts import fact_columns, term_columns
from usance.platform.installation import install
from usance.platform.lender import sandbox_document
from usance.platform.store.bulk import load_rows
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.twin_load import last_moment, load_book
from usance.twin.month.loan_terms import cells_of, cells_table
from usance.twin.run.run_context import RunContext
from usance.twin.run.runner import run_scenario
from usance.world.scenario.scenario import Scenario

SCALE = Fraction(1, 200)
MONTHS = range(636, 642)
COMPARED = ("users", "decisions", "lines", "requests", "routing", "loans", "facts")
CELL_COLUMNS = ("cell", "model", "entity", "fund_cash", "payout_cash")
LEFT_OUT = {"client_ref", "latency_us", "booked_at", "binding_limit", "plan_no", "xid"}


def punctual() -> Scenario:
    """The lively scenario, whose notices come on their day."""
    given = lively()
    return replace(given, providers=replace(given.providers, late_notice_ppm=0))


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    folder = tmp_path_factory.mktemp("twin") / "run"
    return run_scenario(
        punctual(), folder, scale=SCALE, first=MONTHS[0], last=MONTHS[-1], workers=1,
        clock=ticking(),
    ).book  # fmt: skip


@pytest.fixture(scope="module")
def live(server: Embedded, book: Book) -> Iterator[LiveDays]:
    name = fresh(server, "live_equals_twin")
    asyncio.run(Database(server, name).prepare())
    context = RunContext(punctual(), SCALE)
    opening = context.opening_month

    async def prepare(connection: asyncpg.Connection) -> None:
        document = sandbox_document()
        document["time_zone"] = context.zone
        document["parties"] = {
            "channel": [f"c{n}" for n in range(1, 30)], "institution": [],
            "provider": [f"p{n}" for n in range(1, 10)],
        }  # fmt: skip
        document["globally_numbered"] = document["parties"]["provider"]
        document["principals"] = {
            f"c{n}": {"kind": "channel", "party": f"c{n}", "scopes": ["channel"]}
            for n in range(1, 30)
        }
        document["payout"] = {"provider": "p1", "rejected_ending": -1, "next_day_ending": -1}
        await install(connection, document, clock=last_moment(book, [opening]),
                      first_day=first_of_month(opening))  # fmt: skip
        await connection.execute("delete from usance.cells")
        await load_rows(connection, TABLES["cells"], cells_table(context.institutions))
        triggers = {n: max(each.trigger_days, 0)
                    for n, each in enumerate(context.institutions.funding, start=1)}  # fmt: skip
        await load_book(connection, book, [opening], triggers)

    with_owner(server, name, prepare)
    days = LiveDays(context, book)
    days.connect(Sandbox(server, name))
    try:
        days.open()
        for month in MONTHS:
            days.live(month)
        yield days
    finally:
        days.close()


def rows(name: str, given: list[dict[str, Any]]) -> list[Any]:
    return sorted(
        tuple((column, row[column] or 0) for column in TABLES[name].names if column not in LEFT_OUT)
        for row in given
    )


@pytest.mark.parametrize("name", COMPARED)
def test_rows_of_the_database_are_rows_of_the_twin(book: Book, live: LiveDays, name: str) -> None:
    async def read() -> list[dict[str, Any]]:
        async with live.platform.database.transaction(0) as transaction:
            return [dict(row) for row in await transaction.fetch(READS[name])]

    months = [live.context.opening_month, *MONTHS]
    written = [row for month in months for row in book.read(name, month=month).to_pylist()]
    own = live.loop.run_until_complete(read())
    assert rows(name, own) == rows(name, written)
    assert len(written) > len(book.read(name, month=months[0]).to_pylist())


def test_postings_are_those_of_the_columns(book: Book, live: LiveDays) -> None:
    """Sums of live postings by loan, rule, entity and account equal the general form's."""
    months = [live.context.opening_month, *MONTHS]
    ends = [last_of_month(months[0]), last_of_month(months[-1])]
    loans, facts = (
        sort(pa.concat_tables([book.read(name, month=month) for month in months]), TABLES[name])
        for name in ("loans", "facts")
    )
    columns = arrays(loans)
    ids = columns["loan_id"]
    fees = [each.fee_ppm for each in live.context.institutions.funding]
    amounts = [amounts_on(loans, facts, fees, day) for day in ends]
    movement = np.zeros((len(ids), len(AMOUNTS)), np.int64)
    movement[:, list(FACT_AMOUNT_PLACES)] = amounts[1] - amounts[0]
    cells = arrays(cells_table(live.context.institutions))
    row = {cell: n for n, cell in enumerate(cells["cell"].tolist())}
    own = np.array([row[each] for each in cell_numbers(columns)])
    whole = {name: cells[name][own].astype(np.int64) for name in CELL_COLUMNS}
    dimensions = Cells(is_related=cells["related"][own] > 0, **whole)
    lines = post(movement, dimensions, load_rules(), live.lender.platform_entity)
    expected: Counter[tuple[int, ...]] = Counter()
    for at in range(len(lines)):
        key = (int(ids[lines.row[at]]), int(lines.rule[at]), int(lines.entity[at]),
               int(lines.account[at]))  # fmt: skip
        expected[key] += int(lines.amount[at])

    async def read() -> list[Any]:
        async with live.platform.database.transaction(0) as transaction:
            return list(await transaction.fetch(
                "select loan_id, rule, entity, account, sum(amount_minor)::bigint as amount "
                "from usance.postings group by 1, 2, 3, 4"
            ))  # fmt: skip

    found = {(row["loan_id"], row["rule"], row["entity"], row["account"]): row["amount"]
             for row in live.loop.run_until_complete(read())}  # fmt: skip
    assert {k: v for k, v in found.items() if v} == {k: v for k, v in expected.items() if v}
    assert len(found) > 50


def amounts_on(loans: pa.Table, facts: pa.Table, fees: list[int], day: date) -> Any:
    """Fact amounts of all loans at the end of a day, on columns."""
    columns = arrays(loans)
    ids, own = columns["loan_id"], [fees[source - 1] for source in columns["source"].tolist()]
    held = booked_loans(columns["model"].tolist(), columns["upfront_fee_minor"].tolist(), own)
    known = facts.filter(pc.less_equal(facts["effective_on"], pa.scalar(day)))
    start = start_booked(term_columns(loans), held)
    return fact_amounts(step_booked(start, fact_columns(known, ids), day))


def cell_numbers(columns: Any) -> list[int]:
    source, product = columns["source"].astype(np.int64), columns["product"].astype(np.int64)
    return [int(each) for each in cells_of(source, product)]


READS = {
    "users": "select * from usance.users",
    "decisions": "select * from usance.decisions",
    "lines": "select * from usance.lines",
    "requests": "select * from usance.requests",
    "routing": "select * from usance.routing",
    "loans": "select * from usance.loans",
    "facts": "select * from usance.facts",
}
