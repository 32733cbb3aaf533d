"""How borrowers pay: shares as asked for, the same answer whenever and with whom it is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.rates import PPM
from usance.world.behaviour import days_late, payments
from usance.world.behaviour_kernel import PAYS_DUE, PAYS_ONE, RECOVERS, SETTLES, STEP, at_due
from usance.world.population import month_days
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario
from usance.world.shocks import Shock, ShockKind

MONTH, COUNT = 640, 60_000
FIRST, LAST = month_days(MONTH)
LOANS = np.arange(COUNT) * 16_384 + 16_385


@pytest.fixture(scope="module")
def calm() -> Scenario:
    calm = read_scenario("calm")
    flat = replace(calm.behaviour, season_ppm=(PPM,) * 12, early_ppm=0)
    return replace(calm, behaviour=flat)


def pays(
    scenario: Scenario, oldest: int, due: int, *, flags: int = 0, hazard: int = PPM,
    month: int = MONTH, loans: I64 = LOANS, workers: int = 1,
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:  # fmt: skip
    """How many payments each loan makes, and the day and meaning of the first."""
    same = np.ones(len(loans), np.int64)
    paid = payments(
        scenario, month, loans, same * hazard, same * oldest, same * due,
        same * flags, workers=workers,
    )  # fmt: skip
    assert (paid[0][paid[1] > 0] < paid[1][paid[1] > 0]).all()
    return (paid > 0).sum(axis=0).astype(np.int8), np.stack(np.divmod(paid[0], STEP), axis=1)


def test_dues_are_paid_on_time_late_or_not_at_all(calm: Scenario) -> None:
    due = FIRST + 4
    counts, paid = pays(calm, due, due)
    prepaid = (counts > 0) & (paid[:, 1] == SETTLES)
    assert abs(prepaid.mean() - calm.behaviour.prepay_ppm / PPM) < 0.003
    assert (paid[prepaid, 0] <= due).all()
    on_time = (counts > 0) & (paid[:, 0] == due) & (paid[:, 1] == PAYS_DUE)
    late = ~on_time & ~prepaid
    assert abs(late.mean() - calm.behaviour.late_ppm / PPM) < 0.004
    within = late & (counts > 0)
    # By the month's end, 26 days later, nearly all who pay within thirty days have paid.
    assert abs(within.sum() / late.sum() - calm.behaviour.collected30_ppm / PPM) < 0.03
    assert (paid[within, 0] > due).all()


def test_a_due_paid_in_the_next_month_is_paid_once(calm: Scenario) -> None:
    due = LAST - 2
    counts, _ = pays(calm, due, due)
    open_still = LOANS[counts == 0]
    later, paid = pays(calm, due, due + 30, month=MONTH + 1, loans=open_still)
    pays_old = (later > 0) & (paid[:, 0] <= due + 30)
    share = 1 - (len(open_still) - pays_old.sum()) / COUNT
    expected = 1 - calm.behaviour.late_ppm / PPM * (1 - calm.behaviour.collected30_ppm / PPM)
    assert abs(share - expected) < 0.003
    assert (paid[pays_old, 0] > LAST).all()
    # Who has paid the old due meets the new one like everybody else.
    both = later == 2
    assert both.sum() > 0.8 * pays_old.sum()


@pytest.mark.parametrize("bucket", [2, 3, 4, 5, 6])
def test_arrears_are_cured_by_their_age(calm: Scenario, bucket: int) -> None:
    oldest = FIRST - 1 - 30 * (bucket - 1) - 5
    counts, paid = pays(calm, oldest, -1)
    cured, partial = paid[counts > 0, 1] == PAYS_DUE, paid[counts > 0, 1] == PAYS_ONE
    assert abs(cured.sum() / COUNT - calm.behaviour.cure_ppm[bucket - 2] / PPM) < 0.005
    assert abs(partial.sum() / COUNT - calm.behaviour.partial_ppm / PPM) < 0.004
    assert (paid[counts > 0, 0] >= FIRST).all()
    assert (paid[counts > 0, 0] <= LAST).all()
    in_recovery, whole = pays(calm, oldest, -1, flags=1)
    assert set(whole[in_recovery > 0, 1]) == {SETTLES, PAYS_ONE}


def test_charged_off_loans_pay_something_at_times(calm: Scenario) -> None:
    counts, paid = pays(calm, FIRST - 200, -1, flags=3)
    assert abs(counts.mean() - calm.behaviour.recovery_ppm / PPM) < 0.003
    assert set(paid[counts > 0, 1]) == {RECOVERS}


def test_rings_never_pay_and_hazard_scales(calm: Scenario) -> None:
    due = FIRST + 4
    assert not pays(calm, due, due, hazard=-1)[0].any()

    def late(hazard: int, scenario: Scenario = calm) -> float:
        counts, paid = pays(scenario, due, due, hazard=hazard)
        on_time = (counts > 0) & (paid[:, 0] <= due)
        return float(1 - on_time.mean())

    assert abs(late(2 * PPM) - late(PPM)) > 0.8 * abs(late(PPM) - late(1))
    shock = Shock(ShockKind.HAZARD, MONTH, MONTH, 2 * PPM)
    worse = replace(calm, macro=replace(calm.macro, shocks=(shock,)))
    assert abs(late(PPM, worse) / late(PPM) - 2) < 0.15


def test_an_outage_of_collection_is_felt(calm: Scenario) -> None:
    outage = Shock(ShockKind.COLLECTION, MONTH, MONTH, PPM // 2)
    worse = replace(calm, macro=replace(calm.macro, shocks=(outage,)))
    oldest = FIRST - 40
    before, after = (pays(each, oldest, -1)[0].mean() for each in (calm, worse))
    assert abs(after / before - 0.5) < 0.05


def test_order_and_threads_decide_nothing(calm: Scenario) -> None:
    due = FIRST + 10
    counts, paid = pays(calm, due, due)
    turned, paid_turned = pays(calm, due, due, loans=LOANS[::-1].copy(), workers=2)
    assert (turned[::-1] == counts).all()
    assert (paid_turned[::-1] == paid).all()


def test_most_who_are_late_are_a_few_days_late() -> None:
    table = days_late()
    assert (table.min(), table.max()) == (1, 30)
    assert (np.diff(table) >= 0).all()
    assert np.median(table) <= 6


@given(
    hazard=st.integers(-1, 30 * PPM), count=st.integers(1, 60), k=st.integers(-2, 61),
    early=st.integers(0, PPM),
)  # fmt: skip
def test_the_hazard_of_a_due_is_what_its_formula_says(
    hazard: int, count: int, k: int, early: int
) -> None:
    """Of any place, also that of a loan whose dues are all paid."""
    expected = hazard
    if hazard >= 0 and count > 1 and early:
        expected = hazard * (PPM + early * (count - 1 - 2 * k) // (count - 1)) // PPM
    assert int(at_due(hazard, k, count, early)) == expected
