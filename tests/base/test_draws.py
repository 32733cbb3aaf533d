"""Random numbers: the vectors of the contract, and kernel = plain Python on any input."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.draws import counter, draw, happens, mix, threshold
from usance.base.draws_kernel import draw_kernel, happens_kernel, mix_kernel
from usance.base.errors import RateError

SMALL = st.integers(0, 2**63 - 1)

VECTORS = [
    ((0, 0, 0, 0), 0x2130748AAAC80268),
    ((1, 2, 3, 4), 0x3A095BF2044D24FA),
    ((20240630, 7, 16385, 167168), 0xB6F28E901CA806A0),
]


@pytest.mark.parametrize(("arguments", "expected"), VECTORS)
def test_vectors(arguments: tuple[int, int, int, int], expected: int) -> None:
    assert draw(*arguments) == expected
    assert int(draw_kernel(*arguments)) == expected


def test_the_counter_of_the_third_vector_is_june_2024() -> None:
    assert counter(653, 0) == 167168
    assert counter(653, 255) + 1 == counter(654, 0)


def test_mix_is_the_splitmix64_finaliser() -> None:
    # The first outputs of splitmix64 seeded with 0, as its authors publish them.
    golden = 0x9E3779B97F4A7C15
    assert mix(golden) == 0xE220A8397B1DCDAF
    assert mix(2 * golden % 2**64) == 0x6E789E6AA1B965F4
    assert mix(3 * golden % 2**64) == 0x06C45D188009454F


@given(SMALL, SMALL, SMALL, SMALL)
def test_kernel_equals_python(seed: int, stream: int, entity: int, count: int) -> None:
    expected = draw(seed, stream, entity, count)
    assert int(draw_kernel(seed, stream, entity, count)) == expected
    assert int(mix_kernel(np.uint64(expected))) == mix(expected)


@given(SMALL, st.fractions(0, 1))
def test_an_event_happens_as_integers_compare(seed: int, probability: Fraction) -> None:
    drawn = draw(seed, 0, 0, 0)
    limit = threshold(probability)
    assert happens(drawn, limit) == (drawn >> 11 < round(probability * 2**53))
    assert bool(happens_kernel(np.uint64(drawn), limit)) == happens(drawn, limit)


def test_certain_and_impossible() -> None:
    assert happens(2**64 - 1, threshold("1"))
    assert not happens(0, threshold(Decimal(0)))


def test_draws_are_spread_evenly() -> None:
    hits = sum(happens(draw(1, 0, entity, 0), threshold("0.3")) for entity in range(20_000))
    assert 5_800 < hits < 6_200


@pytest.mark.parametrize("probability", ["1.1", "-0.1"])
def test_no_probability(probability: str) -> None:
    with pytest.raises(RateError, match="between 0 and 1"):
        threshold(probability)
