"""Full lives of loans whose terms change or whose interest is paused, through the exact form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from random import Random

import numpy as np
import pytest

from tests.books.lives import BORROWED
from tests.books.rule_matrix import CASH, PLACE, SHEET, held, matrix, named, random_policies
from tests.books.test_lives import SIGNS
from tests.loan.cases import TO_DUE_DATE, Event, History, Move, random_terms
from usance.base.arrays import I64
from usance.base.codes import FactKind, FundingModel, IfrsAdjustment
from usance.base.dates import from_day, to_day
from usance.books.loans.changed_terms import position_of
from usance.books.loans.checks import LoanFindings
from usance.books.loans.measurement import amounts_of_positions
from usance.books.loans.positions import NO_EVENT
from usance.books.loans.positions import POSITION as P
from usance.loan import Fact, Terms
from usance.loan.exact import replay

SOME, ALL = 300, 10_000
BEGUN = date(2023, 1, 1)
LARGEST_MINOR = 10**9


@dataclass(frozen=True)
class Life:
    """A loan with all versions of its terms and all its facts."""

    model: FundingModel
    versions: list[Terms]
    facts: list[Fact]

    @property
    def over_on(self) -> date:
        """The day after the last fact."""
        return max(fact.effective_on for fact in self.facts) + timedelta(days=1)

    @property
    def cash(self) -> int:
        """What is left of it in cash, by its facts alone."""
        came = sum(SIGNS.get(fact.kind, 0) * fact.amount_minor for fact in self.facts)
        if self.model is FundingModel.ON_BALANCE_SHEET:
            return came - self.versions[0].principal_minor + self.versions[0].upfront_fee_minor
        payout = [each for each in self.facts if each.kind is FactKind.COMPENSATED]
        heavy = self.model is FundingModel.CAPITAL_HEAVY
        until = self.facts[: self.facts.index(payout[0]) + 1] if heavy and payout else self.facts
        paid = replay(self.versions, until, until[-1].effective_on).view().paid
        compensated = sum(each.amount_minor for each in payout) if heavy else 0
        return came - paid.principal - paid.interest - compensated


def life(seed: int) -> Life:
    """Some instalments, a change of terms or a pause, some more; then settled or written off."""
    draw = Random(seed)
    terms = random_terms(draw)
    while terms.principal_minor > LARGEST_MINOR:
        terms = random_terms(draw)
    drawn = BEGUN + timedelta(days=draw.randrange(400))
    gap = terms.first_due_on - terms.disbursed_on
    model = draw.choice(BORROWED)
    # Only a guaranteed loan has a guarantee; fewer days in its periods make for lower fees.
    guarantee = terms.guarantee_fee_minor * 3 // 4 if model is FundingModel.CAPITAL_HEAVY else 0
    terms = replace(
        terms, disbursed_on=drawn, first_due_on=drawn + gap, guarantee_fee_minor=guarantee
    )
    history = History(terms)
    for move in _moves(draw, model):
        history.play(move)
    return Life(model, history.versions, history.facts)


def _moves(draw: Random, model: FundingModel) -> Iterator[Move]:
    yield from [Move(TO_DUE_DATE, Event.PAY_DUE, 0)] * draw.randint(0, 4)
    for _ in range(draw.randint(1, 2)):
        change = draw.choice((Event.CHANGE, Event.CHANGE, Event.PAUSE))
        yield Move(draw.choice((0, 20, 70, 100)), change, draw.randint(1, 60))
        yield from [Move(TO_DUE_DATE, Event.PAY_DUE, 0)] * draw.randint(0, 4)
    if draw.random() < 0.3:
        yield Move(draw.randint(1, 20), draw.choice((Event.WAIVE, Event.FEE)), draw.randint(0, 100))
    if draw.random() < 0.3:
        heavy = model is FundingModel.CAPITAL_HEAVY
        yield Move(181, Event.COMPENSATE if heavy else Event.CHARGE_OFF, draw.randint(20, 100))
        yield Move(draw.randint(0, 50), Event.RECOVER, draw.randint(0, 60))
    yield Move(draw.randint(1, 90), Event.SETTLE, 0)
    yield Move(5, Event.REFUND, 100)


def measured(lives: list[Life], days: list[date], draw: np.random.Generator) -> tuple[I64, I64]:
    """Positions and amounts, each life on its day."""
    policies = random_policies(max(days), draw, first=BEGUN)
    assert policies.lives is not None
    segment = np.zeros(1, np.int64)
    lives_of = policies.lives.of
    at = np.array([
        position_of(each.versions, each.facts, each.model, day, day - timedelta(days=1),
                    expected=lives_of(segment, np.array([to_day(each.versions[0].disbursed_on)])))
        for each, day in zip(lives, days, strict=True)
    ])  # fmt: skip
    zeros = np.zeros(len(lives), np.int32)
    return at, amounts_of_positions(at, policies, zeros, zeros)


def look(at: I64, found: I64) -> None:
    findings = LoanFindings()
    findings.check(np.arange(len(at)), at, found)
    assert not findings.by_check


@pytest.mark.parametrize(
    ("first", "count"),
    [(0, SOME), pytest.param(SOME, ALL - SOME, marks=pytest.mark.nightly)],
)
def test_lives_with_changed_terms(first: int, count: int) -> None:
    lives = [life(seed) for seed in range(first, first + count)]
    draw = np.random.default_rng(first)
    at, found = measured(lives, [each.over_on for each in lives], draw)
    settled = (at[:, P.is_settled] == 1) | (at[:, P.event] != NO_EVENT)
    assert settled.all()
    look(at, found)
    for number, each in enumerate(lives):
        is_over(each, found[number], f"seed {first + number}")


def is_over(each: Life, found: I64, where: str) -> None:
    """Nothing is left but cash, tax and results, and cash is what the facts say."""
    balances = found @ matrix(each.model, IfrsAdjustment.NONE)
    kept = ("cash", "restricted_cash", "other_tax_payable")
    left = {name: minor for name, minor in named(balances).items() if SHEET[PLACE[name]]}
    assert left.keys() <= set(kept), (where, left)
    for tag in set(IfrsAdjustment) - {IfrsAdjustment.NONE}:
        assert not (found @ matrix(each.model, tag)).any(), where
    cash = int(balances[CASH].sum())
    assert cash == each.cash, where
    profit = -int(balances[~SHEET].sum())
    assert profit == cash + int(held(balances, "other_tax_payable")), where


def test_checks_hold_while_terms_change() -> None:
    lives = [life(seed) for seed in range(120)]
    draw = Random(1)
    days = []
    for each in lives:
        first, last = each.facts[0].effective_on, each.over_on
        days.append(from_day(draw.randint(to_day(first), to_day(last))))
    look(*measured(lives, days, np.random.default_rng(2)))


def test_lives_have_changes_in_them() -> None:
    kinds = [{fact.kind for fact in life(seed).facts} for seed in range(SOME)]
    for kind in (
        FactKind.TERMS_CHANGED,
        FactKind.INTEREST_PAUSED,
        FactKind.COMPENSATED,
        FactKind.CHARGED_OFF,
    ):
        assert sum(kind in each for each in kinds) > SOME // 20
