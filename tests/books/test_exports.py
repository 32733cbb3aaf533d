"""The books for other programs: every form says the same, and beancount accepts its own."""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beancount import loader
from beancount.core.data import Open, Transaction

from usance.base.book import Book
from usance.base.codes import Basis, Currency, IfrsAdjustment
from usance.base.dates import format_month, parse_month
from usance.base.errors import InputError
from usance.books.chart import load_chart
from usance.books.close.checklist import close
from usance.books.close.closes import effective_closes, postings_of, reopen
from usance.books.exports import BALANCE_COLUMNS, beancount_lines, export, trial_balance
from usance.books.group.documents import parse_facts
from usance.books.group.facts import table_of_facts
from usance.books.periods import parse_close_period
from usance.books.sample import sample_book

QUARTERS = ("2023Q4", "2024Q1", "2024Q2")
GROUP_FACTS = """
facts:
  - {id: 1, kind: opening_balance, entity: 1, on: 2023-09-30, lines: [
      {account: cash, amount: 50000}, {account: retained_earnings, amount: -50000}]}
  - {id: 2, kind: cost_incurred, entity: 1, on: 2024-02-10, amount: 800, function: marketing}
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The sample with some facts of the group, closed for three quarters, one of them twice."""
    made = sample_book(tmp_path_factory.mktemp("exports") / 'a "small" book')
    with made.writing() as step:
        step.add("group_facts", table_of_facts(parse_facts(GROUP_FACTS, where="facts.yaml")))
    for period in (*QUARTERS, "again"):
        if period == "again":
            reopen(made, parse_close_period("2024Q2"), ["Ann", "Bo"])
        close(made, parse_close_period(period.replace("again", "2024Q2")), clock=time.perf_counter)
    return made


@pytest.fixture(scope="module")
def out(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is exported of it."""
    folder = tmp_path_factory.mktemp("out") / "deep" / "export"
    written = export(book, folder)
    assert sorted(written) == sorted(folder.iterdir())
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def as_text(rows: pa.Table) -> list[dict[str, str]]:
    """Rows of a Parquet file as its CSV spells them."""
    names: dict[str, Any] = {
        "period": format_month,
        "basis": lambda code: Basis(code).label,
        "tag": lambda code: IfrsAdjustment(code).label,
        "currency": lambda code: Currency(code).label,
    }
    return [
        {name: names[name](value) if type(value) is int and name in names else str(value)
         for name, value in row.items()}
        for row in rows.to_pylist()
    ]  # fmt: skip


def test_only_standing_closes_are_exported(out: Path) -> None:
    assert sorted(path.name for path in out.glob("journals-*.csv")) == [
        "journals-2023-12.1.csv", "journals-2024-03.1.csv", "journals-2024-06.2.csv",
    ]  # fmt: skip


def test_csv_and_parquet_say_the_same(out: Path) -> None:
    for parquet in out.glob("*.parquet"):
        rows = pq.ParquetFile(parquet).read()
        assert rows.num_rows > 0
        assert rows_of(parquet.with_suffix(".csv")) == as_text(rows), parquet.name


def test_journals_are_the_ledger(book: Book, out: Path) -> None:
    chart = load_chart()
    for each in effective_closes(book):
        exported = pq.ParquetFile(out / f"journals-{each.name}.parquet").read()
        postings = book.read("postings", folder=each.folder)
        assert exported.select(postings.column_names).to_pydict() == postings.to_pydict()
        for row in exported.to_pylist():
            assert row["name"] == chart.by_number[row["account"]].name
        texts = dict(zip(*(book.read("journals", folder=each.folder)[name].to_pylist()
                           for name in ("journal_id", "text")), strict=True))  # fmt: skip
        assert all(row["text"] == texts[row["journal_id"]] for row in exported.to_pylist())


def test_the_trial_balance_is_the_sum_of_the_journals(book: Book, out: Path) -> None:
    sums: Counter[tuple[str, ...]] = Counter()
    for path in out.glob("journals-*.csv"):
        for row in rows_of(path):
            key = tuple(row[name] for name in ("entity", "basis", "tag", "account", "currency"))
            sums[key] += int(row["amount_minor"])
    rows = rows_of(out / "trial_balance.csv")
    assert tuple(rows[0]) == BALANCE_COLUMNS
    found = {tuple(row[name] for name in ("entity", "basis", "tag", "account", "currency")):
             int(row["amount_minor"]) for row in rows}  # fmt: skip
    assert found == {key: minor for key, minor in sums.items() if minor}
    assert sum(found.values()) == 0
    assert [
        {name: str(value) for name, value in row.items()} for row in trial_balance(book)
    ] == rows


def test_the_trial_balance_of_an_earlier_close(book: Book) -> None:
    first = effective_closes(book)[0]
    earlier = sum(
        row["amount_minor"] for row in trial_balance(book, first) if row["name"] == "loans"
    )
    assert earlier == 18_000_00


def loaded(path: Path) -> list[Any]:
    entries, errors, _ = loader.load_file(str(path))
    assert errors == []
    return list(entries)


def test_beancount_accepts_its_file_and_adds_up_alike(book: Book, out: Path) -> None:
    ours: Counter[tuple[str, str]] = Counter()
    for row in trial_balance(book):
        tag = "" if row["tag"] == "none" else f".{row['tag'].upper()}"
        ours[row["name"], row["currency"] + tag] += row["amount_minor"]
    found: Counter[tuple[str, str]] = Counter()
    for each in loaded(out / "books.beancount"):
        for posting in each.postings if isinstance(each, Transaction) else ():
            name = _snake(posting.account.rsplit(":", 1)[-1])
            assert posting.units is not None
            assert posting.units.number is not None
            found[name, posting.units.currency] += int(posting.units.number * 100)
    assert {key: minor for key, minor in found.items() if minor} == dict(ours)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]


def test_a_transaction_is_a_journal(book: Book, out: Path) -> None:
    transactions = [each for each in loaded(out / "books.beancount")
                    if isinstance(each, Transaction)]  # fmt: skip
    postings = postings_of(book, effective_closes(book))
    journals = Counter(map(str, postings["journal_id"].to_pylist()))
    assert {each.meta["journal"]: len(each.postings) for each in transactions} == journals


def test_accounts_are_open_before_their_first_entry(book: Book) -> None:
    """An opening balance lies before the first close."""
    lines = list(beancount_lines(book))
    assert lines[0] == 'option "title" "a \\"small\\" book"'
    assert any(line.startswith("2023-09-30 open ") for line in lines)
    assert any(line.startswith('2023-09-30 * "opening balance') for line in lines)


def test_beancount_refuses_a_ledger_that_does_not_balance(out: Path, tmp_path: Path) -> None:
    """The check can fail: one amount is changed."""
    text = (out / "books.beancount").read_text()
    assert text.count(" 508.80 CNY\n") == 1
    broken = tmp_path / "broken.beancount"
    broken.write_text(text.replace(" 508.80 CNY\n", " 508.90 CNY\n"))
    _, errors, _ = loader.load_file(str(broken))
    assert errors


def test_a_book_without_closes_exports_nothing_wrong(tmp_path: Path) -> None:
    book = sample_book(tmp_path / "book")
    written = export(book, tmp_path / "out")
    assert [path.name for path in written] == [
        "trial_balance.csv", "trial_balance.parquet", "books.beancount",
    ]  # fmt: skip
    assert rows_of(written[0]) == []
    assert loaded(written[-1]) == []


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    book = sample_book(tmp_path / "book")
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    for out in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with pytest.raises(InputError, match=r"cannot be written: .* Choose another folder"):
            export(book, out)


def test_an_export_is_the_same_twice(book: Book, out: Path, tmp_path: Path) -> None:
    for path in export(book, tmp_path):
        assert path.read_bytes() == (out / path.name).read_bytes(), path.name


def months(entries: list[Any]) -> Iterator[int]:
    for each in entries:
        if not isinstance(each, Open):
            yield parse_month(f"{each.date:%Y-%m}")


def test_entries_lie_in_closed_months(out: Path) -> None:
    entries = loaded(out / "books.beancount")
    assert max(months(entries)) == parse_month("2024-06")
    assert max(each.date for each in entries) + timedelta(days=1) == date(2024, 7, 1)
