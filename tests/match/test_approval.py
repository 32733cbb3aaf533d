"""Approval rates learned from answers, against fractions worked out answer by answer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.codes import RoutingOutcome
from usance.base.errors import Problems
from usance.match.errors import ApprovalError
from usance.match.router.approval import ApprovalAnswers, ApprovalRates, estimate_approval_rates

STATED = {3: 800_000, 7: 500_000}
Row = tuple[int, int, int, int]
rows_of_answers = st.lists(
    st.tuples(
        st.sampled_from([3, 7, 9]),  # 9 states no rate
        st.integers(0, 2),
        st.sampled_from([int(outcome) for outcome in RoutingOutcome]),
        st.integers(0, 110),
    ),
    max_size=40,
)


def answers(rows: Sequence[Row]) -> ApprovalAnswers:
    source, grade, outcome, day = np.array(rows, np.int64).reshape(-1, 4).T
    return ApprovalAnswers(source, grade, outcome, day, np.ones(len(rows), np.int64))


def estimate(
    rows: Sequence[Row], half_life_days: int = 10, prior_answers: int = 5
) -> ApprovalRates:
    return estimate_approval_rates(
        answers(rows),
        STATED,
        grades=3,
        on=100,
        half_life_days=half_life_days,
        prior_answers=prior_answers,
    )


@given(rows_of_answers)
def test_rates_are_those_of_every_answer_weighed_by_itself(rows: list[Row]) -> None:
    estimated = estimate(rows)
    for source, stated in STATED.items():
        for grade in range(3):
            yes, asked = Fraction(5 * stated, 1_000_000), Fraction(5)
            for each, band, outcome, day in rows:
                if (each, band) == (source, grade) and day <= 100 and outcome in (1, 2, 3):
                    weight = Fraction(0.5 ** ((100 - day) / 10))
                    asked += weight
                    yes += weight * (outcome == 1)
            assert abs(estimated.rate_ppm[source][grade] - yes / asked * 1_000_000) <= 11


@given(rows_of_answers, st.randoms(use_true_random=False))
def test_the_order_of_answers_does_not_matter(rows: list[Row], random: Random) -> None:
    mixed = list(rows)
    random.shuffle(mixed)
    one, other = estimate(rows), estimate(mixed)
    for source in STATED:
        assert one.rate_ppm[source].tolist() == other.rate_ppm[source].tolist()
        assert one.asked_ppm[source].tolist() == other.asked_ppm[source].tolist()


@given(rows_of_answers)
def test_a_row_may_stand_for_several_answers(rows: list[Row]) -> None:
    told = answers([*rows, (3, 1, 1, 100)])
    times = 1 + np.arange(len(told.day)) % 3
    many = ApprovalAnswers(*(np.repeat(each, times) for each in told))
    one, other = (
        estimate_approval_rates(each, STATED, grades=3, on=100)
        for each in (told._replace(times=times), many)
    )
    for source in STATED:
        assert one.rate_ppm[source].tolist() == other.rate_ppm[source].tolist()
    with pytest.raises(ApprovalError, match="row 0 stands for -1 answers"):
        estimate_approval_rates(told._replace(times=-times), STATED, grades=3, on=100)


def test_without_answers_the_stated_rate_stands() -> None:
    estimated = estimate([])
    assert {source: rates.tolist() for source, rates in estimated.rate_ppm.items()} == {
        source: [stated] * 3 for source, stated in STATED.items()
    }


def test_many_answers_outweigh_what_was_stated() -> None:
    rows = [(3, 1, int(RoutingOutcome.APPROVED if n % 5 == 0 else 2), 100) for n in range(5000)]
    estimated = estimate(rows)
    assert abs(estimated.rate_ppm[3][1] - 200_000) < 1000
    assert estimated.rate_ppm[3][0] == STATED[3]


def test_a_drop_is_seen_after_a_half_life() -> None:
    """A hundred days of yes, then ten of no: half of the old weight is left beside the new."""
    rows = [(3, 0, 1, day) for day in range(91)] + [(3, 0, 2, day) for day in range(91, 101)]
    quick, slow = estimate(rows, half_life_days=10), estimate(rows, half_life_days=1000)
    assert quick.rate_ppm[3][0] < 600_000 < 850_000 < slow.rate_ppm[3][0]


def test_silence_is_no_and_what_was_withdrawn_is_nothing() -> None:
    outcomes = {
        RoutingOutcome.APPROVED: 666_667, RoutingOutcome.DECLINED: 333_333,
        RoutingOutcome.TIMED_OUT: 333_333, RoutingOutcome.RESERVED: 500_000,
        RoutingOutcome.RELEASED: 500_000, RoutingOutcome.NO_SOURCE: 500_000,
    }  # fmt: skip
    for outcome, rate in outcomes.items():
        rows = [(7, 0, int(outcome), 100)] * 5
        assert estimate(rows, prior_answers=10).rate_ppm[7][0] == rate


def test_answers_of_ages_ago_and_of_tomorrow_say_nothing() -> None:
    estimated = estimate([(7, 0, 1, -1_000_000), (7, 0, 1, 101)])
    assert estimated.rate_ppm[7][0] == STATED[7]


def test_every_problem_is_named() -> None:
    with pytest.raises(Problems) as caught:
        estimate_approval_rates(
            answers([(3, 5, 1, 1)]),
            {3: -1, 7: 1_000_001},
            grades=3,
            on=9,
            half_life_days=0,
            prior_answers=1,
        )
    assert [error.what for error in caught.value.errors] == [
        "source 3 states a rate of -1 ppm",
        "source 7 states a rate of 1000001 ppm",
        "half-life of 0 days, lean of 1",
        "row 0 has grade 5",
    ]
    with pytest.raises(ApprovalError, match="lean of 0"):
        estimate([], prior_answers=0)
