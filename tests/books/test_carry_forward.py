"""A close begins with the sums of loans that were over: the result is that of reading all again."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.books.small_book import MICROSECONDS, QUARTERS, make_book, worked_loans
from tests.books.worked import HEAVY, LIGHT, Worked, drawn, paid_on_time
from usance.base.book import Book
from usance.base.codes import FactKind, FundingModel
from usance.base.columns import arrays, make, sort
from usance.base.dates import to_day
from usance.base.errors import CorruptFile
from usance.base.tables import table
from usance.books.close.carry_forward import open_loans_path
from usance.books.close.checklist import close
from usance.books.close.closes import effective_closes, reopen
from usance.books.closed_books import amounts_at, subledger_rows
from usance.books.loans.amounts import AMOUNTS, SUBLEDGER, SUMS
from usance.books.loans.files import is_among
from usance.books.loans.journal import loan_journal
from usance.books.loans.loans_with_facts import LoansWithFacts
from usance.books.periods import parse_close_period
from usance.loan import Fact, schedule

SETTLED = 16384 + 1
"""Paid to the end on 2024-05-15."""
LIGHT_ID = 6 * 16384 + 1


def loans() -> list[Worked]:
    """The worked ones, and one of capital light that is paid to the end in February."""
    whole = sum(each.principal for each in schedule(LIGHT))
    early = [drawn(LIGHT), Fact(FactKind.PAID, date(2024, 2, 1), whole + 300_00, ref=30)]
    return [*worked_loans(), Worked(FundingModel.CAPITAL_LIGHT, LIGHT, early)]


def late(book: Book, loan_id: int, booked: date, *facts: Fact) -> None:
    """Facts that come in later than they are true."""
    days = [to_day(fact.effective_on) for fact in facts]
    rows = make(
        "facts", loan_id=[loan_id] * len(facts), effective_on=days,
        kind=[int(fact.kind) for fact in facts], ref=[fact.ref for fact in facts],
        amount_minor=[fact.amount_minor for fact in facts], arg=[fact.arg for fact in facts],
        booked_at=[to_day(booked) * MICROSECONDS] * len(facts),
    )  # fmt: skip
    with book.writing() as step:
        step.add("facts", sort(rows, table("facts")), month=booked.year * 12 + booked.month - 23641)


def close_quarter(book: Book, text: str, *, whole: bool = False) -> None:
    period = parse_close_period(text)
    end = datetime(*period.last_day.timetuple()[:3], 23, 59, tzinfo=UTC)
    close(book, period, known_at=end, clock=time.perf_counter, whole=whole)


def told(book: Book) -> dict[str, pa.Table]:
    """What closes say, but for the subledger."""
    return {
        f"{each.name} {name}": book.read(table_, folder=each.folder)
        for each in effective_closes(book)
        for name, table_ in (("sums", SUMS), ("postings", "postings"), ("estimates", "estimates"))
    }


def closed(folder: Path, change: Callable[[Book], None], *, whole: bool) -> Book:
    """A book closed by quarters; before the third one something changes."""
    book = make_book(folder, loans())
    for quarter in QUARTERS:
        if quarter == "2024Q3":
            change(book)
        close_quarter(book, quarter, whole=whole)
    return book


def nothing(_book: Book) -> None:
    """Nothing comes late."""


def paid_again(book: Book) -> None:
    """Money for a loan that is over, and one of another quarter that was never told."""
    late(book, SETTLED, date(2024, 7, 3), Fact(FactKind.PAID, date(2024, 7, 2), 25_00, ref=70))
    late(book, LIGHT_ID, date(2024, 8, 3), Fact(FactKind.PAID, date(2024, 1, 20), 10_00, ref=70))


def bounced(book: Book) -> None:
    """The last payment of a loan that is over did not go through: it is not over at all."""
    late(book, SETTLED, date(2024, 7, 20), Fact(FactKind.REVERSED, date(2024, 7, 20), 0, 71, 40))


def told_under_an_old_date(book: Book) -> None:
    """A file that comes after a close and says it was booked before."""
    late(book, SETTLED, date(2024, 6, 2), Fact(FactKind.PAID, date(2024, 6, 1), 12_00, ref=72))


def changed(book: Book) -> None:
    """Terms of a loan that is open change."""
    heads = book.read("loans")
    rows = arrays(heads)
    own = int(np.flatnonzero(rows["loan_id"] == 2 * 16384 + 1)[0])
    again = heads.slice(own, 1).set_column(
        heads.column_names.index("terms_no"), heads.schema.field("terms_no"),
        pa.array([2], heads.schema.field("terms_no").type),
    )  # fmt: skip
    with book.writing() as step:
        step.add("loans", again, month=654)


def paused(book: Book) -> None:
    """Interest of a loan that is over is paused: it goes through the exact form."""
    day = to_day(date(2024, 8, 2))
    late(book, SETTLED, date(2024, 8, 1),
         Fact(FactKind.INTEREST_PAUSED, date(2024, 8, 1), 0, ref=73, arg=day))  # fmt: skip


@pytest.mark.parametrize(
    "change", [nothing, paid_again, bounced, told_under_an_old_date, paused, changed]
)
def test_closes_say_what_they_say_if_every_loan_is_read(
    change: Callable[[Book], None], tmp_path: Path
) -> None:
    carried = closed(tmp_path / "carried", change, whole=False)
    whole = closed(tmp_path / "whole", change, whole=True)
    assert told(carried) == told(whole)
    ids = np.unique(arrays(whole.read("loans", ["loan_id"]))["loan_id"])
    for each in effective_closes(whole):
        wanted = subledger_rows(whole, each, AMOUNTS)[1]
        assert (amounts_at(carried, each, AMOUNTS, ids) == wanted).all(), each.name
    for loan_id in ids.tolist():
        assert list(loan_journal(carried, loan_id)) == list(loan_journal(whole, loan_id))


def rows_of(book: Book, name: str) -> dict[int, int]:
    """The loans in a subledger, and whether each is over."""
    rows = book.read(
        SUBLEDGER, ["loan_id", "is_fully_settled"], folder=f"closes/{name}"
    ).to_pylist()
    return {row["loan_id"]: row["is_fully_settled"] for row in rows}


def test_loans_that_are_over_are_read_again_only_when_a_fact_wakes_them(tmp_path: Path) -> None:
    book = closed(tmp_path / "book", paid_again, whole=False)
    assert rows_of(book, "2024-03.1")[LIGHT_ID] == 1
    june, september, december = (rows_of(book, f"2024-{month}.1") for month in ("06", "09", "12"))
    assert LIGHT_ID not in june
    assert june[SETTLED] == 1
    assert september[SETTLED] == september[LIGHT_ID] == 1
    assert SETTLED not in december
    # A payout and a charge-off are never over: what is recovered may come any day.
    assert {2 * 16384 + 1, 4 * 16384 + 1, 5 * 16384 + 1} <= set(december)


def test_what_is_carried_is_checked_and_can_be_left_alone(tmp_path: Path) -> None:
    """Other policies, or a file that is not what it was: then every loan is read."""
    book = make_book(tmp_path / "book", loans())
    for quarter in QUARTERS[:3]:
        close_quarter(book, quarter)
    kept = book.path / "closes" / "2024-06.1" / "carry_forward.json"
    content = json.loads(kept.read_bytes())
    for name, value in (("policies", "others"), ("files", [*content["files"], "0" * 64])):
        other = _with(book, tmp_path / name, {**content, name: value})
        close_quarter(other, "2024Q3")
        assert len(rows_of(other, "2024-09.1")) == len(loans())
    close_quarter(book, "2024Q3")
    assert len(rows_of(book, "2024-09.1")) < len(loans())


def _with(book: Book, folder: Path, content: dict[str, object]) -> Book:
    """A copy of a book that has carried something else."""
    shutil.copytree(book.path, folder)
    copy = Book.open(folder)
    with copy.writing() as step:
        step.keep("closes/2024-06.1/carry_forward.json", json.dumps(content).encode())
    return copy


@pytest.mark.parametrize("name", ["carry_forward.json", "subledger.parquet"])
def test_what_is_damaged_is_named_with_the_way_out(name: str, tmp_path: Path) -> None:
    book = make_book(tmp_path / "book", loans())
    for quarter in QUARTERS[:3]:
        close_quarter(book, quarter)
    (
        book.path / open_loans_path(0)
    ).unlink()  # so that the subledger is asked which loans were open
    path = book.path / "closes" / "2024-06.1" / name
    path.write_bytes(path.read_bytes() + b"x")
    again = Book.open(book.path)
    with pytest.raises(CorruptFile, match=f"{name}: .*changed.*--whole"):
        close_quarter(again, "2024Q3")
    close_quarter(again, "2024Q3", whole=True)
    assert len(rows_of(again, "2024-09.1")) == len(loans())


@pytest.mark.parametrize("content", [None, b"", b"torn"])
def test_open_loans_that_are_not_kept_are_read_from_files(
    content: bytes | None, tmp_path: Path
) -> None:
    """A kill while a close was published may have left those of another one, or none."""

    def spoilt(book: Book) -> None:
        path = book.path / open_loans_path(0)
        path.unlink()
        if content is not None:
            path.write_bytes(content)

    carried = closed(tmp_path / "carried", spoilt, whole=False)
    assert told(carried) == told(closed(tmp_path / "whole", nothing, whole=True))


def test_a_close_begins_with_the_open_loans_that_were_kept(tmp_path: Path) -> None:
    """What is kept is what is believed: a payment left out of it is not seen again."""

    def without_a_payment(book: Book) -> None:
        path = open_loans_path(0)
        left = LoansWithFacts.of_bytes(book.kept(path))
        _, kind, _, amount, _ = left.facts.facts
        amount[np.flatnonzero(kind == FactKind.PAID)[0]] -= 100
        over = "closes/2024-06.1/carry_forward.json"
        said = json.loads(book.kept(over))
        with book.writing() as step:
            step.keep(path, left.to_bytes())
        said["open_loans"] = {"0": book.manifest.versions[path]}
        with book.writing() as step:
            step.keep(over, json.dumps(said).encode())

    carried = closed(tmp_path / "carried", without_a_payment, whole=False)
    assert told(carried) != told(closed(tmp_path / "whole", nothing, whole=True))


def test_open_loans_are_kept_as_they_are_known(tmp_path: Path) -> None:
    book = closed(tmp_path / "book", paused, whole=False)
    content = book.kept(open_loans_path(0))
    left = LoansWithFacts.of_bytes(content)
    open_still = [loan for loan, over in rows_of(book, "2024-12.1").items() if not over]
    assert left.ids.tolist() == open_still
    assert left.to_bytes() == content
    facts = book.read("facts", ["loan_id", "ref"]).to_pylist()
    refs = [row["ref"] for row in facts if row["loan_id"] in open_still]
    assert sorted(left.facts.facts[2].tolist()) == sorted(refs)


def test_a_close_again_begins_with_the_one_before_it(tmp_path: Path) -> None:
    book = closed(tmp_path / "book", nothing, whole=False)
    before = book.read(SUMS, folder="closes/2024-12.1").drop_columns(["close_no"])
    reopen(book, parse_close_period("2024Q4"), ["one", "two"])
    close_quarter(book, "2024Q4")
    assert book.read(SUMS, folder="closes/2024-12.2").drop_columns(["close_no"]) == before


def test_a_loan_on_its_way_is_not_over(tmp_path: Path) -> None:
    """Paid on the last day of a quarter, but not cleared before the next."""
    last = date(2024, 3, 31)
    whole = sum(each.principal for each in schedule(HEAVY)[2:])
    facts = [
        drawn(HEAVY),
        *paid_on_time(HEAVY, 2),
        Fact(FactKind.PAID, last, whole + 900_00, ref=50),
    ]
    book = make_book(tmp_path / "book", [replace(loans()[0], facts=facts)])
    for quarter in QUARTERS[:3]:
        close_quarter(book, quarter)
    assert rows_of(book, "2024-03.1")[SETTLED] == 0
    assert rows_of(book, "2024-06.1")[SETTLED] == 1


def test_a_close_as_known_earlier_does_not_see_what_the_one_before_knew(tmp_path: Path) -> None:
    made = []
    for whole in (False, True):
        book = make_book(tmp_path / str(whole), loans())
        late(book, SETTLED, date(2024, 7, 3), Fact(FactKind.PAID, date(2024, 2, 2), 25_00, ref=70))
        first = parse_close_period(QUARTERS[0])
        close(book, first, clock=time.perf_counter, whole=whole)  # knows all that ever came
        close_quarter(book, QUARTERS[1], whole=whole)
        made.append(told(book))
    assert made[0] == made[1]


@given(
    st.lists(st.integers(0, 60), max_size=40),
    st.lists(st.integers(0, 60), max_size=40, unique=True),
    st.integers(1, 40),
)
def test_ids_among_others_are_found_walking_and_searching(
    ids: list[int], others: list[int], far: int
) -> None:
    one, some = np.array(sorted(ids), np.int64), np.array(sorted(others), np.int64)
    widened = np.unique(np.concatenate([some, 100 + np.arange(far * len(one))]))
    for other in (some, widened):
        assert (is_among(one, other) == np.isin(one, other)).all()
