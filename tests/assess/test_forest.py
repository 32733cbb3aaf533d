"""The trees in one kernel: the bits of LightGBM's own answer, on anything a row can hold."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.assess.errors import ModelError
from usance.assess.scoring.forest import Forest
from usance.assess.training.trees import summed_boosters

WIDTH = 4


def grown(seed: int, rounds: int, leaves: int, **more: Any) -> Any:
    """A booster over two numbers with gaps and two categories."""
    draw = np.random.default_rng(seed)
    inputs = np.column_stack(
        [draw.normal(size=600), draw.normal(size=600), draw.integers(0, 70, 600),
         draw.integers(0, 3, 600)]
    ).astype(np.float64)  # fmt: skip
    inputs[draw.random((600, WIDTH)) < 0.1] = np.nan
    risk = np.nan_to_num(inputs[:, 0]) + (np.nan_to_num(inputs[:, 2]) % 7 == 0)
    bad = (draw.random(600) < 1 / (1 + np.exp(-risk))).astype(float)
    options = {"objective": "binary", "num_leaves": leaves, "verbose": -1, "seed": seed,
               "min_data_in_leaf": 5, "min_data_per_group": 5, "num_threads": 1}  # fmt: skip
    data = lightgbm.Dataset(inputs, bad, categorical_feature=[2, 3], params={"verbose": -1})
    return lightgbm.train({**options, **more}, data, rounds)


NUMBERS = st.one_of(
    st.just(float("nan")), st.floats(-4, 4), st.sampled_from([0.0, -0.0, 1e-40, -1e300, 1e300])
)
CODES = st.one_of(
    st.just(float("nan")), st.integers(-3, 140).map(float), st.sampled_from([1e9, -1e9])
)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, CODES, CODES), min_size=1, max_size=300)
TEXT = summed_boosters([(0.7, grown(1, 30, 31)), (-0.2, grown(2, 9, 4)), (0.5, grown(3, 12, 8))])


@settings(deadline=None)
@given(ROWS)
def test_the_sum_of_leaves_is_lightgbms_to_the_last_bit(rows: list[tuple[float, ...]]) -> None:
    inputs = np.array(rows, np.float64)
    booster = lightgbm.Booster(model_str=TEXT)
    expected = np.array(booster.predict(inputs, raw_score=True, num_threads=1))
    assert Forest.read(TEXT).sums(inputs).tolist() == expected.tolist()


def test_trees_without_a_split_and_no_trees_at_all() -> None:
    stump = grown(1, 3, 31, min_data_in_leaf=600)
    inputs = np.zeros((5, WIDTH))
    expected = np.array(stump.predict(inputs, raw_score=True))
    assert Forest.read(summed_boosters([(1.0, stump)])).sums(inputs).tolist() == expected.tolist()
    assert Forest.read("end of trees\n").sums(inputs).tolist() == [0.0] * 5


def test_pieces_do_not_matter() -> None:
    inputs = np.random.default_rng(3).normal(size=(5_000, WIDTH))
    forest = Forest.read(TEXT)
    assert forest.sums(inputs).tolist() == [
        *forest.sums(inputs[:1234]).tolist(), *forest.sums(inputs[1234:]).tolist()
    ]  # fmt: skip


def test_zeros_that_stand_for_missing_are_refused() -> None:
    text = summed_boosters([(1.0, grown(1, 3, 8, zero_as_missing=True))])
    with pytest.raises(ModelError, match="zeros stand for missing"):
        Forest.read(text)
