"""IFRS 9 staging: boundaries in days, SICR, and rates by stage that give the target again."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tests.books.loss_books import AS_OF, parameters
from usance.books.losses.stages import has_sicr, stage_of, stage_rates
from usance.books.policies import Policies

exposures = st.tuples(*[st.integers(0, 10**9)] * 3)
weights = st.tuples(st.just(Decimal(1)), *[st.sampled_from([Decimal(1), Decimal(20)])] * 2)


def test_stages_begin_after_the_days_of_the_parameters() -> None:
    policy = Policies.at(AS_OF, parameters()).numbers
    assert [stage_of(days, policy) for days in (0, 30, 31, 90, 91, 200)] == [1, 1, 2, 2, 3, 3]


def test_a_lifetime_rate_times_the_factor_is_a_significant_increase() -> None:
    assert has_sicr(Fraction(4), 2, Decimal(2))
    assert not has_sicr(Fraction(39, 10), 2, Decimal(2))
    assert not has_sicr(Fraction(0), 0, Decimal(2))


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
