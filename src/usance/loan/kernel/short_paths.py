"""Short paths of the fold: a loan on schedule that pays one instalment exactly, or settles early.

Most loans in most months pay the open instalment and nothing else. The state after such a payment
follows from the instalment alone, without the day-by-day fold of `fold`. Each path names the
condition under which it holds; `tests/loan/test_kernel_short_paths.py` proves it equal to the
general fold. A state is one row of a table of states and is changed in place.
"""

from __future__ import annotations

from usance.base.arrays import I64, i64
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Plan
from usance.loan.kernel.plan import LEVEL, due_day, guaranteed, period_start
from usance.loan.kernel.state import (
    BALANCE,
    COVERED,
    FEES,
    INTEREST_BEFORE,
    IS_DISBURSED,
    IS_SETTLED,
    LOW_32,
    META,
    PENALTY_OPEN,
    PENALTY_PAID,
    accrued_share,
)


@kernel(inline=True)
def is_on_schedule(plan: Plan, states: I64, row: int, nth: int) -> bool:
    """True if exactly the instalments before the nth (from 0) are paid and nothing else is open."""
    covered = (
        states[row, COVERED] + states[row, COVERED + 1] + states[row, COVERED + 2]
        + states[row, COVERED + 3]
    )  # fmt: skip
    return (
        states[row, META] == IS_DISBURSED + nth
        and 0 <= nth < plan.instalments
        and states[row, PENALTY_OPEN] == 0
        and covered
        == plan.principal
        - states[row, BALANCE]
        + states[row, INTEREST_BEFORE]
        + (states[row, FEES] & LOW_32)
    )


@kernel(inline=True)
def has_no_nil_instalment(plan: Plan, level_minor: int) -> bool:
    """True if every instalment asks for something: the fold skips a nil one that comes next."""
    return plan.amortisation == LEVEL and level_minor > 0


@kernel(inline=True)
def pays_one_instalment(plan: Plan, nth: int, balance: int, amount: int) -> bool:
    """True if a payment of the nth instalment, with its late fee, settles the last one alone."""
    return amount > 0 and (amount >= balance) == (nth + 1 == plan.instalments)


@kernel(inline=True)
def pay_instalment(
    plan: Plan, states: I64, row: int, nth: int, principal: int, interest: int, fees: int
) -> None:
    """State after exactly the open instalment was paid, if `pays_one_instalment`."""
    all_fees, fees_paid = states[row, FEES] >> 32, (states[row, FEES] & LOW_32) + fees
    guarantee = guaranteed(plan, fees_paid, all_fees)
    states[row, COVERED] += principal
    states[row, COVERED + 1] += interest
    states[row, COVERED + 2] = guarantee
    states[row, COVERED + 3] = fees_paid - guarantee
    if nth + 1 == plan.instalments:
        states[row, META] |= IS_SETTLED
        return
    states[row, META] += 1
    states[row, BALANCE] -= principal
    states[row, INTEREST_BEFORE] = states[row, COVERED + 1]
    states[row, FEES] = (all_fees << 32) | fees_paid


@kernel(inline=True)
def pay_late_fee(states: I64, row: int, late_fee: int) -> None:
    """State after a late fee was charged and paid together with its instalment."""
    states[row, PENALTY_PAID] += late_fee


@kernel(inline=True)
def charge_late_fee(states: I64, row: int, late_fee: int) -> None:
    """State after a late fee was charged and not paid."""
    states[row, PENALTY_OPEN] += late_fee


@kernel(inline=True)
def due_at_settlement(
    plan: Plan, nth: int, day: int, principal: int, interest: int, fees: int
) -> tuple[int, int, int]:
    """Parts of the open instalment due at settlement: interest alone before its due day."""
    due = due_day(plan, nth)
    if day < due:
        return i64(0), accrued_share(interest, day, period_start(plan, nth), due), i64(0)
    return principal, interest, fees


@kernel(inline=True)
def settle_early(plan: Plan, states: I64, row: int, interest: int, fees: int) -> None:
    """State after all principal was paid with the interest and fees due; the cursor stays."""
    states[row, META] |= IS_SETTLED
    states[row, COVERED] = plan.principal
    states[row, COVERED + 1] += interest
    if fees > 0:
        fees_paid = (states[row, FEES] & LOW_32) + fees
        guarantee = guaranteed(plan, fees_paid, states[row, FEES] >> 32)
        states[row, COVERED + 2], states[row, COVERED + 3] = guarantee, fees_paid - guarantee
