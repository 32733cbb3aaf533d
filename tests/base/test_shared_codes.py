"""Codes that rooms share: periods, ageing buckets, segments and cells, packed refusals, fields."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.ageing import LAST_BUCKET, ageing_buckets
from usance.base.ageing_kernel import ageing_bucket
from usance.base.codes import FundingModel, Product, Status
from usance.base.errors import DateError, UsanceError
from usance.base.fields import Fields, text, whole
from usance.base.periods import MONTHS, parse_period, period_label, quarter_label
from usance.base.refusals import pack_refusal, unpack_refusal
from usance.base.segments import cell_key, cell_parts, segment_code, segment_codes, segment_model

MONTH = st.integers(-12 * 1969, 12 * 8029)


@given(MONTH, st.sampled_from(sorted(MONTHS.values())))
def test_a_label_is_read_back_as_its_months(month: int, count: int) -> None:
    first = month // count * count
    assert parse_period(period_label(first, count)) == range(first, first + count)


@given(MONTH)
def test_a_quarter_holds_its_month(month: int) -> None:
    assert month in parse_period(quarter_label(month))


@given(MONTH, st.integers(2, 30))
def test_other_months_have_no_label(month: int, count: int) -> None:
    assert bool(period_label(month, count)) == (count in MONTHS.values() and month % count == 0)


@pytest.mark.parametrize("wrong", ["2024Q5", "2024H3", "2024-13", "0000", "24Q1", "2024q1", ""])
def test_what_is_no_period_is_named(wrong: str) -> None:
    with pytest.raises(DateError, match="is no period"):
        parse_period(wrong, where="--period")


@given(st.lists(st.integers(0, 1_000), min_size=1))
def test_buckets_of_one_loan_and_of_many_agree(days: list[int]) -> None:
    found = ageing_buckets(np.array(days)).tolist()
    assert found == [ageing_bucket(each) for each in days]
    assert all(30 * (each - 1) < day <= 30 * each or each == LAST_BUCKET
               for day, each in zip(days, found, strict=True) if day)  # fmt: skip


def test_a_loan_charged_off_is_in_the_last_bucket() -> None:
    status = np.array([int(each) for each in Status])
    assert ageing_buckets(np.zeros(3, np.int64), status).tolist() == [0, 0, LAST_BUCKET]


def test_segments_are_told_apart_and_know_their_model() -> None:
    pairs = [(int(model), int(product)) for model in FundingModel for product in Product]
    codes = [segment_code(*pair) for pair in pairs]
    assert len(set(codes)) == len(codes)
    assert [int(segment_model(code)) for code in codes] == [model for model, _ in pairs]
    model, product = np.array(pairs, np.int8).T
    assert segment_codes({"model": model, "product": product}).tolist() == codes


@given(st.integers(0, 100), st.integers(0, 2**15 - 1), st.integers(0, 2**15 - 1))
def test_a_cell_has_its_parts(model: int, product: int, source: int) -> None:
    key = cell_key(*(np.array([each]) for each in (model, product, source)))
    assert [int(part[0]) for part in cell_parts(key)] == [model, product, source]


@given(st.integers(0, 15), st.integers(0, 10**6))
def test_a_refusal_has_its_code_and_position(code: int, position: int) -> None:
    assert unpack_refusal(pack_refusal(code, position)) == (code, position)


def test_a_mapping_says_whether_it_has_what_is_needed() -> None:
    problems: list[UsanceError] = []
    rows = Fields({"rows": [{"a": 1, "b": "x"}, {"a": "?", "b": "x"}, {"b": "x", "c": 1}, {"a": 2,
                   "b": "x"}]}, str, problems).each("rows")  # fmt: skip
    for row in rows:
        row.need("a", whole)
        row.take("b", text)
        row.close()
    assert [row.has_needed for row in rows] == [True, False, False, True]
    assert rows[0].is_mapping
    assert len(problems) == 3


def test_a_mapping_is_sound_until_a_problem_comes_after_its_first_key() -> None:
    problems: list[UsanceError] = []
    first, second = (Fields({"a": 1, "z": 2}, str, problems) for _ in range(2))
    first.need("a", whole)
    assert first.is_sound
    first.close()
    second.need("a", whole)
    assert (first.is_sound, second.is_sound) == (False, True)
    assert not Fields("no mapping", str, problems).is_sound
