"""Measuring a book from the command line, and following a figure to its rows."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.measure import metric_oracle as oracle
from tests.measure.books import random_book
from usance.base.book import Book
from usance.base.parquet import read_parquet
from usance.base.tables import table
from usance.cli import main

AS_OF = ["--as-of", "2024-06-30"]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    made = Book.create(tmp_path / "book", currency="CNY", time_zone="Asia/Shanghai")
    with made.writing() as step:
        for name, data in random_book(4).items():
            step.add(name, data)
    return tmp_path / "book"


def test_a_book_is_measured_printed_and_kept(
    book: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call = ["measure", "book", str(book), *AS_OF, "--metric", "repeat_contribution"]
    assert main([*call, "--keep", "--json"]) == 0
    (reported, restated) = json.loads(capsys.readouterr().out)["data"]
    up, down = oracle.SINGLE["repeat_contribution"](oracle.book_of(random_book(4)))
    assert (reported["numerator"], reported["denominator"]) == (up, down)
    assert reported["value"] == up / down
    assert restated["series"] == "restated"
    assert (
        main(["measure", "book", str(book), *AS_OF, "--metric", "loans_originated", "--keep"]) == 0
    )
    assert "no data" not in capsys.readouterr().out
    kept = Book.open(book).read("metrics").to_pylist()
    assert [row["metric"] for row in kept] == ["loans_originated"] * 2 + ["repeat_contribution"] * 2
    assert main([*call, "--by", "model", "--out", str(tmp_path / "out" / "m.parquet")]) == 0
    assert re.search(r"model=tech_solutions +no data", capsys.readouterr().out)
    written = read_parquet(tmp_path / "out" / "m.parquet", table("metrics"))
    assert written.num_rows == 10


@pytest.mark.parametrize("damage", ["one bit", "cut", "gone"])
def test_damaged_files_are_named_and_nothing_is_measured(
    book: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    """A bit that is turned in a page of numbers makes no engine complain."""
    file = max(book.glob("tables/loans/**/*.parquet"), key=lambda each: each.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content if damage == "one bit" else content[: len(content) // 2])
    if damage == "gone":
        file.unlink()
    assert main(["measure", "book", str(book), *AS_OF, "--metric", "loans_originated"]) == 2
    told = capsys.readouterr()
    assert file.name in told.err
    assert "Restore it from a copy" in told.err
    assert told.out == ""


def test_curves_are_drawn(book: Path, tmp_path: Path) -> None:
    call = ["measure", "book", str(book), *AS_OF, "--metric", "vintage_30", "--by", "model"]
    assert main([*call, "--charts", str(tmp_path / "drawn")]) == 0
    names = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert "vintage_30-capital_heavy.svg" in names
    assert "vintage_30-ice.svg" not in names
    assert (tmp_path / "drawn" / "vintage_30-capital_heavy.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("metric", "by", "amount"),
    [
        ("delinquency_90", ["--by", "model"], "principal_minor"),
        ("outstanding_balance", ["--by", "institution"], "principal_minor"),
        ("origination_volume", ["--by", "region"], "principal_minor"),
        ("vintage_30", [], "net30_minor"),
        ("roll_rate", [], "principal_minor"),
        ("day_1_delinquency", [], "overdue_minor"),
    ],
)
def test_every_figure_leads_to_rows_that_add_up_to_it(
    book: Path, capsys: pytest.CaptureFixture[str], metric: str, by: list[str], amount: str
) -> None:
    assert main(["measure", "book", str(book), *AS_OF, "--metric", metric, *by, "--json"]) == 0
    results = [
        each
        for each in json.loads(capsys.readouterr().out)["data"]
        if each["series"] == "as_reported"
    ]
    assert any(each["numerator"] for each in results[:5])
    for each in results[:5]:
        words = each["rows"].replace("BOOK", str(book)).split()[1:]
        assert main([*words, "--limit", "100000"]) == 0
        rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
        assert sum(int(row[amount]) for row in rows) == each["numerator"]


def test_rows_with_moments_are_listed(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "rows", str(book), *AS_OF, "--metric", "approval_rate"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert rows
    assert all(row["booked_at"].startswith("2024-") for row in rows)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["book", "nowhere", *AS_OF], "neither a book nor"),
        (["book", "BOOK", "--as-of", "2024-06-31"], "does not exist"),
        (["book", "BOOK", *AS_OF, "--metric", "repeat"], "Did you mean 'regret'"),
        (["book", "BOOK", *AS_OF, "--period", "Q2"], "is no period"),
        (
            ["rows", "BOOK", *AS_OF, "--metric", "roll_rate", "--where", "bucket"],
            "names no segment",
        ),
        (["rows", "BOOK", *AS_OF, "--metric", "roll_rate", "--where", "bucket=77"], "no segment"),
        (["rows", "BOOK", *AS_OF, "--metric", "roll_rate", "--part", "half"], "unknown part"),
    ],
)
def test_a_wrong_call_says_how_to_go_on(
    book: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(["measure", *(str(book) if word == "BOOK" else word for word in words)]) == 2
    assert says in capsys.readouterr().err


def test_definitions_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "definitions"]) == 0
    assert "delinquency_90 v1" in capsys.readouterr().out
    assert main(["measure", "definitions", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["data"]
    assert {"metric", "version", "valid_from", "unit", "sentence"} == set(told[0])
