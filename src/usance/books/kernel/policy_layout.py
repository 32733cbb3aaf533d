"""Accounting policies as kernels read them: numbers by name, loss rates by pool.

>>> rates = LossRates.of(np.arange(RATE_COUNT)[None, :])
>>> int(rates.contract[0]), rates.ifrs_contingent[0].tolist()
(3, [7, 8, 9])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import Component, FundingModel

HEAVY, ON_BALANCE_SHEET, LIGHT, ICE, TECH = (int(model) for model in FundingModel)
PRINCIPAL, INTEREST, GUARANTEE, SERVICE, PENALTY = (int(part) for part in Component)

LOANS, CONTINGENT, RECEIVABLE, CONTRACT, IFRS_LOANS, IFRS_CONTINGENT, RATE_COUNT = (
    0, 1, 2, 3, 4, 7, 10,
)  # fmt: skip
"""Columns of a table of loss rates; the IFRS ones are three each, by stage."""


class PolicyNumbers(NamedTuple):
    """Shares and tax rates in ppm; days past due beyond which a loan is in a stage."""

    facilitation_share_heavy: int
    facilitation_share_light: int
    vat: int
    ifrs_tax: int
    stage_2_days: int
    stage_3_days: int


class LossRates(NamedTuple):
    """Loss rates by pool in ppb of exposure; the IFRS ones by pool and stage, stage 1 first."""

    loans: I64
    contingent: I64
    receivable: I64
    contract: I64
    ifrs_loans: I64
    ifrs_contingent: I64

    @classmethod
    def of(cls, rates_ppb: I64) -> LossRates:
        """The columns of a table [pool, rate]."""
        single = (rates_ppb[:, place] for place in (LOANS, CONTINGENT, RECEIVABLE, CONTRACT))
        by_stage = np.split(rates_ppb[:, IFRS_LOANS:], 2, axis=1)
        return cls(*single, *by_stage)


class PolicyArrays(NamedTuple):
    """All that amounts depend on besides the loans."""

    numbers: PolicyNumbers
    rates: LossRates
    lost_ppm: I64
    """[segment, month]: share of coming fee instalments expected to be lost to prepayment."""
    first_month: int
    """The month of the first column of `lost_ppm`."""
