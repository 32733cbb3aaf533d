"""Unit-periods of Regulation Z: which one a transaction has, and how dates count in it."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.dates import add_days, add_months
from usance.base.errors import CodeError
from usance.loan.rates.equation import RateNotFound
from usance.loan.rates.month_counts import anchor_of, months_back, months_before, whole_months
from usance.loan.rates.unit_periods import Unit, UnitPeriod, choose_unit_period

START = date(2023, 1, 10)


def every(months: int, count: int) -> list[date]:
    return [add_months(START, months * k) for k in range(1, count + 1)]


def every_days(days: int, count: int) -> list[date]:
    return [add_days(START, days * k) for k in range(1, count + 1)]


@pytest.mark.parametrize(
    ("payments", "unit", "per_year"),
    [
        (every(1, 12), "1 month", 12),
        (every(2, 6), "2 months", 6),
        (every(3, 4), "3 months", 4),
        (every(12, 5), "1 year", 1),
        (every_days(1, 30), "1 day", 365),
        (every_days(7, 30), "1 week", 52),
        (every_days(14, 30), "2 weeks", 26),
        (every_days(28, 13), "4 weeks", 13),
        (every_days(10, 9), "10 days", Fraction(73, 2)),
        ([date(2023, m, d) for m in (2, 3, 4, 5) for d in (1, 16)], "1/2 month", 24),
        ([date(2023, m, d) for m in (2, 3, 4) for d in (15, 28)], "1/2 month", 24),
        # Two of each: the shorter one.
        ([*every(1, 2), add_months(START, 5), add_months(START, 8)], "1 month", 12),
        # No interval twice: the average, to the nearest whole month, the lower of two.
        ([add_months(START, 2), add_months(START, 6)], "3 months", 4),
        ([add_months(START, 2), add_months(START, 5)], "2 months", 6),
        # No interval twice and none of whole months: (5 + 11) / 2 days is nearest to a week.
        ([add_days(START, 5), add_days(START, 16)], "1 week", 52),
        ([add_days(START, 20), add_days(START, 61)], "1 month", 12),
        # Only intervals above a year.
        ([add_months(START, 24), add_months(START, 48)], "1 year", 1),
        # One payment: the term itself, at most a year.
        ([date(2023, 7, 10)], "6 months", 2),
        ([date(2023, 1, 24)], "14 days", Fraction(365, 14)),
        ([date(2024, 1, 10)], "1 year", 1),
        ([date(2024, 3, 11)], "1 year", 1),
    ],
)
def test_unit_period_of_a_transaction(
    payments: list[date], unit: str, per_year: Fraction | int
) -> None:
    chosen = choose_unit_period(START, [START], payments)
    assert (str(chosen), chosen.per_year) == (unit, per_year)


def test_intervals_between_advances_count_too() -> None:
    advances = [START, *every(1, 6)]
    assert str(choose_unit_period(START, advances, [add_months(START, 12)])) == "1 month"


def test_four_weeks_stay_four_weeks_where_one_of_them_is_a_month() -> None:
    payments = [date(2023, 3, 1), date(2023, 3, 29), date(2023, 7, 7)]
    assert str(choose_unit_period(date(2023, 2, 1), [date(2023, 2, 1)], payments)) == "4 weeks"


@pytest.mark.parametrize(
    ("days", "anchor"),
    [
        ([], None),
        ([date(2023, 1, 31)], None),
        ([date(2023, 1, 30), date(2023, 2, 28), date(2023, 3, 30)], 30),
        ([date(2023, 2, 28), date(2023, 3, 31), date(2023, 4, 30)], 31),
        ([date(2023, 2, 28), date(2023, 3, 28)], 28),
        ([date(2023, 1, 15), date(2023, 2, 16)], None),
    ],
)
def test_the_day_a_series_keeps(days: list[date], anchor: int | None) -> None:
    assert anchor_of(days) == anchor


def test_a_series_on_the_28th_is_no_series_of_last_days() -> None:
    """From 31 January: 28 days to 28 February, and a month more to 28 March."""
    days = [date(2023, 2, 28), date(2023, 3, 28)]
    assert [months_back(date(2023, 1, 31), day, anchor_of(days)) for day in days] == [
        (0, 28),
        (1, 28),
    ]


def test_a_day_has_no_unit_period() -> None:
    with pytest.raises(RateNotFound, match="one day"):
        choose_unit_period(START, [START], [START])


@pytest.mark.parametrize(
    ("unit", "start", "end", "periods", "fraction"),
    [
        ("1 month", date(1978, 1, 10), date(1978, 2, 10), 1, 0),
        ("1 month", date(1978, 2, 10), date(1978, 4, 1), 1, Fraction(19, 30)),
        ("1 month", date(2023, 1, 31), date(2023, 3, 1), 1, Fraction(1, 30)),
        ("1/2 month", date(1978, 2, 23), date(1978, 3, 16), 1, Fraction(6, 15)),
        ("3 months", date(1978, 5, 23), date(1978, 10, 1), 1, Fraction(39, 90)),
        ("2 months", date(1978, 1, 10), date(1978, 3, 1), 0, Fraction(52, 60)),
        ("1 week", date(1978, 3, 20), date(1978, 4, 21), 4, Fraction(4, 7)),
        ("4 weeks", date(1978, 3, 18), date(1978, 4, 20), 1, Fraction(5, 28)),
        ("1 day", date(2023, 10, 26), date(2023, 11, 30), 35, 0),
        ("1 year", date(1978, 1, 17), date(1979, 7, 17), 1, Fraction(6, 12)),
        ("1 year", date(1978, 1, 17), date(1979, 7, 18), 1, Fraction(182, 365)),
        ("1 year", date(2024, 2, 2), date(2025, 2, 1), 1, 0),  # 365 days, 29 February inside
    ],
)
def test_measure(unit: str, start: date, end: date, periods: int, fraction: Fraction | int) -> None:
    assert UnitPeriod.parse(unit).measure(start, end) == (periods, fraction)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("month", "1 month"),
        ("every 2 weeks", "2 weeks"),
        ("Semimonth", "1/2 month"),
        ("semi-month", "1/2 month"),
        ("0.5 month", "1/2 month"),
        ("quarterly", "3 months"),
        ("2 quarters", "6 months"),
        ("12 months", "1 year"),
        ("14 days", "2 weeks"),
        ("annual", "1 year"),
    ],
)
def test_names_of_unit_periods(text: str, unit: str) -> None:
    parsed = UnitPeriod.parse(text)
    assert str(parsed) == unit
    assert UnitPeriod.parse(str(parsed)) == parsed


@pytest.mark.parametrize("text", ["", "month month", "0 weeks", "-1 day", "fortnight", "1 decade"])
def test_unknown_unit_period(text: str) -> None:
    with pytest.raises(CodeError, match="unknown unit-period"):
        UnitPeriod.parse(text)


DAYS = st.dates(date(1990, 1, 1), date(2060, 12, 31))


@given(start=DAYS, months=st.integers(0, 480))
def test_counting_back_undoes_counting_on(start: date, months: int) -> None:
    end = add_months(start, months)
    assert whole_months(start, end) == whole_months(start, end, start.day) == months


@given(start=DAYS, later=st.integers(0, 4000))
def test_months_and_days_reach_back_to_the_start(start: date, later: int) -> None:
    end = add_days(start, later)
    months, days = months_back(start, end)
    assert 0 <= days <= 30
    assert add_days(months_before(end, months), -days) == start


@given(start=DAYS, later=st.integers(1, 4000), unit=st.sampled_from(Unit), count=st.integers(1, 6))
def test_time_grows_with_the_date(start: date, later: int, unit: Unit, count: int) -> None:
    period = UnitPeriod.of(unit, count if unit in (Unit.WEEK, Unit.MONTH) else 1)
    whole, fraction = period.measure(start, add_days(start, later))
    assert whole >= 0
    assert 0 <= fraction < 1
    years = (whole + fraction) / period.per_year
    assert abs(years - Fraction(later, 365)) < Fraction(later, 2000) + Fraction(1, 50)
