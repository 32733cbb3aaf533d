"""Statements that a reader does not stop at: in every shipped scenario, and in every country."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.twin.believable import faults, faults_of
from tests.twin.runs import ticking
from usance.base.book import Book
from usance.base.packs import shipped_packs
from usance.books.closed_books import ClosedBooks
from usance.books.periods import parse_close_period
from usance.books.statements.primary import Row
from usance.cli import main
from usance.twin.run.runner import run_scenario
from usance.world.scenario.file import read_scenario

SAMPLE = ("2023Q4", "2024Q1")
QUARTERS = ("2023Q1", "2023Q2", "2023Q3", "2023Q4", "2024Q1", "2024Q2")
SCALES = {
    "recession": Fraction(1, 2), "funding-freeze": Fraction(1, 2), "fraud-wave": Fraction(1, 2),
    "collection-outage": Fraction(1, 2), "growth": Fraction(1, 2), "2024": Fraction(1, 2000),
}  # fmt: skip


def sample(pack: str, folder: Path) -> Book:
    words = [["books", "sample", str(folder), "--pack", pack]]
    words += [["close", quarter, "--book", str(folder)] for quarter in SAMPLE]
    for call in words:
        assert main(call) == 0
    return Book.open(folder)


@pytest.mark.parametrize("pack", shipped_packs())
def test_the_sample_book_of_every_country_is_believable(pack: str, tmp_path: Path) -> None:
    assert not unbelievable(sample(pack, tmp_path / "book"), SAMPLE)


@pytest.mark.parametrize(("statement", "line", "to", "fault"), [
    ("balance_sheet", "Income tax payable", -1, "Income tax payable is -1"),
    ("balance_sheet", "Prepaid expenses and other assets", -5, "Prepaid expenses"),
    ("balance_sheet", "TOTAL ASSETS", 7, "assets are not liabilities and equity"),
    ("operations", "Referral services fees", -2, "Referral services fees is -2"),
    ("operations", "Income taxes expense", 10**9, "tax"),
    ("operations", "Net income", 10**9, "net income is not"),
    ("cash_flows", "Net cash provided by operating activities", 3, "flows are not the change"),
    ("ifrs_reconciliation_balance_sheet:ifrs", "Cash and cash equivalents", 1, "IFRS: Cash"),
])  # fmt: skip
def test_what_a_reader_would_stop_at_is_found(
    statement: str, line: str, to: int, fault: str, closed_sample: ClosedBooks
) -> None:
    rows = [*closed_sample.statements(), *closed_sample.notes()]
    assert not faults_of(rows)
    known = [row for row in rows if isinstance(row, Row)
             and (row.statement, row.line) == (statement, line)]  # fmt: skip
    place = rows.index(known[0]) if known else len(rows)
    made = known[0] if known else Row(statement, line, "Platform services", "2024Q1", 0, False)
    rows[place : place + 1] = [replace(made, amount_minor=to)]
    assert [each for each in faults_of(rows) if fault in each]


@pytest.fixture(scope="module")
def closed_sample(tmp_path_factory: pytest.TempPathFactory) -> ClosedBooks:
    book = sample("cn", tmp_path_factory.mktemp("sample") / "book")
    return ClosedBooks.of(book, parse_close_period("2024Q1"))


@pytest.mark.nightly
@pytest.mark.parametrize("name", SCALES)
def test_no_quarter_of_a_shipped_scenario_is_unbelievable(name: str, tmp_path: Path) -> None:
    """A year and a half each; `calm` is read by day, with its ratios."""
    scenario = read_scenario(name)
    run = run_scenario(
        scenario, tmp_path / "run", scale=SCALES[name], first=scenario.first_month,
        last=scenario.last_month, clock=ticking(),
    )  # fmt: skip
    assert not unbelievable(run.book)


def unbelievable(book: Book, quarters: Sequence[str] = QUARTERS) -> list[str]:
    closed = (ClosedBooks.of(book, parse_close_period(quarter)) for quarter in quarters)
    return [fault for each in closed for fault in faults(each)]
