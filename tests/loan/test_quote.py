"""Quotes: what they add up to, and that none is made above the cap in force."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.codes import Component
from usance.base.errors import ParameterError
from usance.base.parameters import Parameters, trace
from usance.loan import CONVENTIONS, Terms
from usance.loan.convention import Amortisation, DayCount, PeriodUnit
from usance.loan.quote import borrower_flows, cap_basis, quote
from usance.loan.rates.annual import RateBasis
from usance.loan.rates.cap import RateCapExceeded
from usance.loan.terms import FeeBasis, PercentFee

PARAMETERS = Parameters.load()
BASE = Terms(
    principal_minor=9_000_00, rate_ppm=180_000, instalments=6, disbursed_on=date(2023, 12, 31),
    first_due_on=date(2024, 1, 31), convention=CONVENTIONS["equal_principal_monthly"],
)  # fmt: skip


def test_the_worked_loan_b() -> None:
    """Interest 1.5 % a month, upfront fee 63.60: effective 1.711183 % a month on all flows."""
    offer = quote(BASE.changed(upfront_fee_minor=63_60), PARAMETERS)
    assert offer.terms.cash_to_borrower_minor == 8_936_40
    assert offer.charges.interest == 472_50
    assert (offer.cost_minor, offer.total_to_pay_minor) == (536_10, 9_472_50)
    assert offer.vat_minor == 3_60
    assert offer.rates.nominal_ppb == pytest.approx(12 * 17_111_830, abs=12 * 5)


def test_charges_by_component() -> None:
    terms = BASE.changed(coupon_ppm=60_000, flat_fee_minor=60_00, guarantee_fee_minor=120_00)
    offer = quote(terms, PARAMETERS)
    assert offer.charges.interest == 157_50
    assert offer.charges.guarantee_fee == 120_00
    assert offer.charges.service_fee == 472_50 - 157_50 + 60_00 - 120_00
    assert offer.vat_minor == 21_23  # 375.00 × 6/106


def test_percentage_fees_count() -> None:
    fee = PercentFee(Component.SERVICE_FEE, FeeBasis.PRINCIPAL, 2_000)
    offer = quote(BASE.changed(percent_fees=(fee,)), PARAMETERS)
    assert offer.charges.service_fee == 6 * 18_00
    assert offer.rates.nominal_ppb > quote(BASE, PARAMETERS).rates.nominal_ppb


def test_the_cap_is_that_of_the_day() -> None:
    dear = BASE.changed(rate_ppm=300_000)
    with pytest.raises(RateCapExceeded) as caught:
        quote(dear, PARAMETERS)
    assert "above the cap of 24% in force on 2023-12-31" in caught.value.what
    assert quote(dear, PARAMETERS, on=date(2021, 12, 31)).cap.integer == 360_000
    with pytest.raises(ParameterError):
        quote(dear, PARAMETERS, on=date(2015, 8, 31))


def test_a_quote_is_refused_not_trimmed() -> None:
    at_the_cap = BASE.changed(rate_ppm=240_000)
    assert quote(at_the_cap, PARAMETERS).terms == at_the_cap
    for more in (
        at_the_cap.changed(rate_ppm=240_100),
        at_the_cap.changed(upfront_fee_minor=1_00),
        at_the_cap.changed(flat_fee_minor=1_00),
    ):
        with pytest.raises(RateCapExceeded):
            quote(more, PARAMETERS)


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize("count", [1, 3, 12, 24])
def test_every_own_product_can_be_quoted_at_the_cap(name: str, count: int) -> None:
    terms = BASE.changed(
        convention=CONVENTIONS[name], rate_ppm=240_000, instalments=count,
        disbursed_on=date(2024, 1, 31), first_due_on=date(2024, 2, 29),
    )  # fmt: skip
    if terms.convention.day_count is DayCount.MONTHLY:
        assert quote(terms, PARAMETERS).rates.nominal_ppb == pytest.approx(240_000_000, rel=1e-4)
    else:
        assert cap_basis(terms) is RateBasis.NOMINAL_BY_DAYS
        quote(terms.changed(rate_ppm=235_000), PARAMETERS)


def test_what_was_read_leaves_a_trace() -> None:
    with trace() as reads:
        offer = quote(BASE, PARAMETERS, on=date(2024, 1, 2))
    names = {"pricing.rate_cap", "pricing.cap_measure"}
    assert {(read.name, read.on) for read in reads} == {(name, date(2024, 1, 2)) for name in names}
    assert (offer.on, offer.cap.name) == (date(2024, 1, 2), "pricing.rate_cap")


def test_tranches_and_a_down_payment_are_flows_of_their_days() -> None:
    terms = BASE.changed(
        tranches=((date(2024, 2, 15), 2_000_00),), down_payment_minor=1_000_00,
        upfront_fee_minor=50_00, rate_ppm=100_000, coupon_ppm=-1,
    )  # fmt: skip
    offer = quote(terms, PARAMETERS)
    flows = {flow.day: flow.amount_minor for flow in borrower_flows(terms, offer.instalments)}
    assert flows[date(2023, 12, 31)] == 7_000_00 - 1_000_00 - 50_00
    assert flows[date(2024, 2, 15)] == 2_000_00
    assert sum(flows.values()) == -offer.cost_minor
    assert offer.instalments[0].number == 0
    assert offer.instalment_minor == offer.instalments[1].total


def test_simple_rate_of_a_bullet_is_its_own_rate() -> None:
    terms = BASE.changed(
        convention=CONVENTIONS["interest_only_daily"],
        instalments=1,
        rate_ppm=120_000,
        coupon_ppm=-1,
        disbursed_on=date(2023, 1, 1),
        first_due_on=date(2024, 1, 1),
    )
    rates = quote(terms, PARAMETERS).rates
    assert rates.simple_ppb == rates.effective_ppb == rates.eu_apr_ppb == 120_000_000


def test_other_conventions_are_quoted_too() -> None:
    weekly = CONVENTIONS["level_daily"].named(
        "weekly", unit=PeriodUnit.WEEKS, day_count=DayCount.ACTUAL_364
    )
    flat = CONVENTIONS["level_monthly"].named("flat", amortisation=Amortisation.FLAT)
    terms = BASE.changed(convention=weekly, first_due_on=date(2024, 1, 7), instalments=26)
    assert len(quote(terms, PARAMETERS).instalments) == 26
    cheap = quote(BASE.changed(convention=flat, rate_ppm=100_000, coupon_ppm=-1), PARAMETERS)
    assert cheap.rates.nominal_ppb > 165_000_000  # flat interest costs nearly twice its name


@given(
    principal=st.integers(1_00, 10**9),
    rate=st.integers(0, 200_000),
    count=st.integers(1, 36),
    share=st.fractions(0, 1),
    fee=st.integers(0, 50),
)
def test_a_quote_adds_up(principal: int, rate: int, count: int, share: Fraction, fee: int) -> None:
    terms = BASE.changed(
        principal_minor=principal, rate_ppm=rate, instalments=count, coupon_ppm=int(rate * share),
        upfront_fee_minor=min(fee, principal // 200),
    )  # fmt: skip
    offer = quote(terms, PARAMETERS, on=date(2020, 1, 1))
    assert offer.total_to_pay_minor == principal + offer.charges.total
    assert offer.cost_minor == offer.total_to_pay_minor - terms.cash_to_borrower_minor
    assert 0 <= offer.vat_minor <= offer.cost_minor - offer.charges.interest
    free = offer.cost_minor == 0
    rates = offer.rates
    for ppb in (rates.nominal_ppb, rates.effective_ppb, rates.simple_ppb, rates.us_apr_ppb):
        assert (ppb == 0) if free else (ppb > 0)
