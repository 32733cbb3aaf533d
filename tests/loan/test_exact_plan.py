"""Plans of the exact form, with numbers worked out by hand or by another way of reckoning."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.calendars import Calendar, Roll
from usance.base.codes import Component
from usance.base.errors import CodeError
from usance.loan.convention import (
    CONVENTIONS,
    Amortisation,
    Convention,
    DayCount,
    LevelBasis,
    MonthEnd,
    PeriodUnit,
    Rounding,
    RoundingDifference,
)
from usance.loan.errors import FeeError, TermsDateError
from usance.loan.exact.charge import level_instalment
from usance.loan.exact.dates import periods
from usance.loan.exact.plan import schedule
from usance.loan.terms import FeeBasis, PercentFee, Terms
from usance.loan.views import Instalment

LEVEL = CONVENTIONS["level_monthly"]
BASE = Terms(
    principal_minor=9_000_00,
    rate_ppm=180_000,
    instalments=6,
    disbursed_on=date(2023, 12, 31),
    first_due_on=date(2024, 1, 31),
    convention=LEVEL,
)


def column(rows: list[Instalment], name: str) -> list[int]:
    return [getattr(row, name) for row in rows]


def due_dates(convention: Convention, start: date, first: date, count: int = 4) -> list[str]:
    terms = BASE.changed(
        convention=convention, disbursed_on=start, first_due_on=first, instalments=count
    )
    return [f"{row.due_on:%m-%d}" for row in schedule(terms)]


def test_worked_loan_a() -> None:
    terms = BASE.changed(
        convention=CONVENTIONS["equal_principal_monthly"], rate_ppm=60_000, coupon_ppm=60_000,
        flat_fee_minor=381_60, guarantee_fee_minor=254_40,
    )  # fmt: skip
    rows = schedule(terms)
    assert rows[0] == Instalment(1, date(2024, 1, 31), 1_500_00, 45_00, 42_40, 21_20, 7_500_00)
    assert {(row.guarantee_fee, row.service_fee) for row in rows} == {(42_40, 21_20)}


def test_worked_loan_b() -> None:
    rows = schedule(BASE.changed(convention=CONVENTIONS["equal_principal_monthly"]))
    assert column(rows, "interest") == [135_00, 112_50, 90_00, 67_50, 45_00, 22_50]
    assert [f"{row.due_on:%m-%d}" for row in rows] == [
        "01-31", "02-29", "03-31", "04-30", "05-31", "06-30",
    ]  # fmt: skip


def test_the_day_of_the_month_is_kept() -> None:
    assert due_dates(LEVEL, date(2024, 1, 31), date(2024, 2, 29)) == [
        "02-29", "03-31", "04-30", "05-31",
    ]  # fmt: skip
    assert due_dates(LEVEL, date(2024, 1, 29), date(2024, 2, 29)) == [
        "02-29", "03-29", "04-29", "05-29",
    ]  # fmt: skip
    assert due_dates(LEVEL, date(2024, 1, 10), date(2024, 2, 29)) == [
        "02-29", "03-29", "04-29", "05-29",
    ]  # fmt: skip


def test_last_days_stay_last_days_where_asked() -> None:
    last = LEVEL.named("last", month_end=MonthEnd.LAST_DAY)
    assert due_dates(last, date(2024, 1, 10), date(2024, 2, 29)) == [
        "02-29", "03-31", "04-30", "05-31",
    ]  # fmt: skip
    assert due_dates(last, date(2024, 4, 30), date(2024, 5, 30)) == [
        "05-30", "06-30", "07-30", "08-30",
    ]  # fmt: skip


def test_other_units() -> None:
    daily = CONVENTIONS["level_daily"]
    start = date(2024, 2, 20)
    two_weeks = daily.named("weeks", unit=PeriodUnit.WEEKS, every=2)
    assert due_dates(two_weeks, start, date(2024, 3, 5), 3) == ["03-05", "03-19", "04-02"]
    ten_days = daily.named("days", unit=PeriodUnit.DAYS, every=10)
    assert due_dates(ten_days, start, date(2024, 2, 25), 3) == ["02-25", "03-06", "03-16"]
    yearly = daily.named("years", unit=PeriodUnit.YEARS)
    assert due_dates(yearly, date(2024, 2, 29), date(2025, 2, 28), 4) == [
        "02-28", "02-28", "02-28", "02-29",
    ]  # fmt: skip


def test_calendars_move_due_dates_and_not_the_anchor() -> None:
    holidays = Calendar(holidays=frozenset({date(2024, 4, 1)}))
    terms = BASE.changed(
        instalments=3, disbursed_on=date(2024, 1, 31), first_due_on=date(2024, 2, 29),
        convention=LEVEL.named("x", calendar="here", roll=Roll.FOLLOWING),
    )  # fmt: skip
    rows = schedule(terms, {"here": holidays})
    assert [f"{row.due_on:%m-%d}" for row in rows] == ["02-29", "04-02", "04-30"]
    assert column(rows, "total")[0] == column(rows, "total")[1]
    back = terms.changed(convention=LEVEL.named("x", calendar="here", roll=Roll.MODIFIED_FOLLOWING))
    assert schedule(back, {"here": holidays})[1].due_on == date(2024, 3, 29)
    with pytest.raises(CodeError):
        schedule(terms)
    early = terms.changed(
        disbursed_on=date(2024, 3, 29),
        first_due_on=date(2024, 3, 30),
        convention=LEVEL.named("x", calendar="weekends", roll=Roll.PRECEDING),
    )
    with pytest.raises(TermsDateError):
        schedule(early)


def test_an_odd_first_period_changes_only_the_first_interest() -> None:
    plain = schedule(BASE.changed(disbursed_on=date(2024, 1, 15), first_due_on=date(2024, 2, 15)))
    odd = schedule(BASE.changed(disbursed_on=date(2024, 1, 5), first_due_on=date(2024, 2, 15)))
    assert column(plain, "principal") == column(odd, "principal")
    assert column(plain, "interest")[1:] == column(odd, "interest")[1:]
    assert odd[0].interest == 180_00  # 40 days of 30E/360
    short = schedule(BASE.changed(disbursed_on=date(2024, 2, 14), first_due_on=date(2024, 2, 15)))
    assert short[0].interest == 4_50
    assert column(short, "principal") == column(plain, "principal")


def test_daily_interest_by_true_days() -> None:
    rows = schedule(BASE.changed(convention=CONVENTIONS["equal_principal_daily"]))
    assert rows[0].interest == 137_59  # 9,000.00 × 18 % × 31/365 = 137.589
    assert rows[1].interest == 107_26  # 7,500.00 × 18 % × 29/365 = 107.260
    leap = BASE.changed(convention=CONVENTIONS["equal_principal_daily"].named(
        "isda", day_count=DayCount.ACTUAL_ACTUAL))  # fmt: skip
    assert schedule(leap)[1].interest == 106_97  # 29/366


@given(
    st.integers(1, 10**9), st.integers(1, 1_000_000), st.integers(1, 60),
    st.sampled_from(list(Rounding)),
)  # fmt: skip
def test_the_level_instalment_is_the_nearest_whole_number(
    principal: int, rate: int, count: int, rounding: Rounding
) -> None:
    terms = BASE.changed(
        principal_minor=principal, rate_ppm=rate, coupon_ppm=rate, instalments=count,
        convention=LEVEL.named("x", rounding=rounding),
    )  # fmt: skip
    level = level_instalment(terms, periods(terms), principal)
    growth = 1 + Fraction(rate, 12_000_000)
    annuity = sum(growth**-k for k in range(1, count + 1))
    exact = principal / annuity
    assert abs(level - exact) < 1
    if rounding in (Rounding.HALF_UP, Rounding.HALF_EVEN):
        assert abs(level - exact) <= Fraction(1, 2)
    else:
        assert (level >= exact) == (rounding is Rounding.UP) or level == exact


def test_the_level_instalment_of_true_days_leaves_no_remainder_but_rounding() -> None:
    terms = BASE.changed(
        instalments=24,
        convention=CONVENTIONS["level_daily"].named("true", level_basis=LevelBasis.DAYS),
    )
    totals = column(schedule(terms), "total")
    assert len(set(totals[:-1])) == 1
    assert abs(totals[-1] - totals[0]) <= 24
    nominal = column(schedule(terms.changed(convention=CONVENTIONS["level_daily"])), "total")
    assert abs(nominal[-1] - nominal[0]) > 50


def test_zero_rate() -> None:
    rows = schedule(BASE.changed(rate_ppm=0, coupon_ppm=0, principal_minor=100_00, instalments=3))
    assert column(rows, "principal") == [33_33, 33_33, 33_34]
    assert column(rows, "interest") == [0, 0, 0]


def test_interest_only_and_tiny_loans() -> None:
    rows = schedule(BASE.changed(convention=CONVENTIONS["interest_only_monthly"]))
    assert column(rows, "principal") == [0, 0, 0, 0, 0, 9_000_00]
    assert column(rows, "interest") == [135_00] * 6
    tiny = BASE.changed(
        principal_minor=5, instalments=8, convention=CONVENTIONS["equal_principal_monthly"]
    )
    assert column(schedule(tiny), "principal") == [1, 0, 1, 1, 0, 1, 0, 1]


def test_balloon() -> None:
    terms = BASE.changed(
        convention=LEVEL.named("balloon", amortisation=Amortisation.BALLOON),
        balloon_minor=3_000_00,
    )
    rows = schedule(terms)
    assert len(set(column(rows, "total")[:-1])) == 1
    assert rows[-2].balance > 3_000_00
    assert abs(rows[-1].total - rows[0].total - 3_000_00) <= 6
    # A level instalment amortises 6,000.00 and pays 45.00 a month for the balloon.
    smaller = schedule(BASE.changed(principal_minor=6_000_00))
    assert rows[0].total == smaller[0].total + 45_00


def test_the_balance_never_falls_below_the_balloon() -> None:
    convention = LEVEL.named(
        "balloon", amortisation=Amortisation.BALLOON, round_to_minor=1_000_00, rounding=Rounding.UP
    )
    rows = schedule(BASE.changed(convention=convention, balloon_minor=7_000_00))
    assert column(rows, "balance") == [8_135_00, 7_257_03, 7_000_00, 7_000_00, 7_000_00, 0]


def test_flat() -> None:
    terms = BASE.changed(convention=LEVEL.named("flat", amortisation=Amortisation.FLAT))
    rows = schedule(terms)
    assert column(rows, "principal") == [1_500_00] * 6
    assert column(rows, "interest") == [135_00] * 6
    weekly = terms.convention.named("weekly", unit=PeriodUnit.WEEKS, day_count=DayCount.ACTUAL_364)
    rows = schedule(terms.changed(convention=weekly, first_due_on=date(2024, 1, 7)))
    assert sum(column(rows, "interest")) == 186_92  # 9,000.00 × 18 % × 42/364
    split = schedule(terms.changed(principal_minor=7, coupon_ppm=120_000, rate_ppm=600_000))
    assert min(column(split, "service_fee")) >= 0


def test_the_level_instalment_can_be_a_round_sum() -> None:
    rows = schedule(BASE.changed(convention=LEVEL.named("round", round_to_minor=1_00)))
    assert column(rows, "total")[:5] == [1_580_00] * 5
    assert rows[-1].total == 1_578_29


def test_the_difference_can_go_first() -> None:
    rows = schedule(
        BASE.changed(convention=LEVEL.named("first", difference=RoundingDifference.FIRST))
    )
    assert column(rows, "total") == [1_579_72, *[1_579_73] * 5]
    zero = BASE.changed(
        principal_minor=100_00,
        instalments=3,
        rate_ppm=0,
        coupon_ppm=0,
        convention=LEVEL.named("first", difference=RoundingDifference.FIRST),
    )
    assert column(schedule(zero), "principal") == [33_34, 33_33, 33_33]
    small = zero.changed(principal_minor=5)
    assert column(schedule(small), "principal") == [1, 2, 2]


def test_fees_are_shared_in_step_with_all_fees() -> None:
    terms = BASE.changed(
        convention=CONVENTIONS["equal_principal_monthly"],
        coupon_ppm=60_000,
        flat_fee_minor=60_00,
        guarantee_fee_minor=187_50,
    )
    rows = schedule(terms)
    fees = [row.guarantee_fee + row.service_fee for row in rows]
    assert fees == [100_00, 85_00, 70_00, 55_00, 40_00, 25_00]
    assert column(rows, "guarantee_fee") == [50_00, 42_50, 35_00, 27_50, 20_00, 12_50]
    with pytest.raises(FeeError):
        schedule(terms.changed(guarantee_fee_minor=375_01))


def test_percentage_fees() -> None:
    fees = (
        PercentFee(Component.SERVICE_FEE, FeeBasis.BALANCE, 12_000),
        PercentFee(Component.GUARANTEE_FEE, FeeBasis.PRINCIPAL, 2_000),
    )
    convention = CONVENTIONS["equal_principal_monthly"]
    rows = schedule(BASE.changed(convention=convention, percent_fees=fees))
    assert column(rows, "service_fee") == [9_00, 7_50, 6_00, 4_50, 3_00, 1_50]
    assert column(rows, "guarantee_fee") == [18_00] * 6
    flat = BASE.changed(
        convention=LEVEL.named("f", amortisation=Amortisation.FLAT), percent_fees=fees
    )
    assert column(schedule(flat), "service_fee") == [9_00, 7_50, 6_00, 4_50, 3_00, 1_50]


def test_grace_on_principal_and_on_interest() -> None:
    convention = CONVENTIONS["equal_principal_monthly"]
    rows = schedule(BASE.changed(convention=convention, grace_principal=2, grace_interest=3,
                                 flat_fee_minor=6_00))  # fmt: skip
    assert column(rows, "principal") == [0, 0, 2_250_00, 2_250_00, 2_250_00, 2_250_00]
    assert column(rows, "interest") == [0, 0, 0, 3 * 135_00 + 101_25, 67_50, 33_75]
    assert column(rows, "service_fee") == [0, 0, 0, 4_00, 1_00, 1_00]
    level = schedule(BASE.changed(grace_principal=2))
    assert column(level, "total")[2:5] == [schedule(BASE.changed(instalments=4))[0].total] * 3


def test_down_payment_is_instalment_0() -> None:
    rows = schedule(BASE.changed(down_payment_minor=1_500_00))
    plain = schedule(BASE.changed(principal_minor=7_500_00))
    assert rows[0] == Instalment(0, date(2023, 12, 31), 1_500_00, 0, 0, 0, 7_500_00)
    assert rows[1:] == plain


def test_stepped_rate_bears_each_rate_for_its_days() -> None:
    steps = ((date(2024, 2, 10), 360_000), (date(2024, 4, 1), 90_000))
    terms = BASE.changed(convention=CONVENTIONS["equal_principal_monthly"], rate_steps=steps)
    rows = schedule(terms)
    # 7,500.00 at 18 % for 10 days and at 36 % for 19 of February's 29.
    assert rows[1].interest == 186_21  # 112.50 × (10 + 2 × 19) / 29 = 186.2069
    assert rows[2].interest == 180_00
    # 4,500.00: one day at 36 %, 29 at 9 %: 135.00 / 30 + 33.75 × 29/30 = 37.125.
    assert rows[3].interest == 37_13
    assert rows[5].interest == 11_25


def test_tranches_are_planned_over_the_instalments_to_come() -> None:
    convention = CONVENTIONS["equal_principal_monthly"]
    terms = BASE.changed(convention=convention, tranches=((date(2024, 2, 10), 3_000_00),))
    rows = schedule(terms)
    assert column(rows, "principal") == [1_000_00] + [1_600_00] * 5
    assert rows[0].interest == 90_00
    # 5,000.00 for 10 days, 8,000.00 for 19 of 29: 75.00 × 10/29 + 120.00 × 19/29.
    assert rows[1].interest == 104_48
    assert rows[2].interest == 96_00
    with pytest.raises(TermsDateError):
        schedule(terms.changed(tranches=((date(2024, 6, 30), 1_00),)))
    with pytest.raises(FeeError):
        schedule(terms.changed(down_payment_minor=6_000_00))


def test_level_tranches_and_flat_tranches_repay_everything() -> None:
    for amortisation in (Amortisation.EQUAL_INSTALMENT, Amortisation.FLAT):
        convention = LEVEL.named("x", amortisation=amortisation)
        rows = schedule(
            BASE.changed(convention=convention, tranches=((date(2024, 2, 29), 3_000_00),))
        )
        assert rows[-1].balance == 0
        assert len({row.total for row in rows[2:5]}) == 1


def test_rounding_modes() -> None:
    terms = BASE.changed(principal_minor=1_000_50, rate_ppm=120_000, coupon_ppm=120_000,
                         convention=CONVENTIONS["interest_only_monthly"])  # fmt: skip
    found = {
        mode: schedule(terms.changed(convention=terms.convention.named("x", rounding=mode)))[
            0
        ].interest
        for mode in Rounding
    }
    assert found == {
        Rounding.HALF_UP: 10_01,
        Rounding.HALF_EVEN: 10_00,
        Rounding.UP: 10_01,
        Rounding.DOWN: 10_00,
    }
