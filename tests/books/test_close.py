"""The close of a book folder: whole or not at all, the same twice, corrected in the open period."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.books.small_book import QUARTERS, close_all, fact_rows, make_book, worked_loans
from usance.base.book import Book
from usance.base.codes import FactKind
from usance.base.columns import make
from usance.base.dates import parse_month, to_day
from usance.books.chart import load_chart
from usance.books.close import controls, scope
from usance.books.close.checklist import close
from usance.books.close.closes import (
    all_closes,
    effective_closes,
    last_hash,
    lock,
    postings_of,
    reopen,
)
from usance.books.closed_books import amounts_at
from usance.books.errors import ControlFailed, PeriodError, TapeError
from usance.books.exports import trial_balance
from usance.books.journal import CloseHead, check_chain, unbalanced
from usance.books.loans import checks as loan_checks
from usance.books.loans.amounts import AMOUNTS, SUMS
from usance.books.loans.journal import loan_journal
from usance.books.periods import parse_close_period
from usance.cli import main
from usance.loan import Fact
from usance.measure import cells_table

PERIOD = parse_close_period("2024Q1")


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The worked loans, closed for five quarters."""
    book = make_book(tmp_path_factory.mktemp("books") / "book", worked_loans())
    close_all(book)
    return book


def balances(book: Book) -> dict[tuple[str, str], int]:
    return {(row["tag"], row["name"]): row["amount_minor"] for row in trial_balance(book)}


def test_at_the_end_only_cash_and_results_are_left(closed: Book) -> None:
    chart = load_chart()
    left = balances(closed)
    sheet = {name: minor for (_, name), minor in left.items() if chart[name].kind.on_balance_sheet}
    assert set(sheet) == {"cash"}
    assert all(tag == "none" for tag, _ in left)
    profit = 240_00 - 4_483_80 + 462_61 + (-6_537_50 + 110_25) + 94_79
    result = sum(minor for (_, name), minor in left.items() if name not in sheet)
    assert -result == profit
    assert sheet["cash"] == profit


def test_provisions_end_with_what_was_lost(closed: Book) -> None:
    left = balances(closed)
    assert left["none", "contingent_provision"] == 4_590_00
    assert left["none", "financial_provision"] == 169_60
    assert left["none", "contract_provision"] == 74_28 + 92_04
    assert left["none", "loan_provision"] == 6_858_15


def test_closing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    marks = []
    for name in ("first", "second"):
        book = make_book(tmp_path / name, worked_loans())
        close_all(book, QUARTERS[:3])
        files = sorted((book.path / "closes").rglob("*"))
        marks.append([(file.relative_to(book.path), file.read_bytes())
                      for file in files if file.is_file()])  # fmt: skip
    assert marks[0] == marks[1]


def test_monthly_and_quarterly_closes_end_alike(tmp_path: Path, closed: Book) -> None:
    """Amounts are cumulative: how often they are looked at changes nothing in the end."""
    book = make_book(tmp_path / "monthly", worked_loans())
    close_all(book, ["2023-12", *(f"2024-{month:02}" for month in range(1, 13))])
    assert balances(book) == balances(closed)


def test_cell_journals_are_the_sum_of_loan_journals(closed: Book) -> None:
    chart = load_chart()
    single: dict[tuple[int, int, int], int] = {}
    for loan_id in closed.read("loans", ["loan_id"])["loan_id"].to_pylist():
        for line in loan_journal(closed, loan_id):
            key = line.rule, line.tag, chart[line.account].number
            single[key] = single.get(key, 0) + line.amount_minor
    rows = postings_of(closed, effective_closes(closed)).to_pylist()
    cells: dict[tuple[int, int, int], int] = {}
    for row in rows:
        if row["rule"] < 800:
            key = row["rule"], row["tag"], row["account"]
            cells[key] = cells.get(key, 0) + row["amount_minor"]
    assert single == cells


def test_sums_are_those_of_the_subledger(closed: Book) -> None:
    ids = np.unique(closed.read("loans", ["loan_id"])["loan_id"].to_numpy())
    for close_ref in effective_closes(closed):
        loans = amounts_at(closed, close_ref, AMOUNTS, ids).sum(axis=0)
        cells = closed.read(SUMS, folder=close_ref.folder)
        assert loans.tolist() == [pa.compute.sum(cells[name]).as_py() for name in AMOUNTS]


def test_journals_balance_and_are_chained(closed: Book) -> None:
    previous = ""
    for close_ref in effective_closes(closed):
        postings = closed.read("postings", folder=close_ref.folder)
        journals = closed.read("journals", folder=close_ref.folder)
        assert not list(unbalanced(postings))
        head = CloseHead(close_ref.close_no, close_ref.month, close_ref.day,
                         journals["booked_at"][0].as_py(), "close")  # fmt: skip
        assert not check_chain(postings, journals, head, previous)
        place = postings.column_names.index("amount_minor")
        changed = postings.set_column(place, "amount_minor", pa.compute.add(
            postings["amount_minor"], pa.array(np.eye(1, len(postings), 0, dtype=np.int64)[0])
        ))  # fmt: skip
        assert check_chain(changed, journals, head, previous)
        assert list(unbalanced(changed))
        previous = last_hash(closed, close_ref)


def test_a_shard_that_is_read_twice_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the first pass could keep its loans in memory is not seen in the books."""
    found = []
    for most in (0, 10**6):
        monkeypatch.setattr(scope, "MAX_CACHED_FACTS", most)
        book = make_book(tmp_path / str(most), worked_loans())
        close_all(book, QUARTERS[:2])
        found.append([book.digest(name) for name in ("subledger", "postings", "estimates")])
    assert found[0] == found[1]
    assert found[0][0].rows > 0


def test_a_late_fact_is_posted_in_the_open_period(tmp_path: Path) -> None:
    """A payment of February known in May: first quarter stays, second takes the difference."""
    loans = worked_loans()[:1]
    without = [fact for fact in loans[0].facts if fact.effective_on != date(2024, 2, 29)]
    late = next(fact for fact in loans[0].facts if fact.effective_on == date(2024, 2, 29))
    book = make_book(tmp_path / "late", [replace(loans[0], facts=without)])
    close_all(book, QUARTERS[:2])
    before = postings_of(book, effective_closes(book))
    with book.writing() as step:
        booked = to_day(date(2024, 5, 2)) * 86_400_000_000
        step.add("facts", make("facts", loan_id=[16385], effective_on=[to_day(late.effective_on)],
                               kind=[int(FactKind.PAID)], ref=[late.ref],
                               amount_minor=[late.amount_minor], arg=[0], booked_at=[booked]),
                 month=parse_month("2024-05"))  # fmt: skip
    close_all(book, QUARTERS[2:])
    on_time = make_book(tmp_path / "on-time", loans)
    close_all(on_time)
    assert balances(book) == balances(on_time)
    assert postings_of(book, effective_closes(book)[:2]).equals(before)


def test_reopening_keeps_both_versions(tmp_path: Path) -> None:
    book = make_book(tmp_path / "book", worked_loans())
    close_all(book, QUARTERS[:3])
    with pytest.raises(PeriodError, match="is closed"):
        close(book, PERIOD, clock=time.perf_counter)
    with pytest.raises(PeriodError, match="two people"):
        reopen(book, PERIOD, ["Ann"])
    reopened = reopen(book, PERIOD, ["Ann", "Bo"])
    assert [each.name for each in reopened] == ["2024-03.1", "2024-06.1"]
    assert [each.name for each in effective_closes(book)] == ["2023-12.1"]
    close_all(book, QUARTERS[1:3])
    assert [each.name for each in effective_closes(book)] == ["2023-12.1", "2024-03.2", "2024-06.2"]
    assert len(all_closes(book)) == 5
    lock(book, parse_close_period("2024-01"))
    with pytest.raises(PeriodError, match="is locked"):
        reopen(book, PERIOD, ["Ann", "Bo"])


def test_a_cell_that_states_no_entity_is_the_platforms(tmp_path: Path, closed: Book) -> None:
    book = make_book(tmp_path / "book", worked_loans())
    with book.writing() as step:
        step.add("cells", cells_table(book.read("loans")))
    close_all(book)
    assert trial_balance(book) == trial_balance(closed)


def test_a_period_cannot_be_skipped(tmp_path: Path) -> None:
    book = make_book(tmp_path / "book", worked_loans()[:1])
    close_all(book, QUARTERS[:1])
    with pytest.raises(PeriodError, match="2024-01 is not closed yet"):
        close(book, parse_close_period("2024Q2"), clock=time.perf_counter)


def test_a_failed_control_stops_the_close_and_names_the_loans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = make_book(tmp_path / "book", worked_loans())
    manifest = (book.path / "manifest.json").read_bytes()

    def second_fails(_at, _found, failed):  # type: ignore[no-untyped-def]
        failed[1] = loan_checks.CHECKS["cash received is posted once"]

    monkeypatch.setattr(loan_checks, "check_rows", second_fails)
    with pytest.raises(ControlFailed, match="loans 32769"):
        close_all(book, QUARTERS[:1])
    assert (book.path / "manifest.json").read_bytes() == manifest
    assert not (book.path / "closes").exists()


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failed_control_is_a_finding_and_no_wrong_call(
    failing: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 1, for one control as for several; a period that cannot be is 2."""
    make_book(tmp_path / "book", worked_loans())

    def some_fail(_at, _found, failed):  # type: ignore[no-untyped-def]
        failed[1] = sum(list(loan_checks.CHECKS.values())[:failing])

    monkeypatch.setattr(loan_checks, "check_rows", some_fail)
    assert main(["close", "2023Q4", "--book", str(tmp_path / "book")]) == 1
    assert "loans 32769" in capsys.readouterr().err
    assert main(["close", "2023Q5", "--book", str(tmp_path / "book")]) == 2


def test_a_ledger_that_drifts_from_its_loans_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = make_book(tmp_path / "book", worked_loans())
    wrong = {**controls.BALANCES, "stand_ready": "- guarantee_issued"}
    monkeypatch.setattr(controls, "BALANCES", wrong)
    close_all(book, QUARTERS[:1])
    with pytest.raises(ControlFailed, match="stand_ready: subledger = ledger"):
        close_all(book, QUARTERS[1:2])


def test_a_damaged_file_stops_the_close(tmp_path: Path) -> None:
    book = make_book(tmp_path / "book", worked_loans())
    close_all(book, QUARTERS[:1])
    copy = tmp_path / "copy"
    shutil.copytree(book.path, copy)
    facts = next((copy / "tables" / "facts").rglob("*.parquet"))
    content = bytearray(facts.read_bytes())
    content[len(content) // 2] ^= 1
    facts.write_bytes(content)
    with pytest.raises(Exception, match="has changed since it was published"):
        close_all(Book.open(copy), QUARTERS[1:2])


def test_co_funded_loans_post_to_the_cells_of_all_their_sources(tmp_path: Path) -> None:
    loans = worked_loans()[:2]
    book = make_book(tmp_path / "book", loans, source=[1, 2])
    with book.writing() as step:
        step.add("shares", make("shares", loan_id=[16385, 16385], source=[1, 2],
                                principal_minor=[6_000_00, 3_000_00]))  # fmt: skip
    close_all(book, QUARTERS[:1])
    rows = book.read("postings", folder="closes/2023-12.1").to_pylist()
    issued = {row["cell"]: row["amount_minor"] for row in rows
              if row["rule"] == 201 and row["amount_minor"] > 0}  # fmt: skip
    assert issued == {1: 169_60, 2: 254_40 + 84_80}
    alone = make_book(tmp_path / "alone", loans, source=[1, 2])
    close_all(alone, QUARTERS[:1])
    assert balances(book) == balances(alone)


def test_a_loan_of_no_cell_is_refused_by_name(tmp_path: Path) -> None:
    book = make_book(tmp_path / "book", worked_loans()[:1])
    with book.writing() as step:
        step.add("cells", make("cells", cell=[1], model=[2], product=[1], source=[1], entity=[1]))
    with pytest.raises(TapeError, match="loan 16385"):
        close_all(book, QUARTERS[:1])


def test_a_rescheduled_loan_goes_through_the_exact_form(tmp_path: Path) -> None:
    """New terms in April, then paid to the end: nothing is left but cash and results."""
    from usance.loan import exact
    from usance.loan.terms import Change

    loan = worked_loans()[0]
    old = loan.terms
    new = old.changed(
        terms_no=2, change=Change.RESCHEDULED, instalments=3, flat_fee_minor=0,
        guarantee_fee_minor=0, disbursed_on=date(2024, 4, 10), first_due_on=date(2024, 5, 10),
        principal_minor=4_500_00,
    )  # fmt: skip
    facts = [*loan.facts[:4], Fact(FactKind.TERMS_CHANGED, date(2024, 4, 10), 0, ref=50, arg=2)]
    owed = exact.replay([old, new], facts, date(2024, 7, 10)).view().settlement
    facts.append(Fact(FactKind.PAID, date(2024, 7, 10), owed, ref=51))
    book = make_book(tmp_path / "book", [replace(loan, facts=facts)])
    row = book.read("loans").to_pylist()[0]
    changed = row | {
        "terms_no": 2, "effective_on": date(2024, 4, 10), "disbursed_on": date(2024, 4, 10),
        "first_due_on": date(2024, 5, 10), "instalments": 3, "principal_minor": 4_500_00,
        "flat_fee_minor": 0, "guarantee_fee_minor": 0,
    }  # fmt: skip
    rows = {name: [changed[name]] for name in changed}
    with book.writing() as step:
        step.add("loans", make("loans", **rows), month=parse_month("2024-04"))
    close_all(book)
    chart = load_chart()
    sheet = {name for (_, name) in balances(book) if chart[name].kind.on_balance_sheet}
    assert sheet <= {"cash", "other_tax_payable", "prepaid"}


def test_facts_in_their_table_are_the_loans_facts() -> None:
    assert fact_rows([1], worked_loans()[:1]).num_rows == len(worked_loans()[0].facts)
