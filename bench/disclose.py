"""The disclose room: a check of four filings, their rebuilding, and a release of closed books."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

from bench.books import LAST_DAY, PERIOD, make_book
from bench.report import Report, best_seconds
from usance.base.book import Book
from usance.base.dates import parse_month, to_month
from usance.books.close.checklist import close
from usance.books.group.documents import parse_facts
from usance.books.group.facts import table_of_facts
from usance.books.periods import parse_close_period
from usance.disclose import check, load_profile, rebuild
from usance.disclose.drill.drill import drill
from usance.disclose.release.filer import Filer
from usance.disclose.release.publication import FORMATS, publish, release_of
from usance.disclose.release.release import Release
from usance.measure import Portfolio, cells_table, tape_month
from usance.pages.reports.release import RELEASE_WRITERS

SHARED = Path(__file__).resolve().parents[2] / "shared" / "filings"
LOANS = 200_000
CAPITAL = """\
facts:
  - {id: 1, kind: opening_balance, entity: 1, on: 2024-03-31, lines: [
     {account: cash, amount: 9000000000}, {account: retained_earnings, amount: -9000000000}]}
  - {id: 2, kind: shares_issued, entity: 2, on: 2023-01-01, quantity: 1000000, amount: 500}
"""
HEADER = "document,statement,line,parent_line,period_or_date,currency,unit,value,is_total"


def run(report: Report) -> None:
    """Real filings where they are at hand, else four made-up ones of the same size."""
    real = sorted(SHARED.glob("00*.csv"))
    with tempfile.TemporaryDirectory() as folder:
        files = real or [made_up(Path(folder), number) for number in range(4)]
        kind = "real" if real else "made-up"
        report.section(f"disclose: {len(files)} {kind} filings")
        seconds = best_seconds(lambda: check(files), 5)
        report.at_most("check of all together", seconds, 5, "s")
        start = "from usance.cli import main; raise SystemExit(main())"
        words = ["disclose", "check", *map(str, files), "--json"]
        command = [sys.executable, "-c", start, *words]
        whole = best_seconds(lambda: _run_check(command), 3)
        report.at_most("the same as a command, with its start-up", whole, 5, "s")
        largest = max(files, key=lambda file: file.stat().st_size)
        report.line("rebuild of the largest", f"{best_seconds(lambda: rebuild(largest), 5):.2f} s")

    _release(report)


def _run_check(command: list[str]) -> None:
    """The command as a person starts it; it ends with 1 where a filing has broken ties."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"disclose check ended with {done.returncode}: {done.stderr}")


def _release(report: Report) -> None:
    """All files of a quarter, and one total followed to the facts of its loans."""
    report.section(f"disclose: the release of a closed quarter, {LOANS:,} loans")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book"
        closed_book(path)

        def made() -> Release:
            filer = Filer(rate=Decimal("7.2672"))
            return release_of(Book.open(path), parse_close_period(PERIOD), load_profile(), filer)

        publish(
            made(), Path(folder) / "warm", FORMATS, writers=RELEASE_WRITERS
        )  # what is loaded once
        seconds = best_seconds(
            lambda: publish(made(), Path(folder) / "out", FORMATS, writers=RELEASE_WRITERS), 3
        )
        report.at_most("release as CSV, HTML, XLSX and PDF", seconds, 10, "s")
        address = f"{PERIOD}/operations/total-net-revenue/{PERIOD}"
        follow = best_seconds(lambda: drill(made(), address).as_dict(), 1)
        report.line("drill from total revenue to facts", f"{follow:.2f} s")


def closed_book(path: Path) -> None:
    """A closed book with the tape of its last month."""
    book = make_book(path, LOANS)
    loans = book.read("loans")
    cells, month = cells_table(loans), to_month(LAST_DAY)
    with book.writing() as step:
        step.add("cells", cells)
        step.add("group_facts", table_of_facts(parse_facts(CAPITAL)), month=parse_month("2024-03"))
        portfolio = Portfolio.of(loans, book.read("facts"))
        step.add("tape", tape_month(portfolio, month, cells), month=month)
    close(book, parse_close_period(PERIOD), clock=time.perf_counter)


def made_up(folder: Path, number: int) -> Path:
    """A table of about 750 facts: 25 totals of nine lines, in three columns."""
    rows = [HEADER, f"D{number},convenience_translation,Rate,,2024-03-31,RMB,rmb_per_usd,7.0000,0"]
    for column in ("2023-12-31,RMB", "2024-03-31,RMB", "2024-03-31,USD"):
        size = 1 if column.endswith("USD") else 7
        for total in range(25):
            place = f"D{number},balance_sheet"
            rows += [
                f"{place},Line {total}.{line},Total {total},{column},thousand,{size * line},0"
                for line in range(1, 10)
            ]
            rows.append(f"{place},Total {total},,{column},thousand,{size * 45},1")
    file = folder / f"{number}.csv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file
