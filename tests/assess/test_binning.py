"""The bins are the best there are: compared with every way to cut."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.assess.training.scorecard_fit import cut, level_groups, number_cuts, short_between

COUNTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=8)


def worth(bins: list[tuple[int, int]], trend: int, least: int, price: float) -> float:
    """The value of one way to cut, term by term; −inf if it is not allowed."""
    total = 0.0
    for good, bad in bins:
        if good + bad < least:
            return -inf
        total -= price
        for part in (good, bad):
            total += part * log(part / (good + bad)) if part else 0.0
    rates = [bad / (good + bad) if good + bad else 0.0 for good, bad in bins]
    steps = [trend * (after - before) for before, after in pairwise(rates)]
    return total if all(step >= 0 for step in steps) else -inf


def joined(counts: list[tuple[int, int]], cuts: tuple[int, ...]) -> list[tuple[int, int]]:
    edges = [0, *cuts, len(counts)]
    return [
        (sum(good for good, _ in counts[low:high]), sum(bad for _, bad in counts[low:high]))
        for low, high in pairwise(edges)
    ]


@given(COUNTS, st.sampled_from([1, -1]), st.integers(0, 30), st.sampled_from([0.0, 0.5, 1.5, 4.0]))
def test_no_way_to_cut_is_better(
    counts: list[tuple[int, int]], trend: int, least: int, price: float
) -> None:
    goods, bads = np.array(counts).T
    found = worth(
        joined(counts, cut(goods, bads, trend=trend, least=least, price=price)), trend, least, price
    )
    inner = range(1, len(counts))
    ways = (way for size in range(len(counts)) for way in combinations(inner, size))
    best = max(worth(joined(counts, way), trend, least, price) for way in ways)
    if best == -inf:
        assert cut(goods, bads, trend=trend, least=least, price=price) == ()
    else:
        assert found == pytest.approx(best, abs=1e-9)


@given(COUNTS)
def test_without_a_declared_trend_the_better_is_taken(counts: list[tuple[int, int]]) -> None:
    goods, bads = np.array(counts).T
    free = cut(goods, bads, trend=0, least=5, price=1.0)
    ways = [cut(goods, bads, trend=trend, least=5, price=1.0) for trend in (1, -1)]
    values = [
        worth(joined(counts, way), trend, 5, 1.0) for way, trend in zip(ways, (1, -1), strict=True)
    ]
    assert free == ways[int(values[1] > values[0] + 1e-12)] or values[0] == pytest.approx(values[1])


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=1, max_size=12))
def test_levels_of_a_group_lie_together(levels: list[tuple[int, int]]) -> None:
    rows = [good + bad for good, bad in levels]
    bads = [bad for _, bad in levels]
    groups = level_groups(rows, bads)
    rates = sorted((bad / row, group) for bad, row, group in zip(bads, rows, groups, strict=True))
    for (low, before), (high, after) in pairwise(rates):
        assert before <= after or low == high


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.booleans()), min_size=2, max_size=300),
    st.sampled_from([1, -1]),
)
def test_numbers_keep_the_declared_trend(rows: list[tuple[int, bool]], trend: int) -> None:
    values = np.array([float(value) for value, _ in rows])
    bad = np.array([float(outcome) for _, outcome in rows])
    cuts = number_cuts(values, bad, trend=trend, least=5, price=0.5)
    place = np.searchsorted(np.array(cuts), values, side="right")
    rates = [bad[place == each].mean() for each in range(len(cuts) + 1)]
    assert all(trend * (after - before) >= 0 for before, after in pairwise(rates))


NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


@given(NUMBERS, NUMBERS)
def test_a_short_cut_lies_between(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low < high:
        assert low < short_between(low, high) <= high


def test_a_number_with_many_values_is_cut_at_quantiles() -> None:
    values = np.arange(10_000, dtype=np.float64)
    bad = (values >= 7_000).astype(np.float64)
    edges = number_cuts(values, bad, trend=0, least=100)
    assert len(edges) == 2  # the fine bin in which the change lies stays by itself
    assert all(abs(edge - 7_000) <= 10_000 / 64 for edge in edges)
