"""A column of rates is, row by row, what the single-loan function gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from usance.base.errors import AmountError
from usance.loan.rates.annual import RateBasis, irr_by_periods
from usance.loan.rates.columns import effective_rates_ppb, nominal_rates_ppb
from usance.loan.rates.equation import RateNotFound, RateNotUnique

COLUMNS = {
    RateBasis.NOMINAL_MONTHLY: nominal_rates_ppb,
    RateBasis.EFFECTIVE: effective_rates_ppb,
}


def book(seed: int, loans: int, instalments: int) -> NDArray[np.int64]:
    """Level loans of many sizes and prices, some below zero, with payments shaken a little."""
    draw = np.random.default_rng(seed)
    principal = draw.integers(100_00, 50_000_00, loans)
    rate = draw.uniform(-0.05, 0.6, loans) / 12 + 1e-9
    level = principal * rate / (1 - (1 + rate) ** -instalments)
    table = -np.rint(level[:, None] * draw.uniform(0.9, 1.1, (loans, instalments)))
    return np.column_stack([principal, table]).astype(np.int64)


@pytest.mark.parametrize("basis", COLUMNS)
@pytest.mark.parametrize("instalments", [1, 3, 12, 36])
def test_column_equals_single_loans(basis: RateBasis, instalments: int) -> None:
    table = book(instalments, 300, instalments)
    singles = [irr_by_periods(row, 12, basis) for row in table.tolist()]
    assert COLUMNS[basis](table).tolist() == singles


AMOUNTS = st.lists(st.integers(-(10**7), 0), min_size=1, max_size=14)


@given(
    principal=st.integers(1, 10**7),
    later=AMOUNTS,
    last=st.integers(1, 10**8),
    per_year=st.sampled_from([1, 12, 52]),
    basis=st.sampled_from(list(COLUMNS)),
)
def test_any_loan_in_a_column_is_as_alone(
    principal: int, later: list[int], last: int, per_year: int, basis: RateBasis
) -> None:
    amounts = [principal, *later, -last]
    try:
        alone = irr_by_periods(amounts, per_year, basis)
    except RateNotFound:
        with pytest.raises(RateNotFound, match="row 0"):
            COLUMNS[basis](np.array([amounts]), None, per_year)
    else:
        assert COLUMNS[basis](np.array([amounts]), None, per_year).tolist() == [alone]


def test_ties_and_extremes_are_decided_exactly() -> None:
    rows = [
        [2 * 10**9, -(2 * 10**9 + 1)],
        [2 * 10**9, -(2 * 10**9 - 1)],
        [10**9, -1],
        [1, -(10**9)],
        [2**62, -(2**62)],
        [4 * 10**9, -2],  # half a ppb above -100 %
        [4 * 10**9, -6],
        [4 * 10**9, -7],
    ]
    expected = [1, -1, -999_999_999, 999_999_999_000_000_000, 0]
    expected += [-1_000_000_000, -999_999_999, -999_999_998]
    assert nominal_rates_ppb(np.array(rows), per_year=1).tolist() == expected


def test_next_to_minus_one_hundred_per_cent_floats_are_not_trusted() -> None:
    """Half a ppb, less or more a hair that 1 + rate cannot hold in a float."""
    rows = [
        [8 * 10**15, -(8 * 10**6 * k + 4 * 10**6 + hair)] for k in range(30) for hair in (-1, 1)
    ]
    expected = [irr_by_periods(row, 1) for row in rows]
    assert expected[:2] == [-1_000_000_000, -999_999_999]
    assert nominal_rates_ppb(np.array(rows), per_year=1).tolist() == expected


def test_ragged_loans_come_with_offsets() -> None:
    flat = np.array([100_00, -112_00, 1000_00, -510_00, -520_20], np.int64)
    offsets = np.array([0, 2, 5])
    assert nominal_rates_ppb(flat, offsets).tolist() == [1_440_000_000, 240_000_000]


def test_several_advances_are_solved_too() -> None:
    table = np.array([[500_00, 500_00, -350_00, -350_00, -350_00], [1000, -100, 1000, -100, -2200]])
    expected = [irr_by_periods(row) for row in table.tolist()]
    assert nominal_rates_ppb(table).tolist() == expected


def test_pieces_of_work_do_not_show() -> None:
    table = np.tile(book(1, 500, 3), (200, 1))  # more rows than one piece
    rates = nominal_rates_ppb(table)
    assert (rates.reshape(200, 500) == rates[:500]).all()


def test_an_empty_column_has_no_rates() -> None:
    assert nominal_rates_ppb(np.empty((0, 13), np.int64)).tolist() == []
    assert nominal_rates_ppb(np.empty(0, np.int64), np.array([0])).tolist() == []


@pytest.mark.parametrize(
    ("row", "error"),
    [([100, 0], RateNotFound), ([-100, 112], RateNotFound), ([1000, -2300, 1320], RateNotUnique)],
)
def test_a_row_without_a_rate_is_named(row: list[int], error: type[RateNotFound]) -> None:
    good = [100, *[-112] * (len(row) - 1)]
    with pytest.raises(error, match="row 1"):
        nominal_rates_ppb(np.array([good, row]))


@pytest.mark.parametrize(
    ("amounts", "offsets"),
    [
        (np.array([[1.0, -1.0]]), None),
        (np.array([1, -1]), None),
        (np.array([1, -1]), np.array([0, 1])),
        (np.array([1, -1]), np.array([1, 2])),
        (np.array([1, -1]), np.array([0, 2, 1, 2])),
        (np.array([1, -1]), np.array([], np.int64)),
        (np.array([[1, -1]]), np.array([0, 2])),
    ],
)
def test_columns_that_are_none(amounts: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
    with pytest.raises(AmountError):
        nominal_rates_ppb(amounts, offsets)
