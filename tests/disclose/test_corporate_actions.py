"""Dividends, repurchases, the outlook and the exchange's form: what is said beside the books."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from tests.disclose.filings import table_rows
from tests.disclose.release_book import FACTS, release_book
from usance.base.book import Book
from usance.base.errors import UsanceError
from usance.books.periods import parse_close_period
from usance.cli import main
from usance.disclose import TieKind, check, load_profile
from usance.disclose.drill.drill import DrillIndex
from usance.disclose.release.announcement import Announcement, parse_announcement
from usance.disclose.release.figure import Figure
from usance.disclose.release.filer import Filer
from usance.disclose.release.publication import publish, release_of
from usance.disclose.release.release import Release

CAPITAL = """\
entity: 2
currency: USD
facts:
  - {kind: shares_issued, on: 2023-12-31, shares: 310000000}
  - {kind: programme_opened, name: "2024", on: 2024-04-01, until: 2025-03-31, limit: 350000000.00}
  - {kind: shares_repurchased, on: 2024-05-02, ads: 10700000, amount: 210790000.00,
     programme: "2024"}
  - kind: dividend_declared
    name: 2023H2
    on: 2024-03-12
    per_share: 0.29
    ordinary: {ex_on: 2024-04-12, lodge_by: 2024-04-15 16:30, record_on: 2024-04-15,
               pays_on: 2024-05-21}
    ads: {record_on: 2024-04-15, pays_on: 2024-05-24}
    form:
      issuer: Qifu Technology, Inc.
      stock_code: "03660"
      title: Dividend Announcement for the Second Half of 2023
      announced_on: 2024-03-13
      year_end: 2023-12-31
      period_end: 2023-12-31
      registrar: Example Registrar Limited
      registrar_address: 1 Example Road
      other: "Nasdaq ADSs symbol: QFIN"
      directors: A board of nine.
"""
IN_FACTS = """\
  - {id: 30, kind: currency_exchanged, entity: 2, on: 2024-06-03, amount: 70999.00,
     bought: 10000.00 USD}
  - {id: 31, kind: programme_opened, entity: 2, on: 2024-05-01, currency: USD, name: "2024",
     until: 2025-04-30, amount: 50000.00}
  - {id: 32, kind: shares_repurchased, entity: 2, on: 2024-06-10, currency: USD, quantity: 1200,
     amount: 7500.00, programme: "2024"}
  - {id: 33, kind: dividend_declared, entity: 2, on: 2024-08-13, currency: USD, amount: 0,
     name: 2024H1, per_share: 0.01,
     ordinary: {record_on: 2024-09-27, pays_on: 2024-10-29},
     ads: {record_on: 2024-09-27, pays_on: 2024-11-01}}
"""


@pytest.fixture
def capital(tmp_path: Path) -> Path:
    path = tmp_path / "capital.yaml"
    path.write_text(CAPITAL, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def acting_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book with a programme, a repurchase and a dividend declared after the half year."""
    folder = tmp_path_factory.mktemp("acting") / "book"
    release_book(folder, ("2023Q4", "2024Q1", "2024Q2"), FACTS + IN_FACTS)
    return folder


def made(folder: Path, said: Announcement | None = None, period: str = "2024Q2") -> Release:
    filer = Filer(rate=Decimal("7.2672"))
    return release_of(Book.open(folder), parse_close_period(period), load_profile(), filer, said)


def lines(release: Release, statement: str) -> dict[str, Figure]:
    return {each.line: each for each in release.figures if each.statement == statement}


def test_a_dividend_declared_by_the_day_it_speaks(acting_book: Path) -> None:
    assert lines(made(acting_book), "dividend") == {}
    found = lines(made(acting_book, Announcement(date(2024, 8, 13))), "dividend")
    told = {line: (each.text, each.currency) for line, each in found.items()}
    assert told["Dividend per ordinary share"] == ("0.01", "USD")
    assert told["Dividend per ADS"] == ("0.02", "USD")
    assert told["Aggregate dividend"] == ("9988.00", "USD")  # 998,800 shares at 0.01
    assert told["Record date"][0] == "2024-09-27"
    assert told["Payment date - ADS"][0] == "2024-11-01"
    assert {each.period for each in found.values()} == {"2024H1"}
    release = made(acting_book, Announcement(date(2024, 8, 13)))
    income = release.net_income_minor("2024H1")
    assert income is not None
    share = 100 * Decimal("9988.00") * Decimal("7.2672") * 100 / income
    assert told["Payout of net income"][0] == f"{share:.1f}"


def test_a_programme_and_its_use(acting_book: Path) -> None:
    found = lines(made(acting_book), "share_repurchase")
    told = {line: each.text for line, each in found.items()}
    assert told == {
        "2024 plan authorized value": "50000.00", "2024 plan opens": "2024-05-01",
        "2024 plan closes": "2025-04-30", "2024 plan ADSs purchased": "600",
        "2024 plan amount": "7500.00", "2024 plan average price": "12.50",
        "2024 plan utilisation": "15.0",
    }  # fmt: skip


def test_each_of_them_reaches_its_facts(acting_book: Path) -> None:
    each = DrillIndex(made(acting_book, Announcement(date(2024, 8, 13))))
    found = each.at("2024Q2/share_repurchase/2024-plan-amount/2024-08-13/USD")
    assert sorted(found.group_facts) == [31, 32]
    found = each.at("2024Q2/dividend/dividend-per-ordinary-share/2024H1/USD")
    assert found.group_facts[33]["kind"] == "dividend_declared"


def test_the_outlook_and_its_growth(acting_book: Path, tmp_path: Path) -> None:
    said = parse_announcement("""
on: 2024-08-13
outlook:
  - {line: Net income, period: 2025Q1, low: 20, high: 30, unit: thousand}
  - {line: Total net revenue, period: 2024Q3, low: 1.5, high: 2, unit: billion}
""")
    release = made(acting_book, said)
    told = {line: each.text for line, each in lines(release, "outlook").items()}
    q1 = release.statements.rounded.operations(date(2023, 12, 31), date(2024, 3, 31))
    base = next(value for (line, _), value in q1.items() if line == "Net income")
    assert told["Total net revenue - low"] == "1.50"
    if base > 0:
        assert told["Net income growth - low"] == f"{100 * (Decimal(20) / base - 1):.1f}"
    assert "Total net revenue growth - low" not in told  # the books do not tell 2023Q3
    path = publish(release, tmp_path, ["csv"])["csv"]
    assert check([path]).counts.get(TieKind.BROKEN, 0) == 0


def test_a_capital_document_tells_it_as_the_filing_did(
    acting_book: Path, capital: Path, shared: Path
) -> None:
    said = parse_announcement("on: 2024-08-13\ncapital: capital.yaml", folder=capital.parent)
    found = lines(made(acting_book, said), "share_repurchase")
    filed = {
        row["line"]: row["value"]
        for row in table_rows(shared / "filings" / "002.csv")
        if row["statement"] == "share_repurchase"
    }
    for line, value in filed.items():
        digits = len(value.partition(".")[2])
        assert f"{Decimal(found[line].text):.{digits}f}" == value


# The form.


def test_every_field_of_the_real_form(capital: Path, shared: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["disclose", "form", "2023H2", "--capital", str(capital), "--out", str(out)]
    assert main(arguments) == 0
    rows = table_rows(out / "2023H2-form.csv")
    ours = {row["line"]: (row["currency"], row["unit"], row["value"]) for row in rows}
    for row in table_rows(shared / "filings" / "004.csv"):
        if row["line"] == "Nasdaq ADS symbol":
            assert ours["Other information"][2] == f"Nasdaq ADSs symbol: {row['value']}"
        else:
            assert ours[row["line"]] == (row["currency"], row["unit"], row["value"])
    assert sorted(path.name for path in out.iterdir()) == [
        "2023H2-form.csv", "2023H2-form.html", "2023H2-form.pdf",
    ]  # fmt: skip
    page = (out / "2023H2-form.html").read_text(encoding="utf-8")
    for label in ("Multi-counter stock code and currency", "USD 0.29 per share", "USD 1 : USD 1",
                  "Share registrar", "Directors of the issuer",
                  "Reporting period end for the dividend declared"):  # fmt: skip
        assert label in page
    report = check([out / "2023H2-form.csv", shared / "filings" / "003.csv"])
    own = [cause for cause in report.root_causes if cause.cell.document == "2023H2-form"]
    assert own == []


def test_the_form_in_another_language_has_the_same_facts(capital: Path, tmp_path: Path) -> None:
    filer = tmp_path / "filer.yaml"
    filer.write_text("name: Example\nlanguage: de\n", encoding="utf-8")
    plain = ["disclose", "form", "2023H2", "--capital", str(capital)]
    assert main([*plain, "--out", str(tmp_path / "en")]) == 0
    assert main([*plain, "--out", str(tmp_path / "de"), "--filer", str(filer)]) == 0
    tables = [(tmp_path / name / "2023H2-form.csv").read_bytes() for name in ("en", "de")]
    assert tables[0] == tables[1]
    page = (tmp_path / "de" / "2023H2-form.html").read_text(encoding="utf-8")
    assert "Beschlossene Dividende" in page
    assert "USD 0.29 je Aktie" in page


# Bad input.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("outlook: []", "on is missing"),
        ("on: soon", "on: "),
        ("on: 2024-08-13\noutlook: [{line: Profit, period: 2024Q3, low: 1, high: 2}]",
         "unknown line 'Profit'"),
        ("on: 2024-08-13\noutlook: [{line: Net income, period: 2024-09-30, low: 1, high: 2}]",
         "'2024-09-30' is no period"),
        ("on: 2024-08-13\noutlook: [{line: Net income, period: 2024Q3, low: 3, high: 2}]",
         "3 to 2 is no range"),
        ("on: 2024-08-13\noutlook: [{line: Net income, period: 2024Q3, low: x, high: 2}]",
         "x is no amount"),
        ("on: 2024-08-13\ncapital: none.yaml", "none.yaml"),
        ("on: 2024-08-13\noutlok: []", "outlok"),
    ],
)  # fmt: skip
def test_wrong_announcements(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsanceError) as raised:
        parse_announcement(content, folder=tmp_path)
    assert message in str(raised.value)


def test_all_problems_at_once() -> None:
    with pytest.raises(UsanceError, match="3 problems"):
        parse_announcement("outlook: [{line: Profit, period: Q3, low: 1, high: 2}]")


@pytest.mark.parametrize(
    ("change", "dividend", "message"),
    [
        ("", "2024H1", "unknown dividend '2024H1'"),
        ("form", "2023H2", "says nothing of its form"),
        ("ordinary", "2023H2", "says nothing of its ordinary"),
    ],
)
def test_forms_that_cannot_be_filled(
    capital: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str, dividend: str,
    message: str,
) -> None:  # fmt: skip
    text = CAPITAL
    if change == "form":
        text = text[: text.index("    form:")]
    elif change == "ordinary":
        start = text.index("    ordinary:")
        text = text[:start] + text[text.index("    ads: {record_on") :]
    capital.write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    arguments = ["disclose", "form", dividend, "--capital", str(capital), "--out", str(out)]
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told
    assert not out.exists()
