"""Contracts of every posting rule, whatever it is: a new one is tested by being there."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest

from tests.books.cells import cells_of
from usance.base.arrays import I64
from usance.base.codes import Basis, FundingModel, IfrsAdjustment
from usance.books.chart import load_chart
from usance.books.journal import CloseHead, loan_postings, unbalanced
from usance.books.loans.amounts import AMOUNTS
from usance.books.postings import Lines, post
from usance.books.rules import Place, Rule, load_rules

RULES = load_rules()
PLATFORM, OTHER = 1, 2
HEAD = CloseHead(1, 653, date(2024, 6, 30), datetime(2024, 7, 1, tzinfo=UTC), "test")
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.number} {rule.amount}")


def movement(rule: Rule, minor: int = 100, rows: int = 1) -> I64:
    moved = np.zeros((rows, len(AMOUNTS)), np.int64)
    moved[:, AMOUNTS.index(rule.amount)] = minor
    return moved


def posted(rule: Rule, minor: int, *, entity: int = OTHER, related: bool = False) -> Lines:
    cell = cells_of([1], [rule.models[0]], [entity], related=[related], payout_cash="cash",
                    fund_cash="restricted_cash")  # fmt: skip
    return post(movement(rule, minor), cell, [rule], PLATFORM)


def columns(lines: Lines) -> list[list[int]]:
    return [getattr(lines, name).tolist() for name in ("entity", "basis", "tag", "account", "rule")]


@every_rule
@pytest.mark.parametrize("entity", [PLATFORM, OTHER])
def test_a_rule_balances_in_every_entity(rule: Rule, entity: int) -> None:
    lines = posted(rule, 12_345, entity=entity)
    assert len(lines) >= 2
    for each in np.unique(lines.journal):
        assert lines.amount[lines.journal == each].sum() == 0
    for each in np.unique(lines.entity):
        assert lines.amount[lines.entity == each].sum() == 0
    zeros = np.zeros(len(lines), np.int64)
    assert not list(unbalanced(loan_postings(lines, HEAD, 0, zeros)))


@every_rule
def test_what_is_undone_posts_the_reverse(rule: Rule) -> None:
    done, undone = posted(rule, 77), posted(rule, -77)
    assert columns(done) == columns(undone)
    assert (done.amount + undone.amount == 0).all()


@every_rule
def test_nothing_moved_posts_nothing(rule: Rule) -> None:
    assert len(posted(rule, 0)) == 0
    moved = movement(rule, 50)
    assert len(post(moved - moved, cells_of([1], [rule.models[0]], [OTHER]), RULES, 1)) == 0


@every_rule
def test_a_rule_works_for_its_models_alone(rule: Rule) -> None:
    moved = movement(rule, 1, rows=len(FundingModel))
    lines = post(
        moved,
        cells_of(range(len(FundingModel)), list(FundingModel), [OTHER] * len(FundingModel)),
        [rule],
        1,
    )
    assert {FundingModel(row) for row in lines.row.tolist()} == set(rule.models)


@every_rule
def test_entities_apart_are_joined_within_the_group(rule: Rule) -> None:
    lines = posted(rule, 500)
    within = lines.account == load_chart()["within_group"].number
    places = {rule.debit.place, rule.credit.place}
    assert bool(within.any()) == (len(places) == 2)
    assert lines.amount[within].sum() == 0
    assert set(lines.entity.tolist()) == {
        OTHER if place is Place.OWN else PLATFORM for place in places
    }
    together = posted(rule, 500, entity=PLATFORM)
    assert len(together) == 2


@every_rule
def test_related_parties_have_their_own_accounts(rule: Rule) -> None:
    chart = load_chart()
    lines, theirs = posted(rule, 500), posted(rule, 500, related=True)
    for ours, other in zip(sorted_accounts(lines), sorted_accounts(theirs), strict=True):
        expected = chart.by_number[ours].related
        assert other == (chart[expected].number if expected else ours)


def sorted_accounts(lines: Lines) -> list[int]:
    order = np.lexsort((lines.amount, lines.entity))
    return [int(lines.account[row]) for row in order]


@every_rule
def test_a_rule_stands_in_one_framework(rule: Rule) -> None:
    assert (rule.basis is Basis.US_GAAP) == (rule.tag is IfrsAdjustment.NONE)
    assert set(posted(rule, 1).tag.tolist()) == {int(rule.tag)}


def test_posting_is_linear() -> None:
    """Linearity: balances of a sum of loans are the sum of their balances."""
    draw = np.random.default_rng(1)
    first, second = draw.integers(-9, 10, (2, 40, len(AMOUNTS)))
    models = draw.integers(0, len(FundingModel), 40)
    cells = cells_of(np.arange(40), models, draw.integers(1, 4, 40))

    def total(moved: I64) -> dict[tuple[int, ...], int]:
        lines = post(moved, cells, RULES, PLATFORM)
        found: dict[tuple[int, ...], int] = {}
        names = (lines.row, lines.entity, lines.tag, lines.account, lines.rule)
        for *key, minor in zip(*(each.tolist() for each in (*names, lines.amount)), strict=True):
            found[tuple(key)] = found.get(tuple(key), 0) + minor
        return found

    both, apart = total(first + second), (total(first), total(second))
    for key in both.keys() | apart[0].keys() | apart[1].keys():
        assert both.get(key, 0) == apart[0].get(key, 0) + apart[1].get(key, 0)


def test_every_amount_has_a_rule() -> None:
    assert {rule.amount for rule in RULES} == set(AMOUNTS)


def test_no_two_rules_do_the_same() -> None:
    seen = [
        (rule.amount, model, rule.debit, rule.credit) for rule in RULES for model in rule.models
    ]
    assert len(seen) == len(set(seen))
