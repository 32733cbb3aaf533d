"""Loans that an institution funds: guarantee, service price, payout and what follows."""

from __future__ import annotations

from usance.base.arrays import I64
from usance.base.compiled import kernel
from usance.books.kernel.arithmetic import PPM, at_rate, earned_of, part_of, share_of, tax_in
from usance.books.kernel.policy_layout import (
    CONTINGENT,
    CONTRACT,
    GUARANTEE,
    HEAVY,
    IFRS_CONTINGENT,
    IFRS_TAX,
    INTEREST,
    LIGHT,
    PENALTY,
    PRINCIPAL,
    RECEIVABLE,
    SERVICE,
    SHARE_HEAVY,
    SHARE_LIGHT,
    VAT,
)
from usance.books.loans import amounts as a
from usance.books.loans import positions as p
from usance.books.losses.stages import stage_of


@kernel
def receive_fee_loan(at: I64, out: I64, row: int) -> None:
    """Cash of the borrower: what is the institution's, what is a fee, what is recovered."""
    paid_out = at[row, p.EVENT] == p.PAYOUT
    ended = at[row, p.EVENT] != p.NO_EVENT
    institution = at[row, p.PAID + PRINCIPAL] + at[row, p.PAID + INTEREST]
    cleared = at[row, p.CLEARED + PRINCIPAL] + at[row, p.CLEARED + INTEREST]
    if paid_out:
        ours = at[row, p.BEFORE + PRINCIPAL] + at[row, p.BEFORE + INTEREST]
        out[row, a.RECOVERED_CLAIM] = institution - ours
        if at[row, p.EVENT_CLEARED]:
            out[row, a.CLEARED_RECOVERY] = cleared - ours
            cleared = ours
        institution = ours
    out[row, a.TO_INSTITUTION] = institution
    out[row, a.CLEARED_INSTITUTION] = cleared
    out[row, a.GUARANTEE_RECEIVED] = at[row, p.BEFORE + GUARANTEE]
    out[row, a.SERVICE_RECEIVED] = at[row, p.BEFORE + SERVICE]
    if ended:
        out[row, a.RECOVERED_GUARANTEE] = (
            at[row, p.PAID + GUARANTEE] - at[row, p.BEFORE + GUARANTEE]
        )
        out[row, a.RECOVERED_SERVICE] = at[row, p.PAID + SERVICE] - at[row, p.BEFORE + SERVICE]
    out[row, a.PENALTY_RECEIVED] = at[row, p.PAID + PENALTY]
    out[row, a.CLEARED_FEES] = (
        at[row, p.CLEARED + GUARANTEE] + at[row, p.CLEARED + SERVICE] + at[row, p.CLEARED + PENALTY]
        + at[row, p.CLEARED_OVERPAID]
    )  # fmt: skip


@kernel
def earn_fee_loan(at: I64, policy: I64, lost_ppm: int, out: I64, row: int) -> None:
    """Guarantee released and service earned; both end with what was collected."""
    guarantee, service = at[row, p.GUARANTEE], at[row, p.SERVICE]
    ended = at[row, p.EVENT] != p.NO_EVENT
    waived_guarantee = at[row, p.WAIVED + GUARANTEE]
    waived_service = at[row, p.WAIVED + SERVICE]
    days, term = at[row, p.EARNED_DAYS], at[row, p.TERM_DAYS]
    at_once = policy[SHARE_HEAVY if at[row, p.MODEL] == HEAVY else SHARE_LIGHT]
    if at[row, p.IS_SETTLED] and not ended:
        price = earned = at[row, p.BEFORE + SERVICE]
        released = at[row, p.BEFORE + GUARANTEE]
        cancelled = guarantee - released
    else:
        certain = max(at[row, p.DUE_SERVICE] - waived_service, at[row, p.BEFORE + SERVICE])
        price = certain + share_of(max(0, service - waived_service - certain), PPM - lost_ppm)
        earned = earned_of(price, at_once, days, term)
        cancelled = waived_guarantee
        released = guarantee - cancelled
        if not ended:
            released = earned_of(released, 0, days, term)
    facilitation = share_of(price, at_once)
    out[row, a.GUARANTEE_ISSUED] = guarantee
    out[row, a.GUARANTEE_CANCELLED] = cancelled
    out[row, a.GUARANTEE_RELEASED] = released
    out[row, a.GUARANTEE_VAT] = tax_in(released, policy[VAT])
    out[row, a.FACILITATION_EARNED] = facilitation
    out[row, a.FACILITATION_VAT] = tax_in(facilitation, policy[VAT])
    out[row, a.SERVICING_EARNED] = earned - facilitation
    out[row, a.SERVICING_VAT] = tax_in(earned, policy[VAT]) - out[row, a.FACILITATION_VAT]


@kernel
def provide_fee_loan(at: I64, policy: I64, rates: I64, pool: int, out: I64, row: int) -> None:
    """Receivables written off, and every allowance at its target; also as IFRS has them."""
    ended = at[row, p.EVENT] != p.NO_EVENT
    alive = not ended and not at[row, p.IS_SETTLED]
    earned = out[row, a.FACILITATION_EARNED] + out[row, a.SERVICING_EARNED]
    received = out[row, a.GUARANTEE_RECEIVED]
    receivable = out[row, a.GUARANTEE_ISSUED] - out[row, a.GUARANTEE_CANCELLED] - received
    contract = earned - out[row, a.SERVICE_RECEIVED]
    if ended:
        out[row, a.RECEIVABLE_WRITTEN_OFF] = receivable
        out[row, a.CONTRACT_WRITTEN_OFF] = contract
        receivable = contract = 0
    out[row, a.CONTRACT_LIABILITY] = max(0, -contract)
    allowance = at_rate(receivable, rates[pool, RECEIVABLE])
    contract_allowance = at_rate(contract, rates[pool, CONTRACT])
    out[row, a.RECEIVABLE_PROVISION] = (
        allowance + out[row, a.RECEIVABLE_WRITTEN_OFF] - out[row, a.RECOVERED_GUARANTEE]
    )
    out[row, a.CONTRACT_PROVISION] = (
        contract_allowance + out[row, a.CONTRACT_WRITTEN_OFF] - out[row, a.RECOVERED_SERVICE]
    )
    out[row, a.NON_CURRENT_RECEIVABLE] = part_of(
        receivable - allowance, at[row, p.NON_CURRENT_GUARANTEE], receivable
    )
    out[row, a.NON_CURRENT_CONTRACT] = part_of(
        contract - contract_allowance, at[row, p.NON_CURRENT_SERVICE],
        at[row, p.SERVICE] - at[row, p.WAIVED + SERVICE] - at[row, p.BEFORE + SERVICE],
    )  # fmt: skip
    if at[row, p.MODEL] == LIGHT:
        return
    target = ifrs_target = 0
    if alive:
        exposure, stage = at[row, p.OUTSTANDING], stage_of(at[row, p.DAYS_PAST_DUE], policy)
        target = at_rate(exposure, rates[pool, CONTINGENT])
        ifrs_target = at_rate(exposure, rates[pool, IFRS_CONTINGENT + stage - 1])
    out[row, a.PAID_OUT] = at[row, p.COMPENSATED]
    out[row, a.CONTINGENT_PROVISION] = target + at[row, p.COMPENSATED] - out[row, a.RECOVERED_CLAIM]
    out[row, a.IFRS_CONTINGENT_LOSS] = ifrs_target - target
    out[row, a.IFRS_CONTINGENT_LOSS_TAX] = share_of(ifrs_target - target, policy[IFRS_TAX])
    if alive:
        guarantee_of_ifrs(at, policy, rates[pool, RECEIVABLE], allowance, out, row)


@kernel
def guarantee_of_ifrs(
    at: I64, policy: I64, rate_ppb: int, allowance: int, out: I64, row: int
) -> None:
    """Premium is recognised when due; what is released beyond it is a receivable, else owed."""
    released, received = out[row, a.GUARANTEE_RELEASED], out[row, a.GUARANTEE_RECEIVED]
    stand_ready = out[row, a.GUARANTEE_ISSUED] - out[row, a.GUARANTEE_CANCELLED] - released
    due = at[row, p.DUE_GUARANTEE] - at[row, p.WAIVED + GUARANTEE]
    unpaid = max(0, due - received)
    spared = allowance - at_rate(unpaid, rate_ppb)
    out[row, a.IFRS_STAND_READY] = stand_ready
    out[row, a.IFRS_CONTRACT_LIABILITY] = max(0, unpaid - (released - received))
    out[row, a.IFRS_ALLOWANCE] = spared
    out[row, a.IFRS_ALLOWANCE_TAX] = share_of(spared, policy[IFRS_TAX])
