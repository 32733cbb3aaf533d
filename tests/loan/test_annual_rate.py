"""Annual rates against closed forms, the examples of both rule books, and laws they must keep."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.dates import add_days, add_months
from usance.base.errors import AmountError
from usance.loan.rates.annual import (
    Flow,
    RateBasis,
    actuarial_apr,
    actuarial_timeline,
    eu_apr,
    eu_timeline,
    eu_years,
    irr_by_dates,
    irr_by_periods,
    irr_timeline,
    percent,
    simple_rate,
)
from usance.loan.rates.equation import RateNotFound
from usance.loan.rates.unit_periods import Unit

DAY = date(2023, 1, 15)


def loan(advance_minor: int, on: date, *payments: tuple[int, date]) -> list[Flow]:
    return [Flow(on, advance_minor), *(Flow(day, -minor) for minor, day in payments)]


def monthly(minor: int, first: date, count: int, every: int = 1) -> list[tuple[int, date]]:
    return [(minor, add_months(first, every * k)) for k in range(count)]


def daily(minor: int, first: date, count: int, every: int) -> list[tuple[int, date]]:
    return [(minor, add_days(first, every * k)) for k in range(count)]


def semimonthly(minor: int, year: int, month: int, count: int) -> list[tuple[int, date]]:
    starts = [add_months(date(year, month, 1), k // 2) for k in range(count)]
    return [(minor, day.replace(day=16 if k % 2 else 1)) for k, day in enumerate(starts)]


# Section (c) of appendix J to 12 CFR 1026, from the dates alone.
APPENDIX_J = {
    "(c)(1)(i)": (
        "9.69",
        loan(5000_00, date(1978, 1, 10), *monthly(230_00, date(1978, 2, 10), 24)),
    ),
    "(c)(1)(ii)": (
        "11.82",
        loan(6000_00, date(1978, 2, 10), *monthly(200_00, date(1978, 4, 1), 36)),
    ),
    "(c)(1)(iii)": ("10.34", loan(5000_00, date(1978, 2, 23), *semimonthly(219_17, 1978, 3, 24))),
    "(c)(1)(iv)": (
        "8.97",
        loan(10000_00, date(1978, 5, 23), *monthly(385_00, date(1978, 10, 1), 40, every=3)),
    ),
    "(c)(1)(v)": (
        "14.96",
        loan(500_00, date(1978, 3, 20), *daily(17_60, date(1978, 4, 21), 30, 7)),
    ),
    "(c)(2)(i)": (
        "10.08",
        loan(
            5000_00,
            date(1978, 1, 10),
            (250_00, date(1978, 2, 10)),
            *monthly(230_00, date(1978, 3, 10), 23),
        ),
    ),
    "(c)(2)(ii)": (
        "28.50",
        loan(
            400_00,
            date(1978, 3, 18),
            (39_50, date(1978, 4, 20)),
            *daily(38_31, date(1978, 5, 18), 11, 28),
        ),
    ),
    "(c)(3)(i)": (
        "10.50",
        loan(
            5000_00,
            date(1978, 1, 10),
            *monthly(230_00, date(1978, 2, 10), 23),
            (280_00, date(1980, 1, 10)),
        ),
    ),
    "(c)(3)(ii)": (
        "12.22",
        loan(
            200_00,
            date(1978, 4, 3),
            *daily(9_50, date(1978, 4, 11), 19, 14),
            (30_00, date(1979, 1, 2)),
        ),
    ),
    "(c)(4)(i)": (
        "10.90",
        loan(
            5000_00,
            date(1978, 1, 10),
            (250_00, date(1978, 2, 10)),
            *monthly(230_00, date(1978, 3, 10), 22),
            (280_00, date(1980, 1, 10)),
        ),
    ),
    "(c)(4)(ii)": (
        "7.30",
        loan(
            8000_00,
            date(1978, 1, 10),
            (449_36, date(1978, 3, 1)),
            *monthly(465_00, date(1978, 5, 1), 18, every=2),
            (200_00, date(1981, 5, 1)),
        ),
    ),
    "(c)(5)(i)": ("11.45", loan(1000_00, date(1978, 1, 3), (1080_00, date(1978, 9, 15)))),
    "(c)(5)(ii)": ("8.80", loan(1000_00, date(1978, 7, 15), (1044_00, date(1979, 1, 15)))),
    "(c)(5)(iii)": ("8.76", loan(1000_00, date(1978, 1, 17), (1135_19, date(1979, 7, 17)))),
    "(c)(5)(iv)": ("11.36", loan(1000_00, date(1978, 1, 3), (1240_00, date(1980, 1, 3)))),
}


@pytest.mark.parametrize("name", APPENDIX_J)
def test_examples_of_appendix_j(name: str) -> None:
    expected, flows = APPENDIX_J[name]
    assert str(percent(actuarial_apr(flows), decimals=2)) == expected


def test_several_advances_with_payments_in_between() -> None:
    advances = [Flow(add_months(DAY, 6 * k), 20_000_00) for k in range(3)]
    payments = [Flow(add_months(DAY, 3 * k), -1_300_00) for k in range(1, 61)]
    rate = actuarial_apr([*advances, *payments])
    timeline = actuarial_timeline([*advances, *payments])
    assert timeline.per_year == 4
    assert timeline.compare(Fraction(2 * rate - 1, 2 * 10**9)) < 0
    assert timeline.compare(Fraction(2 * rate + 1, 2 * 10**9)) > 0


def test_the_finance_charge_may_begin_after_the_advance_is_agreed() -> None:
    flows = loan(1000_00, date(2023, 1, 15), *monthly(90_00, date(2023, 2, 15), 12))
    later = actuarial_apr(flows, start=date(2023, 1, 15))
    assert later == actuarial_apr(flows)
    with pytest.raises(RateNotFound, match="lies before the start"):
        actuarial_apr(flows, start=date(2023, 2, 1))


# The examples that Directive 98/7/EC gave for the equation that 2008/48/EC kept. By months and
# years ("standard year"), and by the calendar (days of 365), where the two differ.
NEW_YEAR = date(1994, 1, 1)
AFTER_18_MONTHS = (1200_00, date(1995, 7, 1))
EU = {
    "one payment after a year and a half": ("12.92", loan(1000_00, NEW_YEAR, AFTER_18_MONTHS)),
    "with 50 kept back": ("16.85", loan(950_00, NEW_YEAR, AFTER_18_MONTHS)),
    "two yearly payments": (
        "13.07",
        loan(1000_00, NEW_YEAR, (600_00, date(1995, 1, 1)), (600_00, date(1996, 1, 1))),
    ),
    "after 3, 6 and 12 months": (
        "13.19",
        loan(
            1000_00,
            NEW_YEAR,
            (272_00, date(1994, 4, 1)),
            (272_00, date(1994, 7, 1)),
            (544_00, date(1995, 1, 1)),
        ),
    ),
}


@pytest.mark.parametrize("name", EU)
def test_examples_of_the_directive(name: str) -> None:
    expected, flows = EU[name]
    assert str(percent(eu_apr(flows), decimals=2)) == expected


def test_the_calendar_basis_of_the_directive_is_the_effective_irr() -> None:
    flows = EU["one payment after a year and a half"][1]
    assert str(percent(irr_by_dates(flows), decimals=2)) == "12.96"
    assert eu_years(NEW_YEAR, date(1995, 7, 2), Unit.YEAR) == Fraction(547, 365)


# Weeks or months counted back from the later date, then days of the year that ends with them.
INTERVALS = [
    (date(2019, 1, 12), date(2020, 1, 12), Unit.MONTH, Fraction(1)),
    (date(2012, 1, 12), date(2012, 2, 15), Unit.YEAR, Fraction(34, 365)),
    (date(2012, 1, 12), date(2012, 4, 15), Unit.MONTH, Fraction(3, 12) + Fraction(3, 365)),
    (date(2013, 1, 12), date(2013, 2, 15), Unit.MONTH, Fraction(1, 12) + Fraction(3, 366)),
    (date(2012, 2, 26), date(2012, 3, 29), Unit.MONTH, Fraction(1, 12) + Fraction(3, 366)),
    (date(2013, 2, 26), date(2013, 3, 29), Unit.MONTH, Fraction(1, 12) + Fraction(2, 366)),
    (date(2024, 2, 28), date(2025, 2, 27), Unit.MONTH, Fraction(11, 12) + Fraction(28, 366)),
    (date(2024, 12, 31), date(2025, 2, 28), Unit.MONTH, Fraction(2, 12)),
    (date(2024, 2, 29), date(2025, 2, 28), Unit.YEAR, Fraction(1)),
    (date(2012, 1, 12), date(2013, 1, 10), Unit.WEEK, Fraction(1)),
    (date(2012, 1, 12), date(2012, 1, 30), Unit.WEEK, Fraction(2, 52) + Fraction(4, 365)),
    (date(2012, 1, 12), date(2012, 1, 12), Unit.DAY, Fraction(0)),
]


@pytest.mark.parametrize(("start", "end", "unit", "years"), INTERVALS)
def test_intervals_of_the_directive(start: date, end: date, unit: Unit, years: Fraction) -> None:
    assert eu_years(start, end, unit) == years


def test_weekly_repayments_are_counted_in_weeks() -> None:
    flows = loan(1000_00, DAY, *daily(110_00, add_days(DAY, 7), 10, 7))
    times = [flow.periods for flow in eu_timeline(flows).flows]
    assert times == [Fraction(k, 52) for k in range(11)]


@pytest.mark.parametrize("rate_ppb", [0, 10_000_000, 240_000_000, -60_000_000])
def test_one_payment_after_a_year_has_its_rate_in_plain_sight(rate_ppb: int) -> None:
    paid = 10**9 + rate_ppb
    flows = loan(10**9, date(2023, 3, 1), (paid, date(2024, 2, 29)))
    assert irr_by_dates(flows) == rate_ppb
    assert actuarial_apr(loan(10**9, DAY, (paid, add_months(DAY, 12)))) == rate_ppb
    assert eu_apr(loan(10**9, DAY, (paid, add_months(DAY, 12)))) == rate_ppb


def test_nominal_and_effective_are_the_same_rate_said_twice() -> None:
    flows = loan(10_000_00, DAY, *monthly(945_60, add_months(DAY, 1), 12))
    nominal = Fraction(irr_by_dates(flows, RateBasis.NOMINAL_MONTHLY), 10**9)
    by_months = irr_by_periods([10_000_00] + [-945_60] * 12, basis=RateBasis.EFFECTIVE)
    assert abs((1 + nominal / 12) ** 12 - 1 - Fraction(by_months, 10**9)) < Fraction(2, 10**9)
    assert irr_by_dates(flows, RateBasis.NOMINAL_MONTHLY) == actuarial_apr(flows)
    assert irr_by_periods([10_000_00] + [-945_60] * 12) == actuarial_apr(flows)


def test_nominal_by_days_is_the_effective_rate_a_month_times_twelve() -> None:
    flows = loan(10_000_00, DAY, (10_203_84, add_days(DAY, 31)))  # 24 % by days of 365
    nominal = Fraction(irr_by_dates(flows, RateBasis.NOMINAL_BY_DAYS), 10**9)
    effective = Fraction(irr_by_dates(flows), 10**9)
    assert abs((1 + nominal / 12) ** 12 - 1 - effective) < Fraction(2, 10**9)
    assert irr_by_dates(flows, RateBasis.NOMINAL_MONTHLY) == 244_608_000  # one month of 31 days


def test_dates_that_are_no_whole_months_fall_back_to_days() -> None:
    flows = loan(1000_00, DAY, (510_00, date(2023, 2, 20)), (520_00, date(2023, 3, 15)))
    monthly_rate = irr_by_dates(flows, RateBasis.NOMINAL_MONTHLY)
    assert monthly_rate == irr_by_dates(flows, RateBasis.NOMINAL_BY_DAYS)


def test_month_ends_are_whole_months() -> None:
    last = date(2023, 12, 31)
    due = [date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 31), date(2024, 4, 30)]
    flows = loan(1000_00, last, *((260_00, day) for day in due))
    times = [flow.periods for flow in irr_timeline(flows, RateBasis.NOMINAL_MONTHLY).flows]
    assert times == [0, 1, 2, 3, 4]


def test_simple_rate_of_a_bullet_is_charges_over_principal() -> None:
    year = [(date(2023, 1, 1), 12_000_00), (date(2024, 1, 1), 0)]
    assert simple_rate(1_200_00, year) == 100_000_000
    assert simple_rate(0, year) == 0


@pytest.mark.parametrize(
    ("balances", "why"),
    [
        ([], "not those of a loan"),
        ([(DAY, 100)], "not those of a loan"),
        ([(DAY, 100), (add_days(DAY, 1), 1)], "not those of a loan"),
        ([(DAY, -1), (add_days(DAY, 1), 0)], "not those of a loan"),
        ([(DAY, 100), (DAY, 0)], "out of order"),
        ([(DAY, 0), (add_days(DAY, 1), 0)], "principal is 0"),
    ],
)
def test_simple_rate_needs_a_loan(balances: list[tuple[date, int]], why: str) -> None:
    with pytest.raises(RateNotFound, match=why):
        simple_rate(1, balances)


@pytest.mark.parametrize(
    ("flows", "why"),
    [
        ([], "receives nothing"),
        ([Flow(DAY, 100)], "fall on one day"),
        ([Flow(DAY, -100)], "receives nothing"),
        ([Flow(DAY, 100), Flow(DAY, -101)], "fall on one day"),
        ([Flow(DAY, -1), Flow(add_days(DAY, 1), 100), Flow(add_days(DAY, 2), -101)], "before the"),
        ([Flow(DAY, 100), Flow(add_days(DAY, 1), -(10**14))], "above"),
    ],
)
def test_what_is_no_loan_has_no_rate(flows: list[Flow], why: str) -> None:
    with pytest.raises(RateNotFound, match=why) as caught:
        irr_by_dates(flows)
    assert caught.value.http_status == 422
    assert caught.value.fix


@pytest.mark.parametrize("method", [actuarial_apr, eu_apr])
def test_regulated_rates_refuse_it_too(method: object) -> None:
    for flows in ([], [Flow(DAY, 100)], [Flow(DAY, 100), Flow(DAY, -100)]):
        with pytest.raises(RateNotFound):
            method(flows)  # type: ignore[operator]


def test_money_is_never_a_float() -> None:
    with pytest.raises(AmountError):
        Flow(DAY, 12.5)  # type: ignore[arg-type]
    with pytest.raises(AmountError):
        Flow(DAY, 2**63)


def test_publication_rounds_half_up_away_from_zero() -> None:
    assert percent(129_500_000, 1) == Decimal("13.0")
    assert percent(-129_500_000, 1) == Decimal("-13.0")
    assert str(percent(96_850_000, 2)) == "9.69"


INSTALMENTS = st.lists(st.integers(1, 10**9), min_size=1, max_size=36)


@given(
    principal=st.integers(10**6, 10**9),
    payments=st.lists(st.integers(1, 3 * 10**6), min_size=1, max_size=36),
    basis=st.sampled_from(RateBasis),
)
def test_value_at_the_solved_rate_is_nothing(
    principal: int, payments: list[int], basis: RateBasis
) -> None:
    due = [(minor, add_months(DAY, k)) for k, minor in enumerate(payments, start=1)]
    flows = loan(principal, DAY, *due)
    timeline = irr_timeline(flows, basis)
    rate = timeline.rate()
    assert timeline.compare(Fraction(2 * rate - 1, 2 * 10**9)) <= 0
    assert timeline.compare(Fraction(2 * rate + 1, 2 * 10**9)) >= 0


@given(principal=st.integers(1000, 10**8), payments=INSTALMENTS, scale=st.integers(2, 1000))
def test_rate_does_not_depend_on_the_unit_of_money(
    principal: int, payments: list[int], scale: int
) -> None:
    amounts = [principal, *(-minor for minor in payments)]
    assert irr_by_periods(amounts) == irr_by_periods([scale * minor for minor in amounts])


@given(principal=st.integers(100_00, 10**7), payments=INSTALMENTS, fee=st.integers(1, 99_99))
def test_a_fee_never_lowers_the_rate(principal: int, payments: list[int], fee: int) -> None:
    paid = [-minor for minor in payments]
    rate = irr_by_periods([principal, *paid])
    assert irr_by_periods([principal - fee, *paid]) >= rate
    assert irr_by_periods([principal, *paid[:-1], paid[-1] - fee]) >= rate
