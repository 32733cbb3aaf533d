"""Strata of a pool: without default and prepayment they pay what the loans' schedules say."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from usance.base.errors import UsanceError
from usance.fund.deal import Pool, Scenario
from usance.fund.pool_columns import PoolColumns, pool_of_rows
from usance.fund.projection import project
from usance.fund.sample import sample_deal
from usance.fund.scenarios import exact_row, run_scenarios
from usance.fund.strata import Curves, read_curves, strata_of_pool
from usance.loan import schedule
from usance.loan.terms import Terms

CUT_OFF = date(2024, 1, 1)
CURVES = Curves(
    {1: (0, 100, 900), 2: (0, 2_000)}, {1: (0, 10_000), 2: (0, 9_000, 8_000)}, (0, 0, 50_000)
)


def loans() -> PoolColumns:
    made = np.random.default_rng(4)
    return pool_of_rows([
        {
            "loan_id": n, "principal_minor": int(made.integers(100_000, 900_000)),
            "rate_ppm": int(made.integers(90_000, 240_000)), "grade": int(made.integers(1, 3)),
            "months_left": int(made.integers(1, 13)), "instalments_paid": int(made.integers(1, 4)),
        }
        for n in range(1, 61)
    ])  # fmt: skip


def test_no_default_and_no_prepayment_is_the_schedules() -> None:
    pool = loans()
    strata = strata_of_pool(pool, CURVES, CUT_OFF)
    assert sum(each.balance_minor for each in strata) == pool.principal_total_minor
    deal = replace(sample_deal(), pool=Pool(pool.principal_total_minor))
    run = project(deal, Scenario(0, 0, 0), strata=strata)
    principal, interest = np.zeros(12, np.int64), np.zeros(12, np.int64)
    for row in range(len(pool)):
        terms = Terms(
            principal_minor=int(pool["principal_minor"][row]), rate_ppm=int(pool["rate_ppm"][row]),
            instalments=int(pool["months_left"][row]), disbursed_on=CUT_OFF,
            first_due_on=date(2024, 2, 1),
        )  # fmt: skip
        for number, due in enumerate(schedule(terms)):
            principal[number] += due.principal
            interest[number] += due.interest
    assert [row.flows.principal_minor for row in run.distributions] == principal.tolist()
    assert [row.flows.interest_minor for row in run.distributions] == interest.tolist()
    assert run.distributions[-1].pool_end_minor == 0


def test_the_kernel_runs_the_strata_of_a_pool() -> None:
    pool = loans()
    strata = strata_of_pool(pool, CURVES, CUT_OFF)
    deal = replace(sample_deal(), pool=Pool(pool.principal_total_minor))
    some = [Scenario(), Scenario(0, 400, 30)]
    found = run_scenarios(deal, some, strata)
    assert found.rows.tolist() == [exact_row(deal, each, strata) for each in some]


def test_curves_begin_at_the_next_age() -> None:
    assert CURVES.after(1, 0) == ((100, 900), (10_000,))
    assert CURVES.after(1, 7) == ((900,), (10_000,))
    with pytest.raises(UsanceError, match="segment 3 has no curves"):
        CURVES.after(3, 1)


def test_a_file_of_curves(tmp_path: Path) -> None:
    file = tmp_path / "curves.json"
    file.write_text(
        '{"segments": {"1": {"mdr_ppm": [0, 5], "smm_ppm": [7]}}, "recovery_ppm": [0, 9]}',
        encoding="utf-8",
    )
    assert read_curves(file) == Curves({1: (0, 5)}, {1: (7,)}, (0, 9))
