"""Balances account by account, as formulas of amounts: an independent form of the posting rules.

Rules say where an amount goes; this says what an account is made of. The two are written apart, so
a rule that is wrong disagrees. Debit positive; where models differ, each is told.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.books.rule_matrix import ACCOUNTS, PLACE
from usance.base.arrays import I64
from usance.base.codes import FundingModel, IfrsAdjustment
from usance.books.loans.amounts import AMOUNTS

HEAVY, OWN, LIGHT, ICE, TECH = FundingModel

_SERVICE = "facilitation_earned + servicing_earned - service_received - contract_written_off"
_FEE_CASH = "cleared_institution - cleared_institution + cleared_fees"
_FEES_IN = "service_received + penalty_received + overpaid + recovered_service - cleared_fees"
_CONTRACT = "contract_written_off - recovered_service - contract_provision"

US_GAAP: Mapping[FundingModel, Mapping[str, str]] = {
    HEAVY: {
        "cash": f"{_FEE_CASH} + cleared_recovery",
        "restricted_cash": "- paid_out",
        "providers_institution": "to_institution - cleared_institution",
        "providers_fees": f"guarantee_received + recovered_guarantee + {_FEES_IN}",
        "providers_recovery": "recovered_claim - cleared_recovery",
        "payable_institutions": "cleared_institution - to_institution",
        "borrowers_credit": "- overpaid",
        "financial_receivable": "guarantee_issued - guarantee_cancelled - guarantee_received"
        " - receivable_written_off - non_current_receivable",
        "financial_receivable_non_current": "non_current_receivable",
        "financial_allowance": "receivable_written_off - recovered_guarantee"
        " - receivable_provision",
        "contract_assets": f"{_SERVICE} + contract_liability - non_current_contract",
        "contract_assets_non_current": "non_current_contract",
        "contract_liabilities": "- contract_liability",
        "contract_allowance": _CONTRACT,
        "stand_ready": "guarantee_cancelled + guarantee_released - guarantee_issued",
        "contingent": "paid_out - recovered_claim - contingent_provision",
        "other_tax_payable": "- guarantee_vat - facilitation_vat - servicing_vat - penalty_vat",
        "guarantee_revenue": "guarantee_vat - guarantee_released",
        "heavy_facilitation": "facilitation_vat - facilitation_earned",
        "heavy_servicing": "servicing_vat - servicing_earned",
        "other_credit_fees": "penalty_vat - penalty_received",
        "contingent_provision": "contingent_provision",
        "financial_provision": "receivable_provision",
        "contract_provision": "contract_provision",
    },
    OWN: {
        "restricted_cash": "upfront_fee - disbursed + cleared_principal + cleared_interest"
        " + cleared_fees + cleared_recovery",
        "providers_principal": "principal_received - cleared_principal",
        "providers_interest": "interest_received - cleared_interest",
        "providers_fees": "fee_instalments_received + penalty_received + overpaid + recovered_other"
        " - cleared_fees",
        "providers_recovery": "recovered_loan - cleared_recovery",
        "borrowers_credit": "- overpaid",
        "loans": "disbursed - principal_received - principal_written_off - non_current_loans",
        "loans_non_current": "non_current_loans",
        "accrued_interest": "interest_earned - interest_received - interest_written_off",
        "unearned_fee": "fee_earned + fee_written_off - upfront_fee - fee_instalments_received",
        "loan_allowance": "principal_written_off + interest_written_off - fee_written_off"
        " - recovered_loan - loan_provision",
        "other_tax_payable": "- income_vat - penalty_vat - recovered_other_vat",
        "financing_income": "income_vat - interest_earned - fee_earned",
        "other_credit_fees": "penalty_vat - penalty_received + recovered_other_vat"
        " - recovered_other",
        "loan_provision": "loan_provision",
    },
    LIGHT: {
        "cash": _FEE_CASH,
        "providers_institution": "to_institution - cleared_institution",
        "providers_fees": _FEES_IN,
        "payable_institutions": "cleared_institution - to_institution",
        "borrowers_credit": "- overpaid",
        "contract_assets": f"{_SERVICE} + contract_liability - non_current_contract",
        "contract_assets_non_current": "non_current_contract",
        "contract_liabilities": "- contract_liability",
        "contract_allowance": _CONTRACT,
        "other_tax_payable": "- facilitation_vat - servicing_vat - penalty_vat",
        "light_facilitation": "facilitation_vat - facilitation_earned",
        "light_servicing": "servicing_vat - servicing_earned",
        "other_platform_fees": "penalty_vat - penalty_received",
        "contract_provision": "contract_provision",
    },
    ICE: {
        "contract_assets": "referral_fee",
        "referral": "referral_vat - referral_fee",
        "other_tax_payable": "- referral_vat",
    },
    TECH: {
        "accounts_receivable": "usage_fee",
        "other_platform_fees": "usage_vat - usage_fee",
        "other_tax_payable": "- usage_vat",
    },
}
IFRS: Mapping[tuple[FundingModel, IfrsAdjustment], Mapping[str, str]] = {
    (HEAVY, IfrsAdjustment.ECL): {
        "contingent_provision": "ifrs_contingent_loss",
        "contingent": "- ifrs_contingent_loss",
        "deferred_tax_asset": "ifrs_contingent_loss_tax",
        "income_tax": "- ifrs_contingent_loss_tax",
    },
    (HEAVY, IfrsAdjustment.GUARANTEE): {
        "stand_ready": "ifrs_stand_ready",
        "financial_receivable": "ifrs_contract_liability - ifrs_stand_ready"
        " + non_current_receivable",
        "financial_receivable_non_current": "- non_current_receivable",
        "contract_liabilities": "- ifrs_contract_liability",
        "financial_allowance": "ifrs_allowance",
        "financial_provision": "- ifrs_allowance",
        "deferred_tax_asset": "- ifrs_allowance_tax",
        "income_tax": "ifrs_allowance_tax",
    },
    (OWN, IfrsAdjustment.ECL): {
        "loan_provision": "ifrs_loan_loss - ifrs_net_interest",
        "loans_non_current": "ifrs_net_interest - ifrs_loan_loss",
        "deferred_tax_asset": "ifrs_loan_loss_tax",
        "income_tax": "- ifrs_loan_loss_tax",
    },
    (OWN, IfrsAdjustment.EIR): {
        "unearned_fee": "ifrs_fee",
        "financing_income": "ifrs_fee_vat - ifrs_fee",
        "other_tax_payable": "- ifrs_fee_vat",
        "deferred_tax_liability": "- ifrs_fee_tax",
        "income_tax": "ifrs_fee_tax",
    },
}


def holdings(model: FundingModel, tag: IfrsAdjustment) -> I64:
    """By amount and account, what one unit of an amount is of what an account holds."""
    told = US_GAAP[model] if tag is IfrsAdjustment.NONE else IFRS.get((model, tag), {})
    found = np.zeros((len(AMOUNTS), len(ACCOUNTS)), np.int64)
    for account, formula in told.items():
        sign = 1
        for word in formula.split():
            if word in "+-":
                sign = 1 if word == "+" else -1
            else:
                found[AMOUNTS.index(word), PLACE[account]] += sign
                sign = 1
    return found
