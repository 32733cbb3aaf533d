"""Interest of stage 3 under IFRS: on the net amount, in the provision, and gone at the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.books.lives import lives
from tests.books.rule_matrix import held, matrix, random_policies
from tests.books.small_book import QUARTERS, close_all, make_book, worked_loans
from tests.books.worked import (
    DRAWN,
    OWN_BOOK,
    Books,
    Worked,
    drawn,
    paid_on_time,
    policies,
    rate_ppb,
)
from usance.base.codes import FactKind, FundingModel, IfrsAdjustment
from usance.books.close.closes import effective_closes, postings_of
from usance.books.loans.amounts import AMOUNTS, SUBLEDGER
from usance.books.loans.measurement import amounts_of_positions, positions
from usance.books.loans.positions import NO_EVENT
from usance.books.loans.positions import POSITION as P
from usance.loan import Fact

JUN, SEP = date(2024, 6, 30), date(2024, 9, 30)
PROVIDED = policies(DRAWN, loans=rate_ppb("6,500", "7,500"))
DEFAULTED = Worked(
    FundingModel.ON_BALANCE_SHEET,
    OWN_BOOK,
    [
        drawn(OWN_BOOK), *paid_on_time(OWN_BOOK, 1),
        Fact(FactKind.CHARGED_OFF, date(2024, 8, 28), 7_500_00, ref=40),
        Fact(FactKind.RECOVERED, date(2024, 11, 15), 900_00, ref=41),
    ],
    estimates={DRAWN: PROVIDED},
)  # fmt: skip


def ecl(loan: Worked, *days: date) -> dict[str, int]:
    """The balances of the tag after closes on some days."""
    books = Books(loan)
    for day in days:
        books.post(day, "all")
    return books.balances(IfrsAdjustment.ECL)


def test_net_interest_of_the_worked_loan() -> None:
    """B2 on 30 June, day 122: 32 days of 1.7111826 % a month on 7,758.15 − 6,500.00."""
    assert ecl(DEFAULTED, JUN) == {
        "loans_non_current": 22_65, "loan_provision": -22_65,
        "income_tax": 3_40, "deferred_tax_asset": -3_40,
    }  # fmt: skip


@pytest.mark.parametrize(("day", "minor"), [(date(2024, 5, 29), 0), (date(2024, 5, 30), 71)])
def test_it_begins_past_ninety_days(day: date, minor: int) -> None:
    """1,258.15 × 1.7111826 % × 12/365 is 0.71 a day."""
    assert ecl(DEFAULTED, day).get("loans_non_current", 0) == minor


def test_a_charge_off_ends_it() -> None:
    assert ecl(DEFAULTED, JUN, date(2024, 8, 28)) == {}
    assert ecl(DEFAULTED, JUN, SEP, date(2024, 12, 31)) == {}


def test_who_pays_again_has_earned_it_as_income() -> None:
    """Brought current, the missed accrual is income of both frameworks, and nothing is left."""
    paid = [*DEFAULTED.facts[:2], Fact(FactKind.PAID, date(2024, 7, 10), 7_837_50, ref=50)]
    cured = replace(DEFAULTED, facts=paid)
    books = Books(cured)
    books.post(JUN, "all")
    assert books.balances(IfrsAdjustment.ECL)["loan_provision"] == -22_65
    before = books.balances()["financing_income"]
    books.post(SEP, "all")
    assert books.balances(IfrsAdjustment.ECL) == {}
    assert before - books.balances()["financing_income"] > 22_65


def test_forgiven_principal_leaves_the_net_amount() -> None:
    waived = Fact(FactKind.WAIVED, date(2024, 6, 20), 1_500_00, ref=45, arg=0)
    facts = [*DEFAULTED.facts[:2], waived]
    found = ecl(replace(DEFAULTED, facts=facts), JUN)
    assert 0 < found.get("loans_non_current", 0) < 22_65


@pytest.mark.parametrize("path", ["late", "cured", "charge-off"])
@pytest.mark.parametrize("day", [date(2023, 9, 30), date(2024, 3, 31), SEP], ids=str)
def test_it_is_the_rate_on_what_the_accounts_hold(path: str, day: date) -> None:
    """From balances by rule: effective rate × days past ninety × loans less their allowance."""
    life = lives(FundingModel.ON_BALANCE_SHEET, path, 2_000, seed=11)
    rules = random_policies(day, np.random.default_rng(4), first=date(2023, 1, 1))
    loans = life.loans()
    at = positions(loans, rules, day, day - timedelta(days=1), 0, len(loans))
    found = amounts_of_positions(at, rules, loans.segment, loans.pool)
    own, eir = (
        found @ matrix(FundingModel.ON_BALANCE_SHEET, tag)
        for tag in (IfrsAdjustment.NONE, IfrsAdjustment.EIR)
    )
    names = ("loans", "loans_non_current", "accrued_interest", "unearned_fee", "loan_allowance")
    net = held(own, *names) + held(eir, "unearned_fee") - found[:, AMOUNTS.index("ifrs_loan_loss")]
    days = at[:, P.days_past_due] - rules.numbers.stage_3_days
    alive = (at[:, P.event] == NO_EVENT) & (at[:, P.is_settled] == 0)
    interest = found[:, AMOUNTS.index("ifrs_net_interest")]
    impaired = alive & (days > 0) & (net > 0)
    assert not interest[~impaired].any()
    for row in np.flatnonzero(impaired).tolist():
        rate = Fraction(int(at[row, P.effective_ppb]), 10**9) * Fraction(12 * int(days[row]), 365)
        assert abs(rate * int(net[row]) - int(interest[row])) <= 1, row


def test_closes_carry_it_to_the_ledger_and_back(tmp_path: Path) -> None:
    """Through subledger and journals of a book, the tag is empty when its loans have ended."""
    book = make_book(tmp_path / "book", worked_loans())
    close_all(book, QUARTERS[:3])
    rows = book.read(SUBLEDGER, folder="closes/2024-06.1").to_pylist()
    told = {row["loan_id"]: row["ifrs_net_interest"] for row in rows if row["ifrs_net_interest"]}
    assert set(told) == {4 * 16384 + 1}
    posted = [
        row for row in postings_of(book, effective_closes(book)).to_pylist() if row["rule"] == 705
    ]
    assert sum(abs(row["amount_minor"]) for row in posted) == 2 * sum(told.values()) > 0
    close_all(book, QUARTERS[3:4])
    posted = [
        row for row in postings_of(book, effective_closes(book)).to_pylist() if row["rule"] == 705
    ]
    assert {row["account"]: 0 for row in posted} == {
        account: sum(row["amount_minor"] for row in posted if row["account"] == account)
        for account in (1650, 5050)
    }
