"""Live equals twin: the same scenario and seed through PostgreSQL give the same rows.

Half a year by day, a whole one by night.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

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
from usance.base.codes import FactKind
from usance.base.columns import arrays, sort
from usance.base.dates import first_of_month, last_of_month, parse_moment
from usance.base.tables import TABLES
from usance.books.chart import load_chart
from usance.books.close.checklist import close
from usance.books.closed_books import ClosedBooks
from usance.books.group.documents import parse_facts
from usance.books.group.facts import table_of_facts
from usance.books.loans.amounts import AMOUNTS, FACT_AMOUNT_PLACES
from usance.books.loans.fact_amounts import booked_loans, fact_amounts, start_booked, step_booked
from usance.books.periods import parse_close_period
from usance.books.postings import Cells, post
from usance.books.rules import load_rules
from usance.loan.visible_facts import fact_columns, term_columns
from usance.measure.definitions import load_definitions
from usance.platform.closing.month_end import LiveClose, MonthEnd, publish_period_metrics
from usance.platform.commands.control.clock import set_clock
from usance.platform.commands.unit_of_work import now
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
COMPARED = ("users", "decisions", "lines", "requests", "routing", "loans", "shares", "facts")
CELL_COLUMNS = ("cell", "model", "entity", "fund_cash", "payout_cash")
LEFT_OUT = {"client_ref", "latency_us", "booked_at", "binding_limit", "plan_no", "xid"}


class Span(NamedTuple):
    """Months that are lived, and the periods that are closed afterwards."""

    months: range
    periods: tuple[str, ...]


HALF = Span(range(636, 642), ("2022-12", "2023Q1", "2023Q2"))
WHOLE = Span(range(636, 648), (*HALF.periods, "2023Q3", "2023Q4"))
ENTITIES = """
currency: CNY
entities:
  - {number: 1, name: Platform, role: platform, owner: 9}
  - {number: 2, name: Trust, role: subsidiary, owner: 1}
  - {number: 3, name: Microcredit, role: subsidiary, owner: 1}
  - {number: 9, name: Holding, role: parent}
"""
BY_LIMITS = ("mandate_utilisation",)
"""Metrics of the table `limits`, which the twin writes each month and these days do not."""
EARLY = {
    (period, each.name)
    for period in WHOLE.periods
    for versions in load_definitions().values()
    for each in versions
    if each.complete_after_days or each.numerator.table == "outcomes"
}
"""Metrics that are complete some days after a period, or count who has defaulted by now: live they
were measured at its end, and the twin's here when all was over: of the last one alone they are
compared. What they are made of, dues and tape, is compared whole."""
LOSSES = "history_from: 2023-01\n"
OPENING_FACTS = "facts:" + "".join(
    f"""
  - {{id: {entity}, kind: opening_balance, entity: {entity}, on: 2022-11-30,
     lines: [{{account: cash, amount: 900000000}}, {{account: restricted_cash, amount: 900000000}},
             {{account: paid_in_capital, amount: -1800000000}}]}}"""
    for entity in (1, 2, 3, 9)
)


def punctual() -> Scenario:
    """The lively scenario; notices come on their day, and all in trouble ask for help."""
    given = lively()
    return replace(
        given,
        providers=replace(given.providers, late_notice_ppm=0),
        incidents=replace(given.incidents, asks_for_help_ppm=1_000_000, complaint_upheld_ppm=0),
    )


def simulated(scenario: Scenario, folder: Path, scale: Fraction, months: range) -> Book:
    """The twin's run."""
    book = run_scenario(
        scenario, folder, scale=scale, first=months[0], last=months[-1], workers=1,
        clock=ticking(),
    ).book  # fmt: skip
    with book.writing() as step:
        opening = table_of_facts(parse_facts(OPENING_FACTS))
        step.add("group_facts", opening, month=months[0] - 1)
    return Book.open(folder)


@pytest.fixture(scope="module", params=[
    pytest.param(HALF, id="half"), pytest.param(WHOLE, id="year", marks=pytest.mark.nightly)
])  # fmt: skip
def span(request: pytest.FixtureRequest) -> Span:
    found: Span = request.param
    return found


@pytest.fixture(scope="module")
def book(span: Span, tmp_path_factory: pytest.TempPathFactory) -> Book:
    return simulated(punctual(), tmp_path_factory.mktemp("twin") / "run", SCALE, span.months)


def begin(server: Embedded, name: str, context: RunContext, book: Book) -> Sandbox:
    """A lender with the opening of a run, before its first day."""
    fresh(server, name)
    asyncio.run(Database(server, name).prepare())
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
        } | {"people": {"kind": "service", "party": "", "scopes": ["operations"]}}
        document["group_facts"] = ""
        document["policies"] = {"entities.yaml": ENTITIES, "losses.yaml": LOSSES}
        document["payout"] = {"provider": "p1", "rejected_ending": -1, "next_day_ending": -1}
        await install(connection, document, clock=last_moment(book, [opening]),
                      first_day=first_of_month(opening))  # fmt: skip
        await connection.execute("delete from usance.cells")
        await load_rows(connection, TABLES["cells"], cells_table(context.institutions))
        await connection.execute("delete from usance.sources")
        await load_rows(connection, TABLES["sources"], book.read("sources"))
        triggers = {n: max(each.trigger_days, 0)
                    for n, each in enumerate(context.institutions.funding, start=1)}  # fmt: skip
        await load_book(connection, book, [opening], triggers)

    with_owner(server, name, prepare)
    return Sandbox(server, name)


@pytest.fixture(scope="module")
def live(server: Embedded, book: Book, span: Span) -> Iterator[LiveDays]:
    context = RunContext(punctual(), SCALE)
    days = LiveDays(context, book)
    days.connect(begin(server, f"live_equals_twin_{len(span.months)}", context, book))
    try:
        days.open()
        for month in span.months:
            days.live(month)
        yield days
    finally:
        days.close()


OWN_KINDS = {FactKind.CHARGED_BACK, FactKind.REFUNDED, FactKind.WAIVED, FactKind.TERMS_CHANGED,
             FactKind.INTEREST_PAUSED}  # fmt: skip
"""Facts that people of the platform book: it numbers them itself."""


def rows(name: str, given: list[dict[str, Any]]) -> list[Any]:
    def value(row: dict[str, Any], column: str) -> Any:
        is_own = name == "facts" and column == "ref" and row["kind"] in OWN_KINDS
        return 0 if is_own else row[column] or 0

    names = [column for column in TABLES[name].names if column not in LEFT_OUT]
    return sorted(tuple((column, value(row, column)) for column in names) for row in given)


@pytest.mark.parametrize("name", COMPARED)
def test_rows_of_the_database_are_rows_of_the_twin(
    book: Book, live: LiveDays, span: Span, name: str
) -> None:
    compare_rows(book, live, name, span.months)


def compare_rows(book: Book, live: LiveDays, name: str, lived: range) -> None:
    async def read() -> list[dict[str, Any]]:
        async with live.platform.database.transaction(0) as transaction:
            return [dict(row) for row in await transaction.fetch(READS[name])]

    months = [live.context.opening_month, *lived]
    written = [row for month in months for row in book.read(name, month=month).to_pylist()]
    own = live.loop.run_until_complete(read())
    assert rows(name, own) == rows(name, written)
    assert len(written) > len(book.read(name, month=months[0]).to_pylist())


def test_postings_are_those_of_the_columns(book: Book, live: LiveDays, span: Span) -> None:
    """Sums of live postings by loan, rule, entity and account equal the general form's."""
    assert len(compare_postings(book, live, span.months)) > 3, "some borrowers are helped"


def compare_postings(book: Book, live: LiveDays, lived: range) -> set[int]:
    """Compare postings; the loans that only the exact form folds, which are left out."""
    months = [live.context.opening_month, *lived]
    ends = [last_of_month(months[0]), last_of_month(months[-1])]
    loans, facts = (
        sort(pa.concat_tables([book.read(name, month=month) for month in months]), TABLES[name])
        for name in ("loans", "facts")
    )
    apart = pa.array(sorted(by_exact_form_alone(loans, facts)), pa.int64())
    loans, facts = (each.filter(pc.invert(pc.is_in(each["loan_id"], apart)))
                    for each in (loans, facts))  # fmt: skip
    columns = arrays(loans)
    ids = columns["loan_id"]
    fees = [each.fee_ppm for each in live.context.institutions.funding]
    amounts = [amounts_on(loans, facts, fees, day) for day in ends]
    movement = np.zeros((len(ids), len(AMOUNTS)), np.int64)
    movement[:, list(FACT_AMOUNT_PLACES)] = amounts[1] - amounts[0]
    cells = arrays(cells_table(live.context.institutions))
    row = {cell: n for n, cell in enumerate(cells["cell"].tolist())}
    own = np.array([row[each] for each in cell_numbers(columns)])
    cash = load_chart()["cash"].number
    whole = {name: cells[name][own].astype(np.int64) for name in CELL_COLUMNS}
    whole |= {name: np.where(whole[name] == 0, cash, whole[name])
              for name in ("fund_cash", "payout_cash")}  # fmt: skip
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
                "from usance.postings where loan_id > 0 group by 1, 2, 3, 4"
            ))  # fmt: skip

    left_out = set(apart.to_pylist())
    found = {(row["loan_id"], row["rule"], row["entity"], row["account"]): row["amount"]
             for row in live.loop.run_until_complete(read())
             if row["loan_id"] not in left_out}  # fmt: skip
    assert {k: v for k, v in found.items() if v} == {k: v for k, v in expected.items() if v}
    assert len(found) > 50
    return left_out


def by_exact_form_alone(loans: pa.Table, facts: pa.Table) -> set[int]:
    """Loans with changed terms or paused interest: the control of each close compares those."""
    changed = loans.filter(pc.greater(loans["terms_no"], 1))["loan_id"].to_pylist()
    paused = facts.filter(pc.equal(facts["kind"], int(FactKind.INTEREST_PAUSED)))
    return {*changed, *paused["loan_id"].to_pylist()}


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


@pytest.fixture(scope="module")
def closed(
    live: LiveDays, span: Span, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[MonthEnd]]:
    """The home of the lender whose life was closed, period by period."""
    home = tmp_path_factory.mktemp("home")
    over = datetime.combine(
        last_of_month(span.months[-1]), time(23, 59, 59, 999_999), live.lender.zone
    )

    async def close_all() -> list[MonthEnd]:
        async with live.platform.database.transaction(0) as transaction:
            await now(transaction, live.platform.services)
            to = over + timedelta(microseconds=1)
            await set_clock(transaction, to, live.lender.business_date(to))
        live.platform.services.last = live.lender
        made = []
        for label in span.periods:
            period = parse_close_period(label)
            made.append(await LiveClose(live.platform, home, period, ticking()).run())
        return made

    return home, live.loop.run_until_complete(close_all())


@pytest.fixture(scope="module")
def closed_twin(
    book: Book, closed: tuple[Path, list[MonthEnd]], span: Span,
    tmp_path_factory: pytest.TempPathFactory,
) -> Book:  # fmt: skip
    """The twin's own book, closed by the same policies with the same knowledge."""
    policies = tmp_path_factory.mktemp("policies")
    (policies / "entities.yaml").write_text(ENTITIES)
    (policies / "losses.yaml").write_text(LOSSES)
    for made, label in zip(closed[1], span.periods, strict=True):
        close(Book.open(book.path), parse_close_period(label), policies=policies, actor="usance",
              known_at=parse_moment(made.known_at), clock=ticking())  # fmt: skip
        publish_period_metrics(book.path, parse_close_period(label))
    return Book.open(book.path)


def plain(given: list[dict[str, Any]], last: str) -> list[tuple[Any, ...]]:
    """Rows in one order, without what identifies the state of the tables they were made of."""
    return sorted(
        tuple(str(v) for k, v in row.items() if k != "snapshot")
        for row in given
        if row.get("metric") not in BY_LIMITS
        and (row.get("period") == last or (row.get("period"), row.get("metric")) not in EARLY)
    )


@pytest.mark.parametrize("name", ["postings", "subledger", "estimates", "tape", "dues", "metrics"])
def test_the_exported_book_closes_to_the_twin(
    closed: tuple[Path, list[MonthEnd]], closed_twin: Book, span: Span, name: str
) -> None:
    lake = Book.open(closed[0] / "lake")
    assert lake.rows(name) > 50
    own, twin = lake.read(name).to_pylist(), closed_twin.read(name).to_pylist()
    assert plain(own, span.periods[-1]) == plain(twin, span.periods[-1])


def test_statements_are_the_twins(
    closed: tuple[Path, list[MonthEnd]], closed_twin: Book, span: Span
) -> None:
    period = parse_close_period(span.periods[-1])
    own = ClosedBooks.of(Book.open(closed[0] / "lake"), period).statements()
    assert own == ClosedBooks.of(closed_twin, period).statements()
    assert len(own) > 50


READS = {
    "users": "select * from usance.users",
    "decisions": "select * from usance.decisions",
    "lines": "select * from usance.lines",
    "requests": "select * from usance.requests",
    "routing": "select * from usance.routing",
    "loans": "select * from usance.loans",
    "shares": "select * from usance.shares",
    "facts": "select * from usance.facts",
}
