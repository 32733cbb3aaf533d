"""Loans on our own balance sheet: effective interest, charge-off, recoveries, allowance."""

from __future__ import annotations

from usance.base.arrays import I64
from usance.base.compiled import kernel
from usance.books.kernel.arithmetic import at_rate, part_of, rate_of_days, share_of, tax_in
from usance.books.kernel.policy_layout import (
    GUARANTEE,
    INTEREST,
    PENALTY,
    PRINCIPAL,
    SERVICE,
    LossRates,
    PolicyNumbers,
)
from usance.books.loans.amounts import AMOUNT as A
from usance.books.loans.positions import NO_EVENT
from usance.books.loans.positions import POSITION as P
from usance.books.losses.stages import stage_of


@kernel
def total_cash(at: I64, field: int) -> int:
    """Cash over all components."""
    return (
        at[field] + at[field + 1] + at[field + 2] + at[field + 3]
        + at[field + 4]
    )  # fmt: skip


@kernel
def earn_on_balance_sheet(at: I64, policy: PolicyNumbers, out: I64) -> None:
    """Interest and fees earned; a settled loan has earned what it brought, to the last fee."""
    instalments = at[P.before_guarantee] + at[P.before_service]
    ended = at[P.event] != NO_EVENT
    interest, fee = at[P.before_interest], at[P.upfront] + instalments
    expected = 0
    if ended or not at[P.is_settled]:
        accrued = at[P.earned_interest] - at[P.waived_interest]
        interest = max(interest, accrued)
        waived = at[P.waived_guarantee] + at[P.waived_service]
        # What is waived takes nothing back of instalments that were paid.
        earned = at[P.earned_fee_instalments]
        fee = at[P.earned_fee] + max(min(earned, instalments), earned - waived)
        if not ended:
            expected = at[P.earned_fee_ifrs] - at[P.earned_fee]
    out[A.interest_earned] = interest
    out[A.fee_earned] = fee
    out[A.income_vat] = tax_in(interest + fee, policy.vat)
    out[A.ifrs_fee] = expected
    out[A.ifrs_fee_vat] = tax_in(expected, policy.vat)
    out[A.ifrs_fee_tax] = share_of(expected - out[A.ifrs_fee_vat], policy.ifrs_tax)


@kernel
def charge_off_on_balance_sheet(at: I64, out: I64) -> None:
    """Interest and fees written off: all that is left at a charge-off; principal is a fact."""
    if at[P.event] == NO_EVENT:
        return
    out[A.interest_written_off] = out[A.interest_earned] - at[P.before_interest]
    instalments = at[P.before_guarantee] + at[P.before_service]
    out[A.fee_written_off] = at[P.upfront] + instalments - out[A.fee_earned]


@kernel
def recovered(at: I64, out: I64, field: int) -> int:
    """Of the cash after a charge-off, what comes back to the allowance."""
    written_off = (
        out[A.principal_written_off] + out[A.interest_written_off] - out[A.fee_written_off]
    )
    return min(total_cash(at, field) - total_cash(at, P.before_principal), max(0, written_off))


@kernel
def receive_on_balance_sheet(at: I64, policy: PolicyNumbers, out: I64) -> None:
    """Cash of the borrower after a charge-off, and all of it as cleared."""
    ended, field = at[P.event] != NO_EVENT, P.cleared_principal
    if ended:
        out[A.recovered_loan] = recovered(at, out, P.paid_principal)
        out[A.recovered_other] = (
            total_cash(at, P.paid_principal)
            - total_cash(at, P.before_principal)
            - out[A.recovered_loan]
        )
        out[A.recovered_other_vat] = tax_in(out[A.recovered_other], policy.vat)
    others = at[P.cleared_overpaid]
    if ended and at[P.event_cleared]:
        field = P.before_principal
        out[A.cleared_recovery] = recovered(at, out, P.cleared_principal)
        others += (
            total_cash(at, P.cleared_principal)
            - total_cash(at, P.before_principal)
            - out[A.cleared_recovery]
        )
    out[A.cleared_principal] = at[field + PRINCIPAL]
    out[A.cleared_interest] = at[field + INTEREST]
    fees = at[field + GUARANTEE] + at[field + SERVICE] + at[field + PENALTY]
    out[A.cleared_fees] = fees + others


@kernel(inline=True)
def provide_on_balance_sheet(
    at: I64, policy: PolicyNumbers, rates: LossRates, pool: int, out: I64
) -> None:
    """The allowance at its target, also as IFRS has it, and there the interest of stage 3.

    That interest is of every day beyond the days of stage 3, on the net amount as it is now: a
    loan that is paid, cured or charged off has none left, since its cash is income or recovery.
    """
    written_off = (
        out[A.principal_written_off] + out[A.interest_written_off] - out[A.fee_written_off]
    )
    target = ifrs_target = interest = 0
    if at[P.event] == NO_EVENT and not at[P.is_settled]:
        exposure, stage = at[P.outstanding], stage_of(at[P.days_past_due], policy)
        target = at_rate(exposure, rates.loans[pool])
        ifrs_target = at_rate(exposure, rates.ifrs_loans[pool, stage - 1])
        gross = (
            exposure + out[A.interest_earned] - out[A.interest_received]
            + out[A.fee_earned] - out[A.upfront_fee]
            - out[A.fee_instalments_received]
        )  # fmt: skip
        out[A.non_current_loans] = part_of(gross - target, at[P.non_current_principal], exposure)
        days = at[P.days_past_due] - policy.stage_3_days
        if days > 0:
            net = gross + out[A.ifrs_fee] - ifrs_target
            interest = at_rate(net, rate_of_days(at[P.effective_ppb], days))
    out[A.loan_provision] = target + written_off - out[A.recovered_loan]
    out[A.ifrs_loan_loss] = ifrs_target - target
    out[A.ifrs_net_interest] = interest
    out[A.ifrs_loan_loss_tax] = share_of(ifrs_target - target - interest, policy.ifrs_tax)
