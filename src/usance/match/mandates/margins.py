"""Margin of a loan with a source: expected lifetime net cash, from mandate and request alone.

The margin of a pair is `amount × margin_ppb / 10^9`, rounded down, where

    years       = (months + 1) / 24               average life of equal monthly principal
    net(x)      = x / (1 + VAT)                   what is left of an income that contains VAT
    income      = net((rate − coupon) × years)    capital_heavy
                  net(rate × years) − coupon × years   on_balance_sheet
                  0                               the other three
    lost        = expected_loss(grade) × years    of the amount, by the platform's own table
    fee         = net(fee)                        net(fee) × (1 − lost) under capital_light
    loss        = lost                            borne under capital_heavy without a guarantor
                                                  and under on_balance_sheet; else 0
    guarantee   = premium × years + deposit × deposit_cost × years
    service     = service_cost                    not under ice and tech_solutions
    margin      = income + fee − loss − guarantee − service

and of a co-funded loan the platform's own part earns as on_balance_sheet at the platform's own
funding cost. The margin is linear in the borrower's rate: `base + slope × rate`.

>>> from datetime import date
>>> from usance.base.codes import FundingModel
>>> bank = Mandate(
...     source=1, valid_from=date(2024, 1, 1), valid_to=date(2024, 12, 31),
...     model=FundingModel.CAPITAL_HEAVY, coupon_ppm=60_000,
... )  # fmt: skip
>>> margin_minor(bank, Platform(), amount_minor=10_000_00, months=11, rate_ppm=240_000, grade=3)
51905
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.base.rates import PPB, PPM
from usance.match.mandates.mandate import Mandate, Platform

_TWICE_YEAR = 24
_FINE = PPB // PPM


def margin_minor(
    mandate: Mandate,
    platform: Platform,
    *,
    amount_minor: int,
    months: int,
    rate_ppm: int,
    grade: int,
) -> int:
    """The margin of one loan with one source."""
    base, slope = margin_coefficients(mandate, platform, months, platform.losses[grade])
    return int(amount_minor * (base + slope * rate_ppm // PPM) // PPB)


def margin_coefficients(
    mandate: Mandate, platform: Platform, months: Any, loss_ppm: Any
) -> tuple[Any, Any]:
    """The margin in parts per billion as `base + slope × rate_ppm / 10^6`; takes arrays as well."""
    base, slope = _whole_loan(mandate, platform, months, loss_ppm)
    if not mandate.co_share_ppm:
        return base, slope
    own_slope = _after_vat(PPB * (months + 1) // _TWICE_YEAR, platform)
    own_base = _over_life(-platform.own_funding_ppm - loss_ppm, months)
    own_base = own_base - platform.service_cost_ppm * _FINE
    own, theirs = mandate.co_share_ppm, PPM - mandate.co_share_ppm
    return (
        (base * theirs + own_base * own) // PPM,
        (slope * theirs + own_slope * own) // PPM,
    )


def margin_tables(
    mandates: tuple[Mandate, ...], platform: Platform, months: I64, losses_ppm: I64
) -> tuple[I64, I64]:
    """Base and slope for every tenor, grade and mandate, with the mandate as the last axis."""
    shape = (len(months), len(losses_ppm), len(mandates))
    base, slope = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for column, mandate in enumerate(mandates):
        line = margin_coefficients(mandate, platform, months[:, None], losses_ppm[None, :])
        base[:, :, column], slope[:, :, column] = line
    return base, slope


def _whole_loan(
    mandate: Mandate, platform: Platform, months: Any, loss_ppm: Any
) -> tuple[Any, Any]:
    lost = _over_life(loss_ppm, months)
    fee = _after_vat(mandate.fee_ppm * _FINE, platform)
    base, slope = fee + 0 * lost, 0 * lost
    guarantee = mandate.guarantee
    if mandate.model is FundingModel.CAPITAL_LIGHT:
        base = base - fee * lost // PPB
    if mandate.model in (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET):
        slope = _after_vat(PPB * (months + 1) // _TWICE_YEAR, platform) + slope
        funding = _over_life(mandate.coupon_ppm, months)
        heavy = mandate.model is FundingModel.CAPITAL_HEAVY
        base = base - (_after_vat(funding, platform) if heavy else funding)
        covered = heavy and guarantee.guarantor
        base = base - (0 if covered else lost) - _over_life(guarantee.premium_ppm, months)
        held = guarantee.deposit_ppm * platform.deposit_cost_ppm // PPM
        base = base - _over_life(held, months)
    if mandate.model not in (FundingModel.ICE, FundingModel.TECH_SOLUTIONS):
        base = base - platform.service_cost_ppm * _FINE
    return base, slope


def _over_life(annual_ppm: Any, months: Any) -> Any:
    """An annual rate over the average life of a loan, in parts per billion of its amount."""
    return annual_ppm * _FINE * (months + 1) // _TWICE_YEAR


def _after_vat(gross_ppb: Any, platform: Platform) -> Any:
    return gross_ppb * PPM // (PPM + platform.vat_ppm)
