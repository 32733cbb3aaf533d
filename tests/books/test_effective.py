"""Effective rates and earned fees of our own loans, against the worked loan and the oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.books.effective_oracle import earned, is_rate
from tests.loan.strategies import own_terms
from usance.base.arrays import u64
from usance.base.dates import from_day, to_day
from usance.base.errors import InputError, Problems
from usance.base.money import half_up
from usance.books.effective_interest.contract import NoEffectiveRate, simple
from usance.books.effective_interest.instruments import at_amortised_cost
from usance.books.effective_interest.loans import (
    Survival,
    effective_rates,
    fees_earned,
    steps_of,
)
from usance.books.kernel.effective import discount, fee_earned, high_product, level_of
from usance.loan.columns import TermColumns
from usance.loan.convention import CONVENTIONS
from usance.loan.exact.plan import schedule
from usance.loan.kernel.batch import plan_at
from usance.loan.terms import Terms

Draw = Callable[[st.SearchStrategy[Any]], Any]

LOAN_B = Terms(
    principal_minor=9_000_00,
    rate_ppm=180_000,
    instalments=6,
    disbursed_on=date(2023, 12, 31),
    first_due_on=date(2024, 1, 31),
    convention=CONVENTIONS["equal_principal_monthly"],
    upfront_fee_minor=63_60,
)
DUE = [row.due_on for row in schedule(LOAN_B)]
WITH_INSTALMENT_4 = Survival.of([[1_000_000, 1_000_000, 1_000_000, 0]])


def fee_of(*loans: Terms) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([loan.upfront_fee_minor for loan in loans], np.int64)


def rate_of(loan: Terms, survival: Survival | None = None) -> int:
    return int(effective_rates(TermColumns.of([loan]), fee_of(loan), survival)[0])


def earned_by(loan: Terms, rate_ppb: int, day: date, survival: Survival | None = None) -> int:
    columns, rates = TermColumns.of([loan]), np.array([rate_ppb])
    return int(fees_earned(columns, fee_of(loan), rates, day, survival)[0])


class TestWorkedLoanB:
    def test_rate_and_fee_of_every_instalment(self) -> None:
        rate = rate_of(LOAN_B)
        assert half_up(rate, 10) == 1_711_183
        cumulative = [0, *(earned_by(LOAN_B, rate, day) for day in DUE)]
        fees = [after - before for before, after in pairwise(cumulative)]
        assert fees == [17_92, 15_06, 12_14, 9_19, 6_18, 3_11]

    def test_accrual_that_stops_inside_a_period(self) -> None:
        assert earned_by(LOAN_B, rate_of(LOAN_B), date(2024, 4, 29)) == 63_60 - 9_60

    def test_expected_to_be_repaid_with_instalment_4(self) -> None:
        rate = rate_of(LOAN_B, WITH_INSTALMENT_4)
        assert half_up(rate, 10) == 1_744_743
        assert earned_by(LOAN_B, rate, date(2024, 3, 31), WITH_INSTALMENT_4) == 52_78

    def test_there_when_nobody_was_expected_keeps_its_contract(self) -> None:
        rate = rate_of(LOAN_B, WITH_INSTALMENT_4)
        for day in DUE[3:]:
            there = earned_by(LOAN_B, rate, day, WITH_INSTALMENT_4)
            assert there == earned_by(LOAN_B, rate, day)

    def test_before_and_after_its_life(self) -> None:
        for survival in (None, WITH_INSTALMENT_4):
            rate = rate_of(LOAN_B, survival)
            days = date(2023, 1, 1), LOAN_B.disbursed_on, DUE[-1], date(2030, 1, 1)
            found = [earned_by(LOAN_B, rate, day, survival) for day in days]
            assert found == [0, 0, 63_60, 63_60]


def test_without_a_fee_the_rate_is_the_agreed_one_and_nothing_is_earned() -> None:
    for name in CONVENTIONS:
        loan = replace(LOAN_B, convention=CONVENTIONS[name], upfront_fee_minor=0, rate_ppm=185_003)
        assert rate_of(loan) == 15_416_917
        assert rate_of(loan, WITH_INSTALMENT_4) == 15_416_917
        assert earned_by(loan, 15_416_917, date(2024, 3, 15), WITH_INSTALMENT_4) == 0


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize("first", [date(2024, 1, 9), date(2024, 1, 31), date(2024, 2, 29)])
def test_a_vanishing_fee_leads_to_the_agreed_rate(name: str, first: date) -> None:
    """A period counts with its length, so an odd first one costs nothing by itself."""
    loan = replace(
        LOAN_B, principal_minor=10**11, convention=CONVENTIONS[name], first_due_on=first,
        upfront_fee_minor=1,
    )  # fmt: skip
    assert abs(rate_of(loan) - 15_000_000) <= 1


def loans() -> st.SearchStrategy[Terms]:
    """Loans with an effective rate: a fee of many times the loan, due in a day, is beyond any."""
    return own_terms().filter(lambda loan: loan.flat_fee_minor <= 100 * loan.principal_minor)


@st.composite
def loans_with_curves(draw: Draw) -> tuple[Terms, list[int]]:
    loan = draw(loans())
    falls = draw(st.lists(st.integers(0, 1_000_000), max_size=loan.instalments + 2))
    return loan, sorted(falls, reverse=True)


@settings(max_examples=300)
@given(loans_with_curves(), st.integers(-3, 500))
def test_any_loan_is_as_the_oracle_has_it(case: tuple[Terms, list[int]], later: int) -> None:
    loan, curve = case
    upfront, day = loan.upfront_fee_minor, to_day(loan.disbursed_on) + later
    for expected in ([], curve):
        survival = Survival.of([expected]) if expected else None
        rate = rate_of(loan, survival)
        if upfront or loan.flat_fee_minor:
            assert is_rate(loan, upfront, rate, expected)
            exact = earned(loan, upfront, rate, from_day(day).toordinal(), expected)
        else:
            exact = earned(replace(loan, upfront_fee_minor=0), 0, rate, 0, expected)
        found = earned_by(loan, rate, from_day(day), survival)
        assert abs(found - exact) < 0.5001
        if abs(exact * 2 % 2 - 1) > 1e-3:  # farther from a half than the kernel's own digits
            assert found == half_up(exact.numerator, exact.denominator)


@given(loans(), st.integers(1, 600))
def test_one_loan_by_the_kernel_is_as_in_a_column(loan: Terms, later: int) -> None:
    columns, day = TermColumns.of([loan]), to_day(loan.disbursed_on) + later
    rate, plan = rate_of(loan), plan_at(columns.arrays, 0)
    alone = fee_earned(plan, level_of(plan), loan.upfront_fee_minor, rate, day)
    assert alone == earned_by(loan, rate, from_day(day))


@settings(max_examples=30)
@given(loans_with_curves())
def test_the_table_of_a_loan_tells_the_same(case: tuple[Terms, list[int]]) -> None:
    loan, curve = case
    columns, upfront = TermColumns.of([loan]), loan.upfront_fee_minor
    held = at_amortised_cost(loan.principal_minor - upfront, steps_of(columns, 0, curve), simple)
    assert held.cost == loan.principal_minor - upfront
    assert sum(period.interest for period in held.table) == sum(
        period.cash for period in held.table
    ) - (loan.principal_minor - upfront)
    if upfront or loan.flat_fee_minor:
        assert held.rate_ppb == rate_of(loan, Survival.of([curve]))


@pytest.mark.parametrize("name", ["level_monthly", "interest_only_daily"])
@pytest.mark.parametrize("instalments", [1, 24, 360])
def test_the_largest_loans_stay_exact(name: str, instalments: int) -> None:
    loan = replace(
        LOAN_B, principal_minor=10**11, rate_ppm=1_000_000, instalments=instalments,
        convention=CONVENTIONS[name], upfront_fee_minor=2 * 10**10,
    )  # fmt: skip
    rate = rate_of(loan)
    assert is_rate(loan, loan.upfront_fee_minor, rate)
    for day in (date(2024, 1, 20), date(2025, 2, 3), date(2049, 11, 17)):
        exact = earned(loan, loan.upfront_fee_minor, rate, day.toordinal())
        assert abs(earned_by(loan, rate, day) - exact) < 0.51


def test_a_column_with_segments_is_each_loan_with_its_curve() -> None:
    loans = [replace(LOAN_B, upfront_fee_minor=fee) for fee in (0, 1, 63_60, 4_000_00)] * 2
    curves = [[1_000_000, 0], [900_000, 900_000, 123_456]]
    segments = [0, 1, 0, 1, 1, 0, 1, 0]
    survival, columns = Survival.of(curves, segments), TermColumns.of(loans)
    rates = effective_rates(columns, fee_of(*loans), survival)
    days = np.array([to_day(DUE[n % 6]) - 9 for n in range(8)], np.int32)
    found = fees_earned(columns, fee_of(*loans), rates, days, survival)
    for row, loan in enumerate(loans):
        alone = Survival.of([curves[segments[row]]])
        assert rates[row] == rate_of(loan, alone)
        assert found[row] == earned_by(loan, int(rates[row]), from_day(int(days[row])), alone)


def test_what_floats_cannot_tell_is_settled_in_fractions() -> None:
    """Ties: 1 fen on 2,000,000.00 for one month is half a ppb above the agreed rate or not."""
    loan = replace(
        LOAN_B, principal_minor=2 * 10**9 + 1, rate_ppm=0, coupon_ppm=0, instalments=1,
        upfront_fee_minor=1,
    )  # fmt: skip
    assert rate_of(loan) == 1
    assert rate_of(replace(loan, principal_minor=2 * 10**9 + 2)) == 0


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_upper_half_of_a_product(a: int, b: int) -> None:
    assert int(high_product(u64(a), u64(b))) == (a * b) >> 64


@given(st.integers(0, 10**13), st.integers(1, 744), st.sampled_from([1, 30, 365]))
def test_discounts_are_exact_to_the_last_bit(rate: int, months: int, parts: int) -> None:
    whole = 10**9 * parts
    assert int(discount(rate, months, parts)) == (whole << 63) // (whole + rate * months)


class TestRefusals:
    columns = TermColumns.of([LOAN_B, LOAN_B])

    def refused(self, **given: Any) -> InputError:
        call = {"upfront_minor": fee_of(LOAN_B, LOAN_B), "rates_ppb": np.zeros(2, np.int64)}
        with pytest.raises(InputError) as error:
            fees_earned(self.columns, **{**call, "as_of": 0, **given})
        return error.value

    @pytest.mark.parametrize("fee", [-1, 9_000_00])
    def test_a_fee_below_zero_or_of_all_the_principal(self, fee: int) -> None:
        error = self.refused(upfront_minor=np.array([0, fee]))
        assert error.where == "loan 1"
        assert error.fix == "Give 0 to 899999"

    def test_columns_that_do_not_fit(self) -> None:
        assert self.refused(upfront_minor=np.zeros(3, np.int64)).where == "upfront_minor"
        assert self.refused(upfront_minor=np.zeros(2)).where == "upfront_minor"
        assert self.refused(rates_ppb=np.zeros(1, np.int64)).where == "rates_ppb"
        assert self.refused(rates_ppb=np.array([0, 10**13 + 1])).where == "loan 1"
        assert self.refused(as_of=np.zeros(2, np.int64)).where == "as_of"
        assert self.refused(out=np.zeros(1, np.int64)).where == "out"

    def test_a_segment_without_a_curve(self) -> None:
        error = self.refused(survival=Survival.of([[1]], [1, 2]))
        assert error.where == "loan 0 (and 1 more)"

    def test_every_wrong_curve_is_named(self) -> None:
        with pytest.raises(Problems) as error:
            Survival.of([[1_000_000, 1_000_001], [5, 4, 3], [7, -1], [9, 10]])
        assert [each.where[-1] for each in error.value.errors] == ["0", "2", "3"]
        assert "10 ppm are there after instalment 2 of 9 before it" in str(error.value)
        with pytest.raises(InputError, match="no table of curves"):
            Survival(np.zeros(3, np.int64))

    def test_a_rate_beyond_all_measure(self) -> None:
        loan = replace(
            LOAN_B, principal_minor=10**9, instalments=1, first_due_on=date(2024, 1, 1),
            convention=CONVENTIONS["level_daily"], upfront_fee_minor=10**9 - 1,
        )  # fmt: skip
        with pytest.raises(NoEffectiveRate, match="loan 0: no effective rate of at most"):
            rate_of(loan)


def test_no_loans_no_rates() -> None:
    none = TermColumns.of([])
    rates = effective_rates(none, np.empty(0, np.int64))
    assert fees_earned(none, np.empty(0, np.int64), rates, 0).tolist() == []
