"""A release as an editor wants it: dateline, quotes, reasons, sides, signs, other documents."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from html import unescape
from pathlib import Path

import pytest

from tests.disclose.filings import table_rows
from usance.base.book import Book
from usance.base.errors import UsanceError
from usance.books.closed_books import ClosedBooks
from usance.books.periods import parse_close_period
from usance.disclose import check_facts, load_profile
from usance.disclose.fact_table_file import facts_of_text
from usance.disclose.facts import Fact
from usance.disclose.periods import Period, parse_period
from usance.disclose.release.announcement import parse_announcement
from usance.disclose.release.change_analysis import ChangeAnalysis, Driver, load_drivers
from usance.disclose.release.figure import as_csv
from usance.disclose.release.filer import parse_filer
from usance.disclose.release.publication import publish, release_of
from usance.disclose.release.sentences import SentenceWriter
from usance.disclose.release.wording import load_wording
from usance.pages.reports.release import RELEASE_WRITERS

FILER = """
name: Example Holding, Inc.
place: Shanghai, China
business: an open credit platform
listings: [{exchange: NASDAQ, code: EXMP}, {exchange: HKEX, code: "9999"}]
exchange: HKEX
translation: {rate: 7.2672, on: 2024-12-31, source: the H.10 statistical release}
about: Example matches borrowers with funders.
contact: [Investor relations, ir@example.com]
registrant: {file_number: 001-00000, address: 1 Example Road, annual_form: 20-F,
  signer: A. Example, signer_title: Chief Financial Officer}
"""
ANNOUNCEMENT = """
on: 2025-03-12
call: The call is at 8:30 PM.
quotes:
  - {who: B. Example, role: Chief Executive Officer, text: "We earned {Net income}."}
"""


@pytest.fixture(scope="module")
def files(closed_book: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    release = release_of(
        Book.open(closed_book), parse_close_period("2024Q4"), load_profile(), parse_filer(FILER),
        parse_announcement(ANNOUNCEMENT),
    )  # fmt: skip
    out = tmp_path_factory.mktemp("editorial")
    return publish(release, out, ["csv", "html"], writers=RELEASE_WRITERS)


@pytest.fixture(scope="module")
def page(files: dict[str, Path]) -> str:
    return files["html"].read_text(encoding="utf-8")


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())


def test_the_dateline_says_place_day_company_tickers_and_both_periods(page: str) -> None:
    assert (
        "Shanghai, China, March 12, 2025: Example Holding, Inc. (NASDAQ: EXMP; HKEX: 9999), an "
        "open credit platform, today published its unaudited results for the fourth quarter and "
        "full year 2024."
    ) in words(page)


def test_what_every_release_says_stands_on_the_page(page: str) -> None:
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    for title in ("From management", "Conference call", "About Example Holding, Inc.",
                  "Use of non-GAAP measures", "Safe harbor statement", "Contact"):  # fmt: skip
        assert title in titles
    assert "as of December 31, 2024, the H.10 statistical release" in words(page)


def test_a_quote_has_the_printed_figure(page: str, files: dict[str, Path]) -> None:
    (net,) = [
        row["value"]
        for row in table_rows(files["csv"])
        if (row["statement"], row["line"]) == ("release_highlights", "Net income")
        and (row["period_or_date"], row["currency"]) == ("2024Q4", "RMB")
    ]
    said = re.search(r"B. Example, Chief Executive Officer: “We earned ([^”]*)\.”", words(page))
    assert said
    assert re.sub(r"[^0-9.]", "", said[1]) == net.lstrip("-")


def test_a_quote_of_an_unknown_figure_is_refused(closed_book: Path, tmp_path: Path) -> None:
    announced = parse_announcement(ANNOUNCEMENT.replace("{Net income}", "{Net incom}"))
    release = release_of(Book.open(closed_book), parse_close_period("2024Q4"), load_profile(),
                         parse_filer(FILER), announced)  # fmt: skip
    with pytest.raises(UsanceError, match="'Net incom', which is no highlight"):
        publish(release, tmp_path / "out", ["html"], writers=RELEASE_WRITERS)


def test_quarter_and_year_are_told_apart(page: str) -> None:
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert "Results of the period: Q4 2024" in titles
    assert "Results of the period: FY 2024" in titles


def test_signs_and_zeros_are_printed_as_statements_do(page: str) -> None:
    """No minus anywhere: brackets in tables, in sentences the name of a loss or a benefit."""
    cells = re.findall(r"<(?:td|b) id[^>]*>([^<]*)</(?:td|b)>", page)
    assert not [cell for cell in cells if cell.startswith("-")]
    assert "\u2013" in cells
    assert [cell for cell in cells if re.fullmatch(r"\([0-9,]+\)", cell)]
    assert "RMB0.0 million" not in page


def test_a_benefit_is_called_a_benefit(page: str, files: dict[str, Path]) -> None:
    rows = [
        row
        for row in table_rows(files["csv"])
        if (row["statement"], row["line"]) == ("release_results", "Income tax expense")
        and (row["period_or_date"], row["currency"]) == ("2024Q4", "RMB")
    ]
    name = "Income tax benefit" if rows[0]["value"].startswith("-") else "Income tax expense"
    assert f"{name} came to" in words(page)


def test_sides_of_the_balance_sheet_and_unaudited_titles(page: str) -> None:
    headings = re.findall(r'<tr class="heading"><td[^>]*>(.*?)</td>', page)
    assert headings.index("ASSETS") < headings.index("LIABILITIES") < headings.index("EQUITY")
    assert "Unaudited condensed consolidated balance sheets" in page
    noted = re.findall(r"Unaudited\. Amounts in thousands of [^<]*", page)
    plain = "Unaudited. Amounts in thousands of RMB and USD."
    assert noted[0] == plain  # a balance sheet has no figures per share
    assert noted[1] == f"{plain[:-1]}, except numbers of shares and figures per share."
    assert "Unaudited. Amounts in thousands of RMB." in noted  # the matrices


def test_matrices_are_a_table_for_each_period_with_numbered_notes(page: str) -> None:
    tables = page.split("<section")
    matrices = [each for each in tables if "from U.S. GAAP to IFRS" in each and "<table" in each]
    assert len(matrices) >= 3
    for each in matrices:
        assert len(re.findall(r"<th>", each.partition("</thead>")[0])) == 7
    for number in ("(i)", "(ii)", "(iii)", "(iv)"):
        assert f"{number} " in matrices[0]
        assert re.search(rf'class="prose">{re.escape(number)} ', page)


def grown_by_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample lends in one quarter only, so its drivers are given: half as much again."""
    monkeypatch.setattr(
        ChangeAnalysis,
        "_driver",
        lambda _, __, period: Fraction(3 if period.end.year > 2023 else 2),
    )


MINOR = {"unit": 1, "thousand": 1_000, "million": 1_000_000}


def amount(row: dict[str, str]) -> Fraction:
    return Fraction(row["value"]) * MINOR[row["unit"]]


@pytest.mark.parametrize("unit", ["unit", "thousand"])
def test_reasons_add_up_and_are_told(
    closed_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    """In the unit that the line's own figures are told in."""
    grown_by_half(monkeypatch)
    release = release_of(Book.open(closed_book), parse_close_period("2024Q4"), load_profile(),
                         parse_filer(f"{FILER}unit: {unit}"))  # fmt: skip
    files = publish(release, tmp_path, ["csv", "html"], writers=RELEASE_WRITERS)
    listed = table_rows(files["csv"])
    rows = [row for row in listed if row["statement"] == "change_analysis"]
    totals = [row for row in rows if row["is_total"] == "1"]
    assert {row["period_or_date"] for row in totals} == {"2024Q4"}
    operations, told = (
        {(row["line"], row["period_or_date"]): row for row in listed
         if (row["statement"], row["currency"]) == (statement, "RMB")}
        for statement in ("operations", "release_results")
    )  # fmt: skip
    for total in totals:
        name, period = total["line"], total["period_or_date"]
        effects = {row["line"]: row for row in rows
                   if (row["parent_line"], row["period_or_date"]) == (name, period)}  # fmt: skip
        assert sum(map(amount, effects.values())) == amount(total)
        assert {row["unit"] for row in effects.values()} == {total["unit"]}
        line, year_ago = name.removeprefix("Change in "), period.replace("2024", "2023")
        if "(" in line:
            continue
        now, then = (amount(operations[line, each]) for each in (period, year_ago))
        step = MINOR[total["unit"]] * Fraction(1, 10 if "." in total["value"] else 1)
        assert abs(amount(total) - (now - then)) <= step / 2
        assert total["unit"] == told[line, period]["unit"] or abs(now - then) < step * 10
        if len(effects) == 2:
            assert abs(amount(effects["Volume"]) - then / 2) <= step / 2
    page = words(files["html"].read_text(encoding="utf-8"))
    assert re.search(r"The (increase|decrease) of RMB[0-9,.]+[a-z ]* on the year before: vol", page)
    assert not [row for row in rows if not Fraction(row["value"])]  # nothing explains nothing


@pytest.mark.parametrize("is_new", [False, True])
def test_the_mix_of_services_is_told_apart_and_costs_have_no_price(
    closed_book: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    """What services grew by beyond the whole; a service of this year alone has no mix."""
    grown = "Capital-heavy loan volume"

    def driver(_: object, each: Driver, period: Period) -> Fraction | None:
        if period.end.year == 2023:
            return None if is_new and each.driver == grown else Fraction(1)
        return Fraction(2 if each.driver == grown else 1)

    monkeypatch.setattr(ChangeAnalysis, "_driver", driver)
    release = release_of(Book.open(closed_book), parse_close_period("2024Q4"), load_profile(),
                         parse_filer(f"{FILER}unit: unit"))  # fmt: skip
    rows = [each for each in ChangeAnalysis(release).figures() if each.period == "2024Q4"]
    told = {(each.parent, each.line): Fraction(each.text) * MINOR[each.unit] for each in rows}
    before = {
        line: value
        for (line, _), value in release.statements.rounded.operations(
            date(2023, 9, 30), date(2023, 12, 31)
        ).items()
    }
    whole = "Change in Total net revenue"
    if is_new:
        assert told[whole, "Price and mix"] == told["", whole]
        assert not [name for _, name in told if "services" in name]
    else:
        moved = before["Loan facilitation and servicing fees-capital heavy"]  # by as much again
        assert told[whole, "Mix of services"] == moved > 0
        assert told[whole, "Price and mix within services"] == told["", whole] - moved
    names = {
        line: {name for parent, name in told if parent == f"Change in {line}"}
        for line in ("Sales and marketing", "Funding costs", "Provision for loans receivable")
    }
    for found in names.values():
        assert "Price and mix" not in found


def test_a_line_of_nothing_is_left_out_of_the_quarter_or_of_the_year(
    files: dict[str, Path],
) -> None:
    told: dict[tuple[str, str, bool], set[Fraction]] = {}
    for row in table_rows(files["csv"]):
        if row["statement"] == "release_results" and row["currency"] == "RMB":
            key = row["line"], row["parent_line"], "Q" in row["period_or_date"]
            told.setdefault(key, set()).add(Fraction(row["value"]))
    assert len({key[2] for key in told}) == 2
    assert not [key for key, values in told.items() if values == {0}]


def test_every_line_names_what_its_driver_leaves() -> None:
    rest = {each.line: each.rest for each in load_drivers()}
    assert rest["Sales and marketing"] == "Unit cost"
    assert rest["Funding costs"] == "Cost of funds"
    assert {rest[line] for line in rest if line.startswith("Provision")} == {"Loss rate"}
    assert {each.rest for each in load_drivers() if each.is_revenue} == {"Price and mix"}
    assert sum(each.is_revenue for each in load_drivers()) == 7
    effects = {"Volume", "Mix of services", "Price and mix within services", *rest.values()}
    assert effects <= set(load_wording("en", {})["effects"])


def test_a_company_is_called_by_one_name_in_any_script(closed_book: Path, tmp_path: Path) -> None:
    """Lines that have the name of the company take it from the filer, as the headline does."""
    filer = parse_filer("name: \u8303\u4f8b\u63a7\u80a1\nlanguage: zh\ntranslation: {rate: 7.2}")
    release = release_of(Book.open(closed_book), parse_close_period("2024Q4"), load_profile(),
                         filer)  # fmt: skip
    files = publish(release, tmp_path, ["csv", "html"], writers=RELEASE_WRITERS)
    named = {row["line"] for row in table_rows(files["csv"]) if "EQUITY" in row["line"]}
    assert "TOTAL \u8303\u4f8b\u63a7\u80a1 EQUITY" in named
    own = Book.open(closed_book)
    assert ClosedBooks.of(own, parse_close_period("2024Q4")).books.entities.parent.name not in str(
        files["html"].read_text(encoding="utf-8")
    )


def test_a_wrong_effect_is_found(closed_book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grown_by_half(monkeypatch)
    release = release_of(Book.open(closed_book), parse_close_period("2024Q4"), load_profile(),
                         parse_filer(FILER))  # fmt: skip
    table = as_csv(release.document, release.figures, "RMB")
    wrong = re.sub(r"(change_analysis,Change in [^\n]*?,RMB,thousand,)(-?\d+)",
                   lambda found: f"{found[1]}{int(found[2]) + 1}", table, count=1)  # fmt: skip
    assert wrong != table
    profile = load_profile()
    assert not check_facts(facts_of_text(table, profile, "a.csv"), profile).is_broken
    assert check_facts(facts_of_text(wrong, profile, "a.csv"), profile).is_broken


def test_an_amount_of_nothing_is_nil() -> None:
    """A loss says so by its name, and needs no brackets."""
    facts = []
    for name, value in (("2024Q4", "0"), ("2023Q4", "-301")):
        period = parse_period(name)
        assert period
        facts.append(
            Fact(
                "a",
                "release_results",
                "Investment loss",
                "",
                period,
                "RMB",
                "thousand",
                value,
                False,
                2,
                "a.csv",
                1000 * Fraction(value),
                Fraction(1),
            )
        )
    writer = SentenceWriter(load_wording("en", {}), load_profile(), {})
    (told,) = writer.sentences("release_results", facts)
    assert told.plain.startswith("Investment loss came to nil, against RMB301 thousand a year")


@pytest.mark.parametrize(("language", "now", "also", "told"), [
    ("en", "2", "0", "came to RMB2 thousand (less than US$1 thousand)"),
    ("de", "2", "0", "RMB 2 Tausend (weniger als US$ 1 Tausend)"),
    ("zh", "2", "0", "\u4eba\u6c11\u5e012\u5343\u5143\uff08\u4e0d\u8db31\u5343\u7f8e\u5143\uff09"),
    ("en", "0.2", "0.0", "came to RMB0.2 thousand (less than US$0.1 thousand)"),
    ("en", "0", "0", "came to nil (US$0)"),
])  # fmt: skip
def test_what_is_nothing_in_the_other_currency_alone_is_less_than_its_step(
    language: str, now: str, also: str, told: str
) -> None:
    """It was told as nil, beside an amount."""
    period = parse_period("2024Q4")
    assert period
    line = "Provision for contingent liabilities"
    facts = [Fact("a", "release_results", line, "", period, currency, "thousand", value, False, 2,
                  "a.csv", 1000 * Fraction(value), Fraction(1000))
             for currency, value in (("RMB", now), ("USD", also))]  # fmt: skip
    writer = SentenceWriter(load_wording(language, {}), load_profile(), {})
    (sentence,) = writer.sentences("release_results", facts)
    assert told in sentence.plain


def test_the_cover_and_the_announcement_go_with_it(files: dict[str, Path]) -> None:
    cover = words(files["6-k.html"].read_text(encoding="utf-8"))
    for part in ("Form 6-K", "March 2025", "001-00000", "Form 20-F", "99.2", "By: A. Example"):
        assert part in cover
    told = words(files["announcement.html"].read_text(encoding="utf-8"))
    assert "HKEX stock code: 9999" in told
    assert "Unaudited reconciliation of the balance sheet from U.S. GAAP to IFRS" in told
    assert files["6-k.html"].name == "2024Q4-6-k.html"


def test_nothing_is_dated_before_it_is_announced(closed_book: Path, tmp_path: Path) -> None:
    """Without the day of an announcement there is no dateline, and no document that has a date."""
    release = release_of(Book.open(closed_book), parse_close_period("2024Q4"), load_profile(),
                         parse_filer(FILER))  # fmt: skip
    files = publish(release, tmp_path, ["html"], writers=RELEASE_WRITERS)
    assert not [name for name in files if "6-k" in name or "announcement" in name]
    assert "today published" not in files["html"].read_text(encoding="utf-8")


def test_an_exchange_without_a_code_is_refused() -> None:
    with pytest.raises(UsanceError, match="'LSE' has no code"):
        parse_filer(FILER.replace("exchange: HKEX\n", "exchange: LSE\n"))


@pytest.mark.parametrize(("language", "told"), [
    ("en", "a net loss of RMB3.0 million a year earlier (Q4 2023) and net income of RMB4.0"),
    ("de", "nach einem Nettoverlust von RMB"),
])  # fmt: skip
def test_an_earlier_loss_has_its_article(language: str, told: str) -> None:
    """Beside it the other figure has its name too, or it would be read as a loss."""
    facts = []
    for name, value in (("2024Q4", "5.0"), ("2023Q4", "-3.0"), ("2024Q3", "4.0")):
        period = parse_period(name)
        assert period is not None
        facts.append(Fact("a", "release_results", "Net income", "", period, "RMB", "million", value,
                          False, 2, "a.csv", Fraction(value) * 10**6, Fraction(10**5)))  # fmt: skip
    texts = load_wording(language, {})
    writer = SentenceWriter(texts, load_profile(), texts["definitions"])
    (sentence,) = writer.sentences("release_results", facts)
    assert told in sentence.plain


def test_every_name_of_a_loss_is_known_inside_a_sentence() -> None:
    """One that is not would stand there without its article."""
    for language in ("en", "de"):
        texts = load_wording(language, {})
        assert not set(texts["below_zero"].values()) - set(texts["inside"])


def test_curves_are_printed_from_the_first_month_on(page: str) -> None:
    """Older quarters begin later: a table in the order of the facts would begin with theirs."""
    months = [int(each) for each in re.findall(r"Month on book (\d+)</t", page)]
    tables = [n for n, month in enumerate(months) if n == 0 or month < months[n - 1]]
    assert len(tables) == 2, "two tables, each in order"
    assert {months[n] for n in tables} == {0}
