"""The service room: a debit run over a million loans, bank statements, reconciliation."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, date, datetime

import numpy as np

from bench.report import Report
from usance.base.dates import to_day
from usance.loan.batch import replay_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.service import DebitColumns, DebitPolicy, debit_run

LOANS = 1_000_000
DAY = date(2024, 7, 1)


def run(report: Report) -> None:
    """Every figure of the room."""
    debits(report)


def seconds(function: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def debits(report: Report, loans: int = LOANS) -> None:
    """The run of a day over loans that all owe something, from terms and facts to orders."""
    report.section(f"service: debit run, {loans:,} active loans that all owe")
    terms, facts = portfolio(loans)
    loan_id = (np.arange(loans) // 2 + 1 << 14) + 1 + np.arange(loans) % 2
    provider, none_open = np.full(loans, 2, np.int16), np.zeros(loans, np.bool_)
    policy = DebitPolicy.at(DAY)
    made: list[int] = []

    def whole() -> None:
        views = replay_columns(terms, facts, DAY)
        owed = DebitColumns.of_views(loan_id, provider, views, none_open)
        orders = debit_run(owed, policy.attempts[0], policy.minimum_minor)
        at = datetime(2024, 7, 1, tzinfo=UTC)
        made.append(sum(1 for _ in orders.orders(DAY, 8, "CNY", 1, at, at)))

    whole()  # compiled and warm
    report.at_most("views, run and orders as objects", seconds(whole), 90, "s")
    report.line("orders", f"{made[-1]:,}")


def portfolio(loans: int) -> tuple[TermColumns, FactColumns]:
    """Loans of twelve instalments, drawn over half a year, whose borrowers have paid nothing."""
    drawn = (to_day(date(2024, 1, 1)) + np.arange(loans) % 150).astype(np.int32)
    principal = 1_000_00 + np.arange(loans, dtype=np.int64) % 9_000 * 100
    none = np.zeros(loans, np.int64)
    terms = TermColumns(
        principal, np.full(loans, 180_000, np.int32), np.full(loans, 180_000, np.int32),
        np.full(loans, 12, np.int16), drawn, (drawn + 30).astype(np.int32), none, none,
        np.ones(loans, np.int16),
    )  # fmt: skip
    facts = FactColumns(
        np.arange(loans + 1, dtype=np.int64), drawn, np.zeros(loans, np.int8), principal, none
    )
    return terms, facts
