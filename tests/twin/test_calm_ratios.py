"""`calm` as an analyst reads it: every ratio of its last year lies in the band of the docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from html import unescape

import pytest

from tests.house import tree
from tests.twin.runs import ticking
from tests.twin.test_believable import unbelievable
from usance.base.book import Book
from usance.books.closed_books import ClosedBooks
from usance.books.group.entities import parse_entities
from usance.books.periods import parse_close_period
from usance.disclose import check_facts, load_profile
from usance.disclose.fact_table_file import facts_of_text
from usance.disclose.release.change_analysis import CHANGE_ANALYSIS
from usance.disclose.release.figure import as_csv
from usance.disclose.release.filer import parse_filer
from usance.disclose.release.publication import release_of
from usance.twin.run.runner import run_scenario
from usance.world.scenario.file import read_scenario

pytestmark = pytest.mark.slow  # a whole run of calm, some twenty seconds
QUARTERS = ("2023Q3", "2023Q4", "2024Q1", "2024Q2")
ROW = re.compile(r"^\| ([^|]+) \| ([\d.]+)(%?) to ([\d.]+)(%?) \| [^|]+ \|$", re.MULTILINE)
Figures = dict[str, int]


def bands() -> dict[str, tuple[float, float]]:
    page = (tree.ROOT / "docs" / "explanation" / "believable-books.md").read_text(encoding="utf-8")
    return {
        name: (float(low) / (100 if percent else 1), float(high) / (100 if percent else 1))
        for name, low, percent, high, _ in ROW.findall(page)
    }


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    calm = read_scenario("calm")
    run = run_scenario(
        calm, tmp_path_factory.mktemp("calm") / "run", scale=Fraction(1), first=calm.first_month,
        last=calm.last_month, clock=ticking(),
    )  # fmt: skip
    return run.book


def figures(book: Book, quarter: str) -> Figures:
    """Statement lines of a quarter, and sums that only the ledger has."""
    closed = ClosedBooks.of(book, parse_close_period(quarter))
    rows = [row for row in closed.statements() if ":" not in row.statement]
    found = {row.line: row.amount_minor for row in rows}
    group = closed.books.at(parse_close_period(quarter).last_day)
    names = ("loans", "loans_non_current", "loan_allowance", "trust_investors",
             "trust_investors_non_current", "cash", "restricted_cash")  # fmt: skip
    found |= {name: group.amount(name) for name in names}
    paid = [row for row in closed.postings.to_pylist() if row["rule"] == 885]
    months = set(parse_close_period(quarter).months)
    found["share-based pay"] = sum(
        row["amount_minor"] for row in paid
        if row["period"] in months and row["amount_minor"] > 0
    )  # fmt: skip
    return found


def metrics(book: Book, quarter: str) -> dict[str, float]:
    rows = book.read("metrics").to_pylist()
    ends = {quarter, parse_close_period(quarter).last_day.isoformat()}
    return {
        row["metric"] + (f" {row['dimensions']}" if row["dimensions"] else ""): row["value"]
        for row in rows
        if row["period"] in ends and row["series"] == "as_reported"
    }


def ratios(now: Figures, seen: dict[str, float]) -> Iterator[tuple[str, float]]:
    revenue, income = now["Total net revenue"], now["Net income"]
    before_tax = now["Income before income tax expense"]
    own = now["loans"] + now["loans_non_current"]
    owed = -now["trust_investors"] - now["trust_investors_non_current"]
    volume = seen["origination_volume"]
    costs = ["Facilitation, origination and servicing", "Sales and marketing",
             "General and administrative"]  # fmt: skip
    provisions = [line for line in now if line.startswith("Provision for")]
    yield "effective tax rate", -now["Income taxes expense"] / before_tax
    yield "net margin", income / revenue
    yield "return on equity, a year", 4 * income / now["TOTAL EQUITY"]
    yield "return on assets, a year", 4 * income / now["TOTAL ASSETS"]
    yield "equity over assets", now["TOTAL EQUITY"] / now["TOTAL ASSETS"]
    yield "gross take rate, a year", 4 * revenue / seen["outstanding_balance"]
    yield "yield of own loans, a year", 4 * now["Financing income"] / own
    yield "cost of funds, a year", 4 * now["Funding costs"] / owed
    yield "trust payables over own loans", owed / own
    yield "due after a year, of trust payables", -now["trust_investors_non_current"] / owed
    yield "servicing cost over volume", now[costs[0]] / volume
    yield "sales and marketing over volume", now[costs[1]] / volume
    yield "general and administrative over revenue", now[costs[2]] / revenue
    yield (
        "operating cost over revenue, without provisions",
        sum(now[each] for each in costs) / revenue,
    )
    yield "provisions over volume", sum(now[line] for line in provisions) / volume
    yield "allowance over own loans", -now["loan_allowance"] / own
    guaranteed = seen["leverage"] * now["TOTAL EQUITY"] - own
    yield "contingent over guaranteed balance", now["Guarantee liabilities-contingent"] / guaranteed
    yield (
        "stand-ready over guaranteed balance",
        now["Guarantee liabilities-stand ready"] / guaranteed,
    )
    yield "coverage of 91 to 180 days past due", seen["provision_coverage"]
    cash = now["cash"] + now["restricted_cash"]
    yield "interest income over cash, a year", 4 * now["Interest income, net"] / cash
    yield "share-based pay over revenue", now["share-based pay"] / revenue
    yield "leverage", seen["leverage"]
    yield "90 day+ delinquency", seen["delinquency_90"]
    yield "volume without the platform's risk", seen["non_risk_bearing_share"]


def test_every_ratio_lies_in_its_band(book: Book) -> None:
    known, outside = bands(), []
    assert len(known) == 25
    for quarter in QUARTERS:
        found = dict(ratios(figures(book, quarter), metrics(book, quarter)))
        found["technology solutions, of volume"] = technology(book, quarter)
        assert found.keys() == known.keys()
        for name, value in found.items():
            low, high = known[name]
            if not low <= value <= high:
                outside.append(f"{quarter} {name}: {value:.4f} is not {low} to {high}")
    assert not outside, "\n".join(outside)


def technology(book: Book, quarter: str) -> float:
    """The share of tech_solutions in the volume of a quarter."""
    loans = book.read("loans", ["disbursed_on", "model", "principal_minor"]).to_pylist()
    period = parse_close_period(quarter)
    own = [row for row in loans
           if (row["disbursed_on"].year - 1970) * 12 + row["disbursed_on"].month - 1
           in period.months]  # fmt: skip
    lent = sum(row["principal_minor"] for row in own)
    return float(sum(row["principal_minor"] for row in own if row["model"] == 4) / lent)


def test_every_quarter_is_profitable(book: Book) -> None:
    for quarter in ("2023Q1", "2023Q2", *QUARTERS):
        assert figures(book, quarter)["Net income"] > 0, quarter


def test_no_quarter_is_one_a_reader_stops_at(book: Book) -> None:
    assert not unbelievable(book)


@pytest.mark.parametrize("name", ["income_tax_payable", "other_tax_payable"])
def test_the_opening_owes_the_tax_of_a_quarter(book: Book, name: str) -> None:
    """And so no quarter's cash from operations pays that of years before."""
    closed = ClosedBooks.of(book, parse_close_period("2024Q2"))
    owed = [-closed.books.at(day).amount(name) for day in closed.days[1:]]
    opening, usual = owed[0], sum(owed[1:]) / len(owed[1:])
    assert usual / 2 < opening < 2 * usual
    assert all(
        figures(book, quarter)["Net cash provided by operating activities"] > 0
        for quarter in ("2023Q1", "2023Q2", *QUARTERS)
    )


def test_changes_of_the_half_year_are_explained_beside_those_of_the_quarter(book: Book) -> None:
    """Provisions too: what was new and what was estimated anew adds up over two closes."""
    filer = parse_filer("name: Example\ntranslation: {shown: false}")
    release = release_of(book, parse_close_period("2024Q2"), load_profile(), filer)
    rows = [each for each in release.figures if each.statement == CHANGE_ANALYSIS]
    for period in ("2024Q2", "2024H1"):
        told = {each.line: each for each in rows if each.is_total and each.period == period}
        assert "Change in Total net revenue" in told
        assert "Change in Provision for contingent liabilities" in told
        for name, change in told.items():
            parts = [each for each in rows if (each.parent, each.period) == (name, period)]
            assert sum(Fraction(each.text) for each in parts) == Fraction(change.text)
            assert {each.unit for each in parts} == {change.unit}
            if "Provision" in name:
                assert {each.line for each in parts} & {"Estimates of earlier business"}
    table = as_csv(release.document, release.figures, "RMB")
    assert not check_facts(facts_of_text(table, load_profile(), "a.csv"), load_profile()).is_broken


def test_what_happened_before_the_book_began_is_compared_with_nothing(book: Book) -> None:
    """Of earlier loans only those that are left are known; what was there at the opening is."""
    filer = parse_filer("name: Example\ntranslation: {shown: false}")
    for quarter, ends in (("2023Q2", {"2023-06-30"}), ("2023Q4", {"2023-12-31", "2022-12-31"})):
        release = release_of(book, parse_close_period(quarter), load_profile(), filer)
        rows = list(release.business_highlights.figures())
        assert {each.period for each in rows} == {quarter, *ends}
        assert {
            each.period for each in rows if each.line == "Total outstanding loan balance"
        } == ends


def test_vintages_are_blank_before_the_book_began(book: Book) -> None:
    """Loans older than the book have no cells of 0 % in the months that nobody saw."""
    opened = (2022 - 1970) * 12 + 11
    rows = [row for row in book.read("metrics").to_pylist()
            if row["metric"] == "vintage_30" and row["series"] == "as_reported"]  # fmt: skip
    cells = [dict(part.split("=") for part in row["dimensions"].split(",")) for row in rows]
    months = [parse_close_period(cell["cohort"]).months[0] + int(cell["mob"]) for cell in cells]
    assert min(months) >= opened


def test_effective_interest_under_ifrs_differs(book: Book) -> None:
    """There are fees and prepayment, so what is expected is not what was agreed."""
    closed = ClosedBooks.of(book, parse_close_period("2024Q1"))
    (row,) = (row for row in closed.statements()
              if row.statement == "ifrs_reconciliation_operations:effective_interest_net_of_tax"
              and row.line == "Financing income")  # fmt: skip
    assert row.amount_minor != 0


def test_adjustments_to_ifrs_are_taxed_as_income_is(book: Book) -> None:
    """At the rate of the platform, and not at another one; each loan's is rounded."""
    group = parse_entities(read_scenario("calm").group.policies["entities.yaml"])
    rows = list(ClosedBooks.of(book, parse_close_period("2024Q2")).statements())
    for name in ("ecl_net_of_tax", "financial_guarantee_net_of_tax"):
        column = {row.line: row.amount_minor for row in rows
                  if row.statement == f"ifrs_reconciliation_operations:{name}"}  # fmt: skip
        before = column["Income before income tax expense"]
        assert before
        taxed = before * group.platform.tax_ppm / 10**6
        assert -column["Income tax expense"] == pytest.approx(taxed, rel=0.01)


def test_investors_are_owed_for_longer_than_a_month(book: Book) -> None:
    """What a quarter repays is a part of what was owed, not three times that."""
    rolls = ClosedBooks.of(book, parse_close_period("2024Q2")).roll_forwards()
    (roll,) = (each for each in rolls if each.name.startswith("Payable to investors"))
    moved = {name: minor for name, minor, _ in roll.lines()}
    assert abs(moved["funding repaid"]) + abs(moved["funding raised"]) < abs(moved["opening"])


def test_scores_are_stable_and_have_nothing_before_the_opening(book: Book) -> None:
    """Users of the opening have no score, which is not a score of zero."""
    found = {row["period"]: row["value"] for row in book.read("metrics").to_pylist()
             if (row["metric"], row["series"]) == ("score_stability", "as_reported")}  # fmt: skip
    first, *others = (found[each] for each in ("2023Q1", "2023Q2", *QUARTERS))
    assert first != first  # no data
    assert all(0 < each < 0.1 for each in others)


def test_the_release_of_the_run_is_one_to_publish(book: Book) -> None:
    """Its quarter was announced: there is a dateline, and the quote has the printed figure."""
    page = (book.path / "release" / "2024Q2.html").read_text(encoding="utf-8")
    told = " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())
    assert "Shanghai, China, August 13, 2024: Example Holding, an open credit platform," in told
    net = re.search(r"Net income came to (RMB[0-9.,]+[a-z ]*),", told)
    assert net
    assert f"\u201cWe earned {net[1]} on revenue of RMB" in told
    # The run ends with June: what was paid in July is not known, though August has announced it.
    assert "30-day collection rate (incomplete):" in told
    for title in ("From management", "Conference call", "About Example Holding", "Contact"):
        assert f">{title}</h2>" in page


def test_figures_per_share_are_large_enough_to_be_told_to_a_cent(book: Book) -> None:
    """A figure per ADS is that of a share, rounded, times two: of small ones it is a tenth off."""
    profile, period = load_profile(), parse_close_period("2024Q2")
    for each in release_of(
        book, period, profile, parse_filer("name: A\ntranslation: {shown: false}")
    ).figures:
        if each.unit == "per_share":
            assert abs(Fraction(each.text)) >= Fraction(1, 4)


def test_a_company_with_one_tax_return_has_no_deferred_tax_on_both_sides(book: Book) -> None:
    for quarter in QUARTERS:
        closed = ClosedBooks.of(book, parse_close_period(quarter))
        group = closed.books.at(parse_close_period(quarter).last_day)
        names = ("deferred_tax_asset", "deferred_tax_liability")
        assert sorted(map(bool, map(group.amount, names))) == [False, True]
