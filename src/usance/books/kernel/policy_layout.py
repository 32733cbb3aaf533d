"""The places of a policy's numbers, as kernels read them."""

from __future__ import annotations

from usance.base.codes import Component, FundingModel

HEAVY, OWN_BOOK, LIGHT, ICE, TECH = (int(model) for model in FundingModel)
PRINCIPAL, INTEREST, GUARANTEE, SERVICE, PENALTY = (int(part) for part in Component)

SHARE_HEAVY, SHARE_LIGHT, VAT, IFRS_TAX, STAGE_2, STAGE_3 = range(6)
"""Facilitation shares, value-added tax and tax on IFRS adjustments in ppm; the days past due
beyond which a loan is in a stage."""

LOANS, CONTINGENT, RECEIVABLE, CONTRACT, IFRS_LOANS, IFRS_CONTINGENT, RATE_COUNT = (
    0, 1, 2, 3, 4, 7, 10,
)  # fmt: skip
"""Loss rates of a pool, ppb of exposure; the IFRS ones are three each, by stage."""
