"""Draws on columns are the draws of the contract, and shapes give what they promise."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from usance.base.draws import CERTAIN, draw
from usance.base.rates import PPM
from usance.world.distributions import (
    STEPS,
    Choice,
    happened,
    log_normal,
    log_normal_median,
    ppm_of,
    step_of,
    threshold_ppm,
    within,
)
from usance.world.draw_kernel import draws
from usance.world.streams import Stream

NUMBERS = st.integers(0, 2**52)


@given(NUMBERS, st.sampled_from(list(Stream)), st.lists(NUMBERS, min_size=1, max_size=9), NUMBERS)
def test_columns_are_single_draws(seed: int, stream: Stream, ids: list[int], at: int) -> None:
    expected = [draw(seed, int(stream), each, at) for each in ids]
    assert draws(seed, stream, ids, at).tolist() == expected
    counters = [at + n for n in range(len(ids))]
    each = [draw(seed, int(stream), one, n) for one, n in zip(ids, counters, strict=True)]
    assert draws(seed, stream, ids, counters).tolist() == each


def test_streams_keep_their_numbers() -> None:
    """Only ever appended to: another number would be another world."""
    assert [int(each) for each in Stream] == list(range(1, 22))
    assert (Stream.HAZARD, Stream.PAYMENT, Stream.DUPLICATE, Stream.LIFE) == (1, 11, 16, 19)


def test_chances_are_kept() -> None:
    drawn = draws(1, Stream.REGION, np.arange(200_000))
    assert abs(happened(drawn, threshold_ppm(250_000)).mean() - 0.25) < 0.004
    assert not happened(drawn, threshold_ppm(0)).any()
    assert happened(drawn, threshold_ppm(PPM)).all()
    assert threshold_ppm(2 * PPM) == CERTAIN


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=8).filter(any))
def test_a_choice_never_takes_what_has_no_weight(weights: list[int]) -> None:
    choice = Choice.of(dict(enumerate(weights)))
    drawn = draws(3, Stream.CHANNEL, np.arange(4_000))
    taken, counts = np.unique(choice.of_draws(drawn), return_counts=True)
    for value, count in zip(taken, counts, strict=True):
        share = weights[value] / sum(weights)
        assert abs(count / 4_000 - share) < 5 * (share * (1 - share) / 4_000) ** 0.5 + 1e-3
        assert weights[value] > 0


def test_every_quantile_is_reached() -> None:
    drawn = draws(5, Stream.HAZARD, np.arange(100_000))
    assert np.unique(step_of(drawn)).size == STEPS
    assert abs(log_normal(600_000)[step_of(drawn)].mean() / PPM - 1) < 0.01
    assert abs(np.median(log_normal_median(600_000)[step_of(drawn)]) / PPM - 1) < 0.02
    assert (ppm_of(drawn).min(), ppm_of(drawn).max() < PPM) == (ppm_of(drawn).min(), True)
    assert set(within(drawn, 7).tolist()) == set(range(7))
