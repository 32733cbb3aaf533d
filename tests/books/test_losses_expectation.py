"""The steps of an expected loss and the provision matrix, on worked numbers and in general."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.books.loss_books import assumptions
from usance.base.errors import Problems
from usance.books.losses.errors import CurveError
from usance.books.losses.expectation import (
    adjusted_rate,
    discounted_shortfalls,
    expected_loss,
    loss_rate,
    remaining_losses,
    shortfall,
)
from usance.books.losses.provision_matrices import (
    flow_rates,
    provision_matrix,
    receivable_allowance,
)

amounts = st.integers(0, 10**12)
rates = st.fractions(0, 1)


def test_a_loss_is_exact_whatever_the_numbers_are_written_as() -> None:
    assert expected_loss(3_000_000, Decimal("0.0165")) == 49_500
    assert expected_loss(Decimal("15000000.0"), Decimal("0.003")) == 45_000
    assert expected_loss(1, Fraction(1, 3), Fraction(1, 7)) == Fraction(1, 21)


def test_no_exposure_has_no_loss_rate() -> None:
    assert loss_rate(0, 0) == 0
    assert loss_rate(5, 0) == 0


@given(st.lists(amounts, max_size=20), st.integers(0, 25))
def test_what_has_passed_and_what_remains_is_all(losses: list[int], elapsed: int) -> None:
    assert sum(losses[:elapsed]) + remaining_losses(losses, elapsed) == sum(losses)


@given(st.lists(amounts, max_size=12), st.fractions(0, 2, max_denominator=1000))
def test_discounting_is_the_recursion_back_from_the_end(cash: list[int], rate: Fraction) -> None:
    value = Fraction(0)
    for each in reversed(cash):
        value = (value + each) / (1 + rate)
    assert discounted_shortfalls(cash, rate) == value
    assert discounted_shortfalls(cash, 0) == remaining_losses(cash, 0)


@given(amounts, rates, rates)
def test_a_shortfall_is_the_difference_of_two_losses(base: int, a: Fraction, b: Fraction) -> None:
    assert shortfall(base, a, b) == expected_loss(base, a) - expected_loss(base, b)
    assert adjusted_rate(b, shortfall(1, a, b)) == a


def test_a_matrix_rounds_for_print_alone() -> None:
    matrix = provision_matrix([(2500, Decimal("0.045")), (100, Decimal("0.035"))])
    assert matrix.allowances == (Fraction(225, 2), Fraction(7, 2))
    assert matrix.published == (112, 4)
    assert [matrix.total, matrix.gross] == [116, 2600]


@given(st.lists(st.tuples(amounts, rates), max_size=9))
def test_a_matrix_never_allows_more_than_there_is(rows: list[tuple[int, Fraction]]) -> None:
    matrix = provision_matrix(rows)
    assert 0 <= matrix.total <= matrix.gross == sum(gross for gross, _ in rows)


def test_a_rate_outside_0_to_1_names_its_row() -> None:
    with pytest.raises(CurveError, match=r"provision matrix, row 2: a loss rate of 11/10"):
        provision_matrix([(5, Decimal("0.5")), (5, Decimal("1.1"))])
    with pytest.raises(Problems) as caught:
        provision_matrix([(5, Decimal("-0.5")), (5, 2)])
    assert [error.where for error in caught.value.errors] == [
        "provision matrix, row 1", "provision matrix, row 2",
    ]  # fmt: skip


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=8))
def test_flow_rates_are_the_product_of_the_rolls_from_each_age_on(flows: list[int]) -> None:
    entering = sorted(flows, reverse=True)
    never_paid = entering[-1]
    product, expected = Fraction(1), []
    for here, later in zip(entering[::-1][1:], entering[::-1], strict=False):
        expected.append(product)
        product *= Fraction(later, here)
    expected.append(product)
    assert flow_rates(entering, never_paid) == tuple(reversed(expected))


def test_more_never_paid_than_entered_is_refused() -> None:
    with pytest.raises(CurveError, match=r"row 2: 4 entered and 5 of it was never paid"):
        flow_rates([10, 4], 5)


def test_receivables_without_a_roll_forward_take_the_given_rates() -> None:
    shipped = assumptions().receivable_matrix
    assert receivable_allowance([1000] * 8, shipped).published == (
        3,
        16,
        36,
        66,
        106,
        200,
        500,
        1000,
    )
    rolled = receivable_allowance([300_000, 60_000], (), [100_000, 23_000], 2_000)
    assert rolled.allowances == (Fraction(6_000), Fraction(120_000, 23))
    with pytest.raises(CurveError, match="2 ages and 8 loss rates"):
        receivable_allowance([1, 2], shipped)
