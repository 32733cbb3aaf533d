"""Drill-through: every figure of a release adds up from entries, loans and facts, exactly."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.disclose.random_books import random_book
from usance.base.book import Book
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.journal import JournalKind
from usance.books.periods import parse_close_period
from usance.books.rules import load_rules
from usance.books.tape.run import run_tape
from usance.cli import main
from usance.disclose import load_profile
from usance.disclose.drill.drill import Drill, DrillIndex
from usance.disclose.release.filer import Filer
from usance.disclose.release.publication import release_of
from usance.measure.expressions import Amount

RECEIVED = (
    "to_institution", "principal_received", "interest_received", "fee_instalments_received",
    "guarantee_received", "service_received", "penalty_received", "overpaid", "recovered_claim",
    "recovered_guarantee", "recovered_service", "recovered_loan", "recovered_other",
)  # fmt: skip
"""Posting amounts that are money of a borrower, each unit in exactly one."""


@pytest.fixture(scope="module")
def drilling(closed_book: Path) -> dict[str, DrillIndex]:
    """The releases of three periods, ready to be followed."""
    book, filer = Book.open(closed_book), Filer(rate=Decimal("7.2672"))
    periods = ("2024Q1", "2024Q2", "2024Q4")
    return {
        each: DrillIndex(release_of(book, parse_close_period(each), load_profile(), filer))
        for each in periods
    }


def cells(drilling: dict[str, DrillIndex]) -> list[tuple[DrillIndex, str]]:
    return [(each, address) for each in drilling.values() for address in each.by_address]


def test_two_hundred_random_cells_reach_their_facts(drilling: dict[str, DrillIndex]) -> None:
    listed = cells(drilling)
    assert len(listed) > 3_000
    chosen = Random(4).sample(listed, 200)
    followed = [follow(each, address) for each, address in chosen]
    assert sum(each.composition is not None for each in followed) > 150
    assert any(each.fact.is_total for each in followed)
    assert sum(bool(each.loans) for each in followed) > 20
    assert sum(bool(each.group_facts) for each in followed) > 20


def test_income_of_the_company_leaves_out_that_of_others(drilling: dict[str, DrillIndex]) -> None:
    """In the text as in the tables, before and after share-based pay."""
    told = [(each, address) for each, address in cells(drilling)
            if "attributed-to-the-company" in address]  # fmt: skip
    assert len(told) > 6
    for each, address in told:
        follow(each, address)


def follow(drilling: DrillIndex, address: str) -> Drill:
    """One cell to its facts: by entries if it is an amount, else over the figures it is made of."""
    found = drilling.at(address)
    if found.metric is not None:
        assert_adds_up(found)
    if found.composition is None:
        for term, _ in found.made_from:
            follow(drilling, term)
        assert found.made_from or found.metric or found.stated or found.fact.text == "no data"
        return found
    assert found.translation_minor == 0
    assert sum(each.amount_minor for each in found.accounts) == found.exact_minor
    facts = found.facts_of(found.loans)
    for account in found.accounts:
        for journal in account.journals:
            if journal.kind is JournalKind.LOANS:
                assert sum(each.amount_minor for each in journal.loans) == journal.amount_minor
                assert all(facts[each.loan_id]["facts"] for each in journal.loans)
            elif journal.kind is JournalKind.GROUP:
                assert journal.fact_id in found.group_facts
    if found.printed_minor is not None:
        # What rounding and a declared residue may add: half a step for each line, in thousands.
        step = drilling.release.statements.rounded.step_minor
        limit = 10 * step + int(found.fact.step * 100 / 2)
        assert abs(found.printed_minor - (found.exact_minor or 0)) <= limit
    return found


def assert_adds_up(found: Drill) -> None:
    """The rows behind a metric are its numerator and denominator."""
    assert found.metric is not None
    whole, one = found.metric.measurement, found.metric.results[0].definition
    parts = [(one.numerator, whole.numerator, "numerator")]
    if one.denominator is not None and not found.metric.results[0].by:
        parts.append((one.denominator, whole.denominator, "denominator"))
    for part, wanted, name in parts:
        rows = found.metric.rows(name)
        if part.distinct:
            assert len({row[part.distinct] for row in rows}) == wanted
        elif not part.amount:
            assert len(rows) == wanted
        else:
            assert sum(_amount(part.amount, row) for row in rows) == wanted


def _amount(terms: Amount, row: dict[str, Any]) -> int:
    return sum(
        factor * prod(row[part] if isinstance(part, str) else part for part in parts)
        for factor, parts in terms
    )


def test_a_total_is_its_lines_and_its_accounts(drilling: dict[str, DrillIndex]) -> None:
    found = drilling["2024Q2"].at("2024Q2/balance_sheet/total-assets/2024-06-30")
    parts = [int(fact.text) for _, fact in found.made_from]
    assert sum(parts) == int(found.fact.text)
    assert found.rule == "total is the sum of its parts"
    assert sum(each.amount_minor for each in found.accounts) == found.exact_minor


def test_what_borrowers_paid_is_what_the_entries_of_their_loans_hold(
    drilling: dict[str, DrillIndex],
) -> None:
    """From the other end: the facts of each loan, summed, are its entries of money received."""
    each = drilling["2024Q4"]
    shares = each.journals.shares
    posted: dict[int, int] = {}
    lent: dict[int, int] = {}
    for close in each.release.closed.closes:
        for rule in load_rules():
            if rule.amount not in (*RECEIVED, "disbursed"):
                continue
            lines, ids = shares.lines(close.close_no, rule.number)
            kept = lent if rule.amount == "disbursed" else posted
            for row, amount, tag in zip(
                lines.row.tolist(), lines.amount.tolist(), lines.tag.tolist(), strict=True
            ):
                if tag == 0 and amount > 0:
                    kept[int(ids[row])] = kept.get(int(ids[row]), 0) + amount
    found = each.at("2024Q4/balance_sheet/total-assets/2024-12-31")
    facts = found.facts_of(found.loans)
    assert len(facts) == 5
    for loan, known in facts.items():
        stated = dict.fromkeys(("paid", "recovered", "disbursed"), 0)
        for fact in known["facts"]:
            if fact["kind"] in stated:
                stated[fact["kind"]] += fact["amount_minor"]
        assert posted[loan] == stated["paid"] + stated["recovered"], loan
        assert lent.get(loan, stated["disbursed"]) == stated["disbursed"]


def test_a_cost_reaches_the_fact_that_states_it(drilling: dict[str, DrillIndex]) -> None:
    found = drilling["2024Q2"].at("2024Q2/operations/general-and-administrative/2024Q2")
    stated = [
        known["amount_minor"]
        for known in found.group_facts.values()
        if known["kind"] == GroupFactKind.COST_INCURRED.label
    ]
    assert stated == [61_234_58]
    (account,) = found.accounts
    costs = [journal for journal in account.journals if journal.amount == "cost_incurred"]
    assert [journal.amount_minor for journal in costs] == stated


def test_the_command(closed_book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = "2024Q2/operations/financing-income/2024Q2"
    arguments = ["disclose", "drill", address, "--book", str(closed_book), "--rate", "7.2672"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["data"]
    assert found["exact_minor"] == sum(each["amount_minor"] for each in found["accounts"])
    journals = [journal for each in found["accounts"] for journal in each["journals"]]
    for journal in journals:
        loans = sum(loan["amount_minor"] for loan in journal["loans"])
        assert loans + journal["other_loans_minor"] == journal["amount_minor"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "account financing_income (us_gaap)" in shown
    assert "loan ln_" in shown


def test_a_metric_reaches_its_loans_and_their_decisions(drilling: dict[str, DrillIndex]) -> None:
    address = "2024Q2/business_highlights/90-day+-delinquency-rate/2024-06-30"
    found = drilling["2024Q2"].at(address).as_dict()
    metric = found["metric"]
    assert found["printed"] == f"{100 * metric['numerator'] / metric['denominator']:.2f}"
    assert metric["definition"].startswith("Principal of loans 91 to 180")
    late = {row["loan_id"] for row in metric["rows"]["numerator"]}
    assert late
    assert {int(each) for each in found["loans"]} == late
    for loan in found["loans"].values():
        assert loan["facts"][0]["kind"] == "disbursed"
        assert loan["decision"]["approved"] == 1


def test_day_1_reaches_the_loans_behind_its_days(drilling: dict[str, DrillIndex]) -> None:
    found = drilling["2024Q1"].at("2024Q1/business_highlights/day-1-delinquency-rate/2024Q1")
    assert found.metric is not None
    assert "loan_id" not in found.metric.rows("denominator")[0]
    loans = found.as_dict()["loans"]
    assert loans
    assert all(loan["facts"][0]["kind"] == "disbursed" for loan in loans.values())


def test_a_point_of_a_curve_reaches_its_rows(drilling: dict[str, DrillIndex]) -> None:
    found = drilling["2024Q2"].at("2024Q2/vintage_30:2023Q4/month-on-book-5/2024-06-30")
    assert found.metric is not None
    assert_adds_up(found)
    assert {row["mob"] for row in found.metric.rows()} == {5}


def test_the_tax_of_the_text_is_a_charge_down_to_its_accounts(
    drilling: dict[str, DrillIndex],
) -> None:
    found = follow(drilling["2024Q2"], "2024Q2/release_results/income-tax-expense/2024Q2")
    assert found.printed_minor
    assert sum(each.amount_minor for each in found.accounts) == found.exact_minor
    assert found.printed_minor * (found.exact_minor or 0) > 0


def test_shares_come_from_the_register(drilling: dict[str, DrillIndex]) -> None:
    address = next(
        address
        for address, fact in drilling["2024Q2"].by_address.items()
        if fact.unit == "shares" and fact.currency == "n/a"
    )
    found = drilling["2024Q2"].at(address)
    assert found.stated == "the share register"
    assert found.group_facts[4]["quantity"] == 1_000_000
    assert any("shares_issued" in line for line in found.lines())


@pytest.mark.slow
def test_books_of_a_tape_reach_its_months(tmp_path: Path) -> None:
    tape = Path(__file__).parents[2] / "demo" / "files" / "books" / "tape.csv"
    run_tape(tape, out=tmp_path / "book", every="quarter", clock=time.perf_counter)
    book = Book.open(tmp_path / "book")
    filer = Filer(rate=Decimal("7.2672"), unit="unit", decimals=2)
    each = DrillIndex(release_of(book, parse_close_period("2024Q1"), load_profile(), filer))
    found = each.at("2024Q1/operations/financing-income/2024Q1")
    assert sum(account.amount_minor for account in found.accounts) == found.exact_minor != 0
    loans = found.as_dict()["loans"].values()
    assert {loan["ref"] for loan in loans} == {"B1", "B2"}
    assert all(loan["tape"][-1]["month"] == "2024-03" for loan in loans)
    assert any("months of the tape B1" in line for line in found.lines())
    balance = each.at("2024Q1/business_highlights/total-outstanding-loan-balance/2024-03-31")
    assert_adds_up(balance)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3])
def test_random_books_with_co_funders_in_two_shards(tmp_path: Path, seed: int) -> None:
    book = random_book(tmp_path, seed)
    filer = Filer(rate=Decimal("7.2672"), unit="unit")
    each = DrillIndex(release_of(book, parse_close_period("2024Q2"), load_profile(), filer))
    chosen = Random(seed).sample(sorted(each.by_address), 60)
    # Others hold a part of these books: what the Company has differs from net income.
    chosen.append("2024Q2/release_results/non-gaap-net-income-attributed-to-the-company/2023H1")
    followed = [follow(each, address) for address in chosen]
    assert sum(bool(one.loans) for one in followed) > 10
