"""What a close states for those who measure: with it, metrics of journals equal the statements."""

from __future__ import annotations

from datetime import date
from itertools import count
from pathlib import Path

from usance.base.periods import MetricPeriod
from usance.books.chart import load_chart
from usance.books.close.checklist import close
from usance.books.close.metric_roles import roles_of
from usance.books.periods import parse_close_period
from usance.books.sample import sample_book
from usance.measure.inputs import Inputs
from usance.measure.metrics import AS_REPORTED, measure

END = date(2024, 3, 31)
REVENUE_LINES = {
    "Loan facilitation and servicing fees-capital heavy", "Financing income",
    "Revenue from releasing of guarantee liabilities", "Other services fees-credit driven",
    "Loan facilitation and servicing fees-capital light", "Referral services fees",
    "Other services fees-platform",
}  # fmt: skip


def test_revenue_is_every_revenue_line_of_the_chart() -> None:
    chart = load_chart()
    named = {chart.by_number[n].line for n in roles_of(chart)["revenue"]["accounts"]}
    assert named == REVENUE_LINES
    assert {a.number for a in chart if a.line in REVENUE_LINES} == set(
        roles_of(chart)["revenue"]["accounts"]
    )


def test_a_closed_book_measures_its_journals_without_being_told_accounts(tmp_path: Path) -> None:
    book = sample_book(tmp_path / "book")
    tick = count()
    close(book, parse_close_period("2023-12"), clock=lambda: float(next(tick)))
    close(book, parse_close_period("2024Q1"), clock=lambda: float(next(tick)))
    inputs = Inputs.of_book(book)
    cash = next(
        each
        for each in measure(inputs, ["total_cash"], as_of=END, period=MetricPeriod.of("2024Q1"))
        if each.series == AS_REPORTED
    )
    wanted = sum(
        row["amount_minor"]
        for row in book.read("postings").to_pylist()
        if row["account"] in (1010, 1020, 1040) and row["basis"] == 0
    )
    assert cash.numerator == wanted != 0
