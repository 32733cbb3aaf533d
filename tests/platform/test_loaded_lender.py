"""A twin loaded as a lender goes on from its closes, and owes nobody its past again."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_live_equals_twin import ENTITIES, LOSSES, punctual, simulated
from tests.twin.runs import ticking
from usance.base.book import Book
from usance.base.codes import FactKind, FundingModel
from usance.base.dates import first_of_month, last_of_month
from usance.base.ids import print_id
from usance.base.tables import TABLES
from usance.books.close.checklist import close
from usance.books.close.closes import effective_closes
from usance.books.periods import parse_close_period
from usance.platform.closing.caches import compare_caches
from usance.platform.closing.month_end import LiveClose
from usance.platform.commands.loans.payments import BookPayment
from usance.platform.installation import install
from usance.platform.lake.continued import continue_book
from usance.platform.lake.verify import verify
from usance.platform.lender import sandbox_document
from usance.platform.partners.settle_day import settle_day
from usance.platform.store.bulk import load_rows
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.twin_load import last_moment, load_book
from usance.twin.month.loan_terms import cells_table
from usance.twin.run.run_context import RunContext
from usance.world.incidents import NO_INCIDENTS
from usance.world.scenario.scenario import Scenario

SCALE, MONTHS, LABELS = Fraction(1, 100), range(636, 639), ("2022-12", "2023Q1")
OPENED = last_of_month(638) - timedelta(days=1)
"""Receipts of the last day lay with providers: a source has a day to settlement."""


def quiet() -> Scenario:
    """The lively scenario without loans whose terms change: those are not loaded."""
    return replace(punctual(), incidents=NO_INCIDENTS)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """A quarter of a twin, closed."""
    folder = tmp_path_factory.mktemp("loaded")
    made = simulated(quiet(), folder / "run", SCALE, MONTHS)
    policies = folder / "policies"
    policies.mkdir()
    (policies / "entities.yaml").write_text(ENTITIES)
    (policies / "losses.yaml").write_text(LOSSES)
    for label in LABELS:
        close(Book.open(made.path), parse_close_period(label), policies=policies, clock=ticking())
    return Book.open(made.path)


def document() -> dict[str, Any]:
    """A lender whose sources have the twin's numbers, each an institution of its own."""
    given = sandbox_document()
    given["group_facts"] = ""
    given["policies"] = {"entities.yaml": ENTITIES, "losses.yaml": LOSSES}
    return given


@pytest.fixture(scope="module")
def loaded(server: Embedded, book: Book, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The lender's name, its home, and the number of closes it goes on from."""
    home, context = tmp_path_factory.mktemp("home"), RunContext(quiet(), SCALE)
    months = [MONTHS[0] - 1, *MONTHS]
    fresh(server, "loaded_lender")
    asyncio.run(Database(server, "loaded_lender").prepare())

    async def prepare(connection: asyncpg.Connection) -> int:
        given = {**document(), "time_zone": context.zone}
        await install(connection, given, clock=last_moment(book, months),
                      first_day=first_of_month(MONTHS[-1]))  # fmt: skip
        await connection.execute("delete from usance.cells; delete from usance.sources")
        await load_rows(connection, TABLES["cells"], cells_table(context.institutions))
        await load_rows(connection, TABLES["sources"], book.read("sources"))
        triggers = {n: max(each.trigger_days, 0)
                    for n, each in enumerate(context.institutions.funding, start=1)}  # fmt: skip
        await load_book(connection, book, months, triggers)
        return await continue_book(connection, book, home / "lake")

    return "loaded_lender", home, with_owner(server, "loaded_lender", prepare)


@pytest.fixture
def lender(server: Embedded, loaded: Any, request: pytest.FixtureRequest) -> tuple[Sandbox, Path]:
    """A copy of it for the test."""
    name, home, _ = loaded
    return Sandbox(server, fresh(server, request.node.name[:60], name)), home


def test_a_lake_goes_on_from_the_closes_of_its_book(
    server: Embedded, loaded: Any, book: Book
) -> None:
    """Every file that its manifest names is there, and nothing is exported twice."""
    name, home, count = loaded
    assert count == len(effective_closes(book)) == len(LABELS)
    sandbox = Sandbox(server, name)
    lake = Book.open(home / "lake")
    assert (lake.damaged(), lake.check()) == ([], [])

    async def differing(platform: Any) -> list[str]:
        async with platform.database.loader() as connection:
            told = [str(each) for each in await verify(connection, home / "lake")]
        return told + (await compare_caches(platform)).differences

    assert sandbox.within(differing) == []
    assert sandbox.sql("finance", "select array_agg(state order by period) from usance.periods "
                       f"where period <= {MONTHS[-1] + 1}") == [2, 0]  # fmt: skip


def test_the_next_close_is_that_of_one_month(lender: tuple[Sandbox, Path], tmp_path: Path) -> None:
    sandbox, home = lender
    shutil.copytree(home, tmp_path / "home")
    period = parse_close_period("2023-04")
    made = sandbox.within(
        lambda platform: LiveClose(platform, tmp_path / "home", period, ticking(),
                                   publishes=False).run()
    )  # fmt: skip
    assert made.close == "2023-04.1"
    book = Book.open(tmp_path / "home" / "lake")
    assert [each.name for each in effective_closes(book)][-2:] == ["2023-03.1", "2023-04.1"]
    assert book.read("postings", folder=effective_closes(book)[-1].folder)["period"].unique(
        ).to_pylist() == [639]  # fmt: skip


def test_the_first_evening_settles_what_was_on_its_way(lender: tuple[Sandbox, Path]) -> None:
    sandbox, _ = lender
    monday, tuesday = date(2023, 4, 3), date(2023, 4, 4)

    async def settle(platform: Any) -> tuple[int, list[Any], list[Any]]:
        first = await settle_day(platform, monday)
        async with platform.database.transaction(0) as transaction:
            rows = await transaction.fetch("select day, kind from usance.settlement_rows")
            loan = await transaction.fetchval(
                "select l.loan_id from usance.loans l join usance.loan_states s using (loan_id) "
                "where l.model = $1 and l.source = 2 and s.is_open and l.first_due_on < $2 "
                "order by 1 limit 1", int(FundingModel.CAPITAL_HEAVY), OPENED,
            )  # fmt: skip
            paid = await transaction.fetchval(
                "select count(*) from usance.facts where kind = $1 and effective_on <= $2",
                int(FactKind.PAID), OPENED,
            )  # fmt: skip
        provider = await platform.principal("provider")
        late = BookPayment(50_000, "CNY", OPENED - timedelta(days=9), "late", print_id("ln", loan))
        await platform.do(provider, late)
        assert paid > 50, "there is a past that could be owed again"
        return len(rows), rows, [first, await settle_day(platform, tuesday)]

    _, rows, (first, second) = sandbox.within(settle)
    assert all(each["corrections_minor"] == 0 for each in first)
    assert all(row["day"] > OPENED for row in rows)
    [correction] = second
    assert 0 < correction["total_minor"] == correction["corrections_minor"] <= 50_000
