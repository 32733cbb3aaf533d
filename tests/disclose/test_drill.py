"""Drill-through: every figure of a release adds up from entries, loans and facts, exactly."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from usance.base.book import Book
from usance.books.group.kinds import GroupKind
from usance.books.journal import JournalKind
from usance.books.periods import parse_close_period
from usance.cli import main
from usance.disclose import load_profile
from usance.disclose.drill import Drill, Drilling
from usance.disclose.release.filer import Filer
from usance.disclose.release.publication import release_of

RECEIVED = (
    "to_institution", "principal_received", "interest_received", "slices_received",
    "guarantee_received", "service_received", "penalty_received", "overpaid", "recovered_claim",
    "recovered_guarantee", "recovered_service", "recovered_loan", "recovered_other",
)  # fmt: skip
"""Posting amounts that are money of a borrower, each unit in exactly one."""


@pytest.fixture(scope="module")
def drilling(closed_book: Path) -> dict[str, Drilling]:
    """The releases of three periods, ready to be followed."""
    book, filer = Book.open(closed_book), Filer(rate=Decimal("7.2672"))
    periods = ("2024Q1", "2024Q2", "2024Q4")
    return {
        each: Drilling(release_of(book, parse_close_period(each), load_profile(), filer))
        for each in periods
    }


def cells(drilling: dict[str, Drilling]) -> list[tuple[Drilling, str]]:
    return [(each, address) for each in drilling.values() for address in each.by_address]


def test_two_hundred_random_cells_reach_their_facts(drilling: dict[str, Drilling]) -> None:
    listed = cells(drilling)
    assert len(listed) > 3_000
    chosen = Random(4).sample(listed, 200)
    followed = [follow(each, address) for each, address in chosen]
    assert sum(each.made is not None for each in followed) > 150
    assert any(each.fact.is_total for each in followed)
    assert sum(bool(each.loans) for each in followed) > 20
    assert sum(bool(each.group_facts) for each in followed) > 20


def follow(drilling: Drilling, address: str) -> Drill:
    """One cell to its facts: by entries if it is an amount, else over the figures it is made of."""
    found = drilling.at(address)
    if found.made is None:
        for term, _ in found.made_from:
            follow(drilling, term)
        assert found.made_from or found.fact.unit in ("shares", "rmb_per_usd", "date"), address
        return found
    assert found.translation_minor == 0
    assert sum(each.amount_minor for each in found.accounts) == found.exact_minor
    for account in found.accounts:
        for journal in account.journals:
            if journal.kind is JournalKind.LOANS:
                assert sum(each.amount_minor for each in journal.loans) == journal.amount_minor
                assert all(found.loan_facts[each.loan_id]["facts"] for each in journal.loans)
            elif journal.kind is JournalKind.GROUP:
                assert journal.fact_id in found.group_facts
    if found.printed_minor is not None:
        # What rounding and a declared residue may add: half a step for each line, in thousands.
        step = drilling.release.tables.printed.step_minor
        limit = 50_000_00 if found.fact.unit == "million" else 10 * step
        assert abs(found.printed_minor - (found.exact_minor or 0)) <= limit
    return found


def test_a_total_is_its_lines_and_its_accounts(drilling: dict[str, Drilling]) -> None:
    found = drilling["2024Q2"].at("2024Q2/balance_sheet/total-assets/2024-06-30")
    parts = [int(fact.text) for _, fact in found.made_from]
    assert sum(parts) == int(found.fact.text)
    assert found.rule == "total is the sum of its parts"
    assert sum(each.amount_minor for each in found.accounts) == found.exact_minor


def test_what_borrowers_paid_is_what_the_entries_of_their_loans_hold(
    drilling: dict[str, Drilling],
) -> None:
    """From the other end: the facts of each loan, summed, are its entries of money received."""
    each = drilling["2024Q4"]
    shares = each.journals.shares
    posted: dict[int, int] = {}
    lent: dict[int, int] = {}
    for close in each.release.closed.closes:
        lines, ids = shares._lines(close.close_no)
        names = each.journals._amounts
        for rule, row, amount, tag in zip(
            lines.rule.tolist(), lines.row.tolist(), lines.amount.tolist(), lines.tag.tolist(),
            strict=True,
        ):  # fmt: skip
            if tag == 0 and amount > 0 and names[rule] in RECEIVED:
                loan = int(ids[row])
                posted[loan] = posted.get(loan, 0) + amount
            if tag == 0 and amount > 0 and names[rule] == "disbursed":
                loan = int(ids[row])
                lent[loan] = lent.get(loan, 0) + amount
    found = each.at("2024Q4/balance_sheet/total-assets/2024-12-31")
    assert len(found.loan_facts) == 5
    for loan, known in found.loan_facts.items():
        stated = dict.fromkeys(("paid", "recovered", "disbursed"), 0)
        for fact in known["facts"]:
            if fact["kind"] in stated:
                stated[fact["kind"]] += fact["amount_minor"]
        assert posted[loan] == stated["paid"] + stated["recovered"], loan
        assert lent.get(loan, stated["disbursed"]) == stated["disbursed"]


def test_a_cost_reaches_the_fact_that_states_it(drilling: dict[str, Drilling]) -> None:
    found = drilling["2024Q2"].at("2024Q2/operations/general-and-administrative/2024Q2")
    stated = [
        known["amount_minor"]
        for known in found.group_facts.values()
        if known["kind"] == GroupKind.COST_INCURRED.label
    ]
    assert stated == [61_234_58]
    (account,) = found.accounts
    costs = [journal for journal in account.journals if journal.amount == "cost_incurred"]
    assert [journal.amount_minor for journal in costs] == stated


def test_the_command(closed_book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = "2024Q2/operations/financing-income/2024Q2"
    arguments = ["disclose", "drill", address, "--book", str(closed_book), "--rate", "7.2672"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["exact_minor"] == sum(each["amount_minor"] for each in found["accounts"])
    journals = [journal for each in found["accounts"] for journal in each["journals"]]
    for journal in journals:
        loans = sum(loan["amount_minor"] for loan in journal["loans"])
        assert loans + journal["other_loans_minor"] == journal["amount_minor"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "account financing_income (us_gaap)" in shown
    assert "loan ln_" in shown
