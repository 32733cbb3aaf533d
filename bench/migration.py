"""Migration: how long it takes to check another lender's loans before they move."""

from __future__ import annotations

import csv
import tempfile
import time
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from bench.report import Report
from usance.loan.convention import Rounding
from usance.migration import MigratedTerms, schedule
from usance.migration.portfolio import check_portfolio
from usance.migration.terms import DaysInMonth, DaysInYear

LOANS = 10_000
MAP = """\
terms: {loan: loan, principal: principal, rate: rate, instalments: n, disbursed_on: paid_out}
instalments: {loan: loan, due_on: due, principal: principal, interest: interest}
options: {days_in_year: "360", days_in_month: "30"}
"""


def run(report: Report) -> None:
    """Check 10,000 loans, a tenth of which were computed by other days and another rounding."""
    report.section(f"migration: {LOANS:,} loans of 12 to 36 instalments against their terms")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), LOANS)
        begun = time.perf_counter()
        found = check_portfolio(
            *(Path(folder) / name for name in ("terms.csv", "rows.csv", "map.yaml"))
        )
        seconds = time.perf_counter() - begun
    assert (found.ties, found.would_tie) == (LOANS * 9 // 10, LOANS // 10), found.lines()[:3]
    report.at_most("10,000 loans checked", seconds, 60, "s")


def write(folder: Path, loans: int) -> None:
    """A lender's files: most loans by 30/360, every tenth by days of 365 and rounded half up."""
    (folder / "map.yaml").write_text(MAP, encoding="utf-8")
    by_days = {
        "days_in_year": DaysInYear.D365,
        "days_in_month": DaysInMonth.ACTUAL,
        "rounding": Rounding.HALF_UP,
    }
    with (
        (folder / "terms.csv").open("w", newline="") as a,
        (folder / "rows.csv").open("w", newline="") as b,
    ):
        terms_file, rows_file = csv.writer(a), csv.writer(b)
        terms_file.writerow(["loan", "principal", "rate", "n", "paid_out"])
        rows_file.writerow(["loan", "due", "principal", "interest"])
        for number in range(loans):
            terms = MigratedTerms(
                disbursed_on=date(2023, 1, 1) + timedelta(days=number % 700),
                rate_pct=Decimal(600 + number % 1_800).scaleb(-2),
                instalments=(12, 24, 36)[number % 3],
            )
            principal = 100_000 + number * 1_37
            if number % 10 == 0:
                terms = terms.changed(**by_days)
            name = f"L{number:05}"
            terms_file.writerow(
                [name, major(principal), terms.rate_pct, terms.instalments, terms.disbursed_on]
            )
            for row in schedule(terms, principal):
                rows_file.writerow([name, row.end, major(row.principal), major(row.interest)])


def major(amount_minor: int) -> Decimal:
    """An amount in units of its currency."""
    return Decimal(amount_minor).scaleb(-2)
