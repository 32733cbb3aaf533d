"""Loans on our own balance sheet: effective interest, charge-off, recoveries, allowance."""

from __future__ import annotations

from usance.base.arrays import I64
from usance.base.compiled import kernel
from usance.books.kernel.arithmetic import at_rate, part_of, rate_of_days, share_of, tax_in
from usance.books.kernel.policy_layout import (
    GUARANTEE,
    IFRS_LOANS,
    IFRS_TAX,
    INTEREST,
    LOANS,
    PENALTY,
    PRINCIPAL,
    SERVICE,
    STAGE_3,
    VAT,
)
from usance.books.loans import amounts as a
from usance.books.loans import positions as p
from usance.books.losses.stages import stage_of


@kernel
def total(at: I64, row: int, field: int) -> int:
    """Cash over all components."""
    return (
        at[row, field] + at[row, field + 1] + at[row, field + 2] + at[row, field + 3]
        + at[row, field + 4]
    )  # fmt: skip


@kernel
def earn_own_loan(at: I64, policy: I64, out: I64, row: int) -> None:
    """Interest and fees earned; a settled loan has earned what it brought, to the last fee."""
    instalments = at[row, p.BEFORE + GUARANTEE] + at[row, p.BEFORE + SERVICE]
    ended = at[row, p.EVENT] != p.NO_EVENT
    interest, fee = at[row, p.BEFORE + INTEREST], at[row, p.UPFRONT] + instalments
    expected = 0
    if ended or not at[row, p.IS_SETTLED]:
        accrued = at[row, p.EARNED_INTEREST] - at[row, p.WAIVED + INTEREST]
        interest = max(interest, accrued)
        waived = at[row, p.WAIVED + GUARANTEE] + at[row, p.WAIVED + SERVICE]
        # What is waived takes nothing back of instalments that were paid.
        earned = at[row, p.EARNED_FEE_INSTALMENTS]
        fee = at[row, p.EARNED_FEE] + max(min(earned, instalments), earned - waived)
        if not ended:
            expected = at[row, p.EARNED_FEE_IFRS] - at[row, p.EARNED_FEE]
    out[row, a.INTEREST_EARNED] = interest
    out[row, a.FEE_EARNED] = fee
    out[row, a.INCOME_VAT] = tax_in(interest + fee, policy[VAT])
    out[row, a.IFRS_FEE] = expected
    out[row, a.IFRS_FEE_VAT] = tax_in(expected, policy[VAT])
    out[row, a.IFRS_FEE_TAX] = share_of(expected - out[row, a.IFRS_FEE_VAT], policy[IFRS_TAX])


@kernel
def charge_off_own_loan(at: I64, out: I64, row: int) -> None:
    """What leaves the balance sheet without cash: a forgiven part, or all that is left."""
    out[row, a.PRINCIPAL_WRITTEN_OFF] = at[row, p.WAIVED + PRINCIPAL]
    if at[row, p.EVENT] == p.NO_EVENT:
        return
    out[row, a.PRINCIPAL_WRITTEN_OFF] = at[row, p.PRINCIPAL] - at[row, p.BEFORE + PRINCIPAL]
    out[row, a.INTEREST_WRITTEN_OFF] = out[row, a.INTEREST_EARNED] - at[row, p.BEFORE + INTEREST]
    instalments = at[row, p.BEFORE + GUARANTEE] + at[row, p.BEFORE + SERVICE]
    out[row, a.FEE_WRITTEN_OFF] = at[row, p.UPFRONT] + instalments - out[row, a.FEE_EARNED]


@kernel
def recovered(at: I64, out: I64, row: int, field: int) -> int:
    """Of the cash after a charge-off, what comes back to the allowance."""
    written_off = (
        out[row, a.PRINCIPAL_WRITTEN_OFF]
        + out[row, a.INTEREST_WRITTEN_OFF]
        - out[row, a.FEE_WRITTEN_OFF]
    )
    return min(total(at, row, field) - total(at, row, p.BEFORE), max(0, written_off))


@kernel
def receive_own_loan(at: I64, policy: I64, out: I64, row: int) -> None:
    """Cash of the borrower by what it pays, as received and as cleared."""
    ended, field = at[row, p.EVENT] != p.NO_EVENT, p.CLEARED
    out[row, a.DISBURSED], out[row, a.UPFRONT_FEE] = at[row, p.PRINCIPAL], at[row, p.UPFRONT]
    out[row, a.PRINCIPAL_RECEIVED] = at[row, p.BEFORE + PRINCIPAL]
    out[row, a.INTEREST_RECEIVED] = at[row, p.BEFORE + INTEREST]
    out[row, a.FEE_INSTALMENTS_RECEIVED] = (
        at[row, p.BEFORE + GUARANTEE] + at[row, p.BEFORE + SERVICE]
    )
    out[row, a.PENALTY_RECEIVED] = at[row, p.BEFORE + PENALTY]
    if ended:
        out[row, a.RECOVERED_LOAN] = recovered(at, out, row, p.PAID)
        out[row, a.RECOVERED_OTHER] = (
            total(at, row, p.PAID) - total(at, row, p.BEFORE) - out[row, a.RECOVERED_LOAN]
        )
        out[row, a.RECOVERED_OTHER_VAT] = tax_in(out[row, a.RECOVERED_OTHER], policy[VAT])
    others = at[row, p.CLEARED_OVERPAID]
    if ended and at[row, p.EVENT_CLEARED]:
        field = p.BEFORE
        out[row, a.CLEARED_RECOVERY] = recovered(at, out, row, p.CLEARED)
        others += (
            total(at, row, p.CLEARED) - total(at, row, p.BEFORE) - out[row, a.CLEARED_RECOVERY]
        )
    out[row, a.CLEARED_PRINCIPAL] = at[row, field + PRINCIPAL]
    out[row, a.CLEARED_INTEREST] = at[row, field + INTEREST]
    fees = at[row, field + GUARANTEE] + at[row, field + SERVICE] + at[row, field + PENALTY]
    out[row, a.CLEARED_FEES] = fees + others


@kernel
def provide_own_loan(at: I64, policy: I64, rates: I64, pool: int, out: I64, row: int) -> None:
    """The allowance at its target, also as IFRS has it, and there the interest of stage 3.

    That interest is of every day beyond the days of stage 3, on the net amount as it is now: a
    loan that is paid, cured or charged off has none left, since its cash is income or recovery.
    """
    written_off = (
        out[row, a.PRINCIPAL_WRITTEN_OFF]
        + out[row, a.INTEREST_WRITTEN_OFF]
        - out[row, a.FEE_WRITTEN_OFF]
    )
    target = ifrs_target = interest = 0
    if at[row, p.EVENT] == p.NO_EVENT and not at[row, p.IS_SETTLED]:
        exposure, stage = at[row, p.OUTSTANDING], stage_of(at[row, p.DAYS_PAST_DUE], policy)
        target = at_rate(exposure, rates[pool, LOANS])
        ifrs_target = at_rate(exposure, rates[pool, IFRS_LOANS + stage - 1])
        gross = (
            exposure + out[row, a.INTEREST_EARNED] - out[row, a.INTEREST_RECEIVED]
            + out[row, a.FEE_EARNED] - out[row, a.UPFRONT_FEE]
            - out[row, a.FEE_INSTALMENTS_RECEIVED]
        )  # fmt: skip
        out[row, a.NON_CURRENT_LOANS] = part_of(
            gross - target, at[row, p.NON_CURRENT_PRINCIPAL], exposure
        )
        days = at[row, p.DAYS_PAST_DUE] - policy[STAGE_3]
        if days > 0:
            net = gross + out[row, a.IFRS_FEE] - ifrs_target
            interest = at_rate(net, rate_of_days(at[row, p.EFFECTIVE_PPB], days))
    out[row, a.LOAN_PROVISION] = target + written_off - out[row, a.RECOVERED_LOAN]
    out[row, a.IFRS_LOAN_LOSS] = ifrs_target - target
    out[row, a.IFRS_NET_INTEREST] = interest
    out[row, a.IFRS_LOAN_LOSS_TAX] = share_of(ifrs_target - target - interest, policy[IFRS_TAX])
