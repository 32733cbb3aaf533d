"""Posting amounts of a loan: the accounting policies applied to its position.

Amounts are rounded once, on the cumulative number; rules post the difference between two rows.
"""

from __future__ import annotations

from usance.base.arrays import I32, I64
from usance.base.compiled import kernel
from usance.books.kernel.arithmetic import share_of, tax_in
from usance.books.kernel.fee_models import earn_fee_loan, provide_fee_loan, receive_fee_loan
from usance.books.kernel.on_balance_sheet import (
    charge_off_on_balance_sheet,
    earn_on_balance_sheet,
    provide_on_balance_sheet,
    receive_on_balance_sheet,
)
from usance.books.kernel.policy_layout import (
    ICE,
    ON_BALANCE_SHEET,
    TECH,
    LossRates,
    PolicyArrays,
    PolicyNumbers,
)
from usance.books.loans.amounts import AMOUNT as A
from usance.books.loans.amounts import AMOUNTS
from usance.books.loans.positions import POSITION as P

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
    if model in (ICE, TECH):
        fee = share_of(at[P.principal], at[P.fee_ppm])
        out[A.referral_fee if model == ICE else A.usage_fee] = fee
        out[A.referral_vat if model == ICE else A.usage_vat] = tax_in(fee, policy.vat)
        return
    if model == ON_BALANCE_SHEET:
        earn_on_balance_sheet(at, policy, out)
        charge_off_on_balance_sheet(at, out)
        receive_on_balance_sheet(at, policy, out)
        provide_on_balance_sheet(at, policy, rates, pool, out)
    else:
        receive_fee_loan(at, out)
        earn_fee_loan(at, policy, lost_ppm, out)
        provide_fee_loan(at, policy, rates, pool, out)
    out[A.penalty_vat] = tax_in(out[A.penalty_received], policy.vat)
    out[A.overpaid] = at[P.overpaid]


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
