"""The release of closed books: it ties out, it is the books' own figures, and it prints."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from tests.disclose.filings import SMALL
from tests.disclose.release_book import FACTS, in_two_currencies, release_book
from tests.disclose.workbook import Workbook
from tests.pages.checks import parsed
from usance.base.book import Book
from usance.base.errors import UsanceError
from usance.books.closed_books import ClosedBooks
from usance.books.periods import parse_close_period
from usance.cli import main
from usance.disclose import TieKind, check, check_facts, load_profile, read_facts, rebuild
from usance.disclose.release.filer import Filer, parse_filer
from usance.disclose.release.publication import FORMATS, publish, publish_table, release_of
from usance.disclose.release.release import Release
from usance.disclose.release.wording import load_wording
from usance.pages.reports.release import RELEASE_WRITERS

RATE = Decimal("7.2672")
THOUSANDS = Filer(rate=RATE)
TO_THE_FEN = Filer(rate=RATE, unit="unit", decimals=2)
YUAN = Filer(rate=RATE, unit="unit")


def made(folder: Path, period: str, filer: Filer = THOUSANDS) -> Release:
    return release_of(Book.open(folder), parse_close_period(period), load_profile(), filer)


def table(release: Release, out: Path) -> Path:
    return publish(release, out, ["csv"])["csv"]


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


# It ties out.


@pytest.mark.parametrize(
    ("period", "filer"),
    [
        *((each, THOUSANDS) for each in ("2023Q4", "2024Q1", "2024Q2", "2024Q3", "2024Q4", "2024")),
        *((each, filer) for each in ("2024Q2", "2024Q4") for filer in (YUAN, TO_THE_FEN)),
    ],
    ids=lambda given: f"{given.unit}{given.decimals}" if isinstance(given, Filer) else given,
)
def test_nothing_is_broken_and_all_of_it_can_be_rebuilt(
    closed_book: Path, tmp_path: Path, period: str, filer: Filer
) -> None:
    path = table(made(closed_book, period, filer), tmp_path)
    report = check([path])
    assert report.counts.get(TieKind.BROKEN, 0) == 0, list(report.lines())
    assert report.ties > 300
    again = rebuild(path)
    assert (again.equal, again.differences) == (again.derived, ())


def test_releases_agree_with_each_other(closed_book: Path, tmp_path: Path) -> None:
    """A cell in two documents is the same, and quarters add up to the year."""
    periods = ("2023Q4", "2024Q1", "2024Q2", "2024Q3", "2024Q4")
    report = check([table(made(closed_book, each), tmp_path) for each in periods])
    found = [cause.kind for cause in report.root_causes]
    assert TieKind.BROKEN not in found
    assert TieKind.RESTATED not in found


@pytest.mark.slow
def test_a_group_in_two_currencies_ties_too(tmp_path: Path) -> None:
    release_book(tmp_path / "book", ("2023Q4", "2024Q1"), *in_two_currencies())
    for filer in (THOUSANDS, YUAN):
        path = table(made(tmp_path / "book", "2024Q1", filer), tmp_path)
        assert check([path]).counts.get(TieKind.BROKEN, 0) == 0
        assert rebuild(path).differences == ()


def test_a_changed_digit_is_found(closed_book: Path, tmp_path: Path) -> None:
    path = table(made(closed_book, "2024Q2"), tmp_path)
    text = path.read_text(encoding="utf-8")
    changed = re.sub(r"(operations,Total net revenue,.*2024H1,RMB,thousand,)(\d+)",
                     lambda found: f"{found[1]}{int(found[2]) + 1}", text, count=1)  # fmt: skip
    assert changed != text
    path.write_text(changed, encoding="utf-8")
    assert check([path]).counts[TieKind.BROKEN] >= 1


# It is the books' own figures.


def test_to_the_fen_every_figure_is_the_books(closed_book: Path, tmp_path: Path) -> None:
    """Nothing is rounded away: each cell of the primary statements is the close's own amount."""
    rows = rows_of(table(made(closed_book, "2024Q2", TO_THE_FEN), tmp_path))
    printed = {
        (row["statement"], row["line"], row["parent_line"]): Decimal(row["value"])
        for row in rows
        if row["currency"] == "RMB" and row["period_or_date"] in ("2024Q2", "2024-06-30")
    }
    looked = ClosedBooks.of(Book.open(closed_book), parse_close_period("2024Q2")).statements()
    wanted = [row for row in looked if ":" not in row.statement]
    assert len(wanted) > 70
    for row in wanted:
        assert printed[row.statement, row.line, row.parent] == Decimal(row.amount_minor) / 100


HEADLINES = ("TOTAL ASSETS", "TOTAL LIABILITIES", "TOTAL LIABILITIES AND EQUITY", "Net income",
             "Total net revenue", "Income before income tax expense")  # fmt: skip


def test_published_totals_are_the_exact_ones_rounded(closed_book: Path) -> None:
    """Parts give way by less than a step; totals are half-up, of flows those of the year so far."""
    day = date(2024, 6, 30)
    printed = made(closed_book, "2024Q2").statements.rounded
    start = date(2023, 12, 31)
    cases = [
        (printed.balance_sheet(day), printed.exact.balance_sheet("balance_sheet", day)),
        (printed.operations(start, day), printed.exact.flow("operations", start, day)),
    ]
    moved = 0
    for values, exact in cases:
        assert len(values) > 20
        for key, value in values.items():
            off = abs(Fraction(exact[key], 100_000) - value)
            assert off < 1, key
            moved += off > Fraction(1, 2)
            if key[0] in HEADLINES:
                assert value == round_half_up(exact[key]), key
            if not exact[key]:
                assert value == 0, key
    assert moved > 0


def round_half_up(minor: int) -> int:
    size = (abs(minor) + 50_000) // 100_000
    return size if minor >= 0 else -size


def test_a_line_that_did_not_move_is_printed_as_nothing(closed_book: Path) -> None:
    printed = made(closed_book, "2024Q4").statements.rounded
    quarters = [date(2023, 12, 31), date(2024, 3, 31), date(2024, 6, 30), date(2024, 9, 30)]
    for before, day in zip(quarters, [*quarters[1:], date(2024, 12, 31)], strict=True):
        exact = printed.exact.flow("operations", before, day)
        values = printed.operations(before, day)
        leaves = [line.key for line in printed.lines("operations") if not line.is_total]
        still = [key for key in leaves if not exact[key]]
        assert still
        assert {key: values[key] for key in still if values[key]} == {}


def test_a_release_that_does_not_pass_the_checker_is_not_written(
    closed_book: Path, tmp_path: Path
) -> None:
    release = made(closed_book, "2024Q2")
    figures = [
        replace(each, text=str(int(each.text) + 1))
        if (each.statement, each.line, each.period) == ("operations", "Net income", "2024Q2")
        and each.currency == "RMB"
        else each
        for each in release.figures
    ]
    release.__dict__["figures"] = figures
    with pytest.raises(UsanceError, match=r"Net income, 2024Q2 RMB is .* and should be"):
        publish(release, tmp_path / "out", ["csv"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("tax", "is_printed"), [
    ("150.00", True), ("149.60", True), ("131.00", True), ("169.00", True), ("195.00", False),
])  # fmt: skip
def test_tax_that_the_books_round_loan_by_loan_is_printed_by_its_rate(
    tmp_path: Path, tax: str, is_printed: bool
) -> None:
    """15 % of 1,000.00: twenty yuan of half fens are printed away, what is more is an error."""
    entry = f"""\
  - {{id: 40, kind: manual_entry, entity: 1, on: 2024-02-20, tag: eir, actor: test, reason: test,
     lines: [{{account: loans, amount: 1060.00}}, {{account: other_tax_payable, amount: -60.00}},
     {{account: financing_income, amount: -1000.00}},
     {{account: deferred_tax, amount: {tax}}},
     {{account: deferred_tax_liability, amount: -{tax}}}]}}
"""
    book = release_book(tmp_path / "book", ("2023Q4", "2024Q1"), FACTS + entry)
    release = made(book.path, "2024Q1", YUAN)
    if not is_printed:
        with pytest.raises(UsanceError, match="effective_interest_net_of_tax"):
            publish(release, tmp_path / "out", ["csv"])
        return
    column = "ifrs_reconciliation_operations:effective_interest_net_of_tax"
    printed = {row["line"]: row["value"] for row in rows_of(table(release, tmp_path / "out"))
               if row["statement"] == column}  # fmt: skip
    assert printed["Financing income"] == "1000"
    assert printed["Income tax expense"] == "-150"


def test_the_breaks_of_a_table_someone_brings_are_theirs(shared: Path, tmp_path: Path) -> None:
    source = shared / "filings" / "002.csv"
    files = publish_table(source, load_profile(), Filer(name="Example"), tmp_path, ["csv"])
    assert check([files["csv"]]).counts[TieKind.BROKEN] == check([source]).counts[TieKind.BROKEN]


def test_comparatives_are_there_where_the_books_tell_them(closed_book: Path) -> None:
    def periods(period: str) -> set[str]:
        return {period.written for period, _ in made(closed_book, period).columns}

    assert periods("2024Q4") == {"2023Q4", "2024Q4", "FY2024"}
    assert periods("2024Q2") == {"2024Q2", "2024H1"}
    assert periods("2023Q4") == {"2023Q4"}


def test_per_share_figures_come_from_the_register(closed_book: Path) -> None:
    figures = made(closed_book, "2024Q2").figures
    basic = [each for each in figures if each.unit == "shares" and each.line == "Basic"]
    assert {each.text for each in basic} == {"1000000"}
    assert {each.currency for each in basic} == {"n/a", "USD"}
    adjusted = [each for each in figures if each.line.startswith("Add: Share-based")]
    assert any(each.text != "0" for each in adjusted)


# It prints.


def test_the_page_needs_no_network_and_every_table_figure_has_its_address(
    closed_book: Path, tmp_path: Path
) -> None:
    files = publish(made(closed_book, "2024Q2"), tmp_path, ["csv", "html", "pdf"],
                    writers=RELEASE_WRITERS)  # fmt: skip
    page = files["html"].read_text(encoding="utf-8")
    parsed(page)
    rows = rows_of(files["csv"])
    assert len({row["address"] for row in rows}) == len(rows)
    tables = [row for row in rows if not row["statement"].startswith("release_")]
    for row in tables:
        assert f'id="{row["address"]}"' in page
    assert files["pdf"].read_bytes()[:5] == b"%PDF-"


def test_the_same_books_give_the_same_bytes(closed_book: Path, tmp_path: Path) -> None:
    first = publish(made(closed_book, "2024Q1"), tmp_path / "one", FORMATS, writers=RELEASE_WRITERS)
    second = publish(
        made(closed_book, "2024Q1"), tmp_path / "two", FORMATS, writers=RELEASE_WRITERS
    )
    assert set(first) == {"csv", "html", "xlsx", "pdf"}
    for name, path in first.items():
        assert path.read_bytes() == second[name].read_bytes(), name


@pytest.mark.slow
def test_an_independent_engine_computes_the_printed_values(
    closed_book: Path, tmp_path: Path
) -> None:
    files = publish(made(closed_book, "2024Q4"), tmp_path, ["csv", "xlsx"])
    assert_recomputes(files["xlsx"], files["csv"])


@pytest.mark.slow
def test_the_workbook_of_a_real_filing_computes_too(shared: Path, tmp_path: Path) -> None:
    source = shared / "filings" / "000.csv"
    files = publish_table(source, load_profile(), Filer(name="Example"), tmp_path, ["csv", "xlsx"])
    assert_recomputes(files["xlsx"], files["csv"])


def assert_recomputes(xlsx: Path, table_: Path) -> None:
    """Every number of the table stands in the workbook, and the formulas give it."""
    workbook = Workbook(xlsx)
    rows = [row for row in rows_of(table_) if row["unit"] not in ("date", "text")]
    on_facts = [cell for cell in (*workbook.formulas, *workbook.numbers) if cell[0] == "Facts"]
    computed = sorted(workbook.value(cell) for cell in on_facts)
    assert computed == sorted(float(row["value"]) for row in rows)
    own = [cell for cell in workbook.formulas if cell[0] != "Facts"]
    assert len(own) > 150
    assert all(workbook.value(cell) == workbook.cached[cell] for cell in own)
    # They are live: a changed number moves what hangs on it.
    cell = next(cell for cell in own if workbook.formulas[cell].startswith("("))
    source = cell[0], re.findall(r"[A-Z]+[0-9]+", workbook.formulas[cell])[0]
    assert Workbook(xlsx, {source: 1e9}).value(cell) != workbook.cached[cell]


def test_a_fact_table_is_printed_as_it_is(shared: Path, tmp_path: Path) -> None:
    source = shared / "filings" / "000.csv"
    files = publish_table(source, load_profile(), Filer(name="Example"), tmp_path, FORMATS,
                          writers=RELEASE_WRITERS)  # fmt: skip
    again = read_facts([files["csv"]], load_profile())
    given = read_facts([source], load_profile())
    assert [fact.text for fact in again] == [fact.text for fact in given]
    assert check_facts(again, load_profile()).counts == check_facts(given, load_profile()).counts


# Words are data.


def test_a_filer_says_it_in_its_own_words(closed_book: Path, tmp_path: Path) -> None:
    filer = parse_filer("""
name: Lender & Sons <Ltd>
translation: {rate: 7.2672}
texts:
  headline: "{company}: {period} at a glance"
  definitions: {Total net revenue: What came in.}
""")
    page = publish(made(closed_book, "2024Q1", filer), tmp_path, ["html"],
                   writers=RELEASE_WRITERS)["html"].read_text()  # fmt: skip
    assert "Lender &amp; Sons &lt;Ltd&gt;: the first quarter of 2024 at a glance" in page
    assert "Total net revenue: What came in." in page


def test_without_translation_there_are_no_other_columns(closed_book: Path, tmp_path: Path) -> None:
    filer = parse_filer("name: Example\ntranslation: {shown: false}")
    rows = rows_of(table(made(closed_book, "2024Q1", filer), tmp_path))
    assert {row["currency"] for row in rows} == {"RMB", "n/a"}


# Bad input.


def refused(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["disclose", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert "Traceback" not in told.err
    return told.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["release", "2025Q1"], "2025Q1 is not closed"),
        (["release", "2024Q5"], "'2024Q5' is no period"),
        (["release", "2024-05"], "2024-05 is not closed"),
        (["release", "2024-06"], "do not tell 2024-06 from its first day"),
        (["release"], "one period or of one table"),
        (["release", "2024Q2", "--rate", "x"], "x is no rate of exchange"),
        (["release", "2024Q2", "--formats", "docx"], "unknown format 'docx'"),
        (["release", "2024Q2", "--filer", "none.yaml"], "none.yaml"),
        (["drill", "2024Q2/operations/net-incom/2024Q2"], "Did you mean"),
        (["drill", "operations"], "is no address"),
        (["drill", "000/operations/net-income/2024Q2"], "'000' is no period"),
    ],
)
def test_refusals(
    closed_book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    told = refused(*arguments, "--book", str(closed_book), capsys=capsys)
    assert message in told
    assert list(tmp_path.iterdir()) == []


def test_a_garbled_table_is_refused_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of its problems by row, and nothing is written."""
    rows = SMALL.splitlines()
    rows[1] = rows[1].replace(",700,", ",7OO,")
    rows[3] = rows[3].replace("2024-03-31", "2024-13-31")
    rows[5] = rows[5].replace("thousand", "million").replace("balance_sheet", "balance_shet")
    path, out = tmp_path / "given.csv", tmp_path / "out"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    told = refused("release", "--table", str(path), "--out", str(out), capsys=capsys)
    for wrong in ("line 2: '7OO' is not a number", "line 4: unknown period", "line 6: unknown"):
        assert wrong in told
    assert not out.exists()
    two = tmp_path / "two.csv"
    two.write_text(SMALL + SMALL.partition("\n")[2].replace("A,", "B,"), encoding="utf-8")
    told = refused("release", "--table", str(two), "--out", str(out), capsys=capsys)
    assert "holds 2 documents: A, B" in told
    arguments = ("--table", str(path), "--announcement", str(path), "--out", str(out))
    assert "goes with a book" in refused("release", *arguments, capsys=capsys)
    assert not out.exists()


def test_no_book_and_no_rate(
    tmp_path: Path, closed_book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused("release", "2024Q2", "--book", str(tmp_path / "none"), capsys=capsys)
    assert "none" in told
    release = made(closed_book, "2024Q1", Filer())
    assert release.rate == Decimal("7.2203")  # the books' own
    for table in ("days", "values"):
        object.__setattr__(release.closed.books.rates, table, {})
    fresh = Release(release.closed, release.period, release.profile, Filer())
    with pytest.raises(UsanceError, match="no rate for the columns in USD"):
        assert fresh.rate


@pytest.mark.parametrize(
    ("period", "day"),
    [("2024Q1", "March 28, 2024"), ("2023Q4", "December 29, 2023")],  # a Sunday has no rate
)
def test_a_rate_of_the_books_is_told_with_the_day_it_was_stated_on(
    closed_book: Path, tmp_path: Path, period: str, day: str
) -> None:
    files = publish(made(closed_book, period, Filer()), tmp_path, ["html"], writers=RELEASE_WRITERS)
    page = files["html"].read_text(encoding="utf-8")
    said = next(each for each in page.splitlines() if "to USD 1.00" in each)
    assert day in said
    assert TieKind.BROKEN not in check([files["csv"]]).counts


def test_a_rate_that_was_stated_long_before_the_end_of_a_period_is_none_of_it(
    closed_book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["release", "2024Q3", "--book", str(closed_book), "--out", str(tmp_path)]
    told = refused(*arguments, capsys=capsys)
    assert "the last rate of USD in the books is that of 2024-06-28" in told
    assert "State an exchange_rate of 2024-09-30" in told
    assert not any(tmp_path.iterdir())
    assert main(["disclose", *arguments, "--rate", "7.0176", "--formats", "csv"]) == 0


def test_wrong_filers(tmp_path: Path) -> None:
    with pytest.raises(UsanceError, match="3 problems"):
        parse_filer("unit: dozen\ntranslation: {rate: -1}\n")
    for rate in ("1e400", "9" * 30, "0.00000001"):
        with pytest.raises(UsanceError, match="is no rate of exchange"):
            parse_filer(f"name: A\ntranslation: {{rate: {rate}}}\n")
    own = tmp_path / "profile.yaml"
    for key, value in (("per_share_decimals", 99), ("adjustment_tax_rate", "much")):
        own.write_text(f"extends: house\nrounding: {{{key}: {value}}}\n")
        with pytest.raises(UsanceError, match=rf"rounding\.{key} is"):
            load_profile(own)
    with pytest.raises(UsanceError, match="unknown text 'headlin'"):
        load_wording("en", {"headlin": "x"})
    with pytest.raises(UsanceError, match="unknown language 'xx'"):
        load_wording("xx", {})


def test_the_command_writes_all_files(
    closed_book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["disclose", "release", "2024Q2", "--book", str(closed_book), "--out", str(out)]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["data"]
    assert told["document"] == "2024Q2"
    assert sorted(told["files"]) == ["csv", "html", "pdf", "xlsx"]
    assert sorted(path.name for path in out.iterdir()) == [
        "2024Q2.csv", "2024Q2.html", "2024Q2.pdf", "2024Q2.xlsx",
    ]  # fmt: skip


def test_the_notes_of_a_book_as_json(closed_book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures per share are numbers."""
    assert main(["books", "notes", "2024Q2", "--book", str(closed_book), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["data"]["rows"]
    counts = [row["value"] for row in rows if row.get("unit") == "shares"]
    assert counts
    assert all(isinstance(value, int) for value in counts)
    assert {row["period"] for row in rows if row["statement"] == "tax_reconciliation"} == {"2024Q2"}
