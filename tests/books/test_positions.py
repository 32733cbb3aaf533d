"""Positions of the kernel against those of the exact form, field by field, on random lives."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from random import Random

import numpy as np
import pytest

from tests.loan.cases import random_case
from usance.base.codes import FundingModel
from usance.base.dates import to_day
from usance.books.effective_interest.expected_lives import ExpectedLives
from usance.books.effective_interest.loans import Survival, effective_rates
from usance.books.loans.changed_terms import position_of
from usance.books.loans.measurement import LoanColumns, positions
from usance.books.loans.positions import FIELDS
from usance.books.loans.positions import POSITION as P
from usance.books.policies import Policies
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.facts import Fact, visible
from usance.loan.terms import Terms

LIVES = 1_500
MODELS = (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET, FundingModel.CAPITAL_LIGHT)
EXPECTED_LIFE = Survival.of([[900_000, 800_000, 500_000, 200_000]])
LATER_LIFE = Survival.of([[700_000, 700_000, 100_000]])
ONLY = np.zeros(1, np.int64)
LIVES_OF = ExpectedLives(LATER_LIFE, EXPECTED_LIFE, ONLY[:, None], 0)
POLICIES = replace(Policies.at(date(2024, 6, 30)), lives=LIVES_OF)
LARGE_MINOR = 10**9
STANDING = np.array(
    [
        P.model,
        P.principal,
        P.upfront,
        P.guarantee,
        P.service,
        P.fee_ppm,
        P.is_settled,
        P.days_past_due,
        P.event,
        *range(P.paid_principal, P.paid_principal + 5),
        P.overpaid,
        P.compensated,
        P.outstanding,
    ]
)


def column_of(terms: Terms, facts: list[Fact], model: FundingModel, day: date) -> LoanColumns:
    columns = TermColumns.of([terms])
    upfront, zero = np.array([terms.upfront_fee_minor]), np.zeros(1, np.int32)
    return LoanColumns(
        np.ones(1, np.int64), columns, FactColumns.of([visible(facts, as_of=day)]),
        np.array([model], np.int8), upfront, zero, effective_rates(columns, upfront),
        zero, zero, zero,
    )  # fmt: skip


@pytest.mark.slow
def test_kernel_equals_exact_form_on_random_lives() -> None:
    seen = set()
    others = np.setdiff1d(np.arange(len(FIELDS)), STANDING)
    for seed in range(LIVES):
        draw = Random(seed)
        terms, facts, day = random_case(seed)
        if terms.principal_minor > LARGE_MINOR:
            continue
        terms = replace(terms, upfront_fee_minor=draw.choice((0, terms.principal_minor // 50)))
        model = draw.choice(MODELS)
        cutoff = day - timedelta(days=draw.choice((0, 1, 4, 90)))
        columns = column_of(terms, facts, model, day)
        days = np.array([to_day(cutoff)], np.int32)
        found = positions(columns, POLICIES, day, days, 0, 1)[0]
        expected = LIVES_OF.of(ONLY, columns.terms.disbursed_on)
        standing = positions(columns, POLICIES, day, days, 0, 1, whole=False)[0]
        assert not standing[others].any()
        np.testing.assert_array_equal(standing[STANDING], found[STANDING])
        exact = position_of([terms], facts, model, day, cutoff, expected=expected)
        differences = {
            name: (int(found[place]), int(exact[place]))
            for place, name in enumerate(FIELDS)
            if found[place] != exact[place]
        }
        assert not differences, f"seed {seed}: {differences}"
        seen |= {name for place, name in enumerate(FIELDS) if found[place]}
    assert seen == set(FIELDS) - {"fee_ppm"}


def test_a_loan_not_yet_drawn_has_no_position() -> None:
    terms, facts, _ = random_case(3)
    before = terms.disbursed_on - timedelta(days=1)
    position = position_of([terms], facts, FundingModel.CAPITAL_LIGHT, before, before)
    assert {FIELDS[place] for place in np.flatnonzero(position)} == {"model"}


@pytest.mark.parametrize("days", [0, 1, 5_000, 10_979, 10_980])
def test_the_largest_price_over_the_longest_term_is_earned_exactly(days: int) -> None:
    from fractions import Fraction

    from usance.base.money import half_up
    from usance.books.kernel.arithmetic import earned_of

    price, term = 2**31 - 1, 10_980
    exact = Fraction(price) * (Fraction(7, 10) + Fraction(3, 10) * Fraction(days, term))
    assert earned_of(price, 700_000, days, term) == half_up(exact.numerator, exact.denominator)
