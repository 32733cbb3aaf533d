"""Full lives of co-funded loans: every share's books close by themselves, and sum to the loan's."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from tests.books.lives import BORROWED, END, EVERY, lives
from tests.books.rule_matrix import CASH, PLACE, SHEET, held, matrix, random_policies
from usance.base.codes import FundingModel, IfrsAdjustment
from usance.books.chart import load_chart
from usance.books.loans.amounts import AMOUNTS
from usance.books.loans.co_funding import CLOSINGS, parts_of, signs_of
from usance.books.loans.measurement import amounts

LOANS = 1_250
"""Of each model and path: more than ten thousand of each model together."""
CO_FUNDED = [(model, path) for model, path in EVERY if model in BORROWED]
BEGUN = date(2023, 1, 1)


def random_shares(
    principal: np.ndarray[tuple[int], np.dtype[np.int64]], draw: np.random.Generator
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    """Two or three sources of each loan: loans, sources, and what each gave."""
    first = np.floor(principal * draw.random(len(principal)) * 0.8).astype(np.int64) + 1
    second = np.where(draw.random(len(principal)) < 0.5, (principal - first) // 3, 0)
    given = np.stack([first, second, principal - first - second], axis=1)
    loans, sources = np.nonzero(given)
    return loans, sources, given[loans, sources]


@pytest.mark.parametrize(("model", "path"), CO_FUNDED, ids=str)
def test_every_share_closes(model: FundingModel, path: str) -> None:
    life = lives(model, path, LOANS, seed=77)
    draw = np.random.default_rng(8)
    loans, sources, given = random_shares(life.terms.principal_minor, draw)
    for day in (date(2024, 3, 31), END):
        policies = random_policies(day, draw, first=BEGUN)
        whole = amounts(life.loans(), policies, day, day)
        parts = parts_of(whole, loans, sources, given)
        summed = np.zeros_like(whole)
        np.add.at(summed, loans, parts)
        np.testing.assert_array_equal(summed, whole)
    balances = parts @ matrix(model, IfrsAdjustment.NONE)
    kept = {"cash", "restricted_cash", "other_tax_payable"}
    others = [place for name, place in PLACE.items() if SHEET[place] and name not in kept]
    assert not balances[:, others].any()
    profit = -balances[:, ~SHEET].sum(axis=1)
    cash = balances[:, CASH].sum(axis=1)
    np.testing.assert_array_equal(profit, cash + held(balances, "other_tax_payable"))
    for tag in set(IfrsAdjustment) - {IfrsAdjustment.NONE}:
        assert not (parts @ matrix(model, tag)).any()
    if model is FundingModel.ON_BALANCE_SHEET:
        disbursed = parts[:, AMOUNTS.index("disbursed")]
        np.testing.assert_array_equal(disbursed, given)
    off = np.abs(parts * life.terms.principal_minor[loans, None] - whole[loans] * given[:, None])
    assert (off <= 8 * life.terms.principal_minor[loans, None]).all()


def test_what_is_rounded_apart_would_be_left_over() -> None:
    """Without closing amounts some share would keep a unit for ever: the test above can fail."""
    life = lives(FundingModel.CAPITAL_HEAVY, "prepaid", 500, seed=77)
    draw = np.random.default_rng(8)
    loans, sources, given = random_shares(life.terms.principal_minor, draw)
    whole = amounts(life.loans(), random_policies(END, draw, first=BEGUN), END, END)
    closed = parts_of(whole, loans, sources, given)
    plain = np.zeros_like(closed)
    for place in np.flatnonzero(whole.any(axis=0)).tolist():
        alone = np.zeros_like(whole)
        alone[:, place] = whole[:, place]
        plain[:, place] = parts_of(alone, loans, sources, given)[:, place]
    assert (closed != plain).any()


def test_closings_are_the_accounts_of_the_rules() -> None:
    """Every closing formula is what some account holds, under some model."""
    told = {
        matrix(model, IfrsAdjustment.NONE)[:, place].tobytes()
        for model in BORROWED
        for place in range(len(load_chart().accounts))
    }
    signs = [signs_of(formula) for formula in CLOSINGS]
    assert all(each.any() for each in signs)
    assert sum(each.tobytes() in told or (-each).tobytes() in told for each in signs) >= 10
