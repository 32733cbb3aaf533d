"""Day counts: published example periods, and each rule against a slower statement of itself."""

from __future__ import annotations

from calendar import isleap
from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.dates import add_months
from usance.base.daycount import DayCount, year_fraction
from usance.base.errors import CodeError, DateError

DATES = st.dates(date(1990, 1, 1), date(2060, 12, 31))

# Days of the 30/360 family by rule: bond basis, US with February, Eurobond, ISDA's German form.
THIRTY = [
    ("2007-01-15", "2007-01-30", 15, 15, 15, 15),
    ("2007-01-15", "2007-02-15", 30, 30, 30, 30),
    ("2007-01-15", "2007-07-15", 180, 180, 180, 180),
    ("2007-09-30", "2008-03-31", 180, 180, 180, 180),
    ("2007-09-30", "2007-10-31", 30, 30, 30, 30),
    ("2007-01-15", "2007-01-31", 16, 16, 15, 15),
    ("2007-01-31", "2007-02-28", 28, 28, 28, 30),
    ("2007-02-28", "2007-03-31", 33, 30, 32, 30),
    ("2006-08-31", "2007-02-28", 178, 178, 178, 180),
    ("2007-02-28", "2007-08-31", 183, 180, 182, 180),
    ("2007-02-14", "2007-02-28", 14, 14, 14, 16),
    ("2007-02-26", "2008-02-29", 363, 363, 363, 364),
    ("2008-02-29", "2009-02-28", 359, 360, 359, 360),
    ("2008-02-29", "2008-03-30", 31, 30, 31, 30),
    ("2008-02-29", "2008-03-31", 32, 30, 31, 30),
]
FAMILY = [
    DayCount.THIRTY_360,
    DayCount.THIRTY_U_360,
    DayCount.THIRTY_E_360,
    DayCount.THIRTY_E_360_ISDA,
]

# Periods of the market's actual/actual memorandum: ISDA as days of (365, 366), AFB as (days, base).
ACTUAL = [
    ("2003-11-01", "2004-05-01", (61, 121), (182, 366)),
    ("1999-02-01", "1999-07-01", (150, 0), (150, 365)),
    ("1999-07-01", "2000-07-01", (184, 182), (366, 366)),
    ("2002-08-15", "2003-07-15", (334, 0), (334, 365)),
    ("2003-07-15", "2004-01-15", (170, 14), (184, 365)),
    ("1999-07-30", "2000-01-30", (155, 29), (184, 365)),
    ("2000-01-30", "2000-06-30", (0, 152), (152, 366)),
]


@pytest.mark.parametrize("row", THIRTY)
def test_the_30_360_family(row: tuple[str, str, int, int, int, int]) -> None:
    start, end = date.fromisoformat(row[0]), date.fromisoformat(row[1])
    for rule, days in zip(FAMILY, row[2:], strict=True):
        assert year_fraction(start, end, rule) == Fraction(days, 360), rule


def test_the_contracts_end_in_february_is_not_stretched() -> None:
    start, end = date(2008, 2, 29), date(2009, 2, 28)
    rule = DayCount.THIRTY_E_360_ISDA
    assert year_fraction(start, end, rule, termination=end) == Fraction(358, 360)


@pytest.mark.parametrize("row", ACTUAL)
def test_actual_actual(row: tuple[str, str, tuple[int, int], tuple[int, int]]) -> None:
    start, end = date.fromisoformat(row[0]), date.fromisoformat(row[1])
    isda = Fraction(row[2][0], 365) + Fraction(row[2][1], 366)
    assert year_fraction(start, end, DayCount.ACT_ACT_ISDA) == isda
    assert year_fraction(start, end, DayCount.ACT_ACT_AFB) == Fraction(*row[3])


def test_afb_counts_whole_years_back_from_the_end() -> None:
    rule = DayCount.ACT_ACT_AFB
    assert year_fraction(date(2000, 2, 29), date(2005, 2, 28), rule) == 4 + Fraction(366, 366)
    assert year_fraction(date(2004, 2, 28), date(2008, 2, 28), rule) == 4
    assert year_fraction(date(2003, 1, 1), date(2004, 3, 1), rule) == 1 + Fraction(59, 365)
    assert year_fraction(date(2004, 2, 29), date(2004, 8, 29), rule) == Fraction(182, 366)
    assert year_fraction(date(2003, 8, 29), date(2004, 2, 29), rule) == Fraction(184, 365)


@given(DATES, st.integers(0, 3000))
def test_isda_is_the_sum_over_days(start: date, days: int) -> None:
    in_leap = sum(isleap((start + timedelta(days=n)).year) for n in range(days))
    expected = Fraction(in_leap, 366) + Fraction(days - in_leap, 365)
    assert year_fraction(start, start + timedelta(days=days), DayCount.ACT_ACT_ISDA) == expected


@given(DATES, st.integers(0, 10_000))
def test_fixed_bases_are_days_over_the_base(start: date, days: int) -> None:
    end = start + timedelta(days=days)
    for rule, base in (
        (DayCount.ACT_360, 360),
        (DayCount.ACT_364, 364),
        (DayCount.ACT_365, 365),
    ):
        assert year_fraction(start, end, rule) * base == days


@given(DATES, st.integers(0, 400))
def test_whole_months_are_twelfths(start: date, months: int) -> None:
    end = add_months(start, months)
    assert year_fraction(start, end, DayCount.MONTHLY) == Fraction(months, 12)


@given(DATES, st.integers(0, 3000), st.sampled_from(DayCount))
def test_no_rule_runs_backwards(start: date, days: int, rule: DayCount) -> None:
    near, far = start + timedelta(days=days), start + timedelta(days=days + 40)
    assert 0 <= year_fraction(start, near, rule) < year_fraction(start, far, rule)
    assert abs(year_fraction(start, near, rule) - Fraction(days, 365)) < Fraction(days, 60) + 1


def test_monthly_counts_days_left_over() -> None:
    rule = DayCount.MONTHLY
    assert year_fraction(date(2024, 1, 31), date(2024, 3, 1), rule) == Fraction(31, 360)
    assert year_fraction(date(2024, 2, 29), date(2024, 3, 31), rule) == Fraction(30, 360)
    assert year_fraction(date(2024, 1, 15), date(2024, 2, 14), rule) == Fraction(30, 360)


@pytest.mark.parametrize("rule", DayCount)
def test_dates_in_the_wrong_order_are_refused(rule: DayCount) -> None:
    with pytest.raises(DateError, match="earlier date first"):
        year_fraction(date(2024, 2, 1), date(2024, 1, 1), rule)
    assert year_fraction(date(2024, 2, 1), date(2024, 2, 1), rule) == 0


def test_names_read_back_and_unknown_ones_do_not() -> None:
    assert all(DayCount.parse(rule.value) is rule for rule in DayCount)
    with pytest.raises(CodeError, match="Did you mean 'actual/360'"):
        DayCount.parse("actual360")
