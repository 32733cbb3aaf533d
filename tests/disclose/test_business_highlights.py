"""Business highlights and vintage curves of a release: the book's own loans, counted again."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from tests.disclose.release_book import release_book
from usance.base.book import Book
from usance.base.codes import code_lists
from usance.base.dates import to_month
from usance.books.periods import parse_close_period
from usance.disclose import TieKind, check, load_profile
from usance.disclose.periods import Period
from usance.disclose.release import metrics as measured
from usance.disclose.release.announcement import Announcement
from usance.disclose.release.figure import Figure
from usance.disclose.release.filer import Filer
from usance.disclose.release.metrics import BookMetrics, Measurement, Segments
from usance.disclose.release.per_share import PerShareFigures
from usance.disclose.release.publication import publish, release_of
from usance.disclose.release.release import Release
from usance.pages.reports.release import RELEASE_WRITERS

FILER = Filer(rate=Decimal("7.2672"))
VOLUME = "Total facilitation and origination loan volume"


def made(folder: Path, period: str, on: date | None = None) -> Release:
    said = Announcement(on)
    return release_of(Book.open(folder), parse_close_period(period), load_profile(), FILER, said)


def business(release: Release) -> dict[tuple[str, str], Figure]:
    return {(each.line, each.period): each for each in release.business_highlights.figures()}


def test_what_was_lent_is_what_the_loans_say(closed_book: Path) -> None:
    found = business(made(closed_book, "2023Q4"))
    loans = Book.open(closed_book).read("loans").to_pylist()
    lent = sum(loan["principal_minor"] for loan in loans)
    assert found[VOLUME, "2023Q4"].text == f"{lent / 100:.2f}"
    assert (found[VOLUME, "2023Q4"].currency, found[VOLUME, "2023Q4"].unit) == ("RMB", "unit")
    assert found["Number of loans originated", "2023Q4"].text == "5"
    assert found["V-pocket loans", "2023Q4"].text == "0"
    assert found["Other products loans", "2023Q4"].text == "5"
    by_model = {0: "Capital-heavy", 1: "On-balance-sheet", 2: "Capital-light", 3: "ICE"}
    for model, name in by_model.items():
        own = sum(loan["principal_minor"] for loan in loans if loan["model"] == model)
        assert found[f"{name} loan volume", "2023Q4"].text == f"{own / 100:.2f}"
    months = sum(loan["principal_minor"] * loan["instalments"] for loan in loans) / lent
    assert found["Weighted average contractual tenor", "2023Q4"].text == f"{months:.2f}"


@pytest.mark.parametrize(
    ("least", "largest", "unit"),
    [
        (10_000_000_00, 90_000_000_00, "million"), (1_000_000_00, 9_000_000_00, "thousand"),
        (1_000_000_00, 99_000_000_000_00, "million"), (40_000_00, 99_000_000_000_00, "thousand"),
        (9_000_00, 900_000_00, "unit"), (40_00, 9_000_000_00, "unit"),
    ],
)  # fmt: skip
def test_a_line_and_its_parts_are_in_one_unit(
    closed_book: Path, monkeypatch: pytest.MonkeyPatch, least: int, largest: int, unit: str
) -> None:
    """None has less than three digits, but small ones beside thousands of their unit."""
    sizes = {"capital_heavy": largest, "ice": least}

    def at(self: BookMetrics, metric: str, period: Period, where: Segments = ()) -> Measurement:
        found = measurement(self, metric, period, where)
        if metric != "origination_volume":
            return found
        models = {number for _, numbers in where for number in numbers}
        own = [size for name, size in sizes.items()
               if not where or code_lists()["model"][name] in models]  # fmt: skip
        return Measurement(sum(own) if own else 0, 1, True, found.results)

    measurement = BookMetrics.at
    monkeypatch.setattr(BookMetrics, "at", at)
    monkeypatch.setitem(sizes, "capital_light", 2 * least)
    found = [each for each in made(closed_book, "2023Q4").business_highlights.figures()
             if "loan volume" in each.line and each.currency == "RMB"]  # fmt: skip
    assert len(found) >= 6
    assert {each.unit for each in found} == {unit}


def test_weighted_adss_are_counted_where_they_are_few(
    closed_book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PerShareFigures, "counts", lambda *_: {"Basic": 2001, "Diluted": 2002})
    rows = [each for each in made(closed_book, "2024Q4").figures
            if each.line == "Weighted average basic ADS"]  # fmt: skip
    assert rows
    assert {each.unit for each in rows} == {"ads"}
    assert {each.text for each in rows} == {"1001"}


def test_a_count_that_did_not_change_is_said_to_be_unchanged(
    closed_book: Path, tmp_path: Path
) -> None:
    files = publish(made(closed_book, "2024Q4"), tmp_path, ["html"], writers=RELEASE_WRITERS)
    page = re.sub(r"<[^>]+>", "", files["html"].read_text(encoding="utf-8"))
    assert "Financial institutional partners: 1, unchanged from 1 on December 31, 2023." in page
    assert "delinquency scope" not in page
    assert "v_pocket" not in page


def test_users_and_institutions_are_counted_to_date(closed_book: Path) -> None:
    found = business(made(closed_book, "2024Q4"))
    for line in ("consumers with potential credit needs", "users with approved credit lines",
                 "borrowers with successful drawdown"):  # fmt: skip
        assert found[f"Cumulative {line}", "2024-12-31"].text == "5"
        change = f"Cumulative {line} - change vs 2023-12-31"
        assert found[change, "2024-12-31"].text == "0.0"
    assert found["Financial institutional partners", "2024-12-31"].text == "1"
    assert found[VOLUME, "2024Q4"].text == "no data"
    assert ("ICE loan volume", "2024Q4") not in found


def test_what_can_still_change_says_so(closed_book: Path) -> None:
    early = business(made(closed_book, "2024Q1"))
    assert ("30-day collection rate (incomplete)", "2024Q1") in early
    late = business(made(closed_book, "2024Q1", on=date(2024, 5, 17)))
    assert ("30-day collection rate", "2024Q1") in late
    assert ("Day-1 delinquency rate", "2024Q1") in early


def test_a_curve_is_what_its_loans_were(closed_book: Path) -> None:
    """Each default of the sample is counted by hand, month by month."""
    release = made(closed_book, "2024Q2")
    curve = {
        int(re.findall(r"\d+", each.line)[0]): Decimal(each.text)
        for each in release.figures
        if each.statement == "vintage_30:2023Q4"
    }
    tape = release.metrics.inputs.read("tape").to_pylist()
    loans = Book.open(closed_book).read("loans").to_pylist()
    lent = sum(loan["principal_minor"] for loan in loans if loan["model"] < 3)
    first = min(to_month(loan["disbursed_on"]) for loan in loans)
    assert first == to_month(date(2023, 12, 1))
    for mob, share in curve.items():
        # All five loans are of one month, so a month on book is a month of the calendar.
        late = sum(
            row["principal_minor"]
            for row in tape
            if row["month"] == first + mob and (row["dpd"] > 30 or row["status"] == 2)
        )
        assert share == round(Decimal(100 * late) / lent, 2)
    assert max(curve) == 6
    assert curve[6] > curve[0] == 0


def test_the_page_defines_and_draws_what_it_prints(closed_book: Path, tmp_path: Path) -> None:
    release = made(closed_book, "2024Q2")
    page = publish(release, tmp_path, ["html"], writers=RELEASE_WRITERS)["html"].read_text(
        encoding="utf-8"
    )
    assert "90 day+ delinquency rate: Principal of loans 91 to 180 calendar days" in page
    assert page.count("<figure>") == page.count("<svg") == 2
    assert "<script" not in page
    rows = (tmp_path / "2024Q2.csv").read_text(encoding="utf-8").splitlines()[1:]
    for row in rows:
        assert f'id="{row.rpartition(",")[2]}"' in page


def test_a_book_without_the_tables_has_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without users, decisions and sources, and with more loans than a tape is made for."""
    monkeypatch.setattr(measured, "MAX_LOANS", 4)
    release_book(tmp_path / "book", ("2023Q4",), people=False)
    release = made(tmp_path / "book", "2023Q4")
    found = business(release)
    for line in ("Financial institutional partners", "Total outstanding loan balance",
                 "Cumulative consumers with potential credit needs"):  # fmt: skip
        assert found[line, "2023-12-31"].text == "no data"
    assert found["Number of loans originated", "2023Q4"].text == "5"
    path = publish(release, tmp_path, ["csv", "html", "xlsx"], writers=RELEASE_WRITERS)["csv"]
    assert check([path]).counts.get(TieKind.BROKEN, 0) == 0
