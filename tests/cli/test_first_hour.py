"""What new users stumbled over stays mended: each of these once ended in a fault or misled."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

import usance as package
from tests.books.tape_books import plain, write_csv
from tests.cli.answers import Usance
from usance.base.atomic_files import check_file_place, check_folder_place
from usance.base.codes import FactKind
from usance.base.csv_lines import row_lines, row_place
from usance.base.errors import CodeError, DateError, DocumentError, FileRefused, Problems
from usance.loan import Fact, Terms, replay
from usance.loan.errors import TermsError

TERMS = Terms(
    principal_minor=10_000_00, rate_ppm=180_000, instalments=12, disbursed_on=date(2024, 1, 15),
    first_due_on=date(2024, 2, 15),
)  # fmt: skip


def test_a_period_of_a_tape_without_rows_is_refused(usance: Usance, tmp_path: Path) -> None:
    write_csv(tmp_path / "tape.csv", plain())
    assert usance("books run tape.csv --out book").code == 0
    for call in ("close 2024-05 --book book", "books statements 2024-05 --book book"):
        said = usance(call)
        assert said.code == 2
        assert "the tape has no rows of 2024-05; its last month is 2024-04" in said.err
        assert "usance books run TAPE --out book" in said.err
        assert "Close it first" not in said.err


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            "measure rows book --metric x --as-of 2024-06-30 --limit -3",
            "greater than or equal to 0",
        ),
        ("measure book book --as-of 2024-06-30 --charts file", "--charts: file is a file"),
        ("measure book book --as-of 2024-06-30 --out book", "--out: book is a folder"),
        ("books run tape.csv --out file/book", "--out: file is a file"),
        ("books run tape.csv --out /proc/none/book", "/proc/none"),
        ("assess train book --target bad --out model", "book: is a folder. Name a file"),
    ],
)
def test_places_and_numbers_are_checked_before_the_work(
    usance: Usance, tmp_path: Path, call: str, says: str
) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "file").write_text("")
    write_csv(tmp_path / "tape.csv", plain())
    said = usance(call)
    assert said.code == 2, said
    assert says in said.err.replace(f"{tmp_path}/", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_nobody_may_write_in_is_refused(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(FileRefused, match="may not be written in"):
        check_folder_place(tmp_path / "closed" / "book", "--out")


def test_a_place_that_can_be_made_is_fine(tmp_path: Path) -> None:
    check_folder_place(tmp_path / "a" / "b", "--out")
    check_file_place(tmp_path / "a" / "b.csv", "--out")
    assert list(tmp_path.iterdir()) == []


def test_a_loan_is_found_by_the_name_its_tape_gave_it(usance: Usance, tmp_path: Path) -> None:
    write_csv(tmp_path / "tape.csv", plain())
    assert usance("books run tape.csv --out book").code == 0
    shown = usance("books loan A-1 --book book")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("loan A-1 (ln_")
    told = usance("books loan A-1 --book book --json").data
    assert told["loan_ref"] == "A-1"
    same = usance(f"books loan {told['loan_id']} --book book --json").data
    assert same == told
    wrong = usance("books loan A-2 --book book")
    assert wrong.code == 2
    assert "the book has no loan 'A-2'. Did you mean 'A-1'?" in wrong.err


def test_lines_are_counted_as_an_editor_does(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('a,b\n\n1,"x\ny"\n2,z\n\n3,z\n')
    lines = file.read_text().splitlines()
    assert [lines[at - 1] for at in row_lines(file, 3)] == ['1,"x', "2,z", "3,z"]
    assert row_place(file, 2) == f"{file} line 5"
    file.write_bytes(b"a,b\r\n1,2\r\n3,4\r\n")
    assert row_lines(file, 2).tolist() == [2, 3]
    assert row_place(tmp_path / "a.parquet", 2) == f"{tmp_path / 'a.parquet'} row 2"


def test_problems_alike_are_three_examples_and_a_count() -> None:
    rows = [DocumentError(f"month is '{n}'", where=f"a.csv line {n}", fix="Write it") for n in
            range(2, 1003)]  # fmt: skip
    other = DocumentError("balance is 'x'", where="a.csv line 9", fix="Write it")
    said = str(Problems([*rows, other], where="a.csv")).splitlines()
    assert said[0] == "a.csv: 1002 problems"
    assert said[3] == "- a.csv line 4: month is '4'. Write it."
    assert said[4] == "  … and 998 more like these"
    assert said[5] == "- a.csv line 9: balance is 'x'. Write it."
    assert len(said) == 6


def test_modules_and_names_are_listed() -> None:
    assert {"replay", "Terms", "documents", "quote", "__doc__"} <= set(dir(package.loan))
    assert {"loan", "books", "__version__"} <= set(dir(package))
    for module in ("documents", "kernel_loan"):
        assert getattr(package.loan, module).__name__ == f"usance.loan.{module}"
    with pytest.raises(AttributeError, match="has no attribute 'lona'"):
        _ = package.lona


def test_facts_and_days_as_people_write_them() -> None:
    facts = [
        Fact("disbursed", "2024-01-15", 10_000_00, ref=1),
        Fact("paid", "2024-02-15", 916_80, ref=2),
    ]
    assert facts[1] == Fact(FactKind.PAID, date(2024, 2, 15), 916_80, ref=2)
    assert facts[1]._replace(ref=3).kind is FactKind.PAID
    for form in ("kernel", "exact"):
        assert replay(TERMS, facts, "2024-04-01", form=form).view().days_past_due == 17
    with pytest.raises(CodeError, match="Did you mean 'paid'"):
        Fact("payed", "2024-02-15", 1)
    with pytest.raises(DateError, match=r"as_of: '1.6.2024' is not a date. Write YYYY-MM-DD"):
        replay(TERMS, facts, "1.6.2024")
    with pytest.raises(DateError, match="known_at: 2024-06-01 has no offset from UTC"):
        replay(TERMS, facts, "2024-06-01", "2024-06-01")
    assert replay(TERMS, facts, "2024-04-01", "2024-06-01T00:00:00Z").view().days_past_due == 17
    for terms, given, says in (
        ("terms.yaml", facts, "is no Terms"), (None, facts, "None is no Terms"),
        (TERMS, None, "None is no Fact"), (TERMS, "paid", "'p' is no Fact"),
    ):  # fmt: skip
        with pytest.raises(TermsError, match=says):
            replay(cast(Any, terms), cast(Any, given), "2024-06-01")


@pytest.mark.slow
def test_notes_are_numbers_and_say_their_period(usance: Usance) -> None:
    usance("books sample book")
    for period in ("2023Q4", "2024Q1", "2024Q2"):
        assert usance(f"close {period} --book book").code == 0
    notes = usance("books notes 2024Q2 --book book --json")
    assert notes.code == 0, notes
    values = [row["value"] for row in json.loads(notes.out)["data"]["rows"] if "value" in row]
    assert values
    assert all(isinstance(value, (int, float)) for value in values)
    shown = usance("books notes 2024Q2 --book book").out
    assert "Changes in equity" in shown
    assert "_" not in shown
