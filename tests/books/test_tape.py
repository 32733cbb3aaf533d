"""Books from a tape are the books of its loans, to the fen, at every close."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.books.lives import BORROWED, PATHS, lives
from tests.books.small_book import close_all, make_book, worked_loans
from tests.books.tape_books import exported, in_fee_instalments, write_parquet
from tests.books.worked import PARAMETERS, columns
from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import FundingModel
from usance.base.dates import last_of_month, parse_month, to_day
from usance.books.close.closes import effective_closes
from usance.books.closed_books import amounts_at, subledger_rows
from usance.books.errors import TapeError
from usance.books.exports import trial_balance
from usance.books.loans.amounts import AMOUNTS
from usance.books.loans.journal import loan_journal
from usance.books.loans.measurement import positions
from usance.books.loans.positions import FIELDS
from usance.books.loans.positions import POSITION as P
from usance.books.policies import Policies
from usance.books.tape.file import read_tape
from usance.books.tape.positions import tape_positions
from usance.books.tape.run import run_tape

FIRST, LAST = parse_month("2023-12"), parse_month("2024-12")
WORKED_IDS = np.array([16384 * (place + 1) + 1 for place in range(5)])


def run(path: Path, out: Path, **options: Any) -> Book:
    run_tape(path, out=out, clock=time.perf_counter, parameters=PARAMETERS, **options)
    return Book.open(out)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, Book]:
    """The worked loans closed from their facts, and closed from a tape exported of them."""
    folder = tmp_path_factory.mktemp("tape")
    loans = worked_loans()
    book = make_book(folder / "facts", loans)
    close_all(book)
    whole = replace(columns(loans, date(2025, 1, 1)), loan_id=WORKED_IDS)
    tape = write_parquet(folder / "tape.parquet", exported(whole, range(FIRST, LAST + 1)))
    return book, run(tape, folder / "tape", every="quarter")


def test_books_from_a_tape_are_those_of_its_loans(both: tuple[Book, Book]) -> None:
    facts, tape = both
    assert [each.name for each in effective_closes(tape)] == [
        each.name for each in effective_closes(facts)
    ]
    assert trial_balance(tape) == trial_balance(facts)


def test_every_amount_of_every_loan_at_every_close(both: tuple[Book, Book]) -> None:
    facts, tape = both
    for each in effective_closes(facts):
        amounts = subledger_rows(tape, each, AMOUNTS)[1]
        assert (amounts_at(facts, each, AMOUNTS, WORKED_IDS) == amounts).all()
        assert tape.read("estimates", folder=each.folder) == facts.read(
            "estimates", folder=each.folder
        )


def test_a_loan_of_a_tape_has_its_journal(both: tuple[Book, Book]) -> None:
    facts, tape = both
    for loan_id in WORKED_IDS.tolist():
        assert list(loan_journal(tape, loan_id)) == list(loan_journal(facts, loan_id))
    with pytest.raises(TapeError, match="no such loan"):
        list(loan_journal(tape, 5))


def test_order_of_rows_does_not_matter(both: tuple[Book, Book], tmp_path: Path) -> None:
    rows = pq.read_table(both[1].path.parent / "tape.parquet")
    mixed = rows.take(pa.array(np.random.default_rng(1).permutation(rows.num_rows)))
    again = run(write_parquet(tmp_path / "t.parquet", mixed), tmp_path / "b", every="quarter")
    for name in ("tape", "subledger", "postings", "journals"):
        assert again.digest(name) == both[1].digest(name)


def fitting(table: pa.Table) -> pa.Table:
    """Without the loans whose totals fall, which a tape cannot tell."""
    order = table.sort_by([("loan_id", "ascending"), ("month", "ascending")])
    ids = order["loan_id"].to_numpy()
    bad = order["recovered_minor"].to_numpy() < 0
    for name in order.column_names:
        if name.startswith(("paid_", "waived_")):
            bad[1:] |= (np.diff(order[name].to_numpy()) < 0) & (ids[1:] == ids[:-1])
    return order.filter(pa.array(~np.isin(ids, ids[bad])))


@pytest.mark.parametrize("model", BORROWED)
def test_positions_of_random_lives(model: FundingModel, tmp_path: Path) -> None:
    """Month ends of whole lives, on every path, give the positions of their replay."""
    months = range(parse_month("2023-01"), parse_month("2026-06") + 1)
    other = "charge-off" if model is FundingModel.CAPITAL_HEAVY else "payout"
    for path in PATHS:
        if path == other:
            continue
        loans = lives(model, path, 60, seed=3).loans()
        table = fitting(exported(loans, months))
        tape = read_tape(write_parquet(tmp_path / "t.parquet", table), currency="CNY")
        assert not tape.problems
        found = tape_positions(tape, np.full(len(tape), 60)).at
        month, row = tape.columns["month"], tape.columns["loan_id"] - 1
        assert path == "charged back" or len(np.unique(row)) > 40
        for each in np.unique(month).tolist():
            day, here = last_of_month(each), month == each
            cutoff = np.full(len(loans), to_day(day) - 1, np.int32)
            at = positions(loans, Policies.at(day, PARAMETERS), day, cutoff, 0, len(loans))
            _same(found[here], in_fee_instalments(at[row[here]]), f"{model.label} {path} {day}")


_LOOSE = {P.earn_month, P.earned_days, P.due_service, P.due_guarantee, P.earned_interest,
          P.earned_fee_instalments, P.earned_fee, P.earned_fee_ifrs}  # fmt: skip
"""Nothing asks for them once a loan has been repaid."""


def _same(found: I64, expected: I64, what: str) -> None:
    over = (expected[:, P.is_settled] == 1) & (expected[:, P.event] == 0)
    for place, name in enumerate(FIELDS):
        if place == P.earning_day:
            continue  # only fees hang on it, and this tape tells them
        rows = ~over if place in _LOOSE else np.ones(len(over), np.bool_)
        wrong = np.flatnonzero(rows & (found[:, place] != expected[:, place]))
        assert not len(wrong), f"{what}: {name} {found[wrong, place]} {expected[wrong, place]}"
