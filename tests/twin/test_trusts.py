"""Deals from files in a run: lived on its loans for eighteen months, tied to every close."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.twin.runs import ticking
from usance.base.book import Book
from usance.base.columns import arrays
from usance.base.dates import last_of_month
from usance.base.daycount import DayCount, year_fraction
from usance.base.money import half_up
from usance.books.chart import load_chart
from usance.books.close.closes import effective_closes, postings_of
from usance.books.group.facts import facts_of_table
from usance.books.group.funding import deals
from usance.books.statements.ledger import Ledger
from usance.cli import main
from usance.fund.book_deal import end_of_day
from usance.fund.book_loans import BookLoans
from usance.fund.deal import Deal
from usance.fund.deal_folder import deal_of_text, pool_of_bytes
from usance.fund.deal_terms import DealTerms
from usance.fund.held_deal import close_deal, cut_off
from usance.fund.payment_date import Distribution
from usance.fund.payment_files import distribution_of_dict
from usance.fund.projection import project
from usance.fund.remaining_strata import remaining_strata
from usance.fund.state import state_of_dict
from usance.twin.errors import RunError
from usance.twin.run.runner import run_scenario
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario

FIRST, LAST = 636, 653
PLAN: dict[str, Any] = {
    "name": "PLAN1", "entity": 3, "retained": ["S"], "approved_by": ["risk", "treasury"],
    "closing_on": "2023-01-01", "first_period": "2023-01", "periods": 17, "pay_day": 15,
    "day_count": "actual/365", "status": "revolving",
    "eligibility": {"not past due": "dpd == 0", "two years at most": "months_left <= 24"},
    "limits": [{"grade": 1, "share_ppm": 400_000}],
    "pool": {"balance_minor": 150_000_000, "rate_ppm": 195_000, "months": 10,
             "amortisation": "level", "mdr_ppm": [0, 0, 0, 5_000], "smm_ppm": [20_000],
             "recovery_ppm": 50_000, "recovery_lag": 4},
    "purchase": {"rate_ppm": 195_000, "months": 10, "amortisation": "level",
                 "mdr_ppm": [0, 0, 0, 5_000], "smm_ppm": [20_000], "recovery_ppm": 50_000,
                 "recovery_lag": 4, "price_ppm": 1_000_000, "supply_minor": [60_000_000]},
    "classes": [{"name": "A", "balance_minor": 105_000_000, "rate_ppm": 42_000},
                {"name": "B", "balance_minor": 25_000_000, "rate_ppm": 61_000},
                {"name": "S", "balance_minor": 21_000_000}],
    "accounts": {"reserve": 1_000_000},
    "fees": [{"name": "trustee", "annual_ppm": 1_000, "base": "pool_start"},
             {"name": "servicing", "annual_ppm": 10_000, "base": "pool_start"}],
    "triggers": [
        {"name": "end of term", "at": "collection", "when": "period > 9", "to": "amortising"},
        {"name": "cumulative defaults", "at": "collection", "to": "amortising",
         "when": "defaulted_to_date * 100 > pool_original * 20"},
    ],
    "clean_up": {"when": "period == 17", "price": "pool_end"},
    "waterfall": {
        "revolving": [
            {"fee": "trustee"}, {"fee": "servicing"}, {"interest": ["A"]}, {"interest": ["B"]},
            {"buy": "max([classes - pool_end, 0])"},
            {"residual": "S", "when": "pool_end >= classes"},
        ],
        "amortising": [
            {"move": "reserve", "to": "collection"},
            {"fee": "trustee"}, {"fee": "servicing"}, {"interest": ["A"]}, {"interest": ["B"]},
            {"principal": ["A", "B", "S"], "amount": "max([classes - pool_end, 0])"},
            {"residual": "S"},
        ],
    },
}  # fmt: skip


def economy(*deals: dict[str, Any]) -> Scenario:
    """`calm` with deals that hold some of its loans on the balance sheet."""
    calm = read_scenario("calm")
    texts = {f"{deal['name']}.yaml": json.dumps(deal) for deal in deals}
    return replace(calm, group=replace(calm.group, deals=texts))


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    run = run_scenario(
        economy(PLAN), tmp_path_factory.mktemp("trusts") / "run", scale=Fraction(1, 2),
        first=FIRST, last=LAST, clock=ticking(),
    )  # fmt: skip
    return run.book


def lived(book: Book) -> tuple[Deal, list[Distribution]]:
    deal, _ = deal_of_text(book.kept("deals/PLAN1/deal.json").decode(), "deal.json")
    return deal, list(dates(book))


def dates(book: Book) -> Iterator[Distribution]:
    for number in count(1):
        name = f"deals/PLAN1/date-{number:03}.json"
        if name not in book.manifest.versions:
            return
        yield distribution_of_dict(json.loads(book.kept(name)))


def owed(book: Book, deal: Deal, day: date) -> tuple[int, int]:
    """Principal and interest that the classes of others are owed at the end of a day."""
    paid = [row for row in dates(book) if row.paid_on <= day]
    state = state_of_dict(json.loads(book.kept(f"deals/PLAN1/state-{len(paid):03}.json")))
    principal = interest = 0
    for each in deal.classes[:2]:
        balance = state.names[f"{each.name}.balance"]
        since = year_fraction(state.paid_on, day, DayCount.ACT_365)
        before = state.accrued[each.name]
        later = before + balance * since * Fraction(each.rate_ppm, 10**6)
        principal += balance
        interest += half_up(later.numerator, later.denominator)
        interest += state.names[f"{each.name}.due"] - half_up(before.numerator, before.denominator)
    return principal, interest


def raised_by_the_month(book: Book, day: date) -> int:
    """Notes for what no deal holds, at the end of a day."""
    facts = facts_of_table(book.read("group_facts"))
    own = (each for each in facts if "/" not in each.detail.get("deal", "/"))
    return sum(deal.owed(day) for deal in deals(own).values())


def ledger(book: Book, closes: int, name: str) -> int:
    number = load_chart()[name].number
    posted = Ledger.of_postings(postings_of(book, effective_closes(book)[:closes]))
    return -sum(minor for key, minor in posted.balances().items() if key.account == number)


@pytest.mark.slow
def test_every_close_owes_investors_what_the_deal_says(book: Book) -> None:
    deal, rows = lived(book)
    assert [row.period for row in rows] == list(range(1, 18))
    closes = effective_closes(book)
    assert [close.month for close in closes] == [635, 638, 641, 644, 647, 650, 653]
    seen = []
    for number, close in enumerate(closes, start=1):
        day = last_of_month(close.month)
        expected = (0, 0) if number == 1 else owed(book, deal, day)
        notes = ledger(book, number, "trust_investors")
        notes += ledger(book, number, "trust_investors_non_current")
        # What no deal holds is paid its interest on the day of the close.
        found = (notes - raised_by_the_month(book, day), ledger(book, number, "interest_payable"))
        assert found == expected, day
        seen.append(found)
    assert seen[1][0] == sum(each.balance_minor for each in deal.classes[:2]) == 65_000_000
    assert seen[-1] == (0, 0)  # called on its last date, and paid
    assert rows[-1].called_minor == rows[-1].called_minor > 0


@pytest.mark.slow
def test_a_deal_revolves_amortises_and_conserves_its_money(book: Book) -> None:
    deal, rows = lived(book)
    assert [row.status.value for row in rows] == ["revolving"] * 9 + ["amortising"] * 8
    assert all(row.bought_minor for row in rows[:3])
    assert not any(row.bought_minor for row in rows[9:])
    accounts, pool = sum(deal.accounts.values()), deal.pool.balance_minor
    for row in rows:
        assert row.accounts is not None
        assert accounts + row.collected_minor == row.paid_minor + sum(row.accounts.values())
        accounts = sum(row.accounts.values())
        if not row.called_minor:
            flows = row.flows
            pool -= flows.principal_minor + flows.defaulted_minor - row.bought_minor
            assert row.pool_end_minor == pool
    # What was projected at closing on its loans was near what happened in a calm economy.
    ids = pool_of_bytes(book.kept("deals/PLAN1/pool-000.csv"), "pool").loan_id
    moment = end_of_day(book, deal.closing_on)
    pool_then = BookLoans.of(book, ids=ids).pool(cut_off(deal, 0), moment)
    strata = remaining_strata(close_deal(deal, DealTerms(), pool_then, moment), pool_then)
    planned = project(deal, strata=strata).distributions
    for name in ("interest_minor", "principal_minor"):
        first, second = (
            sum(getattr(row.flows, name) for row in each[:9]) for each in (planned, rows)
        )
        assert second == pytest.approx(first, rel=0.1), name


@pytest.mark.slow
def test_its_loans_are_those_of_the_book_and_their_receipts_add_up(book: Book) -> None:
    """The dates collect what the loans paid since they came, by an own count of the tape."""
    _, rows = lived(book)
    text = book.kept("deals/PLAN1/pool-017.csv").decode().splitlines()
    header = text[0].split(",")
    loans = [dict(zip(header, line.split(","), strict=True)) for line in text[1:]]
    assert len({each["loan_id"] for each in loans}) == len(loans)
    assert {each["to_on"] for each in loans} == {rows[-1].paid_on.isoformat()}
    assert {each["reason"] for each in loans} == {"closing", "purchase"}
    spent = sum(int(each["price_minor"]) for each in loans if each["reason"] == "purchase")
    assert spent == sum(row.cost_minor for row in rows)
    since = {int(each["loan_id"]): date.fromisoformat(each["from_on"]) for each in loans}
    tape = arrays(
        book.read("tape", ["month", "loan_id", "principal_minor", "principal_prev_minor"])
    )
    mine = np.isin(tape["loan_id"], np.array(sorted(since)))
    fell = {}
    for month in range(FIRST, FIRST + 17):
        rows_of = mine & (tape["month"] == month)
        fell[month] = {
            int(loan): int(before - now)
            for loan, now, before in zip(
                tape["loan_id"][rows_of], tape["principal_minor"][rows_of],
                tape["principal_prev_minor"][rows_of], strict=True,
            )
        }  # fmt: skip
    # A loan bought on a payment date brings what it pays from the month of that date on.
    expected = sum(
        minor for month, by_loan in fell.items() for loan, minor in by_loan.items()
        if (since[loan].year - 1970) * 12 + since[loan].month - 1 <= month
    )  # fmt: skip
    late = sum(row.flows.recovered_minor for row in rows)
    collected = sum(row.flows.principal_minor for row in rows)
    assert collected <= expected <= collected + late


def test_what_a_deal_of_a_run_may_not_be(tmp_path: Path) -> None:
    def refused(**changes: Any) -> None:
        run_scenario(economy({**PLAN, **changes}), tmp_path / "run", scale=Fraction(1, 20),
                     first=FIRST, last=FIRST, clock=ticking())  # fmt: skip

    with pytest.raises(RunError, match="entity 2 has no loans on the balance sheet"):
        refused(entity=2)
    with pytest.raises(RunError, match="before any loan of the run"):
        refused(closing_on="2022-12-01")
    with pytest.raises(RunError, match="its name is 'a/b'"):
        refused(name="a/b")
    with pytest.raises(RunError, match="no eligible loan on its closing day"):
        refused(eligibility={"none": "dpd > 9999"})


@pytest.mark.slow
def test_a_deal_is_paid_from_a_book_by_command_as_in_its_run(
    book: Book, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`fund pay DEAL BOOK` on the loans of the closing makes every date the run made."""
    deal, rows = lived(book)
    file, home = tmp_path / "plan.json", tmp_path / "deals" / "PLAN1"
    file.write_bytes(book.kept("deals/PLAN1/deal.json"))
    pool = pool_of_bytes(book.kept("deals/PLAN1/pool-000.csv"), "pool-000.csv")
    loans = tmp_path / "loans.csv"
    lines = "".join(f"{loan},1\n" for loan in pool.loan_id.tolist())
    loans.write_text(f"loan_id,principal_minor\n{lines}")

    def usance(*call: object) -> tuple[int, str]:
        code = main([str(each) for each in call], now=lambda: datetime(2024, 6, 30, tzinfo=UTC))
        told = capsys.readouterr()
        return code, told.out + told.err

    pay = ("fund", "pay", file, book.path, "--folder", home)
    assert "Give --loans" in usance(*pay)[1]
    for number, row in enumerate(rows, start=1):
        first = ("--loans", loans) if number == 1 else ()
        code, told = usance(*pay, *first)
        assert code == 0, told
        made = json.loads((home / f"date-{number:03}.json").read_text())
        assert distribution_of_dict(made) == row
        if number == 1:
            assert "has its loans" in usance(*pay, *first)[1]
            beside = ("fund", "pay", file, book.path, "--folder", tmp_path / "deals" / "PLAN2")
            assert "in another deal" in usance(*beside, "--loans", loans)[1]
    assert "has ended" in usance(*pay)[1]
    assert (home / "pool-017.csv").read_bytes() == book.kept("deals/PLAN1/pool-017.csv")
    # The run's own folder reads as well: same report.
    pages = []
    for folder in (home, book.path / "deals" / "PLAN1"):
        out = tmp_path / "report.html"
        assert usance("fund", "report", file, "--folder", folder, "--out", out)[0] == 0
        pages.append(out.read_text())
    assert pages[0] == pages[1]
    assert "PLAN1" in pages[0]
    # The same loans, chosen by command from the book on the eve of the closing.
    chosen = tmp_path / "chosen.csv"
    code, told = usance("fund", "select", file, book.path, "--target-minor",
                        deal.pool.balance_minor, "--out", chosen)  # fmt: skip
    assert code == 0, told
    found = sorted(int(line.split(",")[0]) for line in chosen.read_text().splitlines()[1:])
    assert found == pool.loan_id.tolist()
