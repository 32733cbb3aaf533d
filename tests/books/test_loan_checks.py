"""What must hold for every loan: it does on whole lives, and each amount that is off is seen."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from tests.books.lives import lives
from tests.books.rule_matrix import random_policies
from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.books.loans.amounts import AMOUNT as A
from usance.books.loans.checks import CHECKS, MAX_NAMED, LoanFindings
from usance.books.loans.measurement import amounts_of_positions, positions

DAY = date(2024, 3, 31)
SEEN = {
    FundingModel.ON_BALANCE_SHEET: {
        A.disbursed: "own principal is what borrowers owe",
        A.interest_received: "cash received is posted once",
        A.cleared_fees: "cash cleared is posted once",
    },
    FundingModel.CAPITAL_HEAVY: {
        A.to_institution: "cash received is posted once",
        A.cleared_institution: "cash cleared is posted once",
        A.guarantee_released: "guarantees stand between nothing and what was issued",
    },
    FundingModel.CAPITAL_LIGHT: {A.service_received: "cash received is posted once"},
}
LEFT = (
    A.guarantee_released, A.receivable_written_off, A.servicing_earned, A.fee_earned,
    A.interest_earned,
)  # fmt: skip


def measured(model: FundingModel, path: str, day: date = DAY) -> tuple[I64, I64, I64]:
    loans = lives(model, path, 300, seed=8).loans()
    rules = random_policies(day, np.random.default_rng(4), first=date(2023, 1, 1))
    at = positions(loans, rules, day, day - timedelta(days=1), 0, len(loans))
    return loans.loan_id, at, amounts_of_positions(at, rules, loans.segment, loans.pool)


def looked(ids: I64, at: I64, found: I64) -> dict[str, list[int]]:
    findings = LoanFindings()
    findings.check(ids, at, found)
    return {name: finding.loans for name, finding in findings.by_check.items()}


@pytest.mark.parametrize(
    ("model", "amount", "name"),
    [(model, amount, name) for model, each in SEEN.items() for amount, name in each.items()],
)
def test_an_amount_that_is_off_is_seen(model: FundingModel, amount: int, name: str) -> None:
    ids, at, found = measured(model, "late")
    assert looked(ids, at, found) == {}
    drawn = np.flatnonzero(at[:, 1] > 0)[3]
    found[drawn, amount] += 10**12
    assert looked(ids, at, found)[name] == [int(ids[drawn])]


@pytest.mark.parametrize("amount", LEFT)
def test_an_ended_loan_that_holds_something_is_seen(amount: int) -> None:
    ids, at, found = measured(FundingModel.ON_BALANCE_SHEET, "term", date(2030, 12, 31))
    found[7, amount] += 1
    assert looked(ids, at, found)["ended loans hold nothing"] == [8]


def test_all_are_counted_and_some_named() -> None:
    ids, at, found = measured(FundingModel.ON_BALANCE_SHEET, "term", date(2030, 12, 31))
    found[:, A.fee_earned] += 1
    findings = LoanFindings()
    findings.check(ids, at, found)
    findings.check(ids, at, found)
    other = LoanFindings()
    other.add(findings)
    (finding,) = other.by_check.values()
    assert (finding.count, len(finding.loans)) == (600, MAX_NAMED)
    assert set(other.by_check) < set(CHECKS)
