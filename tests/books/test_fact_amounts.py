"""Fact amounts from a loan's fold, and templates: equal to the general forms on columns."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from tests.books.cells import cells_of
from tests.books.lives import END, EVERY, lives
from tests.books.rule_matrix import random_policies
from usance.base.codes import FactKind, FundingModel
from usance.base.dates import to_day
from usance.books.kernel.fact_amounts import BookedLoans
from usance.books.loans.amounts import AMOUNTS, FACT_AMOUNT_PLACES, FACT_AMOUNTS
from usance.books.loans.fact_amounts import (
    BookedState,
    booked_loans,
    fact_amounts,
    start_booked,
    step_booked,
)
from usance.books.loans.measurement import amounts
from usance.books.posting_templates import CellKey, posting_template
from usance.books.postings import post
from usance.books.rules import load_rules
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.errors import BackdatedStep
from usance.loan.facts import Fact
from usance.loan.terms import Terms

DAYS = (date(2023, 6, 30), date(2024, 1, 15), date(2024, 8, 31), END)
SEED = 5


def between(facts: FactColumns, after: int, until: int) -> FactColumns:
    """The facts of some days, loan by loan."""
    kept = (facts.day > after) & (facts.day <= until)
    counts = np.add.reduceat(np.append(kept, False), facts.offsets[:-1])
    counts[np.diff(facts.offsets) == 0] = 0
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return FactColumns(
        offsets, facts.day[kept], facts.kind[kept], facts.amount_minor[kept], facts.arg[kept]
    )


@pytest.mark.parametrize(("model", "path"), EVERY, ids=str)
def test_amounts_of_the_fold_are_those_of_a_close(model: FundingModel, path: str) -> None:
    life = lives(model, path, 60, seed=SEED)
    booked = start_booked(
        life.terms,
        BookedLoans(np.full(len(life), model, np.int8), life.upfront_minor, life.fee_ppm),
    )
    before = -1
    for day in DAYS:
        until = to_day(day)
        booked = step_booked(booked, between(life.facts, before, until), until)
        before = until
        known = between(life.facts, -1, until)
        policies = random_policies(day, np.random.default_rng(SEED))
        general = amounts(replace(life.loans(), facts=known), policies, day, day)
        assert (fact_amounts(booked) == general[:, FACT_AMOUNT_PLACES]).all(), day
        again = step_booked(start_booked(life.terms, booked.loans), known, until)
        assert (again.memories == booked.memories).all()
        assert (again.states.values == booked.states.values).all()


def test_templates_post_what_columns_post() -> None:
    draw, rules = np.random.default_rng(3), load_rules()
    for model in FundingModel:
        for entity, related in ((1, False), (2, True)):
            cells = cells_of([7], [model], [entity], related=[related])
            key = CellKey(
                7, int(model), entity, related, int(cells.fund_cash[0]), int(cells.payout_cash[0])
            )
            template = posting_template(key, platform=1)
            for _ in range(20):
                moved = draw.integers(-999, 999, len(FACT_AMOUNTS))
                moved[draw.random(len(moved)) < 0.6] = 0
                movement = np.zeros((1, len(AMOUNTS)), np.int64)
                movement[0, FACT_AMOUNT_PLACES] = moved
                made = post(movement, cells, rules, 1)
                columns = (made.journal, made.entity, made.basis, made.tag, made.account,
                           made.rule, made.cell, made.amount)  # fmt: skip
                expected = list(zip(*(each.tolist() for each in columns), strict=True))
                assert [tuple(line) for line in template.lines(moved.tolist())] == expected


def one_loan() -> BookedState:
    terms = Terms(
        principal_minor=12_000_00, rate_ppm=180_000, instalments=12,
        disbursed_on=date(2024, 1, 15), first_due_on=date(2024, 2, 15),
    )  # fmt: skip
    drawn = Fact(FactKind.DISBURSED, date(2024, 1, 15), 12_000_00, ref=1)
    start = start_booked(TermColumns.of([terms]), booked_loans([FundingModel.CAPITAL_HEAVY]))
    return step_booked(start, FactColumns.of([[drawn]]), date(2024, 1, 15))


def test_a_refused_fact_leaves_the_state_and_is_named() -> None:
    booked = one_loan()
    values = booked.states.values.copy()
    late = Fact(FactKind.PAID, date(2024, 1, 15) - timedelta(days=1), 1, ref=2)
    with pytest.raises(BackdatedStep):
        step_booked(booked, FactColumns.of([[late]]), date(2024, 2, 1))
    assert (booked.states.values == values).all()


def test_cash_after_a_payout_is_recovered_from_the_claim() -> None:
    booked, day = one_loan(), date(2024, 4, 16)
    paid_out = Fact(FactKind.COMPENSATED, day, 12_180_00, ref=3)
    booked = step_booked(booked, FactColumns.of([[paid_out]]), day)
    back = Fact(FactKind.RECOVERED, date(2024, 5, 1), 500_00, ref=4)
    after = step_booked(booked, FactColumns.of([[back]]), date(2024, 5, 1))
    moved = dict(zip(FACT_AMOUNTS, (fact_amounts(after) - fact_amounts(booked))[0], strict=True))
    assert moved["recovered_claim"] == 500_00
    assert sum(moved.values()) == 500_00
