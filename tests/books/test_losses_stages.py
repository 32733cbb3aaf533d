"""IFRS 9 stages: the same boundaries as the kernel's, and rates that give the target again."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.books.loss_books import AS_OF, parameters
from usance.books.kernel.policy_layout import STAGE_2, STAGE_3, stage_of
from usance.books.losses.stages import is_raised, stage_rates, stages
from usance.books.policies import Policies

exposures = st.tuples(*[st.integers(0, 10**9)] * 3)
weights = st.tuples(st.just(Decimal(1)), *[st.sampled_from([Decimal(1), Decimal(20)])] * 2)


def test_stages_begin_where_the_kernel_says() -> None:
    numbers = Policies.at(AS_OF, parameters()).numbers
    days = np.arange(-1, 200)
    found = stages(days, backstop=int(numbers[STAGE_2]), impaired=int(numbers[STAGE_3]))
    assert found.tolist() == [stage_of(int(day), numbers) for day in days]
    assert [int(np.argmax(found == stage)) - 1 for stage in (1, 2)] == [31, 91]


def test_risen_risk_is_stage_2_before_any_day_is_missed() -> None:
    days, raised = np.array([0, 0, 31, 91]), np.array([False, True, True, True])
    assert stages(days, raised, backstop=30, impaired=90).tolist() == [0, 1, 1, 2]
    assert is_raised(Fraction(4), 2, Decimal(2))
    assert not is_raised(Fraction(39, 10), 2, Decimal(2))
    assert not is_raised(Fraction(0), 0, Decimal(2))


@given(exposures, weights, st.fractions(0, 1, max_denominator=10**6))
def test_rates_by_stage_give_the_target_again(
    exposure: tuple[int, ...], weight: tuple[Decimal, ...], part: Fraction
) -> None:
    highest = Fraction(1015, 1000)
    target = part * highest * sum(exposure)
    rates = stage_rates(target, exposure, weight, highest)
    assert sum(rate * each for rate, each in zip(rates, exposure, strict=True)) == target
    assert all(0 <= rate <= highest for rate in rates)


@given(exposures, st.fractions(0, 1, max_denominator=10**6))
def test_equal_weights_give_every_stage_the_pools_one_rate(
    exposure: tuple[int, ...], rate: Fraction
) -> None:
    found = stage_rates(rate * sum(exposure), exposure, [Decimal(1)] * 3, Fraction(1))
    assert all(f == rate for f, each in zip(found, exposure, strict=True) if each)
