"""Options of a plan, each from its meaning: what a hand calculation gives is what must come out."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from tests.migration.lives import interest, plan, terms
from usance.loan.convention import Amortisation, PeriodUnit, Rounding
from usance.migration import schedule
from usance.migration.dates import due_dates
from usance.migration.terms import (
    DaysInMonth,
    DaysInYear,
    InterestBasis,
    InterestMethod,
    LeapYearRule,
    PlanMethod,
    RateBasis,
    YearSplit,
)

THOUSAND = 1_000_00
ACTUAL = {"days_in_year": DaysInYear.ACTUAL, "days_in_month": DaysInMonth.ACTUAL}


@pytest.mark.parametrize(
    ("year", "month", "first_period"),
    [
        # January 2024 has 31 days; 12 % on 1,000.00.
        (DaysInYear.D360, DaysInMonth.THIRTY, "1000 * 0.12 * 30 / 360"),
        (DaysInYear.D365, DaysInMonth.THIRTY, "1000 * 0.12 * 30 / 365"),
        (DaysInYear.D360, DaysInMonth.ACTUAL, "1000 * 0.12 * 31 / 360"),
        (DaysInYear.D364, DaysInMonth.ACTUAL, "1000 * 0.12 * 31 / 364"),
        (DaysInYear.D365, DaysInMonth.ACTUAL, "1000 * 0.12 * 31 / 365"),
        (DaysInYear.ACTUAL, DaysInMonth.ACTUAL, "1000 * 0.12 * 31 / 366"),
    ],
)
def test_a_day_count_is_days_of_the_month_over_days_of_the_year(
    year: DaysInYear, month: DaysInMonth, first_period: str
) -> None:
    expected = round(eval(first_period) * 100)
    found = interest(THOUSAND, rate_pct=Decimal(12), days_in_year=year, days_in_month=month)
    assert found[0] == expected


def test_a_leap_year_counts_whole_or_only_in_the_period_of_29_february() -> None:
    whole = interest(100_000_00, rate_pct=Decimal(10), **ACTUAL)
    only = interest(
        100_000_00, rate_pct=Decimal(10), leap_year=LeapYearRule.FEB_29_PERIOD_ONLY, **ACTUAL
    )
    assert whole[0] == round(100_000_00 * 31 / 3660)  # January 2024 over 366
    assert only[0] == round(100_000_00 * 31 / 3650)  # over 365: no 29 February in it
    first, second = (
        schedule(
            terms(rate_pct=Decimal(10), leap_year=leap, disbursed_on=date(2024, 2, 1), **ACTUAL),
            100_000_00,
        )[0].interest
        for leap in LeapYearRule
    )
    assert first == second == round(100_000_00 * 29 / 3660)


def test_a_period_across_new_year_is_split_by_either_day() -> None:
    def first(split: YearSplit) -> int:
        options = {"rate_pct": Decimal(10), "year_split": split, **ACTUAL}
        return schedule(terms(disbursed_on=date(2023, 12, 1), **options), 1_000_000_00)[0].interest

    assert first(YearSplit.LAST_DAY) == round(100_000_00 * (30 / 365 + 1 / 366))
    assert first(YearSplit.FIRST_DAY) == round(100_000_00 * 31 / 365)


def test_rounding_decides_where_half_a_unit_goes() -> None:
    # 10.00 at 6 % for a month of 30/360 is 0.05; 5.00 is 0.025.
    even = interest(5_00, rate_pct=Decimal(6), instalments=1)
    up = interest(5_00, rate_pct=Decimal(6), instalments=1, rounding=Rounding.HALF_UP)
    assert (even, up) == ([2], [3])


def test_a_month_rate_is_a_twelfth_of_a_year_rate() -> None:
    monthly = plan(rate_pct=Decimal(1), rate_basis=RateBasis.MONTH)
    assert monthly == plan(rate_pct=Decimal(12))


def test_by_repayment_period_every_month_costs_the_same() -> None:
    options = {"rate_pct": Decimal(12), "method": InterestMethod.FLAT, **ACTUAL}
    assert len(set(interest(THOUSAND, **options))) > 1
    by_period = interest(THOUSAND, basis=InterestBasis.REPAYMENT_PERIOD, **options)
    assert by_period == [10_00] * 6


def test_flat_interest_never_falls_and_declining_does() -> None:
    flat = interest(THOUSAND, method=InterestMethod.FLAT)
    declining = interest(THOUSAND)
    assert len(set(flat)) == 1
    assert declining == sorted(declining, reverse=True)
    assert sum(flat) > sum(declining)


def test_a_cumulative_flat_plan_leaves_the_difference_to_the_last_instalment() -> None:
    found = plan(
        THOUSAND,
        instalments=3,
        plan=PlanMethod.CUMULATIVE,
        method=InterestMethod.FLAT,
        basis=InterestBasis.REPAYMENT_PERIOD,
    )
    assert found == [(333_33, 5_83), (333_33, 5_83), (333_34, 5_84)]


def test_equal_principal_falls_with_its_interest() -> None:
    found = plan(900_00, rate_pct=Decimal(12), amortisation=Amortisation.EQUAL_PRINCIPAL)
    assert found == [(150_00, 9_00 - 1_50 * k) for k in range(6)]


def test_the_last_instalment_takes_the_difference() -> None:
    totals = [sum(row) for row in plan()]
    assert totals == [17_01] * 5 + [17_00]


def test_a_large_difference_is_spread_over_all_instalments() -> None:
    # The level is found for whole months; a long first period leaves much to the last instalment.
    long_first = {"rate_pct": Decimal(12), "first_due_on": date(2024, 3, 15)}
    plain = [sum(row) for row in plan(THOUSAND, levelling=False, **long_first)]
    even = [sum(row) for row in plan(THOUSAND, **long_first)]
    assert plain[-1] - plain[0] > 10_00
    assert abs(even[-1] - even[0]) <= 3


def test_a_level_is_a_multiple_where_that_is_asked_for() -> None:
    found = [sum(row) for row in plan(1_234_00, multiple_of=10)]
    assert all(total % 10_00 == 0 for total in found[:-1])
    assert sum(principal for principal, _ in plan(1_234_00, multiple_of=10)) == 1_234_00


def test_an_amount_too_small_for_its_multiple_is_still_spread() -> None:
    assert [principal for principal, _ in plan(3_00, rate_pct=Decimal(0), multiple_of=1)] == [
        50
    ] * 6


def test_within_principal_grace_only_interest_is_due() -> None:
    found = plan(THOUSAND, rate_pct=Decimal(12), grace_principal=2)
    assert found[:2] == [(0, 10_00), (0, 10_00)]
    assert sum(principal for principal, _ in found) == THOUSAND


def test_interest_of_a_grace_waits_for_the_first_instalment_after_it() -> None:
    found = interest(THOUSAND, rate_pct=Decimal(12), grace_interest=2)
    assert found[:2] == [0, 0]
    assert found[2] > found[3] + found[4]


def test_interest_free_periods_bear_none_at_all() -> None:
    found = plan(THOUSAND, rate_pct=Decimal(12), interest_free=2)
    assert [part for _, part in found[:2]] == [0, 0]
    assert found[2][1] < 10_00


def test_a_down_payment_is_due_on_the_day_and_bears_nothing() -> None:
    rows = schedule(terms(down_payment_pct=Decimal(25)), 100_00)
    assert (rows[0].end, rows[0].principal, rows[0].interest) == (date(2024, 1, 1), 25_00, 0)
    assert sum(row.principal for row in rows) == 100_00


def test_a_fixed_length_moves_the_last_due_date() -> None:
    found = due_dates(terms(instalments=3, every=15, unit=PeriodUnit.DAYS, fixed_length=40))
    assert found == [date(2024, 1, 16), date(2024, 1, 31), date(2024, 2, 10)]


def test_due_dates_keep_the_day_of_the_disbursement() -> None:
    found = due_dates(terms(disbursed_on=date(2024, 1, 31), instalments=3))
    assert found == [date(2024, 2, 29), date(2024, 3, 31), date(2024, 4, 30)]


def test_fewer_digits_give_another_factor() -> None:
    exact = interest(100_000_000_00, rate_pct=Decimal("7.123"), **ACTUAL)
    coarse = interest(100_000_000_00, rate_pct=Decimal("7.123"), digits=6, **ACTUAL)
    assert exact != coarse
