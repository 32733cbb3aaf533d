"""Loans carried through months in one pass, against serving and folding them apart."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.twin.runs import faulty
from usance.base.dates import parse_month
from usance.loan.convention import CONVENTION_CODES
from usance.loan.kernel.batch import plan_at
from usance.loan.kernel.state import FEES, IS_DISBURSED, LEVEL_MINOR, META
from usance.service.servicing_rules import ServicingRules
from usance.twin.month import loan_month as serving
from usance.twin.month.dues import DueSums
from usance.twin.month.loan_month import fold, month_pass, serve
from usance.twin.month.month_arrays import FactBuffer
from usance.twin.month.newly_delinquent_kernel import newly_delinquent_loan
from usance.twin.month.on_schedule_kernel import DueDraws
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.opening_shard import open_shard
from usance.twin.month.tape import folded_loans, is_closed, with_month_end
from usance.twin.month.users import COLUMNS
from usance.twin.run.checkpoint import shard_bytes, shard_of
from usance.twin.run.run_context import RunContext
from usance.world.behaviour import behaviour_inputs
from usance.world.draw_kernel import draw_from
from usance.world.population import month_days
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario


def assert_same(found: dict[str, NDArray[Any]], expected: dict[str, NDArray[Any]]) -> None:
    for name, values in expected.items():
        assert (found[name] == values).all(), name


def assert_same_both_ways(
    context: RunContext, loans: OpenLoans, month: int, rules: ServicingRules, workers: int
) -> OpenLoans:
    """A month in one pass is the same month served and folded; the loans that are open after it."""
    scenario = context.scenario
    facts = serve(scenario, loans, month, rules)
    is_known = facts.booked <= month_days(month)[1]
    known, coming = facts.where(is_known), facts.where(~is_known)
    folded = fold(loans, known, month, context.sources)
    own = loans.take(np.arange(len(loans)))
    went = month_pass(scenario, own, month, rules, context.sources, context.cells, workers=workers)
    assert_same(went.known._asdict(), known._asdict())
    assert_same(went.coming._asdict(), coming._asdict())
    here = np.ones(len(loans), np.bool_)
    here[went.apart] = False
    assert set(loans["loan_id"][~here]) == set(coming.loan_id)
    assert_same(
        {name: values[here] for name, values in went.ends._asdict().items()},
        {name: values[here] for name, values in folded.ends._asdict().items()},
    )
    dues = DueSums(context.cells)
    dues.add(folded.dues[here], loans["cell"][here], month)
    for sums, wanted in ((went.dues.final, dues.final), (went.dues.open, dues.open)):
        for each in range(month - 2, month + 1):
            nothing = DueSums.space(context.cells)[0]
            assert (sums.get(each, nothing) == wanted.get(each, nothing)).all()
    some = loans.take(here)
    alone = fold(some, known.of_loans(some["loan_id"]), month, context.sources)
    assert (went.released == alone.released).all()
    after, expected = with_month_end(own, went.ends).take(here), folded_loans(folded).take(here)
    assert (after.states == expected.states).all()
    assert (after.watches == expected.watches).all()
    assert_same(after.columns, expected.columns)
    return folded_loans(folded).take(~is_closed(folded.ends))


@pytest.mark.parametrize(
    ("scenario", "scale"), [(faulty(), 1), (read_scenario("2024"), Fraction(1, 20_000))]
)
@pytest.mark.parametrize("workers", [1, 2])
def test_one_pass_is_serving_and_folding(
    monkeypatch: pytest.MonkeyPatch, scenario: Scenario, scale: Fraction, workers: int
) -> None:
    monkeypatch.setattr(serving, "PIECE", 256)
    context = RunContext(scenario, Fraction(scale))
    loans = open_shard(context, 0).shard.loans
    assert len(loans) > 4 * serving.PIECE
    for month in range(scenario.first_month, scenario.first_month + 6):
        loans = assert_same_both_ways(context, loans, month, context.rules(month), workers)


JANUARY, FEBRUARY = parse_month("2023-01"), parse_month("2023-02")


@pytest.mark.parametrize(
    ("rules", "convention", "first"),
    [
        pytest.param(ServicingRules(0, 0, 180), "level_monthly", FEBRUARY, id="no grace, no fee"),
        pytest.param(
            ServicingRules(0, 1_000_000, 180), "level_monthly", JANUARY, id="fee as the instalment"
        ),
        pytest.param(
            ServicingRules(40, 10_000, 180), "level_daily", JANUARY, id="grace beyond the month"
        ),
        pytest.param(
            ServicingRules(3, 10_000, 12), "level_monthly", JANUARY, id="charged off at once"
        ),
        pytest.param(
            ServicingRules(0, 10_000, 180), "interest_only_monthly", JANUARY, id="interest only"
        ),
        pytest.param(
            ServicingRules(0, 10_000, 180), "equal_principal_daily", JANUARY, id="equal principal"
        ),
    ],
)
def test_one_pass_under_other_rules(rules: ServicingRules, convention: str, first: int) -> None:
    calm = faulty()
    products = tuple(replace(each, convention=convention) for each in calm.demand.products)
    demand = replace(calm.demand, products=products)
    context = RunContext(replace(calm, first_month=first, demand=demand), Fraction(1))
    loans = open_shard(context, 0).shard.loans
    ids = loans["loan_id"]
    loans["trigger"][:] = np.where(ids % 2 == 1, ids % 31, 60)
    loans["hazard"][ids % 11 == 0] = -1
    for month in range(first, first + 4):
        loans = assert_same_both_ways(context, loans, month, rules, 1)


def test_loans_whose_first_instalments_are_nil_settle_alike() -> None:
    """Interest only, without interest: nothing is due before the last instalment."""
    calm = faulty()
    behaviour = replace(calm.behaviour, prepay_ppm=900_000, late_ppm=0)
    context = RunContext(replace(calm, behaviour=behaviour), Fraction(1))
    loans, month = open_shard(context, 0).shard.loans, JANUARY
    is_new = (loans.states[:, META] == IS_DISBURSED) & (loans["dpd"] == 0)
    loans = loans.take(is_new & (loans["instalments"] > 1))
    assert len(loans) > 20
    for name in ("rate_ppm", "coupon_ppm", "flat_fee_minor", "guarantee_fee_minor"):
        loans[name][:] = 0
    loans["convention"][:] = CONVENTION_CODES["interest_only_monthly"]
    loans.states[:, LEVEL_MINOR] = loans.states[:, FEES] = 0
    after = assert_same_both_ways(context, loans, month, context.rules(month), 1)
    assert len(after) == len(loans)


def test_most_loans_that_miss_a_due_take_the_short_path() -> None:
    """Else the other tests would pass with no short path at all."""
    context = RunContext(faulty(), Fraction(1))
    loans, month = open_shard(context, 0).shard.loans, context.scenario.first_month
    world, rules = behaviour_inputs(context.scenario, month), context.rules(month)
    is_due = loans["first_due_on"] <= world.span.last
    late = 0
    for row in np.flatnonzero(is_due & (loans["dpd"] == 0))[:500]:
        loan = int(loans["loan_id"][row])
        prefixes = (world.prefix.payment, world.prefix.notice)
        draws = DueDraws(*(np.uint64(draw_from(each, loan, month * 256)) for each in prefixes))
        missed = newly_delinquent_loan(
            plan_at(loans.term_arrays, row), loans.arrays, row, draws, world, rules,
            FactBuffer.of(2), 0,
        )  # fmt: skip
        late += missed.days_late > 0
        assert missed.facts <= 2
    assert late > 50


@pytest.mark.parametrize("most", [2**31 - 1, 2**40])
def test_states_are_kept_exactly(most: int) -> None:
    """Narrow where all numbers fit, else as they are."""
    context = RunContext(faulty(), Fraction(1))
    shard = open_shard(context, 0).shard
    drawn = np.random.default_rng(1).integers(-most, most, shard.loans.states.shape)
    drawn[:, FEES] = np.abs(drawn[:, FEES]) % 2**31 << 32 | np.abs(drawn[:, 0]) % 2**31
    shard.loans.states[:] = drawn
    kept = shard_of(shard_bytes(shard))
    assert (kept.loans.states == drawn).all()
    assert_same(kept.loans.columns, shard.loans.columns)
    assert_same(kept.users.columns, shard.users.columns)


def test_users_are_kept_exactly_also_those_with_one_thing_alone() -> None:
    """Of those who have only registered, nothing but their number is kept."""
    context = RunContext(faulty(), Fraction(1))
    shard = open_shard(context, 0).shard
    users, rng = shard.users, np.random.default_rng(2)
    users.grow(1_000)
    for values in users.columns.values():
        rows = rng.integers(0, len(users), len(users) // 20)
        values[rows] = rng.integers(-1, np.iinfo(values.dtype).max, len(rows))
    kept = shard_of(shard_bytes(shard))
    assert_same(kept.users.columns, users.columns)
    assert [each.dtype for each in kept.users.columns.values()] == list(COLUMNS.values())
    assert all(each.flags.writeable for each in kept.users.columns.values())
    active = kept.users.active()
    assert 0 < active.sum() < len(users)
