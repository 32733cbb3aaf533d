"""The all-in cost against the dated cap: refused above it, untouched at it, never trimmed."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.dates import add_days, add_months
from usance.base.errors import InputError, ParameterError
from usance.base.money import half_up
from usance.base.parameters import Parameters, trace
from usance.loan.rates.annual import Flow, RateBasis
from usance.loan.rates.cap import RateCapExceeded, all_in_cost, check_cap

DAY = date(2024, 1, 31)
PARAMETERS = Parameters.load()


def level(principal: int, rate_ppm: int, count: int, fee: int = 0) -> list[Flow]:
    """Equal instalments, interest rounded to whole minor units, the last one clearing the loan."""
    rate = Fraction(rate_ppm, 12 * 10**6)
    exact = principal * rate / (1 - (1 + rate) ** -count) if rate else Fraction(principal, count)
    instalment = half_up(exact.numerator, exact.denominator)
    flows = [Flow(DAY, principal), Flow(DAY, -fee)]
    balance = principal
    for k in range(1, count + 1):
        interest = half_up(balance * rate.numerator, rate.denominator)
        paid = balance + interest if k == count else instalment
        balance += interest - paid
        flows.append(Flow(add_months(DAY, k), -paid))
    return flows


def test_a_year_at_the_cap_to_the_last_digit_passes() -> None:
    flows = [Flow(DAY, 1000_00), Flow(add_months(DAY, 1), -1020_00)]
    assert check_cap(flows, DAY, PARAMETERS, rounding_minor=Fraction(0)).rate_ppb == 240_000_000


def test_one_minor_unit_above_it_is_refused() -> None:
    flows = [Flow(DAY, 1000_00), Flow(add_months(DAY, 1), -1020_01)]
    with pytest.raises(RateCapExceeded):
        check_cap(flows, DAY, PARAMETERS)


@given(principal=st.integers(100_00, 200_000_00), count=st.integers(1, 36))
def test_a_loan_priced_at_the_cap_passes_whatever_its_rounding(principal: int, count: int) -> None:
    check_cap(level(principal, 240_000, count), DAY, PARAMETERS)


@given(principal=st.integers(1000_00, 200_000_00), count=st.integers(1, 36))
def test_a_fee_on_top_of_the_cap_is_refused(principal: int, count: int) -> None:
    with pytest.raises(RateCapExceeded):
        check_cap(level(principal, 240_000, count, fee=principal // 1000), DAY, PARAMETERS)


def test_a_fee_makes_a_cheap_loan_dear() -> None:
    cheap, dear = level(10_000_00, 180_000, 12), level(10_000_00, 180_000, 12, fee=400_00)
    assert check_cap(cheap, DAY, PARAMETERS).rate_ppm == 180_002
    assert all_in_cost(dear).rate_ppm == 259_382
    with pytest.raises(RateCapExceeded):
        check_cap(dear, DAY, PARAMETERS)


def test_the_refusal_names_rate_cap_date_source_and_way_out() -> None:
    with pytest.raises(RateCapExceeded) as caught:
        check_cap(level(10_000_00, 180_000, 12, fee=400_00), DAY, PARAMETERS)
    cap = PARAMETERS.at("pricing.rate_cap", DAY)
    text = str(caught.value)
    for part in (
        "25.938215%",
        "24%",
        "2024-01-31",
        "2022-01-01",
        cap.source,
        "Lower the rate or a fee",
    ):
        assert part in text
    assert isinstance(caught.value, InputError)
    assert (caught.value.http_status, caught.value.code) == (422, "loan.rate_cap")


def test_the_cap_is_that_of_the_day() -> None:
    flows = level(10_000_00, 300_000, 12)
    check_cap(flows, date(2021, 12, 31), PARAMETERS)
    with pytest.raises(RateCapExceeded):
        check_cap(flows, date(2022, 1, 1), PARAMETERS)
    with pytest.raises(ParameterError):
        check_cap(flows, date(1990, 1, 1), PARAMETERS)


def test_the_reading_of_the_cap_leaves_a_trace() -> None:
    with trace() as reads:
        check_cap(level(10_000_00, 180_000, 12), DAY, PARAMETERS)
    assert [(read.name, read.on) for read in reads] == [("pricing.rate_cap", DAY)]


def test_cost_knows_its_amounts_with_fees_at_disbursement_taken_off() -> None:
    cost = all_in_cost([Flow(DAY, 1000_00), Flow(DAY, -50_00), Flow(add_months(DAY, 12), -1000_00)])
    assert (cost.received_minor, cost.paid_minor, cost.charges_minor) == (950_00, 1000_00, 50_00)


def test_interest_by_days_has_its_own_basis() -> None:
    due = add_days(DAY, 31)
    flows = [Flow(DAY, 10_000_00), Flow(due, -10_203_84)]  # 24 % for 31 days of 365
    cost = check_cap(flows, DAY, PARAMETERS, basis=RateBasis.NOMINAL_BY_DAYS)
    assert cost.rate_ppm == 239_959
    effective = all_in_cost(flows, RateBasis.EFFECTIVE)
    assert effective.rate_ppm > 268_000
    with pytest.raises(RateCapExceeded):
        check_cap(flows, DAY, PARAMETERS, basis=RateBasis.EFFECTIVE)


@pytest.mark.parametrize("allowance", [Fraction(-1, 2), Fraction(1), Fraction(7)])
def test_the_allowance_is_less_than_a_minor_unit(allowance: Fraction) -> None:
    with pytest.raises(InputError, match="rounding_minor"):
        check_cap(level(10_000_00, 0, 2), DAY, PARAMETERS, rounding_minor=allowance)


def test_a_cap_that_is_no_rate_is_named(tmp_path: Path) -> None:
    file = tmp_path / "pricing" / "rate_cap.yaml"
    file.parent.mkdir()
    file.write_text(
        "description: a\nunit: count\nreference: b\nvalues:\n  2020-01-01:\n"
        "    value: 24\n    source: c\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="is no rate"):
        check_cap(level(10_000_00, 0, 2), DAY, Parameters.load(tmp_path))
