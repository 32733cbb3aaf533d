"""Selections keep every limit on the loans themselves, reach their target, and say their gap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.base.errors import UsanceError
from usance.base.formulas import parse_formula
from usance.fund.deal_terms import PoolLimit
from usance.fund.errors import PoolError
from usance.fund.pool_columns import PoolColumns, eligible, pool_of_rows
from usance.fund.selection import Objective, SelectionRules, select_pool

LIMITS = (PoolLimit("region", 300_000), PoolLimit("max_pd_ppm", 50_000),
          PoolLimit("grade", 500_000, 2), PoolLimit("min_rate_ppm", 140_000))  # fmt: skip


def offered(seed: int, count: int) -> PoolColumns:
    """Loans of some users, each with two."""
    made = np.random.default_rng(seed)
    return pool_of_rows([
        {
            "loan_id": (n // 2 + 1) * 16384 + n % 2 + 1,
            "principal_minor": int(made.integers(1_000, 20_000)),
            "rate_ppm": int(made.integers(90_000, 240_000)),
            "months_left": int(made.integers(1, 24)),
            "grade": int(made.integers(1, 4)), "region": int(made.integers(1, 7)),
            "pd_ppm": int(made.integers(5_000, 110_000)),
        }
        for n in range(count)
    ])  # fmt: skip


def check_limits(pool: PoolColumns, rules: SelectionRules) -> None:
    """Every limit, worked out again from the loans."""
    owed = pool["principal_minor"]
    whole = int(owed.sum())
    for region in np.unique(pool["region"]):
        assert int(owed[pool["region"] == region].sum()) * 10**6 <= 300_000 * whole
    assert int((owed * pool["pd_ppm"]).sum()) <= 50_000 * whole
    assert int((owed * pool["rate_ppm"]).sum()) >= 140_000 * whole
    assert int(owed[pool["grade"] == 2].sum()) * 2 <= whole
    if rules.borrower_minor is not None:
        users = pool["loan_id"] >> 14
        for user in np.unique(users):
            assert int(owed[users == user].sum()) <= rules.borrower_minor


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(200, 600), st.sampled_from(list(Objective)))
def test_limits_hold_on_the_loans(seed: int, count: int, objective: Objective) -> None:
    pool = offered(seed, count)
    target = pool.principal_total_minor // 5
    rules = SelectionRules(target, LIMITS, objective, seed, 24_000)
    found = select_pool(pool, rules)
    taken = pool.take(found.rows)
    check_limits(taken, rules)
    assert found.principal_minor == taken.principal_total_minor <= target
    assert found.principal_minor > target - 20_000
    again = select_pool(pool, rules)
    assert again.rows.tolist() == found.rows.tolist()


def test_replenishment_counts_what_is_held() -> None:
    pool = offered(3, 800)
    held = pool.take(np.flatnonzero(pool["region"] == 1)[:12])
    rest = pool.take(np.flatnonzero(~np.isin(pool["loan_id"], held["loan_id"])))
    limit = (PoolLimit("region", 300_000),)
    alone = select_pool(rest, SelectionRules(500_000, limit, seed=1))
    with_held = select_pool(rest, SelectionRules(500_000, limit, seed=1, held=held))
    own = [int((rest.take(found.rows)["region"] == 1).sum()) for found in (alone, with_held)]
    assert own[1] < own[0]
    both = rest.take(with_held.rows)
    inside = int(both["principal_minor"][both["region"] == 1].sum()) + held.principal_total_minor
    assert inside * 10**6 <= 300_000 * (both.principal_total_minor + held.principal_total_minor)


def test_what_cannot_be_is_refused() -> None:
    pool = offered(5, 50)
    with pytest.raises(PoolError, match="keeps every limit"):
        select_pool(pool, SelectionRules(10_000, (PoolLimit("min_rate_ppm", 900_000),)))


def test_a_loan_in_another_deal_is_not_eligible() -> None:
    rows = [{"loan_id": n, "principal_minor": 1, "dpd": n, "deal": d} for n, d in
            ((1, ""), (2, "PLAN1"), (3, "OTHER"))]  # fmt: skip
    fits, refused = eligible(pool_of_rows(rows), {"late": parse_formula("dpd > 1")}, "PLAN1")
    assert fits.tolist() == [False, True, False]
    assert refused == {"in no other deal": 1, "late": 1}


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"loan_id": 1}, "the column principal_minor is missing"),
        ({"loan_id": 1, "principal_minor": -1}, "principal_minor is -1 in row 1"),
        ({"loan_id": 1, "principal_minor": 1, "colour": 2}, "unknown column 'colour'"),
        ({"loan_id": 1, "principal_minor": 1, "dpd": 0.5}, "dpd is not all whole numbers"),
    ],
)
def test_a_wrong_pool_is_refused(row: dict[str, object], named: str) -> None:
    with pytest.raises(UsanceError) as caught:
        pool_of_rows([row])
    assert named in str(caught.value)
    with pytest.raises(UsanceError, match="there twice"):
        pool_of_rows([{"loan_id": 1, "principal_minor": 1}] * 2)
