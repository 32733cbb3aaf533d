"""A run beside published figures: errors, scale, tolerances, and what cannot be compared."""

from __future__ import annotations

import csv
import json
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from tests.twin.small_run import closed_book
from usance.base.book import Book
from usance.base.codes import FundingModel
from usance.base.columns import arrays, make
from usance.base.errors import InputError, UsanceError
from usance.cli import main
from usance.disclose.fact_table_file import read_facts
from usance.disclose.facts import COLUMNS
from usance.disclose.profile import load_profile
from usance.measure.book_tape import cells_table, tape_month
from usance.measure.positions import Portfolio
from usance.twin.compare.commands import scale_of
from usance.twin.compare.comparison import Compared, Key, compare_run, own_figures
from usance.twin.compare.headline import IN_SAMPLE, OUT_OF_SAMPLE, headline, judge
from usance.twin.compare.tolerances import Tolerance, load_rules


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return closed_book(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def own(book: Book) -> dict[Key, Fraction]:
    return own_figures(book, "2024Q1", load_profile())


def published(own: dict[Key, Fraction], folder: Path, factor: Fraction = Fraction(1)) -> Path:
    """A table of figures as large as those of the book, times a factor."""
    path = folder / "facts.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for (statement, line, parent, period), value in own.items():
            if statement == "operations" and parent != "" and "share" not in parent.lower():
                shown = f"{float(value * factor):.2f}"
                writer.writerow(["X", statement, line, parent, period, "RMB", "unit", shown, "0"])
    return path


def test_a_run_beside_itself_has_no_error(
    book: Book, own: dict[Key, Fraction], tmp_path: Path
) -> None:
    rows = compare_run(book, [published(own, tmp_path)], Fraction(1)).rows
    assert len(rows) > 20
    assert {row.error for row in rows if row.published} == {0}
    assert all(row.is_near for row in rows if row.tolerance)


def test_amounts_are_set_at_full_size(book: Book, own: dict[Key, Fraction], tmp_path: Path) -> None:
    path = published(own, tmp_path, Fraction(1000))
    rows = compare_run(book, [path], Fraction(1, 1000)).rows
    # The table prints hundredths.
    assert all(abs(row.found - row.published) <= 1 for row in rows)


def test_a_figure_beyond_its_tolerance_is_outside(
    book: Book, own: dict[Key, Fraction], tmp_path: Path
) -> None:
    near = compare_run(book, [published(own, tmp_path, Fraction(110, 100))], Fraction(1)).rows
    far = compare_run(book, [published(own, tmp_path, Fraction(130, 100))], Fraction(1)).rows

    def of_income(rows: list[Compared]) -> Compared:
        return next(row for row in rows if row.line == "Financing income")

    assert of_income(near).is_near
    assert not of_income(far).is_near
    assert float(of_income(far).error or 0) == pytest.approx(1 / 1.3 - 1, abs=1e-4)


def test_filings_can_be_laid_beside_a_run(book: Book, shared: Path) -> None:
    path = shared / "filings" / "000.csv"
    made = compare_run(book, [path], Fraction(1, 10**6))
    lines = {(row.statement, row.line) for row in made.rows}
    assert ("operations", "Financing income") in lines
    assert ("balance_sheet", "Loans receivable, net") in lines
    assert ("business_highlights", "Total outstanding loan balance") in lines
    # Whoever the company is called after.
    assert any(row.parent.startswith("Net income per ADS attributable") for row in made.rows)
    # Every published figure is in one place or the other; sums of lines are our own.
    of_lines = [row for row in made.rows if row.line != "Total provisions"]
    published = len(read_facts([path], load_profile()))
    assert len(of_lines) + sum(map(len, made.left_out.values())) == published
    assert {fact.currency for fact in made.left_out["of another currency"]} == {"USD"}


def test_figures_of_an_earlier_quarter_are_compared_and_others_told_apart(
    book: Book, own: dict[Key, Fraction], tmp_path: Path
) -> None:
    """A document may also name what is not closed yet, or what no one has."""
    path = published(own, tmp_path)
    compared = len(compare_run(book, [path], Fraction(1)).rows)
    row = "X,operations,{line},,{period},RMB,unit,5.00,0\n"
    with path.open("a") as file:
        file.write(row.format(line="Net income", period="2025Q1"))
        file.write(row.format(line="Income from the moon", period="2024Q1"))
        file.write(row.format(line="Net income", period="2019Q1"))
    made = compare_run(book, [path], Fraction(1))
    assert len(made.rows) == compared
    assert {reason: [fact.line for fact in some] for reason, some in made.left_out.items()} == {
        "of quarters the run has not closed": ["Net income"],
        "without a counterpart": ["Income from the moon"],
        "of a time before the run": ["Net income"],
    }


def test_a_rate_that_is_not_known_yet_is_taken_over_what_is(book: Book, tmp_path: Path) -> None:
    folder = copytree(book.path, tmp_path / "book")
    copied = Book.open(folder)
    loans, facts = copied.read("loans"), copied.read("facts")
    cells = cells_table(loans)
    known = arrays(cells)
    own = int(known["cell"][known["model"] == int(FundingModel.ON_BALANCE_SHEET)][0])
    none = np.zeros(2, np.int64)
    dues = make(
        "dues", due_on=[date(2024, 3, 1), date(2024, 3, 2)], cell=[own, own],
        due_minor=[900, 900], overdue_minor=[80, 80], collected30_minor=[60, 10],
        first_minor=none, first_unpaid7_minor=none, first_unpaid30_minor=none,
    )  # fmt: skip
    portfolio = Portfolio.of(loans, facts, datetime(2024, 4, 1, tzinfo=UTC))
    with copied.writing() as step:
        step.add("cells", cells)
        step.add("tape", tape_month(portfolio, 650, cells), month=650)
        step.add("dues", dues, month=650)
    found = own_figures(copied, "2024Q1", load_profile())
    # On the last of March, thirty days have passed since the first and not since the second.
    key = "business_highlights", "30-day collection rate", "", "2024Q1"
    assert found[key] == Fraction(75)


def test_tolerances_are_twice_as_wide_out_of_sample() -> None:
    rules = load_rules()
    line = "Total outstanding loan balance"
    assert rules.tolerance("business_highlights", line, "2024-03-31") == Tolerance(Fraction(1, 20))
    assert rules.tolerance("business_highlights", line, "2024-06-30") == Tolerance(Fraction(1, 10))
    points = rules.tolerance("business_highlights", "90 day+ delinquency rate", "2024-03-31")
    assert points is not None
    assert points.allows(Fraction("3.35"), Fraction("2.95"))
    assert not points.allows(Fraction("3.35"), Fraction("2.94"))


def test_the_command_prints_each_line(
    book: Book, own: dict[Key, Fraction], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = published(own, tmp_path)
    assert main(["twin", "compare", str(book.path), str(path), "--scale", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["figures"] == len(told["compared"])
    assert told["left_out"] == {"without a counterpart": []}
    assert told["within"] == told["with_tolerance"] > 0
    again = ["twin", "compare", str(book.path), str(path), "--scale", "1", "--only-tolerances"]
    assert main(again) == 0
    assert "lie within their tolerance" in capsys.readouterr().out


def test_the_scale_is_that_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"scale": "1/250"}')
    assert scale_of(tmp_path) == Fraction(1, 250)
    assert scale_of(tmp_path, "0.5") == Fraction(1, 2)


@pytest.mark.parametrize(("content", "what"), [("{}", "names no scale"), ("[]", "names no scale")])
def test_a_run_without_a_scale_is_refused(tmp_path: Path, content: str, what: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(UsanceError, match=what):
        scale_of(tmp_path)


def test_what_is_no_run_or_no_scale_is_refused(tmp_path: Path, book: Book) -> None:
    with pytest.raises(InputError, match=r"has no run\.json"):
        scale_of(tmp_path)
    with pytest.raises(InputError, match="is no scale"):
        scale_of(tmp_path, "1/0")
    with pytest.raises(InputError, match="a scale of 0"):
        compare_run(book, [], Fraction(0))


def test_periods_that_are_not_closed_are_refused(
    book: Book, own: dict[Key, Fraction], tmp_path: Path
) -> None:
    path = published(own, tmp_path)
    path.write_text(path.read_text().replace("2024Q1", "2025Q1").replace("2023", "2025"))
    with pytest.raises(InputError, match=r"has a counterpart: .* the run has not closed"):
        compare_run(book, [path], Fraction(1))


def test_where_nothing_can_be_compared_there_is_no_success(
    book: Book, own: dict[Key, Fraction], tmp_path: Path
) -> None:
    path = published(own, tmp_path)
    path.write_text(path.read_text().replace("operations", "opera"))
    with pytest.raises(InputError, match=r"counterpart: \d+ are of other statements"):
        compare_run(book, [path], Fraction(1))
    path.write_text(",".join(COLUMNS) + "\n")
    assert main(["twin", "compare", str(book.path), str(path), "--scale", "1"]) == 2


def figure(
    line: str, period: str, published_: int, found: int, statement: str = "balance_sheet",
    parent: str = "", document: str = "A",
) -> Compared:  # fmt: skip
    return Compared(document, statement, line, parent, period, "thousand", Fraction(published_),
                    Fraction(found), None)  # fmt: skip


def test_every_line_of_the_statements_has_a_class_with_a_reason() -> None:
    rules = load_rules()
    for statement in ("balance_sheet", "operations", "cash_flows", "comprehensive_income",
                      "ifrs_reconciliation_balance_sheet:ifrs",
                      "ifrs_reconciliation_operations:us_gaap"):  # fmt: skip
        assert rules.line_class(statement, "any") is not None
    per_share = rules.line_class("operations", "Net income per ordinary share")
    assert per_share is not None
    assert per_share.name == "per share"
    assert all(each.reason for each in rules.classes)


def test_the_headline_counts_distinct_figures_by_class_and_sample() -> None:
    rows = [
        figure("Restricted cash", "2023-12-31", 100_000, 110_000),
        figure("Restricted cash", "2023-12-31", 100_000, 110_000, document="B"),
        figure("Restricted cash", "2024-06-30", 100_000, 130_000),
        figure("Net income", "2024Q1", 100_000, -90_000, "operations"),
    ]
    found = {(each.line_class, each.sample): each for each in headline(rows, load_rules())}
    known, later = (found["balance sheet", each] for each in (IN_SAMPLE, OUT_OF_SAMPLE))
    assert (known.figures, known.within, known.wrong_sign) == (1, 1, 0)
    assert (later.figures, later.within, later.wrong_sign) == (1, 0, 0)
    assert found["operations", IN_SAMPLE].wrong_sign == 1
    assert found["all", IN_SAMPLE].figures == 2


def test_an_input_is_no_fit() -> None:
    """Land is stated up to 2024Q1; what a run says of June is its own."""
    known, later = (figure("Land use rights, net", day, 100_000, 100_000)
                    for day in ("2024-03-31", "2024-06-30"))  # fmt: skip
    counts = {each.sample: each for each in headline([known, later], load_rules())
              if each.line_class == "balance sheet"}  # fmt: skip
    assert (counts[IN_SAMPLE].figures, counts[IN_SAMPLE].inputs) == (0, 1)
    assert (counts[OUT_OF_SAMPLE].figures, counts[OUT_OF_SAMPLE].inputs) == (1, 0)


def test_a_published_zero_is_met_by_one_that_is_printed_as_zero() -> None:
    near, far = (judge(figure("Goodwill", "2024-06-30", 0, minor), load_rules())
                 for minor in (499, 5_000))  # fmt: skip
    assert [each.is_near for each in (near, far) if each] == [True, False]
