"""Margins against an exact form in fractions, written from the formula and from nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from usance.base.codes import FundingModel
from usance.match.mandates.mandate import Guarantee, Mandate, Platform
from usance.match.mandates.margins import margin_minor, margin_tables

PLATFORM = Platform()
BANK = Mandate(
    source=1,
    valid_from=date(2024, 1, 1),
    valid_to=date(2024, 12, 31),
    model=FundingModel.CAPITAL_HEAVY,
    coupon_ppm=60_000,
)


def exact(mandate: Mandate, amount_minor: int, months: int, rate_ppm: int, grade: int) -> Fraction:
    """Expected lifetime net cash, by the words of the specification."""
    million = Fraction(1_000_000)
    years, vat = Fraction(months + 1, 24), 1 + PLATFORM.vat_ppm / million
    loss = PLATFORM.losses[grade] / million * years
    rate, coupon = rate_ppm / million, mandate.coupon_ppm / million
    service = PLATFORM.service_cost_ppm / million
    fee = mandate.fee_ppm / million / vat
    cover = mandate.guarantee
    held = cover.deposit_ppm / million * PLATFORM.deposit_cost_ppm / million * years
    whole = {
        FundingModel.CAPITAL_HEAVY: (rate - coupon) * years / vat
        + fee - (0 if cover.guarantor else loss) - cover.premium_ppm / million * years - held
        - service,
        FundingModel.ON_BALANCE_SHEET: rate * years / vat - coupon * years + fee - loss
        - cover.premium_ppm / million * years - held - service,
        FundingModel.CAPITAL_LIGHT: fee * (1 - loss) - service,
        FundingModel.ICE: fee,
        FundingModel.TECH_SOLUTIONS: fee,
    }[mandate.model]  # fmt: skip
    own = rate * years / vat - PLATFORM.own_funding_ppm / million * years - loss - service
    share = mandate.co_share_ppm / million
    return amount_minor * ((1 - share) * whole + share * own)


@given(
    st.sampled_from(FundingModel),
    st.integers(0, 200_000),
    st.integers(0, 60_000),
    st.sampled_from([0, 300_000, 500_000]),
    st.booleans(),
    st.integers(100, 10_000_000),
    st.integers(1, 60),
    st.integers(0, 360_000),
    st.integers(1, 8),
)
def test_every_margin_is_the_exact_one_rounded_down(
    model: FundingModel, coupon: int, fee: int, share: int, covered: bool, amount: int, months: int,
    rate: int, grade: int,
) -> None:  # fmt: skip
    cover = Guarantee(3, 60, 15_000, 50_000) if covered else Guarantee()
    cover = cover if model is FundingModel.CAPITAL_HEAVY else Guarantee()
    mandate = replace(
        BANK, model=model, coupon_ppm=coupon, fee_ppm=fee, co_share_ppm=share, guarantee=cover
    )
    found = margin_minor(
        mandate, PLATFORM, amount_minor=amount, months=months, rate_ppm=rate, grade=grade
    )
    wanted = exact(mandate, amount, months, rate, grade)
    # Each step is rounded down to a part per billion of the amount, a handful of times.
    assert wanted - 1 - Fraction(amount * 8, 10**9) <= found <= wanted + Fraction(amount * 8, 10**9)


def test_tables_are_the_single_margins() -> None:
    months, losses = np.arange(1, 30), np.array([20_000, 90_000])
    base, slope = margin_tables((BANK,), PLATFORM, months, losses)
    line = base[11, 1, 0] + slope[11, 1, 0] * 240_000 // 1_000_000
    single = margin_minor(
        BANK, PLATFORM, amount_minor=1_000_000_000, months=12, rate_ppm=240_000, grade=5
    )
    assert int(line) == single


def test_a_guarantor_takes_the_loss_for_its_premium() -> None:
    terms = {"amount_minor": 10_000_00, "months": 11, "rate_ppm": 240_000, "grade": 3}
    own = margin_minor(BANK, PLATFORM, **terms)
    covered = replace(BANK, guarantee=Guarantee(guarantor=9, premium_ppm=50_000))
    # The premium is as high as grade 3 loses, so both are worth the same.
    assert margin_minor(covered, PLATFORM, **terms) == own
