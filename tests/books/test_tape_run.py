"""A portfolio someone brings: its books, its longer tape, its corrections, its assumptions."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.books.tape_books import plain, write_csv, write_parquet
from tests.books.worked import PARAMETERS
from usance.base.book import Book
from usance.base.dates import parse_month, to_day
from usance.base.errors import UsanceError
from usance.books.chart import load_chart
from usance.books.close.checklist import close
from usance.books.close.closes import effective_closes, reopen
from usance.books.errors import PeriodError, TapeError
from usance.books.exports import trial_balance
from usance.books.loans.amounts import SUBLEDGER
from usance.books.loans.positions import FIELDS
from usance.books.periods import parse_close_period
from usance.books.tape.book import TAPE
from usance.books.tape.columns import COLUMNS, FORMER_NAMES
from usance.books.tape.file import read_tape
from usance.books.tape.positions import TapePositions, tape_positions
from usance.books.tape.run import run_tape
from usance.cli import main

EXAMPLE = Path(__file__).parents[2] / "demo" / "files" / "books" / "tape.csv"


def run(path: Path, out: Path, **options: Any) -> Book:
    run_tape(path, out=out, clock=time.perf_counter, parameters=PARAMETERS, **options)
    return Book.open(out)


def balances(book: Book) -> dict[str, int]:
    return {row["name"]: row["amount_minor"] for row in trial_balance(book) if row["tag"] == "none"}


def test_the_worked_loans_as_a_lender_writes_them(tmp_path: Path) -> None:
    """A1, A2, B1, B2 and C with few columns: the totals of the worked examples."""
    left = balances(run(EXAMPLE, tmp_path / "book", every="quarter"))
    profit = 240_00 - 4_483_80 + 462_61 + (-6_537_50 + 110_25) + 94_79
    assert left["cash"] == profit == -sum(left[name] for name in left if name != "cash")
    assert left["guarantee_revenue"] == -160_00 - 240_00
    assert left["heavy_facilitation"] + left["heavy_servicing"] == -80_00 - 110_08
    assert left["light_facilitation"] + left["light_servicing"] == -176_83
    assert left["other_platform_fees"] == -10_00
    assert left["financing_income"] == -462_61 - 430_90
    assert left["contingent_provision"] == 4_590_00
    assert left["financial_provision"] == 169_60
    assert left["contract_provision"] == 74_28 + 92_04
    assert left["loan_provision"] == 6_858_15
    chart = load_chart()
    assert [name for name in left if chart[name].kind.on_balance_sheet] == ["cash"]


def test_a_longer_tape_carries_the_books_on(tmp_path: Path) -> None:
    rows = plain()
    first = run(write_csv(tmp_path / "t.csv", rows[:2]), tmp_path / "grown")
    assert len(effective_closes(first)) == 2
    grown = run(write_csv(tmp_path / "t.csv", rows), tmp_path / "grown")
    at_once = run(write_csv(tmp_path / "t.csv", rows), tmp_path / "once")
    assert trial_balance(grown) == trial_balance(at_once)
    for name in ("tape", "subledger", "journals", "refs"):
        assert grown.digest(name) == at_once.digest(name)
    assert run_tape(tmp_path / "t.csv", out=grown.path, clock=time.perf_counter) == []


def test_a_new_name_gets_the_next_number(tmp_path: Path) -> None:
    rows = plain()
    new = {**rows[0], "loan_ref": "0-new", "month": "2024-02", "disbursed_on": date(2024, 2, 2)}
    run(write_csv(tmp_path / "t.csv", rows[:1]), tmp_path / "book")
    book = run(write_csv(tmp_path / "t.csv", [new, *rows[:2]]), tmp_path / "book")
    assert book.read("refs").to_pydict() == {"loan_id": [1, 2], "loan_ref": ["A-1", "0-new"]}


def test_a_closed_month_is_corrected_by_reopening_it(tmp_path: Path) -> None:
    rows = plain()
    book = run(write_csv(tmp_path / "t.csv", rows), tmp_path / "book")
    changed = [dict(row) for row in rows]
    changed[2]["principal"] = "310.00"
    path = write_csv(tmp_path / "t.csv", changed)
    with pytest.raises(PeriodError, match="2024-03 is closed, and the tape has other rows"):
        run(path, tmp_path / "book")
    assert len(effective_closes(Book.open(tmp_path / "book"))) == 4
    reopen(book, parse_close_period("2024-03"), ["one", "two"])
    again = run(path, tmp_path / "book")
    assert [each.name for each in effective_closes(again)][2:] == ["2024-03.2", "2024-04.2"]
    assert balances(again) == balances(run(path, tmp_path / "new"))


def test_a_book_of_a_tape_is_closed_like_any_other(tmp_path: Path) -> None:
    """Without the loans at hand, a close reads the months of the book again."""
    rows = plain()
    by_run = run(write_csv(tmp_path / "t.csv", rows), tmp_path / "run")
    book = run(write_csv(tmp_path / "t.csv", rows), tmp_path / "close")
    reopen(book, parse_close_period("2024-02"), ["one", "two"])
    for month in ("2024-02", "2024-03", "2024-04"):
        close(book, parse_close_period(month), clock=time.perf_counter, parameters=PARAMETERS)
    assert trial_balance(book) == trial_balance(by_run)
    held = book.read(SUBLEDGER, folder="closes/2024-04.2").drop_columns(["close_no"])
    assert held == by_run.read(SUBLEDGER, folder="closes/2024-04.1").drop_columns(["close_no"])


def test_a_book_with_facts_takes_no_tape(tmp_path: Path) -> None:
    from tests.books.small_book import make_book, worked_loans

    make_book(tmp_path / "book", worked_loans())
    with pytest.raises(TapeError, match="keeps its loans with their facts"):
        run(write_csv(tmp_path / "t.csv", plain()), tmp_path / "book")


def test_a_book_stays_in_its_currency(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", plain())
    assert run(path, tmp_path / "book", currency="EUR", every="quarter").manifest.currency == "EUR"
    with pytest.raises(TapeError, match="the book is in EUR, not in USD"):
        run(path, tmp_path / "book", currency="USD")
    assert run(path, tmp_path / "book", every="quarter").manifest.currency == "EUR"


def test_csv_and_parquet_in_any_form_are_the_same(tmp_path: Path) -> None:
    """Names or numbers, months as text, number or day, minor or major units."""
    rows = plain()
    text = run(write_csv(tmp_path / "t.csv", rows), tmp_path / "csv", every="quarter")
    months = [parse_month(str(row["month"])) for row in rows]
    plain_numbers = pa.table({
        "month": pa.array(months, pa.int16()), "loan_id": pa.array([1] * 4, pa.int64()),
        "model": pa.array([2] * 4, pa.int8()), "product": pa.array([1.0] * 4).cast(pa.int16()),
        "disbursed_on": pa.array([to_day(date(2024, 1, 10))] * 4, pa.int32()).view(pa.date32()),
        "originated_minor": [90000] * 4, "principal_minor": [90000, 60000, 30000, 0],
        "service_fee_minor": [3180.0] * 4,
        "paid_service_minor": [0, 1060, 2120, 3180],
        "term_days": [91] * 4, "dpd": [0] * 4, "status": [0, 0, 0, 1], "other": ["x"] * 4,
    })  # fmt: skip
    path = write_parquet(tmp_path / "t.parquet", plain_numbers)
    assert run(path, tmp_path / "pq", every="quarter").digest("subledger") == text.digest(
        "subledger"
    )
    zipped = tmp_path / "t.csv.gz"
    with pa.CompressedOutputStream(str(zipped), "gzip") as file:
        file.write((tmp_path / "t.csv").read_bytes())
    assert run(zipped, tmp_path / "gz", every="quarter").digest("subledger") == text.digest(
        "subledger"
    )


def test_the_table_of_the_book_is_a_tape_itself(tmp_path: Path) -> None:
    """The declared `tape` table with the columns beside it is read as it is."""
    book = run(write_csv(tmp_path / "t.csv", plain()), tmp_path / "book", every="quarter")
    table = book.read("tape")
    assert table.column_names == list(book.read(TAPE).column_names[: len(table.column_names)])
    assert table["bucket_prev"].to_pylist() == [-1, 0, 0, 0]
    assert table["principal_prev_minor"].to_pylist() == [0, 90000, 60000, 30000]
    more = {"originated_minor": [90000] * 4, "model": ["capital_light"] * 4,
            "product": ["instalment"] * 4, "service_fee_minor": [3180] * 4,
            "disbursed_on": [date(2024, 1, 10)] * 4,
            "paid_service_minor": [0, 1060, 2120, 3180], "term_days": [91] * 4}  # fmt: skip
    for name, values in more.items():
        table = table.append_column(name, pa.array(values))
    again = run(write_parquet(tmp_path / "t.parquet", table), tmp_path / "again", every="quarter")
    assert again.digest("subledger") == book.digest("subledger")


def test_cells_name_entities_and_accounts(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_text(
        "cell,model,product,source,entity,payout_cash\n7,capital_heavy,instalment,1,1,restricted_cash\n"
        "8,capital_light,instalment,3,,\n9,on_balance_sheet,instalment,2,,\n"
    )
    book = run(EXAMPLE, tmp_path / "book", every="quarter", policies=tmp_path)
    assert book.read("cells")["cell"].to_pylist() == [7, 8, 9]
    left = balances(book)
    assert left["restricted_cash"] == -6_090_00
    by_number = [
        {name: cell for name, cell in row.items() if name not in ("model", "product", "source")}
        | {"cell": 8}
        for row in plain()
    ]
    other = run(
        write_csv(tmp_path / "t.csv", by_number),
        tmp_path / "other",
        policies=tmp_path,
        every="quarter",
    )
    assert set(other.read("tape")["cell"].to_pylist()) == {8}


def seen(tmp_path: Path, rows: list[dict[str, object]]) -> tuple[TapePositions, Mapping[str, Any]]:
    tape = read_tape(write_csv(tmp_path / "seen.csv", rows), currency="CNY")
    assert not tape.problems
    made = tape_positions(tape, np.full(len(tape), 60))
    return made, {name: made.at[:, place].tolist() for place, name in enumerate(FIELDS)}


def late(**changes: object) -> list[dict[str, object]]:
    """A loan of our own that pays once, then never; charged off in September."""
    same = {"loan_id": 1, "model": "on_balance_sheet", "product": 1, "cohort": "2024-01",
            "originated": "900.00", "upfront_fee": "9.10", "term_days": 182}  # fmt: skip
    dpd = [0, 0, 0, 30, 61, 91, 122, 153, 183, 214]
    interest = ["0", "9", "18", "27", "36", "45", "54", "63", "72", "81"]
    made: list[dict[str, object]] = []
    for place, (days, earned) in enumerate(zip(dpd, interest, strict=True)):
        made.append(same | {
            "month": f"2024-{place + 1:02}", "principal": "900" if place == 0 else "750",
            "dpd": days, "status": "charged_off" if place > 7 else "active",
            "earned_interest": earned, "paid_interest": "9" if place else "0",
        } | changes)  # fmt: skip
    return made


def test_nothing_is_earned_past_sixty_days(tmp_path: Path) -> None:
    """The month that passes them counts as told; later ones stay there."""
    _, field = seen(tmp_path, late())
    assert field["earned_interest"] == [0, 900, 1800, 2700, *[3600] * 6]
    assert field["earned_days"] == [0, 29, 60, 90, *[120] * 6]
    assert field["earned_fee"] == [0, 145, 300, 450, *[600] * 6]
    assert field["event"] == [0] * 8 + [2, 2]


def test_a_cure_lets_it_earn_again(tmp_path: Path) -> None:
    rows = late(status="active")
    for row in rows[6:]:
        row["dpd"] = 0
    _, field = seen(tmp_path, rows)
    assert field["earned_interest"] == [0, 900, 1800, 2700, 3600, 3600, 5400, 6300, 7200, 8100]


def test_cash_of_the_month_of_a_charge_off_came_before_it(tmp_path: Path) -> None:
    rows = late()
    for place, row in enumerate(rows):
        row["paid_interest"] = str(9 + max(0, place - 7))
    made, field = seen(tmp_path, rows)
    assert field["before_interest"][-3:] == [900, 1000, 1000]
    assert field["paid_interest"][-3:] == [900, 1000, 1100]
    assert made.recovered.tolist() == [0] * 9 + [100]
    assert made.charged_off.tolist() == [0] * 8 + [75000, 0]
    rows[8] |= {"before_interest": "9"}
    for row in rows:
        row.setdefault("before_interest", "")
    made, field = seen(tmp_path, rows)
    assert field["before_interest"][-2:] == [900, 900]
    assert made.recovered.tolist() == [0] * 8 + [100, 100]


def test_the_day_of_a_charge_off_ends_the_earning(tmp_path: Path) -> None:
    rows = [row | {"dpd": 0, "event_on": ""} for row in late()]
    rows[8]["event_on"] = "2024-09-10"
    _, field = seen(tmp_path, [row | {"term_days": 400} for row in rows])
    assert field["earned_days"][-3:] == [213, 223, 223]


def test_notes_say_what_was_assumed(tmp_path: Path) -> None:
    notes = seen(tmp_path, late())[0].notes
    assert notes[0] == "upfront fees of 1 loans without terms are earned by days"
    assert "no adjustment to IFRS" in notes[1]
    older, _ = seen(tmp_path, [row for row in plain() if row["month"] != "2024-01"])
    assert "1 loans were made before the tape begins" in older.notes[0]


def test_what_is_due_after_a_year_by_days(tmp_path: Path) -> None:
    _, field = seen(tmp_path, [row | {"term_days": 365 * 2 + 21} for row in plain()[:1]])
    assert field["non_current_principal"] == [45000]
    assert field["non_current_service"] == [1590]


@pytest.mark.parametrize(("unit", "cell"), [("", "12.34"), ("_minor", "1234")])
def test_former_names_are_the_same_columns(unit: str, cell: str, tmp_path: Path) -> None:
    told = {f"{name}{unit}": cell for name in FORMER_NAMES}
    _, field = seen(tmp_path, [row | told for row in plain()[:1]])
    assert [field[name] for name in FORMER_NAMES.values()] == [[1234]] * len(FORMER_NAMES)


def test_effective_interest_with_terms(tmp_path: Path) -> None:
    """B1 on 31 March: 45.12 of its fee by effective interest, whether the rate is told or not."""
    row = {
        "month": "2024-03", "loan_ref": "B1", "model": "on_balance_sheet", "product": "instalment",
        "disbursed_on": "2023-12-31", "originated": "9000", "principal": "4500", "dpd": 0,
        "status": "active", "upfront_fee": "63.60", "term_days": 182, "rate_ppm": 180_000,
        "instalments": 6, "first_due_on": "2024-01-31", "convention": 2,
    }  # fmt: skip
    assert seen(tmp_path, [row])[1]["earned_fee"] == [45_12]
    assert seen(tmp_path, [row | {"eir_ppb": 17_111_826}])[1]["earned_fee"] == [45_12]
    assert seen(tmp_path, [row | {"instalments": ""}])[1]["earned_fee"] == [31_80]


def test_a_tape_with_names_of_its_own(tmp_path: Path) -> None:
    """Other names, amounts and days, told by a mapping: the same books."""
    plain_path = write_csv(tmp_path / "t.csv", plain())
    with plain_path.open(newline="") as file:
        head, *rows = list(csv.reader(file))
    amounts = ("originated", "principal", "service_fee", "paid_service")
    money = [at for at, name in enumerate(head) if name in amounts]
    days = [at for at, name in enumerate(head) if name == "disbursed_on"]
    for row in rows:
        for at in money:
            row[at] = row[at].replace(".", ",")
        for at in days:
            row[at] = ".".join(reversed(row[at].split("-")))
    with (tmp_path / "own.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[f"Feld {name}" for name in head], *rows])
    columns = ", ".join(f"{name}: Feld {name}" for name in head)
    text = f'columns: {{{columns}}}\namounts: "1234,56"\ndates: "%d.%m.%Y"\n'
    (tmp_path / "map.yaml").write_text(text)
    own = run(tmp_path / "own.csv", tmp_path / "own", mapping=tmp_path / "map.yaml")
    assert balances(own) == balances(run(plain_path, tmp_path / "book"))
    # One day that does not exist, and one amount in another notation.
    for at, cell, told in (
        (days[0], "31.02.2024", "line 2: disbursed_on: '31.02.2024' is not a date"),
        (money[0], "900.00", "'900.00' (line 2). Write it as 1234,56, or change amounts"),
    ):
        wrong = [[*row] for row in rows]
        wrong[0][at] = cell
        with (tmp_path / "wrong.csv").open("w", newline="") as file:
            csv.writer(file).writerows([[f"Feld {name}" for name in head], *wrong])
        with pytest.raises(UsanceError) as caught:
            run(tmp_path / "wrong.csv", tmp_path / "wrong", mapping=tmp_path / "map.yaml")
        assert told in str(caught.value)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = write_csv(tmp_path / "t.csv", plain()), tmp_path / "book"
    call = ["books", "run", str(path), "--every", "quarter", "--out", str(out)]
    assert main([*call, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["data"]
    assert [each["close"] for each in told["closes"]] == ["2024-03.1"]
    assert all(control["holds"] for each in told["closes"] for control in each["controls"])
    assert main(call) == 0
    assert "nothing new" in capsys.readouterr().out
    assert main(["books", "loan", "1", "--book", str(out)]) == 0
    assert main(["books", "run", str(tmp_path / "no.csv"), "--out", str(out)]) == 2


def test_the_reference_lists_every_column() -> None:
    page = (EXAMPLE.parents[3] / "docs" / "reference" / "books-tape.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    assert lines == [column.line for column in COLUMNS.values()]
