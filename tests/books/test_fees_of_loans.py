"""Fees of institutions that follow from loans: aged from their close, and provided for."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tests.books.small_book import close_all, make_book
from tests.books.worked import DRAWN, KNOWN, Worked, drawn
from usance.base.codes import Currency, FundingModel
from usance.base.columns import make
from usance.base.dates import to_day
from usance.base.errors import UsanceError
from usance.books.exports import trial_balance
from usance.books.group.fact_kinds import GroupFactKind as K
from usance.books.group.facts import GroupFact, fact, table_of_facts
from usance.books.group.receivables import LoanFees, unpaid_of_loans
from usance.loan import Terms

BOOKED = datetime(2024, 1, 1, tzinfo=UTC)
MAR, JUN = date(2024, 3, 31), date(2024, 6, 30)
LOAN = Terms(principal_minor=10_600_00, rate_ppm=0, instalments=1, disbursed_on=DRAWN,
             first_due_on=date(2024, 1, 31))  # fmt: skip


def told(on: date, usage: int = 0, referral: int = 0) -> LoanFees:
    return LoanFees(1, Currency.CNY, on, usage, referral)


def paid(kind: K, minor: int, number: int = 1, party: int = 7, on: date = MAR) -> GroupFact:
    return fact(number, 1, kind, on, KNOWN, minor, party=party)


def unpaid(*facts: GroupFact, of: list[LoanFees], day: date = JUN) -> dict[int, int]:
    """Open amounts by age, without zeros."""
    return {age: minor for minor, age in unpaid_of_loans(facts, of, day) if minor}


def test_each_close_has_its_age() -> None:
    assert unpaid(of=[told(MAR, 50), told(JUN, 20)]) == {91: 50, 0: 20}
    assert unpaid(of=[told(MAR, 50), told(JUN, 20)], day=MAR) == {0: 50}


def test_receipts_meet_invoices_first_and_then_the_oldest_loans() -> None:
    loans = [told(DRAWN, 100), told(MAR, 50)]
    assert unpaid(paid(K.FEES_RECEIVED, 120), of=loans) == {91: 30}
    invoice = paid(K.USAGE_DELIVERED, 90, number=2)
    assert unpaid(paid(K.FEES_RECEIVED, 120), invoice, of=loans) == {182: 70, 91: 50}
    # A party that owes more than it paid gives nothing to what others owe.
    other = paid(K.USAGE_DELIVERED, 500, number=3, party=8)
    assert unpaid(paid(K.FEES_RECEIVED, 120), other, of=loans) == {91: 30}


def test_loans_that_were_none_take_their_fees_back() -> None:
    assert unpaid(of=[told(DRAWN, 100), told(MAR, -30)]) == {182: 70}


def test_referrals_are_current_until_they_are_invoiced() -> None:
    assert unpaid(of=[told(DRAWN, 0, 132_50)]) == {0: 132_50}
    invoiced = paid(K.REFERRAL_INVOICED, 100_00)
    assert unpaid(invoiced, of=[told(DRAWN, 0, 132_50)]) == {0: 32_50}
    assert unpaid(paid(K.REFERRAL_INVOICED, 140_00), of=[told(DRAWN, 0, 132_50)]) == {}


def accounts(
    path: Path, model: FundingModel, quarters: list[str], *facts: GroupFact,
    terms_of: tuple[int, int, int] = (1, 0, 30_000),
) -> dict[str, int]:  # fmt: skip
    """Balances of fee accounts after some closes of one loan with a fee of 10 %."""
    book = make_book(path, [Worked(model, LOAN, [drawn(LOAN)])])
    source, first, last = terms_of
    one = {"source": [source], "version": [1], "valid_from": [first], "valid_to": [last],
           "fee_ppm": [100_000], "settlement_lag": [1]}  # fmt: skip
    rest = ("institution", "entity", "model", "coupon_ppm", "trigger_days", "guarantor",
            "co_share_ppm")  # fmt: skip
    with book.writing() as step:
        step.add("sources", make("sources", **one, **{name: [1] for name in rest}))
        if facts:
            step.add("group_facts", table_of_facts(list(facts)))
    close_all(book, quarters)
    names = ("accounts_receivable", "contract_assets", "receivable_allowance_fees",
             "contract_provision", "cash")  # fmt: skip
    return {
        row["name"]: row["amount_minor"]
        for row in trial_balance(book)
        if row["name"] in names and row["tag"] == "none"
    }


@pytest.mark.parametrize(("quarters", "lost"), [(["2023Q4"], 3_18), (["2023Q4", "2024Q1"], 112_36)])
def test_fees_for_use_are_provided_for_by_age(
    tmp_path: Path, quarters: list[str], lost: int
) -> None:
    """1,060.00: 0.3 % while new, 10.6 % after 91 days."""
    found = accounts(tmp_path / "book", FundingModel.TECH_SOLUTIONS, quarters)
    assert found["accounts_receivable"] == 1_060_00
    assert found["contract_provision"] == -found["receivable_allowance_fees"] == lost


@pytest.mark.parametrize("terms_of", [
    (1, to_day(DRAWN) + 1, 30_000), (1, 0, to_day(DRAWN) - 1), (2, 0, 30_000),
])  # fmt: skip
def test_a_source_without_terms_on_the_day_of_a_loan_is_refused(
    tmp_path: Path, terms_of: tuple[int, int, int]
) -> None:
    """Its fee would be taken for none."""
    with pytest.raises(UsanceError, match=f"source 1 has no terms on {DRAWN}"):
        accounts(tmp_path / "book", FundingModel.ICE, ["2023Q4"], terms_of=terms_of)


def test_what_is_paid_needs_no_allowance(tmp_path: Path) -> None:
    received = fact(1, 1, K.FEES_RECEIVED, date(2024, 2, 5), BOOKED, 1_060_00, party=7)
    found = accounts(tmp_path / "book", FundingModel.TECH_SOLUTIONS, ["2023Q4", "2024Q1"], received)
    assert found.get("accounts_receivable", 0) == found.get("receivable_allowance_fees", 0) == 0
    assert not found.get("contract_provision")


def test_what_is_written_off_was_lost(tmp_path: Path) -> None:
    gone = fact(1, 1, K.FEES_WRITTEN_OFF, date(2024, 2, 5), BOOKED, 1_060_00, party=7)
    found = accounts(tmp_path / "book", FundingModel.TECH_SOLUTIONS, ["2023Q4", "2024Q1"], gone)
    assert found.get("accounts_receivable", 0) == found.get("receivable_allowance_fees", 0) == 0
    assert found["contract_provision"] == 1_060_00


def test_referrals_not_yet_invoiced_are_provided_for(tmp_path: Path) -> None:
    found = accounts(tmp_path / "book", FundingModel.ICE, ["2023Q4", "2024Q1"])
    assert found["contract_assets"] == 1_060_00
    assert found["contract_provision"] == -found["receivable_allowance_fees"] == 3_18
