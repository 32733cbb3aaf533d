"""What the accounting policies make of a loan's position: its cumulative posting amounts.

Amounts are rounded once, on the cumulative number; rules post the difference between two rows.
"""

from __future__ import annotations

from usance.base.arrays import I32, I64
from usance.base.compiled import kernel
from usance.books.kernel.arithmetic import share_of, tax_in
from usance.books.kernel.fee_models import earn_fee_loan, provide_fee_loan, receive_fee_loan
from usance.books.kernel.on_balance_sheet import (
    charge_off_own_loan,
    earn_own_loan,
    provide_own_loan,
    receive_own_loan,
)
from usance.books.kernel.policy_layout import ICE, OWN_BOOK, TECH, VAT
from usance.books.loans import amounts as a
from usance.books.loans import positions as p

AMOUNT_COUNT = len(a.AMOUNTS)


@kernel
def amounts_of(
    at: I64, policy: I64, lost_ppm: int, rates: I64, pool: int, out: I64, row: int
) -> None:
    """Fill one row of amounts from one row of positions."""
    for amount in range(AMOUNT_COUNT):
        out[row, amount] = 0
    model = at[row, p.MODEL]
    if at[row, p.PRINCIPAL] == 0:
        return
    if model in (ICE, TECH):
        fee = share_of(at[row, p.PRINCIPAL], at[row, p.FEE_PPM])
        out[row, a.REFERRAL_FEE if model == ICE else a.USAGE_FEE] = fee
        out[row, a.REFERRAL_VAT if model == ICE else a.USAGE_VAT] = tax_in(fee, policy[VAT])
        return
    if model == OWN_BOOK:
        earn_own_loan(at, policy, out, row)
        charge_off_own_loan(at, out, row)
        receive_own_loan(at, policy, out, row)
        provide_own_loan(at, policy, rates, pool, out, row)
    else:
        receive_fee_loan(at, out, row)
        earn_fee_loan(at, policy, lost_ppm, out, row)
        provide_fee_loan(at, policy, rates, pool, out, row)
    out[row, a.PENALTY_VAT] = tax_in(out[row, a.PENALTY_RECEIVED], policy[VAT])
    out[row, a.OVERPAID] = at[row, p.OVERPAID]


@kernel
def amount_rows(
    count: int, first: int, at: I64, policy: I64, lost: I64, first_month: int, rates: I64,
    segments: I32, pools: I32, out: I64,
) -> None:  # fmt: skip
    """Amounts of the first `count` rows of positions; `segments` and `pools` begin at `first`.

    `lost` has by segment and month the share of coming fee instalments expected to be lost to
    prepayment: a loan that has stopped earning keeps that of its month.
    """
    last = lost.shape[1] - 1
    for row in range(count):
        month = min(max(at[row, p.EARN_MONTH] - first_month, 0), last)
        lost_ppm = lost[segments[first + row], month]
        amounts_of(at, policy, lost_ppm, rates, pools[first + row], out, row)
