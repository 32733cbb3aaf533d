"""Loans taken through months in one pass, against serving and folding them apart."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.twin.runs import faulty
from usance.loan.kernel.fold import FEES
from usance.twin.checkpoint import shard_bytes, shard_of
from usance.twin.dues import DueSums
from usance.twin.opened import open_shard
from usance.twin.serving import fold, serve, through
from usance.twin.setting import Setting
from usance.twin.tape import is_closed, standing, stood
from usance.twin.users import COLUMNS
from usance.world.population import month_days
from usance.world.scenario import Scenario
from usance.world.scenario_file import read_scenario


def assert_same(found: dict[str, NDArray[Any]], expected: dict[str, NDArray[Any]]) -> None:
    for name, values in expected.items():
        assert (found[name] == values).all(), name


@pytest.mark.parametrize(
    ("scenario", "scale"), [(faulty(), 1), (read_scenario("2024"), Fraction(1, 20_000))]
)
@pytest.mark.parametrize("workers", [1, 2])
def test_one_pass_is_serving_and_folding(scenario: Scenario, scale: Fraction, workers: int) -> None:
    setting = Setting(scenario, Fraction(scale))
    loans = open_shard(setting, 0).shard.loans
    for month in range(scenario.first_month, scenario.first_month + 4):
        facts = serve(scenario, loans, month, setting.rules(month))
        is_known = facts.booked <= month_days(month)[1]
        known, coming = facts.where(is_known), facts.where(~is_known)
        folded = fold(loans, known, month, setting.sources)
        dues = DueSums(setting.cells)
        went = through(
            scenario, loans.take(np.arange(len(loans))), month, setting.rules(month),
            setting.sources, setting.cells, workers=workers,
        )  # fmt: skip
        assert_same(went.known._asdict(), known._asdict())
        assert_same(went.coming._asdict(), coming._asdict())
        here = np.ones(len(loans), np.bool_)
        here[went.apart] = False
        assert set(loans["loan_id"][~here]) == set(coming.loan_id)
        assert_same(
            {name: values[here] for name, values in went.ends._asdict().items()},
            {name: values[here] for name, values in folded.tape._asdict().items()},
        )
        dues.add(folded.dues[here], loans["cell"][here], month)
        for sums, wanted in ((went.dues.sure, dues.sure), (went.dues.open, dues.open)):
            for each in range(month - 2, month + 1):
                nothing = DueSums.room(setting.cells)[0]
                assert (sums.get(each, nothing) == wanted.get(each, nothing)).all()
        loans = stood(folded)
        loans = loans.take(~is_closed(folded.tape))


def test_states_are_taken_on_in_place() -> None:
    setting = Setting(faulty(), Fraction(1))
    loans = open_shard(setting, 0).shard.loans
    for month in range(setting.scenario.first_month, setting.scenario.first_month + 6):
        facts = serve(setting.scenario, loans, month, setting.rules(month))
        known = facts.where(facts.booked <= month_days(month)[1])
        folded = fold(loans, known, month, setting.sources)
        went = through(
            setting.scenario, loans, month, setting.rules(month), setting.sources, setting.cells
        )
        here = np.setdiff1d(np.arange(len(loans)), went.apart)
        after, expected = standing(loans, went.ends).take(here), stood(folded).take(here)
        assert (after.states == expected.states).all()
        assert (after.watches == expected.watches).all()
        assert_same(after.columns, expected.columns)
        loans = stood(folded).take(~is_closed(folded.tape))


@pytest.mark.parametrize("most", [2**31 - 1, 2**40])
def test_states_are_kept_exactly(most: int) -> None:
    """Narrow where all numbers fit, else as they are."""
    setting = Setting(faulty(), Fraction(1))
    shard = open_shard(setting, 0).shard
    drawn = np.random.default_rng(1).integers(-most, most, shard.loans.states.shape)
    drawn[:, FEES] = np.abs(drawn[:, FEES]) % 2**31 << 32 | np.abs(drawn[:, 0]) % 2**31
    shard.loans.states[:] = drawn
    kept = shard_of(shard_bytes(shard))
    assert (kept.loans.states == drawn).all()
    assert_same(kept.loans.columns, shard.loans.columns)
    assert_same(kept.users.columns, shard.users.columns)


def test_users_are_kept_exactly_also_those_with_one_thing_alone() -> None:
    """Of those who have only registered, nothing but their number is kept."""
    setting = Setting(faulty(), Fraction(1))
    shard = open_shard(setting, 0).shard
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
