"""Posting amounts of a loan: the accounting policies applied to its position.

Amounts are rounded once, on the cumulative number; rules post the difference between two rows.
"""

from __future__ import annotations

from usance.base.arrays import I32, I64
from usance.base.compiled import kernel
from usance.books.kernel.arithmetic import PPM, at_rate, earned_of, part_of, share_of, tax_in
from usance.books.kernel.fact_amounts import fill_fact_amounts
from usance.books.kernel.on_balance_sheet import (
    charge_off_on_balance_sheet,
    earn_on_balance_sheet,
    provide_on_balance_sheet,
    receive_on_balance_sheet,
)
from usance.books.kernel.policy_layout import (
    HEAVY,
    ICE,
    LIGHT,
    ON_BALANCE_SHEET,
    TECH,
    LossRates,
    PolicyArrays,
    PolicyNumbers,
)
from usance.books.loans.amounts import AMOUNT as A
from usance.books.loans.amounts import AMOUNTS
from usance.books.loans.positions import NO_EVENT, PAYOUT
from usance.books.loans.positions import POSITION as P
from usance.books.losses.stages import stage_of


@kernel
def clear_fee_loan(at: I64, out: I64) -> None:
    """Cleared cash of the borrower: what is the institution's, a fee, or recovered."""
    cleared = at[P.cleared_principal] + at[P.cleared_interest]
    if at[P.event] == PAYOUT and at[P.event_cleared]:
        ours = at[P.before_principal] + at[P.before_interest]
        out[A.cleared_recovery] = cleared - ours
        cleared = ours
    out[A.cleared_institution] = cleared
    out[A.cleared_fees] = (
        at[P.cleared_guarantee] + at[P.cleared_service] + at[P.cleared_penalty]
        + at[P.cleared_overpaid]
    )  # fmt: skip


@kernel
def earn_fee_loan(at: I64, policy: PolicyNumbers, lost_ppm: int, out: I64) -> None:
    """Guarantee released and service earned; both end with what was collected."""
    service, ended = at[P.service], at[P.event] != NO_EVENT
    released = at[P.guarantee] - out[A.guarantee_cancelled]
    waived_service = at[P.waived_service]
    days, term = at[P.earned_days], at[P.term_days]
    at_once = policy.facilitation_share_light
    if at[P.model] == HEAVY:
        at_once = policy.facilitation_share_heavy
    if at[P.is_settled] and not ended:
        price = earned = at[P.before_service]
    else:
        certain = max(at[P.due_service] - waived_service, at[P.before_service])
        price = certain + share_of(max(0, service - waived_service - certain), PPM - lost_ppm)
        earned = earned_of(price, at_once, days, term)
        if not ended:
            released = earned_of(released, 0, days, term)
    facilitation = share_of(price, at_once)
    out[A.guarantee_released] = released
    out[A.guarantee_vat] = tax_in(released, policy.vat)
    out[A.facilitation_earned] = facilitation
    out[A.facilitation_vat] = tax_in(facilitation, policy.vat)
    out[A.servicing_earned] = earned - facilitation
    out[A.servicing_vat] = tax_in(earned, policy.vat) - out[A.facilitation_vat]


@kernel(inline=True)
def provide_fee_loan(at: I64, policy: PolicyNumbers, rates: LossRates, pool: int, out: I64) -> None:
    """Receivables written off, and every allowance at its target; also as IFRS has them."""
    ended = at[P.event] != NO_EVENT
    alive = not ended and not at[P.is_settled]
    earned = out[A.facilitation_earned] + out[A.servicing_earned]
    received = out[A.guarantee_received]
    receivable = out[A.guarantee_issued] - out[A.guarantee_cancelled] - received
    contract = earned - out[A.service_received]
    if ended:
        out[A.contract_written_off] = contract
        receivable = contract = 0
    out[A.contract_liability] = max(0, -contract)
    allowance = at_rate(receivable, rates.receivable[pool])
    contract_allowance = at_rate(contract, rates.contract[pool])
    out[A.receivable_provision] = (
        allowance + out[A.receivable_written_off] - out[A.recovered_guarantee]
    )
    out[A.contract_provision] = (
        contract_allowance + out[A.contract_written_off] - out[A.recovered_service]
    )
    out[A.non_current_receivable] = part_of(
        receivable - allowance, at[P.non_current_guarantee], receivable
    )
    out[A.non_current_contract] = part_of(
        contract - contract_allowance, at[P.non_current_service],
        at[P.service] - at[P.waived_service] - at[P.before_service],
    )  # fmt: skip
    if at[P.model] == LIGHT:
        return
    target = ifrs_target = 0
    if alive:
        exposure, stage = at[P.outstanding], stage_of(at[P.days_past_due], policy)
        target = at_rate(exposure, rates.contingent[pool])
        ifrs_target = at_rate(exposure, rates.ifrs_contingent[pool, stage - 1])
    out[A.contingent_provision] = target + at[P.compensated] - out[A.recovered_claim]
    out[A.ifrs_contingent_loss] = ifrs_target - target
    out[A.ifrs_contingent_loss_tax] = share_of(ifrs_target - target, policy.ifrs_tax)
    if alive:
        guarantee_of_ifrs(at, policy, rates.receivable[pool], allowance, out)


@kernel
def guarantee_of_ifrs(
    at: I64, policy: PolicyNumbers, rate_ppb: int, allowance: int, out: I64
) -> None:
    """Premium is recognised when due; what is released beyond it is a receivable, else owed."""
    released, received = out[A.guarantee_released], out[A.guarantee_received]
    stand_ready = out[A.guarantee_issued] - out[A.guarantee_cancelled] - released
    due = at[P.due_guarantee] - at[P.waived_guarantee]
    unpaid = max(0, due - received)
    spared = allowance - at_rate(unpaid, rate_ppb)
    out[A.ifrs_stand_ready] = stand_ready
    out[A.ifrs_contract_liability] = max(0, unpaid - (released - received))
    out[A.ifrs_allowance] = spared
    out[A.ifrs_allowance_tax] = share_of(spared, policy.ifrs_tax)


AMOUNT_COUNT = len(AMOUNTS)


@kernel(inline=True)
def fill_amounts(
    at: I64, policy: PolicyNumbers, rates: LossRates, pool: int, lost_ppm: int, out: I64
) -> None:
    """Fill one row of amounts from one row of positions."""
    for amount in range(AMOUNT_COUNT):
        out[amount] = 0
    model = at[P.model]
    if at[P.principal] == 0:
        return
    fill_fact_amounts(at, out)
    if model in (ICE, TECH):
        out[A.referral_vat] = tax_in(out[A.referral_fee], policy.vat)
        out[A.usage_vat] = tax_in(out[A.usage_fee], policy.vat)
        return
    if model == ON_BALANCE_SHEET:
        earn_on_balance_sheet(at, policy, out)
        charge_off_on_balance_sheet(at, out)
        receive_on_balance_sheet(at, policy, out)
        provide_on_balance_sheet(at, policy, rates, pool, out)
    else:
        clear_fee_loan(at, out)
        earn_fee_loan(at, policy, lost_ppm, out)
        provide_fee_loan(at, policy, rates, pool, out)
    out[A.penalty_vat] = tax_in(out[A.penalty_received], policy.vat)


@kernel
def amount_rows(at: I64, policies: PolicyArrays, segments: I32, pools: I32, out: I64) -> None:
    """Amounts of each row of positions.

    A loan that has stopped earning keeps the share of lost fee instalments of its month.
    """
    last = policies.lost_ppm.shape[1] - 1
    for row in range(len(at)):
        month = min(max(at[row, P.earn_month] - policies.first_month, 0), last)
        lost_ppm = policies.lost_ppm[segments[row], month]
        fill_amounts(at[row], policies.numbers, policies.rates, pools[row], lost_ppm, out[row])
