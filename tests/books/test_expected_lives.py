"""Effective rates of IFRS stay those of the month a loan was made in; curves move on."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

from tests.books.small_book import make_book
from tests.books.worked import OWN_BOOK, Worked
from usance.base.book import Book
from usance.base.codes import FactKind, FundingModel
from usance.books.close.checklist import close
from usance.books.close.closes import reopen
from usance.books.effective_interest.expected_lives import ExpectedLives, expected_lives
from usance.books.effective_interest.loans import Survival, effective_rates, fees_earned
from usance.books.loans.amounts import SUBLEDGER
from usance.books.periods import parse_close_period
from usance.loan import Fact, Terms, schedule
from usance.loan.columns import TermColumns

MAR = date(2024, 3, 31)
FIRST = (1_000_000, 1_000_000, 1_000_000, 0)
LATER = (900_000, 600_000, 600_000, 500_000, 100_000)
FAR = OWN_BOOK.changed(instalments=12)
IN_MARCH = FAR.changed(disbursed_on=date(2024, 3, 5), first_due_on=date(2024, 4, 5))


def worked(terms: Terms, *more: Fact) -> Worked:
    paid = [Fact(FactKind.PAID, row.due_on, row.total, ref=10 + row.number)
            for row in schedule(terms) if row.due_on <= MAR]  # fmt: skip
    begun = Fact(FactKind.DISBURSED, terms.disbursed_on, terms.principal_minor, ref=1)
    return Worked(FundingModel.ON_BALANCE_SHEET, terms, [begun, *paid, *more])


def close_with(book: Book, period: str, curve: tuple[int, ...] | None, folder: Path) -> None:
    """Close a period with a curve of the one segment, or with none at all."""
    folder.mkdir(exist_ok=True)
    shares = ", ".join(f"{each / 10_000}%" for each in curve or ())
    text = f"curves: [{{segment: 9, shares: [{shares}]}}]\n" if curve else "curves: []\n"
    (folder / "expected_life.yaml").write_text(text, encoding="utf-8")
    of = parse_close_period(period)
    known = datetime(of.last_day.year, of.last_day.month, of.last_day.day, 23, tzinfo=UTC)
    close(book, of, policies=folder, known_at=known, clock=time.perf_counter)


def earned(terms: Terms, made: tuple[int, ...], now: tuple[int, ...], day: date = MAR) -> int:
    """The fee earned under IFRS above US GAAP: the rate of origination on the flows of now."""
    columns, fee = TermColumns.of([terms]), np.array([terms.upfront_fee_minor])
    then, today = Survival.of([made]), Survival.of([now])
    expected = fees_earned(columns, fee, effective_rates(columns, fee, then), day, today)
    contract = fees_earned(columns, fee, effective_rates(columns, fee), day)
    return int(expected[0] - contract[0])


def found(book: Book, name: str = "2024-03.1") -> list[int]:
    return list(book.read(SUBLEDGER, folder=f"closes/{name}")["ifrs_fee"].to_pylist())


@pytest.fixture
def book(tmp_path: Path) -> Book:
    """A loan of December, one of March, and each again with interest paused: the exact form."""
    pause = Fact(FactKind.INTEREST_PAUSED, date(2024, 3, 20), 0, ref=90,
                 arg=(date(2024, 3, 21) - date(1970, 1, 1)).days)  # fmt: skip
    loans = [worked(FAR), worked(IN_MARCH), worked(FAR, pause), worked(IN_MARCH, pause)]
    return make_book(tmp_path / "book", loans)


def test_the_rate_is_that_of_the_close_a_loan_was_made_in(book: Book, tmp_path: Path) -> None:
    close_with(book, "2023Q4", FIRST, tmp_path / "policies")
    close_with(book, "2024Q1", LATER, tmp_path / "policies")
    old, new = earned(FAR, FIRST, LATER), earned(IN_MARCH, LATER, LATER)
    assert old != earned(FAR, LATER, LATER)
    assert found(book) == [old, new, old, new]


def test_a_curve_that_is_given_up_leaves_the_rate(book: Book, tmp_path: Path) -> None:
    close_with(book, "2023Q4", FIRST, tmp_path / "policies")
    close_with(book, "2024Q1", None, tmp_path / "policies")
    old = earned(FAR, FIRST, (1_000_000,))
    assert old < 0
    assert found(book) == [old, 0, old, 0]


def test_a_first_curve_does_not_change_the_rate_of_older_loans(book: Book, tmp_path: Path) -> None:
    close_with(book, "2023Q4", None, tmp_path / "policies")
    close_with(book, "2024Q1", LATER, tmp_path / "policies")
    old, new = earned(FAR, (1_000_000,), LATER), earned(IN_MARCH, LATER, LATER)
    assert found(book) == [old, new, old, new]


def test_a_period_closed_again_counts_with_its_new_curve(book: Book, tmp_path: Path) -> None:
    close_with(book, "2023Q4", FIRST, tmp_path / "policies")
    reopen(book, parse_close_period("2023Q4"), ["one", "two"])
    close_with(book, "2023Q4", LATER, tmp_path / "policies")
    close_with(book, "2024Q1", FIRST, tmp_path / "policies")
    assert found(book)[0] == earned(FAR, LATER, FIRST)


def test_loans_older_than_the_books_have_the_rate_of_the_first_close(
    book: Book, tmp_path: Path
) -> None:
    close_with(book, "2024Q1", FIRST, tmp_path / "policies")
    assert found(book)[0] == earned(FAR, FIRST, FIRST)


def test_curves_are_kept_among_the_estimates(book: Book, tmp_path: Path) -> None:
    close_with(book, "2023Q4", FIRST, tmp_path / "policies")
    rows = [row for row in book.read("estimates", folder="closes/2023-12.1").to_pylist()
            if row["name"] == "expected_life"]  # fmt: skip
    assert [(row["segment"], row["age"], row["value"]) for row in rows] == [
        (9, 1, 1_000_000), (9, 2, 1_000_000), (9, 3, 1_000_000), (9, 4, 0),
    ]  # fmt: skip


def test_without_any_curve_nothing_is_expected() -> None:
    assert expected_lives({}, np.array([9]), [653], []) is None


def test_one_set_of_curves_is_that_of_every_month() -> None:
    lives = ExpectedLives.always(np.array([FIRST, [1_000_000] * 4]))
    expected = lives.of(np.array([1, 0]), np.array([0, 19_000]))
    assert expected.made.segments.tolist() == expected.now.segments.tolist() == [1, 0]
