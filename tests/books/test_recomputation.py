"""A sample recomputed one loan at a time: it holds, and what is broken on purpose is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.books.worked import HEAVY, OWN_BOOK, Worked, columns, drawn, policies
from usance.base.codes import FundingModel
from usance.books.close import recomputation as sample
from usance.books.close.recomputation import (
    guarantee_notes,
    implausible_guarantees,
    recompute_sample,
)
from usance.books.kernel.effective import level_of
from usance.books.loans.amounts import AMOUNT as A
from usance.books.loans.measurement import amounts_of_positions, positions
from usance.loan import CONVENTIONS, Terms
from usance.loan.kernel.arrays import Plan

DAY = date(2024, 1, 31)
LEVEL = replace(OWN_BOOK, convention=CONVENTIONS["level_monthly"], upfront_fee_minor=0)


def found(*loans: tuple[FundingModel, Terms]) -> dict[str, tuple[int, ...]]:
    """By control, the loans that do not hold."""
    given = columns([Worked(model, terms, [drawn(terms)]) for model, terms in loans], DAY)
    rules = policies(DAY)
    at = positions(given, rules, DAY, DAY, 0, len(loans))
    made = amounts_of_positions(at, rules, given.segment, given.pool)
    return {each.name: each.loans for each in recompute_sample(given, at, made, 0, rules)}


def implausible(*loans: Terms) -> list[int]:
    given = columns(
        [Worked(FundingModel.CAPITAL_HEAVY, terms, [drawn(terms)]) for terms in loans], DAY
    )
    at = positions(given, policies(DAY), DAY, DAY, 0, len(loans))
    return implausible_guarantees(given, at, 0)


def test_a_sound_book_holds() -> None:
    own, heavy = FundingModel.ON_BALANCE_SHEET, FundingModel.CAPITAL_HEAVY
    controls = found((own, OWN_BOOK), (own, LEVEL), (heavy, HEAVY))
    assert len(controls) == 5
    assert not any(controls.values())


@given(
    st.integers(10_00, 10**9), st.integers(0, 480_000), st.integers(1, 60),
    st.sampled_from(["level_monthly", "level_daily"]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_any_level_loan_holds(principal: int, rate: int, count: int, convention: str) -> None:
    terms = replace(
        LEVEL, principal_minor=principal, rate_ppm=rate, coupon_ppm=rate, instalments=count,
        convention=CONVENTIONS[convention],
    )  # fmt: skip
    assert found((FundingModel.ON_BALANCE_SHEET, terms))[sample.LEVELS] == ()


@pytest.mark.parametrize(("off", "named"), [(0, ()), (2, (2,)), (-2, (2,))])
def test_interest_of_an_impaired_loan_that_is_off_is_named(
    off: int, named: tuple[int, ...]
) -> None:
    """Two loans unpaid since January, seen at the end of May; the second has an upfront fee."""
    day, own = date(2024, 5, 31), FundingModel.ON_BALANCE_SHEET
    given = columns([Worked(own, terms, [drawn(terms)]) for terms in (LEVEL, OWN_BOOK)], day)
    rules = policies(day, loans=400_000_000, survival=[900_000, 500_000])
    at = positions(given, rules, day, day, 0, 2)
    made = amounts_of_positions(at, rules, given.segment, given.pool)
    assert made[:, A.ifrs_net_interest].all()
    made[1, A.ifrs_net_interest] += off
    controls = {each.name: each.loans for each in recompute_sample(given, at, made, 0, rules)}
    assert controls[sample.IMPAIRED] == named


@pytest.mark.parametrize("cents", [-2, 2])
def test_a_level_instalment_that_is_off_is_named(
    cents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def off(plan: Plan) -> int:
        return int(level_of(plan)) + cents

    monkeypatch.setattr(sample, "level_of", off)
    own = FundingModel.ON_BALANCE_SHEET
    assert found((own, OWN_BOOK), (own, LEVEL))[sample.LEVELS] == (2,)


def test_guarantees_above_what_they_save_are_noted() -> None:
    """One payment of 1 % after a month, 1.5 % with interest: 90.00 / 1.015 is worth 88.67 today."""
    once = replace(HEAVY, instalments=1, flat_fee_minor=90_00)
    stated = [replace(once, guarantee_fee_minor=minor) for minor in (90_00, 88_68, 88_67, 0)]
    assert implausible(HEAVY, *stated) == [2, 3]
    # Over six months the bound is above all fees: a loan repaid at its end would save more.
    assert implausible(replace(HEAVY, guarantee_fee_minor=HEAVY.flat_fee_minor)) == []


def test_the_note_names_loans_and_says_nothing_without() -> None:
    assert guarantee_notes([]) == []
    assert guarantee_notes(list(np.arange(9, 2, -1))) == [
        "7 sampled guarantees are stated above what they save: loans 3, 4, 5, 6, 7"
    ]
